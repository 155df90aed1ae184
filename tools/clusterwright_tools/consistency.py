"""What differs among ranks that should be alike: versions, devices, their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clusterwright_tools.report import Finding, Severity

_SECTION = "debugging/distributed-hangs#why-do-ranks-compute-different-results-or-devices-than-expected"
_ALIKE = {
    "torch": Severity.FAIL,
    "nccl": Severity.FAIL,
    "cuda": Severity.FAIL,
    "hip": Severity.FAIL,
    "driver": Severity.WARN,
    "python": Severity.WARN,
    "tools": Severity.WARN,
    "device": Severity.WARN,
    "visible_devices": Severity.WARN,
}
"""Different libraries break collectives; different drivers, devices and Pythons may only make ranks unequal."""


def differences(hellos: Mapping[int, Mapping[str, Any]], where: Callable[[tuple[int, ...]], str]) -> Iterator[Finding]:
    """A finding for each thing in which some ranks differ from the others; `where` names ranks with their hosts."""
    for what, severity in _ALIKE.items():
        values = {rank: str(hello.get(what, "")) or "none" for rank, hello in hellos.items()}
        usual, _ = Counter(values.values()).most_common(1)[0]
        others = sorted(set(values.values()) - {usual})
        if not others:
            continue
        odd = "; ".join(f"{other} on {where(tuple(r for r, v in values.items() if v == other))}" for other in others)
        evidence = f"{what.replace('_', ' ')} differs: {odd}; {usual} on the other {Counter(values.values())[usual]}"
        action = "start every rank from the same image, on nodes of one kind with the same driver"
        yield Finding(f"{what.replace('_', '-')}-differs", severity, evidence, action, _SECTION)
    yield from _unused(hellos)


def _unused(hellos: Mapping[int, Mapping[str, Any]]) -> Iterator[Finding]:
    ranks = Counter(str(hello["host"]) for hello in hellos.values())
    for host, count in ranks.items():
        # A rank that sees a single device was given it by its launcher, and cannot know how many the node has.
        visible = max(int(hello.get("visible_devices") or 0) for hello in hellos.values() if hello["host"] == host)
        if visible > max(1, count):
            evidence = f"{count} ranks on {host}, which shows {visible} devices"
            action = f"start one rank for each device (torchrun --nproc-per-node {visible}) unless that is meant"
            yield Finding("idle-devices", Severity.INFO, evidence, action, _SECTION)
