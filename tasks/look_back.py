"""Step: look at the versions that were published before; an unchanged table is not published again."""

from pathlib import Path

import duckdb

from tasks.config import Config
from tasks.events import remark
from tasks.publish import LATEST
from tasks.register import published_versions, register_left
from tasks.repeats.content import content_digest
from tasks.repeats.kept import kept_versions, secret_key, settle_kept
from tasks.steps import step
from tasks.store import open_store


@step("look at earlier versions")
def look_back(store: Path, config: Config) -> Path | None:
    """Register what a run that died has published; return the latest version if the table is unchanged.

    The table `about` holds by what later versions know this one.
    """
    place = config.output.directory / config.output.name
    _register_left(place)
    settle_kept(config, published_versions(place))
    if config.repeats.check == "off" and not config.repeats.keep:
        return None
    with open_store(store) as connection:
        digest = content_digest(connection, config, secret_key(connection, config))
        connection.execute("CREATE OR REPLACE TABLE about (class VARCHAR, person VARCHAR, content VARCHAR)")
        connection.execute(
            "INSERT INTO about VALUES (?, ?, ?)", [config.columns.class_attribute, config.followed, digest]
        )
    latest = _latest(place)
    if config.repeats.check == "off" or latest is None or _content(config, latest.name) != digest:
        return None
    remark(f"the table and its settings are unchanged since {latest.name}: nothing is published")
    return latest


def _register_left(place: Path) -> None:
    """Register what a run published that died before it registered it."""
    registered, wrong = register_left(place)
    for version in registered:
        remark(f"{version} was published and not registered: it is registered now")
    for version in wrong:
        remark(f"{version} is not registered: its files are not those of a release")


def _latest(place: Path) -> Path | None:
    """Return the folder of the latest version, if there is one."""
    link = place / LATEST
    return place / link.resolve().name if link.is_dir() else None


def _content(config: Config, version: str) -> str | None:
    """Return the digest of a version's table and settings, if it was kept."""
    file = kept_versions(config).get(version)
    if file is None:
        return None
    with duckdb.connect(file, read_only=True) as connection:
        ((digest,),) = connection.execute("SELECT content FROM about").fetchall()
    return str(digest)
