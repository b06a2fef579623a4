"""Published cells: the grammar by hand, and round trips through a CSV file."""

import csv
import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.partitions.cells import (
    CategoryCell,
    NumericCell,
    category_cell,
    format_number,
    numeric_cell,
    parse_cell,
)

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
decimals = st.floats(allow_nan=False, allow_infinity=False)


def through_csv(cell):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow([cell, "class"])
    file.seek(0)
    [[read, _]] = csv.reader(file)
    return read


def of_numbers(lower, upper, missing):
    return numeric_cell(format_number(lower), format_number(upper), missing=missing)


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
    read = parse_cell(through_csv(of_numbers(*bounds, missing)), "decimal")
    assert read == NumericCell(*bounds, missing)
    assert isinstance(read.upper, float)


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
    assert format_number(number) == text


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
    assert parse_cell("", "categorical") == CategoryCell((), missing=True)


def test_the_kind_decides_whether_digits_are_a_number():
    assert parse_cell("01234", "categorical") == CategoryCell(("01234",), missing=False)
    assert parse_cell("5", "integer") == NumericCell(5, 5, missing=False)
    assert parse_cell("5.0", "decimal") == NumericCell(5.0, 5.0, missing=False)


@pytest.mark.parametrize("kind", ["integer", "decimal"])
@pytest.mark.parametrize("text", ["x", "[1, 2", "[1]", "[1, 2, 3]", "[3, 1]", " or missing", '{"1"}'])
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
