"""Published cells: the grammar by hand, and round trips through a CSV file."""

import csv
import io
from datetime import date
from decimal import Context
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.domain import Domain
from tasks.partitions.cells import CategoryCell, NumericCell, category_cell, numeric_cell, parse_cell
from tasks.partitions.numbers import number_texts

context = Context(prec=18)

quick = settings(deadline=None, max_examples=100)
awkward = st.sampled_from(
    [
        *("", " ", "a ", "a,b", "a;b", 'a"b', "{x}", "{", "}", "[", "[1, 2]", '{"a"}', "\\", "\n", "\r\n"),
        *(" or missing", "x or missing", "01234", "NA", "NULL", "None", "nan", "*", "=1+1"),
        *("e\u0301", "\u00e9", "\u2028"),
    ]
)
categories = awkward | st.text(st.characters(exclude_categories=["Cs"]))
integers = st.integers(-(2**63), 2**63 - 1)
decimals = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
stored = st.integers(-(10**18) + 1, 10**18 - 1)
days = st.dates()
NO_FIXED = (
    "12.5|12.500|12|+12.50|012.50|.50|-0.00|1e2|12,50|1_2.50|x| 12.50|[12.50, 12.50]|[13.00, 12.50]|"
    "[12.50, 13.0]|12345678901234567.00| or missing|\u0663.00"
)
NO_DATES = (
    "2024-13|2024-00|2024-02-30|2023-02-29|2024-Q5|2024-Q0|24-01-01|0000|20240101|[2024, 2024]|[2024, 2023]|"
    "[2024, 2025-01]|[2024-01-01, 2024-02]|2024-1-1|[2024-01, 2024-Q2]|2024-01-01 00:00:00|-2024|2024-01-01T|"
    " or missing|12024-01-01|2024-q1|\u0662024"
)
PRECISIONS = ["day", "month", "quarter", "year"]


def through_csv(cell):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow([cell, "class"])
    file.seek(0)
    [[read, _]] = csv.reader(file)
    return read


def of_numbers(lower, upper, missing, kind="integer", **of_domain):
    values = np.array([lower, upper])
    lower, upper = number_texts(values, Domain("x", kind, values, missing, **of_domain))
    return numeric_cell(lower, upper, missing=missing)


def first_day(day, precision):
    """The first day of what a day is in, by the calendar."""
    month = {"day": day.month, "month": day.month, "quarter": 3 * ((day.month - 1) // 3) + 1, "year": 1}
    return date(day.year, month[precision], day.day if precision == "day" else 1)


def last_day(day, precision):
    """The last day that has the same first day."""
    later = (
        date.fromordinal(day.toordinal() + ahead)
        for ahead in range(date.max.toordinal() - day.toordinal() + 1)
    )
    return max(takewhile(lambda other: first_day(other, precision) == first_day(day, precision), later))


def days_since(day):
    return (day - date(1970, 1, 1)).days


@given(st.sets(categories), st.booleans())
@example({"\r"}, False)  # noqa: FBT003
@example({" or missing"}, True)  # noqa: FBT003  hypothesis takes no mixture
@example({""}, False)  # noqa: FBT003  hypothesis takes no mixture
@quick
def test_a_set_of_categories_reads_back_exactly(values, missing):
    in_order = sorted(values)
    cell = category_cell(in_order, missing=missing or not values)
    assert parse_cell(through_csv(cell), "categorical") == CategoryCell(
        tuple(in_order), missing or not values
    )


@given(st.tuples(integers, integers).map(sorted), st.booleans())
@example([2**53, 2**53 + 1], False)  # noqa: FBT003  hypothesis takes no mixture
@quick
def test_a_range_of_integers_reads_back_exactly(bounds, missing):
    read = parse_cell(through_csv(of_numbers(*bounds, missing)), "integer")
    assert read == NumericCell(*bounds, missing)
    assert isinstance(read.lower, int)


@given(st.tuples(decimals, decimals).map(sorted), st.booleans())
@example([-5.0, 1e-05], True)  # noqa: FBT003  hypothesis takes no mixture
@quick
def test_a_range_of_decimals_reads_back_exactly(bounds, missing):
    read = parse_cell(through_csv(of_numbers(*bounds, missing, "decimal")), "decimal")
    assert read == NumericCell(*bounds, missing)
    assert isinstance(read.upper, float)


@given(st.tuples(stored, stored).map(sorted), st.integers(1, 18), st.booleans())
@example([-(10**18) + 1, 10**18 - 1], 18, False)  # noqa: FBT003  hypothesis takes no mixture
@example([-1, 0], 2, True)  # noqa: FBT003  hypothesis takes no mixture
@quick
def test_a_range_of_fixed_numbers_reads_back_exactly(bounds, scale, missing):
    cell = through_csv(of_numbers(*bounds, missing, "fixed", scale=scale))
    read = parse_cell(cell, "fixed", scale)
    assert [int(bound.scaleb(scale, context)) for bound in read[:2]] == bounds
    assert [str(-bound.as_tuple().exponent) for bound in read[:2]] == [str(scale)] * 2
    assert read.missing == missing


@given(st.tuples(days, days).map(sorted), st.sampled_from(PRECISIONS), st.booleans())
@example([date.min, date.max], "quarter", False)  # noqa: FBT003  hypothesis takes no mixture
@example([date(2024, 2, 29)] * 2, "month", True)  # noqa: FBT003  hypothesis takes no mixture
@quick
def test_a_range_of_dates_reads_back_as_its_first_and_last_day(bounds, precision, missing):
    first, last = (days_since(first_day(bound, precision)) for bound in bounds)
    cell = through_csv(of_numbers(first, last, missing, "date", precision=precision))
    expected = NumericCell(first_day(bounds[0], precision), last_day(bounds[1], precision), missing)
    assert parse_cell(cell, "date") == expected


@given(st.lists(st.tuples(st.frozensets(categories), st.booleans()), unique=True, max_size=8))
@quick
def test_different_sets_have_different_cells(regions):
    sound = [(sorted(values), missing) for values, missing in regions if values or missing]
    assert len({category_cell(values, missing=missing) for values, missing in sound}) == len(sound)


@pytest.mark.parametrize(
    "number, text",
    [
        *[(5, "5"), (-3, "-3"), (0, "0"), (2**53 + 1, "9007199254740993")],
        *[(1e-05, "1e-05"), (17.99, "17.99"), (5.0, "5.0"), (0.1 + 0.2, "0.30000000000000004")],
    ],
)
def test_numbers_are_written_as_python_writes_them(number, text):
    assert of_numbers(number, number, missing=False) == text


@pytest.mark.parametrize(
    "number, scale, text",
    [
        (1250, 2, "12.50"),
        (-50, 2, "-0.50"),
        (0, 2, "0.00"),
        (-1, 3, "-0.001"),
        (10**18 - 1, 1, f"{'9' * 17}.9"),
    ],
)
def test_fixed_numbers_are_written_with_all_their_digits(number, scale, text):
    assert of_numbers(number, number, missing=False, kind="fixed", scale=scale) == text


@pytest.mark.parametrize(
    "precision, text, span",
    [
        ("day", "[2024-02-29, 2024-12-31]", (date(2024, 2, 29), date(2024, 12, 31))),
        ("month", "[2024-02, 2024-12]", (date(2024, 2, 1), date(2024, 12, 31))),
        ("quarter", "[2024-Q1, 2024-Q4]", (date(2024, 1, 1), date(2024, 12, 31))),
        ("year", "2024", (date(2024, 1, 1), date(2024, 12, 31))),
    ],
)
def test_dates_are_written_as_days_months_quarters_or_years(precision, text, span):
    first, last = (days_since(first_day(day, precision)) for day in (date(2024, 2, 29), date(2024, 12, 31)))
    assert of_numbers(first, last, missing=False, kind="date", precision=precision) == text
    assert parse_cell(text, "date") == NumericCell(*span, missing=False)


@pytest.mark.parametrize("text", NO_FIXED.split("|"))
def test_what_is_no_fixed_cell_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        parse_cell(text, "fixed", 2)


@pytest.mark.parametrize("text", NO_DATES.split("|"))
def test_what_is_no_date_cell_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        parse_cell(text, "date")


@pytest.mark.parametrize(
    "lower, upper, missing, text",
    [
        ("5", "5", False, "5"),
        ("5", "5", True, "5 or missing"),
        ("-5", "1e-05", False, "[-5, 1e-05]"),
        ("1", "5", True, "[1, 5] or missing"),
        (None, None, True, ""),
    ],
)
def test_numeric_cells_by_hand(lower, upper, missing, text):
    assert numeric_cell(lower, upper, missing=missing) == text


@pytest.mark.parametrize(
    "values, missing, text",
    [
        (["a"], False, "a"),
        (["a"], True, "a or missing"),
        (["a", "b"], False, '{"a", "b"}'),
        (["a", "b"], True, '{"a", "b"} or missing'),
        ([], True, ""),
        ([""], False, '{""}'),
        (["{x}"], False, '{"{x}"}'),
        (["[0-10)"], True, '{"[0-10)"} or missing'),
        ([" or missing"], False, '{" or missing"}'),
        (['a"b', "é"], False, '{"a\\"b", "é"}'),
        (["NA"], False, "NA"),
    ],
)
def test_category_cells_by_hand(values, missing, text):
    assert category_cell(values, missing=missing) == text


def test_an_empty_cell_is_missing():
    assert parse_cell("", "integer") == NumericCell(None, None, missing=True)
    assert parse_cell("", "decimal") == NumericCell(None, None, missing=True)
    assert parse_cell("", "fixed", 2) == NumericCell(None, None, missing=True)
    assert parse_cell("", "date") == NumericCell(None, None, missing=True)
    assert parse_cell("", "categorical") == CategoryCell((), missing=True)


def test_the_kind_decides_whether_digits_are_a_number():
    assert parse_cell("01234", "categorical") == CategoryCell(("01234",), missing=False)
    assert parse_cell("5", "integer") == NumericCell(5, 5, missing=False)
    assert parse_cell("5.0", "decimal") == NumericCell(5.0, 5.0, missing=False)


@pytest.mark.parametrize("kind", ["integer", "decimal"])
@pytest.mark.parametrize(
    "text",
    ["x", "[1, 2", "[1]", "[1, 2, 3]", "[3, 1]", "[1, 1]", " or missing", '{"1"}', "nan", "inf", "1e999"],
)
def test_what_is_no_numeric_cell_is_refused(text, kind):
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        parse_cell(text, kind)


@pytest.mark.parametrize("text", ["{}", "{", '{"a"', '{"a" "b"}', "{1}", " or missing"])
def test_what_is_no_category_cell_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        parse_cell(text, "categorical")


def test_an_integer_cell_holds_no_decimals():
    with pytest.raises(ValueError):  # noqa: PT011  the kind of error is the promise
        parse_cell("[1.5, 2]", "integer")
