"""The data dictionary says of each column what its published cells say."""

import html
import json
import re

import duckdb
import pandas as pd
import pytest
from made_up_release import made_up
from report_pages import Page
from report_releases import CANARIES, SENSITIVE, VARIANTS, published

from tasks.partitions.cells import CategoryCell, parse_cell
from tasks.read_config import parse_config
from tasks.reports.dictionary import read_dictionary
from tasks.reports.page import render_report
from tasks.reports.pictures import visible_text
from tasks.reports.settings import stated_settings


def share_in_words(share):
    return f"{int(share * 1000 + 1e-9) / 10:.1f} %".replace(".0 %", " %")


def exact(cell):
    if isinstance(cell, CategoryCell):
        return len(cell.values) + cell.missing == 1
    return cell.lower is None or (cell.lower == cell.upper and not cell.missing)


def rows_by_hand(folder, manifest):
    """Yield the end of each column's line: different cells, share of exact ones, width, missing."""
    kinds = {column["name"]: (column["kind"], column.get("scale", 0)) for column in manifest["columns"]}
    loss = manifest["measures"]["information_loss"]["features"]
    files = [
        pd.read_csv(folder / entry["csv"], dtype=str, keep_default_na=False)
        for entry in manifest["fragments"]
    ]
    for entry, cells in zip(manifest["fragments"], files, strict=True):
        for name in entry["features"]:
            parsed = [parse_cell(text, *kinds[name]) for text in cells[name]]
            missing = any(cell.missing for cell in parsed)
            yield name, cells[name].nunique(), sum(map(exact, parsed)) / len(parsed), loss[name], missing
        for name in entry["sensitive"]:
            yield name, cells[name].replace("", None).nunique(), 1.0, None, (cells[name] == "").any()
    classes = pd.concat([cells[manifest["class"]] for cells in files]).replace("", None)
    yield manifest["class"], classes.nunique(), classes.notna().mean(), None, classes.isna().any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_dictionary_says_what_the_files_hold(variant):
    folder, _ = published(variant)
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    page = (folder / "report.html").read_text(encoding="utf-8")
    text = Page(page).text.partition("Every published column.")[2]
    for name, different, share, width, missing in rows_by_hand(folder, manifest):
        end = f"{different:,} {share_in_words(share)} {'as it is' if width is None else f'{width:.3f}'}"
        end += " no" if not missing else " blanks" if name == manifest["class"] else " occurs"
        shown = " ".join(visible_text(name).split())
        assert re.search(rf"{re.escape(shown)} .{{,200}}? {re.escape(end)}", text), (name, end)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_category_and_no_number_of_the_table_is_in_the_page(variant):
    folder, table = published(variant)
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    words = " ".join(Page(re.sub(r"<(svg|pre)\b.*?</\1>", "", page, flags=re.DOTALL)).words)
    stated = (folder / "release.json").read_text(encoding="utf-8")
    if variant == "demo":
        values = [str(value) for value in table["worst area"] if value > 1000]
    else:
        values = [*CANARIES, *(str(value) for value in table["it's $x_1$"])]
    assert not [value for value in values if value in words or value in stated]


def test_the_class_of_released_groups_is_told_as_theirs():
    folder, _ = published("per_class")
    text = Page((folder / "report.html").read_text(encoding="utf-8")).text
    assert "one of the class values of its group of records; a blank one says nothing of the record." in text
    assert "of the class, the share of records whose cell is not blank" in text


def test_sensitive_attributes_are_in_the_dictionary():
    folder, _ = published("diverse")
    text = Page((folder / "report.html").read_text(encoding="utf-8")).text
    shown = " ".join(visible_text(SENSITIVE).split())
    assert re.search(rf"{re.escape(shown)} [12] sensitive text 3", text)


def test_a_long_dictionary_is_folded():
    page = render_report(made_up([f"x{place}" for place in range(40)]))
    assert "<details><summary>Show the 41 columns</summary>" in page
    assert "Show the 9 columns" not in render_report(made_up([f"x{place}" for place in range(8)]))


def settings(**sections):
    return parse_config(
        {
            "input": {"path": "/secret/place.csv"},
            "columns": {"class": "c", "features": "rest"},
            "privacy": {"k": 5},
            "output": {"name": "people", "directory": "/secret/out"},
            "run": {"seed": 12345},
        }
        | sections
    )


def test_settings_that_are_no_secret_are_stated():
    assert stated_settings(settings()) == {
        "privacy.k": 5,
        "privacy.guarantee": "join",
        "privacy.enforcement": "min_distortion",
        "fragmentation.fragments": 2,
        "fragmentation.bins": 10,
        "anonymization.algorithm": "mondrian",
        "anonymization.mode": "strict",
        "anonymization.split": "median",
        "anonymization.bounds": "tight",
    }


def test_settings_of_l_and_t_are_stated_where_they_are_used():
    asked = settings(privacy={"k": 5, "l": 2, "t": 0.3}, segmentation={"min_segment": 777})
    stated = stated_settings(asked)
    assert {name: stated[f"privacy.{name}"] for name in ("l", "l_model", "t", "t_distance")} == {
        "l": 2,
        "l_model": "distinct",
        "t": 0.3,
        "t_distance": "equal",
    }
    assert stated["privacy.strict_segments"] is False
    assert "777" not in str(stated)


def test_no_secret_is_stated():
    text = str(stated_settings(settings()))
    assert not [secret for secret in ("12345", "secret", "people") if secret in text]


def test_what_cells_of_every_kind_say_is_told_from_what_is_published():
    date, whole = {"kind": "date", "precision": "month"}, {"kind": "integer"}
    columns = {"d": date, "n": {"kind": "fixed", "scale": 2, "label": "costs"}, "g": {"kind": "categorical"}}
    columns["one"] = columns["wide"] = whole
    columns["h"] = columns["root"] = {"kind": "categorical", "hierarchy": {"made": "prefix", "prefix": [1]}}
    manifest = {
        "fragments": [{"features": list(columns), "sensitive": []}],
        "columns": [{"name": name, "fragment": 1, **column} for name, column in columns.items()],
        "measures": {"information_loss": {"features": dict.fromkeys(columns, 0.5)}},
        "class": "class",
    }
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE published_1 AS
                SELECT * FROM (VALUES (0, '-a', 3), (1, '-a', 1)) AS t(ec, class_value, records);
            CREATE TABLE typed_regions_1 AS SELECT
                {'lower': DATE '2024-02-01', 'upper': upper, 'missing': false} AS f1,
                {'lower': 1.50::DECIMAL(18, 2), 'upper': 1.50::DECIMAL(18, 2), 'missing': missing} AS f2,
                names AS f3, {'lower': 5, 'upper': 5, 'missing': false} AS f4,
                {'lower': 5, 'upper': 6, 'missing': false} AS f5, groups AS f6, ['*'] AS f7
            FROM (VALUES (DATE '2024-02-29', false, ['=x'], ['a1']),
                         (DATE '2024-03-31', true, ['a', NULL], ['a*'])) AS t(upper, missing, names, groups);
            CREATE TABLE hierarchies AS
                SELECT unnest(['h', 'h', 'root']) AS "column", unnest(['a1', 'a2', 'b']) AS value
        """)
        told = {entry.name: entry for entry in read_dictionary(connection, manifest)}
    assert {name: entry.exact for name, entry in told.items()} == {
        "d": 0.75,
        "n": 0.75,
        "g": 0.75,
        "one": 1,
        "wide": 0,
        "h": 0.75,
        "root": 0,
        "class": 1,
    }
    assert [name for name, entry in told.items() if entry.missing] == ["n", "g"]
    assert [name for name, entry in told.items() if entry.constant] == ["one", "class"]
    assert [name for name, entry in told.items() if entry.formula] == ["g", "class"]
    assert (told["d"].holds, told["n"].holds, told["n"].label) == (
        "months",
        "numbers with 2 decimals",
        "costs",
    )
