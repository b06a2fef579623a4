"""The release flow: from a table to a published folder."""

from pathlib import Path

from prefect import flow

from flows.release_steps import release_table
from tasks.config import Config


@flow(name="release", flow_run_name="release {config.output.name}", persist_result=False)
def release(config: Config) -> Path:
    """Publish a table as fragments that cannot be joined back, or say why not.

    Parameters
    ----------
    config
        What to release, and what it must promise.

    Returns
    -------
    Path
        The published folder; the latest one, if the table and its settings are unchanged since.
    """
    return release_table(config)
