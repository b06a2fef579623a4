"""What a person sees in the terminal: progress while it runs, then what came of it."""

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tasks.errors import UnjoinError
from tasks.events import Event, listening
from tasks.report import REPORT, Outcome
from tasks.reports.manifest import Manifest, read_manifest
from tasks.reports.wording import closeness_in_words, diversity_in_words, safe_only_within_segments
from tasks.signing.make_keys import KeyPair
from tasks.step_log import JsonLines, step_log

TERMINAL = Console(highlight=False)
ERRORS = Console(stderr=True, highlight=False)


@contextmanager
def progress_shown() -> Iterator[None]:
    """Show each step while it runs; plain lines where the output is not a terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
    with Progress(*columns, console=ERRORS, transient=True, disable=not ERRORS.is_terminal) as bar:
        current = bar.add_task("starting", total=1.0)

        def hear(event: Event) -> None:
            if event.kind == "started":
                bar.reset(current, description=event.step, total=1.0)
            elif event.kind == "progress":
                bar.update(current, completed=event.share)
            elif event.kind == "kept":
                ERRORS.print(f"{'kept':<9}{escape(event.step)}")
            elif event.kind == "remark":
                ERRORS.print(f"[yellow]note[/]    {escape(event.text)}", soft_wrap=True)
            elif event.kind != "counted":
                mark = "[green]done[/]" if event.kind == "finished" else "[red]failed[/]"
                ERRORS.print(f"{mark:<18}{escape(event.step):<44}{event.seconds:7.2f} s")

        with listening(hear):
            yield


@contextmanager
def steps_logged() -> Iterator[None]:
    """Log each step as a JSON object a line, and the error that ends the run."""
    logger, lines = logging.getLogger("unjoin"), logging.StreamHandler()
    lines.setFormatter(JsonLines())
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        with listening(step_log(logger)):
            yield
    except UnjoinError as error:
        logger.error("%s", error)  # noqa: TRY400 - a person's mistake has no traceback
        raise
    finally:
        logger.removeHandler(lines)


def print_release(folder: Path) -> None:
    """Say what was published, what it guarantees, and where it is."""
    manifest = read_manifest(folder)
    for sentence in _in_words(manifest):
        TERMINAL.print(f"  {escape(sentence)}", soft_wrap=True)
    TERMINAL.print()
    _print_place(folder)
    if "signature" in manifest:
        TERMINAL.print(f"  signed  by the key {manifest['signature']['key']}", soft_wrap=True)


def _print_place(folder: Path) -> None:
    TERMINAL.print(f"  folder  {escape(str(folder))}", soft_wrap=True)
    TERMINAL.print(f"  report  {escape(str(folder / REPORT))}", soft_wrap=True)


def print_keys(pair: KeyPair) -> None:
    """Say where two keys are, and what tells them from others."""
    TERMINAL.print(f"  private key  {escape(str(pair.private))}", soft_wrap=True)
    TERMINAL.print(f"  public key   {escape(str(pair.public))}", soft_wrap=True)
    TERMINAL.print(f"  fingerprint  {pair.fingerprint}", soft_wrap=True)


def print_unchanged(folder: Path) -> None:
    """Say that nothing was published, since a version is there already, and where that is."""
    TERMINAL.print(f"unchanged since {folder.name}: nothing was published", markup=False, soft_wrap=True)
    _print_place(folder)


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print true or false per promise, with what was asked and what the files hold; a line each in a pipe."""
    if not TERMINAL.is_terminal:
        for outcome in outcomes:
            asked_and_found = (f"asked: {outcome.asked}", f"found: {outcome.achieved}")
            print_cells(_truth(outcome), outcome.name, *asked_and_found)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("holds", "promise", "asked", "found"):
        table.add_column(heading, overflow="fold")
    for outcome in outcomes:
        colour = "green" if outcome.success else "red"
        words = (outcome.name, outcome.asked, outcome.achieved)
        table.add_row(f"[{colour}]{_truth(outcome)}[/]", *map(escape, words))
    TERMINAL.print(table)


def print_cells(*cells: str) -> None:
    """Print one line of a table for other programs, with tabs between its cells."""
    TERMINAL.file.write("\t".join(cells) + "\n")  # rich would make blanks of tabs


def _truth(outcome: Outcome) -> str:
    return "true" if outcome.success else "false"


def print_error(message: str) -> None:
    """Print an error, a line per fault."""
    ERRORS.print(f"[bold red]unjoin:[/] {escape(message)}", soft_wrap=True)


def _in_words(manifest: Manifest) -> list[str]:
    """Return what a release is and guarantees, a sentence each."""
    return [
        _published_in_words(manifest),
        _classes_in_words(manifest),
        *_persons_in_words(manifest),
        *_protection_in_words(manifest),
        *_joins_in_words(manifest),
        _cost_in_words(manifest),
        *_trials_in_words(manifest),
        *_repeats_in_words(manifest),
    ]


def _published_in_words(manifest: Manifest) -> str:
    features = [len(fragment["features"]) for fragment in manifest["fragments"]]
    of_each = f"{_listed(features)} feature{'' if features == [1] else 's'}"
    sensitive = len(manifest["sensitive"])
    beside = f" and {_count(sensitive, 'sensitive attribute')}" if sensitive else ""
    return (
        f"{manifest['records']:,} records with {_count(sum(features), 'feature')}{beside} were published "
        f"as {_count(len(features), 'fragment')} of {of_each}, "
        f"each with the class {manifest['class']!r}."
    )


def _classes_in_words(manifest: Manifest) -> str:
    k = manifest["guarantees"]["k"]
    return (
        "In every fragment, each combination of released feature values belongs to at least "
        f"{k['achieved']:,} records (asked: {k['asked']:,})."
    )


def _persons_in_words(manifest: Manifest) -> list[str]:
    """Return what holds in persons, where these are counted."""
    persons = manifest.get("persons")
    if persons is None:
        return []
    joined, number = persons["smallest_join"], persons["number"]
    joins = "" if joined is None else f", and no join isolates fewer than {joined:,} combinations of persons"
    least = f"belongs to at least {persons['smallest_class']:,} of the {_count(number, 'person')}"
    return [f"Persons were counted, not only their records: each combination {least}{joins}."]


def _protection_in_words(manifest: Manifest) -> list[str]:
    """Return what l and t reach, as far as they were asked."""
    guarantees = manifest["guarantees"]
    sentences = []
    if guarantees["l"]["asked"] is not None:
        sentences.append(f"Among the records of each, {diversity_in_words(manifest)}.")
    if guarantees["t"]["asked"] is not None:
        sentences.append(f"Among the records of each, {closeness_in_words(manifest)}.")
    return sentences


def _joins_in_words(manifest: Manifest) -> list[str]:
    joins, delta, k = manifest["joins"], manifest["guarantees"]["delta"], manifest["guarantees"]["k"]["asked"]
    if delta["achieved"] is not None:
        words = (
            "Class values are published once per combination; of all class counts there can be, at least "
            f"{_floored(delta['achieved'])} join to {k:,} rows or more (asked: {delta['asked']:.1%})."
        )
    elif safe_only_within_segments(manifest):
        words = (
            "Within the segments that records were cut into, joining fragments on the class never isolates "
            f"fewer than {k:,} rows; of all {joins['choices']:,} possible joins, across segments too, the "
            f"smallest holds {joins['smallest_join']:,}, and no record stands behind those below {k:,}."
        )
    elif joins["smallest_join"] is not None and joins["smallest_join"] >= k:
        words = (
            f"Joining fragments on the class never isolates fewer than {k:,} rows: "
            f"{_smallest_of(joins['choices'])} holds {joins['smallest_join']:,}."
        )
    else:
        return []
    if manifest["guarantees"]["guarantee"]["achieved"] == "records":
        words += f" Every combination takes part in such joins with at least {k:,} records of its own."
    return [words]


def _cost_in_words(manifest: Manifest) -> str:
    loss, changed = manifest["measures"]["information_loss"], manifest["changed_class_values"]
    whole = len(manifest["fragments"]) == 1
    baseline = "" if whole else f", against {loss['unfragmented']:.1%} without fragments"
    happened = "changed" if manifest["class_values"] == "per_record" else "removed"
    class_values = manifest["records"] * len(manifest["fragments"])
    return (
        f"Released values span {loss['fragmented']:.1%} of their columns' ranges on average{baseline}; "
        f"of {_count(class_values, 'class value')} (one per record and fragment) "
        f"{changed['total']:,} had to be {happened} ({changed['share']:.1%})."
    )


def _trials_in_words(manifest: Manifest) -> list[str]:
    """Return how the number of fragments was chosen, where it was not given."""
    if "trials_of_fragments" not in manifest:
        return []
    stated = manifest["trials_of_fragments"]
    untried = ", ".join(map(str, stated["untried"]))
    no_time = f"; there was no time for {untried}" if untried else ""
    return [f"Trials chose {stated['chosen']} of up to {_count(stated['up_to'], 'fragment')}{no_time}."]


def _repeats_in_words(manifest: Manifest) -> list[str]:
    """Return what came of holding the release against earlier versions, where it was."""
    repeats = manifest["repeats"]
    if repeats["kept"] is None:
        return []
    compared = repeats["by_stores"] + repeats["by_files"]
    against = f"{compared} of {_count(repeats['earlier'], 'earlier version')}"
    by_files = f", {repeats['by_files']} of them by published files only" if repeats["by_files"] else ""
    told = "tells no more than was asked" if repeats["kept"] else "TELLS MORE THAN WAS ASKED"
    return [f"Together with {against}{by_files}, it {told} (see docs/repeated-releases.md)."]


def _smallest_of(choices: int) -> str:
    return "the only possible join" if choices == 1 else f"the smallest of {choices:,} possible joins"


def _floored(share: float) -> str:
    """Return a share as a percentage that is never too large."""
    return f"{math.floor(share * 1000) / 10}%"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(numbers: list[int]) -> str:
    texts = [f"{number:,}" for number in numbers]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
