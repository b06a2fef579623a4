"""Small inputs that every release tool must survive: files that are no table, places that cannot be used."""

import gzip
import os
import shutil
import tempfile
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from case_releases import (
    CANARY,
    configuration,
    every_record_is_in,
    manifest_of,
    nothing_published,
    publish,
    read_fragments,
    refuse,
    unjoin,
    without_pictures,
    write_csv,
)

TABLE = {"x": ["1", "2"] * 20, "y": [CANARY, "b"] * 20, "class": ["a", "b"] * 20}
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01" + bytes(range(256)) * 4


def refused_in_one_line(folder, path, **sections):
    (line,) = refuse(folder, 2, path, **sections).faults
    assert line.startswith("unjoin: ")
    return line


# --- files that are no table ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, lines",
    [
        (["1,2", f"1,{CANARY}", "1,2,a"], "lines 2, 3 "),
        (["1,2,a", f"1,2,a,{CANARY}", "1,2,a"], "line 3 "),
        (["1,2,a", "1,2,a", CANARY], "line 4 "),
        (["1,2,a", "", "", ",", "1,2,a"], "line 5 "),
        ([CANARY] * 9, "lines 2, 3, 4, 5, 6 and 4 more "),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ragged_rows_are_refused_with_their_lines(tmp_path, rows, lines, end):
    text = "\n".join(["x,y,class", *rows, ""]).replace("\n", end)
    (tmp_path / "table.csv").write_bytes(text.encode())
    told = refused_in_one_line(tmp_path, tmp_path / "table.csv", input={"delimiter": ","})
    assert f"{lines}of table.csv" in told


@pytest.mark.parametrize(
    "content, told",
    [
        (b"", "is empty"),
        (b"\n\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"   \r\n", "column number 1 is blank"),
        (b"x,y,class", "no records"),
        (b"x,y,class\n", "no records"),
        (b"x,y,class\r\n\r\n\r\n", "no records"),
    ],
    ids=["empty", "blank lines", "a mark", "blanks", "a header", "and its end", "and blank lines"],
)
def test_a_file_without_records_is_refused(tmp_path, content, told):
    (tmp_path / "table.csv").write_bytes(content)
    assert told in refused_in_one_line(tmp_path, tmp_path / "table.csv")


@pytest.mark.parametrize(
    "content",
    [
        PICTURE,
        gzip.compress(b"x,y,class\n1,2,a\n", mtime=0),
        b"x,y,class\n1,\x00,a\n",
        b"x,y,class\n1,\xff\xfe\xfa\x81,a\n",
        f'x,y,class\n1,"{CANARY},a\n'.encode(),
        "x,y,class\n1,2,a\n".encode("utf-32"),
    ],
    ids=["a picture", "packed", "a NUL", "no encoding", "an open quote", "UTF-32"],
)
def test_a_file_that_is_not_text_is_refused(tmp_path, content):
    (tmp_path / "table.csv").write_bytes(content)
    assert "table.csv" in refused_in_one_line(tmp_path, tmp_path / "table.csv")


OTHERS = ["csv.gz", "csv.zst", "parquet", "xlsx", "ods", "duckdb", "sqlite"]
TEXT = f"x,class\n{CANARY},a\n".encode()


@pytest.mark.parametrize(
    "suffix, content",
    [
        *((suffix, content) for suffix in OTHERS for content in (b"", PICTURE, TEXT)),
        ("sav", PICTURE),  # files of statistics are read in a process of their own, which takes its time
        ("dta", TEXT),
    ],
    ids=lambda given: given if isinstance(given, str) else f"{len(given)} bytes",
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, suffix, content):
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(content)
    assert path.name in refused_in_one_line(tmp_path, path)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "xlsx", "sav", "duckdb"])
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_folder_and_a_missing_file_are_refused(tmp_path, suffix, is_folder):
    path = tmp_path / f"table.{suffix}"
    if is_folder:
        path.mkdir()
    assert path.name in refused_in_one_line(tmp_path, path)


@pytest.mark.parametrize(
    "content", [None, b"", PICTURE, b"[input\n", b"[input]\npath = 1\n", f"{CANARY} = 1".encode()], ids=str
)
def test_a_configuration_that_is_none_is_refused(tmp_path, content):
    path = tmp_path / "release.toml"
    if content is not None:
        path.write_bytes(content)
    for given in (path, tmp_path):
        ended = unjoin("release", given)
        assert ended.code == 2
        assert ended.faults
        assert "Traceback" not in ended.text


# --- places that cannot be used ----------------------------------------------------------------------------


@pytest.fixture
def open_folder():
    """A folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def without_privileges():
    """Be nobody for a while, where one is root, who may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A folder with a release in it; whatever a run needs has been imported by then."""
    folder = tmp_path_factory.mktemp("earlier")
    publish(folder, TABLE, repeats={"check": "off"})
    return folder


@pytest.mark.parametrize("place", ["table.csv", "releases", "workspace"])
@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions are those of POSIX")
def test_no_permission_is_one_line(earlier, open_folder, place):
    config = configuration(open_folder, write_csv(open_folder, TABLE))
    for name in ("releases", "workspace"):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(0o777)
    (open_folder / place).chmod(0)
    with without_privileges():
        ended = unjoin("release", config)
    (open_folder / place).chmod(0o777)
    assert ended.code == 2, ended.text
    (line,) = ended.faults
    assert place in line
    assert "Permission denied" in line
    assert nothing_published(open_folder)
    assert not list((open_folder / "workspace").iterdir())


@pytest.mark.parametrize("place", ["releases", "workspace"])
def test_a_file_where_a_folder_should_be_is_one_line(tmp_path, place):
    (tmp_path / place).write_text("not a folder")
    ended = unjoin("release", configuration(tmp_path, write_csv(tmp_path, TABLE)))
    assert ended.code == 2, ended.text
    (line,) = ended.faults
    assert place in line
    assert (tmp_path / place).read_text() == "not a folder"


@pytest.mark.parametrize(
    "largest", [4_096, 25_000], ids=["the store does not fit", "the report does not fit"]
)
def test_where_no_more_can_be_written_the_earlier_release_stays_and_nothing_half_written(earlier, largest):
    resource = pytest.importorskip("resource")
    before = {path: path.read_bytes() for path in (earlier / "releases").rglob("*") if path.is_file()}
    latest = (earlier / "releases" / "people" / "latest").resolve()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with without_pictures():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
        try:
            ended = unjoin("release", earlier / "release.toml")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ended.code == 4, ended.text
    (line,) = ended.faults
    assert "File too large" in line
    assert CANARY not in ended.text
    assert {path: path.read_bytes() for path in (earlier / "releases").rglob("*") if path.is_file()} == before
    assert (earlier / "releases" / "people" / "latest").resolve() == latest


# --- many columns -------------------------------------------------------------------------------------------


def test_a_table_of_a_thousand_columns_is_read_and_a_hundred_are_released(tmp_path):
    wide = {f"column {number}": [str((row * number) % 7) for row in range(40)] for number in range(1000)}
    dropped = [name for place, name in enumerate(wide) if place % 10]
    folder, _ = publish(tmp_path, {**wide, "class": ["a", "b"] * 20}, columns={"drop": dropped})
    (fragment,) = read_fragments(folder)
    assert len(fragment.features) == 100
    assert every_record_is_in(fragment, {name: [*map(Decimal, of)] for name, of in wide.items()})
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f"column {number}" in report for number in range(0, 1000, 10))
    assert manifest_of(folder)["suppressed_records"] == 0


def test_faults_of_many_columns_are_told_together_and_cut_short(tmp_path):
    wide = {f"column {number}": [f"{CANARY}{row}" for row in range(40)] for number in range(60)}
    faults = refuse(tmp_path, 2, {**wide, "class": ["a", "b"] * 20}).faults
    assert len(faults) == 21
    assert "40 more" in faults[-1]
    assert all(f"'column {number}'" in line for number, line in enumerate(faults[:-1]))
