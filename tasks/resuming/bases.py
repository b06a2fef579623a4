"""What each step of a release goes by: which settings it reads, and which steps it builds on.

A step that is not named here is run every time: all that touch the written files, and the gate before all.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tasks.config import Config
from tasks.program import installed

LOAD = "load the table"
INFORMATION = "measure mutual information"
CHOOSE = "choose the number of fragments"
CUT = "cut the features into fragments"
SEGMENT = "segment the records"
ANONYMIZE = "anonymize the chunks"
MERGE = "merge the chunks of each fragment"
ENFORCE = "make joins safe"
ARRANGE = "arrange the lines to publish"
BASELINE = "measure the unfragmented baseline"
MEASURE = "measure the release"
RISKS = "measure the risks"
UTILITY = "measure what is kept"
LEARN = "try what can be learnt"

PROTECTION = tuple(f"privacy.{name}" for name in ("k", "l", "l_model", "c", "t", "t_distance"))
PARTITION = (*PROTECTION, "anonymization", "segmentation.level", "columns", "run.seed")
TRIAL = ("privacy", "anonymization", "segmentation", "columns", "fragmentation", "run.seed")


class Basis(NamedTuple):
    """What a step goes by.

    Attributes
    ----------
    settings
        Sections of the configuration, or single settings, that it reads.
    after
        The steps whose results it reads.
    replaces
        A step of whose tables it overwrites some: that one is repeated when this one is.
    tables
        A pattern of tables whose number depends on settings: what is there is dropped first.
    """

    settings: tuple[str, ...]
    after: tuple[str, ...] = ()
    replaces: str | None = None
    tables: str | None = None


BASES = {
    LOAD: Basis(("input", "columns", *PROTECTION, "repeats", "evaluation.population")),
    INFORMATION: Basis(("fragmentation.bins",), (LOAD,)),
    CHOOSE: Basis((*TRIAL, "limits"), (LOAD,)),
    CUT: Basis(("fragmentation.fragments",), (INFORMATION, CHOOSE)),
    SEGMENT: Basis(
        (*PARTITION, "fragmentation.fragments", "segmentation", "run.memory", "run.engine"), (CUT,)
    ),
    ANONYMIZE: Basis((*PARTITION, "fragmentation.fragments", "run.engine"), (SEGMENT,)),
    MERGE: Basis(
        ("anonymization.bounds", "fragmentation.fragments"), (ANONYMIZE,), tables=r"(typed_)?regions_\d+"
    ),
    ENFORCE: Basis(
        ("privacy", "segmentation.level", "columns", "fragmentation.fragments", "run.seed"),
        (MERGE,),
        replaces=MERGE,
    ),
    ARRANGE: Basis(("privacy.enforcement", "columns"), (ENFORCE,), tables=r"(published|together)_\d+"),
    BASELINE: Basis(PARTITION, (LOAD,)),
    MEASURE: Basis((), (ENFORCE, BASELINE)),
    RISKS: Basis(("privacy.enforcement", "columns", "evaluation.population"), (ENFORCE,)),
    UTILITY: Basis(("privacy.enforcement", "fragmentation.bins"), (INFORMATION, ENFORCE)),
    LEARN: Basis((*TRIAL, "evaluation.learners", "evaluation.test_share"), (LOAD,)),
}
"""In the order of the run."""


def fingerprints(config: Config) -> dict[str, str]:
    """Return, for each step with a basis, a digest of all that its result depends on.

    That is the program, the step's settings, what the steps before it went by, and of the first the content
    of the files that it reads.
    """
    settings = _settings(config)
    program = installed()
    found: dict[str, str] = {}
    for step, basis in _bases(config).items():
        content = [] if basis.after else [_content(path) for path in _files(config)]
        going_by = [step, program, content, [found[before] for before in basis.after]]
        chosen = {path: _at(settings, path) for path in basis.settings}
        found[step] = hashlib.sha256(json.dumps([*going_by, chosen], sort_keys=True).encode()).hexdigest()
    return found


def _bases(config: Config) -> dict[str, Basis]:
    """Return what steps go by; a number of fragments that is given needs no choice."""
    if config.fragmentation.fragments == "auto":
        return BASES
    return {**BASES, CHOOSE: Basis(("fragmentation.fragments",), (LOAD,))}


def _settings(config: Config) -> dict[str, Any]:
    """Return all settings; files count by their names here, and by their content.

    Engines count by where they work: rows that a cluster is to read are files.
    """
    settings = config.model_dump(mode="json")
    settings["input"]["path"] = config.input.path.name
    settings["run"]["engine"] = "elsewhere" if config.run.engine == "dask" else "here"
    return settings


def _files(config: Config) -> list[Path]:
    """Return the files that a table is read from; databases can have another that holds what is newest."""
    hierarchies = [made for made in config.columns.hierarchies.values() if isinstance(made, Path)]
    table = config.input.path
    beside = [table.with_name(table.name + end) for end in (".wal", "-wal", "-journal")]
    return [table, *(path for path in beside if path.exists()), *hierarchies]


def _content(path: Path) -> str:
    """Return a digest of a file; whoever reads it later says why it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "cannot be read"


def _at(settings: Mapping[str, Any], path: str) -> object:
    section, _, name = path.partition(".")
    return settings[section][name] if name else settings[section]
