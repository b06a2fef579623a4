"""Random tables are published and audited, or refused in words; damaged releases fail their audit."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from mutations import mutated, only_told_faults, tried
from published_folder import Categories, ClassOf, Fragment, Range, build
from random_releases import releases

from flows.audit import audit
from flows.release import release
from tasks.read_config import parse_config
from validations.promises import read_promises

FRAGMENTS = [
    Fragment(
        {"age": "integer", "city": "categorical"},
        [
            ClassOf([Range(20, 30), Categories(["Bonn", "Ulm"])], {"a": 3, "b": 3}),
            ClassOf([Range(31, 31, missing=True), Categories(["{x}"])], {"a": 2, "b": 4}),
        ],
    ),
    Fragment({"size": "decimal"}, [ClassOf([Range(1.5, 2.25)], {"a": 5, "b": 7})]),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return build(FRAGMENTS, k=5).write(tmp_path_factory.mktemp("fuzz") / "release")


@given(st.data())
@tried(100)
def test_a_damaged_manifest_is_read_or_refused_in_words(published, data):
    manifest = published.parent / "manifest"
    manifest.mkdir(exist_ok=True)
    content = data.draw(mutated((published / "release.json").read_bytes()))
    (manifest / "release.json").write_bytes(content)
    with only_told_faults():
        read_promises(manifest)


entries = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@given(st.data(), entries)
@tried(100)
def test_any_entry_of_a_manifest_is_read_or_refused_in_words(published, data, entry):
    manifest = published.parent / "manifest"
    manifest.mkdir(exist_ok=True)
    content = place = json.loads((published / "release.json").read_text(encoding="utf-8"))
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = entry
    (manifest / "release.json").write_text(json.dumps(content), encoding="utf-8")
    with only_told_faults():
        read_promises(manifest)


@given(st.data(), st.sampled_from(["fragment_1.csv", "fragment_1.parquet"]))
@tried(3)
def test_a_damaged_file_fails_the_audit(published, data, name):
    damaged = published.parent / "damaged"
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(published, damaged)
    content = (published / name).read_bytes()
    changed = data.draw(mutated(content))
    (damaged / name).write_bytes(changed)
    with only_told_faults():
        assert audit(damaged).success == (changed == content)


@given(releases())
@tried(4)
def test_a_random_table_is_published_and_audited_or_refused_in_words(tmp_path_factory, drawn):
    frame, asked = drawn
    with TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as name:
        place = Path(name)
        frame.to_csv(place / "table.csv", index=False)
        asked["input"]["path"] = str(place / "table.csv")
        asked["output"] = {"directory": str(place / "releases"), "name": "random"}
        asked["run"] = {"workspace": str(place / "workspace"), "engine": "plain"}
        published = []
        with only_told_faults():
            published.append(release.fn(parse_config(asked)))
        event("published" if published else "refused")
        left = {path.name for path in (place / "releases").glob("random/*")}
        assert left == {name for path in published for name in (path.name, "latest", "register.jsonl")}
        assert all(audit(path).success for path in published)
