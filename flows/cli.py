"""The command line. Each command imports what it needs, so that help is there at once."""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from tasks.errors import StepError, UnjoinError
from tasks.version import __version__

if TYPE_CHECKING:
    from tasks.config import Config

Engine = Literal["prefect", "plain"]

app = App(
    name="unjoin",
    version=__version__,
    help="Publish tables of many columns as anonymous fragments that cannot be joined back.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # main says that it stopped
)


@app.command
def demo(folder: Path = Path("unjoin-demo"), *, engine: Engine = "prefect") -> None:
    """Release a real table, from nothing to a published folder and its report.

    The table is the breast cancer table that ships with scikit-learn: 569 patients, 30 features.

    ```
    unjoin demo
    ```

    Parameters
    ----------
    folder
        Where the table, its configuration and the release go.
    engine
        "prefect" records every step in Prefect; "plain" runs the same steps without it.
    """
    from flows.demo import write_demo  # noqa: PLC0415

    _release(write_demo(folder), [f"run.engine={engine}"])


@app.command
def release(
    config: Path,
    *,
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    engine: Engine | None = None,
) -> None:
    """Release a table: read, fragment, anonymize, check, and only then publish.

    ```
    unjoin release release.toml
    unjoin release release.toml --set privacy.k=10 --set output.name=trial
    ```

    Exit codes: 0 published, 1 the gate failed, 2 bad input or configuration, 3 infeasible,
    4 a step failed in a way nobody foresaw, 130 stopped by Ctrl-C.

    Parameters
    ----------
    config
        A configuration file in TOML; `unjoin init` writes one.
    settings
        Replace one value of the configuration, as section.key=value; after section.key= it is not set.
        Can be given several times.
    engine
        Short for --set run.engine=...: "prefect" or "plain".
    """
    chosen = [] if engine is None else [f"run.engine={engine}"]
    _release(config, [*(settings or []), *chosen])


@app.command
def audit(folder: Path, *, store: Path | None = None) -> None:
    """Check a published folder from its files alone; print true or false per promise.

    ```
    unjoin audit releases/breast_cancer/latest
    unjoin audit releases/patients/latest --store workspace/patients-20261127T030000Z-1a2b3c/store.duckdb
    ```

    Exit codes: 0 every promise holds, 1 one does not, 2 the folder cannot be read.

    Parameters
    ----------
    folder
        A published folder: the one with release.json.
    store
        The private store of the run, if its workspace was kept: joins within segments are checked too.
    """
    from flows.audit import audit as check  # noqa: PLC0415
    from flows.terminal import print_outcomes  # noqa: PLC0415

    verdict = check(folder, store)
    print_outcomes(verdict.promises)
    if not verdict.success:
        sys.exit(1)


@app.command
def compare(
    config: Path,
    *,
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    out: Path | None = None,
    quick: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Try strategies, guarantees, splits and numbers of fragments side by side; recommend one.

    ```
    unjoin compare release.toml
    unjoin compare release.toml --quick --set privacy.k=10 --out comparison
    ```

    Nothing is published: releases of part of the records are tried in a private workspace, and classifiers
    that learn from them are tested with the other records.

    Exit codes: 0 compared, 2 bad input or configuration, 3 nothing that was tried keeps what is asked,
    4 a step failed in a way nobody foresaw, 130 stopped by Ctrl-C.

    Parameters
    ----------
    config
        A configuration file in TOML; `unjoin init` writes one.
    settings
        Replace one value of the configuration, as section.key=value; after section.key= it is not set.
        Can be given several times.
    out
        The folder for the figures, the picture and the recommendation; unless given, one with the
        release's name in the folder "compare" beside the configuration.
    quick
        At most 10,000 records, the configured guarantee only, at most 4 fragments or the configured number.
    """
    from flows.compare import compare as side_by_side  # noqa: PLC0415
    from flows.compare_terminal import print_comparison, print_place  # noqa: PLC0415
    from flows.terminal import progress_shown  # noqa: PLC0415
    from tasks.comparing.compare_files import comparison_folder, write_comparison  # noqa: PLC0415
    from tasks.comparing.compare_settings import how_to_release  # noqa: PLC0415
    from tasks.comparing.compare_words import require_recommendation  # noqa: PLC0415
    from tasks.read_config import read_config  # noqa: PLC0415

    asked = read_config(config, settings or [])
    place = out or config.parent / "compare" / asked.output.name
    with comparison_folder(asked, place) as folder:
        with progress_shown():
            comparison = side_by_side(asked, quick=quick)
        advice = how_to_release(comparison, config, settings or [])
        print_comparison(comparison, advice)
        write_comparison(comparison, folder, advice)
        print_place(folder)
    require_recommendation(comparison)


@app.command
def init(table: Path, *, output: Path = Path("release.toml")) -> None:
    """Look at a table and write a configuration for it, with every column's role and why.

    ```
    unjoin init patients.csv
    unjoin init patients.parquet --output nightly.toml
    ```

    The class is never guessed: fill it in, then run `unjoin release`.

    Parameters
    ----------
    table
        CSV or TSV (gzip too), or Parquet.
    output
        The configuration to write; a file that exists is never overwritten.
    """
    from flows.terminal import TERMINAL  # noqa: PLC0415
    from tasks.loading.propose import write_proposal  # noqa: PLC0415

    write_proposal(table, output)
    run = shlex.join(["unjoin", "release", str(output)])
    TERMINAL.print(f"wrote {output}: fill in the class, then run: {run}", soft_wrap=True, markup=False)


def main() -> None:
    """Run the command line; a mistake of the user ends with one clear message and an exit code."""
    try:
        app(sys.argv[1:], exit_on_error=False)
    except CycloptsError:
        sys.exit(2)
    except UnjoinError as error:
        _print_error(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _print_error("stopped")
        sys.exit(130)


def _print_error(message: str) -> None:
    from flows.terminal import print_error  # noqa: PLC0415

    print_error(message)


def _release(config_path: Path, overrides: list[str]) -> None:
    """Run the release flow with the engine that its configuration names."""
    from tasks.read_config import read_config  # noqa: PLC0415

    config = read_config(config_path, overrides)
    os.environ.setdefault(
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL"
    )  # progress_shown tells instead
    from flows.release import release as flow  # noqa: PLC0415
    from flows.terminal import print_release, progress_shown  # noqa: PLC0415

    with progress_shown():
        folder = flow.fn(config) if config.run.engine == "plain" else _run_in_prefect(flow, config)
    print_release(folder)


def _run_in_prefect(flow: Callable[["Config"], Path], config: "Config") -> Path:
    """Run a flow under Prefect; what goes wrong in Prefect itself is told in one line."""
    try:
        return flow(config)
    except UnjoinError:
        raise
    except Exception as error:
        raise StepError(
            f"Prefect failed ({type(error).__name__}): see that its server answers, or add --engine plain"
        ) from error
