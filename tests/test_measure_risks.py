"""The step that measures the risks: what it stores is what the records in the store give by definition."""

from fractions import Fraction
from math import prod

import duckdb
import numpy as np
import pytest
from made_up_risks import made_up_risks
from test_trial import loaded

from flows.demo import write_demo
from tasks.chunks import anonymize_chunks
from tasks.enforce import enforce_non_reconstructibility
from tasks.errors import ConfigurationError
from tasks.fragment import fragment_features
from tasks.load import load_table
from tasks.measure_risks import measure_risks, write_risks
from tasks.merge import merge_chunks
from tasks.mutual_information import measure_mutual_information
from tasks.read_config import parse_config, read_config
from tasks.reports.report_risks import read_risks, stated_risks
from tasks.segment import segment_records
from tasks.store import create_workspace, open_store


def made_safe(store, config):
    """Run the steps of a release up to safe joins, and measure the risks of what they leave."""
    measure_mutual_information.function(store, config)
    fragment_features.function(store, config)
    batches = segment_records.function(store, config)
    chunks = [anonymize_chunks.function(store, batch, config) for batch in batches]
    merge_chunks.function(store, chunks, batches, config)
    enforce_non_reconstructibility.function(store, config)
    highest = measure_risks.function(store, config)
    with open_store(store) as connection:
        return highest, read_risks(connection)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The breast cancer table in two fragments, with k = 5."""
    folder = tmp_path_factory.mktemp("risks")
    store, config = create_workspace(folder / "private"), read_config(write_demo(folder))
    load_table.function(store, config)
    return store, *made_safe(store, config)


def query(store, text):
    with duckdb.connect(store, read_only=True) as connection:
        return connection.execute(text).fetchall()


def test_risks_of_real_fragments_are_those_of_their_classes(demo):
    store, highest, risks = demo
    for number in (1, 2):
        sizes = query(store, f"SELECT count(*) FROM members GROUP BY fragment_{number}")
        part = risks.reidentification[number - 1]
        assert part.fragments == (number,)
        assert part.prosecutor.largest == 1 / min(sizes)[0]
        assert part.marketer == pytest.approx(len(sizes) / 569)
        assert part.unique == 0
    assert highest == max(part.prosecutor.largest for part in risks.reidentification[:2]) <= 1 / 5


OWN_ROWS = """
    WITH joined AS (
        SELECT f.ec AS one, g.ec AS two, sum(f.after * g.after) AS held
        FROM class_counts AS f JOIN class_counts AS g USING (class_value)
        WHERE f.fragment = 1 AND g.fragment = 2 GROUP BY ALL
    )
    SELECT coalesce(held, 0)::BIGINT, (SELECT sum(held) FROM joined)::BIGINT
    FROM members LEFT JOIN joined ON fragment_1 = one AND fragment_2 = two
"""


def test_risks_of_a_real_join_are_those_of_its_rows(demo):
    store, _, risks = demo
    own, whole = zip(*query(store, OWN_ROWS), strict=True)
    pair = risks.reidentification[2]
    assert pair.marketer == pytest.approx(np.mean([1 / rows if rows else 0 for rows in own]))
    assert pair.unique == own.count(1)
    for group in pair.candidates:
        assert group.share == pytest.approx(np.mean([group.lower <= rows <= group.upper for rows in own]))
    assert risks.membership.records == 569
    likelihood = [rows / whole[0] for rows in own]
    assert risks.membership.likelihood.median == pytest.approx(np.median(likelihood))
    assert risks.membership.likelihood.largest == pytest.approx(max(likelihood))


OWN_COUNTS = """
    SELECT diagnosis, fragment_1, fragment_2 FROM source JOIN members ON source.rowid = members.rowid
"""


def test_the_class_of_real_records_follows_as_it_does_by_definition(demo):
    store, _, risks = demo
    names = [name for (name,) in query(store, "SELECT DISTINCT diagnosis FROM source ORDER BY 1")]
    after = {
        (fragment, ec, name): count
        for fragment, ec, name, count in query(
            store, "SELECT fragment, ec, class_value, after FROM class_counts"
        )
    }
    total = {name: Fraction(sum(n for key, n in after.items() if key[2] == name), 2 * 569) for name in names}
    largest, right = [], []
    for truth, *ecs in query(store, OWN_COUNTS):
        shares = [[after.get((i, ec, name), 0) for name in names] for i, ec in enumerate(ecs, 1)]
        weights = [
            prod(Fraction(row[c], sum(row)) for row in shares) / total[name] for c, name in enumerate(names)
        ]
        largest.append(max(weights) / sum(weights))
        right.append(names[weights.index(max(weights))] == truth)
    combination = risks.revealed[-1]
    assert combination.largest.mean == pytest.approx(float(sum(largest) / len(largest)))
    assert combination.certain == pytest.approx(np.mean([share == 1 for share in largest]))
    assert combination.above_nine_tenths == pytest.approx(
        np.mean([share > Fraction(9, 10) for share in largest])
    )
    assert combination.right == pytest.approx(np.mean(right))


@pytest.fixture
def measured(tmp_path, small_table):
    def run(**sections):
        store, config = loaded(tmp_path, small_table, **sections)
        return store, made_safe(store, config)[1]

    return run


@pytest.mark.parametrize(
    "privacy",
    [
        {"k": 5},
        {"k": 5, "enforcement": "naive"},
        {"k": 40, "enforcement": "coarsen"},
        {"k": 5, "enforcement": "delta_selectivity", "delta": 0.2},
        {"k": 5, "l": 2},
    ],
    ids=lambda privacy: privacy.get("enforcement", "l" if "l" in privacy else "default"),
)
def test_every_way_to_make_joins_safe_is_measured(measured, privacy):
    store, risks = measured(privacy=privacy, fragmentation={"fragments": 2})
    assert [part.fragments for part in risks.reidentification] == [(1,), (2,), (1, 2)]
    assert max(part.prosecutor.largest for part in risks.reidentification[:2]) <= 1 / 5
    assert [known.knowledge for known in risks.revealed] == ["prior", "fragment", "combination"]
    assert all(
        0 <= known.certain <= known.above_nine_tenths <= known.above_half <= 1 for known in risks.revealed
    )
    assert len(query(store, "FROM reidentification")) == 3


def test_one_fragment_has_neither_joins_nor_membership(measured):
    store, risks = measured(fragmentation={"fragments": 1})
    assert [part.fragments for part in risks.reidentification] == [(1,)]
    assert risks.membership is None
    assert query(store, "FROM membership") == []


def test_the_journalist_risk_is_of_the_population_that_is_stated(measured):
    _, risks = measured(evaluation={"population": 4000})
    assert risks.population == 4000
    for part in risks.reidentification:
        assert part.journalist.mean < part.prosecutor.mean / 5


def test_a_population_of_the_records_alone_is_the_prosecutors(measured):
    _, risks = measured(evaluation={"population": 400})
    assert all(part.journalist == part.prosecutor for part in risks.reidentification)


def test_a_population_smaller_than_the_table_is_refused(measured):
    with pytest.raises(ConfigurationError, match=r"evaluation\.population: .* 400, .* got 399"):
        measured(evaluation={"population": 399})


def test_a_population_has_people(tmp_path, small_table):
    _, config = loaded(tmp_path, small_table)
    for population in (0, -1):
        with pytest.raises(ConfigurationError, match="population"):
            parse_config(config.model_dump(by_alias=True) | {"evaluation": {"population": population}})


@pytest.mark.parametrize("made_up", [made_up_risks(1), made_up_risks(2), made_up_risks(4, 10**10)])
def test_risks_are_read_as_they_were_stored(made_up):
    with duckdb.connect() as connection:
        write_risks(connection, made_up)
        write_risks(connection, made_up)  # a second run replaces the first
        assert read_risks(connection) == made_up


def test_real_risks_are_read_as_they_were_stored(demo):
    store, _, risks = demo
    with duckdb.connect() as connection:
        write_risks(connection, risks)
        assert read_risks(connection) == risks
    assert query(store, "SELECT prosecutor.median FROM reidentification WHERE part = 1") == [
        (risks.reidentification[0].prosecutor.median,)
    ]


def test_what_is_stated_is_rounded_and_says_nothing_of_single_joins():
    stated = stated_risks(made_up_risks(3, 6000), withheld=False)
    assert stated["withheld"] is False
    assert stated["population"] == 6000
    first, *_, whole = stated["reidentification"]
    assert first["fragments"] == [1]
    assert first["prosecutor"] == {
        "mean": 0.012,
        "median": 0.012,
        "ninety_fifth": 0.022,
        "largest": 0.0243902,
    }
    assert whole["fragments"] == [1, 2, 3]
    assert (
        set(whole["prosecutor"]) == set(stated["membership_likelihood"]) == {"mean", "median", "ninety_fifth"}
    )
    assert whole["unique_records"] == 0
    assert stated["class_revealed"][1] == {
        "knowledge": "fragment",
        "fragment": 1,
        "median_largest_probability": 0.48,
        "above_half": 0.91,
        "above_nine_tenths": 0.25,
        "certain": 0.01,  # 0.0003 would round to none at all
        "right": 0.88,
    }
    assert stated_risks(made_up_risks(1), withheld=False)["membership_likelihood"] is None
