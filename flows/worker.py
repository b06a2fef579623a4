"""Prefect's worker, freed of what runs leave in it: python -m flows.worker --pool releases --type process.

A run leaves objects there that refer to each other, some with half a megabyte of certificates behind them.
Python looks for such objects in all its memory only when a quarter of them is new: after hundreds of runs.
"""

import gc
import sys
import threading
import time

INTERVAL = 60.0  # seconds; a search takes a tenth of one


def free_forever() -> None:
    """Free again and again what nothing but itself refers to."""
    while True:
        time.sleep(INTERVAL)
        gc.collect()


def main() -> None:
    """Run `prefect worker start` with the arguments of this command."""
    from prefect.cli import app  # noqa: PLC0415 - costs seconds

    threading.Thread(target=free_forever, daemon=True).start()
    sys.argv[:1] = ["prefect", "worker", "start"]
    app()


if __name__ == "__main__":
    main()
