"""The gate reads one line of each run of equal lines: it sees the same as in the whole file."""

import io
from hashlib import sha256
from types import SimpleNamespace

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from published_folder import ClassOf, Fragment, Range, build

from validations import line_runs, read_groups
from validations.cell_grammar import macros
from validations.groups import class_sizes
from validations.promises import read_promises
from validations.published_files import Columns, UnreadableError
from validations.spelling import is_written_plainly
from validations.well_formed import unsound

CELLS = st.sampled_from(["", "a", "b", '"a"', '"a, b"', '"a""b"', '"a\nb"', 'a"b', '"', "a\r", "a,", "é"])
LINES = st.lists(st.tuples(CELLS, CELLS, st.integers(1, 3)), max_size=6)


@pytest.fixture(scope="module")
def promises(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    classes = [ClassOf((Range(1, 1),), {"a": 3, "b": 3})]
    return read_promises(build([Fragment({"x": "integer"}, classes)], k=2).write(folder))


def found(path, promises, small, monkeypatch):
    """Return the groups of a file, or that it cannot be read."""
    monkeypatch.setattr(read_groups, "SMALL", small)
    monkeypatch.setattr(read_groups, "FEW", small)
    columns = Columns(("x", "class"), ("VARCHAR", "VARCHAR"))
    with duckdb.connect() as connection:
        try:
            groups = read_groups.read_groups(
                connection, path, columns, promises, 1, scratch=path.parent / "s"
            )
        except UnreadableError:
            return "unreadable"
        rows = connection.execute(
            f"SELECT c1, c2, n, first_line, last_line, ec FROM {groups.rows} ORDER BY ALL"
        ).fetchall()
        return rows, is_written_plainly(groups, path, columns, sha256(path.read_bytes()).hexdigest())


ENDS = st.sampled_from(["\n", "", "\n\n", "\r\n"])
HEADERS = st.sampled_from(["x,class", '"x\n",class', "a,b"])


@given(content=st.tuples(HEADERS, LINES, ENDS))
@example(content=("a,b", [("a", "b", 3)], ""))
@example(content=("a,b", [("a", "b", 3), ("a", "c", 2)], "\n"))
@example(content=("x,class", [("a", '"\na"', 2)], "\n"))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_show_what_the_whole_file_does(promises, tmp_path, monkeypatch, content):
    header, lines, end = content
    (tmp_path / "s").mkdir(exist_ok=True)
    path = tmp_path / "fragment_1.csv"
    rows = [f"{one},{two}" for one, two, times in lines for _ in range(times)]
    path.write_bytes(("\n".join([header, *rows]) + end).encode())
    whole = found(path, promises, 1 << 22, monkeypatch)
    assert found(path, promises, 0, monkeypatch) == whole
    assert not list((tmp_path / "s").iterdir())


def runs(content, tmp_path):
    path, short = tmp_path / "long.csv", tmp_path / "short.csv"
    path.write_bytes(content)
    lengths = line_runs.write_runs(path, short)
    return None if lengths is None else (short.read_bytes(), lengths.tolist())


def test_one_line_of_each_run_is_written(tmp_path):
    assert runs(b"h\nh\nh\na\nb\nb\nb\na\n", tmp_path) == (b"h\nh\na\nb\na\n", [2, 1, 3, 1])


@pytest.mark.parametrize("chunk", range(1, 9))
def test_runs_go_on_where_pieces_of_the_file_meet(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(line_runs, "CHUNK", chunk)
    lines = b"ab\n" * 30 + b"abc\n" * 40
    assert runs(b"head\n" + lines, tmp_path) == (b"head\nab\nabc\n", [30, 40])


@pytest.mark.parametrize(
    "content", [b"", b"h", b"h\na", b"h\n\n", b"h\na\r\n", b'h\n"a\n', b'"h\n"\na\n', b"\n", b"h\na\r"]
)
def test_lines_that_may_not_be_rows_are_refused(content, tmp_path):
    assert runs(content, tmp_path) is None


def test_a_file_of_few_equal_lines_is_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(line_runs, "CHUNK", 10)
    monkeypatch.setattr(line_runs, "WRITTEN", 100)
    assert runs(b"h\n" + b"".join(b"%d\n" % number for number in range(100)), tmp_path) is None
    assert (tmp_path / "short.csv").stat().st_size < 120


def test_a_line_without_end_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(line_runs, "CHUNK", 10)
    monkeypatch.setattr(line_runs, "LONGEST", 20)
    read = []

    class Endless(io.BytesIO):
        def read(self, size):
            read.append(size)
            return b"a" * size

    path = SimpleNamespace(open=lambda _: Endless(b"h\n"))
    assert line_runs.write_runs(path, tmp_path / "short.csv") is None
    assert read == [10, 10, 10]


@pytest.mark.parametrize("macro", ["hash(x) AS 7", "unused(x) AS 7"])
def test_mingled_ecs_are_told_apart_whether_or_not_they_have_the_same_hash(
    macro, promises, tmp_path, monkeypatch
):
    monkeypatch.setattr(read_groups, "FEW", 0)
    path = tmp_path / "fragment_1.csv"
    path.write_text("x,class\n1,a\n2,a\n1,b\n2,a\n", encoding="utf-8")
    columns = Columns(("x", "class"), ("VARCHAR", "VARCHAR"))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE MACRO {macro}")
        groups = read_groups.read_groups(connection, path, columns, promises, 1, scratch=tmp_path)
        ((same,),) = connection.execute("SELECT hash('1') = hash('2')").fetchall()
        assert same == (macro == "hash(x) AS 7")
        rows = connection.execute(f"SELECT c1, c2, n, ec FROM {groups.rows} ORDER BY ALL").fetchall()
    assert rows == [("1", "a", 1, 0), ("1", "b", 1, 0), ("2", "a", 2, 1)]


BOUNDS = st.sampled_from([None, 1, 2])
RANGES = st.tuples(BOUNDS, BOUNDS, st.sampled_from([None, True, False]))
ROWS = st.lists(st.tuples(RANGES, st.sampled_from(["a", "b", None]), st.integers(1, 3)), max_size=6)


@given(runs=ROWS, kind=st.sampled_from(["BIGINT", "INTEGER"]))
@example(runs=[((1, 1, False), "a", 2), ((1, 1, False), "b", 1), ((1, 2, False), "a", 1)], kind="BIGINT")
@example(runs=[((1, 1, False), "a", 2), ((1, 2, False), "b", 1), ((1, 1, False), "a", 1)], kind="BIGINT")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_of_a_parquet_file_are_grouped_by_what_they_hold(promises, tmp_path, runs, kind):
    rows = [(bounds, value) for bounds, value, times in runs for _ in range(times)]
    path = tmp_path / "fragment_1.parquet"
    with duckdb.connect() as connection:
        cell = f"STRUCT(lower {kind}, upper {kind}, missing BOOLEAN)"
        connection.execute(f'CREATE TABLE rows (x {cell}, "class" VARCHAR)')
        for bounds, value in rows:
            connection.execute("INSERT INTO rows VALUES (row(?, ?, ?), ?)", [*bounds, value])
        connection.execute(f"COPY rows TO '{path}'")
        columns = read_groups.read_columns(connection, path)
        groups = read_groups.read_groups(connection, path, columns, promises, 1, scratch=tmp_path)
        found = connection.execute(
            f"SELECT c1, c2, n, first_line, last_line, ec FROM {groups.rows}"
        ).fetchall()
    lines = {row: [line for line, other in enumerate(rows) if other == row] for row in rows}
    assert sorted(found, key=lambda group: group[3]) == [
        (
            dict(zip(read_groups.RANGE, bounds, strict=True)),
            value,
            len(held),
            held[0],
            held[-1],
            [other for other, _ in rows].index(bounds),
        )
        for (bounds, value), held in lines.items()
    ]


def test_a_cell_of_null_is_one_fault_with_a_range_of_nulls(promises, tmp_path):
    path = tmp_path / "fragment_1.parquet"
    nothing = "{'lower': NULL::BIGINT, 'upper': NULL::BIGINT, 'missing': NULL::BOOLEAN}"
    with duckdb.connect() as connection:
        connection.execute(macros(["integer"]))
        connection.execute(f"""
            COPY (SELECT unnest([NULL, {nothing}, {{'lower': 1, 'upper': 1, 'missing': false}}]) AS x,
                         'a' AS "class") TO '{path}'""")
        columns = read_groups.read_columns(connection, path)
        groups = read_groups.read_groups(connection, path, columns, promises, 1, scratch=tmp_path)
        assert sorted(class_sizes(groups)) == [1, 2]
        assert unsound(groups) == 1
