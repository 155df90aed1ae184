"""The report: one frozen, versioned structure for every measurement, wherever it was started from."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

SCHEMA = "clusterwright.report/1"


class Status(str, Enum):
    """The verdict. A check that was skipped never counts as passed; no data is `unknown`."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """0 pass or warn, 1 fail, 3 unknown (2 is kept for: could not run)."""
        return {Status.PASS: 0, Status.WARN: 0, Status.FAIL: 1, Status.UNKNOWN: 3}[self]


class Severity(str, Enum):
    """How much a finding matters: `info` never changes the verdict."""

    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Spread:
    """Distribution of the samples behind a value, in the value's unit."""

    min: float
    p50: float
    p99: float
    max: float
    samples: int


@dataclass(frozen=True)
class Expected:
    """The range that a healthy system reaches, with where that comes from."""

    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Clocks:
    """Device state sampled while a value was measured. None where the device does not tell."""

    samples: int
    sm_mhz_mean: float | None = None
    sm_mhz_min: float | None = None
    sm_mhz_max: float | None = None
    sm_mhz_limit: float | None = None
    power_w_mean: float | None = None
    power_w_limit: float | None = None
    temperature_c_max: float | None = None
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """One measured figure: `at` says for what (shape, bytes, device), `how` says how it was computed."""

    name: str
    value: float
    unit: str
    how: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    spread: Spread | None = None
    expected: Expected | None = None
    percent_of_vendor_peak: float | None = None
    percent_of_clock_peak: float | None = None
    percent_of_wire_rate: float | None = None
    percent_of_node_ceiling: float | None = None
    clocks: Clocks | None = None
    remark: str = ""


@dataclass(frozen=True)
class Finding:
    """What the measurement says: the evidence, what to do, and the chapter section that explains it."""

    code: str
    severity: Severity
    evidence: str
    action: str
    section: str


@dataclass(frozen=True)
class Skipped:
    """A check that was not made, and why."""

    check: str
    reason: str


@dataclass(frozen=True)
class Series:
    """Points for a plot: `points` are (x, y) pairs."""

    name: str
    x: str
    y: str
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Report:
    """The result of one measurement.

    `started` is UTC in ISO 8601; `seconds` the wall-clock duration; `environment` as `environment.describe` gives it.
    """

    tool: str
    status: Status
    summary: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    started: str = ""
    seconds: float = 0.0
    environment: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    series: tuple[Series, ...] = ()
    artifacts: tuple[str, ...] = ()
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data: enums as text, tuples as lists, no NaN (a value that is not finite becomes null)."""
        return typing.cast("dict[str, Any]", _plain(self))

    def to_json(self) -> str:
        """The report as indented JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Write the JSON beside `path` first and rename it, so that no reader sees half a report."""
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        partial.write_text(self.to_json(), encoding="utf-8")
        partial.replace(path)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """Read a report back.

        Raises:
            ValueError: another schema, or fields that this version does not know.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"not a {SCHEMA} report: schema is {data.get('schema')!r}")
        return typing.cast("Report", _build(cls, data))


def verdict(findings: Sequence[Finding], judged: bool) -> Status:
    """The status that the findings give; `judged` False means that nothing could be compared with anything."""
    severities = {finding.severity for finding in findings}
    if Severity.FAIL in severities:
        return Status.FAIL
    if not judged:
        return Status.UNKNOWN
    return Status.WARN if Severity.WARN in severities else Status.PASS


def spread(samples: Sequence[float]) -> Spread:
    """Distribution of at least one sample. Percentiles by the nearest-rank rule."""
    ordered = sorted(samples)

    def rank(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Spread(ordered[0], rank(0.5), rank(0.99), ordered[-1], len(ordered))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _build(kind: Any, value: Any) -> Any:
    """Turn JSON data back into the annotated type `kind`."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _build(next(a for a in args if a is not type(None)), value)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(typing.cast("type", kind))
        unknown = set(value) - set(hints)
        if unknown:
            raise ValueError(f"unknown fields in {getattr(kind, '__name__', kind)}: {', '.join(sorted(unknown))}")
        return typing.cast("type", kind)(**{name: _build(hints[name], item) for name, item in value.items()})
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(_build(args[0], item) for item in value)
        return tuple(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return value
