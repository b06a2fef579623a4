"""Reading a table: kinds, codes and missing values; what is refused, and that no value is told."""

import gzip
import json
import re
from datetime import time
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.load import Shape, load_table
from tasks.loading.encode import encode
from tasks.read_config import parse_config
from tasks.store import create_workspace

CANARY = "Zanzibar4711"


def load(table, *, k=2, columns=None, **settings):
    """Load a table whose class is called class; return the path of its store."""
    config = parse_config(
        {
            "input": {"path": table, **settings},
            "columns": {"class": "class", "features": "rest", **(columns or {})},
            "privacy": {"k": k},
            "fragmentation": {"fragments": 1},
            "output": {"name": "trial"},
        }
    )
    store = create_workspace(table.parent / "workspace")
    load_table(store, config)
    return store


def column(store, name):
    with duckdb.connect(store, read_only=True) as connection:
        quoted = name.replace('"', '""')
        return [value for (value,) in connection.execute(f'SELECT "{quoted}" FROM source').fetchall()]


def kinds(store):
    with duckdb.connect(store, read_only=True) as connection:
        return dict(connection.execute("SELECT name, kind FROM columns").fetchall())


@pytest.fixture
def write(tmp_path):
    """Write a text, or bytes, as a file."""

    def _write(content, name="table.csv"):
        table = tmp_path / name
        table.parent.mkdir(exist_ok=True)
        table.write_bytes(content if isinstance(content, bytes) else content.encode())
        return table

    return _write


def rows(cells, header="x,class", times=4):
    """Return a CSV text with every cell several times, so that none looks like an identifier."""
    lines = [f"{cell},{'ab'[turn % 2]}" for turn in range(times) for cell in cells]
    return "\n".join([header, *lines]) + "\n"


def message(kind, table, **settings):
    """Return the message with which a table is refused; no value of the table may be in it."""
    with pytest.raises(kind) as caught:
        load(table, **settings)
    assert CANARY not in str(caught.value)
    assert not list(table.parent.glob("workspace/error.log"))
    return str(caught.value)


# Kinds


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["5", "-3", "0"], "integer", [5, -3, 0]),
        (["5", "-3.5"], "decimal", [5.0, -3.5]),
        (["5.0", "-3.5"], "fixed", [Decimal("5.0"), Decimal("-3.5")]),
        (["1e-05", "2E3", "-5"], "decimal", [1e-05, 2000.0, -5.0]),
        ([".5", "5.", "+5"], "decimal", [0.5, 5.0, 5.0]),
        (["+5", "3"], "integer", [5, 3]),
        (["01234", "56789"], "categorical", ["01234", "56789"]),
        (["1", "2", "x"], "categorical", ["1", "2", "x"]),
        (["1", " 2"], "categorical", ["1", " 2"]),
        (["0x10", "1_000"], "categorical", ["0x10", "1_000"]),
        (["inf", "1.5"], "categorical", ["inf", "1.5"]),
        (["true", "false"], "categorical", ["true", "false"]),
        (["=1+1", "@x"], "categorical", ["=1+1", "@x"]),
    ],
)
def test_kinds_follow_how_values_are_written(write, cells, kind, values):
    store = load(write(rows(cells)))
    assert kinds(store)["x"] == kind
    assert column(store, "x") == values * 4


def test_integers_above_the_precision_of_floats_stay_apart_also_beside_missing_ones(write):
    store = load(write(rows(["9007199254740993", "9007199254740992", "", "-9223372036854775808"])))
    assert kinds(store)["x"] == "integer"
    assert column(store, "x")[:4] == [9007199254740993, 9007199254740992, None, -9223372036854775808]


def test_declared_types_win(write):
    store = load(
        write(rows(["01,1", "02,2", "03,2"], header="x,y,class")),
        columns={"types": {"x": "numeric", "y": "categorical"}},
    )
    assert kinds(store) == {"x": "integer", "y": "categorical", "class": "categorical"}
    assert column(store, "x")[:2] == [1, 2]
    assert column(store, "y")[:2] == ["1", "2"]


def test_a_numeric_class_holds_categories(write):
    store = load(write("x,class\n" + "1,1\n1,2.0\n" * 3))
    assert column(store, "class")[:2] == ["1", "2.0"]


@pytest.mark.parametrize("cell", ["NA", "NULL", "None", "nan", "*", "?", "N/A", "-"])
def test_words_that_other_programs_take_for_missing_are_categories(write, cell):
    store = load(write(rows([cell, "1"])))
    assert kinds(store)["x"] == "categorical"
    assert column(store, "x")[:2] == [cell, "1"]


@pytest.mark.parametrize("cell", ["NA", '"NA"'])
def test_declared_texts_are_missing_quoted_or_not(write, cell):
    store = load(write(rows([cell, "1", "2"])), missing=["", "NA"])
    assert kinds(store)["x"] == "integer"
    assert column(store, "x")[:3] == [None, 1, 2]


@pytest.mark.parametrize("missing", [[], ["NA"]])
def test_empty_cells_are_categories_where_they_are_not_declared_missing(write, missing):
    store = load(write(rows(["", '""', "x"])), missing=missing)
    assert column(store, "x")[:3] == ["", "", "x"]


def test_a_column_without_any_value_is_all_missing(write):
    store = load(write(rows([",1"], header="x,y,class", times=4)))
    assert column(store, "x") == [None] * 4


# How files are written


LINES = "é,class\nñ,a\nñ,b\nü,a\nü,b"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"{LINES}\n".encode(), id="LF"),
        pytest.param(LINES.encode(), id="no end of the last line"),
        pytest.param(f"{LINES}\n".replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(f"{LINES}\n".replace("\n", "\r").encode(), id="CR"),
        pytest.param(LINES.encode("utf-8-sig"), id="byte-order mark"),
        pytest.param(re.sub(r"\w+", r'"\g<0>"', LINES).encode(), id="quoted"),
        pytest.param(
            re.sub(r"\w+", r'"\g<0>"', LINES).encode("utf-8-sig"), id="quoted after a byte-order mark"
        ),
    ],
)
def test_line_ends_marks_and_quotes_make_no_difference(write, content):
    store = load(write(content))
    assert column(store, "é") == ["ñ", "ñ", "ü", "ü"]
    assert column(store, "class") == ["a", "b", "a", "b"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings(write, encoding):
    store = load(write(("é,class\n" + "ñ,a\nñ,b\n" * 2).encode(encoding)), encoding=encoding)
    assert column(store, "é") == ["ñ"] * 4


@pytest.mark.parametrize("name", ["table.csv.gz", "TABLE.CSV.GZ"])
def test_compressed_files(write, name):
    store = load(write(gzip.compress(rows(["1", "2"]).encode()), name))
    assert column(store, "x")[:2] == [1, 2]


@pytest.mark.parametrize(
    ("name", "delimiter", "given"), [("t.tsv", "\t", None), ("t.txt", ";", ";"), ("t.csv", "|", "|")]
)
def test_other_delimiters(write, name, delimiter, given):
    text = rows(["p q", "r,s".replace(",", "")]).replace(",", delimiter)
    store = load(write(text, name), **({"delimiter": given} if given else {}))
    assert column(store, "x")[:2] == ["p q", "rs"]


def test_the_format_can_be_given_where_the_name_does_not_tell(write):
    assert column(load(write(rows(["1"]), "table.data"), format="csv"), "x") == [1] * 4


def test_quoted_cells_hold_delimiters_quotes_and_line_ends(write):
    cells = ["a,b", 'a"b', "{x}", " or missing", "a\nb", "a\r\nb", "[1, 2]", "'; DROP TABLE raw; --"]
    store = load(write(rows(['"' + cell.replace('"', '""') + '"' for cell in cells])))
    assert column(store, "x") == cells * 4


@pytest.mark.parametrize("name", ["t[1].csv", "t*.csv", "t?.csv", "t'.csv", "t{a,b}.csv"])
def test_only_the_named_file_is_read_whatever_its_name(write, name):
    for other in ("t1.csv", "tx.csv", "ta.csv"):
        write(rows([CANARY]), other)
    store = load(write(rows(["1"]), name))
    assert column(store, "x") == [1] * 4


def test_a_parquet_file_with_a_pattern_for_a_name(tmp_path):
    for name, value in (("t1.parquet", 7), ("t[1].parquet", 5)):
        pd.DataFrame({"x": [value] * 4, "class": list("abab")}).to_parquet(tmp_path / name)
    assert column(load(tmp_path / "t[1].parquet"), "x") == [5] * 4


# Names


NAMES = ["rowid", "c0", "line", ":record", 'a"b', "a\nb", "x'); DROP TABLE raw; --", "n" * 300, "select", "é"]


def test_any_name_is_data(write):
    header = ",".join('"' + name.replace('"', '""') + '"' for name in NAMES)
    line = ",".join(str(number) for number in range(len(NAMES)))
    store = load(
        write(f"{header},class\n" + f"{line},a\n{line},b\n" * 2), columns={"types": {"c0": "numeric"}}
    )
    assert [column(store, name) for name in NAMES] == [[number] * 4 for number in range(len(NAMES))]


def test_any_name_is_data_in_parquet(tmp_path):
    frame = pd.DataFrame({name: [number] * 4 for number, name in enumerate(NAMES)} | {"class": list("abab")})
    frame.to_parquet(tmp_path / "t.parquet")
    store = load(tmp_path / "t.parquet")
    assert [column(store, name) for name in NAMES] == [[number] * 4 for number in range(len(NAMES))]


def test_a_thousand_columns(write):
    header = ",".join(f"x{number}" for number in range(999))
    line = ",".join(str(number % 7) for number in range(999))
    store = load(write(f"{header},class\n" + f"{line},a\n{line},b\n" * 2))
    assert len(kinds(store)) == 1000
    assert column(store, "x998") == [998 % 7] * 4


# Codes


cells = st.lists(st.none() | st.integers(-3, 3) | st.just(2**53 + 1), min_size=1)


@given(cells)
def test_codes_are_ranks_and_missing_is_the_first(values):
    absent = np.array([value is None for value in values])
    filled = np.array([0 if value is None else value for value in values], dtype=np.int64)
    codes, distinct, missing = encode(np.ma.masked_array(filled, absent))
    ranks = pd.Series(values, dtype="Int64").rank(method="dense").fillna(0).astype(int)
    assert_array_equal(codes, ranks - (0 if missing else 1))
    assert missing == absent.any()
    assert distinct.tolist() == sorted({value for value in values if value is not None})


@given(st.lists(st.text(max_size=3), min_size=1))
def test_codes_of_texts_follow_their_code_points(values):
    codes, distinct, missing = encode(np.array(values, dtype=object))
    assert not missing
    assert distinct.tolist() == sorted(set(values))
    assert [distinct[code] for code in codes] == values


def test_stored_codes_are_the_ranks_of_the_stored_values(write):
    store = load(write(rows(["10", "9", "", "9", "-1"])))
    with duckdb.connect(store, read_only=True) as connection:
        codes = connection.execute("SELECT x FROM codes").fetchnumpy()["x"]
    assert_array_equal(codes, [3, 2, 0, 2, 1] * 4)
    assert codes.dtype == np.int32


def test_the_shape_and_the_roles_are_told(write):
    table = write(rows(["1,2,3,4", "5,6,7,8"], header="id,x,y,note,class"))
    columns = {"identifiers": ["id"], "drop": ["note"]}
    config = parse_config(
        {
            "input": {"path": table},
            "columns": {"class": "class", "features": "rest", **columns},
            "privacy": {"k": 2},
            "output": {"name": "trial"},
        }
    )
    store = create_workspace(table.parent / "w")
    assert load_table(store, config) == Shape(records=8, features=2, class_values=2)
    with duckdb.connect(store, read_only=True) as connection:
        told = connection.execute(
            "SELECT name, role, distinct_values FROM columns ORDER BY position"
        ).fetchall()
        held = connection.execute("SHOW TABLES").fetchall()
        in_source = [name for name, *_ in connection.execute("DESCRIBE source").fetchall()]
    assert told == [("x", "feature", 2), ("y", "feature", 2), ("class", "class", 2)]
    assert in_source == ["x", "y", "class"]
    assert "raw" not in [name for (name,) in held]


# Parquet


def test_typed_columns_of_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": [1, 2**62, -3, 1],
            "gaps": pd.array([1, None, 3, 1], dtype="Int64"),
            "float": [0.5, np.nan, 1e-05, 0.5],
            "exact": [Decimal("1.50"), Decimal("2.25"), None, Decimal("1.50")],
            "truth": [True, False, None, True],
            "group": pd.Categorical(["b", "a", None, "b"]),
            "text": ["7", "", "x", "7"],
            "class": pd.Categorical(["a", "b", "a", "b"]),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    store = load(tmp_path / "t.parquet")
    assert kinds(store) == {
        "whole": "integer",
        "gaps": "integer",
        "float": "decimal",
        "exact": "fixed",
        "truth": "categorical",
        "group": "categorical",
        "text": "categorical",
        "class": "categorical",
    }
    assert column(store, "whole") == [1, 2**62, -3, 1]
    assert column(store, "gaps") == [1, None, 3, 1]
    assert column(store, "float") == [0.5, None, 1e-05, 0.5]
    assert column(store, "exact") == [Decimal("1.50"), Decimal("2.25"), None, Decimal("1.50")]
    assert column(store, "truth") == ["true", "false", None, "true"]
    assert column(store, "group") == ["b", "a", None, "b"]
    assert column(store, "text") == ["7", None, "x", "7"]


def test_declared_texts_stand_for_missing_in_parquet_too(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": [-999, 1, 1, 1],
            "float": [-999.0, 1.5, np.nan, 1.5],
            "text": ["?", "a", "-999", "a"],
            "class": ["a", "b", "a", "b"],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    store = load(tmp_path / "t.parquet", missing=["", "?", "-999"])
    assert column(store, "whole") == [None, 1, 1, 1]
    assert column(store, "float") == [None, 1.5, None, 1.5]
    assert column(store, "text") == [None, "a", None, "a"]


def test_times_of_parquet_are_refused_with_a_hint_and_can_be_categories(tmp_path):
    frame = pd.DataFrame({"at": [time(10, 30)] * 4, "class": list("abab")})
    frame.to_parquet(tmp_path / "t.parquet")
    told = message(InputError, tmp_path / "t.parquet")
    assert "column 'at': holds values of type TIME" in told
    assert 'set columns.types to "categorical"' in told
    (tmp_path / "again").mkdir()
    again = (tmp_path / "t.parquet").rename(tmp_path / "again" / "t.parquet")
    assert column(load(again, columns={"types": {"at": "categorical"}}), "at") == ["10:30:00"] * 4


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}])
def test_nested_parquet_is_refused(tmp_path, cell):
    pd.DataFrame({"nest": [cell] * 4, "class": list("abab")}).to_parquet(tmp_path / "t.parquet")
    assert "column 'nest': holds values of type" in message(InputError, tmp_path / "t.parquet")


def test_a_file_that_is_not_parquet(write):
    assert "t.parquet is not a Parquet file" in message(InputError, write(CANARY, "t.parquet"))


# Files that cannot be read


def test_a_missing_file(tmp_path):
    assert message(InputError, tmp_path / "t.csv") == "input.path: there is no file t.csv"


def test_a_folder(tmp_path):
    (tmp_path / "t.csv").mkdir()
    assert message(InputError, tmp_path / "t.csv") == "input.path: t.csv is not a file"


@pytest.mark.parametrize("content", ["", "\n", "\n\nx,class\n"])
def test_a_file_without_a_header(write, content):
    assert "table.csv is empty: a header line" in message(InputError, write(content))


@pytest.mark.parametrize("content", ["x,class\n", "x,class", "x,class\r\n"])
def test_a_header_without_records(write, content):
    assert message(InputError, write(content)) == "input.path: the table has no records"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x89PNG\r\n\x1a\n", id="picture"),
        pytest.param("x,class\n1,a\n".encode("utf-16-le"), id="UTF-16 without a mark"),
    ],
)
def test_a_file_that_is_not_text(write, content):
    assert "table.csv is not text in utf-8" in message(InputError, write(content))


@pytest.mark.parametrize("content", [b"not gzip", gzip.compress(b"x,class\n1,a\n" * 9, mtime=0)[:-12]])
def test_a_damaged_compressed_file(write, content):
    assert "cannot be read" in message(InputError, write(content, "t.csv.gz"))


def test_ragged_rows_are_named_by_line(write):
    told = message(InputError, write(f"x,class\n1,a\n{CANARY}\n1,a\n1,{CANARY},3\n"))
    assert "lines 3, 5 of table.csv cannot be read as 2 cells in utf-8" in told


def test_of_many_ragged_rows_the_first_are_named(write):
    told = message(InputError, write("x,class\n" + f"{CANARY}\n" * 9))
    assert "lines 2, 3, 4, 5, 6 and 4 more" in told


def test_a_row_that_is_not_in_the_encoding_is_named(write):
    table = write(f"x,class\n{CANARY},a\nñ,b\n".encode("latin-1"))
    assert "line 3 of table.csv is not text in utf-8" in message(InputError, table, encoding="utf-8")


def test_a_quote_that_never_ends(write):
    assert "cannot be read" in message(InputError, write(f'x,class\n1,a\n"{CANARY},a\n1,a\n'))


def test_mixed_line_ends_are_read_as_they_are(write):
    store = load(write('x,class\r\n1,a\n2,a\r"1",a\r\n2,a\n'))
    assert column(store, "x") == [1, 2, 1, 2]


# Names that cannot be used


@pytest.mark.parametrize(("header", "number"), [("x,,class", 2), ("x, \t,class", 2), ("x,class,", 3)])
def test_a_blank_name(write, header, number):
    assert f"column number {number} is blank" in message(InputError, write(f"{header}\n1,{CANARY},a\n"))


@pytest.mark.parametrize(
    ("first", "second"), [("a", "a"), ("a", "A"), ("a", "a "), ("é", "e\u0301"), ("ß", "SS")]
)
def test_names_that_are_too_much_alike(write, first, second):
    told = message(InputError, write(f"{first},{second},class\n1,{CANARY},a\n"))
    assert "column names must differ" in told
    assert f"{first!r}, {second!r}" in told


# Roles


def test_all_faults_of_roles_are_told_together(write):
    table = write("x,y,z,class\n" + f"{CANARY},1,2,a\n" * 2)
    columns = {
        "features": ["x", "gone"],
        "drop": ["x"],
        "identifiers": ["lost"],
        "types": {"none": "numeric"},
    }
    told = message(ConfigurationError, table, columns=columns).splitlines()
    assert sorted(told) == [
        "column 'x': has more than one role (drop, features): keep one",
        "column 'y': has no role: add it to features, sensitive, identifiers or drop",
        "column 'z': has no role: add it to features, sensitive, identifiers or drop",
        "columns.features: the table has no column 'gone'",
        "columns.identifiers: the table has no column 'lost'",
        "columns.types: the table has no column 'none'",
    ]


def test_a_class_that_the_table_lacks(write):
    told = message(ConfigurationError, write("x,y\n" + f"{CANARY},1\n" * 2))
    assert told == "columns.class: the table has no column 'class'"


def test_no_feature_is_left(write):
    table = write(f"x,class\n{CANARY},a\n")
    assert "no column is left to be a feature" in message(ConfigurationError, table, columns={"drop": ["x"]})


# Values that cannot be used


@pytest.mark.parametrize(("records", "k"), [(1, 2), (39, 40)])
def test_fewer_records_than_k_is_infeasible(write, records, k):
    told = message(InfeasibleError, write("x,class\n" + f"{CANARY},a\n" * records), k=k)
    assert f"{records} records, fewer than k = {k}" in told
    assert InfeasibleError.exit_code == 3


def test_as_many_records_as_k_are_enough(write):
    assert column(load(write("x,class\n" + "1,a\n" * 40), k=40), "x") == [1] * 40


def test_a_class_that_is_missing_in_some_rows(write):
    told = message(InputError, write(f"x,class\n{CANARY},a\n{CANARY},\n{CANARY},\n{CANARY},a\n"))
    assert "column 'class': the class is missing in 2 of 4 records" in told


def test_a_class_with_too_many_values(write):
    table = write("x,class\n" + "".join(f"1,{CANARY}{number % 4}\n" for number in range(11)))
    assert "column 'class': has 4 class values for 11 records, more than one per k = 3" in message(
        InputError, table, k=3
    )


def test_a_class_with_just_few_enough_values(write):
    table = write("x,class\n" + "".join(f"1,{number % 4}\n" for number in range(12)))
    assert len(set(column(load(table, k=3), "class"))) == 4


@pytest.mark.parametrize("cell", ["1e400", "-1e400"])
def test_numbers_too_large_for_a_float_are_refused(write, cell):
    assert "column 'x': 4 numbers are infinite, or too large" in message(
        InputError, write(rows([cell, "1.5"]))
    )


def test_infinite_numbers_of_parquet_are_refused(tmp_path):
    pd.DataFrame({"x": [np.inf, -np.inf, 1.5, np.nan], "class": list("abab")}).to_parquet(
        tmp_path / "t.parquet"
    )
    assert "column 'x': 2 numbers are infinite" in message(InputError, tmp_path / "t.parquet")


def test_whole_numbers_of_more_than_64_bits_are_refused(write):
    told = message(InputError, write(rows(["9223372036854775808", "1", "2"])))
    assert "column 'x': 4 whole numbers need more than 64 bits" in told


def test_declared_numbers_that_are_none_are_counted_and_named_by_row(write):
    table = write(rows(["1", "2", CANARY, "4"]))
    told = message(InputError, table, columns={"types": {"x": "numeric"}})
    assert "column 'x': 4 values (rows 3, 7, 11, 15) are no number, though columns.types says so" in told


@pytest.mark.parametrize("value", [f"{CANARY}{{}}", "{}"])
def test_a_likely_identifier_is_refused_unless_named(write, value):
    text = "x,y,class\n" + "".join(f"{value.format(number)},1,a\n" for number in range(10))
    told = message(InputError, write(text))
    assert "column 'x': holds 10 values in 10 records, as an identifier does" in told
    again = write(text, "again.csv")
    again.parent.joinpath("workspace").rename(again.parent / "first")
    assert len(column(load(again, columns={"features": ["x", "y"]}), "x")) == 10


@pytest.mark.parametrize("prefix, most", [("", 9), ("v", 5)])
def test_as_many_values_as_a_feature_may_have_are_no_likely_identifier(write, prefix, most):
    text = "x,class\n" + "".join(f"{prefix}{1 + number % most},a\n" for number in range(10))
    assert len(set(column(load(write(text)), "x"))) == most
    text = "x,class\n" + "".join(f"{prefix}{1 + number % (most + 1)},a\n" for number in range(10))
    with pytest.raises(InputError, match="as an identifier does"):
        load(write(text, "more/table.csv"))


def test_all_faults_of_columns_are_told_together(write):
    text = "id,x,class\n" + "".join(f"{CANARY}{number},1e999,\n" for number in range(10))
    told = message(InputError, write(text), columns={"types": {"x": "numeric"}}).splitlines()
    assert [line.partition(":")[0] for line in told] == ["column 'class'", "column 'x'", "column 'id'"]


def test_names_in_messages_are_shown_as_they_are(write):
    table = write(rows(["a", "b"], header='"x\ny",class'))
    told = message(InputError, table, columns={"types": {"x\ny": "numeric"}})
    assert json.dumps("x\ny")[1:-1] in told


def test_more_fragments_than_features_are_refused_before_any_work(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,class\n1,a\n2,b\n")
    config = parse_config(
        {
            "input": {"path": table},
            "columns": {"class": "class", "features": "rest"},
            "privacy": {"k": 2},
            "output": {"name": "trial"},
        }
    )
    with pytest.raises(ConfigurationError, match="2 fragments of 1 feature: set it to at most 1"):
        load_table(create_workspace(tmp_path / "workspace"), config)


def test_the_path_of_a_table_adds_no_column(tmp_path):
    folder = tmp_path / "x=77" / "class=zz"
    folder.mkdir(parents=True)
    table = folder / "t.parquet"
    pd.DataFrame({"x": [1, 1, 2, 2], "class": list("abab")}).to_parquet(table)
    store = load(table)
    assert column(store, "x") == [1, 1, 2, 2]
    assert column(store, "class") == list("abab")


def test_identifiers_and_dropped_columns_are_not_stored(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(f"id,x,note,class\n{CANARY}1,1,{CANARY},a\n{CANARY}2,1,{CANARY},a\n")
    store = load(table, columns={"identifiers": ["id"], "drop": ["note"]})
    assert CANARY.encode() not in store.read_bytes()


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    with pytest.raises(InputError, match="2 of 3 names in the first line are numbers") as caught:
        load(table)
    assert "5.1" not in str(caught.value)


def test_only_features_have_a_type(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,class\n1,a\n2,b\n")
    with pytest.raises(ConfigurationError, match="only features have a type, not 'class'"):
        load(table, columns={"types": {"class": "numeric"}})


# Persons


def visits(names):
    """Return three visits for each of twenty persons, and what they say of each."""
    lines = [
        f"{person},{names(person, visit)},{'ab'[visit % 2]}" for person in range(20) for visit in range(3)
    ]
    return "\n".join(["who,x,class", *lines]) + "\n"


def test_a_name_that_every_visit_repeats_is_a_likely_identifier(write):
    told = message(
        InputError, write(visits(lambda person, _: f"{CANARY}{person}")), columns={"entity": "who"}
    )
    assert told.startswith("column 'x': holds 20 values in 60 records, as an identifier does")


def test_values_that_persons_share_are_no_identifier(write):
    store = load(
        write(visits(lambda person, visit: f"ward {(person + visit) % 9}")), columns={"entity": "who"}
    )
    assert kinds(store) == {"x": "categorical", "class": "categorical"}


def test_an_entity_that_the_table_has_not_is_named_whatever_else_is_asked(write):
    columns = {"entity": "nobody", "hierarchies": {"x": {"prefix": [1]}}}
    told = message(ConfigurationError, write(visits(lambda person, _: f"n{person % 4}")), columns=columns)
    assert told == "columns.entity: the table has no column 'nobody'"


def test_persons_whose_names_only_look_different_are_refused(write):
    text = visits(lambda person, _: f"n{person % 4}")
    table = write(text.replace("\n7,", "\nseven,", 1).replace("\n7,", "\nSeven ,"))
    told = message(InputError, table, columns={"entity": "who"})
    assert told.startswith("column 'who': 1 of its 21 values differ from another only in case")


def test_a_text_that_ends_early_elsewhere_is_refused(tmp_path):
    frame = pd.DataFrame({"x": [f"{CANARY}\0b", "c"] * 10, "class": ["a", "b"] * 10})
    frame.to_parquet(tmp_path / "table.parquet")
    told = message(InputError, tmp_path / "table.parquet")
    assert told == "column 'x': 1 of its 2 values hold a NUL: remove it"


@pytest.mark.parametrize("name", ["x\0y", "\ufeffx"])
def test_names_that_other_programs_do_not_see_are_refused(tmp_path, name):
    pd.DataFrame({name: [1, 2], "class": ["a", "b"]}).to_parquet(tmp_path / "table.parquet")
    told = message(InputError, tmp_path / "table.parquet")
    assert told == "the name of column number 1 holds a NUL or a byte-order mark: rename it"
