"""Hierarchies of features: what they need of the column, and the order that they give its values."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.errors import InputError
from tasks.loading.built_hierarchies import built_hierarchy
from tasks.loading.held import Held
from tasks.loading.hierarchy import Taxonomy
from tasks.loading.hierarchy_faults import NAMED_ROWS
from tasks.table_settings import Builder
from tasks.tree import tree_of

Codes = npt.NDArray[np.int32]


def built_taxonomy(
    builder: Builder, domain: Domain, held: Held, codes: Codes, persons: Codes | None
) -> Taxonomy:
    """Return the hierarchy that a builder makes of a feature's values.

    Parameters
    ----------
    builder
        How.
    domain, held
        What the feature holds.
    codes : ndarray of shape (n,)
        Of the feature.
    persons : ndarray of shape (n,) or None
        Whom each record is of, where persons are counted.

    Raises
    ------
    InputError
        If the values are none of which such a hierarchy is made.
    """
    if builder.dates is not None and not held.dates:
        raise InputError(
            f"column {domain.name!r}: its hierarchy is made of dates, but it holds none: give their format "
            "under input.dates, or make another hierarchy"
        )
    if held.dates and builder.dates is None:
        raise InputError(f"column {domain.name!r}: holds dates: make its hierarchy of dates")
    built = built_hierarchy(builder, domain.values.tolist(), _occurrences(domain, codes, persons))
    if isinstance(built, str):
        raise InputError(f"column {domain.name!r}: {built}")
    return built


def _occurrences(domain: Domain, codes: Codes, persons: Codes | None) -> npt.NDArray[np.intp]:
    """Return how many records, or persons, have each value."""
    if persons is not None:
        codes = np.unique(persons.astype(np.int64) * domain.size + codes) % domain.size
    return np.bincount(codes, minlength=domain.size)[int(domain.missing) :]


def in_order_of_leaves(domain: Domain, codes: Codes, taxonomy: Taxonomy) -> tuple[Domain, Codes]:
    """Return the domain of a feature with its tree, and codes that follow its leaves.

    Parameters
    ----------
    domain
        Of the feature.
    codes : ndarray of shape (n,)
        Likewise.
    taxonomy
        Of its values.

    Raises
    ------
    InputError
        If values lack a row in the hierarchy; records with them are named by number.
    """
    lacking = [value not in taxonomy.ancestors_of for value in domain.values.tolist()]
    if any(lacking):
        raise InputError(f"column {domain.name!r}: {_told(domain, codes, np.array(lacking))}")
    if not lacking:
        return domain, codes
    values = taxonomy.ordered(domain.values.tolist())
    leaf = {value: code for code, value in enumerate(values, start=int(domain.missing))}
    moved = np.array([0] * domain.missing + [leaf[value] for value in domain.values.tolist()])
    tree = tree_of(values, list(zip(*taxonomy.paths(values), strict=True)))
    ordered = replace(domain, values=np.array(values, dtype=object), tree=tree)
    return ordered, moved.astype(np.int32)[codes]


def _told(domain: Domain, codes: Codes, lacking: npt.NDArray[np.bool_]) -> str:
    number, of_codes = int(lacking.sum()), np.pad(lacking, (int(domain.missing), 0))
    rows = (np.flatnonzero(of_codes[codes]) + 1).tolist()
    shown = ", ".join(map(str, rows[:NAMED_ROWS]))
    more = f" and {len(rows) - NAMED_ROWS} more" if len(rows) > NAMED_ROWS else ""
    return (
        f"{number} of its {len(lacking)} values {'has' if number == 1 else 'have'} no row in its hierarchy "
        f"(row{'s' if len(rows) > 1 else ''} {shown}{more}): add {'it' if number == 1 else 'them'}"
    )
