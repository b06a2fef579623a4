"""What a person reads after a release is true."""

import pytest
from made_up_release import changed, made_up, with_joins
from report_pages import VARIANTS

from flows.terminal import print_release
from tasks.reports.manifest import write_manifest


@pytest.fixture
def told(tmp_path, capsys):
    def tell(release):
        facts = VARIANTS[release] if isinstance(release, str) else release
        write_manifest(facts.manifest, tmp_path)
        print_release(tmp_path)
        return capsys.readouterr().out

    return tell


def test_without_l_and_t_nothing_is_said_of_them(told):
    text = told("thirty")
    assert "records with 30 features were published as 2 fragments of 15 and 15 features" in text
    assert "Joining fragments on the class never isolates fewer than 40 rows" in text
    assert "the smallest of 300 possible joins holds 57." in text
    assert not any(word in text for word in ("diversity", "closeness", "segment", "sensitive"))


def test_l_and_joins_within_segments_are_told(told):
    text = told("distinct")
    assert "8 features and 2 sensitive attributes were published" in text
    assert (
        "Among the records of each, the class attribute and each sensitive attribute take at least 3 "
        "different values (distinct l-diversity; asked 2, achieved 3)."
    ) in text
    assert "Within the segments that records were cut into, joining fragments" in text
    assert "the smallest holds 4, and no record stands behind those below 40." in text
    assert "Joining fragments on the class never isolates" not in text


def test_t_is_told_and_joins_safe_over_all_choices_are_called_so(told):
    text = told("hierarchical")
    assert "the class attribute and the sensitive attribute take at least" in text
    assert "asked 0.05, achieved 0" in text
    assert "Joining fragments on the class never isolates fewer than 40 rows" in text
    assert "segment" not in text


def test_large_numbers_have_separators_and_one_is_not_many(told):
    facts = with_joins(made_up(["age", "height"]), smallest_join=3_153_062, choices=1)
    k = {"asked": 2_500, "achieved": 3_000}
    text = told(changed(facts, guarantees=facts.manifest["guarantees"] | {"k": k}))
    assert "at least 3,000 records (asked: 2,500)" in text
    assert "fewer than 2,500 rows: the only possible join holds 3,153,062." in text
    assert "1 fragment of 1 feature, each" in told(made_up(["age"], 1))


@pytest.mark.parametrize(
    "untried, words",
    [
        ([2, 3], "Trials chose 1 of up to 8 fragments; there was no time for 2, 3."),
        ([], "Trials chose 1 of up to 8 fragments."),
    ],
)
def test_the_choice_of_the_number_and_want_of_time_are_told(told, untried, words):
    facts = made_up(["age", "height"], 1)
    stated = {"chosen": 1, "up_to": 8, "untried": untried}
    assert words in told(changed(facts, trials_of_fragments=stated))
    assert "Trials" not in told(facts)
