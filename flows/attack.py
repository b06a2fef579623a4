"""The audit with attacks: a published folder, attacked by someone who knows the features of some persons."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.audit import audit
from tasks.config import Config
from tasks.load import load_table
from tasks.reports.report_attacks import Attacked, read_attacks
from tasks.store import open_store
from tasks.workspace import private_store
from validations.attack_release import attack_published
from validations.attacks.targets import require_fit
from validations.gate import Verdict
from validations.promises import read_published


def audit_and_attack(
    folder: Path, config: Config, store: Path | None = None, public_key: Path | None = None
) -> tuple[Verdict, Attacked]:
    """Check a published folder as `flows.audit.audit` does, and attack it with its own files.

    Parameters
    ----------
    folder
        A published folder.
    config
        Names the table that the release was made of; says how many of its records are aimed at, at least
        one, and the seed that chooses them.
    store, public_key
        The private store of the run, if it was kept, and who is to have signed; see `flows.audit.audit`.

    Raises
    ------
    InputError
        If the folder or the store cannot be read, or the folder is not a release of this table.
    """
    with _original_table(folder, config) as table:
        verdict = audit(folder, store, public_key)
        attack_published(table, config, folder)
        with open_store(table) as connection:
            attacked = read_attacks(connection)
    return verdict, attacked or Attacked((), ())


@contextmanager
def _original_table(folder: Path, config: Config) -> Iterator[Path]:
    """Load the table into a private store, which is deleted in the end; refuse one that does not fit."""
    promises = read_published(folder)
    with private_store(config, "attacks") as store:
        load_table(store, config)
        with open_store(store) as connection:
            require_fit(connection, promises)
        yield store
