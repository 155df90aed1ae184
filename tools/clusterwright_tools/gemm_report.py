"""The report of matmul-flops: figures against the vendor's peak and the clock, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clusterwright_tools import environment, tables, telemetry
from clusterwright_tools.gemm import COUNT, REST_LIMIT, WARMUP, Timing
from clusterwright_tools.render import number
from clusterwright_tools.report import Clocks, Expected, Finding, Metric, Report, Severity, Skipped, spread, verdict

if TYPE_CHECKING:
    from clusterwright_tools.tools.matmul_flops import Measured

_CHAPTER = "hardware/accelerators#"
REACHED = _CHAPTER + "what-matmul-flops-can-this-accelerator-really-reach"
SUSTAINED = _CHAPTER + "why-is-the-sustained-matmul-rate-lower-than-the-best-rate"
SLOW = "hardware/gpu-health#is-one-gpu-of-the-node-slower-than-the-others"
CLOCK = "hardware/gpu-health#why-is-the-gpu-clock-below-its-maximum"
_BEST = (
    f"best rate: single products after a rest, cache flushed and output refilled before each, mean of {COUNT} after "
    f"{WARMUP} warm-ups; compares with published MAMF tables"
)
_STEADY = "sustained rate: products back to back, first quarter left out; what training can hope for"


def build(ranks: Sequence[list[Measured]], hellos: list[dict[str, Any]], index: int | None) -> Report:
    """The report over all devices; `ranks[i]` and `hellos[i]` belong to rank i."""
    row = None if index is None else tables.accelerator(hellos[0]["device"])
    metrics = [
        metric for rank, mine in enumerate(ranks) for one in mine for metric in _metrics(one, rank, len(ranks), row)
    ]
    findings = [*_wrong(ranks), *_spread_findings(metrics), *_device_findings(metrics, ranks), *_slow(metrics, hellos)]
    skipped = list(_skipped(hellos[0], row, metrics))
    if index is None:
        findings.append(
            Finding(
                "cpu-only",
                Severity.INFO,
                "measured on the CPU with small shapes",
                "It shows that the measurement works here; it says nothing about an accelerator. Run it on a GPU node.",
                REACHED,
            )
        )
    judged = any(metric.percent_of_vendor_peak is not None for metric in metrics)
    return Report(
        tool="matmul-flops",
        status=verdict(findings, judged),
        summary=_summary(metrics, hellos[0]["device"]),
        environment=environment.describe(hellos if len(hellos) > 1 else None, index),
        metrics=tuple(metrics),
        findings=tuple(findings),
        skipped=tuple(skipped),
    )


def _metrics(measured: Measured, rank: int, ranks: int, row: tables.Row | None) -> Iterator[Metric]:
    at: dict[str, Any] = {"dtype": measured.dtype, "shape": str(measured.boost[0].shape)}
    at |= {"layer": measured.label} if measured.label else {}
    at |= {"rank": rank} if ranks > 1 else {}
    remark = f"best of {measured.tried} shapes tried" if measured.tried else ""
    middle = sorted(measured.boost, key=lambda one: one.rate)[(len(measured.boost) - 1) // 2]
    if not all(one.rested for one in measured.boost):
        remark += f"; the clock did not come back to its maximum within {REST_LIMIT:.0f} s of rest"
    yield _metric("best_rate", middle, at, row, measured.dtype, _BEST, remark.lstrip("; "), measured.boost)
    if measured.sustained is not None:
        yield _metric("sustained_rate", measured.sustained, at, row, measured.dtype, _STEADY, "", (measured.sustained,))


def _metric(
    name: str,
    timing: Timing,
    at: dict[str, Any],
    row: tables.Row | None,
    dtype: str,
    how: str,
    remark: str,
    timings: Sequence[Timing],
) -> Metric:
    peak = _peak(row, dtype)
    at_clock = _peak_at_clock(row, dtype, peak, timing.clocks.sm_mhz_mean)
    return Metric(
        name=name,
        value=timing.rate,
        unit="TFLOPS",
        how=how,
        at=at,
        spread=spread([one.rate for one in timings] if len(timings) > 1 else timing.rates),
        expected=_expected(row, peak) if name == "best_rate" and dtype == "bfloat16" else None,
        percent_of_vendor_peak=None if peak is None else 100 * timing.rate / peak,
        percent_of_clock_peak=None if at_clock is None else 100 * timing.rate / at_clock,
        clocks=timing.clocks,
        remark=remark,
    )


def _expected(row: tables.Row | None, peak: float | None) -> Expected | None:
    """What a healthy part reaches. The bound is that of NVIDIA's parts; healthy AMD parts lie lower."""
    if row is None or peak is None or row["vendor"] != "NVIDIA":
        return None
    low = tables.threshold("matmul-fraction-of-peak-low")
    return Expected("thresholds.csv: matmul-fraction-of-peak-low", low * peak, peak)


def _peak(row: tables.Row | None, dtype: str) -> float | None:
    column = {
        "float32": "fp32_tflops",
        "tf32": "tf32_dense_tflops",
        "float16": "fp16_dense_tflops",
        "bfloat16": "bf16_dense_tflops",
        "float8_e4m3fn": "fp8_dense_tflops",
    }[dtype]
    return None if row is None else tables.number(row, column)


def _peak_at_clock(row: tables.Row | None, dtype: str, peak: float | None, mhz: float | None) -> float | None:
    """The vendor's peak scaled from the clock that it is quoted at to the clock observed."""
    quoted = None if row is None else tables.number(row, "peak_clock_mhz")
    # The quoted clock is that of the tensor figures; float32 runs on other units.
    return peak * mhz / quoted if peak and quoted and mhz and dtype != "float32" else None


def _wrong(ranks: Sequence[list[Measured]]) -> Iterator[Finding]:
    for rank, mine in enumerate(ranks):
        for one in mine:
            # Not "greater": a NaN has to fail as well.
            if not one.error <= tables.threshold(f"matmul-error-{one.dtype}"):
                evidence = (
                    f"rank {rank}: {one.dtype} {one.boost[0].shape}: relative error {one.error:.2g} against float64"
                )
                action = (
                    "Results are wrong: take the device out of use, run dcgmi diag -r 3, look for Xid and ECC errors."
                )
                yield Finding("wrong-result", Severity.FAIL, evidence, action, SLOW)


def _spread_findings(metrics: Sequence[Metric]) -> Iterator[Finding]:
    limit = tables.threshold("matmul-spread")
    for metric in metrics:
        wide = metric.spread
        if metric.name == "best_rate" and wide is not None and wide.p50 and (wide.max - wide.min) / wide.p50 > limit:
            evidence = f"{_where(metric)}: {number(wide.min)} to {number(wide.max)} TFLOPS over {wide.samples} repeats"
            action = "The figure is not stable: measure again on an idle, cool device before comparing it."
            yield Finding("unstable", Severity.INFO, evidence, action, CLOCK)


def _device_findings(metrics: Sequence[Metric], ranks: Sequence[list[Measured]]) -> Iterator[Finding]:
    for metric in metrics:
        low = metric.expected.low if metric.expected is not None else None
        if low is not None and metric.value < low:
            share = f"{metric.percent_of_vendor_peak:.0f}% of the vendor's peak"
            evidence = f"{_where(metric)}: {metric.value:.0f} TFLOPS, {share}"
            action = "Lower than healthy devices reach: check clocks, power limit, temperature, then other processes."
            yield Finding("below-expected-rate", Severity.WARN, evidence, action, REACHED)
        if metric.clocks is not None:
            yield from _throttling(metric, metric.clocks)
    if any(not timing.rested for mine in ranks for one in mine for timing in one.boost):
        share = f"{tables.threshold('boost-clock-fraction'):.0%}"
        evidence = f"the SM clock stayed below {share} of its maximum although the device rested"
        action = "The best rate is a lower bound here: look for an applications clock, a lowered power limit, or heat."
        yield Finding("no-boost-clock", Severity.WARN, evidence, action, CLOCK)


def _throttling(metric: Metric, clocks: Clocks) -> Iterator[Finding]:
    reasons = set(clocks.throttle_reasons)
    if bad := reasons & (telemetry.THERMAL | telemetry.HARDWARE):
        heat = f"{clocks.temperature_c_max or 0:.0f} C"
        evidence = f"{_where(metric)}: {', '.join(sorted(bad))} while measuring, {heat}"
        action = (
            "Not the power limit but heat or a hardware slowdown: check cooling, inlet temperature and power feeds."
        )
        yield Finding("hardware-throttle", Severity.WARN, evidence, action, CLOCK)
    elif metric.name == "sustained_rate" and _share_of_limit(clocks) < tables.threshold("sustained-clock-fraction"):
        evidence = f"{_where(metric)}: SM clock only {_share_of_limit(clocks):.0%} of its maximum while busy"
        action = (
            "Lower than the power limit explains: compare the power limit with the vendor's, look for a locked clock."
        )
        yield Finding("low-sustained-clock", Severity.WARN, evidence, action, CLOCK)
    elif metric.name == "sustained_rate" and reasons & telemetry.POWER:
        mean, limit = f"{clocks.sm_mhz_mean or 0:.0f} MHz", f"{clocks.power_w_limit or 0:.0f} W"
        evidence = f"{_where(metric)}: SM clock {mean} on average under the power limit of {limit}"
        action = (
            "Normal for back-to-back products: the sustained rate, not the best one, is the ceiling of a training step."
        )
        yield Finding("power-limited", Severity.INFO, evidence, action, SUSTAINED)


def _share_of_limit(clocks: Clocks) -> float:
    """Mean SM clock over its maximum; 1 where the device does not tell."""
    return clocks.sm_mhz_mean / clocks.sm_mhz_limit if clocks.sm_mhz_mean and clocks.sm_mhz_limit else 1.0


def _slow(metrics: Sequence[Metric], hellos: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    """Name the devices that fall behind the median of all."""
    groups: dict[tuple[str, ...], list[Metric]] = {}
    for metric in metrics:
        if "rank" in metric.at:
            key = (metric.name, *(str(value) for name, value in metric.at.items() if name != "rank"))
            groups.setdefault(key, []).append(metric)
    warn, fail = tables.threshold("device-spread"), tables.threshold("device-spread-fail")
    for group in groups.values():
        middle = spread([metric.value for metric in group]).p50
        for metric in group:
            behind = 1 - metric.value / middle
            if behind > warn:
                rank, who = metric.at["rank"], hellos[metric.at["rank"]]
                device = f"rank {rank} on {who['host']} ({who['uuid'] or who['device']})"
                against = f"{behind:.0%} behind the median of {len(group)} devices ({middle:.0f})"
                evidence = f"{device}: {metric.name} {metric.value:.0f} TFLOPS, {against}"
                action = (
                    "Every step waits for the slowest device: compare its clock, power and temperature with the rest."
                )
                yield Finding("slow-device", Severity.FAIL if behind > fail else Severity.WARN, evidence, action, SLOW)


def _skipped(hello: dict[str, Any], row: tables.Row | None, metrics: Sequence[Metric]) -> Iterator[Skipped]:
    if row is None:
        yield Skipped("comparison with the vendor's peak", f"no row in accelerators.csv for {hello['device']!r}")
    elif any(metric.percent_of_vendor_peak is None for metric in metrics):
        yield Skipped("comparison with the vendor's peak", "accelerators.csv has no peak for a dtype that was measured")
    if not any(metric.clocks and metric.clocks.samples for metric in metrics):
        yield Skipped("clocks, power, throttling", telemetry.Device(hello["uuid"]).why or "the device tells nothing")


def _summary(metrics: Sequence[Metric], device: str) -> str:
    best = max((one for one in metrics if one.name == "best_rate"), key=lambda one: one.value)
    steady = [one for one in metrics if one.name == "sustained_rate" and one.at == best.at]
    share = (
        ""
        if best.percent_of_vendor_peak is None
        else f" ({best.percent_of_vendor_peak:.0f}% of the vendor's dense peak)"
    )
    tail = f"; sustained {steady[0].value:.4g} TFLOPS" if steady else ""
    return f"{device}: best {best.at['dtype']} rate {best.value:.4g} TFLOPS{share} at {best.at['shape']} (MxNxK){tail}"


def _where(metric: Metric) -> str:
    return " ".join(str(value) for value in metric.at.values())
