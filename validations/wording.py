"""How the figures of protected attributes are told."""

from collections.abc import Callable, Sequence

from validations.findings import in_words
from validations.promises import Promises
from validations.protected_values import ValuesEvidence


def of_protected_attributes(promises: Promises) -> str:
    """Return in words whose values are protected."""
    return "of the class attribute" + " and of every sensitive attribute" * bool(promises.sensitive)


def figures_in_words(
    figures: Sequence[tuple[str, float | None]],
    shown: Sequence[ValuesEvidence],
    worst: Callable[[list[float]], float],
) -> str:
    """Return the worst figure of every attribute in words, and why some could not be found.

    Parameters
    ----------
    figures
        Names of attributes, each with a figure.
    shown
        What the files show.
    worst
        Chooses among the figures of an attribute.
    """
    known: dict[str, list[float]] = {}
    for column, figure in figures:
        known.setdefault(column, []).extend([] if figure is None else [figure])
    words = [f"{worst(of_column):.9g} ({column})" for column, of_column in known.items() if of_column]
    achieved = ", ".join(words) or "none"
    bare = max((values.bare or 0 for values in shown), default=0)
    achieved += f"; {in_words(bare, 'equivalence class', 'equivalence classes')} without a value" * bool(bare)
    problems = [
        f"; could not be checked: {column}: {values.problem}"
        for (column, figure), values in zip(figures, shown, strict=True)
        if figure is None and values.problem
    ]
    return achieved + "".join(problems[:1])
