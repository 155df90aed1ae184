"""The report of collective-bandwidth: figures by nccl-tests' definitions, and the verdict against the wire."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright_tools import tables, telemetry
from clusterwright_tools.collectives import factor
from clusterwright_tools.links import Wire
from clusterwright_tools.params import human_bytes
from clusterwright_tools.report import (
    Expected,
    Finding,
    Metric,
    Report,
    Series,
    Severity,
    Skipped,
    spread,
    verdict,
)
from clusterwright_tools.sweep import Point, Swept

_CHAPTER = "network/collectives#"
_EXPECT = _CHAPTER + "what-bus-bandwidth-should-an-all-reduce-reach"
_LOW = _CHAPTER + "why-is-the-measured-bus-bandwidth-lower-than-the-link-rate"
_GLOO = _CHAPTER + "what-does-a-two-process-gloo-run-on-the-cpu-tell"
_DIFFER = "debugging/distributed-hangs#why-do-ranks-compute-different-results-or-devices-than-expected"
_HUNG = "debugging/distributed-hangs#what-does-nccl-watchdog-timeout-mean"
_CLOCK = "hardware/gpu-health#why-is-the-gpu-clock-below-its-maximum"
_JUDGED = ("all_reduce", "all_gather", "reduce_scatter")


def build(swept: Swept, failed: str, wire: Wire | str, hellos: Sequence[Mapping[str, Any]]) -> Report:
    """The report, without what the command line adds. `failed` tells of a size that did not complete, else it is ''.

    `hellos` has one entry for each rank, in rank order.
    """
    size = len(hellos)
    largest = {point.op: point for point in swept.points}
    judged = [point for point in largest.values() if _can_judge(point, wire)]
    findings = [*_failure(failed), *_wrong(swept.points)]
    if isinstance(wire, Wire):
        findings += [one for point in largest.values() for one in _remarks(point, wire, size, point in judged)]
    elif all(hello["device"] == "cpu" for hello in hellos):
        findings.append(_cpu_gloo())
    return Report(
        tool="collective-bandwidth",
        status=verdict(findings, bool(judged)),
        summary=failed or _summary(largest, wire, hellos),
        metrics=tuple(one for op in largest for one in _metrics(_of(swept, op), wire, size)),
        findings=tuple(findings),
        skipped=(*swept.skipped, *_not_judged(wire, largest, judged)),
        series=tuple(one for op in largest for one in _series(_of(swept, op), size)),
    )


def busbw(point: Point, size: int, seconds: float) -> float:
    """Bus bandwidth in GB/s (10^9 bytes) of one iteration."""
    return float(point.nbytes / seconds / 1e9 * factor(point.op, size))


def fit(points: Sequence[Point]) -> tuple[float, float] | None:
    """Seconds of latency and seconds per byte of t = latency + bytes * rate, None with fewer than three sizes.

    Least squares of the relative error, so that small sizes count as much as large ones.
    """
    pairs = [(point.nbytes, _median(point)) for point in points]
    if len(pairs) < 3:
        return None
    # Minimise the sum of (latency / t + rate * s / t - 1)^2: two normal equations.
    a = sum(1 / t**2 for _, t in pairs)
    b = sum(s / t**2 for s, t in pairs)
    c = sum((s / t) ** 2 for s, t in pairs)
    d, e = sum(1 / t for _, t in pairs), sum(s / t for s, t in pairs)
    base = a * c - b * b
    return ((c * d - b * e) / base, (a * e - b * d) / base) if base > 0 else None


def _of(swept: Swept, op: str) -> list[Point]:
    return [point for point in swept.points if point.op == op]


def _median(point: Point) -> float:
    return spread(point.seconds).p50


def _can_judge(point: Point, wire: Wire | str) -> bool:
    return isinstance(wire, Wire) and point.op in _JUDGED and point.nbytes >= wire.judge_bytes


def _metrics(points: list[Point], wire: Wire | str, size: int) -> Iterator[Metric]:
    first, last = points[0], points[-1]
    rates = [busbw(last, size, one) for one in last.seconds]
    at = {"op": last.op, "bytes": last.nbytes}
    value = busbw(last, size, _median(last))
    yield Metric(
        "busbw",
        value,
        "GB/s",
        f"bytes / time * {factor(last.op, size)}; time: median over iterations of the slowest rank's",
        at,
        spread=dataclasses.replace(spread(rates), p50=value),
        expected=_expected(last, wire),
        percent_of_wire_rate=100 * value / wire.gb_s if isinstance(wire, Wire) else None,
        clocks=last.clocks,
    )
    yield Metric("algbw", last.nbytes / _median(last) / 1e9, "GB/s", "bytes / time", at)
    yield Metric("time", 1e3 * _median(last), "ms", "as for busbw", at, spread([1e3 * one for one in last.seconds]))
    if first.nbytes < last.nbytes:
        micro = spread([1e6 * one for one in first.seconds])
        how = "median over iterations of the slowest rank's time, with what torch needs to start it"
        yield Metric("latency", micro.p50, "us", how, {"op": first.op, "bytes": first.nbytes}, micro)
    if (line := fit(points)) is not None and line[1] > 0:
        how = "t = latency + bytes / algbw over all sizes, least relative error; rough, as NCCL changes its protocol"
        yield Metric("fitted latency", 1e6 * line[0], "us", how, {"op": last.op})
        yield Metric("fitted busbw", float(factor(last.op, size)) / line[1] / 1e9, "GB/s", how, {"op": last.op})


def _expected(point: Point, wire: Wire | str) -> Expected | None:
    if not isinstance(wire, Wire) or not _can_judge(point, wire):
        return None
    high = None if wire.high is None else wire.high * wire.gb_s
    return Expected(wire.source, wire.low * wire.gb_s, high)


def _series(points: list[Point], size: int) -> Iterator[Series]:
    op = points[0].op
    rates = tuple((float(one.nbytes), busbw(one, size, _median(one))) for one in points)
    times = tuple((float(one.nbytes), 1e6 * _median(one)) for one in points)
    yield Series(f"{op} busbw", "bytes", "GB/s", rates)
    yield Series(f"{op} time", "bytes", "us", times)


def _remarks(point: Point, wire: Wire, size: int, judged: bool) -> Iterator[Finding]:
    rate = busbw(point, size, _median(point))
    what = f"{point.op} busbw {rate:.1f} GB/s at {human_bytes(point.nbytes)}"
    if judged and rate < wire.low * wire.gb_s:
        evidence = (
            f"{what}, {rate / wire.gb_s:.0%} of the {wire.gb_s:g} GB/s of {wire.name}; {wire.low:.0%} is expected"
        )
        action = "look at NCCL_DEBUG=INFO for the transport it chose, at the topology and at link errors; run preflight"
        yield Finding("below-wire-rate", Severity.WARN, evidence, action, _LOW)
    if rate > wire.gb_s:
        evidence = f"{what} is above the wire rate of {wire.gb_s:g} GB/s"
        action = "nothing: NVLS, SHARP and trees send less than a ring, and an NVLink domain may span several nodes"
        yield Finding("above-wire-rate", Severity.INFO, evidence, action, _EXPECT)
    times, allowed = spread(point.seconds), tables.threshold("collective-spread")
    if times.p99 > times.p50 * (1 + allowed):
        evidence = (
            f"{point.op} at {human_bytes(point.nbytes)}: p99 is {times.p99 / times.p50:.2f} times the median time"
        )
        action = "repeat it with more iterations; look for other jobs on the nodes and on the network"
        yield Finding("unstable-collective", Severity.WARN, evidence, action, _LOW)
    reasons = set(point.clocks.throttle_reasons) & (telemetry.THERMAL | telemetry.HARDWARE) if point.clocks else set()
    if reasons:
        evidence = f"throttled during {point.op}: {', '.join(sorted(reasons))}"
        yield Finding("throttled", Severity.WARN, evidence, "check cooling and power of that node", _CLOCK)


def _failure(failed: str) -> Iterator[Finding]:
    if failed:
        action = "run preflight: it tests every rank and every pair of ranks by itself"
        yield Finding("collective-incomplete", Severity.FAIL, failed, action, _HUNG)


def _wrong(points: Sequence[Point]) -> Iterator[Finding]:
    for op in dict.fromkeys(point.op for point in points if point.wrong):
        bad = [point for point in points if point.op == op and point.wrong]
        ranks = sorted({rank for point in bad for rank in point.wrong})
        first = bad[0]
        evidence = (
            f"{op} gave wrong values on rank {', '.join(map(str, ranks))}: {sum(first.wrong.values())} elements "
            f"at {human_bytes(first.nbytes)} ({len(bad)} sizes in all)"
        )
        action = "take these ranks' nodes out of service until preflight and the GPU's health checks find the cause"
        yield Finding("wrong-result", Severity.FAIL, evidence, action, _DIFFER)


def _cpu_gloo() -> Finding:
    evidence = "measured with gloo between processes on the CPU: no GPU and no NCCL took part"
    return Finding("cpu-gloo", Severity.INFO, evidence, "read it as a test of the set-up, not of a link", _GLOO)


def _not_judged(wire: Wire | str, largest: Mapping[str, Point], judged: list[Point]) -> Iterator[Skipped]:
    if isinstance(wire, str):
        yield Skipped("comparison with the wire rate", wire)
        return
    for op, point in largest.items():
        if op not in _JUDGED:
            yield Skipped(f"verdict on {op}", "the expected share of the wire rate is known for ring collectives only")
        elif point not in judged:
            needed = human_bytes(int(wire.judge_bytes))
            yield Skipped(f"verdict on {op}", f"{human_bytes(point.nbytes)} is too small to judge; {needed} are needed")


def _summary(largest: Mapping[str, Point], wire: Wire | str, hellos: Sequence[Mapping[str, Any]]) -> str:
    size, nodes = len(hellos), len({hello["host"] for hello in hellos})
    parts = []
    for op, point in largest.items():
        rate = busbw(point, size, _median(point))
        share = f" ({rate / wire.gb_s:.0%} of {wire.gb_s:g} GB/s)" if isinstance(wire, Wire) else ""
        parts.append(f"{op} busbw {rate:.3g} GB/s at {human_bytes(point.nbytes)}{share}")
    where = f"over {size} ranks on {nodes} node{'s' if nodes > 1 else ''}"
    backend = ", gloo on the CPU" if hellos[0]["device"] == "cpu" else ""
    return f"{'; '.join(parts) or 'nothing was measured'} {where}{backend}"
