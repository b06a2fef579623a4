"""What classifiers learn from a trial of a release, tested on the records that were kept out of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.config import Config, Learner
from tasks.learning.learn import (
    FORMS,
    Form,
    Learnable,
    Rows,
    equal_shares,
    evaluate,
    exact_regions,
    weighted_f,
    with_own_domains,
)
from tasks.store import open_store
from tasks.tables import read_class_counts, read_codes, read_domains, read_fragments, read_regions
from tasks.trials.held_out import Held

Reading = tuple[Learner, Form]


def learnt_from_release(
    store: Path, prepared: Path, config: Config, held: Held, learners: Sequence[Learner]
) -> dict[Reading, float]:
    """Return the weighted F-measure on the test records of learners that see what a trial would publish.

    Parameters
    ----------
    store
        With all records.
    prepared
        With the training records, after joins were made safe.
    config
        Of the release.
    held
        Which records train and test.
    learners
        What to evaluate, each with every form of a released cell.
    """
    published = _published(prepared, config)
    tests, truth = _tests(store, held.test, published)
    return {
        (learner, form): evaluate(published.learnables, tests, truth, learner, form, seed=config.run.seed)
        for learner in learners
        for form in FORMS
    }


def learnt_exactly(
    store: Path, config: Config, held: Held, learners: Sequence[Learner]
) -> dict[Learner, float]:
    """Return the weighted F-measure of each learner that is given the training records as they are."""
    with open_store(store) as connection:
        domains, of_class = read_domains(connection)
        codes = read_codes(connection, domains)
        classes = read_codes(connection, [of_class])[:, 0]
    counts = np.eye(of_class.size, dtype=np.int64)[classes[held.train]]
    exact = Learnable(exact_regions(with_own_domains(Rows(codes[held.train], domains))), counts)
    tests, truth = [Rows(codes[held.test], domains)], classes[held.test]
    return {
        learner: evaluate([exact], tests, truth, learner, "midpoints", seed=config.run.seed)
        for learner in learners
    }


def majority_f(classes: npt.NDArray[np.int32], held: Held) -> float:
    """Return the weighted F-measure of who always says the most frequent class of the training records."""
    most = np.bincount(classes[held.train]).argmax()
    truth = classes[held.test]
    return weighted_f(truth, np.full_like(truth, most), int(classes.max()) + 1)


class _Published(NamedTuple):
    """What a trial would publish: each fragment's features and classes, and the class values."""

    features: list[list[str]]
    learnables: list[Learnable]
    class_values: list[str]


def _published(prepared: Path, config: Config) -> _Published:
    per_class = config.privacy.enforcement == "delta_selectivity"
    with open_store(prepared) as connection:
        domains, of_class = read_domains(connection)
        fragments = read_fragments(connection)
        before, after = (read_class_counts(connection, when) for when in ("before", "after"))
        learnables = [
            Learnable(
                read_regions(connection, number, [domain for domain in domains if domain.name in set(names)]),
                equal_shares(new, old.sum(axis=1)) if per_class else new,
            )
            for number, (names, old, new) in enumerate(zip(fragments, before, after, strict=True), 1)
        ]
    return _Published(fragments, learnables, of_class.values.tolist())


def _tests(
    store: Path, rows: npt.NDArray[np.intp], published: _Published
) -> tuple[list[Rows], npt.NDArray[np.int32]]:
    """Return the test records with the features of each fragment, and their classes."""
    with open_store(store) as connection:
        domains, of_class = read_domains(connection)
        codes = read_codes(connection, domains)[rows]
        classes = read_codes(connection, [of_class])[rows, 0]
    place = {domain.name: number for number, domain in enumerate(domains)}
    tests = []
    for names in published.features:
        chosen = [place[name] for name in names]
        tests.append(Rows(codes[:, chosen], [domains[number] for number in chosen]))
    trained = {name: code for code, name in enumerate(published.class_values)}
    return tests, np.array([trained[name] for name in of_class.values.tolist()], dtype=np.int32)[classes]
