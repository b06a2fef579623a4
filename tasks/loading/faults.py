"""Faults of a table and its configuration, told together."""

from collections.abc import Iterator
from contextlib import contextmanager

from tasks.errors import UnjoinError

MOST_LINES = 20


class Faults:
    """What is wrong, as far as it was found.

    Examples
    --------
    >>> from tasks.errors import InputError
    >>> faults = Faults()
    >>> with faults.noted():
    ...     raise InputError("column 'x': is empty")
    >>> with faults.noted():
    ...     raise InputError("column 'y': is empty")
    >>> faults.tell()
    Traceback (most recent call last):
    tasks.errors.InputError: column 'x': is empty
    column 'y': is empty
    """

    def __init__(self) -> None:
        self._errors: list[UnjoinError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is raised, and go on."""
        try:
            yield
        except UnjoinError as error:
            self._errors.append(error)

    @contextmanager
    def told_with(self) -> Iterator[None]:
        """Tell what is raised, which nothing can go on after, together with what was noted before."""
        with self.noted():
            yield
            return
        self.tell()

    def note(self, kind: type[UnjoinError], lines: list[str]) -> None:
        """Note faults, a line each."""
        if lines:
            self._errors.append(kind("\n".join(lines)))

    def tell(self) -> None:
        """Raise what was noted, if anything, as the kind that was noted first.

        Raises
        ------
        UnjoinError
            With a line per fault, and at most 20 of them.
        """
        if not self._errors:
            return
        lines = list(dict.fromkeys(line for error in self._errors for line in str(error).splitlines()))
        more = len(lines) - MOST_LINES
        shown = [*lines[:MOST_LINES], f"and {more} more"] if more > 0 else lines
        raise type(self._errors[0])("\n".join(shown))
