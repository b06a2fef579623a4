"""Musk: every source gives the paper's rows in their order, or is refused; a download is whole or nothing."""

import gzip
import hashlib
import http.server
import io
import signal
import socket
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tasks.errors import ConfigurationError, InputError
from tasks.experiments import download, musk_files
from tasks.experiments.datasets import load_dataset
from tasks.experiments.musk import CHECKED, PAPER, Edition, load_musk

SAMPLE = Path(__file__).parent / "data" / "musk"  # made up: 9 rows of clean2, 4 of clean1
SHARED = Path(__file__).parents[1] / "../shared/data/musk.csv.gz"
TRAINING = 6
CLEAN2, CLEAN1 = "/75/musk+version+2.zip", "/74/musk+version+1.zip"


def sample_rows():
    lines = [
        line.split(",")
        for name in ("clean2.data", "clean1.data")
        for line in (SAMPLE / name).read_text().splitlines()
    ]
    values = np.array([[int(cell) for cell in line[2:168]] for line in lines])
    return values, ["musk" if line[168] == "1." else "non-musk" for line in lines]


def as_table(features=range(1, 167)):
    """The sample as one table with a header: what a person would write from the two files."""
    lines = [",".join(["part", *(f"f{number}" for number in features), "class"])]
    for row, (values, label) in enumerate(zip(*sample_rows(), strict=True)):
        cells = [str(values[number - 1]) for number in features]
        lines.append(",".join(["train" if row < TRAINING else "test", *cells, label]))
    return "\n".join(lines) + "\n"


HELD = [int(feature[1:]) for feature in CHECKED]
EDITION = Edition(TRAINING, hashlib.sha256(as_table(HELD).encode()).hexdigest())


def zipped(name, content):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("Index", "made up")
        members.writestr(name, content)
    return archive.getvalue()


def packed(name, folder=""):
    """The zip of a part, as the repository has it."""
    return zipped(folder + name, (SAMPLE / name).read_bytes())


def holds_the_sample(dataset):
    values, classes = sample_rows()
    assert dataset.name == "musk"
    assert dataset.features == tuple(f"f{number}" for number in range(1, 167))
    assert_array_equal(dataset.values, values)
    assert dataset.values.dtype == np.int64
    assert list(dataset.classes) == classes
    assert list(dataset.test) == [row >= TRAINING for row in range(13)]
    return True


@pytest.fixture
def lzw():
    return pytest.importorskip("unlzw3")


def test_the_checked_features_are_134():
    assert len(CHECKED) == 134
    assert len(set(CHECKED)) == 134


def test_the_shared_table_is_the_paper_s():
    if not SHARED.exists():
        pytest.skip("musk.csv.gz is not here")
    dataset = load_dataset("musk", SHARED.parent)
    assert dataset.features == CHECKED
    assert dataset.values.shape == (7074, 134)
    assert dataset.values.dtype == np.int64
    musk = dataset.classes == "musk"
    counts = [
        np.count_nonzero(part & kind) for part in (~dataset.test, dataset.test) for kind in (musk, ~musk)
    ]
    assert counts == [1017, 3983, 207, 1867]
    assert_array_equal(np.flatnonzero(~dataset.test), np.arange(5000))
    assert hashlib.sha256(gzip.decompress(SHARED.read_bytes())).hexdigest() == PAPER.sha256


def test_files_of_all_features_hold_the_paper_s_table(tmp_path):
    if not SHARED.exists():
        pytest.skip("musk.csv.gz is not here")
    rows = [line.split(",") for line in gzip.decompress(SHARED.read_bytes()).decode().splitlines()]
    place = {feature: column for column, feature in enumerate(rows[0])}
    lines = []
    for row in rows[1:]:
        cells = [row[place[f"f{number}"]] if f"f{number}" in place else "0" for number in range(1, 167)]
        lines.append(",".join(["a", "b", *cells, {"musk": "1.", "non-musk": "0."}[row[-1]]]) + "\n")
    (tmp_path / "clean2.data").write_text("".join(lines[:6598]))
    (tmp_path / "clean1.data").write_text("".join(lines[6598:]))
    dataset = load_dataset("musk", tmp_path)
    assert dataset.values.shape == (7074, 166)
    assert list(dataset.test) == [row[0] == "test" for row in rows[1:]]


def test_plain_files_are_read():
    assert holds_the_sample(load_musk(SAMPLE, "no site", EDITION))


def test_compressed_files_are_read(tmp_path, lzw):
    for name in ("clean1.data.Z", "clean2.data.Z"):
        (tmp_path / name).write_bytes((SAMPLE / name).read_bytes())
    assert holds_the_sample(load_musk(tmp_path, "no site", EDITION))


@pytest.mark.parametrize("ending", ["", ".Z"])
@pytest.mark.parametrize("folder", ["", "musk/"])
def test_zips_are_read(tmp_path, ending, folder, lzw):
    for number in (1, 2):
        name = f"clean{number}.data{ending}"
        (tmp_path / f"musk+version+{number}.zip").write_bytes(packed(name, folder=folder))
    assert holds_the_sample(load_musk(tmp_path, "no site", EDITION))


@pytest.mark.parametrize("name", ["musk.csv", "musk.csv.gz"])
def test_a_table_with_a_header_is_read(tmp_path, name):
    text = as_table().encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert holds_the_sample(load_musk(tmp_path, "no site", EDITION))


def test_a_table_may_have_fewer_features_but_those_that_are_checked(tmp_path):
    (tmp_path / "musk.csv").write_text(as_table(HELD))
    dataset = load_musk(tmp_path, "no site", EDITION)
    assert dataset.features == CHECKED
    assert_array_equal(dataset.values, sample_rows()[0][:, [number - 1 for number in HELD]])
    (tmp_path / "musk.csv").write_text(as_table(HELD[1:]))
    with pytest.raises(InputError, match="has no column 'f1'"):
        load_musk(tmp_path, "no site", EDITION)


def test_files_of_all_features_go_before_a_table(tmp_path):
    (tmp_path / "musk.csv").write_text(as_table(HELD))
    (tmp_path / "clean1.data").write_bytes((SAMPLE / "clean1.data").read_bytes())
    assert len(load_musk(tmp_path, "no site", EDITION).features) == 134  # a part alone is no table
    (tmp_path / "clean2.data").write_bytes((SAMPLE / "clean2.data").read_bytes())
    assert len(load_musk(tmp_path, "no site", EDITION).features) == 166


def swapped(text):
    first, second, *others = text.splitlines(keepends=True)
    return "".join([second, first, *others])


def cell_changed(text):
    molecule, conformation, cell, others = text.split(",", 3)
    return ",".join([molecule, conformation, str(int(cell) + 1), others])


def class_changed(text):
    return text.replace(",0.\n", ",1.\n", 1)


def row_lost(text):
    return "".join(text.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize("fault", [swapped, cell_changed, class_changed, row_lost])
@pytest.mark.parametrize("name", ["clean1.data", "clean2.data"])
def test_rows_that_are_not_the_paper_s_are_refused(tmp_path, name, fault):
    for part in ("clean1.data", "clean2.data"):
        text = (SAMPLE / part).read_text()
        (tmp_path / part).write_text(fault(text) if part == name else text)
    with pytest.raises(InputError, match="does not hold the table that the paper used"):
        load_musk(tmp_path, "no site", EDITION)


def test_another_split_is_refused(tmp_path):
    (tmp_path / "musk.csv").write_text(as_table().replace("test,", "train,", 1))
    with pytest.raises(InputError, match="does not hold the table"):
        load_musk(tmp_path, "no site", EDITION)
    with pytest.raises(InputError, match="does not hold the table"):
        load_musk(SAMPLE, "no site", EDITION._replace(training=TRAINING - 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MUSK-900,900_1+1,1,2,3,1.\n",
        (SAMPLE / "clean1.data").read_text().replace(",1.\n", ",2.\n", 1),
        (SAMPLE / "clean1.data").read_text().replace(",1.\n", ",7,1.\n", 1),
        (SAMPLE / "clean1.data").read_text().replace(",1.\n", ".5,1.\n", 1),
        (SAMPLE / "clean1.data").read_text()[:-40],
    ],
    ids=["empty", "few fields", "another class", "more fields", "a fraction", "cut"],
)
def test_lines_of_another_format_are_refused(tmp_path, text):
    (tmp_path / "clean2.data").write_bytes((SAMPLE / "clean2.data").read_bytes())
    (tmp_path / "clean1.data").write_text(text)
    with pytest.raises(InputError, match=r"cannot be read|does not hold the table"):
        load_musk(tmp_path, "no site", EDITION)


def test_features_that_are_not_whole_numbers_are_refused(tmp_path):
    (tmp_path / "musk.csv").write_text(as_table().replace(",musk", ".5,musk", 1))
    with pytest.raises(InputError, match="not whole numbers"):
        load_musk(tmp_path, "no site", EDITION)


@pytest.mark.parametrize("name", ["musk.csv.gz", "clean1.data.Z", "musk+version+1.zip"])
def test_a_truncated_file_is_refused(tmp_path, name, lzw):
    (tmp_path / "clean2.data").write_bytes((SAMPLE / "clean2.data").read_bytes())
    whole = {
        "musk.csv.gz": gzip.compress(as_table().encode()),
        "clean1.data.Z": (SAMPLE / "clean1.data.Z").read_bytes(),
        "musk+version+1.zip": packed("clean1.data"),
    }[name]
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cannot be read|does not hold the table"):
        load_musk(tmp_path, "no site", EDITION)


def test_a_zip_without_the_part_is_refused(tmp_path):
    (tmp_path / "musk+version+1.zip").write_bytes(packed("clean2.data"))
    (tmp_path / "musk+version+2.zip").write_bytes(packed("clean2.data"))
    with pytest.raises(InputError, match=r"version\+1\.zip cannot be read"):
        load_musk(tmp_path, "no site", EDITION)


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(musk_files, "LARGEST", (SAMPLE / "clean2.data").stat().st_size - 1)
    for number in (1, 2):
        (tmp_path / f"musk+version+{number}.zip").write_bytes(packed(f"clean{number}.data"))
    with pytest.raises(InputError, match=r"version\+2\.zip cannot be read"):
        load_musk(tmp_path, "no site", EDITION)


def test_the_missing_package_is_named_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(musk_files, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"pip install -c constraints\.txt '\.\[experiments\]'$"):
        load_musk(tmp_path, "no site", EDITION)


@contextmanager
def served(*, answers, broken=None):
    """A repository on this machine: its address, and the requests that came."""
    requests = []

    class Repository(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            content = answers.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.path == CLEAN1 and broken:
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                broken(self)
            else:
                self.wfile.write(content)

        def log_message(self, *arguments):
            """Keep quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repository)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def repository():
    return {CLEAN2: packed("clean2.data.Z"), CLEAN1: packed("clean1.data.Z")}


def test_what_is_nowhere_is_downloaded_once_and_kept(tmp_path, lzw):
    files = tmp_path / "new" / "cache"
    with served(answers=repository()) as (site, requests):
        assert holds_the_sample(load_musk(files, site, EDITION))
        assert requests == [CLEAN2, CLEAN1]
        assert holds_the_sample(load_musk(files, site, EDITION))
        assert requests == [CLEAN2, CLEAN1]
    assert sorted(path.name for path in files.iterdir()) == ["clean1.data", "clean2.data"]
    for path in files.iterdir():
        assert path.read_bytes() == (SAMPLE / path.name).read_bytes()


def refused(tmp_path, site, match):
    with pytest.raises(InputError, match=match) as refusal:
        load_musk(tmp_path, site, EDITION)
    assert "\n" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


def test_a_download_with_another_hash_is_refused_and_not_kept(tmp_path, lzw):
    changed = cell_changed((SAMPLE / "clean2.data").read_text()).encode()
    with served(answers=repository() | {CLEAN2: zipped("clean2.data", changed)}) as (site, _):
        refused(tmp_path, site, "does not hold the table that the paper used")


def test_a_file_that_is_not_there_is_told(tmp_path, lzw):
    with served(answers={CLEAN2: repository()[CLEAN2]}) as (site, _):
        refused(tmp_path, site, r"answered 404: put clean1\.data and clean2\.data into")


def test_a_page_instead_of_a_zip_is_told(tmp_path, lzw):
    with served(answers=dict.fromkeys(repository(), b"<html>")) as (site, _):
        refused(tmp_path, site, r"version\+2\.zip cannot be read")


def test_a_download_that_breaks_off_is_told(tmp_path, lzw):
    with served(answers=repository(), broken=lambda _: None) as (site, _):
        refused(tmp_path, site, "the download broke off")


def test_a_download_that_stalls_is_told(tmp_path, monkeypatch, lzw):
    monkeypatch.setattr(download, "SILENCE", 0.2)
    with served(answers=repository(), broken=lambda handler: handler.rfile.read(1)) as (site, _):
        refused(tmp_path, site, "cannot be reached")


def test_a_download_that_lasts_too_long_is_told(tmp_path, monkeypatch, lzw):
    monkeypatch.setattr(download, "PATIENCE", -1.0)
    with served(answers=repository()) as (site, _):
        refused(tmp_path, site, "took longer")


def test_a_download_that_is_too_large_is_told(monkeypatch):
    content = b"x" * 100
    with served(answers={"/file": content}) as (site, _):
        assert download.fetch(f"{site}/file", 100) == content
        with pytest.raises(InputError, match="more than 99 bytes"):
            download.fetch(f"{site}/file", 99)


def test_a_server_that_is_down_is_told(tmp_path, lzw):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, but not listening
        refused(tmp_path, f"http://127.0.0.1:{nobody.getsockname()[1]}", "cannot be reached")


def test_an_interrupted_download_leaves_nothing(tmp_path, lzw):
    main = threading.main_thread().ident

    def interrupt(handler):
        signal.pthread_kill(main, signal.SIGINT)
        handler.rfile.read(1)  # until the other side hangs up

    with served(answers=repository(), broken=interrupt) as (site, _), pytest.raises(KeyboardInterrupt):
        load_musk(tmp_path, site, EDITION)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def stop(path, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        download.keep(b"content", tmp_path / "clean1.data")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path, lzw):
    (tmp_path / "file").touch()
    with (
        served(answers=repository()) as (site, _),
        pytest.raises(ConfigurationError, match="cannot be written"),
    ):
        load_musk(tmp_path / "file" / "cache", site, EDITION)
