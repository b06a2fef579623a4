"""The configuration: what is refused and how it is said, what overrides do, where paths start."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.read_config import parse_config, read_config

MINIMAL = """\
[input]
path = "data/table.csv"
[columns]
class = "group"
features = "rest"
[privacy]
k = 5
[output]
name = "trial"
"""


@pytest.fixture
def file(tmp_path):
    """Write a configuration file."""

    def _file(text=MINIMAL):
        path = tmp_path / "release.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return _file


def settings(section, **changes):
    """Return minimal settings with some of a section changed; None takes a setting away."""
    minimal = {
        "input": {"path": "table.csv"},
        "columns": {"class": "group", "features": "rest"},
        "privacy": {"k": 5},
        "output": {"name": "trial"},
    }
    changed = minimal.get(section, {}) | changes
    return minimal | {section: {key: value for key, value in changed.items() if value is not None}}


def faults(given):
    """Return the faults of settings, a line each."""
    with pytest.raises(ConfigurationError) as caught:
        parse_config(given)
    return str(caught.value).splitlines()


def test_defaults_are_the_documented_ones():
    config = parse_config(settings("run"))
    assert config.input.missing == ("",)
    assert (config.privacy.guarantee, config.privacy.enforcement) == ("join", "min_distortion")
    assert (config.fragmentation.fragments, config.fragmentation.bins) == (2, 10)
    assert (config.anonymization.mode, config.anonymization.bounds) == ("strict", "tight")
    assert (config.run.seed, config.run.keep_workspace, config.run.engine) == (0, False, "prefect")
    assert config.limits.max_information_loss is None


@pytest.mark.parametrize(
    ("section", "setting"),
    [
        ("input", "path"),
        ("columns", "class"),
        ("columns", "features"),
        ("privacy", "k"),
        ("output", "name"),
    ],
)
def test_what_has_no_default_must_be_set(section, setting):
    assert faults(settings(section, **{setting: None})) == [f"{section}.{setting}: must be set"]


@pytest.mark.parametrize("section", ["input", "columns", "privacy", "output"])
def test_a_missing_section_is_named(section):
    given = settings("run")
    del given[section]
    assert faults(given) == [f"{section}: must be set"]


@pytest.mark.parametrize(
    "section",
    [
        "input",
        "columns",
        "privacy",
        "fragmentation",
        "segmentation",
        "anonymization",
        "limits",
        "output",
        "run",
    ],
)
def test_unknown_settings_are_refused(section):
    assert faults(settings(section, colour="red")) == [f"{section}.colour: is not a setting"]


def test_unknown_sections_are_refused():
    assert faults(settings("colours", red=1)) == ["colours: is not a setting"]


@pytest.mark.parametrize(
    ("section", "setting", "value"),
    [
        ("input", "format", "xls"),
        ("input", "delimiter", ""),
        ("input", "delimiter", "::"),
        ("input", "encoding", "ebcdic"),
        ("columns", "class", ""),
        ("columns", "class", ["group"]),
        ("columns", "features", "all"),
        ("columns", "features", ["a", ""]),
        ("columns", "types", {"a": "numerical"}),
        ("privacy", "k", 1),
        ("privacy", "k", "ten"),
        ("privacy", "guarantee", "hope"),
        ("privacy", "enforcement", "force"),
        ("fragmentation", "fragments", 0),
        ("fragmentation", "bins", 1),
        ("anonymization", "algorithm", "magic"),
        ("anonymization", "mode", "lax"),
        ("anonymization", "bounds", "loose"),
        ("limits", "max_information_loss", 1.5),
        ("limits", "max_changed_class_values", -0.1),
        ("output", "name", "../up"),
        ("output", "name", ".hidden"),
        ("output", "name", "two words"),
        ("run", "seed", -1),
        ("run", "engine", "steam"),
        ("run", "keep_workspace", "perhaps"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_by_its_setting(section, setting, value):
    assert all(
        line.startswith(f"{section}.{setting}") for line in faults(settings(section, **{setting: value}))
    )


@pytest.mark.parametrize(
    "privacy", [{"delta": 0.5}, {"enforcement": "delta_selectivity"}, {"enforcement": "none", "delta": 1}]
)
def test_delta_belongs_to_delta_selectivity(privacy):
    expected = 'privacy: delta is needed with enforcement = "delta_selectivity", and only there'
    assert faults(settings("privacy", **privacy)) == [expected]


@pytest.mark.parametrize(
    "run, expected",
    [
        ({"scheduler": "tcp://host:8786"}, 'run: scheduler is used with engine = "dask" only'),
        (
            {"engine": "plain", "scheduler": "tls://host:8786"},
            'run: scheduler is used with engine = "dask" only',
        ),
        *(
            (
                {"engine": "dask", "scheduler": address},
                "run: scheduler must look like tls://host:8786 or tcp://host:8786",
            )
            for address in (
                "host:8786",
                "tcp://host",
                "http://host:8786",
                "tcp://a b:1",
                "tcp://host:1/x",
                "",
            )
        ),
    ],
)
def test_a_scheduler_is_an_address_and_belongs_to_dask(run, expected):
    assert faults(settings("run", **run)) == [expected]


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tls://cluster.example:8786", "tcp://[::1]:8786"])
def test_an_address_is_kept_as_it_is(address):
    config = parse_config(settings("run", engine="dask", scheduler=address))
    assert config.run.scheduler == address


@pytest.mark.parametrize("delta", [0.0, -0.5, 1.01])
def test_delta_is_a_share(delta):
    found = faults(settings("privacy", enforcement="delta_selectivity", delta=delta))
    assert [line.partition(":")[0] for line in found] == ["privacy.delta"]


@pytest.mark.parametrize("number", [0, -3, 2.5, "many", None, [2]])
def test_a_number_of_fragments_that_is_none_is_one_fault(number):
    given = settings("run") | {"fragmentation": {"fragments": number}}
    assert faults(given) == ['fragmentation.fragments: must be a whole number from 1, or "auto"']


@pytest.mark.parametrize("number", [1, 40, "auto"])
def test_numbers_of_fragments(number):
    assert parse_config(settings("fragmentation", fragments=number)).fragmentation.fragments == number


# Protected values


def protecting(columns=None, **privacy):
    """Return settings that protect values, with a sensitive attribute called diagnosis."""
    asked = settings("privacy", **privacy)
    return asked | {"columns": asked["columns"] | {"sensitive": ["diagnosis"]} | (columns or {})}


@pytest.mark.parametrize(
    "privacy",
    [
        {"l": 2},
        {"l": 2.0},
        {"l": 1.5, "l_model": "entropy"},
        {"l": 3, "l_model": "recursive", "c": 0.5},
        {"t": 0},
        {"t": 0.99, "t_distance": "ordered"},
        {"l": 2, "t": 0.3, "strict_segments": True},
        {"l": 2, "enforcement": "none"},
    ],
)
def test_l_and_t_can_be_asked_for(privacy):
    config = parse_config(protecting(**privacy))
    assert config.privacy.protects_values
    assert not parse_config(settings("run")).privacy.protects_values


@pytest.mark.parametrize(
    ("privacy", "told"),
    [
        ({"l": 1}, "privacy.l: must be above 1"),
        ({"l": "many"}, "privacy.l: must be a number"),
        ({"t": 1}, "privacy.t: must be below 1"),
        ({"t": -0.1}, "privacy.t: must be at least 0"),
        ({"l": 2, "l_model": "recursive", "c": 0}, "privacy.c: must be above 0"),
        (
            {"l": 2, "l_model": "some"},
            "privacy.l_model: must be 'distinct', 'entropy' or 'recursive'",
        ),
        (
            {"t": 0.1, "t_distance": "far"},
            "privacy.t_distance: must be 'equal', 'ordered' or 'hierarchical'",
        ),
        ({"l": 2, "c": 1}, 'privacy: c is needed with l_model = "recursive", and only there'),
        (
            {"l": 2, "l_model": "recursive"},
            'privacy: c is needed with l_model = "recursive", and only there',
        ),
        (
            {"l": 2, "l_model": "entropy", "c": 1},
            'privacy: c is needed with l_model = "recursive", and only there',
        ),
        ({"l_model": "entropy"}, 'privacy: l must be set with l_model = "entropy"'),
        ({"l_model": "recursive", "c": 1}, 'privacy: l must be set with l_model = "recursive"'),
        ({"l": 2.5}, "privacy: l must be a whole number, unless it is measured by entropy: 2.5 is not"),
        (
            {"l": 2.5, "l_model": "recursive", "c": 1},
            "privacy: l must be a whole number, unless it is measured by entropy: 2.5 is not",
        ),
        ({"l": 2, "t_distance": "ordered"}, 'privacy: t must be set with t_distance = "ordered"'),
        ({"t_distance": "hierarchical"}, 'privacy: t must be set with t_distance = "hierarchical"'),
        (
            {"strict_segments": True},
            "privacy: strict_segments needs l or t: without them there is one segment",
        ),
    ],
)
def test_settings_of_l_and_t_that_do_not_go_together(privacy, told):
    assert faults(settings("privacy", **privacy)) == [told]


@pytest.mark.parametrize("asked", [{"l": 2}, {"t": 0.3}])
@pytest.mark.parametrize(
    "enforcement", [{"enforcement": "naive"}, {"enforcement": "delta_selectivity", "delta": 1}]
)
def test_l_and_t_refuse_strategies_that_break_or_hide_them(asked, enforcement):
    (told,) = faults(settings("privacy", **asked, **enforcement))
    assert told.startswith(f'privacy: enforcement = "{enforcement["enforcement"]}" ')
    assert told.endswith(': use "min_distortion"')


def test_sensitive_attributes_need_l_or_t():
    assert faults(protecting()) == ["columns.sensitive: says what l or t protect: set privacy.l or privacy.t"]


def test_segments_need_l_or_t():
    asked = settings("segmentation", min_segment=100)
    assert faults(asked) == ["segmentation.min_segment: is used with privacy.l or privacy.t only"]
    assert parse_config(asked | settings("privacy", t=0.5) | {"segmentation": {"min_segment": 100}})


@pytest.mark.parametrize("segmentation", [{"min_segment": 1}, {"min_segment": 2.5}, {"level": "own"}])
def test_segments_that_are_not_allowed(segmentation):
    (told,) = faults(settings("segmentation", **segmentation))
    assert told.startswith(f"segmentation.{next(iter(segmentation))}: ")


FILES = {"group": "group.csv", "diagnosis": "diagnosis.csv"}


@pytest.mark.parametrize(
    ("columns", "privacy", "told"),
    [
        (
            {"orders": {"diagnosis": ["a"]}},
            {"t": 0.3},
            'columns.orders: is used with privacy.t_distance = "ordered" only',
        ),
        (
            {"orders": {"age": ["a"]}},
            {"t": 0.3, "t_distance": "ordered"},
            "columns.orders: 'age' is neither the class nor a sensitive attribute",
        ),
        (
            {"orders": {"diagnosis": ["aa", "bb", "aa", "bb", "aa"]}},
            {"t": 0.3, "t_distance": "ordered"},
            "columns.orders.diagnosis: must name every value once, but names 2 of them more often",
        ),
        (
            {"hierarchies": FILES},
            {"t": 0.3, "t_distance": "ordered"},
            (
                "columns.hierarchies: that of 'group', which is published as it is, is used with "
                'privacy.t_distance = "hierarchical" only'
            ),
        ),
        (
            {"hierarchies": {"group": "group.csv"}},
            {"t": 0.3, "t_distance": "hierarchical"},
            "columns.hierarchies: 'diagnosis' has none, which t_distance = \"hierarchical\" needs",
        ),
        (
            {"hierarchies": {"diagnosis": "diagnosis.csv"}},
            {"t": 0.3, "t_distance": "hierarchical"},
            "columns.hierarchies: 'group' has none, which t_distance = \"hierarchical\" needs",
        ),
    ],
)
def test_orders_and_hierarchies_belong_to_protected_attributes_and_their_distance(columns, privacy, told):
    assert faults(protecting(columns, **privacy)) == [told]


def test_the_class_and_sensitive_attributes_can_have_orders_or_hierarchies():
    orders = {"group": ["a", "b"], "diagnosis": ["mild", "severe"]}
    config = parse_config(protecting({"orders": orders}, t=0.3, t_distance="ordered"))
    assert config.columns.orders == {"group": ("a", "b"), "diagnosis": ("mild", "severe")}
    config = parse_config(protecting({"hierarchies": FILES}, t=0.3, t_distance="hierarchical"))
    assert config.columns.hierarchies["group"] == Path("group.csv")


# Several faults, formats


def test_all_faults_are_told_together():
    given = settings("privacy", k=1) | {"output": {}, "run": {"seed": -1, "pace": 3}}
    found = {line.partition(":")[0] for line in faults(given)}
    assert found == {"privacy.k", "output.name", "run.seed", "run.pace"}


def test_a_configuration_cannot_be_changed():
    config = parse_config(settings("run"))
    with pytest.raises(ValidationError, match="frozen"):
        config.privacy.k = 2


def test_the_file_name_tells_the_format_unless_it_is_given():
    formats = {
        name: parse_config(settings("input", path=name)).input.written_as
        for name in ("a.csv", "a.CSV.gz", "a.txt", "a.tsv.gz", "a.parquet", "a.b.pq")
    }
    assert list(formats.values()) == ["csv", "csv", "csv", "tsv", "parquet", "parquet"]
    assert parse_config(settings("input", path="a.data", format="tsv")).input.written_as == "tsv"
    with pytest.raises(ConfigurationError, match=r"input\.format: cannot be told"):
        _ = parse_config(settings("input", path="a.data")).input.written_as


# Files


def test_relative_paths_start_from_the_folder_of_the_configuration(file, tmp_path, monkeypatch):
    path = file()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    config = read_config(Path("..") / path.name)
    assert config.input.path == tmp_path / "data" / "table.csv"
    assert config.output.directory == tmp_path / "releases"
    assert config.run.workspace == tmp_path / "workspace"


def test_absolute_paths_stay(file, tmp_path):
    text = MINIMAL.replace("data/table.csv", "/data/table.csv").replace(
        'name = "t', 'directory = "/out"\nname = "t'
    )
    config = read_config(file(text))
    assert (config.input.path, config.output.directory) == (Path("/data/table.csv"), Path("/out"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[input\n", "is not TOML"),
        (b"[input]\n[input]\n", "is not TOML"),
        (b"\xff\xfe[\x00", "is not a text file in UTF-8"),
        (b"", "input: must be set"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path, content, told):
    (tmp_path / "release.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=told):
        read_config(tmp_path / "release.toml")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigurationError, match=r"gone\.toml: cannot be read"):
        read_config(tmp_path / "gone.toml")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_config(tmp_path)


def test_paths_of_hierarchies_start_from_the_folder_too(file, tmp_path):
    text = MINIMAL.replace('"rest"', '"rest"\nhierarchies.group = "group.csv"').replace(
        "k = 5", 'k = 5\nt = 0.3\nt_distance = "hierarchical"'
    )
    assert read_config(file(text)).columns.hierarchies == {"group": tmp_path / "group.csv"}


# Overrides


@pytest.mark.parametrize(
    ("override", "section", "setting", "value"),
    [
        ("privacy.k=10", "privacy", "k", 10),
        ("privacy.k = 10", "privacy", "k", 10),
        ("output.name=other", "output", "name", "other"),
        ('output.name="other"', "output", "name", "other"),
        ("run.keep_workspace=true", "run", "keep_workspace", True),
        ('columns.features=["a", "b"]', "columns", "features", ("a", "b")),
        ("limits.max_information_loss=0.5", "limits", "max_information_loss", 0.5),
        ("input.delimiter==", "input", "delimiter", "="),
    ],
)
def test_an_override_replaces_one_setting(file, override, section, setting, value):
    config = read_config(file(), [override])
    assert getattr(getattr(config, section), setting) == value
    untouched = "columns" if section == "privacy" else "privacy"
    assert getattr(config, untouched) == getattr(read_config(file()), untouched)


def test_the_last_override_wins_and_paths_start_from_the_folder(file, tmp_path):
    config = read_config(file(), ["privacy.k=7", "privacy.k=9", "output.directory=out"])
    assert config.privacy.k == 9
    assert config.output.directory == tmp_path / "out"


@pytest.mark.parametrize("override", ["privacy.k", "k=10", "=", "", "privacy=3"])
def test_an_override_that_cannot_be_understood(file, override):
    with pytest.raises(ConfigurationError, match=r"must look like section\.key=value"):
        read_config(file(), [override])


@pytest.mark.parametrize("override", ["privacy.colour=red", "colours.red=1", "privacy.k=1"])
def test_an_override_is_checked_like_the_file(file, override):
    with pytest.raises(ConfigurationError, match=override.partition("=")[0].partition(".")[0]):
        read_config(file(), [override])


def test_without_a_value_a_setting_is_not_set(file):
    path = file(MINIMAL.replace("k = 5", 'k = 5\nenforcement = "delta_selectivity"\ndelta = 0.5'))
    config = read_config(path, ["privacy.enforcement=naive", "privacy.delta="])
    assert config.privacy.delta is None
    assert read_config(file(), ["privacy.delta=", "limits.max_information_loss = "]) == read_config(file())
    with pytest.raises(ConfigurationError, match=r"privacy\.k: must be a whole number"):
        read_config(path, ["privacy.k="])
    with pytest.raises(ConfigurationError, match=r"privacy\.colour: is not a setting"):
        read_config(path, ["privacy.colour="])


# The digest


def test_the_digest_tells_what_shapes_a_release_and_nothing_else():
    def digest(section="run", **changes):
        return parse_config(settings(section, **changes)).sha256

    assert digest() == digest("run", seed=9, engine="plain") == digest("output", directory="elsewhere")
    assert digest() == digest("input", path="other.csv")
    assert (
        len({digest(), digest("privacy", k=6), digest("columns", drop=["a"]), digest("output", name="o")})
        == 4
    )


def test_the_digest_tells_what_is_asked_of_values_but_no_paths():
    def digest(columns=None, **privacy):
        return parse_config(protecting(columns, **privacy)).sha256

    assert (
        len({digest(l=2), digest(l=3), digest(t=0.3), digest(l=2, t=0.3), digest({"sensitive": []}, l=2)})
        == 5
    )
    hierarchical = {"t": 0.3, "t_distance": "hierarchical"}
    moved = {name: f"elsewhere/{path}" for name, path in FILES.items()}
    assert digest({"hierarchies": FILES}, **hierarchical) == digest({"hierarchies": moved}, **hierarchical)


def test_a_configuration_survives_json_as_prefect_hands_it_on():
    config = parse_config(settings("columns", types={"a": "categorical"}, identifiers=["id"]))
    assert Config.model_validate(json.loads(config.model_dump_json(by_alias=True))) == config
    config = parse_config(protecting({"hierarchies": FILES}, t=0.3, t_distance="hierarchical"))
    assert Config.model_validate(json.loads(config.model_dump_json(by_alias=True))) == config


@pytest.mark.parametrize("c", ["inf", "nan", "1e19"])
def test_c_is_a_number_that_a_release_can_state(tmp_path, c):
    path = tmp_path / "release.toml"
    path.write_text(
        "[input]\npath='t.csv'\n[columns]\nclass='g'\nfeatures='rest'\n"
        f"[privacy]\nk=5\nl=2\nl_model='recursive'\nc={c}\n[output]\nname='x'\n"
    )
    with pytest.raises(ConfigurationError, match=r"privacy\.c"):
        read_config(path)


def test_one_entry_of_a_table_of_settings_can_be_set(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(
        "[input]\npath='t.csv'\n[columns]\nclass='g'\nfeatures='rest'\n[privacy]\nk=5\n[output]\nname='x'\n"
    )
    assert read_config(path, ["columns.types.age=categorical"]).columns.types == {"age": "categorical"}
    with pytest.raises(ConfigurationError, match=r"columns\.features is not a table"):
        read_config(path, ["columns.features.age=1"])
