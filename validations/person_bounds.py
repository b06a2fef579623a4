"""Whether what a release says of persons contradicts what it says of records, or of what it was asked for."""

from collections.abc import Iterator

from validations.stated import Manifest, StatedPersons


def of_persons(manifest: Manifest) -> Iterator[str]:
    """Yield what no release can state of persons.

    A person has at least one record, so that there are no fewer records than persons, in the table, in an
    equivalence class or in a join; and a join holds at least what each equivalence class brings into it.

    Parameters
    ----------
    manifest
        Of a release.
    """
    stated = manifest.persons
    if stated is None:
        return
    guarantees = manifest.guarantees
    if (
        manifest.class_values == "per_class"
        or guarantees.t.asked is not None
        or guarantees.l_model.asked not in {None, "distinct"}
    ):
        yield "persons are not counted with class values per class, with t, or with another l than distinct"
    if stated.l is not None and guarantees.l.asked is None:
        yield "`persons.l` is stated although l was not asked"
    if len(manifest.fragments) == 1 and (stated.smallest_join, stated.smallest_records) != (None, None):
        yield "`persons` states joins of a single fragment"
    for name, fewer, more in _ordered(manifest, stated):
        if fewer is not None and more is not None and fewer > more:
            yield f"`persons.{name}` cannot be so many"


def _ordered(manifest: Manifest, stated: StatedPersons) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield figures that are no larger than others."""
    yield "number", stated.number, manifest.records
    yield "smallest_class", stated.smallest_class, stated.number
    for fragment in manifest.fragments:
        yield "smallest_class", stated.smallest_class, fragment.smallest_class
    yield "smallest_join", stated.smallest_join, manifest.joins.smallest_join
    yield "smallest_records", stated.smallest_records, manifest.joins.smallest_records
    yield "smallest_records", stated.smallest_records, stated.smallest_join
    yield "l", stated.l, manifest.guarantees.l.achieved
    yield "l", stated.l, stated.smallest_class


def unachieved_by_persons(manifest: Manifest) -> Iterator[str]:
    """Yield what a release that passed its gate states of persons and is not what was asked.

    Parameters
    ----------
    manifest
        Of such a release.
    """
    stated, guarantees = manifest.persons, manifest.guarantees
    if stated is None:
        return
    k, values = guarantees.k.asked, guarantees.l.asked
    if stated.smallest_class is None or stated.smallest_class < k:
        yield "`persons.smallest_class` states fewer than k persons"
    if stated.smallest_join is not None and stated.smallest_join < k:
        yield "`persons.smallest_join` states fewer than k"
    if (
        guarantees.guarantee.asked == "records"
        and stated.smallest_records is not None
        and stated.smallest_records < k
    ):
        yield "`persons.smallest_records` states fewer than k persons"
    if values is not None and (stated.l is None or stated.l < values):
        yield "`persons.l` states fewer values than l"
