"""How a proposed configuration is worded."""

import json
import textwrap
from collections.abc import Iterable, Iterator

from tasks.proposing.guesses import Guess

WIDTH = 110
KINDS = {
    "integer": "whole numbers",
    "decimal": "numbers",
    "fixed": "numbers",
    "date": "dates",
    "categorical": "text",
    None: "neither numbers nor text",
}
LONGEST_LABEL = 80


def toml(text: str) -> str:
    """Return a text as a TOML string; JSON leaves one character unescaped that TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def plural(number: int, noun: str) -> str:
    """Return a number and what it counts.

    Examples
    --------
    >>> plural(1, "value"), plural(2000, "value")
    ('1 value', '2,000 values')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sized(guess: Guess) -> str:
    """Return a column and how many values it has."""
    return f"{toml(guess.look.name)}: {plural(guess.look.distinct, 'value')}"


def described(guess: Guess) -> str:
    """Return what a column holds, in counts, and why it has its role."""
    look = guess.look
    missing = f", {look.missing:,} missing" if look.missing else ""
    label = f" ({toml(textwrap.shorten(look.label, LONGEST_LABEL))})" if look.label else ""
    why = f": {guess.why}" if guess.why else ""
    return f"{KINDS[look.kind]}, {plural(look.distinct, 'value')}{missing}{label}{why}"


def wrapped(words: Iterable[str]) -> Iterator[str]:
    """Yield comment lines that hold many short words; none is broken."""
    line = "#  "
    for word in words:
        if len(line) + len(word) >= WIDTH and line.strip() != "#":
            yield line
            line = "#  "
        line += f" {word},"
    if line.strip() != "#":
        yield line.removesuffix(",")
