"""Measurements as jobs: started here, kept on disk, supervised by a process of their own, found again by any other."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.jobs.files import State
    from clusterwright.jobs.job import Job
    from clusterwright.jobs.starting import start
    from clusterwright.jobs.store import NoReport, cancel, get, listed, load_report, log, report, wait

__all__ = ["Job", "NoReport", "State", "cancel", "get", "listed", "load_report", "log", "report", "start", "wait"]

_HOME = {"Job": "job", "State": "files", "start": "starting"}


def __getattr__(name: str) -> Any:
    # Imported on use: supervisors import this package too, and stay small without the rest.
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.{_HOME.get(name, 'store')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
