"""What preflight found, as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright_tools import environment, tables, telemetry
from clusterwright_tools.meeting import Meeting
from clusterwright_tools.pairs import Tried, diagnose, slow
from clusterwright_tools.report import Finding, Metric, Report, Severity, Skipped, spread, verdict
from clusterwright_tools.world import TOLD_TO_END, World

_HANGS = "debugging/distributed-hangs#"
_JOINED = _HANGS + "which-ranks-or-hosts-never-joined-the-job"
_DIFFER = _HANGS + "why-do-ranks-compute-different-results-or-devices-than-expected"
_ISOLATE = _HANGS + "how-is-one-bad-rank-or-link-isolated"
_WATCHDOG = _HANGS + "what-does-nccl-watchdog-timeout-mean"
_SLOWER = "hardware/gpu-health#is-one-gpu-of-the-node-slower-than-the-others"
_CLOCK = "hardware/gpu-health#why-is-the-gpu-clock-below-its-maximum"
_GLOO = "network/collectives#what-does-a-two-process-gloo-run-on-the-cpu-tell"

CHECKS = ("roll call", "versions and devices", "memory and arithmetic", "connection", "pairs", "collectives")


class Findings:
    """Collects what the steps bring, and makes the report of it on the rank that reports."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._findings: list[Finding] = []
        self._skipped: list[Skipped] = []
        self._metrics: list[Metric] = []
        self._done: list[str] = []
        self._why = ""

    def done(self, check: str) -> None:
        """A check of `CHECKS` was made to its end."""
        self._done.append(check)

    def add(self, code: str, severity: Severity, evidence: str, action: str, section: str) -> None:
        """Add a finding."""
        self._findings.append(Finding(code, severity, evidence, action, section))

    def skip(self, check: str, reason: str) -> None:
        """Something was not checked."""
        self._skipped.append(Skipped(check, reason))

    def stop(self, why: str) -> None:
        """The checks that are not done will not be made."""
        self._why = why

    def ended_badly(self, check: str, meeting: Meeting, action: str = "") -> bool:
        """Take in a step that did not end well everywhere; whether it did."""
        if meeting.fine:
            return False
        told = self._world.describe(meeting)
        if meeting.missing:
            evidence = f"during '{check}': {told}"
            action = "look for that process on its host: it died (out of memory, Xid, signal) or hangs (py-spy dump)"
            self.add("rank-lost", Severity.FAIL, evidence, action, _ISOLATE)
        elif any(text == TOLD_TO_END for text in meeting.problems.values()):
            self.skip(check, told)
        else:
            action = action or "look at that rank's log and its device"
            self.add("rank-failed", Severity.FAIL, f"during '{check}': {told}", action, _WATCHDOG)
        self.stop(f"not reached: '{check}' did not end well")
        return True

    def missing(self) -> None:
        """Ranks did not come to the roll call."""
        evidence = self._world.roll.complaint()
        action = (
            "look whether the launcher started them and whether they reach "
            f"{self._world.launcher.address}:{self._world.launcher.port} from their hosts; look at their logs"
        )
        self.add("ranks-missing", Severity.FAIL, evidence, action, _JOINED)
        self.stop("not reached: ranks are missing")

    def store_lost(self, message: str) -> None:
        """Rank 0 went away with the store in the middle of the checks."""
        action = "look for rank 0 on its host: it died (out of memory, Xid, signal) or hangs (py-spy dump)"
        self.add("rank-lost", Severity.FAIL, message, action, _ISOLATE)
        self.stop("not reached: the store is gone")

    def extend(self, findings: Sequence[Finding]) -> None:
        """Add findings that were made elsewhere."""
        self._findings += findings

    def shared(self, evidence: str) -> None:
        """Ranks have the same device."""
        told, _, action = evidence.partition("; start")
        self.add("shared-device", Severity.FAIL, told, "start" + action, _DIFFER)
        self.stop("not reached: ranks share a device")

    def devices(self, told: Mapping[int, Mapping[str, Any]]) -> None:
        """What each rank found about its own device; see `rank_check.own_device`."""
        world = self._world
        allowed = tables.threshold("preflight-compute-rel-error")
        for code, ranks, what in (
            (
                "memory-wrong",
                [r for r, one in told.items() if one["wrong"]],
                "read back other values than were written",
            ),
            ("compute-wrong", [r for r, one in told.items() if not one["error"] <= allowed], "multiply wrongly"),
            ("compute-varies", [r for r, one in told.items() if not one["repeats"]], "give other bits when repeated"),
        ):
            if ranks:
                errors = ", ".join(f"{told[rank]['error']:.2g}" for rank in ranks[:8])
                evidence = f"{world.where(tuple(ranks))} {what} (relative error {errors}; {allowed:g} is allowed)"
                action = "drain the node, and run the vendor's diagnosis (dcgmi diag -r 3) on that GPU"
                self.add(code, Severity.FAIL, evidence, action, _DIFFER)
        rates = {rank: one["flop"] / one["seconds"] / 1e12 for rank, one in told.items()}
        slowest = min(rates, key=lambda rank: rates[rank])
        how = "product of random matrices, median; the slowest rank"
        at = {"rank": slowest}
        self._metrics.append(Metric("compute", rates[slowest], "TFLOPS", how, at, spread(list(rates.values()))))
        if world.device == "cpu":
            self.skip("memory and speed of devices", "no GPU: the ranks compute on the CPU")
        else:
            self._compare(told, rates)

    def _compare(self, told: Mapping[int, Mapping[str, Any]], rates: Mapping[int, float]) -> None:
        world = self._world
        kinds: dict[str, list[int]] = {}
        for rank in told:
            kinds.setdefault(str(world.hellos[rank]["device"]), []).append(rank)
        for ranks in kinds.values():
            median = spread([rates[rank] for rank in ranks]).p50
            for severity, name in ((Severity.FAIL, "device-spread-fail"), (Severity.WARN, "device-spread")):
                below = tuple(rank for rank in ranks if rates[rank] < median * (1 - tables.threshold(name)))
                if below:
                    shares = ", ".join(f"{rates[rank] / median:.0%}" for rank in below)
                    evidence = f"{world.where(below)} compute at {shares} of the median of {median:.0f} TFLOPS"
                    self.add("device-slow", severity, evidence, "run matmul-flops there; compare clocks", _SLOWER)
                    break
            if len({told[rank]["digest"] for rank in ranks}) > 1:
                groups = [
                    tuple(r for r in ranks if told[r]["digest"] == one) for one in {told[r]["digest"] for r in ranks}
                ]
                odd = min(groups, key=len)
                evidence = f"the same product has other bits on {world.where(odd)} than on GPUs of the same kind"
                action = "compare library versions there; if they are alike, drain the node and run dcgmi diag -r 3"
                self.add("compute-differs", Severity.WARN, evidence, action, _DIFFER)
        for rank, one in told.items():
            reasons = set(one["clocks"].throttle_reasons) if one["clocks"] else set()
            if hot := sorted(reasons & (telemetry.THERMAL | telemetry.HARDWARE)):
                evidence = f"{world.where((rank,))} is throttled: {', '.join(hot)}"
                self.add("throttled", Severity.WARN, evidence, "check cooling and power of that node", _CLOCK)

    def pairs(self, tried: Sequence[Tried], planned: int) -> None:
        """What came of the pairs that were tried, of those that were planned."""
        world, hosts = self._world, {rank: str(hello["host"]) for rank, hello in self._world.hellos.items()}
        everything = world.size * (world.size - 1) // 2
        if planned < everything:
            self.skip(
                f"{everything - planned} pairs", "not in the rounds that were asked for; raise rounds to try more"
            )
        if len(tried) < planned:
            self.skip(f"{planned - len(tried)} pairs", "one of the two was still held up by an exchange before")
        rates = {one.pair: one.nbytes / one.seconds / 1e9 for one in tried if one.seconds}
        if rates:
            worst = min(rates, key=lambda pair: rates[pair])
            how = "sent and received at once by both, per direction, median; the slowest pair"
            at = {"ranks": f"{worst[0]}-{worst[1]}", "bytes": tried[0].nbytes}
            self._metrics.append(Metric("pair bandwidth", rates[worst], "GB/s", how, at, spread(list(rates.values()))))
        broken = {one.pair: one.problem or f"{one.wrong} wrong elements" for one in tried if one.problem or one.wrong}
        self._blame("pair-failed", Severity.FAIL, broken, tried, hosts)
        if world.device == "cpu":
            self.skip("speed of pairs", "gloo on the CPU varies too much to tell a slow link")
            return
        factor = tables.threshold("pair-slow-factor")
        late = {pair: f"{ratio:.1f} times the median time" for pair, ratio in slow(tried, hosts, factor).items()}
        self._blame("pair-slow", Severity.WARN, late, tried, hosts)

    def _blame(
        self,
        code: str,
        severity: Severity,
        bad: Mapping[tuple[int, int], str],
        tried: Sequence[Tried],
        hosts: Mapping[int, str],
    ) -> None:
        found = diagnose(bad, [one.pair for one in tried], hosts)
        parts = []
        if found.ranks:
            parts.append(f"{self._world.where(found.ranks)} with every partner")
        if found.hosts:
            parts.append(f"host {', '.join(found.hosts)} with every other host")
        for one, two in found.pairs[:8]:
            parts.append(f"ranks {one} ({hosts[one]}) and {two} ({hosts[two]}) with each other: {bad[(one, two)]}")
        if not parts:
            return
        example = next(iter(bad.values()))
        evidence = f"{len(bad)} of {len(tried)} pairs: {'; '.join(parts)}" + ("" if found.pairs else f" ({example})")
        action = (
            "leave that rank's GPU or node out and run preflight again"
            if found.ranks or found.hosts
            else "look at the link between the two (nvidia-smi nvlink -e, ibstat); NCCL_DEBUG=INFO names its path"
        )
        self.add(code, severity, evidence, action, _ISOLATE)

    def wrong(self, op: str, told: Mapping[int, int]) -> None:
        """A collective gave wrong values on some ranks."""
        ranks = tuple(rank for rank, count in told.items() if count)
        if ranks:
            evidence = f"{op} gave wrong values on {self._world.where(ranks)}"
            self.add("wrong-result", Severity.FAIL, evidence, "leave these nodes out and run preflight again", _DIFFER)

    def report(self) -> Report:
        """The report; checks that were not made are listed, and then the status is not `pass`."""
        world = self._world
        left = [check for check in CHECKS if check not in self._done]
        if left and self._why:
            self._skipped += [Skipped(check, self._why) for check in left]
        if world.device == "cpu":
            evidence = "the ranks met with gloo on the CPU: no GPU and no NCCL took part"
            self.add("cpu-gloo", Severity.INFO, evidence, "run it where the job will run", _GLOO)
        status = verdict(self._findings, judged=not left)
        hellos = [dict(hello) for hello in world.hellos.values()]
        nodes = len({hello["host"] for hello in hellos})
        grave = [one.evidence for one in self._findings if one.severity is not Severity.INFO]
        whole = f"{world.size} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        return Report(
            tool="preflight",
            status=status,
            summary=f"{whole}: {grave[0] if grave else self._why or 'fit for a job'}",
            environment=environment.describe(hellos, world.place.index),
            metrics=tuple(self._metrics),
            findings=tuple(self._findings),
            skipped=tuple(self._skipped),
        )
