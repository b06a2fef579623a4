"""The proposed configuration: roles and reasons, no value of the data, and that it runs."""

import datetime as dt
import gzip
import re
import sqlite3
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.audit import audit
from flows.release import release
from tasks.errors import ConfigurationError, InputError
from tasks.load import load_table
from tasks.proposing.guesses import may_tell_persons
from tasks.proposing.look import Look, suggested_k
from tasks.proposing.propose import write_proposal
from tasks.read_config import parse_input, read_config
from tasks.store import STORE, create_workspace, open_store

CANARY = "Zanzibar4711"
ROWS = 200


@pytest.fixture
def patients():
    """A table with a column of every sort."""
    turn = np.arange(ROWS)
    return pd.DataFrame(
        {
            "record": [f"{CANARY}-{number}" for number in turn],
            "number": turn + 100000,
            "person": turn * 3 // 4 + 500000,
            "turns": turn * 2 // 3 + 700000,
            "ward": np.where(turn % 7 < 3, CANARY, "north"),
            "weight": (turn % 41) + 0.25,
            "unit": "kg",
            "nothing": "",
            "code": turn % 7,
            "sex": turn % 2,
            "visits": np.where(turn % 9 == 0, "?", (turn % 30).astype(str)),
            "mood": np.where(turn % 5 == 0, ".", np.where(turn % 3, "good", "NA")),
            "gaps": np.where(turn % 10 == 0, "", CANARY),
            "outcome": np.where(turn % 3 == 0, f"{CANARY} a", f"{CANARY} b"),
        }
    )


def propose(table, output, **written):
    write_proposal(parse_input({"path": table, **written}), output)
    text = output.read_text(encoding="utf-8")
    return text, tomllib.loads(text)


def with_suggestions(text):
    """Take every suggestion that is a comment, but that of an entity."""
    without = re.sub(r"(?m)^missing = .*\n(?=(#.*\n)*# missing = )", "", text)
    return re.sub(r"(?m)^# (types\.|hierarchies\.|missing = |sensitive = |l = |earlier = )", r"\1", without)


def loaded(config_path, class_name):
    """Fill in the class and load the table as the configuration says."""
    config = read_config(config_path, [f"columns.class={class_name}"])
    return load_table(create_workspace(config_path.parent / "workspace"), config)


@pytest.fixture
def proposal(patients, tmp_path):
    patients.to_csv(tmp_path / "patients 2026.csv", index=False)
    return propose(tmp_path / "patients 2026.csv", tmp_path / "release.toml")


def test_unique_columns_are_identifiers_and_empty_ones_are_dropped(proposal):
    _, settings = proposal
    assert settings["columns"]["identifiers"] == ["record", "number", "person", "turns"]
    assert settings["columns"]["drop"] == ["nothing"]
    assert settings["columns"]["features"] == "rest"


def test_every_column_is_listed_with_its_kind_counts_and_reason(proposal):
    text, _ = proposal
    for line in (
        '    "record",  # text, 200 values: almost every record has its own value',
        '    "number",  # whole numbers, 200 values: almost every record has its own value',
        '    "person",  # whole numbers, 150 values: it is called as what tells persons apart',
        '    "turns",  # whole numbers, 133 values: most records have their own value: a feature, if',
        '#   "ward": text, 2 values',
        '#   "weight": numbers, 41 values',
        '#   "unit": text, 1 value: constant: the same value in every record',
        '    "nothing",  # text, 0 values, 200 missing: no record has a value',
        '#   "visits": whole numbers, 30 values, 23 missing',
        '#   "mood": text, 3 values: 93 cells that may stand for missing',
        '#   "gaps": text, 1 value, 20 missing',
    ):
        assert f"\n{line}" in text


def test_no_value_of_the_table_is_written(proposal):
    text, _ = proposal
    assert CANARY not in text
    assert "north" not in text
    assert "kg" not in text


def test_the_class_is_asked_for(proposal, tmp_path):
    text, settings = proposal
    assert settings["columns"]["class"] == ""
    offered = re.findall(r'#   "(\w+)": \d+ values\n', text.partition("could be the class")[2])
    assert offered == ["ward", "code", "sex", "outcome"]
    with pytest.raises(ConfigurationError, match=r"^columns\.class: [^\n]+$"):
        read_config(tmp_path / "release.toml")


def test_with_the_class_filled_in_it_loads(proposal, tmp_path):
    shape = loaded(tmp_path / "release.toml", "outcome")
    assert (shape.records, shape.features, shape.class_values) == (ROWS, 8, 2)


def test_the_commented_suggestions_are_settings(proposal, tmp_path):
    text, _ = proposal
    taken = with_suggestions(text)
    settings = tomllib.loads(taken)
    assert settings["columns"]["types"] == {"code": "categorical"}
    assert settings["input"]["missing"] == ["", "?", "."]
    assert (settings["columns"]["sensitive"], settings["privacy"]["l"]) == ([], 2)
    (tmp_path / "release.toml").write_text(taken, encoding="utf-8")
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS


def test_texts_beside_numbers_alone_stand_for_missing_and_others_are_counted(proposal):
    text, settings = proposal
    assert settings["input"] == {"path": "patients 2026.csv", "missing": ["", "?"]}
    assert '#   ".": 40 cells in 1 column\n#   "NA": 53 cells in 1 column\n' in text


def test_a_text_beside_numbers_and_among_categories_is_declared_for_the_numbers(patients, tmp_path):
    patients.loc[:4, "ward"] = "?"
    patients.to_csv(tmp_path / "t.csv", index=False)
    text, settings = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert settings["input"]["missing"] == [""]
    assert settings["input"]["missing_in"] == {"visits": ["?"]}
    assert '#   "?": 5 cells in 1 column\n' in text
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS


def test_the_release_is_named_after_the_file_and_the_path_is_relative(proposal):
    _, settings = proposal
    assert settings["output"]["name"] == "patients_2026"
    assert settings["input"]["path"] == "patients 2026.csv"


def test_the_path_is_relative_to_the_folder_of_the_configuration(patients, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "configs").mkdir()
    patients.to_csv(tmp_path / "data" / "t.csv", index=False)
    monkeypatch.chdir(tmp_path / "data")
    _, settings = propose(Path("t.csv"), Path("../configs/release.toml"))
    assert settings["input"]["path"] == "../data/t.csv"
    assert loaded(tmp_path / "configs" / "release.toml", "outcome").records == ROWS


@pytest.mark.parametrize(("records", "k"), [(1, 2), (40, 2), (100, 5), (199, 9), (200, 10), (10**6, 10)])
def test_k_grows_with_the_table_up_to_a_usual_one(records, k):
    assert suggested_k(records) == k


def _as_csv(frame, path):
    frame.to_csv(path, index=False)


def _as_tsv(frame, path):
    frame.to_csv(path, index=False, sep="\t")


def _as_semicolons(frame, path):
    frame.to_csv(path, index=False, sep=";", decimal=",")


def _as_latin(frame, path):
    frame.rename(columns={"ward": "Wärd"}).to_csv(path, index=False, encoding="latin-1")


def _as_utf16(frame, path):
    frame.to_csv(path, index=False, encoding="utf-16")


def _as_gzip(frame, path):
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


def _as_parquet(frame, path):
    frame.to_parquet(path)


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("t.csv", _as_csv),
        ("t.tsv", _as_tsv),
        ("t.csv", _as_semicolons),
        ("t.csv", _as_latin),
        ("t.csv", _as_utf16),
        ("t.csv.gz", _as_gzip),
        ("t.parquet", _as_parquet),
    ],
)
def test_any_readable_table_gets_a_configuration_that_loads(patients, tmp_path, name, save):
    save(patients, tmp_path / name)
    text, settings = propose(tmp_path / name, tmp_path / "release.toml")
    assert settings["output"]["name"] == "t"
    assert CANARY not in text
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS


def test_columns_of_parquet_that_cannot_be_released_are_dropped_with_the_reason(tmp_path):
    turn = np.arange(ROWS)
    pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-31", "2020-02-01"] * (ROWS // 2)),
            "time": [dt.time(8), dt.time(9, 30)] * (ROWS // 2),
            "ratio": np.where(turn % 2, np.inf, 1.5),
            "size": turn % 50,
            "outcome": turn % 2,
        }
    ).to_parquet(tmp_path / "t.parquet")
    text, settings = propose(tmp_path / "t.parquet", tmp_path / "release.toml")
    assert settings["columns"]["drop"] == ["time", "ratio"]
    assert "100 of its numbers are infinite" in text
    assert "holds values of type TIME" in text
    assert '#   "day": dates, 2 values\n' in text
    assert loaded(tmp_path / "release.toml", "outcome").features == 2


def test_odd_names_are_written_so_that_they_read_back(tmp_path):
    names = [
        'a"b',
        "c\nd",
        "e\\u0041",
        "f # g",
        "h]\n[privacy]\nk = 2",
        "i\x7f\x01",
        "j" * 300,
        "k = 3",
        "ﬁ 😀",
    ]
    unique = [f"{name}!" for name in names]
    values = {name: np.arange(ROWS) % 4 for name in names} | {name: np.arange(ROWS) for name in unique}
    pd.DataFrame(values | {"outcome": np.arange(ROWS) % 2}).to_csv(tmp_path / "t.csv", index=False)
    text, settings = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert settings["columns"]["identifiers"] == unique
    assert settings["privacy"]["k"] == 10
    codes = tomllib.loads(with_suggestions(text))["columns"]["types"]
    assert list(codes) == names
    assert loaded(tmp_path / "release.toml", "outcome").features == len(names)


def test_many_columns_of_a_sort_share_lines(tmp_path):
    names = [f"x{number}" for number in range(200)]
    line = ",".join(str(number % 2) for number in range(200))
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + f"{line}\n" * 20, encoding="utf-8")
    text, settings = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert settings["columns"]["identifiers"] == []
    assert "\n# 200 features of whole numbers: constant: the same value in every record; " in text
    assert all(f' "{name}" (1)' in text for name in names)
    assert max(map(len, text.splitlines())) <= 130
    assert len(text.splitlines()) < 80


@pytest.mark.parametrize("name", ["-.csv", "_.csv", "日本.csv"])
def test_a_file_whose_name_cannot_be_a_release_name(patients, tmp_path, name):
    patients.to_csv(tmp_path / name, index=False)
    _, settings = propose(tmp_path / name, tmp_path / "release.toml")
    assert settings["output"]["name"] == "release"


def test_an_existing_file_is_never_overwritten(patients, tmp_path):
    patients.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "release.toml").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"release\.toml: exists and is not overwritten"):
        write_proposal(parse_input({"path": tmp_path / "t.csv"}), tmp_path / "release.toml")
    assert (tmp_path / "release.toml").read_text(encoding="utf-8") == "mine"
    assert ConfigurationError.exit_code == 2


def test_a_place_that_cannot_be_written(patients, tmp_path):
    patients.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_proposal(parse_input({"path": tmp_path / "t.csv"}), tmp_path / "no" / "folder" / "release.toml")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has no records"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "t.csv is not text"),
        (f"a,b\n1,2\n{CANARY}\n".encode(), "line 3 of t.csv"),
        (f"a,,b\n1,2,{CANARY}\n".encode(), "column number 2 is blank"),
    ],
)
def test_a_table_that_cannot_be_read_leaves_no_configuration(tmp_path, content, told):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        write_proposal(parse_input({"path": tmp_path / "t.csv"}), tmp_path / "release.toml")
    assert CANARY not in str(caught.value)
    assert not (tmp_path / "release.toml").exists()


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet"])
def test_a_missing_table(tmp_path, name):
    with pytest.raises(InputError, match=f"there is no file {name}"):
        write_proposal(parse_input({"path": tmp_path / name}), tmp_path / "release.toml")


@pytest.fixture
def stays():
    """Stays of persons: what tells them apart, dates of every sort, codes and a long tail."""
    turn = np.arange(ROWS)
    day = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(turn, unit="D"))
    return pd.DataFrame(
        {
            "stay": turn + 1000,
            "patient_nbr": turn // 2 + 10,
            "patient_age": turn % 60,
            "admitted": day.dt.strftime("%d.%m.%Y"),
            "seen": day.dt.strftime("%Y-%m-%d %H:%M:%S"),
            "left": np.where(turn % 4 == 0, "NULL", day.dt.strftime("%Y/%m/%d")),
            "born": [f"{1 + number % 12:02}/{1 + number % 11:02}/1980" for number in turn],
            "short": day.dt.strftime("%d.%m.%y"),
            "diagnosis": [f"{chr(65 + number % 6)}{number % 60:02}.{number % 4}" for number in turn],
            "zip": [f"{number % 80:05}" for number in turn],
            "place": [f"{CANARY} {number % 75 if number % 2 else 0}" for number in turn],
            "ward_id": turn % 26,
            "outcome": np.where(turn % 3 == 0, "a", "b"),
        }
    )


@pytest.fixture
def of_stays(stays, tmp_path):
    stays.to_csv(tmp_path / "stays.csv", index=False)
    return propose(tmp_path / "stays.csv", tmp_path / "release.toml")


def test_dates_get_the_format_that_reads_them_all_or_are_dropped_with_the_reason(of_stays, tmp_path):
    text, settings = of_stays
    assert settings["input"]["dates"] == {
        "admitted": "%d.%m.%Y",
        "seen": "%Y-%m-%d %H:%M:%S",
        "left": "%Y/%m/%d",
    }
    assert settings["columns"]["drop"] == ["born", "short"]
    assert '# "born" = "%d/%m/%Y"  # or "%m/%d/%Y": say which' in text
    assert '    "born",  # dates, 132 values: dates that can be read in more than one way' in text
    assert '    "short",  # neither numbers nor text, 200 values: looks like dates' in text
    loaded(tmp_path / "release.toml", "outcome")
    with open_store(tmp_path / "workspace" / STORE) as connection:
        kinds = dict(connection.execute("SELECT name, kind FROM columns").fetchall())
    assert [kinds[name] for name in ("admitted", "seen", "left")] == ["date"] * 3


def test_the_right_one_of_two_ways_to_read_dates_can_be_taken(of_stays, tmp_path):
    text, _ = of_stays
    taken = re.sub(r'(?m)^# ("born" = )', r"\1", re.sub(r'(?m)^    "born",.*\n', "", text))
    (tmp_path / "release.toml").write_text(taken, encoding="utf-8")
    assert loaded(tmp_path / "release.toml", "outcome").features == 9


def test_what_may_tell_persons_apart_is_an_identifier_and_can_be_the_entity(of_stays, tmp_path):
    text, settings = of_stays
    assert settings["columns"]["identifiers"] == ["stay", "patient_nbr"]
    assert '\n# entity = "patient_nbr"  # 100 values in 200 records\n' in text
    assert text.count("# entity") == 1
    taken = re.sub(r'(?m)^    "patient_nbr",.*\n', "", text).replace("# entity", "entity")
    (tmp_path / "release.toml").write_text(taken, encoding="utf-8")
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS
    with open_store(tmp_path / "workspace" / STORE) as connection:
        assert connection.execute("SELECT count(DISTINCT person) FROM persons").fetchall() == [(100,)]


def test_text_with_many_values_is_offered_groups(of_stays, tmp_path):
    text, _ = of_stays
    columns = tomllib.loads(with_suggestions(text))["columns"]
    assert columns["hierarchies"] == {
        "diagnosis": {"prefix": [3, 2, 1]},
        "zip": {"prefix": [3, 2, 1]},
        "place": {"rare": 10},
    }
    assert columns["types"] == {"ward_id": "categorical"}
    assert CANARY not in text
    (tmp_path / "release.toml").write_text(
        re.sub(r"(?m)^(l|sensitive) = .*\n", "", with_suggestions(text)), encoding="utf-8"
    )
    assert loaded(tmp_path / "release.toml", "outcome").features == 8


@pytest.mark.parametrize(
    "name, persons",
    [
        ("patient_nbr", True),
        ("PATIENT", True),
        ("Subject ID", True),
        ("the.client-no", True),
        ("personid", True),
        ("pid", True),
        ("patient_age", False),
        ("impatient", False),
        ("spid", False),
        ("id", False),
        ("number_of_persons_seen", False),
    ],
)
def test_names_that_are_given_to_what_tells_persons_apart(name, persons):
    look = Look(name, "integer", "", distinct=60, missing=0)
    assert may_tell_persons(look, 100) is persons


@pytest.mark.parametrize("distinct, persons", [(20, False), (21, True), (99, True), (100, False)])
def test_few_values_tell_no_persons_apart_and_unique_ones_no_records_of_one(distinct, persons):
    assert may_tell_persons(Look("patient", "integer", "", distinct, missing=0), 100) is persons


@pytest.mark.parametrize("rare", [0, 3])
def test_rare_values_of_a_class_are_pointed_out(tmp_path, rare):
    outcome = np.where(np.arange(ROWS) < rare, "rare", np.where(np.arange(ROWS) % 2, "yes", "no"))
    pd.DataFrame({"x": np.arange(ROWS) % 50, "outcome": outcome}).to_csv(tmp_path / "t.csv", index=False)
    text, _ = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert ("Rare values have fewer than k = 10 records each" in text) is bool(rare)
    assert ('#   "outcome": 3 values, 1 rare\n' in text) is bool(rare)


def test_a_class_with_gaps_is_not_offered(tmp_path):
    turn = np.arange(ROWS)
    frame = pd.DataFrame(
        {"gap": np.where(turn == 0, "", "a"), "asked": np.where(turn == 0, "?", "a"), "x": turn % 3}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    text, _ = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert re.findall(r'#   "(\w+)": \d+ values\n', text.partition("could be the class")[2]) == ["x"]


def test_without_a_candidate_the_class_cannot_be_found(tmp_path):
    pd.DataFrame({"x": np.arange(ROWS) % 90}).to_csv(tmp_path / "t.csv", index=False)
    text, _ = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert "No column has few values and none missing" in text


def test_too_few_records_for_k_and_too_many_features_are_pointed_out(tmp_path):
    pd.DataFrame({"x": [1], "y": ["a"]}).to_csv(tmp_path / "one.csv", index=False)
    text, _ = propose(tmp_path / "one.csv", tmp_path / "one.toml")
    assert "fewer records than k = 2" in text
    turn = np.arange(ROWS)
    pd.DataFrame({f"x{number}": turn % 50 for number in range(40)}).to_csv(tmp_path / "t.csv", index=False)
    text, _ = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert "# Records can be halved 4 times before k is reached, and each fragment has about 19" in text


def test_how_the_table_is_written_goes_into_the_configuration(patients, tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        patients.to_excel(book, sheet_name="Ward 3", index=False)
        patients.head(3).to_excel(book, sheet_name="other", index=False)
    _, settings = propose(tmp_path / "t.xlsx", tmp_path / "excel.toml", sheet="Ward 3")
    assert settings["input"]["sheet"] == "Ward 3"
    assert loaded(tmp_path / "excel.toml", "outcome").records == ROWS


def test_a_database_is_asked(patients, tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        patients.to_sql("patients", connection, index=False)
    connection.close()
    query = "SELECT * FROM patients WHERE \"ward\" = 'north'"
    _, settings = propose(tmp_path / "t.sqlite", tmp_path / "release.toml", query=query)
    assert settings["input"]["query"] == query
    assert loaded(tmp_path / "release.toml", "outcome").records == (patients["ward"] == "north").sum()


def test_variable_labels_are_shown(patients, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    labels = {"visits": "Visits to\na doctor"}
    pyreadstat.write_sav(patients, str(tmp_path / "t.sav"), column_labels=labels)
    text, _ = propose(tmp_path / "t.sav", tmp_path / "release.toml")
    assert '#   "visits": whole numbers, 30 values, 23 missing ("Visits to a doctor")\n' in text
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS


def test_a_delimiter_can_be_given(tmp_path):
    (tmp_path / "t.csv").write_text("a!b\n" + "1!x\n2!y\n" * 50, encoding="utf-8")
    _, settings = propose(tmp_path / "t.csv", tmp_path / "release.toml", delimiter="!")
    assert settings["input"]["delimiter"] == "!"
    assert loaded(tmp_path / "release.toml", "b").records == 100


def test_a_setting_that_cannot_be_is_refused():
    with pytest.raises(ConfigurationError, match=r"^input\.delimiter: "):
        parse_input({"path": "t.csv", "delimiter": "ab"})


COLUMNS = {
    "whole": st.integers(-5, 400).map(str),
    "few": st.integers(0, 3).map(str),
    "cents": st.integers(0, 999).map(lambda cents: f"{cents / 100:.2f}"),
    "ratio": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "huge": st.integers(2**62, 2**70).map(str),
    "code": st.integers(0, 200).map(lambda number: f"{number:04}"),
    "text": st.text(max_size=4).map(lambda text: text.replace("\0", "").replace("\r", "")),
    "word": st.sampled_from(["red", "green", "NA", "-", "=1", "a,b"]),
    "asked": st.one_of(st.just("?"), st.integers(0, 9).map(str)),
    "gap": st.sampled_from(["", "", "x"]),
    "day": st.dates().map(lambda day: day.isoformat()),
    "slashed": st.dates(dt.date(1900, 1, 1)).map(lambda day: day.strftime("%d/%m/%Y")),
    "american": st.dates(dt.date(1900, 1, 1)).map(lambda day: day.strftime("%m/%d/%y")),
    "empty": st.just(""),
}


@st.composite
def tables(draw):
    records = draw(st.integers(8, 30))
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5, unique=True))
    columns = {
        name: draw(st.lists(COLUMNS[name], min_size=records, max_size=records))
        for name in [*names, "few", "word"]
    }
    return pd.DataFrame(columns)


@settings(deadline=None, max_examples=15)
@given(tables())
def test_whatever_is_offered_as_the_class_the_table_loads(table):
    with TemporaryDirectory() as folder:
        place = Path(folder)
        table.to_csv(place / "t.csv", index=False)
        text, _ = propose(place / "t.csv", place / "release.toml")
        offered = re.findall(r'#   "(\w+)": \d+ values', text.partition("could be the class")[2])
        features = re.findall(r'(?m)^#   "(\w+)": (?=.*(?:numbers|text|dates),)', text)
        for number, name in enumerate(offered[:2]):
            config = read_config(place / "release.toml", [f"columns.class={name}"])
            if len(features) > 1:
                shape = load_table(create_workspace(place / str(number)), config)
                assert (shape.records, shape.features) == (len(table), len(features) - 1)


def test_with_the_class_filled_in_it_releases(stays, tmp_path):
    stays.to_csv(tmp_path / "t.csv", index=False)
    propose(tmp_path / "t.csv", tmp_path / "release.toml")
    asked = ["columns.class=outcome", "evaluation.attacks=0", "run.engine=plain"]
    assert audit(release.fn(read_config(tmp_path / "release.toml", asked))).success
