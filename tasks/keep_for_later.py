"""Step: keep privately what later versions of the release are held against."""

from pathlib import Path

from tasks.config import Config
from tasks.repeats.kept import keep
from tasks.steps import step
from tasks.store import open_store


@step("keep for later versions")
def keep_for_later(store: Path, config: Config, release_version: str) -> None:
    """Keep who was in which equivalence class, by keyed digests, and by what the table is known again."""
    if config.repeats.keep:
        with open_store(store) as connection:
            keep(connection, config, release_version)
