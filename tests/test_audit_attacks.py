"""What came of attacks is stored, told in the report and by the audit, and never stops a sound release."""

import dataclasses
import json
import re
import shutil

import duckdb
import pandas as pd
import pytest
from made_up_attacks import made_up_attack, made_up_attacks
from report_pages import VARIANTS, Page
from test_release import publish_plainly, settings
from test_trial import loaded

import validations.attack_release
from flows.cli import app, main
from tasks.config import Evaluation
from tasks.errors import ConfigurationError, InputError, StepError
from tasks.read_config import parse_config
from tasks.report import render_report
from tasks.reports.attack_pictures import attack_picture
from tasks.reports.report_attacks import Attacked, read_attacks, stated_attacks
from validations.attack_release import attack_published, attack_release
from validations.attacks.targets import require_fit
from validations.promises import read_promises


@pytest.fixture(scope="module")
def table():
    rows = range(120)
    return pd.DataFrame(
        {
            "patient": [f"P{row:04}" for row in rows],
            "age": [20 + row * 7 % 50 for row in rows],
            "weight": [None if row % 11 == 0 else 50 + row * 13 % 40 / 2 for row in rows],
            "city": [["Bonn", "Oslo", "Rome"][row * 5 % 3] for row in rows],
            "group": ["ab"[row * 7 % 50 > 25] for row in rows],
        }
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory, table):
    """A release, the store of its table, and its configuration."""
    folder = tmp_path_factory.mktemp("released")
    asked = settings(folder, table) | {"fragmentation": {"fragments": 2}}
    published = publish_plainly(asked)
    store, _ = loaded(tmp_path_factory.mktemp("loaded"), table)
    return published, store, parse_config(asked)


def attacked(released, count=1000, step=attack_published):
    folder, store, config = released
    evaluation = Evaluation(attacks=count)
    number = step.function(store, config.model_copy(update={"evaluation": evaluation}), folder)
    with duckdb.connect(store, read_only=True) as connection:
        return number, read_attacks(connection)


def test_what_came_of_attacks_is_stored(released):
    number, found = attacked(released)
    assert [(each.name, each.subject) for each in found.attacks] == [
        ("class_join", "class, certain"),
        ("class_join", "isolated"),
        ("inference", "class"),
        ("position", "all fragments"),
        ("linkage", "fragments 1 and 2"),
        ("linkage", "fragments 1 and 2, 10 nearest rows"),
    ]
    assert (number, found.targets, found.failure, found.every_record) == (6, 120, None, True)
    for each in found.attacks:
        assert each.only_with - each.only_without == each.success.successes - each.baseline.successes
        if not each.at_random:
            assert each.gained == (each.only_with > each.only_without)
    assert found.attacks[1].success.successes == 0
    assert [rows.fragment for rows in found.candidates] == [1, 2, None]
    assert all(rows.least >= 10 for rows in found.candidates[:2])


def test_no_more_records_are_aimed_at_than_is_asked(released):
    _, found = attacked(released, 7)
    assert {each.success.attempts for each in found.attacks} == {7}
    assert attacked(released, 7)[1] == found
    assert not found.every_record


def test_a_release_aims_at_no_more_than_half_of_the_records_and_never_the_same(released):
    draws = [attacked(released, 1000, attack_release)[1] for _ in range(4)]
    assert {found.targets for found in draws} == {60}
    assert not any(found.every_record for found in draws)
    assert len({str(found.attacks) for found in draws}) > 1
    assert attacked(released, 7, attack_release)[1].targets == 7


def test_nothing_is_attacked_where_none_is_asked_for(released):
    assert attacked(released, 0, attack_release) == (0, None)
    assert stated_attacks(None, withheld=False) == {}


def test_a_failure_does_not_stop_the_release_and_is_not_hidden(released, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("value Zanzibar4711")

    monkeypatch.setattr(validations.attack_release, "try_attacks", fail)
    assert attacked(released, 1000, attack_release) == (0, Attacked((), (), "ZeroDivisionError"))
    assert stated_attacks(made_up_attacks(failure="ZeroDivisionError"), withheld=False) == {}
    with duckdb.connect(released[1], read_only=True) as connection:
        assert "Zanzibar4711" not in str(connection.execute("SELECT * FROM attacks").fetchall())


# --- the original table --------------------------------------------------------------------------


def refused(tmp_path, table, published, **columns):
    store, _ = loaded(tmp_path, table, columns=columns)
    with duckdb.connect(store, read_only=True) as connection, pytest.raises(InputError) as error:
        require_fit(connection, read_promises(published))
    return str(error.value)


def test_another_number_of_records_is_refused(tmp_path, table, released):
    assert "it has 119 records, the release 120" in refused(tmp_path, table[1:], released[0])


def test_another_class_is_refused(tmp_path, table, released):
    said = refused(tmp_path, table, released[0], **{"class": "city"})
    assert "column 'city': the class in the configuration, a feature (categorical) in the release" in said
    assert "column 'group': a feature (categorical) in the configuration, the class in the release" in said


def test_missing_and_further_columns_are_refused(tmp_path, table, released):
    said = refused(tmp_path, table.rename(columns={"age": "years"}), released[0])
    assert "column 'years': a feature (integer) in the configuration, not used in the release" in said
    assert "column 'age': not used in the configuration, a feature (integer) in the release" in said


def test_a_feature_of_another_kind_is_refused(tmp_path, table, released):
    said = refused(tmp_path, table.assign(age=table["age"] + 0.5), released[0])
    assert (
        "column 'age': a feature (fixed, scale 1) in the configuration, a feature (integer) in the release"
        in said
    )


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, released):
    """The arguments of an audit with attacks, as a person would write them."""
    folder, _, config = released
    file = tmp_path / "release.toml"
    file.write_text(
        f"""
        [input]
        path = {json.dumps(str(config.input.path))}
        [columns]
        class = "group"
        features = "rest"
        identifiers = ["patient"]
        [privacy]
        k = 10
        [output]
        name = "people"
        directory = {json.dumps(str(tmp_path / "releases"))}
        [run]
        workspace = {json.dumps(str(tmp_path / "workspace"))}
        """
    )
    return ["audit", str(folder), "--attacks", str(file)]


def run(arguments):
    app(arguments, exit_on_error=False, result_action="return_value")


def test_the_audit_prints_promises_then_attacks_and_leaves_nothing(command, tmp_path, capsys):
    run([*command, "--targets", "40"])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    *promises, certain, isolated, guessed, position, linked, linked_by_k = lines
    assert all(line.startswith("true ") for line in promises)
    assert isolated.startswith(
        "class_join isolated succeeded: 0 of 40 (0.0% to 8.8%) otherwise: 0 of 40 (0.0% to 8.8%) gain: 0.0% ("
    )
    assert isolated.endswith("beyond chance: no")
    for line in (certain, guessed, position, linked, linked_by_k):
        assert " of 40 (" in line
    assert not list((tmp_path / "workspace").iterdir())
    assert not (tmp_path / "releases").exists()


def test_the_audit_prints_no_interval_where_nothing_was_drawn(command, capsys):
    run(command)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "class_join isolated succeeded: 0 of 120 otherwise: 0 of 120 gain: 0.0% beyond chance: no" in lines
    assert next(line for line in lines if line.startswith("position ")).count(" to ") == 3


def test_a_table_that_was_not_released_is_refused_before_anything_is_printed(
    command, tmp_path, table, capsys
):
    table[1:].to_csv(tmp_path / "other.csv", index=False)
    file = tmp_path / "release.toml"
    released = next(line for line in file.read_text().splitlines() if "path" in line)
    file.write_text(file.read_text().replace(released, f"path = {json.dumps(str(tmp_path / 'other.csv'))}"))
    with pytest.raises(InputError, match="is not the one that was released"):
        run(command)
    assert capsys.readouterr().out == ""
    assert not list((tmp_path / "workspace").iterdir())


@pytest.mark.parametrize("strangers", [1, 120])
def test_a_table_of_other_records_is_refused(command, tmp_path, table, capsys, strangers):
    other = table.assign(age=table["age"] + 100 * (table.index < strangers))
    other.to_csv(tmp_path / "other.csv", index=False)
    file = tmp_path / "release.toml"
    released = next(line for line in file.read_text().splitlines() if "path" in line)
    file.write_text(file.read_text().replace(released, f"path = {json.dumps(str(tmp_path / 'other.csv'))}"))
    with pytest.raises(InputError, match=rf"fragment \d: {strangers} of 120 records drawn are in no"):
        run(command)
    assert capsys.readouterr().out == ""
    assert not list((tmp_path / "workspace").iterdir())


def test_targets_need_attacks(released):
    with pytest.raises(ConfigurationError, match="--targets"):
        run(["audit", str(released[0]), "--targets", "5"])


def test_attacks_that_fail_are_told_after_the_promises(command, monkeypatch, capsys):
    def fail(*_):
        raise ZeroDivisionError("value Zanzibar4711")

    monkeypatch.setattr(validations.attack_release, "try_attacks", fail)
    with pytest.raises(StepError, match=r"could not be tried \(ZeroDivisionError\)"):
        run(command)
    shown = capsys.readouterr()
    assert all(line.startswith("true\t") for line in shown.out.splitlines())
    assert "Zanzibar4711" not in shown.out + shown.err


def test_a_broken_promise_ends_with_1_whatever_the_attacks_say(command, released, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    shutil.copytree(released[0], broken)
    (broken / "fragment_1.parquet").unlink()
    command[1] = str(broken)
    monkeypatch.setattr("sys.argv", ["unjoin", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1


# --- the report ----------------------------------------------------------------------------------


def page(found, variant="ordered"):
    return Page(render_report(dataclasses.replace(VARIANTS[variant], attacks=found)))


def test_the_report_tells_each_attack_in_words_and_figures():
    shown = page(made_up_attacks(sensitive=["main illness"]))
    for told in (
        "knows all features of a person, exactly. 1,000 records of the original table were taken",
        "That succeeded for 25 %; with the same files but without the person's own record, for 25 %.",
        "hopes to be left with fewer than 40 rows, but with some. That succeeded for 0 %.",
        "Guessing main illness.",
        "with lines of the other files at random, for less than 1 %.",
        "It was tried with 2 choices of fragments and of how many rows are nearest",
        "none gained anything, the best was with fragments 1 and 2 by the nearest row. That succeeded",
        "class guessed (for 11 % of the persons the attack alone succeeded, for less than 1 % the other way",
        "All attacks are judged together, by the persons for whom one way alone succeeded",
        "class guessed 82 % (80 % to 84 %) 71 % (69 % to 73 %) 38 % (34 % to 42 %) yes",
        "Rows that could be the person's, as far as",
    ):
        assert told in shown.text
    assert not re.search(r"\d of 1,000", shown.text)  # which would be finer than whole percent
    assert "attacks" in shown.attributes("id")


def after(shown, heading):
    return shown.text.rpartition(heading)[2]


def test_where_every_record_is_aimed_at_nothing_is_said_of_a_draw():
    shown = page(made_up_attacks(every_record=True))
    for told in (
        "exactly. Every record was aimed at: each of the 1,000 records of the original table was taken for",
        "Since every record was aimed at, this is a fact of this release where no lines are drawn at random.",
        "shares without a bar are those of the whole table. The bars are 95 % confidence intervals",
        "class guessed 82 % 71 % 38 % yes",
        "same line of every file less than 1 % (0 % to 2 %)",
        "They show how far these came, aimed at every record.",
    ):
        assert told in shown.text
    for untrue in ("drawn at random, were", "such persons, drawn", "sample", "persons could have been drawn"):
        assert untrue not in shown.text


def test_nothing_is_drawn_where_every_record_of_one_table_is_aimed_at():
    shown = page(made_up_attacks(1, every_record=True), "one")
    assert "this is a fact of this release, not an estimate." in shown.text
    assert "confidence" not in after(shown, "Attacks that were tried").partition("What is not promised")[0]
    assert "at random" not in shown.text


def test_the_attack_with_the_largest_gain_is_named():
    attacks = (
        made_up_attack("linkage", "fragments 1 and 2", 0.4, 0.3),
        made_up_attack("inference", "class", 0.97, 0.9),
        made_up_attack("position", "all fragments", 0.6, 0.5),
    )
    found = Attacked(attacks, made_up_attacks().candidates)
    assert [each.name for each in found.gaining] == ["inference", "position", "linkage"]
    assert (
        "3 of 3 attacks that use the published files only told more about the persons than the same "
        "files without them or lines at random. The largest gain was “class guessed”: it succeeded for "
        "97 % of 1,000 persons, against 90 %."
    ) in page(found).text
    alone = found._replace(attacks=attacks[2:])
    assert "told more about the persons than lines at random. That is “same line" in page(alone).text


def test_linkage_that_gains_nothing_is_not_said_to_gain_most():
    attacks = [
        made_up_attack("linkage", f"fragments 1 and {other}", share, 0.3)
        for other, share in ((2, 0.1), (3, 0.2))
    ]
    shown = page(Attacked(tuple(attacks), made_up_attacks().candidates)).text
    assert "none gained anything, the best was with fragments 1 and 3 by the nearest row." in shown


@pytest.mark.parametrize("variant", ["ordered", "one"])
def test_that_no_attacks_were_tried_leaves_a_trace(variant):
    shown = page(None, variant)
    assert shown.text.count("No attacks were tried") == 3
    assert "attacks" in shown.attributes("id")
    assert "#attacks" in shown.attributes("href")


def test_one_table_is_not_joined():
    shown = page(made_up_attacks(1), "one")
    assert "Reading the same line" not in shown.text
    assert "keeps the class values that they have" in shown.text
    assert "join of all fragments" not in shown.text


def test_values_published_once_are_said_to_leave_an_estimate():
    shown = page(made_up_attacks(), "per_class")
    assert "How often a class value occurs is not published, so this is an estimate." in shown.text
    assert "without the person's own record, for" not in shown.text


def test_attacks_that_gain_nothing_are_said_to():
    found = Attacked((made_up_attack("position", "all fragments", 0.3, 0.3),), made_up_attacks().candidates)
    assert (
        "No attack told more of the persons than otherwise, beyond what chance can explain"
        in page(found).text
    )


def test_the_report_tells_that_attacks_failed():
    shown = page(made_up_attacks(failure="ZeroDivisionError"))
    assert "could not be: the attacks failed (ZeroDivisionError)" in shown.text
    assert "No attacks were tried. They were to be, and failed." in shown.text
    assert attack_picture(made_up_attacks(failure="ZeroDivisionError")) == ""


def test_a_sensitive_name_is_no_markup():
    text = render_report(
        dataclasses.replace(
            VARIANTS["ordered"], attacks=made_up_attacks(sensitive=["<script>alert(1)</script>"])
        )
    )
    assert "<script>" not in text
    Page(text)


def test_the_picture_is_the_same_every_time_and_tells_what_it_is():
    drawn = attack_picture(made_up_attacks(3))
    assert drawn == attack_picture(made_up_attacks(3))
    assert 'role="img"' in drawn
    assert "How often each of 10 attacks succeeded" in drawn


def test_bars_are_drawn_where_something_was_drawn():
    some, every = (attack_picture(made_up_attacks(every_record=every)) for every in (False, True))
    lines = [picture.count("LineCollection") for picture in (some, every)]
    assert lines[0] == lines[1]
    assert len(every) < len(some)


def test_the_manifest_states_whole_percents():
    first, *others = stated_attacks(made_up_attacks(), withheld=False)["attacks"]
    assert first == {
        "attack": "class_join",
        "subject": "class, certain",
        "targets": 1000,
        "success": 0.25,
        "low": 0.23,
        "high": 0.27,
        "baseline": 0.25,
        "gained": False,
    }
    assert len(others) == 5


def test_the_manifest_states_no_interval_where_nothing_was_drawn():
    stated = stated_attacks(made_up_attacks(every_record=True), withheld=False)["attacks"]
    assert {each["attack"] for each in stated if each["low"] is None} == {"class_join", "inference"}
    assert {each["attack"] for each in stated if each["high"] is not None} == {"position", "linkage"}
