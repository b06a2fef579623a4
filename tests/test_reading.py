"""Reading tables of every format: values, types, what is missing; one clear line where it cannot be done."""

import errno
import gzip
import os
import sqlite3
import zipfile
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import zstandard
from reading_tables import column_types, crash, read_table

from tasks.errors import ConfigurationError, InputError, StepError, UnjoinError
from tasks.read_config import parse_config
from tasks.reading.read_input import column_labels, column_names
from tasks.table_settings import Input
from tasks.worker_processes import call_in_workers

CANARY = "Zanzibar4711"
TEXT = 'x,"y, z"\n1,a\n"2\n3",\n'
READ = (["x", "y, z"], [("1", "a"), ("2\n3", None)])


def moment(*parts):
    """Return a time by the clock, of no zone, as files hold it."""
    return datetime(*parts)  # noqa: DTZ001 - as it says


def refused(kind, path, **settings):
    """Return the message with which a table is refused; no value of the table may be in it."""
    with pytest.raises(kind) as caught:
        read_table(path, **settings)
    assert CANARY not in str(caught.value)
    return str(caught.value)


def called_here(
    function, items, args, workers
):  # as call_in_workers does, whose processes take a second each
    yield from ((place, partial(function, item, *args)) for place, item in enumerate(items))


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr("tasks.reading.apart.call_in_workers", called_here)


# Text files


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("t.csv", bytes),
        ("t.csv.gz", gzip.compress),
        ("T.CSV.GZ", gzip.compress),
        ("t.csv.zst", zstandard.compress),
        ("two.csv.gz", lambda text: gzip.compress(text[:9]) + gzip.compress(text[9:])),
        ("two.csv.zst", lambda text: zstandard.compress(text[:9]) + zstandard.compress(text[9:])),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_packed_texts_are_read_as_plain_ones(tmp_path, name, pack, encoding):
    (tmp_path / name).write_bytes(pack(TEXT.encode(encoding)))
    assert read_table(tmp_path / name) == READ


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.gz", b"not gzip"),
        ("t.csv.gz", gzip.compress(TEXT.encode() * 99, mtime=0)[:-12]),
        ("t.csv.zst", b"not zstandard"),
        ("t.csv.zst", zstandard.compress(TEXT.encode() * 99)[:-5]),
        ("t.csv.zst", zstandard.compress(TEXT.encode()) + zstandard.compress(TEXT.encode())[:-5]),
    ],
)
def test_damage_is_told(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert f"input.path: {name} cannot be read (" in refused(InputError, tmp_path / name)


def test_other_formats_are_packed_within(tmp_path):
    (tmp_path / "t.parquet.gz").write_bytes(b"")
    assert "is packed, as text files alone may be" in refused(ConfigurationError, tmp_path / "t.parquet.gz")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r", "mixed"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_line_ends_within_quotes_are_part_of_the_cell(tmp_path, ends, encoding):
    cells = ["a\nb", "a\rb", "a\r\nb", "\r", "\n", "", '"', "'"]
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    text = "\n".join(["x,y", *(f"{cell},1" for cell in quoted)])
    text = text.replace(",1\n", ",1\r\n") if ends == "mixed" else text.replace(",1\n", f",1{ends}")
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert [cell for cell, _ in read_table(tmp_path / "t.csv", missing=[])[1]] == cells


@pytest.mark.parametrize("ends", ["\n", "\r"])
def test_ragged_records_are_named_by_their_last_line(tmp_path, ends):
    (tmp_path / "t.csv").write_text(ends.join(["x,y", "1,2", CANARY, "3,4", f"5,{CANARY},6", "7,8"]))
    assert "lines 3, 5 of t.csv cannot be read as 2 cells in utf-8" in refused(InputError, tmp_path / "t.csv")


@pytest.mark.parametrize("ends", ["\n", "\r"])
def test_a_quote_that_never_ends_is_told(tmp_path, ends):
    (tmp_path / "t.csv").write_text(ends.join(["x,y", "1,2", f'"{CANARY},3', "3,4"]))
    assert "of t.csv cannot be read" in refused(InputError, tmp_path / "t.csv") or ends == "\r"
    assert "cannot be read" in refused(InputError, tmp_path / "t.csv")


def test_a_huge_cell_is_read_or_told(tmp_path):
    for size, path in ((200_000, tmp_path / "t.csv"), (17_000_000, tmp_path / "u.csv")):
        path.write_text(f"x,y\n{'a' * size},1\nb,2\n")
    assert [len(cell) for cell, _ in read_table(tmp_path / "t.csv")[1]] == [200_000, 1]
    assert "line 2 of u.csv exceeds 16 MB" in refused(InputError, tmp_path / "u.csv")


@pytest.mark.parametrize(("name", "pack"), [("t.csv", bytes), ("t.csv.gz", gzip.compress)])
def test_a_line_that_is_longer_than_any_is_never_left_out(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(b"x,y\n1,2\n1," + b"a" * 300_000_000 + b"\n3,4\n"))
    assert f"line 3 of {name} exceeds 16 MB" in refused(InputError, tmp_path / name)


def test_ragged_records_are_named_as_an_editor_counts(tmp_path):
    (tmp_path / "t.csv").write_text(f'x,y\n"1\n\n",2\n{CANARY}\n3,4\n')
    assert "line 5 of t.csv cannot be read as 2 cells" in refused(InputError, tmp_path / "t.csv")


def test_a_first_line_without_end_is_told(tmp_path):
    (tmp_path / "t.csv").write_text("x" * 20_000_000)
    assert "line 1 of t.csv exceeds 16 MB" in refused(InputError, tmp_path / "t.csv")


def test_a_huge_name_is_told(tmp_path):
    (tmp_path / "t.csv").write_text(f"{'a' * 200_000},y\n1,2\n")
    assert "the first line of t.csv cannot be read as cells" in refused(InputError, tmp_path / "t.csv")


def test_no_permission(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    (tmp_path / "t.csv").chmod(0)
    try:
        (tmp_path / "t.csv").read_text()
    except PermissionError:
        assert "t.csv cannot be read (Permission denied)" in refused(InputError, tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_copy_in_utf8_is_private_and_goes_away(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("x,é\n1,ñ\n2\n".encode(encoding))
    assert "line 3 of t.csv cannot be read as 2 cells" in refused(InputError, tmp_path / "t.csv")


def test_faults_of_names_are_told_together(tmp_path):
    (tmp_path / "t.csv").write_text("x,X,,file_row_number\n1,2,3,4\n")
    told = refused(InputError, tmp_path / "t.csv").splitlines()
    assert [line.split(" ")[0:2] for line in told] == [
        ["the", "name"],
        ["the", "column"],
        ["column", "names"],
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_full_disk_is_not_blamed_on_the_table(tmp_path, monkeypatch, encoding):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "t.csv").write_bytes(TEXT.encode(encoding))
    monkeypatch.setattr(
        f"tasks.reading.text_files.{'text_cell' if encoding == 'utf-8' else 'private_folder'}", full
    )
    with pytest.raises(StepError, match=r"^reading the table: failed \(No space left on device\)$"):
        read_table(tmp_path / "t.csv")


# What stands for missing


def test_texts_stand_for_missing_everywhere_or_in_one_column(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\nNA,NA\n?,?\n,-9\n-9,1\n")
    declared = {"missing": ["?"], "missing_in": {"x": ["NA", ""], "y": ["-9"]}}
    expected = [(None, "NA"), (None, None), (None, None), ("-9", "1")]
    assert read_table(tmp_path / "t.csv", **declared)[1] == expected
    (tmp_path / "u.csv").write_bytes((tmp_path / "t.csv").read_bytes().replace(b"\n", b"\r"))
    assert read_table(tmp_path / "u.csv", **declared)[1] == expected


def test_declared_numbers_stand_for_missing_in_typed_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": [-9, 1, 2**60],
            "float": [-9.0, 1.5, float("nan")],
            "exact": [Decimal("-9.00"), Decimal("1.50"), None],
            "text": ["-9", "NA", ""],
            "truth": [True, False, None],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    rows = read_table(
        tmp_path / "t.parquet", missing=["", "-9"], missing_in={"text": ["NA"], "truth": ["false"]}
    )[1]
    assert rows == [
        (None, None, None, None, True),
        (1, 1.5, Decimal("1.50"), None, None),
        (2**60, None, None, None, None),
    ]


def test_a_number_that_is_no_token_stays(tmp_path):
    pq.write_table(pa.table({"x": pa.array([Decimal("9.00"), Decimal("9.01")])}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", missing=["9.001", "9e0", "x"])[1] == [
        (None,),
        (Decimal("9.01"),),
    ]


# Parquet


def test_parquet_arrives_typed(tmp_path):
    table = pa.table(
        {
            "truth": [True, None],
            "day": [date(2024, 3, 5), None],
            "moment": pa.array([moment(2024, 3, 5, 1), None], pa.timestamp("us")),
            "time": [time(1), None],
            "exact": [Decimal("1.50"), None],
            "words": pa.array(["a'b", None]).dictionary_encode(),
            "nothing": pa.nulls(2),
            "nest": [{"x": 1, "y": [{"z": 2}]}, None],
            "list": [[1, 2], None],
            "last": [1, 2],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    names, rows = read_table(tmp_path / "t.parquet")
    assert names == table.column_names
    assert rows[0][:6] == (True, date(2024, 3, 5), moment(2024, 3, 5, 1), time(1), Decimal("1.50"), "a'b")
    assert rows[1] == (*[None] * 9, 2)
    types = column_types(tmp_path / "t.parquet")
    assert (types["exact"], types["list"]) == ("DECIMAL(3,2)", "BIGINT[]")


def test_twin_names_of_parquet_are_refused(tmp_path):
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.parquet")
    assert "column names must differ" in refused(InputError, tmp_path / "t.parquet")


# Workbooks


def workbook(path, rows, *others, at=(1, 1)):
    book = openpyxl.Workbook()
    book.active.title = "data"
    for down, row in enumerate(rows):
        for right, cell in enumerate(row):
            book.active.cell(at[0] + down, at[1] + right, cell)
    for name in others:
        book.create_sheet(name)
    book.save(path)
    return path


SHEET = [
    ["id", "whole", "number", "day", "moment", "truth", "mixed", "code"],
    ["a", 5.0, 1.5, date(2024, 3, 5), moment(2024, 3, 5, 12, 30), True, 5.0, "007"],
    ["b", -3, None, None, date(2024, 3, 6), None, "x", "12"],
    ["c", 2**53, 0.1, date(1990, 1, 1), None, False, 0.1, None],
    ["d", None, 2, None, None, None, True, None],
    ["e", None, None, None, None, None, date(2024, 3, 5), None],
]


@pytest.mark.parametrize("at", [(1, 1), (3, 2)])
def test_a_workbook_arrives_typed_and_mixed_columns_as_text(tmp_path, at):
    path = workbook(tmp_path / "t.xlsx", SHEET, at=at)
    names, rows = read_table(path)
    assert names == SHEET[0]
    assert list(zip(*rows, strict=True)) == [
        ("a", "b", "c", "d", "e"),
        (5, -3, 2**53, None, None),
        (1.5, None, 0.1, 2.0, None),
        (date(2024, 3, 5), None, date(1990, 1, 1), None, None),
        (moment(2024, 3, 5, 12, 30), moment(2024, 3, 6), None, None, None),
        (True, None, False, None, None),
        ("5", "x", "0.1", "true", "2024-03-05"),
        ("007", "12", None, None, None),
    ]
    types = column_types(path)
    assert list(types.values()) == [
        "VARCHAR",
        "BIGINT",
        "DOUBLE",
        "DATE",
        "TIMESTAMP",
        "BOOLEAN",
        "VARCHAR",
        "VARCHAR",
    ]


def test_texts_of_a_workbook_that_stand_for_missing(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["x", "y"], [1, "NA"], [-9, "b"]])
    assert read_table(path, missing=["-9"], missing_in={"y": ["NA"]})[1] == [(1, None), (None, "b")]


def test_what_is_empty_at_the_end_is_not_there_but_an_empty_record_is(tmp_path):
    rows = [["x", "y", None], [1, None, None], [None, None, None], [2, "a", None], [None, None, ""]]
    assert read_table(workbook(tmp_path / "t.xlsx", rows)) == (
        ["x", "y"],
        [(1, None), (None, None), (2, "a")],
    )


def test_a_name_is_needed_where_there_are_cells(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["x", None, None], [1, None, 2]])
    assert "the name of column number 2, 3 is blank" in refused(InputError, path)


@pytest.mark.parametrize("rows", [[], [[None]]])
def test_an_empty_sheet(tmp_path, rows):
    assert "the sheet 'data' of t.xlsx is empty" in refused(InputError, workbook(tmp_path / "t.xlsx", rows))


def test_a_first_row_of_numbers_is_no_header(tmp_path):
    assert "are numbers" in refused(InputError, workbook(tmp_path / "t.xlsx", [[1.5, 2], [2.5, 3]]))


def test_of_several_sheets_one_is_to_be_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["x"], [1]], "notes", "old")
    assert refused(ConfigurationError, path) == (
        "input.sheet: t.xlsx has 3 sheets ('data', 'notes', 'old'): set the one to read"
    )
    assert "has no sheet 'Data'" in refused(ConfigurationError, path, sheet="Data")
    assert read_table(path, sheet="data") == (["x"], [(1,)])


def opendocument_cell(value):
    kind = "string" if isinstance(value, str) else f'float" office:value="{value}'
    return f'<table:table-cell office:value-type="{kind}"><text:p>{value}</text:p></table:table-cell>'


def test_a_sheet_of_opendocument(tmp_path):
    rows = [["x", "y"], [2.5, "a"]]
    written = "".join(
        f"<table:table-row>{''.join(map(opendocument_cell, row))}</table:table-row>" for row in rows
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            "</manifest:manifest>",
        )
        file.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="data">{written}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    assert read_table(tmp_path / "t.ods") == (["x", "y"], [(2.5, "a")])


@pytest.mark.parametrize("name", ["t.xlsx", "t.xls", "t.ods"])
@pytest.mark.parametrize("content", [b"", CANARY.encode(), b"PK\x03\x04" + CANARY.encode()])
def test_what_is_no_workbook(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert f"{name} cannot be read as a workbook" in refused(InputError, tmp_path / name)


# SPSS and Stata


def survey_frame():
    return pd.DataFrame(
        {
            "sex": [1.0, 2.0, 1.0, None],
            "age": [30.0, 41.0, 99.0, 57.0],
            "size": [1.5, 2.0, None, -0.5],
            "town": ["Köln", "", "Bonn", "x9"],
            "born": [date(1990, 1, 31), None, date(1500, 2, 3), date(2024, 3, 5)],
            "seen": [moment(2024, 3, 5, 1, 2, 3)] * 4,
        }
    )


def write_sav(path, frame, **choices):
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={
            "sex": {1.0: "male", 2.0: "female"},
            "age": {99.0: "old"},
            "town": {"Bonn": "B"},
        },
        column_labels={"sex": "Sex of the person"},
        missing_ranges={"town": ["x9"]},
        **choices,
    )
    return path


@pytest.mark.parametrize(("name", "compressed"), [("t.sav", False), ("t.zsav", True)])
def test_spss_arrives_with_labels_dates_and_missing_values(tmp_path, name, compressed):
    path = write_sav(tmp_path / name, survey_frame(), compress=compressed)
    names, rows = read_table(path)
    assert names == list(survey_frame())
    assert list(zip(*rows, strict=True)) == [
        ("male", "female", "male", None),
        ("30", "41", "old", "57"),
        (1.5, 2.0, None, -0.5),
        ("Köln", None, "B", None),
        (date(1990, 1, 31), None, date(1500, 2, 3), date(2024, 3, 5)),
        (moment(2024, 3, 5, 1, 2, 3),) * 4,
    ]
    assert column_labels(Input(path=path)) == {"sex": "Sex of the person"}


def test_codes_are_released_where_labels_are_not_wanted(tmp_path):
    path = write_sav(tmp_path / "t.sav", survey_frame())
    assert [row[:4] for row in read_table(path, labels=False)[1]] == [
        (1, 30, 1.5, "Köln"),
        (2, 41, 2.0, None),
        (1, 99, None, "Bonn"),
        (None, 57, -0.5, None),
    ]


def test_user_missing_numbers_of_spss_are_missing(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 8.0, 9.0, 97.0, 98.0]})
    pyreadstat.write_sav(
        frame, str(tmp_path / "t.sav"), missing_ranges={"x": [9.0, {"lo": 97.0, "hi": 99.0}]}
    )
    assert [cell for (cell,) in read_table(tmp_path / "t.sav")[1]] == [1, 8, None, None, None]


@pytest.mark.parametrize("labels", [{1.0: "same", 2.0: "same"}, {1.0: "2"}])
def test_codes_that_would_become_one_value_are_refused(tmp_path, labels):
    frame = pd.DataFrame({"x": [1.0, 2.0, 1.0], "y": [1.0, 1.0, 3.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels={"x": labels, "y": labels})
    assert refused(InputError, tmp_path / "t.sav").startswith("column 'x': 2 or more codes have the label")
    assert read_table(tmp_path / "t.sav", labels=False)[1] == [(1, 1), (2, 1), (1, 3)]


def test_stata_arrives_with_labels_dates_and_missing_values(tmp_path):
    frame = survey_frame().assign(whole=[1, 2, 3, 4], month=[0.0, 770.0, -1.0, None])
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "t.dta"),
        variable_value_labels={"sex": {1: "male", 2: "female"}},
        column_labels={"sex": "Sex of the person"},
        variable_format={"month": "%tm"},
    )
    names, rows = read_table(tmp_path / "t.dta")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    assert columns["sex"] == ("male", "female", "male", None)
    assert columns["age"] == (30, 41, 99, 57)
    assert columns["size"] == (1.5, 2.0, None, -0.5)
    assert columns["town"] == ("Köln", None, "Bonn", "x9")
    assert columns["born"] == (date(1990, 1, 31), None, date(1500, 2, 3), date(2024, 3, 5))
    assert columns["seen"] == (moment(2024, 3, 5, 1, 2, 3),) * 4
    assert columns["month"] == (date(1960, 1, 1), date(2024, 3, 1), date(1959, 12, 1), None)
    assert column_types(tmp_path / "t.dta")["whole"] == "BIGINT"
    assert column_labels(Input(path=tmp_path / "t.dta")) == {"sex": "Sex of the person"}


def test_rows_beyond_one_chunk_are_read_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.reading.statistics_rows.ROWS", 7)
    monkeypatch.setattr("tasks.reading.python_values.ROWS", 7)
    numbers = list(range(21))
    pyreadstat.write_sav(pd.DataFrame({"x": numbers}), str(tmp_path / "t.sav"))
    workbook(tmp_path / "t.xlsx", [["x"], *([number] for number in numbers)])
    for name in ("t.sav", "t.xlsx"):
        assert [cell for (cell,) in read_table(tmp_path / name)[1]] == numbers


@pytest.mark.parametrize("name", ["t.sav", "t.zsav", "t.dta"])
@pytest.mark.parametrize("content", [b"", CANARY.encode()])
def test_what_is_no_file_of_statistics(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert f"{name} cannot be read as a file of S" in refused(InputError, tmp_path / name)


def test_a_truncated_file_of_spss(tmp_path):
    write_sav(tmp_path / "whole.sav", survey_frame())
    (tmp_path / "t.sav").write_bytes((tmp_path / "whole.sav").read_bytes()[:-20])
    assert "t.sav cannot be read as a file of SPSS" in refused(InputError, tmp_path / "t.sav")


def test_what_crashes_its_reader_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.reading.apart.call_in_workers", call_in_workers)
    monkeypatch.setattr("tasks.reading.statistics_files.described", crash)
    monkeypatch.setattr("tasks.reading.workbooks.sheet_names", crash)
    for name, words in (("t.sav", "a file of SPSS"), ("t.xlsx", "a workbook")):
        (tmp_path / name).write_text(CANARY)
        assert f"{name} cannot be read as {words}" in refused(InputError, tmp_path / name)


def test_a_process_of_its_own_reads_what_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.reading.apart.call_in_workers", call_in_workers)
    assert read_table(workbook(tmp_path / "t.xlsx", [["x", "y"], [1, "a"]])) == (["x", "y"], [(1, "a")])
    assert "t.xlsx has 2 sheets" in refused(
        ConfigurationError, workbook(tmp_path / "t.xlsx", [["x"], [1]], "notes")
    )


def test_formats_without_their_extra_say_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    for name, words in (
        ("t.xlsx", "Excel needs the extra excel: install unjoin as '.[excel]'"),
        ("t.sav", "'.[statistics]'"),
    ):
        (tmp_path / name).write_bytes(b"x")
        assert words in refused(ConfigurationError, tmp_path / name)


# Databases


@pytest.fixture
def duck(tmp_path):
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"""
            CREATE TABLE t AS SELECT i, (i * 1.5)::DECIMAL(9, 2) AS d, i::HUGEINT AS h,
                ['{CANARY}', 'b'][1 + i % 2]::VARCHAR AS s, DATE '2024-01-01' + i::INTEGER AS day
            FROM range(5) AS r(i)
        """)
    return path


@pytest.fixture
def lite(tmp_path):
    path = tmp_path / "it's 100%.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (whole, number, wide, mixed, raw, none)")
        rows = [
            (1, 1, 2**53 + 1, "a", b"x", None),
            (2, 2.5, 0.5, 2.0, None, None),
            (None, None, 1, None, None, None),
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return path


def test_the_only_table_of_a_database_is_read(duck, lite):
    names, rows = read_table(duck)
    assert names == ["i", "d", "h", "s", "day"]
    assert rows[1] == (1, Decimal("1.50"), 1, "b", date(2024, 1, 2))
    assert column_types(duck)["h"] == "HUGEINT"
    names, rows = read_table(lite)
    assert [row[:4] for row in rows] == [
        (1, 1.0, str(2**53 + 1), "a"),
        (2, 2.5, "0.5", "2"),
        (None, None, "1", None),
    ]
    assert list(column_types(lite).values()) == ["BIGINT", "DOUBLE", "VARCHAR", "VARCHAR", "BLOB", "VARCHAR"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT {0} AS \"a b\", 'x;' FROM t ORDER BY 1 DESC -- last",
        "SELECT {0} AS \"a b\", 'x;' FROM t ORDER BY 1 DESC;",
    ],
)
def test_a_query_gives_the_table(duck, lite, query):
    assert read_table(duck, query=query.format("i"))[1][0] == (4, "x;")
    names, rows = read_table(lite, query=query.format("whole"))
    assert (names[0], rows[0]) == ("a b", (2, "x;"))


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE t",
        "ATTACH 'other' AS other",
        "PRAGMA user_version",
        "CREATE TABLE u AS SELECT 1",
        "COPY t TO 'x.csv'",
        "-- nothing",
    ],
)
def test_what_is_no_select_is_refused(duck, lite, query, tmp_path):
    before = duck.read_bytes(), lite.read_bytes()
    for path in (duck, lite):
        assert refused(ConfigurationError, path, query=query).startswith("input.query: ")
    assert (duck.read_bytes(), lite.read_bytes()) == before
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    "query", ["SELECT * FROM read_csv('{}')", "SELECT * FROM read_text('{}')", "SELECT * FROM glob('{}')"]
)
def test_a_query_reads_nothing_but_the_database(duck, tmp_path, query):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    told = refused(ConfigurationError, duck, query=query.format(tmp_path / "secret.csv"))
    assert told == "input.query: may read nothing but the database"


def test_a_query_that_fails_is_told_without_values(duck, lite):
    assert "failed while it ran (ConversionException)" in refused(
        InputError, duck, query="SELECT s::INTEGER FROM t"
    )
    for path in (duck, lite):
        assert "gone" in refused(ConfigurationError, path, query="SELECT gone FROM t")
        assert "gone" in refused(ConfigurationError, path, query="SELECT 1 FROM gone")


def test_what_sqlite_says_of_a_value_is_kept_back(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("CREATE TABLE t AS SELECT ? AS s", [CANARY])
    connection.close()
    told = refused(InputError, tmp_path / "t.sqlite", query="SELECT json_extract('{}', s) AS j FROM t")
    assert "cannot be read as a database of SQLite (OperationalError)" in told
    for query in ("EXPLAIN SELECT s FROM t", "QUERY PLAN SELECT s FROM t"):
        refused(UnjoinError, tmp_path / "t.sqlite", query=query)


def test_of_several_tables_a_query_is_to_choose(duck, lite, tmp_path):
    with duckdb.connect(duck) as connection:
        connection.execute("CREATE VIEW v AS SELECT * FROM t")
    with sqlite3.connect(lite) as connection:
        connection.execute("CREATE TABLE u (a)")
    connection.close()
    for path in (duck, lite):
        assert "holds 2 tables and views: set the SELECT" in refused(ConfigurationError, path)
    sqlite3.connect(tmp_path / "none.sqlite").close()
    (tmp_path / "none.sqlite").touch()
    assert "holds no table" in refused(InputError, tmp_path / "none.sqlite")


def test_twin_names_of_a_query_are_refused(duck, lite):
    for path in (duck, lite):
        assert "column names must differ" in refused(InputError, path, query="SELECT 1 AS a, 2 AS a FROM t")


@pytest.mark.parametrize("name", ["t.duckdb", "t.sqlite"])
def test_what_is_no_database(tmp_path, name):
    (tmp_path / name).write_text(CANARY * 50)
    assert f"{name} cannot be read as a database of" in refused(InputError, tmp_path / name)


# Settings


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.sav", "t.dta", "t.duckdb", "t.sqlite"])
def test_missing_files_and_folders(tmp_path, name):
    assert refused(InputError, tmp_path / name) == f"input.path: there is no file {name}"
    (tmp_path / name).mkdir()
    assert refused(InputError, tmp_path / name) == f"input.path: {name} is not a file"


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("t.parquet", {"delimiter": ";"}, "input.delimiter: is used with text files only"),
        ("t.xlsx", {"quote": "'"}, "input.quote: is used with text files only"),
        ("t.sav", {"encoding": "utf-8"}, "input.encoding: is used with text files only"),
        ("t.csv", {"sheet": "x"}, "input.sheet: is used with Excel files only"),
        ("t.csv.gz", {"query": "SELECT 1"}, "input.query: is used with DuckDB and SQLite files only"),
        ("t.csv", {"labels": False}, "input.labels: is used with SPSS and Stata files only"),
        ("t.csv", {"encoding": "klingon"}, "input.encoding: is not an encoding"),
        ("t.csv", {"encoding": "hex"}, "input.encoding: is not an encoding"),
        ("t.csv", {"delimiter": "\n"}, "input.delimiter: must be a character within a line"),
        ("t.csv", {"delimiter": "ab"}, "input.delimiter: String should have at most 1 character"),
        ("t.csv", {"quote": "«"}, "input.quote: must be an ASCII character"),
        ("t.csv", {"quote": ";", "delimiter": ";"}, "input.quote: must differ from the delimiter"),
    ],
)
def test_settings_that_do_nothing_or_mean_nothing_are_refused(name, settings, told):
    asked = {
        "input": {"path": name, **settings},
        "columns": {"class": "c", "features": "rest"},
        "privacy": {"k": 2},
        "output": {"name": "x"},
    }
    with pytest.raises(ConfigurationError) as caught:
        parse_config(asked)
    assert str(caught.value) == told


@pytest.mark.parametrize("name", ["t.csv", "t.sav", "t.sqlite", "t.unknown"])
def test_settings_that_say_what_is_so_anyway_are_not_refused(name):
    assert Input.model_validate({"path": name, "labels": True, "sheet": None, "query": None})


def test_names_are_data(tmp_path):
    name = "'; DROP TABLE raw; --\n\"" + "n" * 300
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute('CREATE TABLE "t""x\'" ({})'.format('"' + name.replace('"', '""') + '"'))
        connection.execute('INSERT INTO "t""x\'" VALUES (1)')
    connection.close()
    workbook(tmp_path / "t.xlsx", [[name], [1]])
    for path in (tmp_path / "t.sqlite", tmp_path / "t.xlsx"):
        assert read_table(path, missing_in={name: ["'"]}) == ([name], [(1,)])


def test_a_table_of_unknown_format_says_so(tmp_path):
    (tmp_path / "t.data").write_text(TEXT)
    with pytest.raises(UnjoinError, match=r"^input.format: cannot be told"):
        column_names(Input(path=tmp_path / "t.data"))
    assert read_table(tmp_path / "t.data", format="csv") == READ
