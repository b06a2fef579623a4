"""The engine of a release is chosen here: the plain steps, or the flow that Prefect records."""

from pathlib import Path

from flows.release_steps import release_table
from tasks.config import Config


def release_with_engine(config: Config) -> Path:
    """Run the release with the engine that its configuration names; return the published folder."""
    if config.run.engine == "plain":
        return release_table(config)
    from flows.in_prefect import run_in_prefect  # noqa: PLC0415 - imports Prefect: a plain run does without
    from flows.release import release  # noqa: PLC0415 - likewise

    return run_in_prefect(release, config)
