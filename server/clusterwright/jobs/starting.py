"""Starting a measurement as a job on this machine."""

import dataclasses
import socket
from typing import Any

from clusterwright import config as configuration
from clusterwright.config import Config
from clusterwright.errors import UserError
from clusterwright.jobs import bundle, launch, store
from clusterwright.jobs.job import Job
from clusterwright_tools.registry import Tool

MOST = 8
"""Jobs that run on one machine at a time; who asks for more has gone astray."""


def start(
    tool: Tool,
    parameters: Any,
    *,
    ranks: int | None = None,
    limit: float | None = None,
    python: str = "",
    even_if_busy: bool = False,
    config: Config | None = None,
) -> Job:
    """Start a measurement with parsed parameters; returns at once, with a job that runs on its own.

    `ranks` None: one per device, as the tool wants it. `limit` in seconds, never above `measure.limit_seconds`.
    `even_if_busy`: measure although other processes use the device.

    Raises:
        UserError: it cannot be started; the message says why.
    """
    measure = (config or configuration.load()).measure
    here = [job for job in store.listed() if not job.finished and job.host == socket.gethostname()]
    if len(here) >= MOST:
        raise UserError(f"{MOST} jobs are running already; wait for one, or cancel one (clusterwright job list)")
    folder = store.new_folder(tool.name)
    plan = launch.plan(
        tool, parameters, bundle.cached(), folder, measure, ranks=ranks, python=python, even_if_busy=even_if_busy
    )
    most = measure.limit_seconds
    return store.create(folder, tool.name, dataclasses.asdict(parameters), plan, min(limit or most, most))
