"""The register of releases: a chain of what was published, and whether it is still there."""

import hashlib
import json

import pytest

from flows.cli import main
from tasks.errors import InputError
from tasks.register import history, read_register, register, register_left

VERSIONS = ["20261127T030000Z", "20261128T030000Z", "20261129T030000Z"]


def publish(place, version, records=40):
    """A folder with all that the register reads of a release."""
    folder = place / version
    (folder / "validation").mkdir(parents=True)
    (folder / "validation" / "k_anonymity.json").write_text("{}")
    hashes = {}
    for kind in ("csv", "parquet"):
        (folder / f"fragment_1.{kind}").write_text(f"{kind} {version}")
        hashes[kind] = hashlib.sha256(f"{kind} {version}".encode()).hexdigest()
    manifest = {
        "version": version,
        "unjoin_version": "0.1.0",
        "records": records,
        "fragments": [{"csv": "fragment_1.csv", "parquet": "fragment_1.parquet", "sha256": hashes}],
        "guarantees": {
            name: {"asked": asked, "achieved": asked}
            for name, asked in {"k": 5, "l": None, "t": 0.25, "guarantee": "join"}.items()
        },
        "config_sha256": "c" * 64,
        "validation": {"success": True},
    }
    (folder / "release.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def place(tmp_path):
    place = tmp_path / "people"
    for version in VERSIONS:
        register(publish(place, version))
    return place


def states(place):
    return [each.state for each in history(place)]


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["unjoin", "history", *map(str, arguments)])
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_each_line_holds_the_digest_of_the_line_before(place):
    lines = (place / "register.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    before = ["0" * 64, *(hashlib.sha256(line.encode()).hexdigest() for line in lines)]
    assert [entry["previous"] for entry in entries] == before[:3]
    assert [entry["version"] for entry in entries] == VERSIONS
    manifest = (place / VERSIONS[0] / "release.json").read_bytes()
    assert entries[0]["sha256"] == hashlib.sha256(manifest).hexdigest()
    assert states(place) == ["as registered"] * 3
    assert not list(place.glob(".register*"))


@pytest.mark.parametrize("file", ["release.json", "fragment_1.csv", "validation/k_anonymity.json"])
def test_a_changed_file_shows(place, file):
    path = place / VERSIONS[1] / file
    path.write_text(path.read_text() + " ")
    assert states(place) == ["as registered", "changed", "as registered"]


def test_an_added_a_missing_and_a_linked_file_show(place):
    (place / VERSIONS[0] / "more.txt").touch()
    (place / VERSIONS[1] / "fragment_1.csv").unlink()
    linked = place / VERSIONS[2] / "fragment_1.csv"
    linked.rename(place / "elsewhere.csv")
    linked.symlink_to(place / "elsewhere.csv")
    assert states(place) == ["changed"] * 3


def test_gone_and_unregistered_versions_show(place):
    (place / VERSIONS[0]).rename(place / "20261130T030000Z")
    assert states(place) == ["gone", "as registered", "as registered", "not registered"]


def test_folders_that_trade_places_show(place):
    first, second, aside = (place / name for name in (*VERSIONS[:2], "aside"))
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    assert states(place) == ["changed", "changed", "as registered"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [lines[0].replace('"records":40', '"records":41'), *lines[1:]],
        lambda lines: [lines[0].replace('":', '": '), *lines[1:]],
        lambda lines: [*lines, lines[2]],
        lambda lines: [*lines, "{}"],
        lambda lines: [*lines, "no JSON"],
    ],
)
def test_a_register_that_was_changed_is_refused(place, damage):
    path = place / "register.jsonl"
    path.write_text("\n".join(damage(path.read_text().splitlines())) + "\n")
    with pytest.raises(InputError, match=r"register.jsonl.*(not as it was written|is damaged)"):
        history(place)
    with pytest.raises(InputError):
        register(publish(place, "20261201T030000Z"))


def test_a_version_that_a_crash_left_unregistered_is_registered_later(place):
    publish(place, "20261130T030000Z")
    assert register_left(place) == (["20261130T030000Z"], [])
    assert [entry.late for entry in read_register(place)] == [False, False, False, True]
    assert states(place) == ["as registered"] * 4
    assert register_left(place) == ([], [])


def test_a_folder_that_is_not_what_its_manifest_says_is_not_registered(place):
    (publish(place, "20261130T030000Z") / "fragment_1.csv").write_text("else")
    publish(place, "20261201T030000Z").rename(place / "20261202T030000Z")
    (publish(place, "20261203T030000Z") / "release.json").write_text("[]")
    assert register_left(place) == ([], ["20261130T030000Z", "20261202T030000Z", "20261203T030000Z"])
    assert states(place)[3:] == ["not registered"] * 3


def test_a_crash_while_it_is_written_leaves_the_old_register(place, monkeypatch):
    before = (place / "register.jsonl").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    folder = publish(place, "20261130T030000Z")
    with monkeypatch.context() as patched:
        patched.setattr("tasks.durable.flush", full)
        with pytest.raises(OSError, match="No space"):
            register(folder)
    assert (place / "register.jsonl").read_bytes() == before
    register(folder)
    assert states(place) == ["as registered"] * 4


def test_history_prints_a_line_per_version(place, monkeypatch, capsys):
    code, shown, _ = run(monkeypatch, capsys, place)
    first = shown.splitlines()[0].split("\t")
    assert code == 0
    assert first[:9] == [VERSIONS[0], "40", "1", "5", "", "0.25", "join", "yes", "as registered"]
    assert first[9] == hashlib.sha256((place / VERSIONS[0] / "release.json").read_bytes()).hexdigest()
    code, shown, _ = run(monkeypatch, capsys, place, "--json")
    assert [each["state"] for each in json.loads(shown)] == ["as registered"] * 3


def test_history_takes_a_configuration(place, tmp_path, monkeypatch, capsys):
    path = tmp_path / "release.toml"
    path.write_text(
        '[input]\npath = "t.csv"\n[columns]\nclass = "c"\nfeatures = "rest"\n[privacy]\nk = 5\n'
        '[output]\ndirectory = "."\nname = "people"\n'
    )
    code, shown, _ = run(monkeypatch, capsys, path)
    assert (code, len(shown.splitlines())) == (0, 3)


def test_history_ends_with_1_where_a_version_is_not_as_registered(place, monkeypatch, capsys):
    (place / VERSIONS[0] / "release.json").unlink()
    publish(place, "20261130T030000Z")
    code, shown, _ = run(monkeypatch, capsys, place)
    assert code == 1
    assert [line.split("\t")[8] for line in shown.splitlines()] == [
        "changed",
        "as registered",
        "as registered",
        "not registered",
    ]


def test_history_of_nothing_and_of_a_damaged_register_ends_with_2(place, tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, capsys, tmp_path / "nobody")[0] == 2
    (place / "register.jsonl").write_text("{}\n")
    code, _, told = run(monkeypatch, capsys, place)
    assert code == 2
    assert "is damaged" in told
