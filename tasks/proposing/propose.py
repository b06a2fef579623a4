"""A first configuration for a table: each column's role guessed and explained, the class asked for.

Counts are all it says of the data, and of its values only texts that may stand for missing, and how dates
are written.
"""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tasks.errors import ConfigurationError
from tasks.proposing.column_lines import columns_section
from tasks.proposing.guesses import Guess, guess_role
from tasks.proposing.input_lines import input_section
from tasks.proposing.look import Sight, look_at, suggested_k
from tasks.proposing.words import plural, toml
from tasks.table_settings import PACKED, Input

FRAGMENTS = 2
MANY_FOR_A_CUT = 3  # features of a fragment for each time that its records can be halved


def write_proposal(table: Input, output: Path) -> None:
    """Look at a table and write a commented configuration for it; the class is left to fill in.

    Parameters
    ----------
    table
        Where it is, and what is known of how it is written.
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
        *input_section(sight, guesses, output),
        *columns_section(guesses, sight.records),
        *_privacy_section(sight.records),
        *_other_sections(sight, guesses),
    ]
    return "\n".join(lines) + "\n"


def _title(sight: Sight, output: Path) -> Iterator[str]:
    size = f"{plural(sight.records, 'record')}, {plural(len(sight.looks), 'column')}"
    yield f"# A release of {toml(sight.table.path.name)}: {size}."
    yield "# Written by unjoin init from counts: read it, fill in the class, then run:"
    yield f"#     unjoin release {toml(output.name)}"


def _privacy_section(records: int) -> Iterator[str]:
    k = suggested_k(records)
    yield from ("", "[privacy]")
    yield f"k = {k}  # the fewest records that share a combination of released values"
    if records < k:
        yield f"# The table has fewer records than k = {k}, so that it cannot be released."
    else:
        yield f"# With k = {k}, {plural(records, 'record')} make {records // k:,} combinations at most."
    yield "# A greater k protects better; a smaller one keeps more detail."
    yield "# l = 2  # the fewest values of the class, and of each sensitive column, in a combination"


def _other_sections(sight: Sight, guesses: Sequence[Guess]) -> Iterator[str]:
    features = sum(guess.role == "features" for guess in guesses) - 1
    yield from ("", "[fragmentation]")
    yield f"fragments = {min(FRAGMENTS, max(features, 1))}  # more of them keep more detail in each"
    yield from _many_features(features, sight.records)
    yield from ("", "[output]")
    yield 'directory = "releases"'
    name = _release_name(sight.table.path)
    yield f"name = {toml(name)}"
    yield from ("", "[drift]  # of the next file: tells where it is not like the latest release")
    yield f"# earlier = {toml(f'releases/{name}')}"


def _many_features(features: int, records: int) -> Iterator[str]:
    """Yield what becomes of features for which there are too few records to be cut by."""
    halvings = int(math.log2(max(records // suggested_k(records), 1)))
    if features > FRAGMENTS * MANY_FOR_A_CUT * max(halvings, 1):
        yield (
            f"# Records can be halved {plural(halvings, 'time')} before k is reached, and each fragment has "
            f"about {features // FRAGMENTS:,} features:"
        )
        yield '# most are released as wide ranges. fragments = "auto" tries which number keeps most.'


def _release_name(path: Path) -> str:
    """Return the file's name without what it ends in, as far as a release can be called so."""
    suffixes = path.suffixes[-2:] if path.suffix.lower() in PACKED else path.suffixes[-1:]
    name = path.name.removesuffix("".join(suffixes))
    return re.sub("[^A-Za-z0-9_-]+", "_", name).strip("_-") or "release"
