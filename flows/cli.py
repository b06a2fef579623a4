"""The command line. Each command imports what it needs, so that help is there at once."""

import atexit
import gc
import json
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter, validators

from tasks.errors import ConfigurationError, UnjoinError
from tasks.version import __version__

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")  # its idle threads keep a core busy for less long

Engine = Literal["prefect", "plain"]
ReleaseEngine = Literal["prefect", "plain", "dask"]
Log = Literal["text", "json"]

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
    engine: ReleaseEngine | None = None,
    log: Log = "text",
) -> None:
    """Release a table: read, fragment, anonymize, check, and only then publish.

    ```
    unjoin release release.toml
    unjoin release release.toml --set privacy.k=10 --set output.name=trial
    ```

    Exit codes: 0 published, 1 the gate failed, 2 bad input or configuration, 3 infeasible,
    4 a step failed in a way nobody foresaw, 130 stopped by Ctrl-C, 143 by another program.

    Parameters
    ----------
    config
        A configuration file in TOML; `unjoin init` writes one.
    settings
        Replace one value of the configuration, as section.key=value; after section.key= it is not set.
        Can be given several times.
    engine
        Short for --set run.engine=...: "prefect", "plain" or "dask".
    log
        What the standard error output holds: "text" for a person, or "json", an object a line for a program.
    """
    chosen = [] if engine is None else [f"run.engine={engine}"]
    _release(config, [*(settings or []), *chosen], log)


@app.command
def parameters(
    config: Path,
    *,
    settings: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
) -> None:
    """Print a configuration as the parameters of a Prefect deployment, in JSON, with absolute paths.

    ```
    prefect --no-prompt deploy --name nightly --params "$(unjoin parameters release.toml)"
    prefect deployment run release/nightly --params "$(unjoin parameters release.toml --set privacy.k=10)"
    ```

    Exit codes: 0 printed, 2 bad configuration.

    Parameters
    ----------
    config
        A configuration file in TOML; `unjoin init` writes one.
    settings
        Replace one value of the configuration, as section.key=value; after section.key= it is not set.
        Can be given several times.
    """
    from tasks.read_config import read_config  # noqa: PLC0415

    asked = read_config(config, settings or [])
    print(json.dumps({"config": asked.model_dump(mode="json", by_alias=True, exclude_unset=True)}))  # noqa: T201


@app.command
def audit(
    folder: Path,
    *,
    store: Path | None = None,
    public_key: Path | None = None,
    attacks: Path | None = None,
    targets: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=10_000))] = None,
) -> None:
    """Check a published folder from its files alone; print true or false per promise.

    ```
    unjoin audit releases/breast_cancer/latest
    unjoin audit releases/patients/latest --store workspace/patients-20261127T030000Z-1a2b3c/store.duckdb
    unjoin audit releases/patients/latest --public-key public.pem
    unjoin audit releases/patients/latest --attacks release.toml
    ```

    With --attacks the files are attacked too, as someone would who has nothing else and knows the features
    of some persons. No promise is about how often that succeeds, so it does not change the exit code.

    Exit codes: 0 every promise holds, 1 one does not, 2 the folder or the table cannot be read or do not
    belong together, 4 the attacks could not be tried.

    Parameters
    ----------
    folder
        A published folder: the one with release.json.
    store
        The private store of the run, if its workspace was kept: joins within segments, and persons, are
        checked too.
    public_key
        The public key of whoever is to have published the folder: a further line says whether that key
        signed it as it is. Get the key from a source that is not the folder.
    attacks
        The configuration of the release, which names the original table: attack the files as well.
    targets
        With --attacks: how many records of the table are aimed at; unless given, as many as the
        configuration says in evaluation.attacks, or 1000 if that is 0.
    """
    from flows.audit import audit as check  # noqa: PLC0415
    from flows.terminal import print_outcomes  # noqa: PLC0415

    if attacks is not None:
        from flows.attack_terminal import attack_and_print  # noqa: PLC0415

        verdict = attack_and_print(folder, attacks, store, public_key, targets)
    elif targets is not None:
        raise ConfigurationError("--targets: is used with --attacks only")
    else:
        verdict = check(folder, store, public_key)
        print_outcomes(verdict.promises)
    if not verdict.success:
        sys.exit(1)


@app.command
def history(place: Path, *, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> None:
    """List what was published when, under which promises, and whether its files are as they were then.

    ```
    unjoin history releases/patients
    unjoin history release.toml --json
    ```

    A version is as registered, changed (a file of it is not what it was), gone, or not registered.

    Exit codes: 0 what is there is as registered, 1 a version is changed or not registered, 2 there are no
    releases, or the register cannot be read or is damaged.

    Parameters
    ----------
    place
        The folder with all versions of a release, or the configuration that publishes there.
    as_json
        Print all that the register says, as JSON.
    """
    from flows.history_terminal import is_sound, print_as_json, print_history, read_history  # noqa: PLC0415

    listed = read_history(place)
    if as_json:
        print_as_json(listed)
    else:
        print_history(listed)
    if not is_sound(listed):
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
def experiments(
    *,
    data: Annotated[list[str] | None, Parameter(negative=())] = None,
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    quick: Annotated[bool, Parameter(negative=())] = False,
    out: Path = Path("experiments"),
    files: Path | None = None,
    engine: Engine = "plain",
) -> None:
    """Reproduce the paper's figures: tables, pictures, and a page that compares them with its text.

    ```
    unjoin experiments --quick
    unjoin experiments --data musk --data texture --seeds 3 --out figures --files downloads
    ```

    Results are kept in the folder as they are found: after an interruption the same command goes on where
    it was. Data sets: musk (read from files or downloaded), and texture, satimage, optdigits, spambase, which
    are in a package of their own: docs/experiments.md says how to get both.

    Exit codes: 0 done, 2 a data set or the folder cannot be used, 4 some points failed, and the page shows
    the others, or a step failed in a way nobody foresaw, 130 stopped by Ctrl-C.

    Parameters
    ----------
    data
        A data set. Can be given several times; all, or two with --quick, unless given.
    seeds
        How many random choices of features; 5, or 1 with --quick, unless given.
    quick
        Few points, in two minutes on two cores.
    out
        The folder for results, figures, pictures and the page.
    files
        The folder where the files of Musk are, or are kept once downloaded; the user's cache unless given.
    engine
        "plain" runs points in processes of their own; "prefect" records each of them in Prefect.
    """
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")  # points_shown tells instead
    from flows.evaluate import experiments as flow  # noqa: PLC0415
    from flows.evaluate_terminal import points_shown, print_overviews, print_place  # noqa: PLC0415
    from flows.in_prefect import run_in_prefect  # noqa: PLC0415
    from tasks.experiments.datasets import DATASETS, known_names  # noqa: PLC0415
    from tasks.experiments.points import QUICK_DATA, QUICK_SEEDS, SEEDS  # noqa: PLC0415

    names = known_names(data or (QUICK_DATA if quick else DATASETS))
    number = seeds or (QUICK_SEEDS if quick else SEEDS)
    with points_shown():
        if engine == "plain":
            overviews = flow.fn(names, number, out, files, quick=quick)
        else:
            overviews = run_in_prefect(flow, names, number, out, files, quick=quick)
    print_overviews(overviews)
    print_place(out)


@app.command
def keys(folder: Path, *, passphrase_from: str | None = None) -> None:
    """Make a pair of keys: a private one to sign releases with, and the public one that others check with.

    ```
    unjoin keys signing
    unjoin keys signing --passphrase-from UNJOIN_PASSPHRASE
    ```

    Then set `private_key = "signing/private.pem"` in [signing] of the configuration.

    Exit codes: 0 made, 2 there are keys already, which are never overwritten, or they cannot be written.

    Parameters
    ----------
    folder
        Gets private.pem, which only its owner can read, and public.pem.
    passphrase_from
        The environment variable that holds a passphrase for the private key.
    """
    from flows.terminal import print_keys  # noqa: PLC0415
    from tasks.signing.make_keys import make_keys  # noqa: PLC0415
    from tasks.signing.private_key import from_environment  # noqa: PLC0415

    secret = None if passphrase_from is None else from_environment(passphrase_from, "--passphrase-from")
    print_keys(make_keys(folder, secret))


@app.command
def init(
    table: Path,
    *,
    output: Path = Path("release.toml"),
    sheet: str | None = None,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> None:
    """Look at a table and write a configuration for it, with every column's role and why.

    ```
    unjoin init patients.csv
    unjoin init patients.xlsx --sheet "Ward 3" --output nightly.toml
    unjoin init clinic.duckdb --query "SELECT * FROM stays WHERE year = 2026"
    ```

    The class is never guessed: fill it in, then run `unjoin release`.

    Parameters
    ----------
    table
        A text file such as CSV or TSV (gzip and zstd too), Parquet, Excel, SPSS or Stata, or a DuckDB or
        SQLite database.
    output
        The configuration to write; a file that exists is never overwritten.
    sheet
        Of a workbook with several.
    query
        The SELECT that gives the table of a database.
    delimiter
        Between the cells of a text file; found unless given.
    encoding
        Of a text file; found unless given.
    """
    from flows.terminal import TERMINAL  # noqa: PLC0415
    from tasks.proposing.propose import write_proposal  # noqa: PLC0415
    from tasks.read_config import parse_input  # noqa: PLC0415

    given = {"sheet": sheet, "query": query, "delimiter": delimiter, "encoding": encoding}
    settings = {name: value for name, value in given.items() if value is not None}
    write_proposal(parse_input({"path": table, **settings}), output)
    run = shlex.join(["unjoin", "release", str(output)])
    TERMINAL.print(f"wrote {output}: fill in the class, then run: {run}", soft_wrap=True, markup=False)


@app.command
def clean(
    place: Path,
    *,
    older_than: Annotated[float, Parameter(validator=validators.Number(gte=0))] = 0,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Remove the private folders that runs have left: they hold the table.

    ```
    unjoin clean release.toml --dry-run
    unjoin clean workspace --older-than 30
    ```

    The folder of a run that is not at its end is never removed, nor is anything that was published. In a
    terminal it asks first.

    Exit codes: 0 done, 2 the configuration cannot be read, or a folder cannot be removed.

    Parameters
    ----------
    place
        A configuration: what runs of this release have left, in its workspace and beside its releases. Or a
        workspace: what all runs have left there.
    older_than
        Only what has not been changed for so many days.
    dry_run
        Show what would be removed, and remove nothing.
    """
    from flows.clean import clean_up  # noqa: PLC0415

    clean_up(place, older_than, dry_run=dry_run)


class Terminated(KeyboardInterrupt):
    """Another program asked this one to end."""


def _terminate(*_: object) -> None:
    raise Terminated


def main() -> None:
    """Run the command line; a mistake of the user ends with one clear message and an exit code."""
    before = signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(50_000, 10, 10)  # Great Expectations makes a million objects, and none is garbage
    atexit.register(gc.freeze)  # nor does the interpreter have to look through them when it ends: a second
    try:
        app(sys.argv[1:], exit_on_error=False)
    except CycloptsError:
        sys.exit(2)
    except UnjoinError as error:
        _print_error(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt as stopped:
        _print_error("stopped")
        sys.exit(143 if isinstance(stopped, Terminated) else 130)
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_error(message: str) -> None:
    from flows.terminal import print_error  # noqa: PLC0415

    print_error(message)


def _release(config_path: Path, overrides: list[str], log: Log = "text") -> None:
    """Run the release flow with the engine that its configuration names."""
    from tasks.read_config import read_config  # noqa: PLC0415

    config = read_config(config_path, overrides)
    os.environ.setdefault(
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL"
    )  # progress_shown tells instead
    os.environ.setdefault(
        "PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL"
    )  # a lost server is told once, at the end
    from flows.engines import release_with_engine  # noqa: PLC0415
    from flows.terminal import (  # noqa: PLC0415
        print_release,
        print_unchanged,
        progress_shown,
        steps_logged,
    )
    from tasks.register import published_versions  # noqa: PLC0415

    earlier = published_versions(config.output.directory / config.output.name)
    with steps_logged() if log == "json" else progress_shown():
        folder = release_with_engine(config)
    if folder.name in earlier:
        print_unchanged(folder)
    else:
        print_release(folder)
