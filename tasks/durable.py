"""Files that survive a crash: on disk before anything relies on them, whole or not at all."""

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Replace a file by a text, in one move."""
    made = path.with_name(f".{path.name}")
    made.write_text(text, encoding="utf-8")
    flush(made)
    made.replace(path)
    flush(path.parent)
