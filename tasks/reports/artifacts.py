"""What a person sees of a run in Prefect's pages: its progress, promises, fragments and report.

Outside a Prefect flow run nothing happens. Only aggregates are shown, never a value of the data.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tasks.events import Event, listening
from tasks.report import REPORT, Outcome
from tasks.reports.manifest import read_manifest
from tasks.step_log import step_log
from tasks.steps import in_prefect_run

if TYPE_CHECKING:
    from uuid import UUID

SHOWN = ("progress", "finished")
PAUSE = 1.0  # seconds between two updates: each is a request, and short steps need none of their own
FAILED_GATE = "unjoin.gate.failed"


@contextmanager
def shown_in_prefect(steps: int) -> Iterator[None]:
    """Show how far a run of so many steps is."""
    if not in_prefect_run():
        yield
        return
    from prefect.artifacts import create_progress_artifact, update_progress_artifact  # noqa: PLC0415
    from prefect.logging import get_run_logger  # noqa: PLC0415 - a plain run does without Prefect

    log = step_log(get_run_logger())
    created = create_progress_artifact(progress=0.0, key="progress", description="Steps of the release")
    artifact = cast("UUID", created)
    finished, told, answers = 0, time.monotonic(), True

    def hear(event: Event) -> None:
        nonlocal finished, told, answers
        finished += event.kind in {"finished", "kept"}
        if not answers or event.kind not in SHOWN or time.monotonic() < told + PAUSE:
            return
        share = event.share if event.kind == "progress" else 0.0
        answers = False  # a server that is gone costs a minute of attempts each time
        with _unimportant():
            update_progress_artifact(artifact, progress=100 * min((finished + share) / steps, 1.0))
            answers = True
        told = time.monotonic()

    with listening(log), listening(hear):
        yield
    if answers:
        with _unimportant():
            update_progress_artifact(artifact, progress=100.0)


def show_promises(outcomes: Sequence[Outcome]) -> None:
    """Show what was promised and what the written files hold; tell alerts of what they break."""
    rows = [
        {
            "holds": "yes" if outcome.success else "NO",
            "promise": outcome.title,
            "achieved": outcome.achieved,
            "asked": outcome.asked,
        }
        for outcome in outcomes
    ]
    broken = [row for row in rows if row["holds"] == "NO"]
    found = f"{len(broken)} of {len(rows)} do not hold: nothing was published" if broken else "all hold"
    rows.sort(key=lambda row: row["holds"] == "yes")  # those that do not hold come first
    _show_table("promises", rows, f"Promises, checked on the written files: {found}")
    if broken and in_prefect_run():
        with _unimportant():
            _show_failed_gate(broken)


def _show_failed_gate(broken: list[dict[str, str]]) -> None:
    """Show what does not hold on a page of its own, and tell alerts."""
    from prefect.artifacts import create_markdown_artifact  # noqa: PLC0415 - a plain run does without Prefect
    from prefect.context import FlowRunContext  # noqa: PLC0415
    from prefect.events import emit_event  # noqa: PLC0415

    lines = [f"- **{row['promise']}**: asked {row['asked']}, achieved {row['achieved']}" for row in broken]
    page = "\n".join(["# Nothing was published", "What the written files do not hold:", "", *lines])
    create_markdown_artifact(page, key="gate", description="Promises that do not hold")
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    resource = {
        "prefect.resource.id": f"unjoin.gate.{context.flow_run.id}",
        "prefect.resource.name": context.flow_run.name,
    }
    emit_event(FAILED_GATE, resource, payload={"promises": broken})


def show_release(folder: Path) -> None:
    """Show the fragments and measures of a published release, and where its report is."""
    if not in_prefect_run():
        return
    with _unimportant():
        _show_release(folder)


def _show_release(folder: Path) -> None:
    from prefect.artifacts import create_link_artifact  # noqa: PLC0415 - a plain run does without Prefect

    manifest = read_manifest(folder)
    fragments = [
        {
            "fragment": number,
            "features": len(fragment["features"]),
            "sensitive attributes": len(fragment["sensitive"]),
            "equivalence classes": fragment["equivalence_classes"],
            "smallest class": fragment["smallest_class"],
        }
        for number, fragment in enumerate(manifest["fragments"], 1)
    ]
    _show_table("fragments", fragments, f"Fragments of {manifest['records']} records")
    _show_table("measures", _measures(manifest), "What the release costs")
    report = folder.resolve() / REPORT
    create_link_artifact(
        report.as_uri(),
        key="report",
        link_text="The report of this release",
        description=f"Where the release was made: {report}",
    )


def _measures(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    loss = manifest["measures"]["information_loss"]
    changed = manifest["changed_class_values"]
    return [
        {"measure": "information loss", "value": loss["fragmented"]},
        {"measure": "information loss without fragments", "value": loss["unfragmented"]},
        {"measure": "changed class values", "value": changed["total"]},
        {"measure": "changed class values, share", "value": changed["share"]},
    ]


def _show_table(key: str, rows: list[dict[str, Any]], description: str) -> None:
    if not in_prefect_run():
        return
    from prefect.artifacts import create_table_artifact  # noqa: PLC0415 - a plain run does without Prefect

    with _unimportant():
        create_table_artifact(rows, key=key, description=description)


def _unimportant() -> AbstractContextManager[None]:
    """Go on where Prefect cannot show something: it never decides about a release."""
    return suppress(Exception)
