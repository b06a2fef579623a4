"""The settings that shaped a release and are no secret: no seed, no path, nothing of segments' sizes."""

from typing import Any

from tasks.config import Config

STATED = {
    "privacy": None,
    "fragmentation": {"fragments", "bins"},
    "anonymization": None,
}
"""The sections that are stated; None is all of a section."""


def stated_settings(config: Config) -> dict[str, Any]:
    """Return the settings that a release may state, by the names they have in a configuration file.

    Parameters
    ----------
    config
        Of the release; the number of fragments is known.
    """
    sections = config.model_dump(mode="json", by_alias=True, include=set(STATED))
    unused = _unused(config)
    return {
        f"{section}.{name}": value
        for section, names in STATED.items()
        for name, value in sections[section].items()
        if value is not None and name not in unused and (names is None or name in names)
    }


def _unused(config: Config) -> set[str]:
    """Return the settings of l and t that have no use here."""
    privacy = config.privacy
    of_l, of_t, of_both = privacy.l is None, privacy.t is None, not privacy.protects_values
    names = (("l_model", of_l), ("t_distance", of_t), ("strict_segments", of_both))
    return {name for name, unused in names if unused}
