"""Make the seed files of the fuzz tests: python tests/make_corpus.py.

Small tables of every format with something awkward in each, configurations, hierarchies; nothing in them is
real. What fuzzing has once broken is kept beside them, as found.
"""

import gzip
import sqlite3
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pandas as pd
import pyreadstat
import zstandard

CORPUS = Path(__file__).parent / "data" / "corpus"
ROWS = 24

CONFIG = """\
[input]
path = "table.csv"
missing = ["", "?"]
[input.missing_in]
size = ["-1"]
[input.dates]
seen = "%d.%m.%Y"
[columns]
class = "group"
features = "rest"
identifiers = ["id"]
sensitive = ["finding"]
drop = ["note"]
[columns.types]
code = "categorical"
[columns.precision]
seen = "month"
[columns.orders]
finding = ["none", "mild", "severe"]
[columns.hierarchies]
code = {prefix = [2, 1]}
[privacy]
k = 3
l = 2
[fragmentation]
fragments = "auto"
[anonymization]
split = "infogain"
[output]
name = "people"
formats = ["csv"]
"""


def table():
    """Return a table with a column of every kind."""
    turn = range(ROWS)
    return pd.DataFrame(
        {
            "age": [20 + 7 * (i % 9) for i in turn],
            "size": [f"{1.5 + i % 7 / 4:.2f}" for i in turn],
            "weight": ["" if i % 9 == 8 else repr(60 + i / 8) for i in turn],
            "seen": [str(date(2024, 2, 27) + timedelta(days=i % 11)) for i in turn],
            "code": [f"0{i % 5}{i % 2}" for i in turn],
            "city": [["Bonn", "Köln, West", 'Sankt "A"', "two\nlines"][i % 4] for i in turn],
            "group": [["a", "b"][i % 2] for i in turn],
        }
    )


def write_texts(frame):
    """Write text files in several dialects and encodings."""
    text = frame.to_csv(index=False)
    plain = frame.replace("two\nlines", "two lines").replace('Sankt "A"', "Sankt A")
    for name, content in {
        "plain.csv": text.encode(),
        "marked.csv": text.encode("utf-8-sig"),
        "wide.csv": text.encode("utf-16"),
        "western.csv": text.encode("latin-1"),
        "windows.csv": text.replace("\n", "\r\n").encode(),
        "mac.csv": plain.to_csv(index=False).replace("\n", "\r").encode(),
        "semicolons.csv": frame.to_csv(index=False, sep=";").encode(),
        "quotes.csv": frame.to_csv(index=False, quotechar="'").encode(),
        "tabs.tsv": frame.to_csv(index=False, sep="\t").encode(),
        "short.csv": b"x,group\n1,a\n",
        "blank.csv": b"\n",
    }.items():
        (CORPUS / name).write_bytes(content)
    (CORPUS / "packed.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (CORPUS / "packed.csv.zst").write_bytes(zstandard.compress(text.encode()))


def write_typed(frame):
    """Write files whose columns have types."""
    typed = frame.assign(
        size=frame["size"].astype(float), seen=pd.to_datetime(frame["seen"]), flag=frame["age"] > 30
    )
    connection = duckdb.connect()
    connection.register("frame", typed)
    cells = "* REPLACE (CAST(size AS DECIMAL(6, 2)) AS size, CAST(seen AS DATE) AS seen)"
    connection.execute(f"COPY (SELECT {cells} FROM frame) TO '{CORPUS / 'typed.parquet'}'")
    (CORPUS / "table.sqlite").unlink(missing_ok=True)
    with sqlite3.connect(CORPUS / "table.sqlite") as database:
        database.execute("PRAGMA page_size = 1024")
        frame.to_sql("people", database, index=False)
    typed.to_excel(CORPUS / "table.xlsx", index=False)
    labels = {"age": {20: "twenty", 27: "more"}}
    pyreadstat.write_sav(typed, CORPUS / "table.sav", variable_value_labels=labels)
    pyreadstat.write_dta(typed.drop(columns="flag"), CORPUS / "table.dta", variable_value_labels=labels)


def write_settings():
    """Write configurations and hierarchies."""
    (CORPUS / "full.toml").write_text(CONFIG, encoding="utf-8")
    short = '[input]\npath = "t.csv"\n[columns]\nclass = "c"\nfeatures = ["x", "y"]\n[privacy]\nk = 2\n'
    (CORPUS / "short.toml").write_text(f'{short}[output]\nname = "n"\n', encoding="utf-8")
    codes = [f"{letter}{digit}" for letter in "AB" for digit in range(3)]
    lines = [f'{code};"{code[0]}, all";*\n' for code in codes]
    (CORPUS / "codes.hierarchy").write_text("".join(lines), encoding="utf-8")
    (CORPUS / "ages.hierarchy").write_bytes(b"\xef\xbb\xbf1;[1, 3[\r\n2;[1, 3[\r\n3;[3, 4[\r\n")


if __name__ == "__main__":
    CORPUS.mkdir(exist_ok=True)
    people = table()
    write_texts(people)
    write_typed(people)
    write_settings()
