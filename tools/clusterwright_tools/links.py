"""What carries the traffic of a world, and what it can reach: the link between a node's GPUs, or the node's network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright_tools import tables


@dataclass(frozen=True)
class Wire:
    """A wire rate in GB/s per direction, and the fractions of it between which a healthy all-reduce lies."""

    name: str
    gb_s: float
    source: str
    low: float
    high: float | None = None
    judge_bytes: float = 0.0
    """The smallest message that is judged: smaller ones are bound by latency."""


def wire(hellos: Sequence[Mapping[str, Any]]) -> Wire | str:
    """The wire that bounds a ring over all ranks, or the reason why it is not known.

    Within a node that is one GPU's link to the other GPUs (`accelerators.csv`, `interconnects.csv`). Between nodes
    every ring enters and leaves each node once, so that it is the sum of a node's network ports, however many ranks the
    node has. Each hello has `host`, `device` and `nic_gb_s`.
    """
    if any(hello["device"] == "cpu" for hello in hellos):
        return "gloo on the CPU: there is no GPU link to compare with"
    if len({hello["host"] for hello in hellos}) > 1:
        return _network(hellos)
    names = {str(hello["device"]) for hello in hellos}
    if len(names) > 1:
        return f"different GPUs in one node: {', '.join(sorted(names))}"
    name = names.pop()
    row = tables.accelerator(name)
    if row is None or not row["scaleup_link"]:
        return f"accelerators.csv has no link between GPUs for '{name}'"
    link = next((one for one in tables.rows("interconnects") if one["name"] == row["scaleup_link"]), None)
    if link is None or tables.number(link, "gb_s_per_direction") is None:
        return f"interconnects.csv has no rate for '{row['scaleup_link']}'"
    share = _mesh_share(link, len(hellos))
    return Wire(
        link["name"] if share == 1 else f"{link['name']}, {len(hellos) - 1} of {link['links']} links",
        share * float(link["gb_s_per_direction"]),
        link["source"],
        tables.number(link, "expected_busbw_low_fraction") or tables.threshold("busbw-fraction-low"),
        tables.number(link, "expected_busbw_high_fraction"),
        tables.threshold("busbw-judge-bytes"),
    )


def _mesh_share(link: tables.Row, ranks: int) -> float:
    """The share of a GPU's links that reach the other ranks: without a switch, each link leads to one neighbour."""
    links = tables.number(link, "links")
    return min(1.0, (ranks - 1) / links) if link["kind"] == "xgmi" and links else 1.0


def _network(hellos: Sequence[Mapping[str, Any]]) -> Wire | str:
    rates = {hello["host"]: hello.get("nic_gb_s") for hello in hellos}
    unknown = [host for host, rate in rates.items() if not rate]
    if unknown:
        return f"no active RDMA port is listed on {', '.join(map(str, unknown))}, so the network's rate is not known"
    rate = min(float(one) for one in rates.values() if one)
    source = "/sys/class/infiniband on the slowest node; thresholds.csv"
    low, judge = tables.threshold("busbw-fraction-low"), tables.threshold("busbw-judge-bytes-network")
    return Wire("RDMA ports of a node", rate, source, low, judge_bytes=judge)
