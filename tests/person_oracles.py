"""Definitions for tables with several records of a person, executed: slow, and close to the words."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product


def most_covered(bearers: Sequence[Iterable[int]]) -> int:
    """Return how many values can each have a person of its own, from who bears each value."""
    if not bearers:
        return 0
    first, *others = bearers
    best = most_covered(others)
    for person in first:
        best = max(best, 1 + most_covered([set(each) - {person} for each in others]))
    return best


def surely_covered(numbers: Iterable[int]) -> int:
    """Return how many values surely have persons of their own, from how many bear each: taken one by one."""
    taken = 0
    for persons in sorted(numbers):
        if persons > taken:
            taken += 1
    return taken


def bearers(rows: Iterable[int], persons: Sequence[int], values: Sequence[int]) -> dict[int, set[int]]:
    """Return who bears each value among some rows."""
    found: dict[int, set[int]] = {}
    for row in rows:
        found.setdefault(int(values[row]), set()).add(int(persons[row]))
    return found


Credits = dict[int, int]  # of one equivalence class: each person's value


def joined_persons(choice: Sequence[Credits]) -> Iterator[tuple[int, ...]]:
    """Yield the combinations of persons, one from each class of a choice, who count under the same value."""
    for value in set(choice[0].values()):
        yield from product(*([each for each in held if held[each] == value] for held in choice))


def joined_parts(choice: Sequence[Credits]) -> list[int]:
    """Return how many persons of each class of a choice are who count under what all classes have."""
    common = set.intersection(*(set(held.values()) for held in choice))
    return [sum(value in common for value in held.values()) for held in choice]


def choices(fragments: Sequence[Sequence[Credits]]) -> Iterable[list[Credits]]:
    """Yield every choice of one class from each of two or more fragments."""
    for picks in product(*([None, *range(len(classes))] for classes in fragments)):
        chosen = [classes[pick] for classes, pick in zip(fragments, picks, strict=True) if pick is not None]
        if len(chosen) > 1:
            yield chosen


def joins_are_safe(fragments: Sequence[Sequence[Credits]], k: int, guarantee: str) -> bool:
    """Whether every choice's join is empty or rests on k, by really joining persons."""
    for choice in choices(fragments):
        joined = list(islice(joined_persons(choice), k))
        if joined and (len(joined) < k or (guarantee == "records" and min(joined_parts(choice)) < k)):
            return False
    return True
