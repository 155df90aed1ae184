"""A report as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterator

from clusterwright_tools.report import Clocks, Metric, Report, Severity

_MARK = {Severity.INFO: "note", Severity.WARN: "WARN", Severity.FAIL: "FAIL"}


def text(report: Report) -> str:
    """The verdict first, then the figures, what they mean, and what was not checked."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.tool}: {report.status.value.upper()}"
    yield report.summary
    environment = report.environment
    devices = ", ".join(one["name"] for one in environment.get("devices", ())) or "CPU"
    versions = ", ".join(f"{key} {environment[key]}" for key in ("torch", "nccl", "driver") if environment.get(key))
    if environment:
        yield f"on {environment.get('host', '?')}: {devices} ({versions}); {report.seconds:.1f} s"
    yield ""
    yield from _metrics(report.metrics)
    for finding in report.findings:
        yield ""
        yield f"{_MARK[finding.severity]} {finding.code}: {finding.evidence}"
        if finding.action:
            yield f"  -> {finding.action}"
        yield f"  read: clusterwright read {finding.section}"
    if report.skipped:
        yield ""
    for skipped in report.skipped:
        yield f"not checked: {skipped.check}: {skipped.reason}"


def _metrics(metrics: tuple[Metric, ...]) -> Iterator[str]:
    width = max((len(_label(metric)) for metric in metrics), default=0)
    for metric in metrics:
        figure = f"{number(metric.value):>9} {metric.unit:<7}"
        yield f"{_label(metric):<{width}}  {figure}{';'.join(_remarks(metric))}".rstrip()


def _label(metric: Metric) -> str:
    where = " ".join(str(value) for value in metric.at.values())
    return f"{metric.name} {where}".strip()


def _remarks(metric: Metric) -> Iterator[str]:
    if metric.spread is not None and metric.spread.samples > 1:
        spread = metric.spread
        yield f" min {number(spread.min)} p50 {number(spread.p50)} p99 {number(spread.p99)} of {spread.samples}"
    for share, name in (
        (metric.percent_of_vendor_peak, "vendor peak"),
        (metric.percent_of_clock_peak, "peak at the clock observed"),
        (metric.percent_of_wire_rate, "wire rate"),
        (metric.percent_of_node_ceiling, "this node's ceiling"),
    ):
        if share is not None:
            yield f" {share:.1f}% of {name}"
    if metric.clocks is not None and metric.clocks.samples:
        yield " " + _clocks(metric.clocks)
    if metric.remark:
        yield f" {metric.remark}"


def _clocks(clocks: Clocks) -> str:
    parts = []
    if clocks.sm_mhz_mean is not None:
        parts.append(
            f"SM {clocks.sm_mhz_mean:.0f} MHz (lowest {clocks.sm_mhz_min:.0f}, limit {clocks.sm_mhz_limit or 0:.0f})"
        )
    if clocks.power_w_mean is not None:
        parts.append(f"{clocks.power_w_mean:.0f} W of {clocks.power_w_limit or 0:.0f}")
    if clocks.temperature_c_max is not None:
        parts.append(f"{clocks.temperature_c_max:.0f} C")
    parts.append("throttled by " + ", ".join(clocks.throttle_reasons) if clocks.throttle_reasons else "no throttling")
    return ", ".join(parts)


def number(value: float) -> str:
    """Four significant digits, without an exponent for everyday sizes."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e7:
        return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.3g}"
