"""The log of a run: one line per step, with its duration and counts; never a value of the data.

The same fields everywhere: as `key=value` in a Prefect run's log, as a JSON object a line where a
program reads what a plain run does.
"""

import json
import logging
import re
from datetime import UTC, datetime

from tasks.events import Event, Listener

Fields = dict[str, str | int | float]

LEVELS = {"finished": logging.INFO, "kept": logging.INFO, "failed": logging.ERROR, "remark": logging.WARNING}
PLAIN = re.compile(r"[A-Za-z0-9_.:+-]+")


def step_log(logger: "logging.Logger | logging.LoggerAdapter[logging.Logger]") -> Listener:
    """Return a listener that logs each step once it has ended, and what it remarks.

    Parameters
    ----------
    logger
        Gets a record for each, whose message is `key=value ...`, and whose `fields` are the same as a
        mapping: `step`, `outcome` (finished, failed, remark); of an end also `seconds`, `items` where the
        step is run for each of several, and what the step counted; of a remark its `text`.
    """
    counts: dict[str, int] = {}

    def hear(event: Event) -> None:
        if event.kind == "started":
            counts.clear()
        elif event.kind == "counted":
            counts.update(event.counts)
        elif event.kind in LEVELS:
            fields = _fields(event, counts)
            logger.log(LEVELS[event.kind], "%s", as_pairs(fields), extra={"fields": fields})

    return hear


def _fields(event: Event, counts: dict[str, int]) -> Fields:
    if event.kind == "remark":
        return {"step": event.step, "outcome": event.kind, "text": event.text}
    items = {"items": event.items} if event.items else {}
    return {
        "step": event.step,
        "outcome": event.kind,
        "seconds": round(event.seconds, 3),
        **items,
        **counts,
    }


def as_pairs(fields: Fields) -> str:
    """Return fields as one line of key=value; a text that is not one plain word is in quotes, as in JSON.

    >>> as_pairs({"step": "load the table", "outcome": "finished", "seconds": 0.25})
    'step="load the table" outcome=finished seconds=0.25'
    """
    return " ".join(f"{name}={_as_value(value)}" for name, value in fields.items())


def _as_value(value: str | float) -> str:
    if isinstance(value, str) and not PLAIN.fullmatch(value):
        return json.dumps(value)
    return str(value)


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object: its time in UTC, its level, and its fields or message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = getattr(record, "fields", None) or {"message": record.getMessage()}
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, "level": record.levelname.lower(), **fields})
