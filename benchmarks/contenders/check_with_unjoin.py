"""Verify k, l and t of a published Parquet file as an audit does: check_with_unjoin.py FILE FEATURES.

All features are whole numbers; the class is the last column.
"""

import sys
from pathlib import Path

import duckdb
from costs import measured, tell

from validations.groups import class_sizes
from validations.promises import FragmentPromise, Promises
from validations.protected_values import protected_values
from validations.protection import Closeness, Diversity, ProtectedPromise
from validations.read_groups import read_columns, read_groups


def verify(path: Path, promises: Promises) -> tuple[int, float | None, float | None]:
    """Return the smallest class, the fewest class values of one and the largest distance of one."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET GLOBAL disabled_optimizers = 'common_subexpressions'")
        groups = read_groups(
            connection, path, read_columns(connection, path), promises, 1, scratch=path.parent
        )
        (values,) = protected_values(groups, promises, 1)
        return int(class_sizes(groups).min()), values.level, values.distance


def promised(path: Path, features: int) -> Promises:
    """Return promises that ask for k, l and t."""
    names = tuple(f"f{number}" for number in range(features))
    return Promises(
        records=0,
        class_attribute="class",
        class_values="per_record",
        k=1,
        guarantee="join",
        delta=None,
        enforcement="none",
        features=tuple((name, "integer") for name in names),
        fragments=(FragmentPromise(csv="", parquet=path.name, features=names),),
        diversity=Diversity("distinct", 1, None),
        closeness=Closeness(1, "equal"),
        protected=(ProtectedPromise("class", None, None, None),),
    )


def main() -> None:
    """Verify the file, tell what was found and what it cost."""
    path = Path(sys.argv[1])
    promises = promised(path, int(sys.argv[2]))
    (k, l, t), cost = measured(lambda: verify(path, promises))  # noqa: E741 - the model's own letter
    tell(cost, k=k, l=l, t=t)


if __name__ == "__main__":
    main()
