"""The role that each column looks made for, and why."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from tasks.loading.kinds import like_identifier
from tasks.proposing.look import Look, suggested_k

MOST_CLASS_VALUES = 20
MOST_CODES = 200
FEW = range(3, 21)
MANY_VALUES = 0.5
MANY_CATEGORIES = 50
OF_ONE = 20  # fewer values than these tell no persons apart
PERSONS = re.compile(
    r"(.*[^a-z])?(patients?|persons?|subjects?|participants?|clients?|customers?|members?|respondents?|"
    r"insured|students?|pupils?|employees?|users?|pat|pid)"
    r"([^a-z]*(id|ident|identifier|nbr|nr|no|num|number|key|code|pseudonym))?"
)
CODES = re.compile(r"(.*[^a-z])?(id|code|cd|type|typ|kind|category|cat|class|group|zip|plz|icd)s?[0-9]*")

Role = Literal["identifiers", "drop", "features"]


class Guess(NamedTuple):
    """A column's role, and why it was given."""

    look: Look
    role: Role
    why: str


def guess_role(look: Look, records: int) -> Guess:
    """Return the role that a column looks made for; the class is not among them.

    Examples
    --------
    >>> guess_role(Look("number", "integer", "", distinct=99, missing=0), records=100).role
    'identifiers'
    """
    role, why = next(_roles(look, records))
    return Guess(look, role, why)


def _roles(look: Look, records: int) -> Iterator[tuple[Role, str]]:
    """Yield the roles that would do; the first is the best."""
    if look.distinct == 0:
        yield "drop", "no record has a value"
    if len(look.formats) > 1:
        yield "drop", "dates that can be read in more than one way: see input.dates"
    if look.kind is None:
        yield "drop", look.fault
    elif like_identifier(look.kind, look.distinct, records):
        yield "identifiers", "almost every record has its own value"
    if may_tell_persons(look, records):
        yield "identifiers", "it is called as what tells persons apart"
    if look.kind == "integer" and look.distinct > MANY_VALUES * records:
        yield "identifiers", "most records have their own value: a feature, if it tells nobody who"
    if look.kind == "decimal" and look.infinite:
        yield "drop", f"{look.infinite:,} of its numbers are infinite, or too large"
    yield "features", "; ".join(_remarks(look, records))


def may_tell_persons(look: Look, records: int) -> bool:
    """Whether a column may tell which records are of one person: persons have few records each."""
    return (
        look.kind in {"integer", "categorical"}
        and OF_ONE < look.distinct < records
        and (PERSONS.fullmatch(look.name.casefold().strip()) is not None)
    )


def may_be_entity(guess: Guess, records: int) -> bool:
    """Whether an identifier is called as what tells persons apart, and every record has it."""
    return guess.role == "identifiers" and not guess.look.missing and may_tell_persons(guess.look, records)


def may_be_codes(look: Look) -> bool:
    """Whether whole numbers have few values, or a name that says that they are codes."""
    most = MOST_CODES if called_as_codes(look) else FEW.stop - 1
    return look.kind == "integer" and FEW.start <= look.distinct <= most


def called_as_codes(look: Look) -> bool:
    """Whether the name says that values are codes."""
    return CODES.fullmatch(look.name.casefold().strip()) is not None


def may_be_class(guess: Guess, records: int) -> bool:
    """Whether a column has few values, and none missing, as the class must."""
    look = guess.look
    most = min(MOST_CLASS_VALUES, records // suggested_k(records))
    return guess.role == "features" and not look.gaps and look.kind != "date" and 1 < look.distinct <= most


def _remarks(look: Look, records: int) -> Iterator[str]:
    """Yield what a person should know of a feature."""
    if look.distinct == 1 and not look.missing:
        yield "constant: the same value in every record"
    if look.missing > MANY_VALUES * records:
        yield "mostly missing"
    if look.kind == "categorical" and look.distinct > MANY_CATEGORIES and look.rare:
        yield f"{look.rare:,} of them in fewer than k = {suggested_k(records)} records"
    tokens = sum(look.tokens)
    if tokens and not look.absent:
        yield f"{tokens:,} cells that may stand for missing"
