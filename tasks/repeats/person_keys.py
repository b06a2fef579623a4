"""Who is who in every version of a release, without what identifies them."""

import duckdb

from tasks.config import Config
from tasks.errors import InputError
from tasks.events import remark
from tasks.repeats.kept import secret_key

BLOCK = 64
"""Bytes of a block of SHA-256, which HMAC pads its key to (RFC 2104)."""

KEYED = "sha256($outer::BLOB || unhex(sha256($inner::BLOB || encode(CAST({raw} AS VARCHAR)))))"


def write_person_keys(connection: duckdb.DuckDBPyConnection, config: Config, raw: str) -> None:
    """Make the table `person_keys`: for each record a word of whom it is of, the same in every version.

    It is the first 64 bits of HMAC-SHA256 of the identifier, by a key that never leaves the workspace: of
    10^7 persons two have the same word with a chance below 10^-5. Where an identifier is missing there is no
    table, and a remark.

    Parameters
    ----------
    connection
        To the store, with the table `raw`.
    config
        Of the run.
    raw
        The column of `raw` that tells who is who.

    Raises
    ------
    InputError
        If the configuration names the column in repeats.person, and it is missing in some records.
    """
    ((missing,),) = connection.execute(f"SELECT count(*) FROM raw WHERE {raw} IS NULL").fetchall()
    if missing and config.columns.entity is None:
        _tell_missing(config, missing)
        return
    padded = secret_key(connection, config).ljust(BLOCK, b"\0")
    outer, inner = (bytes(byte ^ pad for byte in padded) for pad in (0x5C, 0x36))
    connection.execute(
        f"""
        CREATE OR REPLACE TABLE person_keys AS
        SELECT CAST('0x' || left({KEYED.format(raw=raw)}, 16) AS UBIGINT) AS key FROM raw
        """,
        {"outer": outer, "inner": inner},
    )


def _tell_missing(config: Config, missing: int) -> None:
    found = f"column {config.followed!r}: is missing in {missing} records"
    if config.repeats.person is not None:
        raise InputError(f"{found}: repeats.person needs it in all of them: fill it in, or name another")
    remark(f"{found}, so persons cannot be followed from version to version")
