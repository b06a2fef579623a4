"""Whether attacks succeed more often than their baselines, and not by chance."""

from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import bdtrc

from validations.attacks.success import Attack

LEVEL = 0.05
LEFT_TO_CHANCE = ("position", "linkage")  # attacks that draw lines, whoever is aimed at
ISOLATED = ("class_join", "isolated")  # without a record nobody is isolated: its baseline is no success


class Verdict(NamedTuple):
    """Whether an attack succeeds more often than its baseline.

    Attributes
    ----------
    by_chance
        How likely a gain as large as this is where there is none, see `sign_test`; None where chance has no
        part, so that each gain is a fact.
    gained
        Whether it does, judged together with all attacks on the release.
    """

    by_chance: float | None
    gained: bool


def verdicts(attacks: Sequence[Attack], *, every_record: bool) -> tuple[Verdict, ...]:
    """Judge all attacks on a release.

    Where chance has no part an attack gained if it alone succeeded for more targets than its baseline alone.
    All others are judged together: where none of them gains, the chance that one is said to is at most 5 %.

    Parameters
    ----------
    attacks
        All that were tried.
    every_record
        Whether all records were aimed at. The attacks that draw lines leave something to chance all the same.
    """
    chances = [_chance(each, every_record=every_record) for each in attacks]
    judged = iter(holm([chance for chance in chances if chance is not None]))
    return tuple(
        Verdict(chance, each.only_with > each.only_without if chance is None else next(judged))
        for each, chance in zip(attacks, chances, strict=True)
    )


def _chance(attack: Attack, *, every_record: bool) -> float | None:
    if attack[:2] == ISOLATED or (every_record and attack.name not in LEFT_TO_CHANCE):
        return None
    return sign_test(attack.only_with, attack.only_without)


def sign_test(only_with: int, only_without: int) -> float:
    """Return the chance of as many or more targets for whom the attack alone succeeds, if it gains nothing.

    Of those for whom one alone succeeds, each is then as likely to be of either kind: the exact sign test,
    one-sided (McNemar 1947).

    Examples
    --------
    >>> sign_test(3, 0), sign_test(2, 2), sign_test(0, 0)
    (0.125, 0.6875, 1.0)
    """
    return float(bdtrc(only_with - 1, only_with + only_without, 0.5))


def holm(chances: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Return which of several tests reject, so that one does wrongly with at most this chance (Holm 1979).

    Examples
    --------
    >>> holm([0.02, 0.2, 0.01]), holm([0.02, 0.2, 0.03])
    ([True, False, True], [False, False, False])
    """
    rejected = [False] * len(chances)
    for done, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[place] > level / (len(chances) - done):
            break
        rejected[place] = True
    return rejected
