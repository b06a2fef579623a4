"""Fixtures that several test modules share."""

import os

import numpy as np
import pandas as pd
import pytest

os.environ["GX_ANALYTICS_ENABLED"] = "false"
os.environ["DO_NOT_TRACK"] = "1"


@pytest.fixture(scope="session")
def prefect_engine(tmp_path_factory):
    """One Prefect server for all tests that need it; returns its folder."""
    home = tmp_path_factory.mktemp("prefect")
    os.environ["PREFECT_HOME"] = str(home)
    os.environ["PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"] = "CRITICAL"
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, PREFECT_HOME, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    with temporary_settings({PREFECT_HOME: home}), prefect_test_harness(server_startup_timeout=180):
        yield PREFECT_API_DATABASE_CONNECTION_URL.value()


@pytest.fixture
def small_table():
    """A table of 400 records whose joins must be mended: six class values, all kinds, missing values."""
    rng = np.random.default_rng(7)
    rows = 400
    label = rng.choice(list("abcdef"), size=rows, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    shift = np.array([ord(value) - ord("a") for value in label])
    return pd.DataFrame(
        {
            "patient": [f"P{number:05d}" for number in rng.permutation(rows)],
            "age": rng.integers(20, 60, rows) + 5 * shift,
            "weight": np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(70, 9, rows) + shift, 1)),
            "size": rng.normal(170, 8, rows).round(2) - shift,
            "city": rng.choice(["Bonn", 'Sankt "A", {b}', "Oslo", "[x", "Ulm or missing"], rows),
            "colour, eyes": np.where(
                rng.random(rows) < 0.2, "", rng.choice(["brown", "blue", "green"], rows)
            ),
            "visits": rng.poisson(2 + shift),
            "group": label,
        }
    )
