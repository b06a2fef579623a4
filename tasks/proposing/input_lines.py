"""The section of a proposed configuration that says how the table is written."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tasks.proposing.guesses import Guess
from tasks.proposing.look import HARDLY_VALUES, TOKENS, Look, Sight
from tasks.proposing.words import plural, toml

USUAL_DELIMITERS = {"csv": ",", "tsv": "\t"}


def input_section(sight: Sight, guesses: Sequence[Guess], output: Path) -> Iterator[str]:
    """Yield the lines of [input]."""
    table = sight.table
    yield from ("", "[input]")
    yield f"path = {toml(os.path.relpath(table.path.absolute(), output.resolve().parent))}"
    if table.delimiter not in {None, USUAL_DELIMITERS.get(table.written_as)}:
        yield f"delimiter = {toml(table.delimiter or '')}"
    if table.quote not in {None, '"'}:
        yield f"quote = {toml(table.quote or '')}"
    if table.encoding not in {None, "utf-8"}:
        yield f"encoding = {toml(table.encoding or '')}  # see that accents come out right in the release"
    for setting in ("sheet", "query"):
        if getattr(table, setting) is not None:
            yield f"{setting} = {toml(getattr(table, setting))}"
    yield from _missing(sight.looks)
    yield from _dates(guesses)


def _missing(looks: Sequence[Look]) -> Iterator[str]:
    """Yield the texts that stand for missing: those beside numbers and dates; others are suggested."""
    doubtful = {
        token: [look for look in looks if look.tokens[place] and not look.absent]
        for place, token in enumerate(TOKENS)
    }
    everywhere = [
        token for token in TOKENS if not doubtful[token] and any(token in look.absent for look in looks)
    ]
    yield f"missing = [{', '.join(map(toml, ['', *everywhere]))}]  # texts that stand for a missing value"
    if everywhere:
        yield "# Of these, all but the empty text stand beside numbers or dates alone."
    yield from _suggested({token: held for token, held in doubtful.items() if held}, everywhere)
    beside = [(look, [token for token in look.absent if token not in everywhere]) for look in looks]
    if any(tokens for _, tokens in beside):
        yield from ("", "[input.missing_in]  # beside numbers or dates alone; elsewhere these are categories")
    for look, tokens in beside:
        if tokens:
            cells = sum(look.tokens[TOKENS.index(token)] for token in tokens)
            yield f"{toml(look.name)} = [{', '.join(map(toml, tokens))}]  # {plural(cells, 'cell')}"


def _suggested(doubtful: dict[str, list[Look]], everywhere: Sequence[str]) -> Iterator[str]:
    if not doubtful:
        return
    yield "# These may stand for missing too; unless declared, they are categories of their own:"
    for token, looks in doubtful.items():
        cells = sum(look.tokens[TOKENS.index(token)] for look in looks)
        yield f"#   {toml(token)}: {plural(cells, 'cell')} in {plural(len(looks), 'column')}"
    likely = [token for token in doubtful if token in HARDLY_VALUES] or list(doubtful)
    yield f"# missing = [{', '.join(map(toml, ['', *everywhere, *likely]))}]  # instead of the line above"


def _dates(guesses: Sequence[Guess]) -> Iterator[str]:
    dated = [guess for guess in guesses if guess.look.formats]
    if not dated:
        return
    yield from ("", "[input.dates]  # how dates are written; they are released as days")
    for look, role, _ in dated:
        first, *others = look.formats
        if others:
            other = ", ".join(map(toml, others))
            yield f"# {toml(look.name)} = {toml(first)}  # or {other}: say which, and take it out of drop"
        elif role == "features":
            yield f"{toml(look.name)} = {toml(first)}"
