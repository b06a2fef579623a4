"""The log of a run: one line per step, the same fields everywhere, nothing of the data."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_release import publish_plainly, settings

from flows.release_steps import STEPS
from tasks.errors import GateError
from tasks.events import counted, listening, remark
from tasks.step_log import JsonLines, as_pairs, step_log
from tasks.steps import step


@step("count what is there")
def count(store, number):
    counted(records=number)
    remark("one column is empty")


@step("fail")
def fail(store, text):
    raise ValueError(text)


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


@pytest.fixture
def heard():
    """A logger that keeps its records, and who listens for it."""
    logger, kept = logging.getLogger("kept"), Kept()
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    with listening(step_log(logger)):
        yield kept.records
    logger.removeHandler(kept)


def lines(records):
    return [json.loads(JsonLines().format(record)) for record in records]


def test_a_step_that_ends_is_one_line_with_what_it_counted(heard, tmp_path):
    count(tmp_path / "store", 7)
    count(tmp_path / "store", 8)
    told = [{**line, "time": None, "seconds": None} for line in lines(heard)]
    end = {
        "time": None,
        "level": "info",
        "step": "count what is there",
        "outcome": "finished",
        "seconds": None,
    }
    assert told[1] == end | {"records": 7}
    assert told[3] == end | {"records": 8}
    assert told[0]["level"] == "warning"
    assert told[0]["text"] == "one column is empty"


def test_a_failed_step_is_an_error_without_what_the_exception_says(heard, tmp_path):
    with pytest.raises(Exception, match="failed"):
        fail(tmp_path / "store", "canary")
    (line,) = lines(heard)
    assert line["level"] == "error"
    assert line["outcome"] == "failed"
    assert "canary" not in heard[0].getMessage()
    assert not heard[0].exc_info


def test_items_of_a_mapped_step_are_counted(heard, tmp_path):
    count.map(tmp_path / "store", [1, 2, 3])
    assert lines(heard)[-1]["items"] == 3


def test_a_release_logs_every_step_once_and_no_value(heard, small_table, tmp_path):
    publish_plainly(settings(tmp_path, small_table))
    ended = [line for line in lines(heard) if line["outcome"] == "finished"]
    assert len({line["step"] for line in ended}) == len(ended) == STEPS
    counts = {name: value for line in ended for name, value in line.items()}
    assert counts["records"] == 400
    assert counts["files"] == 6
    assert counts["broken"] == 0
    text = "\n".join(record.getMessage() for record in heard)
    assert not any(value in text for value in ("P00", "Oslo", "Sankt", "brown"))


def test_a_failed_gate_is_told_by_the_number_of_broken_promises(heard, small_table, tmp_path):
    with pytest.raises(GateError):
        publish_plainly(settings(tmp_path, small_table, enforcement="none"))
    (check,) = [line for line in lines(heard) if line["step"] == "check the written files"]
    assert check["broken"] >= 1


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), st.text() | st.integers(), max_size=4))
def test_pairs_are_one_line_that_reads_back(fields):
    line = as_pairs(fields)
    assert len(line.splitlines()) <= 1
    assert line.isascii()
    left = line
    for name, value in fields.items():
        assert left.startswith(f"{name}=")
        left = left.removeprefix(f"{name}=")
        if left.startswith('"'):
            read, end = json.JSONDecoder().raw_decode(left)
        else:
            read = left.partition(" ")[0]
            end = len(read)
        assert read == str(value)
        left = left[end:].removeprefix(" ")
    assert not left
