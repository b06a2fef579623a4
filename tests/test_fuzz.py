"""Whatever is read, only what the project raises for its users is raised, and soon."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import corpus, mutated, only_told_faults, tried

from tasks.config import Config
from tasks.load import load_table
from tasks.loading.hierarchy import read_hierarchy
from tasks.partitions.cells import parse_cell
from tasks.proposing.propose import write_proposal
from tasks.read_config import parse_config, parse_input, read_config
from tasks.store import create_workspace

TABLES = [
    seed
    for suffix in ("csv", "tsv", "gz", "zst", "parquet", "xlsx", "sav", "dta", "sqlite")
    for seed in corpus(f"*.{suffix}")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


tables = st.sampled_from(TABLES).flatmap(lambda seed: st.tuples(st.just(seed), mutated(seed.read_bytes())))


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def settings(path, **given):
    return {
        "input": {"path": str(path)} | given,
        "columns": {"class": "group", "features": "rest"},
        "privacy": {"k": 2},
        "output": {"name": "people"},
    }


def dates_of(seed):
    """Return how the texts of a seed file write dates; other files have dates."""
    texts = {".csv", ".tsv", ".gz", ".zst", ".sqlite"}
    return {"dates": {"seen": "%Y-%m-%d"}} if seed.suffix in texts else {}


@pytest.mark.parametrize(
    "seed", [seed for seed in TABLES if seed.stem not in {"blank", "short"}], ids=lambda seed: seed.name
)
def test_the_seeds_are_tables(tmp_path, seed):
    load_table(create_workspace(tmp_path / "run"), parse_config(settings(seed, **dates_of(seed))))


@given(tables)
@tried(30)
def test_a_damaged_table_is_read_or_refused_in_words(folder, table):
    seed, content = table
    path = written(folder, f"table{''.join(seed.suffixes)}", content)
    with TemporaryDirectory(dir=folder) as place, only_told_faults():
        load_table(create_workspace(Path(place) / "run"), parse_config(settings(path, **dates_of(seed))))


@given(tables)
@tried(15)
def test_a_damaged_table_is_looked_at_or_refused_in_words(folder, table):
    seed, content = table
    path = written(folder, f"table{''.join(seed.suffixes)}", content)
    proposal = folder / "release.toml"
    proposal.unlink(missing_ok=True)
    with only_told_faults():
        write_proposal(parse_input({"path": str(path)}), proposal)


names = st.text(max_size=6) | st.sampled_from(["c", "prefix", "ranges", "dates", "rare"])
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), st.times(), st.datetimes()),
    st.text(max_size=8),
    st.sampled_from(
        ["rest", "auto", "csv", "utf-8", "numeric", "month", "\0", "/", "..", "\ud800", "x" * 5000]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
SETTINGS = sorted(
    (section, field.alias or name)
    for section, of_section in Config.model_fields.items()
    for name, field in of_section.annotation.model_fields.items()
)
SOUND = {
    "input": {"path": "table.csv"},
    "columns": {"class": "c", "features": "rest"},
    "privacy": {"k": 2},
    "output": {"name": "n"},
}


@given(st.lists(st.tuples(st.sampled_from(SETTINGS), values), max_size=4), st.dictionaries(names, values))
@tried(100)
def test_any_settings_are_taken_or_refused_in_words(changes, others):
    asked = {section: dict(of_section) for section, of_section in SOUND.items()} | others
    for (section, name), value in changes:
        asked.setdefault(section, {})[name] = value
    with only_told_faults():
        parse_config(asked)


@given(st.sampled_from(corpus("*.toml")).flatmap(lambda seed: mutated(seed.read_bytes())) | st.binary())
@tried(60)
def test_any_file_is_a_configuration_or_refused_in_words(folder, content):
    path = written(folder, "any.toml", content)
    with only_told_faults():
        read_config(path)


keys = st.sampled_from([f"{section}.{name}" for section, name in SETTINGS])
texts = st.text(max_size=8) | st.sampled_from(
    ["1", "nan", "1e400", "[1]", "{a = 1}", "true", '"', "\0", "1979-05-27", "9" * 5000, "[" * 5000, "\ud800"]
)
overrides = st.builds("{}{}={}".format, keys, st.sampled_from(["", ".c", ".", ".a.b"]), texts)


@given(st.lists(overrides | st.text(max_size=20), max_size=3))
@tried(60)
def test_any_override_is_taken_or_refused_in_words(overrides):
    with only_told_faults():
        read_config(next(iter(corpus("short.toml"))), overrides)


@given(st.sampled_from(corpus("*.hierarchy")).flatmap(lambda seed: mutated(seed.read_bytes())) | st.binary())
@tried(60)
def test_any_file_is_a_hierarchy_or_refused_in_words(folder, content):
    path = written(folder, "any.csv", content)
    with only_told_faults():
        read_hierarchy(path)


cells = (
    st.text()
    | st.from_regex(r"[\[{]?[-0-9.e\", ]*[\]}]?( or missing)?", fullmatch=True)
    | st.sampled_from(["[" * 9000, "{" + "[" * 9000 + "}", '{"a": ' * 3000, "9" * 5000, "[nan, nan]", "1_0"])
)


@given(cells, st.sampled_from(["integer", "decimal", "fixed", "date", "categorical"]))
@tried(100)
def test_any_text_is_a_cell_or_is_not(text, kind):
    try:
        parse_cell(text, kind, scale=2 * (kind == "fixed"))
    except ValueError:
        return
