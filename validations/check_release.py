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
    return verdict


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


def require(verdict: Verdict) -> None:
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
        raise GateError(f"nothing was published, because the written files break a promise\n{reasons}")
