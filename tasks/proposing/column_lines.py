"""The section of a proposed configuration that gives each column its role, and suggests what may suit it."""

from collections.abc import Iterator, Sequence
from itertools import islice

from tasks.proposing.guesses import (
    MANY_CATEGORIES,
    Guess,
    Role,
    called_as_codes,
    may_be_class,
    may_be_codes,
    may_be_entity,
)
from tasks.proposing.look import Look, suggested_k
from tasks.proposing.words import KINDS, described, plural, sized, toml, wrapped

DETAILED = 150  # features that have a line of their own
SUGGESTIONS = 50  # of a sort
PREFIX = 3
NEARLY_ALL = 0.9


def columns_section(guesses: Sequence[Guess], records: int) -> Iterator[str]:
    """Yield the lines of [columns]."""
    yield from ("", "[columns]  # each column has one role")
    yield 'class = ""  # fill in: what every fragment carries, the one thing they can be joined on'
    yield from _class_candidates(guesses, records)
    yield from _listed("identifiers", "never released, never used", guesses)
    yield from _entities(guesses, records)
    yield from _listed("drop", "left out", guesses)
    yield "# sensitive = []  # protected beside the class and published as they are; needs l or t below"
    yield 'features = "rest"  # released generalised: these, without the class'
    yield from _features([guess for guess in guesses if guess.role == "features"])
    yield from _codes(guesses)
    yield from _groups(guesses, records)


def _class_candidates(guesses: Sequence[Guess], records: int) -> Iterator[str]:
    candidates = [guess for guess in guesses if may_be_class(guess, records)]
    if not candidates:
        yield "# No column has few values and none missing, as the class must: mend one, or group its values."
        return
    yield "# These could be the class: they have few values, and none missing."
    if len(candidates) > DETAILED:
        yield from wrapped(toml(guess.look.name) for guess in candidates)
        return
    if any(guess.look.rare for guess in candidates):
        k = suggested_k(records)
        yield f"# Rare values have fewer than k = {k} records each, and may be changed: group them."
    for guess in candidates:
        yield f"#   {sized(guess)}{f', {guess.look.rare:,} rare' if guess.look.rare else ''}"


def _listed(role: Role, meaning: str, guesses: Sequence[Guess]) -> Iterator[str]:
    chosen = [guess for guess in guesses if guess.role == role]
    if not chosen:
        yield f"{role} = []  # {meaning}"
        return
    yield f"{role} = [  # {meaning}"
    for guess in chosen:
        yield f"    {toml(guess.look.name)},  # {described(guess)}"
    yield "]"


def _entities(guesses: Sequence[Guess], records: int) -> Iterator[str]:
    """Yield which identifiers may tell persons apart: those that are called so."""
    entities = [guess for guess in guesses if may_be_entity(guess, records)]
    if not entities:
        return
    yield "# Does a column tell which records are of one person? Then persons are counted instead of records,"
    yield "# if it is the entity: take away the first #, and its line under identifiers."
    for guess in islice(entities, SUGGESTIONS):
        distinct = plural(guess.look.distinct, "value")
        yield f"# entity = {toml(guess.look.name)}  # {distinct} in {plural(records, 'record')}"


def _features(features: Sequence[Guess]) -> Iterator[str]:
    """Yield a line per feature; where there are very many, those of a sort share lines."""
    if len(features) <= DETAILED:
        yield from (f"#   {toml(guess.look.name)}: {described(guess)}" for guess in features)
        return
    sorts: dict[str, list[Guess]] = {}
    for guess in features:
        why = f": {guess.why}" if guess.why and not any(map(str.isdigit, guess.why)) else ""
        sorts.setdefault(f"{KINDS[guess.look.kind]}{why}", []).append(guess)
    for sort, members in sorts.items():
        yield f"# {plural(len(members), 'feature')} of {sort}; in brackets its values, and its missing ones"
        yield from wrapped(_short(guess) for guess in members)


def _short(guess: Guess) -> str:
    missing = f", {guess.look.missing}" if guess.look.missing else ""
    return f"{toml(guess.look.name)} ({guess.look.distinct}{missing})"


def _codes(guesses: Sequence[Guess]) -> Iterator[str]:
    codes = [look for look, role, _ in guesses if role == "features" and may_be_codes(look)]
    if codes:
        yield "# Whole numbers with few values: for those that are codes, not amounts, take away the first #."
    for look in sorted(codes, key=lambda look: not called_as_codes(look))[:SUGGESTIONS]:
        yield f'# types.{toml(look.name)} = "categorical"  # {plural(look.distinct, "value")}'
    yield from _more(len(codes))


def _groups(guesses: Sequence[Guess], records: int) -> Iterator[str]:
    """Yield hierarchies that may suit text with very many values."""
    many = [
        look
        for look, role, _ in guesses
        if role == "features" and look.kind == "categorical" and look.distinct > MANY_CATEGORIES
    ]
    made = [(look, builder) for look in many for builder in (_builder(look, records),) if builder]
    if made:
        yield "# Text with many values can be released as groups, which read better than long sets"
        yield "# and cost detail: compare the loss with and without. See docs/hierarchies.md."
    for look, builder in made[:SUGGESTIONS]:
        rare = f", {look.rare:,} of them in fewer than {suggested_k(records)} records" if look.rare else ""
        yield (f"# hierarchies.{toml(look.name)} = {{ {builder} }}  # {plural(look.distinct, 'value')}{rare}")
    yield from _more(len(made))


def _builder(look: Look, records: int) -> str:
    """Return how a hierarchy can be made: codes by how they begin, others by how rare they are."""
    valued = records - look.missing - sum(look.tokens)
    if look.codes >= NEARLY_ALL * valued and look.longest > 1:
        lengths = range(min(PREFIX, look.longest - 1), 0, -1)
        return f"prefix = [{', '.join(map(str, lengths))}]"
    return f"rare = {suggested_k(records)}" if 1 < look.rare < look.distinct else ""


def _more(number: int) -> Iterator[str]:
    if number > SUGGESTIONS:
        yield f"# The same may suit {number - SUGGESTIONS:,} more."
