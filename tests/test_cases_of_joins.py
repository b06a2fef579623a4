"""Small inputs that every release tool must survive: joins of safe fragments, and l that cannot be met."""

from collections import Counter
from decimal import Decimal

import numpy as np
import oracles
import pandas as pd
import pytest
from case_releases import (
    CANARY,
    Fragment,
    assert_safe,
    class_counts,
    configuration,
    every_record_is_in,
    manifest_of,
    nothing_published,
    publish,
    read_fragments,
    refuse,
    unjoin,
    write_csv,
)

from tasks.coarsening import coarsen

STRATEGIES = {
    "naive": {},
    "dependency_graph": {},
    "delta_selectivity": {"delta": 0.5},
    "min_distortion": {},
    "coarsen": {},
}


def table_of(records):
    """Return the columns of records, given as how often each is in the table."""
    rows = [row for row, times in records.items() for _ in range(times)]
    names = [*"xyz"[: len(rows[0]) - 1], "class"]
    return {
        name: [str(value) for value in column]
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def counts_by(table, *features):
    """Return the class counts of the equivalence classes that the values of each feature make."""
    values = sorted(set(table["class"]))
    return [
        pd.crosstab(pd.Series(table[name]), pd.Series(table["class"]))[values].to_numpy() for name in features
    ]


# --- joins -------------------------------------------------------------------------------------------------

# x = 0 has {a1 b1}, y = 0 has {a1 c1}: safe by themselves with k = 2, and their join is one row.
TWO = table_of(
    {(0, 0, "a"): 1, (0, 1, "b"): 1, (1, 0, "c"): 1, (1, 1, "d"): 1, (2, 2, "a"): 4, (2, 2, "d"): 4}
)
# k = 5: x = 0 {a1 b2 c2}, y = 0 {a1 b2 d2}, z = 0 {a1 c2 d2}: pairs join to five rows, the triple to one.
THREE = table_of(
    {(0, 0, 0, "a"): 1, (0, 0, 1, "b"): 2, (0, 1, 0, "c"): 2, (1, 0, 0, "d"): 2}
    | {(1, 1, 1, value): 10 for value in "abcd"}
)
# k = 5: x = 0 has {a1 b4}, y = 0 {a5}: five rows that rest on one record.
ONE_RECORD = table_of({(0, 0, "a"): 1, (0, 1, "b"): 4, (1, 0, "a"): 4, (1, 1, "b"): 6})
# k = 5: v is x = 0 {a2 b3}, n is y = 0 {a1 b1 d3}, c is x = 1 {a3 e2}: v-n is safe; mending c-n takes n's a.
MENDED = table_of(
    {(0, 0, "b"): 1, (0, 1, "b"): 2, (0, 1, "a"): 2, (1, 0, "a"): 1, (1, 1, "a"): 2, (1, 1, "e"): 2}
    | {(2, 0, "d"): 3}
    | {(2, 1, value): 12 for value in "abde"}
)


def rejected(folder, table, features, k, **privacy):
    """Have the gate refuse what no strategy mended; return the class counts of the rejected files."""
    config = configuration(
        folder,
        write_csv(folder, table),
        privacy={"k": k, "enforcement": "none", **privacy},
        fragmentation={"fragments": len(features)},
    )
    ended = unjoin("release", config)
    assert ended.code == 1, ended.text
    assert nothing_published(folder)
    (files,) = folder.glob("workspace/*/rejected")
    counts = []
    for path in sorted(files.glob("fragment_*.csv")):
        frame = pd.read_csv(path, dtype=str)
        counts.append(pd.crosstab(frame.iloc[:, 0], frame["class"]).to_numpy())
    assert sorted(map(np.ndarray.tolist, counts)) == sorted(
        map(np.ndarray.tolist, counts_by(table, *features))
    )
    return ended.text


def changed_in(table, fragments):
    """Return how many class values of the files differ from the input's."""
    changed = 0
    for fragment in fragments:
        (name,) = fragment.features
        before = Counter(zip(table[name], table["class"], strict=True))
        for (cell,), after in fragment.counts.items():
            held = Counter()
            for (value, of_class), times in before.items():
                held[of_class] += times * cell.covers(Decimal(value))
            changed += (held - after).total()
    return changed


def test_two_fragments_that_are_safe_alone_fail_the_gate_where_nothing_mends_them(tmp_path):
    counts = counts_by(TWO, "x", "y")
    assert min(of.sum(axis=1).min() for of in counts) == 2
    assert oracles.join_sizes(counts)[(0, 0), (1, 0)] == 1
    assert "joins" in rejected(tmp_path, TWO, "xy", 2)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_fragments_pass_after_every_strategy_and_changes_are_counted(tmp_path, strategy, monkeypatch):
    monkeypatch.setattr(coarsen, "TRIALS", {"join": 80, "records": 80})
    privacy = {"k": 2, "enforcement": strategy, **STRATEGIES[strategy]}
    folder, _ = publish(tmp_path, TWO, privacy=privacy, fragmentation={"fragments": 2})
    fragments = read_fragments(folder)
    stated = manifest_of(folder)["changed_class_values"]
    for fragment in fragments:
        assert every_record_is_in(fragment, {name: [*map(Decimal, TWO[name])] for name in "xy"})
    if strategy == "delta_selectivity":
        assert_half_of_the_versions_are_safe(fragments)
        return
    assert_safe(fragments, 2)
    assert stated["total"] == sum(stated["per_fragment"]) == changed_in(TWO, fragments)
    assert (stated["total"] == 0) == (strategy == "coarsen")
    assert manifest_of(folder)["joins"]["smallest_join"] == oracles.smallest_join(class_counts(fragments))


def assert_half_of_the_versions_are_safe(fragments):
    """Class values stand once per class, and for every choice half of its versions join to k = 2 rows."""
    supports = []
    for fragment in fragments:
        assert all(times == 1 for of in fragment.counts.values() for value, times in of.items() if value)
        supports.append([({*of} - {""}, of.total()) for of in fragment.counts.values()])
    for one, n1 in supports[0]:
        for other, n2 in supports[1]:
            common = len(one & other)
            assert not common or oracles.eta((n1, n2), (len(one), len(other)), common, 2) >= 0.5


def test_three_fragments_that_are_safe_in_pairs_fail_together(tmp_path):
    assert oracles.violating_choices(counts_by(THREE, *"xyz"), 5) == {((0, 0), (1, 0), (2, 0))}
    assert "joins" in rejected(tmp_path, THREE, "xyz", 5)


def test_three_fragments_are_safe_together_after_enforcement(tmp_path):
    folder, _ = publish(tmp_path, THREE, privacy={"k": 5}, fragmentation={"fragments": 3})
    fragments = read_fragments(folder)
    assert len(fragments) == 3
    assert_safe(fragments, 5)
    assert manifest_of(folder)["changed_class_values"]["total"] == changed_in(THREE, fragments) > 0


def test_a_join_that_rests_on_one_record_is_reported(tmp_path):
    counts = counts_by(ONE_RECORD, "x", "y")
    assert (oracles.smallest_join(counts), oracles.smallest_records(counts)) == (5, 1)
    asked = {"k": 5, "enforcement": "none"}
    folder, _ = publish(tmp_path, ONE_RECORD, privacy=asked, fragmentation={"fragments": 2})
    joins = manifest_of(folder)["joins"]
    assert (joins["smallest_join"], joins["smallest_records"]) == (5, 1)


def test_a_join_that_rests_on_one_record_is_refused_where_records_are_asked(tmp_path):
    assert "join_records" in rejected(tmp_path, ONE_RECORD, "xy", 5, guarantee="records")


def test_joins_rest_on_k_records_after_enforcement_where_that_is_asked(tmp_path):
    asked = {"k": 5, "guarantee": "records"}
    folder, _ = publish(tmp_path, ONE_RECORD, privacy=asked, fragmentation={"fragments": 2})
    assert_safe(read_fragments(folder), 5, "records")


@pytest.mark.parametrize("seed", [0, 1])
def test_an_edge_that_was_mended_stays_mended(tmp_path, seed):
    counts = counts_by(MENDED, "x", "y")
    assert oracles.join_sizes(counts)[(0, 0), (1, 0)] == 5
    assert oracles.violating_choices(counts, 5) >= {((0, 1), (1, 0))}
    folder, _ = publish(
        tmp_path,
        MENDED,
        privacy={"k": 5, "enforcement": "dependency_graph"},
        fragmentation={"fragments": 2},
        run={"seed": seed},
    )
    fragments = read_fragments(folder)
    assert sum(len(fragment.counts) for fragment in fragments) == 5
    assert_safe(fragments, 5)


def test_a_join_below_k_is_noticed():
    counts = [np.array([[1, 1, 0]]), np.array([[1, 0, 1]])]
    lines = [
        Fragment([name], [(name,)] * 2, [value for value, n in zip("abc", of[0], strict=True) if n])
        for name, of in zip("xy", counts, strict=True)
    ]
    with pytest.raises(AssertionError):
        assert_safe(lines, 2)
    assert_safe(lines, 1)


# --- l and t that cannot be met ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "privacy",
    [
        {"l": 2},
        {"l": 3},
        {"l": 1.5, "l_model": "entropy"},
        {"l": 2, "l_model": "recursive", "c": 1},
        {"l": 2, "t": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("fragments", [1, 2])
def test_l_that_no_class_can_reach_is_infeasible(tmp_path, privacy, fragments):
    table = {
        "x": ["1", "2"] * 6,
        "y": ["1", "1", "2"] * 4,
        "illness": [CANARY] * 12,
        "class": list("abc") * 4,
    }
    ended = refuse(
        tmp_path,
        3,
        table,
        privacy=privacy,
        columns={"sensitive": ["illness"]},
        fragmentation={"fragments": fragments},
    )
    assert "'illness'" in ended.text


def test_l_on_a_class_of_one_value_is_infeasible(tmp_path):
    assert (
        "'class'" in refuse(tmp_path, 3, {"x": ["1", "2"] * 4, "class": [CANARY] * 8}, privacy={"l": 2}).text
    )


def test_one_person_with_two_values_is_not_two(tmp_path):
    table = {"x": ["1"] * 8, "who": ["p", "p", *"qrstuv"], "class": [CANARY, "b", *[CANARY] * 6]}
    asked = {"privacy": {"l": 3}, "columns": {"entity": "who"}}
    assert refuse(tmp_path, 3, table, **asked).faults
