"""A release of a table that is in memory: the Python call."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.engines import release_with_engine
from tasks.config import Config
from tasks.read_config import parse_config, read_config
from tasks.reading.frames import write_parquet
from tasks.workspace import private_store

TABLE = "table.parquet"


def publish_table(table: Any, settings: Mapping[str, Any] | Path | str) -> Path:  # noqa: ANN401 - see below
    """Publish a table as fragments that cannot be joined back, or say why not.

    Parameters
    ----------
    table : pandas.DataFrame, pyarrow.Table, or anything that has ``__arrow_c_stream__``
        A row per record. It is not changed, and its row labels mean nothing. None, NaN, NaT and NA are
        missing. A column of Python objects must be of one type.
    settings
        The sections of a configuration, or the path of its file. `input.path` and `input.format` are not
        needed, and not used. Relative paths start from the working directory, or from the file's folder.

    Returns
    -------
    Path
        The published folder.

    Raises
    ------
    ConfigurationError, InputError, InfeasibleError, GateError
        As `unjoin release`; nothing was published then.

    Notes
    -----
    The table is written to a file that only its owner can read, in a folder of its own within
    `run.workspace`, and deleted at the end. As everywhere, the run is recorded in Prefect unless
    `run.engine` is "plain".

    Examples
    --------
    >>> import pandas as pd
    >>> patients = pd.DataFrame({"age": [31, 34, 58, 61], "group": ["a", "b", "a", "b"]})
    >>> publish_table(
    ...     patients,
    ...     {
    ...         "columns": {"class": "group", "features": "rest"},
    ...         "privacy": {"k": 2},
    ...         "fragmentation": {"fragments": 1},
    ...         "output": {"name": "patients"},
    ...         "run": {"engine": "plain"},
    ...     },
    ... )  # doctest: +SKIP
    PosixPath('releases/patients/20261127T030000Z')
    """
    asked = _config(settings)
    with private_store(asked, "table") as store:
        path = store.parent / TABLE
        write_parquet(table, path)
        config = asked.model_copy(update={"input": asked.input.model_copy(update={"path": path})})
        return release_with_engine(config)


def _config(settings: Mapping[str, Any] | Path | str) -> Config:
    if isinstance(settings, Path | str):
        return read_config(Path(settings), [f'input.path="{TABLE}"', 'input.format="parquet"'])
    given = settings.get("input", {})
    if isinstance(given, Mapping):
        given = {**given, "path": TABLE, "format": "parquet"}
    return parse_config({**settings, "input": given})
