"""A first configuration for a table: each column's role guessed and explained, the class asked for.

Counts are all it says of the data; no value of the table is written.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tasks.domain import Kind
from tasks.errors import ConfigurationError
from tasks.loading.kinds import like_identifier
from tasks.loading.look import TOKENS, Look, Sight, look_at

KINDS: dict[Kind | None, str] = {
    "integer": "whole numbers",
    "decimal": "numbers",
    "categorical": "text",
    None: "neither numbers nor text",
}
MOST_CLASS_VALUES = 20
CODES = range(3, 21)
MANY_VALUES = 0.5
USUAL_K = 10

Role = Literal["identifiers", "drop", "features"]


class Guess(NamedTuple):
    """A column's role, and why it was given."""

    look: Look
    role: Role
    why: str


def write_proposal(table: Path, output: Path) -> None:
    """Look at a table and write a commented configuration for it; the class is left to fill in.

    Parameters
    ----------
    table
        CSV or TSV (gzip too), or Parquet.
    output
        The configuration to write.

    Raises
    ------
    ConfigurationError
        If the output exists or cannot be written.
    InputError
        If the table cannot be read.
    """
    if output.exists():
        raise ConfigurationError(f"{output}: exists and is not overwritten: name another with --output")
    proposal = propose(look_at(table), output)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(proposal)
    except OSError as error:
        raise ConfigurationError(f"{output}: cannot be written ({error.strerror})") from None


def guess_role(look: Look, records: int) -> Guess:
    """Return the role that a column looks made for; the class is not among them.

    Examples
    --------
    >>> look = Look("number", "integer", "", distinct=99, missing=0, numbers=100, infinite=0, tokens=())
    >>> guess_role(look, records=100).role
    'identifiers'
    """
    if look.distinct == 0:
        return Guess(look, "drop", "no record has a value")
    if like_identifier(look.kind or "categorical", look.distinct, records):
        return Guess(look, "identifiers", "almost every record has its own value")
    if look.kind is None:
        return Guess(look, "drop", look.fault)
    if look.kind == "integer" and look.distinct > MANY_VALUES * records:
        return Guess(
            look, "identifiers", "most records have their own value: a feature, if it tells nobody who"
        )
    if look.kind == "decimal" and look.infinite:
        return Guess(look, "drop", f"{look.infinite:,} of its numbers are infinite, or too large")
    return Guess(look, "features", "; ".join(_remarks(look, records)))


def _remarks(look: Look, records: int) -> Iterator[str]:
    """Yield what a person should know of a feature."""
    tokens = sum(look.tokens)
    if look.distinct == 1 and not look.missing:
        yield "constant: the same value in every record"
    if look.kind == "categorical" and tokens and look.numbers + tokens + look.missing == records:
        yield f"numbers but for {tokens:,} cells that may stand for missing"


def suggested_k(records: int) -> int:
    """Return a usual k, smaller for tables that are small.

    Examples
    --------
    >>> suggested_k(100), suggested_k(100_000)
    (5, 10)
    """
    return max(2, min(USUAL_K, records // 20))


def propose(sight: Sight, output: Path) -> str:
    """Return a configuration in TOML for a table.

    Parameters
    ----------
    sight
        The table.
    output
        Where the configuration will be: the table's path is written relative to its folder.
    """
    guesses = [guess_role(look, sight.records) for look in sight.looks]
    lines = [
        *_title(sight, output),
        *_input_section(sight, output),
        *_columns_section(guesses, sight.records),
        *_privacy_section(sight.records),
        *_other_sections(sight.table.path, guesses),
    ]
    return "\n".join(lines) + "\n"


def _title(sight: Sight, output: Path) -> Iterator[str]:
    size = f"{_plural(sight.records, 'record')}, {_plural(len(sight.looks), 'column')}"
    yield f"# A release of {_toml(sight.table.path.name)}: {size}."
    yield "# Written by unjoin init from counts: read it, fill in the class, then run:"
    yield f"#     unjoin release {_toml(output.name)}"


def _input_section(sight: Sight, output: Path) -> Iterator[str]:
    table = sight.table
    yield from ("", "[input]")
    yield f"path = {_toml(os.path.relpath(table.path.absolute(), output.resolve().parent))}"
    if table.delimiter is not None:
        yield f"delimiter = {_toml(table.delimiter)}"
    if table.encoding not in {None, "utf-8"}:
        yield f"encoding = {_toml(table.encoding or '')}  # see that accents come out right in the release"
    yield 'missing = [""]  # texts that stand for a missing value'
    yield from _tokens_found(sight.looks)


def _tokens_found(looks: Sequence[Look]) -> Iterator[str]:
    held = {token: [look.tokens[number] for look in looks] for number, token in enumerate(TOKENS)}
    found = {token: cells for token, cells in held.items() if any(cells)}
    if not found:
        return
    yield "# These may stand for missing too; unless declared, they are categories of their own:"
    for token, cells in found.items():
        columns = sum(number > 0 for number in cells)
        yield f"#   {_toml(token)}: {_plural(sum(cells), 'cell')} in {_plural(columns, 'column')}"
    yield f"# missing = [{', '.join(map(_toml, ['', *found]))}]"


def _columns_section(guesses: Sequence[Guess], records: int) -> Iterator[str]:
    yield from ("", "[columns]  # each column has one role")
    yield 'class = ""  # fill in: what every fragment carries, the one thing they can be joined on'
    yield from _class_candidates(guesses, records)
    yield from _listed("identifiers", "never released, never used", guesses)
    yield from _listed("drop", "left out", guesses)
    yield "# sensitive = []  # protected beside the class and published as they are; needs l or t below"
    yield 'features = "rest"  # released generalised: these, without the class'
    yield from (f"#   {_described(guess)}" for guess in guesses if guess.role == "features")
    yield from _codes(guesses)


def _class_candidates(guesses: Sequence[Guess], records: int) -> Iterator[str]:
    few = range(2, min(MOST_CLASS_VALUES, records // suggested_k(records)) + 1)
    candidates = [
        look for look, role, _ in guesses if role == "features" and not look.missing and look.distinct in few
    ]
    if candidates:
        yield "# These could be the class: they have few values, and none missing."
        yield from (f"#   {_toml(look.name)}: {_plural(look.distinct, 'value')}" for look in candidates)
    else:
        yield "# No column has few values and none missing, as the class must."


def _listed(role: Role, meaning: str, guesses: Sequence[Guess]) -> Iterator[str]:
    chosen = [guess for guess in guesses if guess.role == role]
    if not chosen:
        yield f"{role} = []  # {meaning}"
        return
    yield f"{role} = [  # {meaning}"
    for guess in chosen:
        yield f"    {_toml(guess.look.name)},  # {_counts(guess)}"
    yield "]"


def _codes(guesses: Sequence[Guess]) -> Iterator[str]:
    codes = [
        look
        for look, role, _ in guesses
        if role == "features" and look.kind == "integer" and look.distinct in CODES
    ]
    if codes:
        yield "# Whole numbers with few values: for those that are codes, not amounts, take away the first #."
    for look in codes:
        yield f'# types.{_toml(look.name)} = "categorical"  # {_plural(look.distinct, "value")}'


def _described(guess: Guess) -> str:
    return f"{_toml(guess.look.name)}: {_counts(guess)}"


def _counts(guess: Guess) -> str:
    look = guess.look
    missing = f", {look.missing:,} missing" if look.missing else ""
    why = f": {guess.why}" if guess.why else ""
    return f"{KINDS[look.kind]}, {_plural(look.distinct, 'value')}{missing}{why}"


def _privacy_section(records: int) -> Iterator[str]:
    k = suggested_k(records)
    yield from ("", "[privacy]")
    yield f"k = {k}  # the fewest records that share a combination of released values"
    yield f"# With k = {k}, {_plural(records, 'record')} make {records // k:,} combinations at most."
    yield "# A greater k protects better; a smaller one keeps more detail."
    yield "# l = 2  # the fewest values of the class, and of each sensitive column, in a combination"


def _other_sections(path: Path, guesses: Sequence[Guess]) -> Iterator[str]:
    features = sum(guess.role == "features" for guess in guesses) - 1
    yield from ("", "[fragmentation]")
    yield f"fragments = {min(2, max(features, 1))}  # more of them keep more detail in each"
    yield from ("", "[output]")
    yield 'directory = "releases"'
    yield f"name = {_toml(_release_name(path))}"


def _release_name(path: Path) -> str:
    """Return the file's name without what it ends in, as far as a release can be called so."""
    name = path.name.removesuffix("".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]))
    return re.sub("[^A-Za-z0-9_-]+", "_", name).strip("_-") or "release"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _toml(text: str) -> str:
    """Return a text as a TOML string; JSON leaves one character unescaped that TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
