"""Step, behind the gate: attack the written files as someone would who knows the features of persons."""

import secrets
from pathlib import Path
from typing import Any

import duckdb

from tasks.config import Config
from tasks.errors import InputError
from tasks.steps import step
from tasks.store import open_store
from validations.attacks.gains import Verdict
from validations.attacks.success import Attack
from validations.attacks.targets import draw_targets, number_of_targets
from validations.attacks.try_attacks import Attacked, try_attacks
from validations.promises import read_promises

NOTHING = Attacked((), (), (), every_record=False)


@step("attack the written files")
def attack_release(store: Path, config: Config, folder: Path) -> int:
    """Store how often attacks succeed on the files of a folder; return how many attacks there are.

    What comes of them is published, so at most half of the records are aimed at, or half of the persons where
    these are counted, by a draw that nobody can repeat: figures of all would give the last one to who knows
    the others. An attack that
    fails does not stop a release that is sound: what failed is stored, and told in the report.
    """
    with open_store(store) as connection:
        targets = min(config.evaluation.attacks, number_of_targets(connection) // 2)
    return _keep(store, folder, targets, secrets.randbits(64))


@step("attack the published files")
def attack_published(store: Path, config: Config, folder: Path) -> int:
    """Do the same for who has the original table and alone sees what comes of it: all may be aimed at."""
    return _keep(store, folder, config.evaluation.attacks, config.run.seed)


def _keep(store: Path, folder: Path, targets: int, seed: int) -> int:
    """Store what comes of attacks.

    Raises
    ------
    InputError
        If records are in no equivalence class: this is not the table that the files were made of.
    """
    attacked, failure = NOTHING, None
    if targets:
        try:
            attacked = _attacked(store, folder, targets, seed)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - its text may hold data
            failure = type(error).__name__
    with open_store(store) as connection:
        _write(connection, attacked, failure)
    return len(attacked.attacks)


def _attacked(store: Path, folder: Path, targets: int, seed: int) -> Attacked:
    with open_store(store) as connection:
        drawn = draw_targets(connection, targets, seed)
    return try_attacks(folder, read_promises(folder), drawn, seed, store.parent)


def _write(connection: duckdb.DuckDBPyConnection, attacked: Attacked, failure: str | None) -> None:
    """Make the tables `attacks` and `attack_candidates`; both are empty where nothing is attacked."""
    connection.execute("""
        CREATE OR REPLACE TABLE attacks (
            attack VARCHAR, subject VARCHAR, successes BIGINT, attempts BIGINT, success DOUBLE,
            success_low DOUBLE, success_high DOUBLE, baseline_successes BIGINT, baseline_attempts BIGINT,
            baseline DOUBLE, baseline_low DOUBLE, baseline_high DOUBLE, only_with BIGINT, only_without BIGINT,
            excess DOUBLE, excess_low DOUBLE, excess_high DOUBLE, by_chance DOUBLE, gained BOOLEAN,
            every_record BOOLEAN, failure VARCHAR
        )
    """)
    connection.execute("""
        CREATE OR REPLACE TABLE attack_candidates (
            fragment INTEGER, least DOUBLE, quarter DOUBLE, median DOUBLE, three_quarters DOUBLE,
            largest DOUBLE
        )
    """)
    judged = zip(attacked.attacks, attacked.verdicts, strict=True)
    rows = [(*_figures(each, verdict), attacked.every_record, None) for each, verdict in judged]
    rows += [(*[None] * 20, failure)] if failure else []
    _insert(connection, "attacks", rows)
    _insert(connection, "attack_candidates", [tuple(each) for each in attacked.candidates])


def _figures(each: Attack, verdict: Verdict) -> tuple[Any, ...]:
    name, subject, success, baseline, *others = each
    return (name, subject, *success, *baseline, *others, *verdict)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
