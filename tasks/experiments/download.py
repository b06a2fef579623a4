"""A file from the web, whole or not at all."""

import tempfile
import time
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tasks.errors import ConfigurationError, InputError
from tasks.version import __version__

BLOCK = 1 << 16
SILENCE = 30.0  # seconds without a byte
PATIENCE = 300.0  # seconds for a file


def fetch(url: str, largest: int) -> bytes:
    """Return the content of an address; nothing is written.

    Parameters
    ----------
    url
        An address of the program's own, never one from the data.
    largest
        How many bytes it may have.

    Raises
    ------
    InputError
        If it cannot be had in whole, is larger, or takes longer than five minutes.
    """
    try:
        with urlopen(_request(url), timeout=SILENCE) as answer:  # noqa: S310 - see url above
            return _read(answer, url, largest)
    except HTTPError as error:
        error.close()
        raise InputError(f"{url}: the server answered {error.code}") from None
    except IncompleteRead:
        raise InputError(f"{url}: the download broke off") from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise InputError(
            f"{url}: cannot be reached ({getattr(reason, 'strerror', None) or reason})"
        ) from None


def _request(url: str) -> Request:
    return Request(url, headers={"User-Agent": f"unjoin/{__version__}"})  # noqa: S310 - see fetch


def _read(answer: HTTPResponse, url: str, largest: int) -> bytes:
    end, content = time.monotonic() + PATIENCE, bytearray()
    while block := answer.read1(BLOCK):
        content += block
        if len(content) > largest:
            raise InputError(
                f"{url}: holds more than {largest:,} bytes, which is not the file that was wanted"
            )
        if time.monotonic() > end:
            raise InputError(f"{url}: took longer than {PATIENCE:.0f} seconds")
    if answer.length:  # bytes that were announced and did not come
        raise IncompleteRead(bytes(content), answer.length)
    return bytes(content)


def keep(content: bytes, place: Path) -> None:
    """Write a file under its name only when all of it is there; its folder is made.

    Raises
    ------
    ConfigurationError
        If the folder cannot be written.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as folder:
            written = Path(folder, place.name)
            written.write_bytes(content)
            written.replace(place)
    except OSError as error:
        raise ConfigurationError(f"{place}: cannot be written ({error.strerror})") from None
