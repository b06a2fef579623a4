"""A release of a table in memory: as of a file, nothing left behind, one clear line for a mistake."""

import copy
import json
from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from flows.publish_table import publish_table
from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.reading.frames import write_parquet

CANARY = "Zanzibar4711"


def settings(folder, **sections):
    return {
        "columns": {"class": "group", "features": "rest", "identifiers": ["patient"]},
        "privacy": {"k": 5},
        "evaluation": {"attacks": 0},
        "output": {"directory": str(folder / "releases"), "name": "trial"},
        "run": {"engine": "plain", "workspace": str(folder / "workspace")},
        **sections,
    }


def fragments(release):
    """Return the bytes of the fragment files."""
    return {path.name: path.read_bytes() for path in sorted(release.glob("fragment_*"))}


def left(folder):
    """Return what runs left in their workspace, beside what they keep for later versions."""
    return [path for path in (folder / "workspace").rglob("*") if ".kept" not in path.parts]


class Stream:
    """A table that offers nothing but the stream of Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    rows = 80
    return pd.DataFrame(
        {
            "patient": [f"{CANARY}{number}" for number in range(rows)],
            "age": pd.array([None, *rng.integers(20, 60, rows - 1)], dtype="Int64"),
            "size": rng.choice([1.5, 2.25, np.nan], rows),
            "town": pd.Categorical(rng.choice(["Bonn", "Oslo"], rows)),
            "group": rng.choice(["a", "b"], rows),
        }
    )


@pytest.fixture(scope="module")
def expected(frame, tmp_path_factory):
    """The fragment files of the frame with the labels 0, 1, 2, ..."""
    return fragments(publish_table(frame, settings(tmp_path_factory.mktemp("expected"))))


def test_row_labels_do_not_matter_and_the_frame_is_not_changed(frame, expected, tmp_path):
    labelled = frame.set_index(pd.Index([CANARY] * len(frame), name=CANARY))
    before = copy.deepcopy(labelled)
    published = publish_table(labelled, settings(tmp_path))
    assert fragments(published) == expected
    assert not any(CANARY.encode() in path.read_bytes() for path in published.rglob("*") if path.is_file())
    pd.testing.assert_frame_equal(labelled, before)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    "labels",
    [
        np.random.default_rng(0).permutation(80),
        ["same"] * 80,
        pd.MultiIndex.from_product([range(8), range(10)]),
        pd.date_range("2024", periods=80),
    ],
)
def test_shuffled_repeated_and_nested_labels_are_left_behind(frame, tmp_path, labels):
    kept(tmp_path, frame)
    expected = (tmp_path / "t.parquet").read_bytes()
    kept(tmp_path, frame.set_index(pd.Index(labels)))
    assert (tmp_path / "t.parquet").read_bytes() == expected


def test_a_table_of_arrow_gives_the_same(frame, expected, tmp_path):
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    assert fragments(publish_table(Stream(arrow), settings(tmp_path))) == expected


def test_tables_and_streams_of_arrow_are_kept_alike(frame, tmp_path):
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    types, rows = kept(tmp_path, arrow)
    assert kept(tmp_path, arrow.to_reader()) == kept(tmp_path, Stream(arrow)) == (types, rows)
    assert [row[0] for row in rows] == frame["patient"].tolist()


def test_the_settings_can_be_a_file_whose_input_is_another(frame, tmp_path):
    (tmp_path / "release.toml").write_text(
        '[input]\npath = "gone.csv"\nmissing = ["", "Oslo"]\n[columns]\nclass = "group"\nfeatures = "rest"\n'
        'identifiers = ["patient"]\n[privacy]\nk = 5\n[evaluation]\nattacks = 0\n'
        '[output]\nname = "trial"\n[run]\nengine = "plain"\n'
    )
    release = publish_table(frame, tmp_path / "release.toml")
    assert release.parent == tmp_path / "releases" / "trial"
    assert json.loads((release / "release.json").read_text())["records"] == len(frame)
    assert "Oslo" not in (release / "fragment_1.csv").read_text() + (release / "fragment_2.csv").read_text()
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("sections", "kind"),
    [
        ({"privacy": {"k": 81}}, InfeasibleError),
        ({"columns": {"class": "gone", "features": "rest"}}, ConfigurationError),
        ({"input": {"delimiter": ";"}}, ConfigurationError),
        ({"input": "x"}, ConfigurationError),
        ({"columns": {"class": "group", "features": "rest"}}, InputError),
    ],
)
def test_nothing_is_left_behind_by_a_failure(frame, tmp_path, sections, kind):
    with pytest.raises(kind) as caught:
        publish_table(frame, settings(tmp_path, **sections))
    assert CANARY not in str(caught.value)
    assert left(tmp_path) == []
    assert not list((tmp_path / "releases").rglob("*.csv"))


def kept(tmp_path, columns):
    """Return the types and rows of a table as it is kept."""
    table = pd.DataFrame(columns) if isinstance(columns, dict) else columns
    write_parquet(table, tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_mode & 0o777 == 0o600
    relation = duckdb.read_parquet(str(tmp_path / "t.parquet"))
    return [str(sql_type) for sql_type in relation.types], relation.fetchall()


@pytest.mark.parametrize(
    ("values", "sql_type", "expected"),
    [
        (pd.array([1, None, 2**60 + 1], dtype="Int64"), "BIGINT", [1, None, 2**60 + 1]),
        (np.array([2**64 - 1, 0, 1], dtype="uint64"), "UBIGINT", [2**64 - 1, 0, 1]),
        (pd.Series([2**62 + 1, None, pd.NA], dtype=object), "BIGINT", [2**62 + 1, None, None]),
        (pd.Series([2**70, 1, None], dtype=object), "VARCHAR", [str(2**70), "1", None]),
        (pd.Series([1.5, 2, None], dtype=object), "DOUBLE", [1.5, 2.0, None]),
        (pd.Series([np.int64(3), np.int8(-1), np.nan], dtype=object), "BIGINT", [3, -1, None]),
        (pd.Series([True, None, np.False_], dtype=object), "BOOLEAN", [True, None, False]),
        (pd.array([True, None, False], dtype="boolean"), "BOOLEAN", [True, None, False]),
        (pd.Series(["a", None, ""], dtype=object), "VARCHAR", ["a", None, ""]),
        (pd.array(["a", None, ""], dtype="string"), "VARCHAR", ["a", None, ""]),
        (pd.Series([Decimal("1.50"), None, Decimal("2.5")], dtype=object), "VARCHAR", ["1.50", None, "2.5"]),
        (pd.Series([date(2024, 3, 5), pd.NaT, None], dtype=object), "DATE", [date(2024, 3, 5), None, None]),
        (pd.Series(["b", None, "a"]).astype("category"), "VARCHAR", ["b", None, "a"]),
        (pd.Series([3, None, 1], dtype="Int64").astype("category"), "BIGINT", [3, None, 1]),
        (pd.array([1, None, 2], dtype=pd.ArrowDtype(pa.int32())), "BIGINT", [1, None, 2]),
        (np.array([1, 2.5, np.nan], dtype="float16"), "DOUBLE", [1.0, 2.5, None]),
        (pd.Series([None, None, None], dtype=object), "VARCHAR", [None, None, None]),
    ],
)
def test_values_of_pandas_are_kept_exactly(tmp_path, values, sql_type, expected):
    types, rows = kept(tmp_path, {"x": values})
    assert types == [sql_type]
    assert [value for (value,) in rows] == expected


def test_moments_of_any_zone_are_kept_as_moments(tmp_path):
    zoned = pd.to_datetime(["2024-03-05T00:30+02:00"])
    types, rows = kept(tmp_path, {"zoned": zoned, "plain": pd.to_datetime(["1600-03-05"])})
    assert types == ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP"]
    assert rows[0][0].timestamp() == zoned[0].timestamp()
    assert rows[0][1].date() == date(1600, 3, 5)


def test_one_moment_is_one_day_whatever_type_holds_it(tmp_path):
    zoned = pd.Series(pd.to_datetime(["2024-03-05 00:30"]).tz_localize("Europe/Berlin"))
    arrow = zoned.astype(pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin")))
    _, (row,) = kept(tmp_path, {"typed": zoned, "objects": zoned.astype(object), "arrow": arrow})
    assert row[0].timestamp() == zoned[0].timestamp()
    assert row[1] == row[2] == datetime(2024, 3, 4, 23, 30)  # noqa: DTZ001 - in UTC, as every moment


def test_half_a_letter_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be kept as Parquet"):
        kept(tmp_path, {"x": pd.Series(["a\ud800"], dtype=object)})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            [pd.Timestamp("2024-03-05", tz="UTC"), pd.Timestamp("2024-03-05")],
            "holds values of several types (moment, moment of a zone): make them one",
        ),
        ([1, CANARY], "holds values of several types (integer, text): make them one"),
        ([2**60, 1.5], "holds values of several types (decimal, wide): make them one"),
        ([date(2024, 3, 5), CANARY], "holds values of several types (date, text): make them one"),
        ([[CANARY], [2]], "holds values of type list, which cannot be released"),
        ([1j, 2j], "holds values of type complex, which cannot be released"),
        (
            pd.period_range("2024", periods=2, freq="M"),
            "holds values of type Period, which cannot be released",
        ),
    ],
)
def test_columns_of_no_one_type_are_refused_together(tmp_path, values, told):
    columns = {"x": pd.Series(values, dtype=object), "y": [1, 2], "z": pd.Series(values, dtype=object)}
    with pytest.raises(InputError) as caught:
        kept(tmp_path, columns)
    assert str(caught.value).splitlines() == [f"column 'x': {told}", f"column 'z': {told}"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (pd.DataFrame({"x": [1], 7: [2]}), "the name of column number 2 is not text: rename it"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "column names must differ"),
        (pd.DataFrame([[1, 2]], columns=["x", " "]), "the name of column number 2 is blank"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "names of 2 levels"),
        (pd.DataFrame(), "table: has no columns"),
        (pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), "column names must differ"),
        (pa.table({"x": pa.array([Decimal(1)], pa.decimal256(60, 2))}), "table: cannot be kept as Parquet"),
        ([[1, 2]], "table: must be a pandas DataFrame, or a table of Arrow; got list"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, table, told):
    with pytest.raises(InputError) as caught:
        kept(tmp_path, table)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_are_data(tmp_path):
    name = "'; DROP TABLE given; --\n\"" + "n" * 300
    kept(tmp_path, {name: [1]})
    assert duckdb.read_parquet(str(tmp_path / "t.parquet")).columns == [name]
