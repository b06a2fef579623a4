"""Whether release.json contradicts itself: then nothing in it can be held against the files."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tasks.errors import InputError
from validations.achievements import unachieved
from validations.person_bounds import of_persons
from validations.stated import Manifest, StatedFragment, StatedGuarantees, StatedProtection
from validations.stated_columns import of_kind

ROUNDING = 1e-6
"""Shares are stated to six digits."""


def refuse_contradictions(manifest: Manifest) -> None:
    """Refuse a manifest that no release can have.

    Raises
    ------
    InputError
        Naming the first contradiction.
    """
    for fault in _contradictions(manifest):
        raise InputError(f"release.json cannot be used: {fault}.")


def _contradictions(manifest: Manifest) -> Iterator[str]:
    yield from _of_columns(manifest)
    yield from _of_class_values(manifest)
    yield from _of_guarantees(manifest.guarantees)
    yield from _of_sensitive_attributes(manifest)
    yield from _of_protection(manifest)
    yield from _of_figures(manifest)
    yield from _of_joins(manifest)
    yield from of_persons(manifest)
    yield from unachieved(manifest)


def _of_columns(manifest: Manifest) -> Iterator[str]:
    names = [column.name for column in manifest.columns]
    if len(set(names)) < len(names):
        yield "`columns` names a feature twice"
    if manifest.class_attribute in names:
        yield "the class attribute is also a feature"
    for number, fragment in enumerate(manifest.fragments, start=1):
        files = (f"fragment_{number}.csv", f"fragment_{number}.parquet")
        if (fragment.csv, fragment.parquet) != files:
            yield f"the files of fragment {number} must be {files[0]} and {files[1]}"
    for column in manifest.columns:
        listed = _fragment(manifest, column.fragment)
        if listed is None or column.name not in listed.features:
            yield "`columns` places a feature in a fragment that does not list it"
        yield from of_kind(column)


def _fragment(manifest: Manifest, number: int) -> StatedFragment | None:
    return manifest.fragments[number - 1] if number <= len(manifest.fragments) else None


def _of_class_values(manifest: Manifest) -> Iterator[str]:
    if (manifest.class_values == "per_class") != (manifest.enforcement == "delta_selectivity"):
        yield "class values are published per class exactly with the enforcement delta_selectivity"
    if manifest.class_values == "per_class" and manifest.guarantees.protects_values:
        yield "l and t cannot be checked where class values are published per class"
    changed, fragments = manifest.changed_class_values, len(manifest.fragments)
    if len(changed.per_fragment) != fragments or changed.total != sum(changed.per_fragment):
        yield "`changed_class_values.total` is not the sum over the fragments"
    cells = manifest.records * fragments
    if abs(changed.share * cells - changed.total) > ROUNDING * cells:
        yield "`changed_class_values.share` is not the total's share of all class values"
    if changed.total > 0 and (manifest.enforcement in {"none", "coarsen"} or fragments == 1):
        yield "class values are changed only by an enforcement that does so, and only in several fragments"


def _of_guarantees(stated: StatedGuarantees) -> Iterator[str]:
    if (stated.l.asked is None) != (stated.l_model.asked is None):
        yield "`l` and `l_model` are asked together or not at all"
    if (stated.c.asked is None) != (stated.l_model.asked != "recursive"):
        yield "`c` is asked exactly with the recursive model"
    if (stated.t.asked is None) != (stated.t_distance.asked is None):
        yield "`t` and `t_distance` are asked together or not at all"
    if stated.l_model.asked != "entropy" and not (_is_whole(stated.l.asked) and _is_whole(stated.l.achieved)):
        yield "`l` is a whole number unless it is measured by entropy"
    for name, both in (("l", stated.l), ("t", stated.t)):
        if both.asked is None and both.achieved is not None:
            yield f"`{name}` is achieved but was not asked"
    for name, settings in (("l_model", stated.l_model), ("c", stated.c), ("t_distance", stated.t_distance)):
        if settings.achieved not in {None, settings.asked}:
            yield f"`{name}` is not achieved as it was asked"


def _is_whole(number: float | None) -> bool:
    return number is None or number.is_integer()


def _of_sensitive_attributes(manifest: Manifest) -> Iterator[str]:
    names = manifest.sensitive
    others = {manifest.class_attribute, *(column.name for column in manifest.columns)}
    if len(set(names)) < len(names) or not others.isdisjoint(names):
        yield "a sensitive attribute is stated twice, is a feature or is the class"
    if names and not manifest.guarantees.protects_values:
        yield "there are sensitive attributes although neither l nor t is asked"
    if Counter(names) != Counter(name for fragment in manifest.fragments for name in fragment.sensitive):
        yield "a sensitive attribute is not in exactly one fragment, or a fragment has another one"


def _of_protection(manifest: Manifest) -> Iterator[str]:
    asked = manifest.guarantees.protects_values
    names = [manifest.class_attribute, *manifest.sensitive] if asked else []
    if [each.column for each in manifest.protected] != names:
        yield "`protected` is not the class and every sensitive attribute where l or t is asked, else empty"
    for each in manifest.protected:
        if each.column == manifest.class_attribute:
            if each.fragment is not None:
                yield "`protected` places the class in one fragment; it is in all of them"
        elif (
            each.fragment is None
            or (listed := _fragment(manifest, each.fragment)) is None
            or each.column not in listed.sensitive
        ):
            yield "`protected` places a sensitive attribute in a fragment that does not list it"
        yield from _of_grounds(each, manifest.guarantees.t_distance.asked)


def _of_grounds(stated: StatedProtection, distance: str | None) -> Iterator[str]:
    order, hierarchy = stated.order, stated.hierarchy
    if order is not None and distance != "ordered":
        yield "`order` is stated, but distances are not ordered"
    if order is not None and len(set(order)) < len(order):
        yield "`order` names a value twice"
    if (hierarchy is not None) != (distance == "hierarchical"):
        yield "`hierarchy` is stated exactly where distances are hierarchical"
    if hierarchy is not None and not _is_tree(list(hierarchy.values())):
        yield "`hierarchy` is no tree: values have as many levels, ancestors one parent, all the same root"
    elif hierarchy is not None and _repeats_its_root(list(hierarchy.values())):
        yield "`hierarchy` has its root on more than one level, which makes distances small"


def _is_tree(paths: list[list[str]]) -> bool:
    if not paths:
        return True
    depths = {len(path) for path in paths}
    if len(depths) != 1 or 0 in depths:
        return False
    levels = list(zip(*paths, strict=True))
    return len(set(levels[-1])) == 1 and all(
        len(set(zip(level, above, strict=True))) == len(set(level)) for level, above in pairwise(levels)
    )


def _repeats_its_root(paths: list[list[str]]) -> bool:
    """Return whether the last two levels of a tree have the same single name for several values."""
    return len(paths) > 1 and all(path[-2:-1] == path[-1:] for path in paths)


def _of_figures(manifest: Manifest) -> Iterator[str]:
    """Fragments state what protected attributes reach; nothing while the files are yet to be checked."""
    guarantees, draft = manifest.guarantees, manifest.validation.success is None
    for fragment in manifest.fragments:
        names = [manifest.class_attribute, *fragment.sensitive] if guarantees.protects_values else []
        if [each.column for each in fragment.protected] != names and not (draft and not fragment.protected):
            yield "a fragment's `protected` is not the class and its sensitive attributes"
        for each in fragment.protected:
            if (each.l is not None and guarantees.l.asked is None) or (
                each.t is not None and guarantees.t.asked is None
            ):
                yield "a fragment states l or t although it was not asked"
            if guarantees.l_model.asked != "entropy" and not _is_whole(each.l):
                yield "a fragment's `l` is a whole number unless it is measured by entropy"


def _of_joins(manifest: Manifest) -> Iterator[str]:
    joins = manifest.joins
    segmented = manifest.guarantees.protects_values and len(manifest.fragments) > 1
    if joins.scope == "segments" and not segmented:
        yield "joins are promised within segments only with l or t and several fragments"
    if joins.smallest_record_share is not None and (
        manifest.class_values == "per_record" or manifest.guarantees.guarantee.asked == "join"
    ):
        yield "`joins.smallest_record_share` is stated only where records are asked and values are per class"
    within = joins.within_segments
    if within is not None and not segmented:
        yield "`joins.within_segments` is stated, but there are no segments"
    if within is not None and [each.column for each in within.sensitive] != manifest.sensitive:
        yield "`joins.within_segments` does not state every sensitive attribute once"
