"""What to change in a configuration to release as is recommended: as lines of TOML, and as a command."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tasks.comparing.compare import Comparison, delta_of

Setting = tuple[str, str, str | float | None]


def recommended_settings(comparison: Comparison) -> list[Setting]:
    """Return section, name and value of each setting of the recommended variant; none without one.

    The value of a setting that must not be set is None.
    """
    found = comparison.recommendation
    if found is None:
        return []
    variant, delta = found.chosen.variant, delta_of(comparison.config, found.chosen.variant)
    unset = delta is None and comparison.config.privacy.delta is None
    return [
        ("privacy", "guarantee", variant.guarantee),
        ("privacy", "enforcement", variant.strategy),
        *([] if unset else [("privacy", "delta", delta)]),
        ("fragmentation", "fragments", variant.fragments),
        ("anonymization", "split", variant.split),
    ]


def how_to_release(comparison: Comparison, path: Path, overrides: Sequence[str]) -> str:
    """Return the lines to replace in a configuration, and the command that does without replacing them.

    Parameters
    ----------
    comparison
        What was found.
    path
        Of the configuration.
    overrides
        Settings that replaced the file's, each as "section.key=value"; the command repeats them.

    Returns
    -------
    str
        Some lines; empty if nothing is recommended.
    """
    if comparison.recommendation is None:
        return ""
    return (
        f"Replace these settings in {path}:\n\n{settings_in_toml(comparison)}\n"
        f"or leave the file as it is:\n\n{release_command(comparison, path, overrides)}\n"
    )


def settings_in_toml(comparison: Comparison) -> str:
    """Return the settings of the recommended variant as lines of TOML; empty if there is none."""
    sections: dict[str, list[str]] = {}
    for section, name, value in recommended_settings(comparison):
        text = f'"{value}"' if isinstance(value, str) else str(value)
        line = f"# without {name}" if value is None else f"{name} = {text}"
        sections.setdefault(section, [f"[{section}]"]).append(line)
    return "\n".join("\n".join([*lines, ""]) for lines in sections.values())


def release_command(comparison: Comparison, path: Path, overrides: Sequence[str]) -> str:
    """Return the command that releases the recommended variant, as a shell reads it."""
    settings = {
        f"{section}.{name}": "" if value is None else str(value)
        for section, name, value in recommended_settings(comparison)
    }
    kept = [override for override in overrides if override.partition("=")[0].strip() not in settings]
    chosen = [f"{name}={value}" for name, value in settings.items()]
    options = [word for setting in (*kept, *chosen) for word in ("--set", setting)]
    return shlex.join(["unjoin", "release", str(path), *options])
