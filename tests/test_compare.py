"""The comparison: what is tried, what is recommended by which rule, and that nothing private is left."""

import csv
import io
import itertools
import shlex
import stat
import tomllib
from pathlib import Path
from typing import get_args

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rich.console import Console

from flows import compare_terminal
from flows.cli import app
from tasks.comparing import compare_files, compare_trials
from tasks.comparing.compare import (
    FAILED,
    Comparison,
    References,
    Tried,
    Variant,
    as_configured,
    configured,
    cuts_beside,
    learners_of,
    numbers_of_fragments,
    scope_of,
    strategies_beside,
    untried,
    varied,
)
from tasks.comparing.compare_files import comparison_folder, figures_as_csv, write_comparison
from tasks.comparing.compare_picture import comparison_figure, comparison_picture
from tasks.comparing.compare_settings import how_to_release, release_command, settings_in_toml
from tasks.comparing.compare_words import recommendation_in_words, refusals, require_recommendation, rows
from tasks.comparing.recommend import barred, leading, recommend
from tasks.config import Strategy
from tasks.enforcement.eta import records_share
from tasks.errors import ConfigurationError, InfeasibleError, StepError, UnjoinError
from tasks.failures import ERROR_LOG
from tasks.joins.safe_joins import joins_are_safe, promise_holds, records_are_shared
from tasks.load import load_table
from tasks.read_config import parse_config, read_config
from tasks.store import create_workspace, open_store
from tasks.trials.trial import TOTAL, Trial, try_release

START = Variant("dependency_graph", "join", "median", 2)
RECORDS = 2500  # the standard error of an F of 0.8 or 0.2 is 0.008


def config_of(fragments=2, limits=None, **privacy):
    return parse_config(
        {
            "input": {"path": "table.csv"},
            "columns": {"class": "group", "features": "rest"},
            "privacy": {"k": 10, "enforcement": "dependency_graph", **privacy},
            "fragmentation": {"fragments": fragments},
            "limits": limits or {},
            "output": {"name": "people"},
        }
    )


def tried(f, changed=0.0, loss=0.2, *, holds=True, **differs):
    variant = START._replace(**differs)
    measures = {
        ("tree", "bounds"): f - 0.1,
        ("tree", "midpoints"): f - 0.3,
        ("tree", "spread"): f - 0.02,
        ("neighbours", "bounds"): f + 0.02,
        ("neighbours", "midpoints"): f - 0.2,
        ("neighbours", "spread"): f - 0.01,
    }
    trial = Trial(variant.fragments, loss, changed, 80, measures, {"make joins safe": 1.0, TOTAL: 2.5})
    return Tried(variant, trial, holds)


def refused(refusal="too few records", **differs):
    return Tried(START._replace(**differs), None, None, refusal)


def comparison_of(*variants, config=None):
    asked = config or config_of()
    references = References({"tree": 0.92, "neighbours": 0.96}, 0.1)
    found = recommend(variants, asked, RECORDS)
    return Comparison(asked, ("tree", "neighbours"), 5000, RECORDS, references, variants, found)


def test_it_starts_from_what_is_configured_with_several_fragments():
    assert as_configured(config_of(4, guarantee="records"), 9) == START._replace(
        guarantee="records", fragments=4
    )
    assert as_configured(config_of(1), 9).fragments == 2
    assert as_configured(config_of("auto"), 9).fragments == 2
    assert as_configured(config_of("auto"), 1).fragments == 1


def test_every_strategy_is_tried_with_every_guarantee_but_for_one_fragment():
    variants = strategies_beside(START, ("join", "records"))
    assert len(set(variants)) == 12
    assert START in variants
    assert strategies_beside(START._replace(fragments=1), ("join", "records")) == [
        START._replace(fragments=1)
    ]


@pytest.mark.parametrize(
    "configured_number, features, quick, numbers",
    [
        (2, 20, False, [1, 2, 4, 8]),
        (2, 7, False, [1, 2, 4]),
        (3, 20, False, [1, 2, 3, 4, 8]),
        (12, 20, False, [1, 2, 4, 8, 12]),
        (6, 20, True, [1, 2, 4, 6]),
        (2, 2, False, [1, 2]),
        (1, 1, False, [1]),
    ],
)
def test_numbers_of_fragments_end_at_the_features(configured_number, features, quick, numbers):
    config = config_of(configured_number)
    start = as_configured(config, features)
    assert numbers_of_fragments(start, features, scope_of(config, quick=quick)) == numbers
    assert len(cuts_beside(start, numbers)) == 2 * len(numbers)


def test_nothing_is_tried_twice():
    cuts = cuts_beside(START, [1, 2])
    assert untried(cuts, [tried(0.5)]) == [cut for cut in cuts if cut != START]


def test_quick_asks_for_less():
    quick, whole = scope_of(config_of(), quick=True), scope_of(config_of(), quick=False)
    assert quick.guarantees == ("join",)
    assert quick.records is not None
    assert whole.guarantees == whole.guarantees_again == ("join", "records")
    assert whole.records is None


def test_configured_learners_are_tried_once_each():
    assert learners_of(config_of()) == ("tree", "neighbours")
    forest = config_of().model_copy(
        update={"evaluation": config_of().evaluation.model_copy(update={"learners": ("forest", "forest")})}
    )
    assert learners_of(forest) == ("forest",)


def test_a_variant_changes_nothing_but_what_it_names():
    config = config_of("auto", limits={"max_information_loss": 0.5})
    changed = varied(config, Variant("delta_selectivity", "join", "infogain", 4))
    assert changed.privacy.delta == 0.5
    assert (changed.fragments, changed.anonymization.split) == (4, "infogain")
    back = varied(changed, START)
    assert back == config.with_fragments(2)
    asked = config_of(enforcement="delta_selectivity", delta=0.7)
    assert varied(asked, Variant("delta_selectivity", "join", "median", 2)) == asked
    assert varied(asked, START).privacy.delta is None


def test_settings_that_do_not_go_together_are_refused():
    with pytest.raises(ConfigurationError, match="naive"):
        varied(config_of(l=2), START._replace(strategy="naive"))


@pytest.mark.parametrize(
    "one, config, reason",
    [
        (tried(0.8), config_of(), ""),
        (tried(0.8, guarantee="records"), config_of(), ""),
        (tried(0.8), config_of(guarantee="records"), "promises less than is asked"),
        (tried(0.8, strategy="delta_selectivity"), config_of(), "promises less than is asked"),
        (
            tried(0.8, strategy="delta_selectivity"),
            config_of(enforcement="delta_selectivity", delta=0.5),
            "",
        ),
        (tried(0.8), config_of(enforcement="delta_selectivity", delta=0.5), ""),
        (tried(0.8, strategy="none"), config_of(), "nothing makes joins safe"),
        (tried(0.8, strategy="none"), config_of(enforcement="none"), ""),
        (tried(0.8, strategy="none", holds=False), config_of(enforcement="none"), "does not hold"),
        (tried(0.8, holds=False), config_of(), "does not hold"),
        (tried(0.8, holds=None), config_of(), "too many joins"),
        (refused(), config_of(), "too few records"),
        (tried(0.8, loss=0.3), config_of(limits={"max_information_loss": 0.3}), ""),
        (tried(0.8, loss=0.31), config_of(limits={"max_information_loss": 0.3}), "max_information_loss"),
        (
            tried(0.8, changed=0.11),
            config_of(limits={"max_changed_class_values": 0.1}),
            "max_changed_class_values",
        ),
    ],
)
def test_what_does_not_keep_what_is_asked_is_told_apart(one, config, reason):
    told = barred(one, config)
    assert reason in told
    assert bool(told) == bool(reason)
    assert (recommend([one], config, RECORDS) is None) == bool(reason)


def chosen(*variants, config=None):
    return recommend(variants, config or config_of(), RECORDS).chosen


def test_the_highest_mean_f_is_recommended_where_it_is_beyond_the_error():
    low, high = tried(0.791, changed=0.0), tried(0.8, changed=0.3, fragments=8, strategy="min_distortion")
    assert chosen(low, high) is high
    assert chosen(high, low) is high


def test_within_one_standard_error_fewer_changed_class_values_win():
    low, high = tried(0.7921, changed=0.01, fragments=8), tried(0.8, changed=0.02)
    assert chosen(high, low) is low
    assert chosen(high, tried(0.7919, changed=0.01)) is high


def test_then_less_loss_then_fewer_fragments_then_the_stronger_guarantee_then_the_first():
    base = tried(0.8, changed=0.024, fragments=4, loss=0.2)
    finer = tried(0.796, changed=0.021, fragments=8, loss=0.19)
    assert chosen(base, finer) is finer
    fewer = tried(0.796, changed=0.016, fragments=2, loss=0.204)
    assert chosen(base, fewer) is fewer
    coarser = tried(0.796, changed=0.024, fragments=1, loss=0.206, guarantee="records")
    assert chosen(base, coarser) is base
    stronger = tried(0.796, changed=0.024, fragments=4, loss=0.204, guarantee="records")
    assert chosen(base, stronger) is stronger
    assert chosen(stronger, fewer) is fewer
    twin = tried(0.8, changed=0.024, fragments=4, loss=0.2, strategy="coarsen")
    assert chosen(base, twin) is base
    assert chosen(twin, base) is twin


def test_what_does_not_keep_the_promise_is_neither_recommended_nor_the_measure_of_others():
    broken = tried(0.95, strategy="coarsen", holds=False)
    sound, other = tried(0.8, changed=0.2), tried(0.795, changed=0.1, fragments=4)
    found = recommend([broken, sound, other, refused()], config_of(), RECORDS)
    assert found.best is sound
    assert found.chosen is other
    assert found.able == 2


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 2, st.sampled_from([1, 2, 4])), min_size=1))
def test_what_is_recommended_costs_no_more_than_another_that_is_as_good(costs):
    variants = [tried(0.8, changed / 100, loss / 100, fragments=m) for changed, loss, m in costs]
    cheapest = chosen(*variants).trial
    for trial in (one.trial for one in variants):
        less = trial.changed <= cheapest.changed and trial.information_loss <= cheapest.information_loss
        assert not less or (trial.changed, trial.information_loss) == (
            cheapest.changed,
            cheapest.information_loss,
        )


def test_one_fragment_keeps_records_whatever_its_guarantee():
    join, whole = tried(0.9, fragments=2), tried(0.8, fragments=1)
    assert recommend([join, whole], config_of(), RECORDS).stronger is whole
    assert chosen(join, whole, config=config_of(guarantee="records")) is whole
    assert recommend([whole], config_of(), RECORDS).stronger is None
    sure = tried(0.8, fragments=1, strategy="delta_selectivity")
    assert recommend([join, sure], config_of(), RECORDS).stronger is None


def test_records_are_priced_where_joins_are_recommended():
    join, records = tried(0.9, changed=0.01), tried(0.8, changed=0.05, guarantee="records")
    found = recommend([join, records], config_of(), RECORDS)
    assert found.chosen is join
    assert found.stronger is records
    assert recommend([join], config_of(), RECORDS).stronger is None
    asked = recommend([join, records], config_of(guarantee="records"), RECORDS)
    assert asked.chosen is records
    assert asked.stronger is None


def test_the_lead_is_among_several_fragments():
    one, two = tried(0.9, fragments=1), tried(0.7)
    assert leading([one, two], config_of(), RECORDS) == two.variant
    assert leading([one], config_of(), RECORDS) is None


def test_the_words_name_the_reason_the_price_and_what_is_configured():
    now = tried(0.7, changed=0.11)
    best = tried(0.8, changed=0.02, strategy="min_distortion", split="infogain", fragments=4)
    records = tried(0.75, changed=0.04, strategy="coarsen", guarantee="records")
    comparison = comparison_of(now, best, records, refused("too many joins", strategy="naive"))
    text = " ".join(recommendation_in_words(comparison))
    assert ("Recommended: min_distortion with guarantee join, infogain splits and 4 fragments.") in text
    assert "Of 4 variants, 3 keep what is asked" in text
    assert "0.800 ± 0.008" in text
    assert "Configured now: mean F-measure 0.700, 11.0% of class values changed" in text
    assert 'With guarantee = "records"' in text
    assert "mean F-measure 0.750, 4.0% of class values changed" in text
    assert "The table itself gives 0.940, the most frequent class alone 0.100." in text
    assert refusals(comparison) == [
        "not possible: naive with guarantee join, median splits and 2 fragments: too many joins"
    ]
    within = comparison_of(tried(0.8, changed=0.2, fragments=4), tried(0.795))
    text = " ".join(recommendation_in_words(within))
    assert "Within that error, the recommended one costs least, in whole percent" in text
    assert "The recommended variant is what is configured now." in text


def test_one_fragment_is_what_is_configured_whatever_the_strategy():
    whole = tried(0.8, fragments=1, strategy="min_distortion")
    assert configured(comparison_of(whole, config=config_of(1))) is whole
    assert configured(comparison_of(whole, config=config_of(2))) is None
    assert configured(comparison_of(whole, config=config_of("auto"))) is None


def test_one_fragment_stands_for_any_strategy_but_the_one_that_publishes_class_values_once():
    once, whole = tried(0.8, fragments=1, strategy="delta_selectivity"), tried(0.7, fragments=1)
    selective = config_of(1, enforcement="delta_selectivity", delta=0.7)
    assert configured(comparison_of(whole, config=selective)) is None
    assert configured(comparison_of(whole, once, config=selective)) is once
    assert configured(comparison_of(once, config=config_of(1))) is None
    assert configured(comparison_of(once, whole, config=config_of(1, guarantee="records"))) is whole
    names = [row[1:5] for row in rows(comparison_of(once, whole, config=selective))]
    assert names == [("delta_selectivity", "any", "median", "1"), ("any", "any", "median", "1")]


ASKED = """
[input]
path = "table.csv"
[columns]
class = "group"
features = "rest"
[privacy]
k = 5
enforcement = "delta_selectivity"
delta = 0.7
[output]
name = "people"
"""


@pytest.mark.parametrize("strategy", ["min_distortion", "delta_selectivity"])
@pytest.mark.parametrize(
    "overrides", [[], ["privacy.k=10", "privacy.delta = 0.3", 'columns.drop=["a b\'s"]']]
)
def test_the_advice_makes_the_configuration_the_recommended_one(tmp_path, strategy, overrides):
    path = tmp_path / "my tables.toml"
    path.write_text(ASKED)
    config = read_config(path, overrides)
    variant = Variant(strategy, "join", "infogain", 4)
    comparison = comparison_of(tried(0.8, **variant._asdict()), config=config)
    merged = config.model_dump()
    merged["privacy"].pop("delta")
    for section, lines in tomllib.loads(settings_in_toml(comparison)).items():
        merged[section] |= lines
    assert parse_config(merged) == varied(config, variant)
    words = shlex.split(release_command(comparison, path, overrides))
    assert words[:3] == ["unjoin", "release", str(path)]
    assert set(words[3::2]) == {"--set"}
    assert read_config(path, words[4::2]) == varied(config, variant)
    advice = how_to_release(comparison, path, overrides)
    assert advice.startswith(f"Replace these settings in {path}:\n")
    assert shlex.join(words) in advice.splitlines()


@pytest.mark.parametrize("width, guarantees", [(80, 1), (80, 2), (120, 1), (120, 2)])
def test_the_table_in_a_terminal_fits_and_breaks_no_word(monkeypatch, width, guarantees):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=width, highlight=False)
    monkeypatch.setattr(compare_terminal, "TERMINAL", console)
    selective = tried(0.8, changed=0.123, strategy="delta_selectivity")
    other = tried(0.7, guarantee=("join", "records")[guarantees - 1], split="infogain", fragments=12)
    comparison = comparison_of(selective, other, tried(0.75, fragments=1))
    compare_terminal.print_comparison(comparison, "")
    shown = screen.getvalue().split("\n\n")[0].splitlines()
    assert max(map(len, shown)) <= width
    words = set(" ".join(shown).split())
    cells = {word for line in rows(comparison) for cell in line for word in cell.split()}
    seconds = {"2.5"} if width < 100 else set()
    assert cells - words == seconds | ({"join"} if guarantees == 1 else set())
    assert ("guarantee" in words, "seconds" in words) == (guarantees == 2, width == 120)
    assert {"delta_selectivity", "neighbours", "12.3%"} <= words


def test_without_a_recommendation_the_reasons_are_told():
    comparison = comparison_of(
        tried(0.8, holds=False), refused(strategy="naive"), refused(strategy="coarsen")
    )
    with pytest.raises(
        InfeasibleError, match=r"too few records \(2 of 3\); the promise does not hold \(1 of 3\)"
    ):
        require_recommendation(comparison)
    assert settings_in_toml(comparison) == how_to_release(comparison, Path("release.toml"), []) == ""
    require_recommendation(comparison_of(tried(0.8)))
    with pytest.raises(StepError, match=r"details in the private workspace \(1 of 2\)"):
        require_recommendation(comparison_of(tried(0.8, holds=False), refused(FAILED)))


def test_the_figures_hold_every_variant_and_both_references():
    comparison = comparison_of(tried(0.8, changed=0.25), refused("no, it is not", strategy="naive"))
    lines = list(csv.DictReader(io.StringIO(figures_as_csv(comparison))))
    assert [line["strategy"] for line in lines] == [
        "dependency_graph",
        "naive",
        "the table itself",
        "majority class only",
    ]
    assert lines[0]["f_tree_bounds"] == "0.700000"
    assert lines[0]["f_tree_spread"] == "0.780000"
    assert lines[0]["changed_class_values"] == "0.250000"
    assert (lines[0]["recommended"], lines[0]["promise_holds"]) == ("true", "true")
    assert (lines[1]["recommended"], lines[1]["note"]) == ("false", "no, it is not")
    assert lines[2]["f_neighbours_bounds"] == "0.960000"
    assert lines[3]["f_tree_bounds"] == "0.100000"
    assert all(None not in line and None not in line.values() for line in lines)


def test_the_picture_marks_every_variant_and_the_recommended_one():
    variants = [
        tried(0.8, changed=0.1, strategy="min_distortion", fragments=4),
        tried(0.7, changed=0.2, loss=0.3, guarantee="records"),
        tried(0.6, holds=False, loss=0.4, fragments=8),
        tried(0.65, fragments=1),
        refused(strategy="naive"),
    ]
    picture = comparison_picture(comparison_of(*variants), "svg").decode()
    panels = 2
    assert picture.count(">recommended<") == panels
    for number in (8, 2, 1):
        assert picture.count(f">{number}<") == panels
    assert picture.count(">4<") == 2 * panels  # the recommended one is drawn once more, on top
    assert picture.count(">majority class only: 0.100 ") == panels
    for label in ("min_distortion", "coarsen", "infogain splits", "guarantee records", "not what is asked"):
        assert f">{label}<" in picture
    assert comparison_picture(comparison_of(*variants), "png").startswith(b"\x89PNG")
    assert comparison_picture(comparison_of(*variants), "svg").decode() == picture


def test_the_label_of_the_recommended_mark_stays_within_its_axes():
    edges = [tried(0.8, changed=0.0, loss=0.9), tried(0.7, changed=0.3, loss=0.1)]
    for best in (edges, [tried(0.7, changed=0.0, loss=0.9), tried(0.8, changed=0.3, loss=0.1)]):
        figure = comparison_figure(comparison_of(*best))
        figure.draw_without_rendering()
        for axes in figure.axes:
            (label,) = [text for text in axes.texts if text.get_text() == "recommended"]
            around, within = axes.get_window_extent(), label.get_window_extent()
            assert around.x0 < within.x0 < within.x1 < around.x1


def test_a_comparison_without_figures_has_a_picture_too():
    assert comparison_picture(comparison_of(refused()), "png").startswith(b"\x89PNG")


def test_the_folder_is_private_and_never_among_the_releases(tmp_path):
    config = config_of()
    output = config.output.model_copy(update={"directory": tmp_path / "releases"})
    config = config.model_copy(update={"output": output})
    other = tmp_path / "others" / "crowd"
    (other / "20261127T030000Z").mkdir(parents=True)
    (other / "20261127T030000Z" / "release.json").touch()
    (other / "latest").symlink_to("20261127T030000Z")
    (tmp_path / "link").symlink_to(other)
    for place in (
        *("releases", "releases/people", "releases/people/latest", "other/../releases/people/x"),
        *("releases/another", "others/crowd", "others/crowd/20261127T030000Z/x", "others/crowd/latest"),
        *("others/crowd/more", "link", "link/x"),
    ):
        with (
            pytest.raises(ConfigurationError, match="published releases"),
            comparison_folder(config, tmp_path / place),
        ):
            pass
    with comparison_folder(config, tmp_path / "compare" / "people") as folder:
        write_comparison(comparison_of(tried(0.8)), folder, "Replace it.")
    assert (folder / "compare.txt").read_text().endswith("\n\nReplace it.")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {
        "compare.csv",
        "compare.png",
        "compare.svg",
        "compare.txt",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    before = sorted(tmp_path.rglob("*"))
    with comparison_folder(config, tmp_path / "not" / "used") as folder:
        assert folder.is_dir()
    (tmp_path / "own").mkdir()
    with comparison_folder(config, tmp_path / "own"):
        pass
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "own"])


def test_a_file_in_the_folders_place_is_refused(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(ConfigurationError, match="taken"), comparison_folder(config_of(), tmp_path / "taken"):
        pass


COUNTS = arrays(np.int64, st.tuples(st.integers(1, 3), st.just(3)), elements=st.integers(0, 4))


@settings(deadline=None, max_examples=30)
@given(st.lists(COUNTS.filter(lambda counts: counts.any(axis=1).all()), min_size=2, max_size=3))
def test_joins_are_safe_by_the_definition(counts):
    smallest, fewest = oracles.smallest_join(counts), oracles.smallest_records(counts)
    for k in (1, 2, 3, 5):
        assert joins_are_safe(counts, k, "join") == (smallest is None or smallest >= k)
        assert joins_are_safe(counts, k, "records") == (fewest is None or fewest >= k)


SUPPORTS = arrays(np.bool_, st.tuples(st.integers(1, 3), st.just(3)))


@settings(deadline=None, max_examples=30)
@given(st.lists(SUPPORTS.filter(lambda supports: supports.any(axis=1).all()), min_size=2, max_size=3))
def test_shares_of_records_are_those_of_every_choice(supports):
    sizes = [3 + np.arange(len(fragment)) for fragment in supports]
    shares = [
        records_share(int(sizes[i][ec]), int(supports[i][ec].sum()), int(common.sum()), 3)
        for number in range(2, len(supports) + 1)
        for joined in itertools.combinations(range(len(supports)), number)
        for choice in itertools.product(*(range(len(supports[i])) for i in joined))
        for common in [np.all([supports[i][ec] for i, ec in zip(joined, choice, strict=True)], axis=0)]
        for i, ec in zip(joined, choice, strict=True)
        if common.any()
    ]
    smallest = min(shares, default=None)
    for least in {1, *shares}:
        assert records_are_shared(supports, sizes, 3, least) == (smallest is None or smallest >= least)


DROPPED = ("weight", "city", "colour, eyes")


@pytest.fixture
def trial(tmp_path, small_table):
    """Try a release of a small table; return its configuration and its store."""

    def run(**privacy):
        small_table.to_csv(tmp_path / "table.csv", index=False)
        settings = config_of(**privacy).model_dump()
        settings["input"]["path"] = tmp_path / "table.csv"
        settings["columns"] |= {"identifiers": ["patient"], "drop": DROPPED}
        settings["segmentation"]["min_segment"] = 60 if "l" in privacy else None
        config = parse_config(settings)
        store = create_workspace(tmp_path / "private")
        load_table.function(store, config)
        held, prepared = compare_trials.keep_records_out.function(store, config, 200)
        assert len(held.train) + len(held.test) == 200
        try_release(store, prepared, config, held, ())
        return config, prepared

    return run


@pytest.mark.parametrize("privacy", [{}, {"l": 2}], ids=["all joins", "joins within segments"])
def test_a_promise_is_looked_for_in_the_class_counts(trial, privacy):
    config, store = trial(**privacy)
    assert promise_holds(store, config) is True
    with open_store(store) as connection:
        connection.execute("UPDATE class_counts SET after = least(after, 1)")
    assert promise_holds(store, config) is False


def test_a_share_of_safe_joins_is_looked_for_where_that_is_promised(trial):
    config, store = trial(enforcement="delta_selectivity", delta=0.2)
    assert promise_holds(store, config) is True
    more = config.privacy.model_copy(update={"delta": 1.0})
    assert promise_holds(store, config.model_copy(update={"privacy": more})) is False


CONFIG = """
[input]
path = "table.csv"
[columns]
class = "group"
features = "rest"
identifiers = ["patient"]
[privacy]
k = 10
[output]
name = "people"
"""


@pytest.fixture
def command(tmp_path, small_table, monkeypatch, capsys):
    """Run the command on a small table; return its exit code, what it shows, and its error."""
    small_table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        tokens = ["compare", "release.toml", *arguments]
        try:
            app(tokens, exit_on_error=False, result_action="return_value")
        except UnjoinError as error:
            return error.exit_code, capsys.readouterr(), str(error)
        return 0, capsys.readouterr(), ""

    return run


LEARNERS = 'evaluation.learners=["tree"]'
REFERENCES = {"the table itself", "majority class only"}


def test_a_table_is_compared_from_its_file_to_a_recommendation(command, monkeypatch, tmp_path):
    def all_but_the_slowest(store, prepared, config, held, learners):
        if config.privacy.enforcement == "coarsen":
            raise InfeasibleError("left out")
        return try_release(store, prepared, config, held, learners)

    monkeypatch.setattr(compare_trials, "try_release", all_but_the_slowest)
    drop = f"columns.drop={[*DROPPED, 'size']}"
    code, shown, _ = command("--quick", "--set", "privacy.k=20", "--set", drop, "--set", LEARNERS)
    assert code == 0
    assert "Recommended: " in shown.out
    assert "not possible: coarsen with guarantee join, median splits and 2 fragments: left out" in shown.out
    with (tmp_path / "compare" / "people" / "compare.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["strategy"] for line in lines} == set(get_args(Strategy)) | REFERENCES
    assert {(line["split"], line["fragments"]) for line in lines} >= set(
        itertools.product(("median", "infogain"), "12")
    )
    holds = {line["strategy"]: line["promise_holds"] for line in reversed(lines)}
    assert holds.pop("none") == "false"
    assert {holds.pop(name) for name in ("coarsen", *REFERENCES)} == {""}
    assert set(holds.values()) == {"true"}
    (recommended,) = [line for line in lines if line["recommended"] == "true"]
    assert recommended["promise_holds"] == "true"
    assert not list((tmp_path / "workspace").iterdir())
    assert not (tmp_path / "releases").exists()


def faked(monkeypatch, fake):
    monkeypatch.setattr(compare_trials, "try_release", fake)
    monkeypatch.setattr(compare_trials, "promise_holds", lambda *_: True)
    monkeypatch.setattr(compare_trials, "learnt_exactly", lambda *_: {"tree": 0.9, "neighbours": 0.8})
    monkeypatch.setattr(compare_files, "comparison_picture", lambda *_: b"")


def test_all_rounds_are_tried_and_the_best_cuts_taken_over(command, monkeypatch, tmp_path):
    seen = []

    def fake(store, prepared, config, held, learners):
        split, number = config.anonymization.split, config.fragments
        seen.append((config.privacy.enforcement, config.privacy.guarantee, split, number))
        f = 0.5 + 0.1 * (split == "infogain") + 0.05 * number - 0.2 * (number == 1)
        return tried(f + 0.1 * (config.privacy.enforcement == "coarsen"), fragments=number).trial

    faked(monkeypatch, fake)
    code, shown, _ = command("--out", "here")
    assert code == 0
    assert "coarsen with guarantee records, infogain splits and 4 fragments" in shown.out
    assert len(seen) == len(set(seen)) == 12 + 5 + 11
    assert len([one for one in seen if one[2:] == ("infogain", 4)]) == 12
    assert (tmp_path / "here" / "compare.csv").exists()


def test_refused_variants_are_lines_and_a_table_without_any_is_infeasible(command, monkeypatch):
    def fake(store, prepared, config, held, learners):
        raise InfeasibleError("fragmentation: there is too little: ask for less")

    faked(monkeypatch, fake)
    code, shown, message = command("--quick")
    assert code == 3
    assert "and 9 more: there is too little\n" in shown.out
    assert message == "no variant that was tried keeps what is asked: there is too little (11 of 11)"


@pytest.mark.parametrize("failing, code", [({"naive"}, 0), (set(get_args(Strategy)), 4)], ids=["one", "all"])
def test_what_nobody_foresaw_costs_its_variant_and_leaves_a_log_alone(
    command, monkeypatch, tmp_path, failing, code
):
    def fake(store, prepared, config, held, learners):
        if config.privacy.enforcement in failing:
            raise RuntimeError("P00001")
        return tried(0.8).trial

    faked(monkeypatch, fake)
    found, shown, message = command("--quick")
    assert found == code
    assert ("Recommended: " in shown.out) == (code == 0)
    assert "naive with guarantee join, median splits and 2 fragments" in shown.out
    assert FAILED in shown.out
    figures = (tmp_path / "compare" / "people" / "compare.csv").read_text()
    assert FAILED in figures
    assert "P00001" not in shown.out + shown.err + message + figures
    (folder,) = (tmp_path / "workspace").iterdir()
    assert [path.name for path in folder.iterdir()] == [ERROR_LOG]
    assert "P00001" in (folder / ERROR_LOG).read_text()


def test_nothing_is_left_of_a_comparison_that_is_stopped(command, monkeypatch, tmp_path):
    def fake(store, prepared, config, held, learners):
        raise KeyboardInterrupt

    faked(monkeypatch, fake)
    with pytest.raises(KeyboardInterrupt):
        command("--quick")
    assert not list((tmp_path / "workspace").iterdir())
    assert not (tmp_path / "compare").exists()


def test_bad_input_ends_with_one_line(command, tmp_path):
    assert command("--set", "privacy.k=1000")[0] == 3
    assert command("--set", "columns.class=nothing")[0] == 2
    assert command("--out", "releases/people/x")[0] == 2
    assert not list((tmp_path / "workspace").glob("*"))
