"""Step 8: the gate of a release: what was asked of the run, against what its files hold."""

from dataclasses import replace
from pathlib import Path

from tasks.config import Config
from tasks.errors import GateError
from tasks.steps import step
from tasks.store import open_store
from validations.gate import Verdict, check_folder, write_validation
from validations.promises import Promises, read_promises


@step("check the written files")
def check_release(store: Path, config: Config, staging: Path) -> Verdict:
    """Hold the staged files against what the run was asked for, and keep the evidence beside them."""
    verdict = check_folder(staging, promised_by_run(store, config, staging))
    write_validation(verdict, staging)
    _store(store, verdict)
    return verdict


def _store(store: Path, verdict: Verdict) -> None:
    """Keep what the gate found as the tables `validations` and `joins`."""
    figures = verdict.figures
    rows = [(o.name, o.asked, o.achieved, o.success, o.query) for o in verdict.promises]
    with open_store(store) as connection:
        connection.execute(
            "CREATE TABLE validations "
            "(promise VARCHAR, asked VARCHAR, achieved VARCHAR, holds BOOLEAN, query VARCHAR)"
        )
        connection.executemany("INSERT INTO validations VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute(
            "CREATE TABLE joins (smallest_join BIGINT, smallest_records BIGINT, choices VARCHAR)"
        )
        connection.execute(
            "INSERT INTO joins VALUES (?, ?, ?)",
            [figures.smallest_join, figures.smallest_records, str(figures.choices)],
        )


def promised_by_run(store: Path, config: Config, staging: Path) -> Promises:
    """Return the promises of a run: the manifest's, but with all that was asked from where it was asked."""
    with open_store(store) as connection:
        ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
        columns = connection.execute(
            "SELECT name, kind FROM columns WHERE role = 'feature' ORDER BY position"
        ).fetchall()
    return replace(
        read_promises(staging),
        records=records,
        class_attribute=config.columns.class_attribute,
        k=config.privacy.k,
        guarantee=config.privacy.guarantee,
        delta=config.privacy.delta,
        enforcement=config.privacy.enforcement,
        features=tuple(columns),
        max_information_loss=config.limits.max_information_loss,
        max_changed_class_values=config.limits.max_changed_class_values,
    )


def require(store: Path, verdict: Verdict) -> None:
    """Refuse to go on unless every promise holds.

    Raises
    ------
    GateError
        Naming each broken promise, what was asked and what the files hold.
    """
    broken = [outcome for outcome in verdict.promises if not outcome.success]
    if not verdict.success:
        reasons = "\n".join(
            f"{outcome.name}: asked {outcome.asked}, found {outcome.achieved}" for outcome in broken
        )
        raise GateError(
            f"nothing was published, because the written files break a promise\n{reasons}\n"
            f"The rejected files are in {store.parent}: see there, or ask for another enforcement, k or limit"
        )
