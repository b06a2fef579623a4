"""Tables of the store, written from columns."""

import duckdb
import numpy as np
import pytest

from tasks.store import write_table


@pytest.mark.parametrize(
    ("column", "stored"),
    [
        (np.arange(6)[::2], [0, 2, 4]),
        (np.arange(6, dtype=np.int32).reshape(3, 2)[:, 1], [1, 3, 5]),
        (np.array([0.5, np.nan, -0.5]), [0.5, None, -0.5]),
        (np.array([True, False, True]), [True, False, True]),
        (np.ma.masked_array([1, 2, 3], mask=[False, True, False]), [1, None, 3]),
        (np.array(["a", None, "b"], dtype=object), ["a", None, "b"]),
        ([["a"], [None, "b"], []], [["a"], [None, "b"], []]),
    ],
)
def test_columns_of_every_kind_are_stored_as_they_are(column, stored):
    with duckdb.connect() as connection:
        write_table(connection, "written", {"value": column})
        write_table(connection, "written", {"value": column}, add=True)
        found = connection.execute("SELECT value FROM written ORDER BY rowid").fetchall()
    assert [value for (value,) in found] == 2 * stored
