"""Step: the gate of a release: what was asked of the run, against what its files hold."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tasks.config import Config, Privacy
from tasks.errors import GateError
from tasks.events import counted
from tasks.memory import memory_of_gate
from tasks.steps import step
from tasks.store import limited_memory, open_store
from validations.cell_grammar import cell_kind
from validations.gate import Verdict, check_folder, write_validation
from validations.promises import Promises, read_promises
from validations.protection import Closeness, Diversity, ProtectedPromise


@step("check the written files", closed=True)
def check_release(store: Path, config: Config, staging: Path) -> Verdict:
    """Hold the staged files against what the run was asked for, and keep the evidence beside them."""
    promises = promised_by_run(store, config, staging)
    with limited_memory(memory_of_gate(config.run)):
        verdict = check_folder(staging, promises, store)
    write_validation(verdict, staging)
    _store(store, verdict)
    counted(promises=len(verdict.promises), broken=sum(not each.success for each in verdict.promises))
    return verdict


def _store(store: Path, verdict: Verdict) -> None:
    """Keep what the gate found as the tables `validations` and `joins`."""
    figures = verdict.figures
    rows = [(o.name, o.asked, o.achieved, o.success, o.query) for o in verdict.promises]
    with open_store(store) as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE validations "
            "(promise VARCHAR, asked VARCHAR, achieved VARCHAR, holds BOOLEAN, query VARCHAR)"
        )
        connection.executemany("INSERT INTO validations VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute(
            "CREATE OR REPLACE TABLE joins (smallest_join BIGINT, smallest_records BIGINT, choices VARCHAR)"
        )
        connection.execute(
            "INSERT INTO joins VALUES (?, ?, ?)",
            [figures.smallest_join, figures.smallest_records, str(figures.choices)],
        )


def promised_by_run(store: Path, config: Config, staging: Path) -> Promises:
    """Return the promises of a run: the manifest's, but with all that was asked from where it was asked.

    Raises
    ------
    GateError
        If the manifest states another order of values than was asked.
    """
    with open_store(store) as connection:
        ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
        columns = connection.execute(
            "SELECT name, role, kind, scale FROM columns ORDER BY position"
        ).fetchall()
    stated = read_promises(staging)
    return replace(
        stated,
        records=records,
        class_attribute=config.columns.class_attribute,
        k=config.privacy.k,
        guarantee=config.privacy.guarantee,
        delta=config.privacy.delta,
        enforcement=config.privacy.enforcement,
        features=tuple(
            (name, _cell_kind(config, name, kind, scale))
            for name, role, kind, scale in columns
            if role == "feature"
        ),
        diversity=_diversity(config.privacy),
        closeness=_closeness(config.privacy),
        protected=_protected(stated, config, [name for name, *_ in columns]),
        join_scope=config.join_scope,
        counts_persons=config.columns.entity is not None,
        max_information_loss=config.limits.max_information_loss,
        max_changed_class_values=config.limits.max_changed_class_values,
    )


def _cell_kind(config: Config, name: str, kind: str, scale: int) -> str:
    """Return the kind of a feature's cells, dates as exact and values in groups as was asked."""
    precision = config.columns.precision.get(name, "day")
    return cell_kind(kind, scale, precision, hierarchy=name in config.columns.hierarchies)


def _diversity(privacy: Privacy) -> Diversity | None:
    return None if privacy.l is None else Diversity(privacy.l_model, privacy.l, privacy.c)


def _closeness(privacy: Privacy) -> Closeness | None:
    return None if privacy.t is None else Closeness(privacy.t, privacy.t_distance)


def _protected(stated: Promises, config: Config, names: Sequence[str]) -> tuple[ProtectedPromise, ...]:
    """Return the class and the sensitive attributes that were asked for; hierarchies are as stated."""
    if not config.privacy.protects_values:
        return ()
    sensitive = sorted(config.columns.sensitive, key=names.index)
    known = {each.column: each for each in stated.protected}
    protected = tuple(
        known.get(name, ProtectedPromise(name, None, None, None))
        for name in (config.columns.class_attribute, *sensitive)
    )
    for each in protected:
        asked = config.columns.orders.get(each.column)
        if (each.order is None) != (asked is None) or not _is_part(each.order or (), asked or ()):
            raise GateError(f"column {each.column!r}: release.json states another order than was asked for")
    return protected


def _is_part(order: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether an order names values in the order that was asked."""
    remaining = iter(asked)
    return all(value in remaining for value in order)


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
            f"The rejected files are in {store.parent}: see there, or ask for another enforcement, k, l, t "
            "or limit"
        )
