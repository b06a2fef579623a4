"""Hierarchies of protected values: what a file says, what is wrong with it, and that no value is told."""

import csv
import io
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.errors import ConfigurationError
from tasks.loading.hierarchy import ancestor_codes, read_hierarchy

CANARY = "Zanzibar4711"
quick = settings(deadline=None, max_examples=60)

PLACES = """\
Bonn;Germany;Europe;*
Ulm;Germany;Europe;*
Oslo;Norway;Europe;*
Lima;Peru;America;*
"""


@pytest.fixture
def file(tmp_path):
    """Write a hierarchy."""

    def _file(content, name="places.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _file


def faults(path):
    """Return the faults of a file without what every line begins with; no value may be in them."""
    with pytest.raises(ConfigurationError) as caught:
        read_hierarchy(path)
    assert CANARY not in str(caught.value)
    start = "columns.hierarchies: places.csv"
    lines = str(caught.value).splitlines()
    assert all(line.startswith(start) for line in lines)
    return [line.removeprefix(start).removeprefix(":").strip() for line in lines]


def test_each_value_has_its_ancestors_from_the_parent_to_the_root(file):
    taxonomy = read_hierarchy(file(PLACES))
    assert taxonomy.paths(["Oslo", "Lima"]) == [["Norway", "Europe", "*"], ["Peru", "America", "*"]]


def test_values_share_a_code_where_they_share_an_ancestor(file):
    codes = ancestor_codes(read_hierarchy(file(PLACES)).paths(["Ulm", "Lima", "Bonn", "Oslo"]))
    assert_array_equal(codes[:, 0] == codes[0, 0], [True, False, True, False])
    assert_array_equal(codes[:, 1] == codes[0, 1], [True, False, True, True])
    assert len(set(codes[:, 0])) == 3
    assert len(set(codes[:, 2])) == 1


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        ("a;x\nb;y\n", [["x", "*"], ["y", "*"]]),
        ("a;x\nb;x\n", [["x"], ["x"]]),
        ("a\nb\n", [["*"], ["*"]]),
        ("a;b;a\nb;a;b\n", [["b", "a", "*"], ["a", "b", "*"]]),
    ],
)
def test_a_root_is_added_where_the_last_level_is_none(file, content, paths):
    assert read_hierarchy(file(content)).paths(["a", "b"]) == paths


def test_commas_in_place_of_semicolons_are_told(file):
    with pytest.raises(ConfigurationError, match="has commas and no semicolon"):
        read_hierarchy(file("a,x\nb,y\n"))


def test_levels_that_make_every_distance_less_are_refused(file):
    with pytest.raises(ConfigurationError, match="2 levels are common to all values"):
        read_hierarchy(file("a;x;*;*\nb;y;*;*\n"))


def test_a_single_value_still_has_a_root(file):
    assert read_hierarchy(file("a\n")).paths(["a"]) == [["*"]]
    assert ancestor_codes(read_hierarchy(file("a;x\n")).paths(["a"])).tolist() == [[0]]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("ñ;x\nb;x", id="no end of the last line"),
        pytest.param("ñ;x\r\nb;x\r\n", id="CRLF"),
        pytest.param("ñ;x\n\nb;x\n\n", id="blank lines"),
        pytest.param("\ufeffñ;x\nb;x\n", id="byte-order mark"),
        pytest.param('"ñ";"x"\n"b";x\n', id="quoted"),
    ],
)
def test_line_ends_marks_and_quotes_make_no_difference(file, content):
    assert read_hierarchy(file(content)).paths(["ñ", "b"]) == [["x"], ["x"]]


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=3)


@st.composite
def trees(draw):
    """Draw rows of a hierarchy: at each level, every ancestor has one parent."""
    values = draw(st.lists(cells, min_size=1, max_size=8, unique=True))
    rows = [[value] for value in values]
    for _ in range(draw(st.integers(1, 3))):
        parents = {cell: draw(cells) for cell in dict.fromkeys(row[-1] for row in rows)}
        for row in rows:
            row.append(parents[row[-1]])
    common = [level for level in range(1, len(rows[0])) if len({row[level] for row in rows}) == 1]
    return [row[: common[0] + 1] for row in rows] if common and len(rows) > 1 else rows


@given(rows=trees())
@quick
def test_what_is_written_as_csv_is_read_again(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("trees") / "tree.csv"
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";").writerows(rows)
    path.write_bytes(text.getvalue().encode())
    taxonomy = read_hierarchy(path)
    values = [value for value, *_ in rows]
    rooted = len({row[-1] for row in rows}) == 1
    root = next(name for name in accumulate("****", initial="*") if all(name not in row for row in rows))
    paths = [ancestors if rooted else [*ancestors, root] for _, *ancestors in rows]
    assert taxonomy.paths(values) == paths
    codes = ancestor_codes(taxonomy.paths(values)).tolist()
    for own, own_codes in zip(paths, codes, strict=True):
        for other, other_codes in zip(paths, codes, strict=True):
            assert [x == y for x, y in zip(own, other, strict=True)] == [
                x == y for x, y in zip(own_codes, other_codes, strict=True)
            ]


def test_values_without_a_row_are_counted(file):
    taxonomy = read_hierarchy(file(PLACES))
    assert taxonomy.lacking(["Bonn", CANARY, "Rome"]) == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"{CANARY};x\nb;x;y\nc\n", "2 rows (numbers 2, 3) have not the 2 cells of the first row"),
        (f"{CANARY};x\nb;\n;x\n", "2 rows (numbers 2, 3) have an empty cell"),
        (f'{CANARY};x\nb;""\n', "1 row (number 2) has an empty cell"),
        (f"{CANARY};x\nb;x\n\n{CANARY};x\n", "1 row (number 4) has a value that a row before has"),
        (f"a;{CANARY};x\nb;{CANARY};y\nc;{CANARY};x\n", "1 row (number 2) has an ancestor that has another"),
        (f"a;b;{CANARY};x\nb;c;{CANARY};y\n", "1 row (number 2) has an ancestor that has another parent"),
        (
            f"{CANARY}{{0}};x\n" + f"{CANARY}{{0}};x\n" * 11,
            "11 rows (numbers 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...)",
        ),
        ("x\n" * 11, "10 rows (numbers 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) have a value that a row before has"),
    ],
)
def test_a_fault_is_counted_and_its_rows_are_named(file, content, told):
    (found,) = faults(file(content))
    assert found.startswith(told)


def test_all_faults_of_a_file_are_told_together(file):
    found = faults(file(f"a;{CANARY};x\na;{CANARY};y\nb;;z\nc\n"))
    assert [line.partition(")")[0] for line in found] == [
        "1 row (number 4",
        "1 row (number 3",
        "1 row (number 2",
        "1 row (number 2",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "has no rows"),
        ("\n\n", "has no rows"),
        (f"{CANARY};ñ\n".encode("latin-1"), "is not a text file in UTF-8"),
        (f'{CANARY};"x\n', "cannot be read as CSV: check its quotes and line ends"),
        (f'"{CANARY}"y;x\n', "cannot be read as CSV: check its quotes and line ends"),
    ],
)
def test_a_file_that_is_no_hierarchy(file, content, told):
    assert faults(file(content)) == [told]


def test_a_file_that_cannot_be_read(tmp_path):
    assert faults(tmp_path / "places.csv") == ["cannot be read (No such file or directory)"]
    (tmp_path / "places.csv").mkdir()
    assert faults(tmp_path / "places.csv") == ["cannot be read (Is a directory)"]


def feature_faults(path):
    """Return the faults of a file as the hierarchy of a feature; no value may be in them."""
    with pytest.raises(ConfigurationError) as caught:
        read_hierarchy(path, of_feature=True)
    assert CANARY not in str(caught.value)
    return [line.removeprefix("columns.hierarchies: places.csv: ") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(f"250;250;{CANARY}\n250.1;250;{CANARY}\n", "1 row (number 1) has", id="value in group"),
        pytest.param(f"250;{CANARY}\n250.1;250\n", "2 rows (numbers 1, 2) have", id="value and group"),
        pytest.param(f"a;{CANARY};x\nb;y;{CANARY}\nc;z;x\n", "2 rows (numbers 1, 2) have", id="two levels"),
        pytest.param(f"a;{CANARY};x\nb;y;{CANARY}\n", "2 rows (numbers 1, 2) have", id="apart"),
        pytest.param(f"{CANARY};x\nb;x\nx;y\n", "3 rows (numbers 1, 2, 3) have", id="group of others"),
        pytest.param("*;x;*\nb;x;*\n", "1 row (number 1) has", id="the root"),
    ],
)
def test_a_name_of_a_feature_that_stands_for_different_values_is_refused(file, content, told):
    assert feature_faults(file(content)) == [
        f"{told} a name that stands for other values as well: rename one"
    ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("a;x;x;*\nb;x;x;*\nc;y;z;*\n", id="a group of a group of its own"),
        pytest.param("a;a;a\nb;x;x\nc;x;x\n", id="a value by itself"),
        pytest.param("a;x;*;*\nb;y;*;*\n", id="several roots"),
        pytest.param("a;*\n", id="one value"),
    ],
)
def test_a_name_of_a_feature_may_stand_for_the_same_values_again(file, content):
    assert read_hierarchy(file(content), of_feature=True).ancestors_of["a"][-1]


def test_faults_of_a_feature_are_those_of_any_hierarchy_too(file):
    found = feature_faults(file(f"a;{CANARY};x\na;{CANARY};y\nb;;z\nc\nz;q;r\n"))
    assert [line.partition(")")[0] for line in found] == [
        "1 row (number 4",
        "1 row (number 3",
        "1 row (number 2",
        "1 row (number 2",
        "2 rows (numbers 3, 5",
    ]


def test_rows_with_unclear_names_are_named_up_to_ten(file):
    (found,) = feature_faults(file("".join(f"v{row};g;h\n" for row in range(11)) + "g;x;h\n"))
    assert found.startswith("12 rows (numbers 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...) have a name that stands")
