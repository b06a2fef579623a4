"""What fuzz tests share: the seed corpus, mutations of bytes, how much is tried, and what may be raised.

UNJOIN_FUZZ says how many times the examples of an ordinary run are tried; those are always the same ones.
"""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tasks.errors import StepError, UnjoinError

CORPUS = Path(__file__).parent / "data" / "corpus"
SECONDS = 900  # far more than any of these inputs needs, on a busy machine too
TIMES = int(os.environ.get("UNJOIN_FUZZ", "1"))
SNIPPETS = [
    *(
        b"\0",
        b"\n",
        b"\r",
        b"\r\n",
        b'"',
        b'""',
        b"'",
        b"\\",
        b",",
        b";",
        b"\t",
        b"|",
        b"=",
        b"[",
        b"]",
        b"{",
    ),
    *(b"\xff", b"\xfe", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\x80", b"\x1a", b"\x1b[31m", b"#", b"%s"),
    *(b"NULL", b"nan", b"inf", b"-0", b"1e999", b"9223372036854775808", b"1970-01-01", b"x" * 5000),
]


def tried(examples):
    """Return how a fuzz test is run: some examples, or as many times more as asked."""
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def corpus(pattern):
    """Return the seed files of a kind, in order of their names."""
    return sorted(CORPUS.glob(pattern))


def mutated(seed):
    """Draw bytes that are some edits away from those of a seed: cut, doubled, left out, put in or changed."""
    place = st.integers(0, len(seed))
    steps = st.integers(-8, 8) | st.integers(-len(seed), len(seed))
    edits = st.tuples(place, steps, st.sampled_from(SNIPPETS) | st.binary(max_size=2))
    return st.lists(edits, max_size=4).map(lambda drawn: _edited(seed, drawn))


def _edited(content, edits):
    for place, step, between in edits:
        content = content[:place] + between + content[max(place + step, 0) :]
    return content


@contextmanager
def only_told_faults():
    """Let pass what the project raises for its users; anything else, and a hang, fails the test."""
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(SECONDS)
    try:
        yield
    except UnjoinError as error:
        _require_words(error)
    finally:
        signal.alarm(0)


def _require_words(error):
    lines = str(error).splitlines()
    assert lines
    assert all(line.strip() for line in lines), lines
    assert not isinstance(error, StepError), lines


def _hangs(number, frame):
    raise AssertionError(f"still at it after {SECONDS} seconds")
