"""The Dask cluster of a run: one that is there, or one on this machine that lives as long as the run.

Prefect's own way to Dask is not taken: it sends Prefect's settings with all their secrets through the
scheduler, and has each worker talk to Prefect's server, or start one.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tasks.cluster.calls import OTHER_VERSION, fault_of_worker, using
from tasks.config import RunSettings
from tasks.errors import ConfigurationError
from tasks.events import Running, as_current, remark
from tasks.program import installed
from tasks.worker_processes import available_cores

if TYPE_CHECKING:
    from distributed import Client

CONNECTING = "connect to the cluster"
ANSWER = 30  # seconds until a scheduler that does not answer is not waited for
WORKERS = 120  # seconds until one that has no worker is not: they import what they need first
NOT_INSTALLED = "cannot run unjoin: install it there as it is here"

LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")


@contextmanager
def on_cluster(settings: RunSettings, folder: Path) -> Iterator[None]:
    """Let mapped steps within run on a Dask cluster, where the settings ask for one.

    Parameters
    ----------
    settings
        The engine, and where its scheduler is; without one a cluster is started on this machine.
    folder
        The private folder of the run, which workers must see under the same path.

    Raises
    ------
    ConfigurationError
        If Dask is not installed, nothing answers, or a worker cannot do the work.
    """
    if settings.engine != "dask":
        yield
        return
    _require_dask()
    with ExitStack() as stack:
        stack.enter_context(_silent())
        client = stack.enter_context(_client(settings.scheduler, folder.absolute()))
        _refuse_unfit(client, folder.absolute())
        stack.enter_context(using(client))
        yield


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401, PLC0415 - an extra, which other engines do without
    except ImportError:
        raise ConfigurationError(
            'run.engine: "dask" needs what comes with unjoin[dask]: install that, or choose another engine'
        ) from None


@contextmanager
def _silent() -> Iterator[None]:
    """Let Dask, whose import says how it logs, log nothing: what becomes of a run is told once."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def _client(scheduler: str | None, folder: Path) -> "Iterator[Client]":
    from distributed import Client  # noqa: PLC0415 - see above

    if scheduler is None:
        with _local_cluster(folder) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError):  # the last two where Dask has no certificates for TLS
        raise ConfigurationError(
            f"run.scheduler: no Dask scheduler answers at {scheduler}: see that it runs, and that Dask's "
            "configuration here names the certificates it asks for"
        ) from None
    with client:
        if not scheduler.startswith("tls://"):
            with as_current(Running(CONNECTING, time.perf_counter(), 0, [])):
                remark(
                    "the scheduler does without TLS: whoever reaches it can read what its workers can, the "
                    "private workspace too"
                )
        yield client


@contextmanager
def _local_cluster(folder: Path) -> "Iterator[Client]":
    """Start a worker a core, which nobody else on this machine can talk to."""
    import dask  # noqa: PLC0415 - see above
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        TemporaryDirectory(dir=folder, prefix="dask-", ignore_cleanup_errors=True) as scratch,
        dask.config.set({f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")}),
        LocalCluster(
            n_workers=available_cores(),
            threads_per_worker=1,
            security=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            local_directory=scratch,
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _refuse_unfit(client: "Client", folder: Path) -> None:
    """Refuse a cluster that has no worker, or one that cannot do the work."""
    try:
        client.wait_for_workers(1, timeout=WORKERS)
    except TimeoutError:
        raise ConfigurationError("run.scheduler: the Dask scheduler has no worker: start some") from None
    for where, fault in _faults(client, folder):
        if fault is not None:
            raise ConfigurationError(f"run.scheduler: {where} {fault}")


def _faults(client: "Client", folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield what is wrong with the scheduler, which reads the names of functions, and with each worker."""
    try:
        same = client.run_on_scheduler(installed) == installed()
    except Exception:  # noqa: BLE001 - whatever was raised there
        yield "the scheduler", NOT_INSTALLED
    else:
        yield "the scheduler", None if same else OTHER_VERSION
    found = client.run(fault_of_worker, installed(), str(folder), on_error="return")
    for worker, fault in found.items():
        yield f"the worker {worker}", NOT_INSTALLED if isinstance(fault, BaseException) else fault
