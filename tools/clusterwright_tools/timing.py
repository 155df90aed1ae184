"""Timing on a device: events on an accelerator, the monotonic clock on a CPU, one sample for each call."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from clusterwright_tools.environment import torch


class Timer:
    """Times calls on one device (`cpu` or `cuda:N`)."""

    def __init__(self, device: str) -> None:
        self._cuda = torch().cuda if device != "cpu" else None
        self._device = device

    def synchronize(self) -> None:
        """Wait until the device has done what was queued."""
        if self._cuda is not None:
            self._cuda.synchronize(self._device)

    def each(self, run: Callable[[], Any], count: int, before: Callable[[], Any] | None = None) -> list[float]:
        """Seconds of each of `count` calls of `run`. `before` runs ahead of every call and is not timed.

        On an accelerator the calls are queued without waiting, so that launch cost hides behind the work.
        """
        if self._cuda is None:
            return [self._one(run, before) for _ in range(count)]
        pairs = []
        for _ in range(count):
            if before is not None:
                before()
            start, end = self._cuda.Event(enable_timing=True), self._cuda.Event(enable_timing=True)
            start.record()
            run()
            end.record()
            pairs.append((start, end))
        self.synchronize()
        return [start.elapsed_time(end) / 1e3 for start, end in pairs]

    def windows(
        self, run: Callable[[], Any], seconds: float, per_window: int, stopped: Callable[[], bool]
    ) -> list[float]:
        """Seconds of each window of `per_window` back-to-back calls, until `seconds` have passed or it is stopped.

        One window is queued ahead of the one that runs, so the device never waits for the host.
        """
        begin, took = time.monotonic(), list[float]()
        if self._cuda is None:
            while not took or (time.monotonic() - begin < seconds and not stopped()):
                took.append(self._one(lambda: [run() for _ in range(per_window)], None))
            return took
        marks = [self._mark()]
        while len(marks) < 2 or (time.monotonic() - begin < seconds and not stopped()):
            for _ in range(per_window):
                run()
            marks.append(self._mark())
            if len(marks) > 2:
                marks[-2].synchronize()
        self.synchronize()
        return [one.elapsed_time(two) / 1e3 for one, two in itertools.pairwise(marks)]

    def _mark(self) -> Any:
        assert self._cuda is not None
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    @staticmethod
    def _one(run: Callable[[], Any], before: Callable[[], Any] | None) -> float:
        if before is not None:
            before()
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin
