"""Calls that one can stop waiting for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from clusterwright_tools.errors import CannotRun

T = TypeVar("T")

_running: set[Task[Any]] = set()


class Task(Generic[T]):
    """A call in a thread of its own: whoever waits for it can stop waiting, even if it never returns."""

    def __init__(self, call: Callable[[], T], wake: threading.Event | None = None) -> None:
        self.result: T
        self.error: RuntimeError | CannotRun | None = None
        self.finished = self.returned = False
        self._call, self._wake = call, wake or threading.Event()
        _running.add(self)
        # A daemon, because a thread that is stuck in a collective must not hold the interpreter's exit.
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.result = self._call()
            self.returned = True
        except (RuntimeError, CannotRun) as error:
            self.error = error
        finally:
            self.finished = True
            _running.discard(self)
            self._wake.set()

    def wait(self, seconds: float, given_up: Callable[[], bool] = lambda: False) -> bool:
        """Wait until it is finished (True), the time is up, or `given_up` (False)."""
        end = time.monotonic() + seconds
        while not self.finished and not given_up() and (left := end - time.monotonic()) > 0:
            self._wake.wait(left)
            self._wake.clear()
        return self.finished


def hanging() -> bool:
    """Whether a call that somebody stopped waiting for is still running: the process cannot end in good order."""
    return bool(_running)
