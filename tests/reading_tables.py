"""Reading an input without the rest of a release: names and rows, as Python values."""

import os
import signal

from tasks.reading.read_input import column_names, read_rows, recognised
from tasks.store import STORE, open_store
from tasks.table_settings import Input


def crash(_table):
    """End this process as a reader does that writes where it must not."""
    os.kill(os.getpid(), signal.SIGKILL)


def read_table(path, **settings):
    """Return the names and the rows of a table."""
    table = Input.model_validate({"path": path, **settings})
    folder = path.parent / "private"
    folder.mkdir(exist_ok=True)
    with open_store(folder / STORE) as connection:
        try:
            found = recognised(table)
            names = column_names(found)
            records = read_rows(connection, found, names, range(len(names)))
            rows = connection.execute("SELECT * FROM raw").fetchall()
            assert len(rows) == records
        finally:
            left = {file.name for file in folder.iterdir()} - {"spill"}
            assert left <= {STORE, f"{STORE}.wal"}
    return names, rows


def column_types(path, **settings):
    """Return the types that columns have once they are read."""
    table = recognised(Input.model_validate({"path": path, **settings}))
    folder = path.parent / "private"
    folder.mkdir(exist_ok=True)
    names = column_names(table)
    with open_store(folder / STORE) as connection:
        read_rows(connection, table, names, range(len(names)))
        described = connection.execute("DESCRIBE raw").fetchall()
    return dict(zip(names, (str(sql_type) for _, sql_type, *_ in described), strict=True))
