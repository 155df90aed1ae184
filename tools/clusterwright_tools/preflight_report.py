"""What preflight found, as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright_tools import environment, rank_findings
from clusterwright_tools.meeting import Meeting
from clusterwright_tools.pairs import Tried
from clusterwright_tools.report import Finding, Metric, Report, Severity, Skipped, verdict
from clusterwright_tools.world import TOLD_TO_END, World

_HANGS = "debugging/distributed-hangs#"
_JOINED = _HANGS + "which-ranks-or-hosts-never-joined-the-job"
_DIFFER = _HANGS + "why-do-ranks-compute-different-results-or-devices-than-expected"
_ISOLATE = _HANGS + "how-is-one-bad-rank-or-link-isolated"
_WATCHDOG = _HANGS + "what-does-nccl-watchdog-timeout-mean"
_GLOO = "network/collectives#what-does-a-two-process-gloo-run-on-the-cpu-tell"

CHECKS = ("roll call", "versions and devices", "memory and arithmetic", "connection", "pairs", "collectives")


_ABSENT = {"host": "", "device": "did not come", "uuid": ""}


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
            self.lost(f"during '{check}': {told}")
            return True
        if any(text == TOLD_TO_END for text in meeting.problems.values()):
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

    def lost(self, evidence: str) -> None:
        """A rank went away in the middle of the checks."""
        action = "look for that process on its host: it died (out of memory, Xid, signal) or hangs (py-spy dump)"
        self.add("rank-lost", Severity.FAIL, evidence, action, _ISOLATE)
        self.stop("not reached: a rank was lost")

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
        self._metrics += rank_findings.figures(told)
        self._findings += rank_findings.broken(told, world.where)
        if world.device == "cpu":
            self.skip("memory and speed of devices", "no GPU: the ranks compute on the CPU")
            return
        kinds = {rank: str(hello["device"]) for rank, hello in world.hellos.items()}
        self._findings += rank_findings.compared(told, kinds, world.where)
        self._findings += rank_findings.hot(told, world.where)

    def pairs(self, tried: Sequence[Tried], planned: int) -> None:
        """What came of the pairs that were tried, of those that were planned."""
        world = self._world
        everything = world.size * (world.size - 1) // 2
        if planned < everything:
            reason = "not in the rounds that were asked for; raise rounds to try more"
            self.skip(f"{everything - planned} pairs", reason)
        if len(tried) < planned:
            self.skip(f"{planned - len(tried)} pairs", "one of the two was still held up by an exchange before")
        hosts = {rank: str(hello["host"]) for rank, hello in world.hellos.items()}
        self._metrics += rank_findings.pair_figures(tried)
        self._findings += rank_findings.failed_pairs(tried, hosts, world.where)
        if world.device == "cpu":
            self.skip("speed of pairs", "gloo on the CPU varies too much to tell a slow link")
        else:
            self._findings += rank_findings.slow_pairs(tried, hosts, world.where)

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
        hellos = [dict(world.hellos.get(rank, _ABSENT)) for rank in range(world.size)]
        nodes = len({hello["host"] for hello in world.hellos.values()})
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
