"""What ranks and pairs of ranks found in preflight, as figures and findings; `where` names ranks with their hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clusterwright_tools import tables, telemetry
from clusterwright_tools.pairs import Pair, Tried, diagnose, slow
from clusterwright_tools.report import Finding, Metric, Severity, spread

_DIFFER = "debugging/distributed-hangs#why-do-ranks-compute-different-results-or-devices-than-expected"
_ISOLATE = "debugging/distributed-hangs#how-is-one-bad-rank-or-link-isolated"
_SLOWER = "hardware/gpu-health#is-one-gpu-of-the-node-slower-than-the-others"
_CLOCK = "hardware/gpu-health#why-is-the-gpu-clock-below-its-maximum"
_DIAGNOSE = "drain the node, and run the vendor's diagnosis (dcgmi diag -r 3) on that GPU"
_NAMED = 8

Told = Mapping[int, Mapping[str, Any]]
Where = Callable[[tuple[int, ...]], str]


def figures(told: Told) -> Iterator[Metric]:
    """The slowest rank's rate and the worst error, from what `rank_check.own_device` gives by rank."""
    rates = _rates(told)
    slowest = min(rates, key=lambda rank: rates[rank])
    how = "product of random matrices, median; the slowest rank"
    yield Metric("compute", rates[slowest], "TFLOPS", how, {"rank": slowest}, spread(list(rates.values())))
    worst = max(told, key=lambda rank: told[rank]["error"])
    how = "norm of the error of that product over the norm of its float64 reference; the worst rank"
    yield Metric("compute error", told[worst]["error"], "fraction", how, {"rank": worst})


def broken(told: Told, where: Where) -> Iterator[Finding]:
    """Devices whose memory or arithmetic is wrong."""
    allowed = tables.threshold("preflight-compute-rel-error")
    memory = tuple(rank for rank, one in told.items() if one["wrong"])
    if memory:
        counts = ", ".join(str(told[rank]["wrong"]) for rank in memory[:_NAMED])
        evidence = f"{where(memory)} read back other values than were written ({counts} elements)"
        yield Finding("memory-wrong", Severity.FAIL, evidence, _DIAGNOSE, _DIFFER)
    # Not `>`: an error that is no number is an error.
    off = tuple(rank for rank, one in told.items() if not one["error"] <= allowed)
    if off:
        errors = ", ".join(f"{told[rank]['error']:.2g}" for rank in off[:_NAMED])
        evidence = f"{where(off)} multiply wrongly: relative error {errors}, {allowed:g} is allowed"
        yield Finding("compute-wrong", Severity.FAIL, evidence, _DIAGNOSE, _DIFFER)
    varying = tuple(rank for rank, one in told.items() if not one["repeats"])
    if varying:
        evidence = f"{where(varying)} give other bits when the same product is repeated"
        yield Finding("compute-varies", Severity.FAIL, evidence, _DIAGNOSE, _DIFFER)


def compared(told: Told, kinds: Mapping[int, str], where: Where) -> Iterator[Finding]:
    """Devices that are slower, or compute other bits, than those of the same kind."""
    rates = _rates(told)
    for kind in dict.fromkeys(kinds.values()):
        ranks = [rank for rank in told if kinds[rank] == kind]
        median = spread([rates[rank] for rank in ranks]).p50
        for severity, name in ((Severity.FAIL, "device-spread-fail"), (Severity.WARN, "device-spread")):
            below = tuple(rank for rank in ranks if rates[rank] < median * (1 - tables.threshold(name)))
            if below:
                shares = ", ".join(f"{rates[rank] / median:.0%}" for rank in below[:_NAMED])
                evidence = f"{where(below)} compute at {shares} of the median of {median:.0f} TFLOPS"
                yield Finding("device-slow", severity, evidence, "run matmul-flops there; compare clocks", _SLOWER)
                break
        groups = [tuple(r for r in ranks if told[r]["digest"] == one) for one in {told[r]["digest"] for r in ranks}]
        if len(groups) > 1:
            evidence = f"the same product has other bits on {where(min(groups, key=len))} than on its like"
            action = "compare library versions there; if they are alike, " + _DIAGNOSE
            yield Finding("compute-differs", Severity.WARN, evidence, action, _DIFFER)


def hot(told: Told, where: Where) -> Iterator[Finding]:
    """Devices that were throttled for heat or by hardware."""
    for rank, one in told.items():
        reasons = set(one["clocks"].throttle_reasons) if one["clocks"] else set()
        if found := sorted(reasons & (telemetry.THERMAL | telemetry.HARDWARE)):
            evidence = f"{where((rank,))} is throttled: {', '.join(found)}"
            yield Finding("throttled", Severity.WARN, evidence, "check cooling and power of that node", _CLOCK)


def pair_figures(tried: Sequence[Tried]) -> Iterator[Metric]:
    """The slowest pair's bandwidth."""
    rates = {one.pair: one.nbytes / one.seconds / 1e9 for one in tried if one.seconds}
    if rates:
        worst = min(rates, key=lambda pair: rates[pair])
        how = "sent and received at once by both, per direction, median; the slowest pair"
        at = {"ranks": f"{worst[0]}-{worst[1]}", "bytes": max(one.nbytes for one in tried)}
        yield Metric("pair bandwidth", rates[worst], "GB/s", how, at, spread(list(rates.values())))


def failed_pairs(tried: Sequence[Tried], hosts: Mapping[int, str], where: Where) -> Iterator[Finding]:
    """Pairs that gave errors, hung, or got wrong values."""
    bad = {one.pair: one.problem or f"{one.wrong} wrong elements" for one in tried if one.problem or one.wrong}
    yield from _blame("pair-failed", Severity.FAIL, bad, tried, hosts, where)


def slow_pairs(tried: Sequence[Tried], hosts: Mapping[int, str], where: Where) -> Iterator[Finding]:
    """Pairs that are slower than the others of their kind."""
    found = slow(tried, hosts, tables.threshold("pair-slow-factor"))
    late = {pair: f"{ratio:.1f} times the median time" for pair, ratio in found.items()}
    yield from _blame("pair-slow", Severity.WARN, late, tried, hosts, where)


def _blame(
    code: str,
    severity: Severity,
    bad: Mapping[Pair, str],
    tried: Sequence[Tried],
    hosts: Mapping[int, str],
    where: Where,
) -> Iterator[Finding]:
    if not bad:
        return
    found = diagnose(bad, [one.pair for one in tried], hosts)
    parts = [f"{where(found.ranks)} with every partner"] if found.ranks else []
    parts += [f"host {', '.join(found.hosts)} with every other host"] if found.hosts else []
    parts += [
        f"ranks {one} ({hosts[one]}) and {two} ({hosts[two]}) with each other: {bad[(one, two)]}"
        for one, two in found.pairs[:_NAMED]
    ]
    example = "" if found.pairs else f" ({next(iter(bad.values()))})"
    action = (
        "leave that rank's GPU or node out and run preflight again"
        if found.ranks or found.hosts
        else "look at the link between the two (nvidia-smi nvlink -e, ibstat); NCCL_DEBUG=INFO names its path"
    )
    evidence = f"{len(bad)} of {len(tried)} pairs: {'; '.join(parts)}{example}"
    yield Finding(code, severity, evidence, action, _ISOLATE)


def _rates(told: Told) -> dict[int, float]:
    """TFLOPS by rank."""
    return {rank: one["flop"] / one["seconds"] / 1e12 for rank, one in told.items()}
