"""Dates: declared formats, precision, rows that do not fit, columns that look like dates."""

from datetime import date, datetime, timedelta, timezone

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_load import CANARY, column, kinds, load, message, rows, write  # noqa: F401  a fixture

from tasks.domain import Domain
from tasks.errors import ConfigurationError, InputError
from tasks.loading.dates import USUAL, day_of, fits, fitting_formats, look_like_dates
from tasks.partitions.regions import NumericRegions
from tasks.released import write_regions
from tasks.tables import read_domains, read_regions
from tasks.typed_values import as_stored, as_typed, first_day, last_day

PRECISIONS = ["day", "month", "quarter", "year"]
EPOCH = date(1970, 1, 1)
quick = settings(deadline=None, max_examples=40)


def columns_table(store):
    with duckdb.connect(store, read_only=True) as connection:
        return connection.execute("SELECT name, kind, scale, precision FROM columns").fetchall()


def domain_of(store):
    with duckdb.connect(store, read_only=True) as connection:
        ((domain, *_), _) = read_domains(connection)
    return domain


# Declared formats


@pytest.mark.parametrize(
    "written, cells",
    [
        ("%d.%m.%Y", ["31.01.2020", "1.2.2020"]),
        ("%Y-%m-%d %H:%M:%S", ["2020-01-31 23:59:59", "2020-02-01 00:00:00"]),
        ("%m/%d/%Y", ["01/31/2020", "02/01/2020"]),
        ("%d %b %Y", ["31 Jan 2020", "01 Feb 2020"]),
        ("%Y%m%d", ["20200131", "20200201"]),
        ("%Y-%j", ["2020-031", "2020-032"]),
        ("%Y-%m-%dT%H:%M:%S%z", ["2020-01-31T23:00:00+00:00", "2020-01-31T23:00:00-02:00"]),
    ],
)
def test_declared_dates_are_days(write, written, cells):  # noqa: F811
    store = load(write(rows([*cells, ""])), dates={"x": written})
    assert columns_table(store)[0] == ("x", "date", 0, "day")
    assert column(store, "x")[:3] == [date(2020, 1, 31), date(2020, 2, 1), None]
    assert domain_of(store).values.tolist() == [
        (date(2020, 1, 31) - EPOCH).days,
        (date(2020, 2, 1) - EPOCH).days,
    ]
    assert domain_of(store).missing


def test_a_column_of_dates_may_be_missing_altogether(write):  # noqa: F811
    store = load(write(rows([",1"], header="x,y,class")), dates={"x": "%Y-%m-%d"})
    assert columns_table(store)[0] == ("x", "date", 0, "day")
    assert column(store, "x") == [None] * 4
    assert len(domain_of(store).values) == 0


@pytest.mark.parametrize(
    "precision, first",
    [
        ("day", date(2020, 5, 17)),
        ("month", date(2020, 5, 1)),
        ("quarter", date(2020, 4, 1)),
        ("year", date(2020, 1, 1)),
    ],
)
def test_a_precision_keeps_the_first_day_only(write, precision, first):  # noqa: F811
    table = write(rows(["17.05.2020", "18.05.2020"]))
    store = load(table, dates={"x": "%d.%m.%Y"}, columns={"precision": {"x": precision}})
    assert columns_table(store)[0] == ("x", "date", 0, precision)
    assert column(store, "x")[0] == first
    assert len(domain_of(store).values) == (2 if precision == "day" else 1)


@pytest.mark.parametrize(
    "written, precision, cells",
    [
        ("%Y", "year", ["2020", "2021"]),
        ("%m/%Y", "month", ["05/2020", "06/2020"]),
        ("%Y-%m", "quarter", ["2020-05"]),
    ],
)
def test_a_coarser_precision_needs_less_in_the_format(write, written, precision, cells):  # noqa: F811
    store = load(write(rows(cells)), dates={"x": written}, columns={"precision": {"x": precision}})
    assert kinds(store)["x"] == "date"


def test_declared_texts_are_missing_among_dates(write):  # noqa: F811
    table = write(rows(["2020-01-31", "unknown", ""]))
    store = load(table, dates={"x": "%Y-%m-%d"}, missing=["", "unknown"])
    assert column(store, "x")[:3] == [date(2020, 1, 31), None, None]


@pytest.mark.parametrize(
    "cell",
    [
        *(CANARY, "2020-02-30", "2020-13-01", "31.01.2020", "2020-01-31 10:00", " 2020-01-31", "2020-01-31 "),
        *("20-01-31", "0020-1-32", "12020-01-31", "-2020-01-31", "0000-01-01", "infinity"),
    ],
)
def test_what_is_not_written_so_is_counted_and_named_by_row(write, cell):  # noqa: F811
    table = write("x,class\n" + "2020-01-31,a\n" + f"{cell},b\n" * 7 + "2020-01-31,a\n")
    told = message(InputError, table, dates={"x": "%Y-%m-%d"})
    assert told == (
        "column 'x': 7 values (rows 2, 3, 4, 5, 6 and 2 more) are no date written as %Y-%m-%d: "
        "mend them, or declare what is missing under input.missing"
    )


def test_one_bad_row_is_named_alone_and_the_first_record_is_row_1(write):  # noqa: F811
    told = message(InputError, write("x,class\nx,a\n2020-01-31,b\n"), dates={"x": "%Y-%m-%d"})
    assert "column 'x': 1 value (row 1) is no date written as" in told


@pytest.mark.parametrize(
    "text, day", [("0020-01-31", date(20, 1, 31)), ("9999-12-31", date.max), ("0001-01-01", date.min)]
)
def test_years_have_four_digits(write, text, day):  # noqa: F811
    assert column(load(write(rows([text, "2020-01-31"])), dates={"x": "%Y-%m-%d"}), "x")[0] == day


@pytest.mark.parametrize(
    "written, told",
    [
        ("%Q", "is none"),
        ("%Y-%m-%", "is none"),
        ("", "is none"),
        ("dd.mm.yyyy", "lacks the year and the month and the day"),
        ("%d.%m.%y", "two digits for the year"),
        ("%-y-%m-%d", "two digits for the year"),
        ("%m.%Y", "lacks the day"),
        ("%Y-%d", "lacks the month"),
        ("%%Y-%%m-%%d", "lacks the year"),
        ("%H:%M", "lacks the year"),
    ],
)
def test_formats_that_cannot_tell_a_day_are_refused(write, written, told):  # noqa: F811
    table = write(rows(["2020-01-31"]))
    found = message(ConfigurationError, table, dates={"x": written}).splitlines()
    assert found[0].startswith("input.dates: the format of 'x' ")
    assert told in found[0]


def test_dates_need_no_type_and_a_precision_needs_dates(write):  # noqa: F811
    table = write(rows(["2020-01-31,5"], header="x,y,class"))
    columns = {"types": {"x": "categorical"}, "precision": {"y": "month"}}
    assert message(ConfigurationError, table, dates={"x": "%Y-%m-%d"}, columns=columns).splitlines() == [
        "column 'x': has a format under input.dates and a type under columns.types: keep one",
        (
            "column 'y': has a precision under columns.precision, but no dates: "
            "give their format under input.dates"
        ),
    ]


def test_only_features_are_read_as_dates(write):  # noqa: F811
    table = write("x,day,class\n" + "1,2020-01-31,2020-01-31\n" * 4)
    columns = {"drop": ["day"], "precision": {"class": "year"}}
    assert message(
        ConfigurationError, table, dates={"class": "%Y-%m-%d", "day": "%Y-%m-%d"}, columns=columns
    ).splitlines() == [
        "columns.precision: only features have a precision, not 'class'",
        "input.dates: only features have a format of dates, not 'class', 'day'",
    ]


def test_dates_of_the_class_are_texts_as_they_are(write):  # noqa: F811
    store = load(write("x,class\n" + "1,31.01.2020\n" * 4))
    assert column(store, "class") == ["31.01.2020"] * 4


# What looks like dates


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-31", "2020-02-01"],
        ["31.01.2020", "01.02.2020"],
        ["01/31/2020", "31/01/2020"],
        ["2020-01-31 10:00:00", "2020-01-31T10:00:00Z"],
        ["5-Mar-2020", "05MAR2020"],
        ["01/31/20", "31/01/20"],
        ["2020-01-31", *(f"2020-02-{day:02}" for day in range(1, 25)), "unknown"],
    ],
)
def test_a_column_of_dates_without_a_format_is_refused_unless_declared(write, cells):  # noqa: F811
    told = message(InputError, write(rows(cells)))
    assert told == (
        "column 'x': looks like dates: give their format under input.dates, "
        'declare it "categorical" under columns.types, or drop it'
    )
    again = write(rows(cells), "again/table.csv")
    store = load(again, columns={"types": {"x": "categorical"}})
    assert column(store, "x")[: len(cells)] == cells


@pytest.mark.parametrize(
    "cells",
    [
        ["20200131", "20200201"],
        ["10.0.0.1", "10.0.0.2"],
        ["1.2.3", "1.2.4"],
        ["2020-01-31", "b", "c"],
        ["20-34-56", "20-45-67"],
        ["2020-2021", "2021-2022"],
        ["99-99-9999", "88-88-8888"],
    ],
)
def test_other_columns_are_no_dates(write, cells):  # noqa: F811
    assert kinds(load(write(rows(cells))))["x"] != "date"


@pytest.mark.parametrize(
    "cells, expected",
    [
        (["31/01/2020", "01/02/2020"], ["%d/%m/%Y"]),
        (["03/01/2020", "01/02/2020"], ["%d/%m/%Y", "%m/%d/%Y"]),
        (["2020-01-31T10:00:00Z"], ["%Y-%m-%dT%H:%M:%SZ"]),
        (["x"], []),
        ([None], []),
    ],
)
def test_the_formats_that_all_values_fit_are_found(cells, expected):
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE raw AS SELECT unnest(?::VARCHAR[]) AS c0", [cells])
        assert [
            written for written in fitting_formats(connection, "c0") if "%H" not in written or "T" in written
        ] == expected


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)), st.sampled_from(USUAL))  # noqa: DTZ001
@quick
def test_a_usual_format_reads_what_is_written_in_it(moment, written):
    moment = moment.replace(tzinfo=timezone.utc)  # noqa: UP017
    text = moment.strftime(written)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE raw AS SELECT ? AS c0", [text])
        ((day, sound),) = connection.execute(
            f"SELECT {day_of('c0', written)}, {fits('c0', written)} FROM raw"
        ).fetchall()
        assert sound
        assert day == moment.date()
        assert look_like_dates(connection, "c0")


# Typed dates


def test_typed_dates_and_moments_are_days_in_utc(tmp_path):
    late = datetime(2020, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    frame = pd.DataFrame(
        {
            "day": [date(2020, 1, 31), None] * 2,
            "moment": pd.to_datetime(["2020-01-31 23:59:59", None] * 2),
            "zoned": [late, None] * 2,
            "text": [late, None] * 2,
            "class": [late] * 4,
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    columns = {"types": {"text": "categorical"}, "precision": {"moment": "month"}}
    store = load(tmp_path / "t.parquet", columns=columns)
    assert columns_table(store)[:4] == [
        ("day", "date", 0, "day"),
        ("moment", "date", 0, "month"),
        ("zoned", "date", 0, "day"),
        ("text", "categorical", 0, None),
    ]
    assert column(store, "day")[:2] == [date(2020, 1, 31), None]
    assert column(store, "moment")[:2] == [date(2020, 1, 1), None]
    assert column(store, "zoned")[:2] == [date(2020, 2, 1), None]
    assert column(store, "text")[:2] == ["2020-02-01 01:30:00", None]
    assert column(store, "class")[0] == "2020-02-01 01:30:00"


def test_typed_dates_have_no_format(tmp_path):
    pd.DataFrame({"x": [date(2020, 1, 31)] * 4, "class": list("abab")}).to_parquet(tmp_path / "t.parquet")
    told = message(InputError, tmp_path / "t.parquet", dates={"x": "%Y-%m-%d"})
    assert told == "column 'x': holds dates already: leave its format out of input.dates"


def test_whole_numbers_can_be_dates(tmp_path):
    pd.DataFrame({"x": [20200131, 20200201] * 2, "class": list("abab")}).to_parquet(tmp_path / "t.parquet")
    store = load(tmp_path / "t.parquet", dates={"x": "%Y%m%d"})
    assert column(store, "x")[:2] == [date(2020, 1, 31), date(2020, 2, 1)]


@pytest.mark.parametrize("day", ["10000-01-01", "0001-01-01 (BC)", "infinity"])
def test_days_that_no_file_could_hold_are_refused(tmp_path, day):
    rows = duckdb.sql(f"SELECT DATE '{day}' AS x, 'a' AS class FROM range(4)")
    rows.write_parquet(str(tmp_path / "t.parquet"))
    told = message(InputError, tmp_path / "t.parquet")
    assert "column 'x': 4 values (rows 1, 2, 3, 4) are outside the years 1 to 9999" in told


# What is released


@given(st.lists(st.dates(), min_size=1, max_size=6, unique=True), st.sampled_from(PRECISIONS), st.data())
@example([date.min, date.max], "quarter", None)
@quick
def test_released_dates_read_back_and_nothing_lies_outside(days, precision, data):
    with duckdb.connect() as connection:
        firsts = connection.execute(
            f"SELECT DISTINCT {as_stored(first_day('day', precision), 'date', 0)} "
            "FROM (SELECT unnest(?::DATE[]) AS day) ORDER BY 1",
            [days],
        ).fetchnumpy()
        values = np.ma.getdata(next(iter(firsts.values())))
        domain = Domain("x", "date", values, missing=True, precision=precision)
        codes = st.integers(1, len(values))
        pairs = (
            [[1, len(values)]]
            if data is None
            else [sorted(data.draw(st.tuples(codes, codes))) for _ in range(3)]
        )
        lower, upper = np.array(pairs, dtype=np.int32).T
        classes = len(pairs)
        present = np.arange(classes) < 2
        region = NumericRegions(domain, lower * present, upper * present, present, np.arange(classes) > 0)
        write_regions(connection, 1, [region])
        (again,) = read_regions(connection, 1, [domain])
        assert again.texts() == region.texts()
        first = f"{as_typed('value', 'date', 0)}"
        held = connection.execute(
            f"SELECT {first}, {last_day(first, precision)} FROM (SELECT unnest(?::BIGINT[]) AS value)",
            [values.tolist()],
        ).fetchall()
        for (cell,), (low, high), known in zip(
            connection.execute("SELECT f1 FROM typed_regions_1 ORDER BY rowid").fetchall(),
            pairs,
            present,
            strict=True,
        ):
            inside = [first for first, _ in held[low - 1 : high]] + [last for _, last in held[low - 1 : high]]
            expected = (min(inside), max(inside)) if known else (None, None)
            assert (cell["lower"], cell["upper"]) == expected
