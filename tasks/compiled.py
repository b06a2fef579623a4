"""Functions that are compiled when they are first called, and kept beside the module that has them."""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """A function over arrays that runs as machine code and leaves the interpreter free.

    Importing the compiler costs a third of a second of CPU, and compiling some seconds once for each
    machine: both happen at the first call, so that only work that is worth it pays.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function."""
        return self._compiled(*args, **kwargs)

    @cached_property
    def _compiled(self) -> Callable[P, R]:
        from numba import njit  # noqa: PLC0415 - see the class

        compiled: Callable[P, R]
        try:
            compiled = njit(nogil=True, cache=True)(self.function)
        except RuntimeError:  # nothing can be kept: neither the package's folder nor a home can be written
            compiled = njit(nogil=True)(self.function)
        return compiled


def compiled(function: Callable[P, R]) -> Compiled[P, R]:
    """Make a function one that is compiled at its first call."""
    return Compiled(function)
