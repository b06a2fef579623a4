"""What choices of groups hold, and what they would hold if groups were merged.

Choices are rows of an array: for each fragment a group, or -1 where the fragment has no part in it.
A choice holds the rows of its join or, for the guarantee "records", the fewest records that any of its
members has in the class values that all of them share.
"""

from typing import NamedTuple

import numpy as np

from tasks.config import Guarantee
from tasks.joins.class_join import Floats, Indices


class Promise(NamedTuple):
    """What a choice that joins at all must hold: k rows or, for the guarantee "records", k records."""

    k: int
    guarantee: Guarantee


def held(counts: Floats, choices: Indices, guarantee: Guarantee) -> Floats:
    """Return what each choice holds, in rows or records.

    Parameters
    ----------
    counts : float64 ndarray of shape (groups + 1, class values)
        The last row belongs to absent fragments: 1 for "join", k for "records".
    choices : ndarray of shape (choices, fragments)
    guarantee
        Whether rows or records are counted.
    """
    members = counts[choices]
    if guarantee == "join":
        return np.asarray(members.prod(axis=1).sum(axis=1))
    shared = np.asarray((members > 0).all(axis=1))
    return np.asarray((members * shared[:, None]).sum(axis=2).min(axis=1))


def held_after(
    counts: Floats, choices: Indices, fragment: int, partners: Indices, guarantee: Guarantee
) -> Floats:
    """Return what choices hold once their member of one fragment is merged with each of its partners.

    Parameters
    ----------
    partners : ndarray of shape (partners,) or (choices, partners)
        The same for all choices, or some for each.

    Returns
    -------
    float64 ndarray of shape (choices, partners)
    """
    others = choices.copy()
    others[:, fragment] = -1
    own, beside = counts[choices[:, fragment]], counts[others]
    if guarantee == "join":
        factors: Floats = beside.prod(axis=1)
        rows: Floats = (factors * own).sum(axis=1)[:, None] + _products(factors, counts, partners)
        return rows
    shared = np.asarray((beside > 0).all(axis=1))
    fewest = (own * shared).sum(axis=1)[:, None] + _products(shared.astype(np.float64), counts, partners)
    supports = (counts > 0).astype(np.float64)
    for member in np.delete(beside, fragment, axis=1).swapaxes(0, 1):
        kept = np.where(shared & (own > 0), member, 0).sum(axis=1)
        gained = _products(np.where(shared & (own == 0), member, 0), supports, partners)
        fewest = np.minimum(fewest, kept[:, None] + gained)
    return np.asarray(fewest)


def _products(factors: Floats, counts: Floats, partners: Indices) -> Floats:
    if partners.ndim == 1:
        return np.asarray(factors @ counts[partners].T)
    return np.asarray(np.einsum("wc,wdc->wd", factors, counts[partners]))
