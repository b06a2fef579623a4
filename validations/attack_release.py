"""Step, behind the gate: attack the written files as someone would who knows the features of persons."""

from pathlib import Path
from typing import Any

import duckdb

from tasks.config import Config
from tasks.steps import step
from tasks.store import open_store
from validations.attacks.success import Attack, Rate
from validations.attacks.targets import draw_targets
from validations.attacks.try_attacks import Attacked, try_attacks
from validations.promises import read_promises

NOTHING = Attacked((), ())


@step("attack the written files")
def attack_release(store: Path, config: Config, folder: Path) -> int:
    """Store how often attacks succeed on the files of a folder; return how many attacks there are.

    An attack that fails does not stop a release that is sound: what failed is stored, and told in the report.
    """
    attacked, failure = NOTHING, None
    targets = config.evaluation.attacks
    if targets:
        try:
            attacked = _attacked(store, folder, targets, config.run.seed)
        except Exception as error:  # noqa: BLE001 - told in the report; its text may hold data
            failure = type(error).__name__
    with open_store(store) as connection:
        _write(connection, attacked, failure)
    return len(attacked.attacks)


def _attacked(store: Path, folder: Path, targets: int, seed: int) -> Attacked:
    with open_store(store) as connection:
        drawn = draw_targets(connection, targets, seed)
    return try_attacks(folder, read_promises(folder), drawn, seed)


def _write(connection: duckdb.DuckDBPyConnection, attacked: Attacked, failure: str | None) -> None:
    """Make the tables `attacks` and `attack_candidates`; both are empty where nothing is attacked."""
    connection.execute("""
        CREATE OR REPLACE TABLE attacks (
            attack VARCHAR, subject VARCHAR, successes BIGINT, attempts BIGINT, success DOUBLE,
            success_low DOUBLE, success_high DOUBLE, baseline_successes BIGINT, baseline_attempts BIGINT,
            baseline DOUBLE, baseline_low DOUBLE, baseline_high DOUBLE, excess DOUBLE, excess_low DOUBLE,
            excess_high DOUBLE, failure VARCHAR
        )
    """)
    connection.execute("""
        CREATE OR REPLACE TABLE attack_candidates (
            fragment INTEGER, least DOUBLE, quarter DOUBLE, median DOUBLE, three_quarters DOUBLE,
            largest DOUBLE
        )
    """)
    rows = [_row(each) for each in attacked.attacks]
    rows += [(*[None] * 15, failure)] if failure else []
    _insert(connection, "attacks", rows)
    _insert(connection, "attack_candidates", [tuple(each) for each in attacked.candidates])


def _row(each: Attack) -> tuple[Any, ...]:
    rates: list[Rate] = [each.success, each.baseline]
    figures = [figure for rate in rates for figure in rate]
    return (each.name, each.subject, *figures, each.excess, each.excess_low, each.excess_high, None)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
