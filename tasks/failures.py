"""What may be told of a failure that nobody foresaw; the rest goes into the private workspace."""

import errno
import os
import traceback
from pathlib import Path

import duckdb

from tasks.errors import StepError
from tasks.store import is_in_use

ERROR_LOG = "error.log"
REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


def private_failure(name: str, store: Path, error: Exception) -> StepError:
    """Keep the details of a step's failure beside the store; return what may be told."""
    if is_in_use(error):
        return StepError(f"{name}: the private store {store} is open in another program: close it, run again")
    details = keep_details(store, "".join(traceback.format_exception(error)))
    return StepError(f"{name}: failed ({system_reason(error) or type(error).__name__}); {details}")


def keep_details(store: Path, text: str) -> str:
    """Add a text to the error log beside the store; return in words where it is."""
    log = store.parent / ERROR_LOG
    try:
        log.touch(mode=0o600)
        with log.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"details could not be kept in {log} ({error.strerror})"
    return f"details, which may hold data, are in {log}"


def system_reason(error: Exception) -> str | None:
    """Return in its own words why the operating system refused; None if something else went wrong.

    DuckDB has these words in its text alone.
    """
    if isinstance(error, OSError):
        return error.strerror
    if isinstance(error, duckdb.Error):
        return next((words for words in map(os.strerror, REFUSALS) if words in str(error)), None)
    return None
