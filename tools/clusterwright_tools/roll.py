"""Who is there, and where each computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright_tools.launcher import Launcher, whereabouts
from clusterwright_tools.meeting import Store


@dataclass(frozen=True)
class Place:
    """Where a rank computes, and how its tensors travel: NCCL on a device, or gloo on the CPU."""

    backend: str
    device: str
    index: int | None = None
    uuid: str = ""


@dataclass(frozen=True)
class RollCall:
    """Who came. `present` maps rank to hello: all of them on the lowest rank that came, else only this rank's own."""

    launcher: Launcher
    present: Mapping[int, Mapping[str, Any]]
    missing: tuple[int, ...]
    problems: Mapping[int, str]
    store: Store | None

    def complaint(self) -> str:
        """One line that says who is missing or why the world cannot start, '' when all is well."""
        if self.missing:
            hosts = {rank: str(hello.get("host", "")) for rank, hello in self.present.items()}
            return f"did not come to the roll call: {whereabouts(self.missing, self.launcher, hosts)}"
        return "; ".join(f"rank {rank}: {text}" for rank, text in self.problems.items())
