"""The conditions of repeated releases, straight from their definitions: sets, one person after the other.

A version is a list of fragments; a fragment is a list of equivalence classes; such a class is a pair of the
set of its persons and a dict of how many records it has with each class value that it shows.
"""


def classes_of(person, versions):
    return [
        shown
        for version in versions
        for fragment in version
        for members, shown in fragment
        if person in members
    ]


def persons_of(version):
    return {person for fragment in version for members, _ in fragment for person in members}


def in_several(new, earlier):
    return {person for person in persons_of(new) if any(person in persons_of(old) for old in earlier)}


def left_of(person, versions):
    """The class values that occur in every one of a person's equivalence classes."""
    return set.intersection(*(set(shown) for shown in classes_of(person, versions)))


def few_values(new, earlier, least):
    versions = [new, *earlier]
    return {person for person in in_several(new, earlier) if len(left_of(person, versions)) < least}


def few_records(new, earlier, k):
    versions, found = [new, *earlier], set()
    for person in in_several(new, earlier):
        left = left_of(person, versions)
        for shown in classes_of(person, versions):
            if sum(records for value, records in shown.items() if value in left) < k:
                found.add(person)
    return found


def told_by_difference(version, other, k):
    found = set()
    for one, two in ((version, other), (other, version)):
        for part in groups_of(one):
            for whole in groups_of(two):
                rest = whole - part
                if part <= whole and 0 < len(rest) < k:
                    found |= rest
    return found


def groups_of(version):
    """The persons of every equivalence class, and of the whole version."""
    return [*(set(members) for fragment in version for members, _ in fragment), persons_of(version)]
