"""What computes: the program, of which any line can shape a figure or a release, and its libraries."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("duckdb", "numpy", "pandas", "scipy", "scikit-learn", "numba")  # that compute


@cache
def program_digest() -> str:
    """Return a digest of the source of all tasks."""
    return source_digest(Path(__file__).parent)


def installed() -> list[str]:
    """Return what the program and the libraries that compute are known by."""
    return [program_digest(), *(version(name) for name in LIBRARIES)]


def source_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all Python files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()
