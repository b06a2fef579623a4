"""Whether a table is cut into segments at all."""

import numpy as np
import oracles
import segment_oracles

from tasks.config import Anonymization
from tasks.partitions.one_segment import Part, one_segment_suffices
from tasks.partitions.requirements import All, AllValues, DistinctDiversity, KAnonymity


def parts(table, fragments, k, l):  # noqa: E741
    whole = Part(table.codes, table.domains, table.classes, All((KAnonymity(k), DistinctDiversity(l))))
    of_chunk = All((KAnonymity(k), AllValues(tuple(range(max(table.classes) + 1)))))
    return whole, [
        Part(table.codes[:, part], [table.domains[feature] for feature in part], table.classes, of_chunk)
        for part in fragments
    ]


def test_a_table_whose_class_has_nothing_to_do_with_its_features_is_one_segment():
    table = segment_oracles.random_table(8, 2000, 6, 20, 2)
    shuffled = table._replace(classes=np.random.default_rng(1).permutation(table.classes))
    assert one_segment_suffices(*parts(shuffled, ([0, 1, 2], [3, 4, 5]), 10, 2), Anonymization(), 0)


def test_a_table_whose_class_follows_from_its_features_is_cut():
    ordered = segment_oracles.column(list(range(2000)), [row // 200 for row in range(2000)])
    doubled = oracles.Table(np.hstack([ordered.codes] * 2), ordered.domains * 2, ordered.classes)
    assert not one_segment_suffices(*parts(doubled, ([0], [1]), 10, 2), Anonymization(), 0)


def test_features_that_lose_nothing_are_one_segment():
    table = segment_oracles.column([7] * 12, [0, 1, 2] * 4)
    assert one_segment_suffices(*parts(table, ([0],), 2, 2), Anonymization(), 0)
