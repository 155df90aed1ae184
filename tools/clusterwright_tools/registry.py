"""The registry of measurements. A new one is one file in `clusterwright_tools/tools/`; nothing else names it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from clusterwright_tools.errors import BadParameter
from clusterwright_tools.progress import Progress
from clusterwright_tools.report import Report

Run = Callable[[Any, Progress], "Report | None"]


class Launch(str, Enum):
    """How a measurement is started where no launcher is around it."""

    SINGLE = "single"
    """One process."""
    PER_DEVICE = "per-device"
    """One rank per device; one rank where there is one device or none."""
    DISTRIBUTED = "distributed"
    """One rank per device, at least two: two gloo ranks on the CPU where there are fewer than two devices."""


class Impact(str, Enum):
    """What running it does to the machine."""

    OBSERVE = "observe"
    LOADS_DEVICE = "loads device"
    WRITES_DISK = "writes disk"


@dataclass(frozen=True)
class Tool:
    """A registered measurement.

    `run` returns the report on exactly one rank and None on the others. `seconds` is the usual duration,
    `chapters` the sections that its result concerns.
    """

    name: str
    summary: str
    area: str
    launch: Launch
    impact: Impact
    seconds: float
    chapters: tuple[str, ...]
    params: type
    run: Run


def tool(
    *, name: str, area: str, launch: Launch, impact: Impact, seconds: float, chapters: tuple[str, ...]
) -> Callable[[Run], Tool]:
    """Register the function `(params, progress) -> Report | None`; its docstring's first line is the summary."""

    def register(run: Run) -> Tool:
        params = next(iter(typing.get_type_hints(run).values()))
        summary = (run.__doc__ or "").strip().splitlines()[0]
        return Tool(name, summary, area, launch, impact, seconds, chapters, params, run)

    return register


@functools.cache
def tools() -> dict[str, Tool]:
    """Every measurement by name, in alphabetical order."""
    package = importlib.import_module("clusterwright_tools.tools")
    found = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Tool):
                found[value.name] = value
    return dict(sorted(found.items()))


def find(name: str) -> Tool:
    """The measurement of that name.

    Raises:
        BadParameter: there is none; the message lists those that exist.
    """
    if name not in tools():
        raise BadParameter(f"unknown tool '{name}'; there are: {', '.join(tools())}")
    return tools()[name]
