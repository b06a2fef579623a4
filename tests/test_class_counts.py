"""Class counts as the gate takes them from the files."""

import duckdb
import pytest
from published_folder import ClassOf, Fragment, Range, build

from validations.class_counts import count_classes
from validations.promises import read_promises
from validations.read_groups import read_columns, read_groups


@pytest.mark.parametrize("fragments", [1, 2])
def test_each_class_value_is_counted_once(fragments, tmp_path):
    classes = [ClassOf((Range(place, place),), {"a": 5, "b": 6, "c": 7}) for place in range(9)]
    release = build([Fragment({f"x{number}": "integer"}, classes) for number in range(fragments)], k=5)
    promises = read_promises(release.write(tmp_path))
    with duckdb.connect() as connection:
        groups = []
        for number in range(1, fragments + 1):
            path = tmp_path / f"fragment_{number}.csv"
            columns = read_columns(connection, path)
            groups.append(read_groups(connection, path, columns, promises, number, scratch=tmp_path))
        counts = count_classes(connection, groups)
        assert counts.values == 3
        rows = connection.execute("SELECT DISTINCT v0, v1, v2 FROM class_counts_1").fetchall()
    assert rows == [(5, 6, 7)]
