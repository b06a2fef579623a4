"""How functions over arrays are compiled; modules that have some are imported where they are needed.

Importing the compiler costs a third of a second of CPU. Compiling costs seconds, at the first call and once
for each machine: what comes of it is kept beside the module, or in the user's cache folder.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function over arrays one that runs as machine code and leaves the interpreter free.

    Its arguments are known by their places. It may call others of its module that are compiled.
    """
    try:
        return cast("Callable[P, R]", njit(nogil=True, cache=True)(function))
    except RuntimeError:  # nothing can be kept: neither the package's folder nor a home can be written
        return cast("Callable[P, R]", njit(nogil=True)(function))
