"""Attribute inference: the target's features are known, its class and sensitive values are guessed."""

from collections.abc import Sequence

import numpy as np

from validations.attacks.class_join import beliefs
from validations.attacks.combination import combined, without
from validations.attacks.covering import Seen
from validations.attacks.files import NO_VALUE, Values
from validations.attacks.success import Attack, attack


def infer_values(fragments: Sequence[Seen]) -> list[Attack]:
    """Try to guess the class, and every sensitive attribute; targets without a value are left out.

    The guess is the most likely value: of the class by all fragments together, of a sensitive attribute the
    most frequent in the rows that cover the target. The baseline is the guess without the target's record.

    Parameters
    ----------
    fragments
        One or more.

    Returns
    -------
    list of Attack
        Their subjects are "class" and the attributes' names.
    """
    own = fragments[0].fragment.of_class.own
    tried = [attack("inference", "class", *(belief.guesses == own for belief in beliefs(fragments)))]
    for each in fragments:
        for name, values in each.fragment.sensitive.items():
            tried += _of_sensitive(each, name, values)
    return tried


def _of_sensitive(seen: Seen, name: str, values: Values) -> list[Attack]:
    """Return the attack on a sensitive attribute; none if no target has a value."""
    known = values.own != NO_VALUE
    if not known.any():
        return []
    own, counts = values.own[known], seen.counts(values)[known]
    totals = np.asarray(values.counts.sum(axis=0), dtype=np.float64)[None, :]
    left = without(counts, own)
    guesses = combined([counts], [totals]).guesses, combined([left], [totals - (counts - left)]).guesses
    return [attack("inference", name, *(guess == own for guess in guesses))]
