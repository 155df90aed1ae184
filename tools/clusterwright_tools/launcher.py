"""Which rank of which job this process is: told by torchrun, by srun, by Open MPI, or by variables set by hand."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright_tools.errors import CannotRun

_ORDINALS = ("first", "second", "third")


@dataclass(frozen=True)
class Launcher:
    """This process's place in the job, and where the ranks meet.

    `hosts` names the nodes in rank order where the launcher tells (SLURM with block distribution), else it is empty.
    `agent_store` says that torchrun's agent, not rank 0, keeps the store at `address:port`.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    address: str = "127.0.0.1"
    port: int = 29500
    hosts: tuple[str, ...] = ()
    agent_store: bool = False
    attempt: str = "0"

    def node(self, rank: int) -> int:
        """Which node a rank is on, counted from 0, where every node has as many ranks as this one."""
        return rank // max(self.local_size, 1)


def launcher(environ: Mapping[str, str] = os.environ) -> Launcher:
    """Read the launcher's variables; a process without any is a world of its own.

    Raises:
        CannotRun: the variables contradict each other, or the address to meet at is missing.
    """
    if "RANK" in environ or "WORLD_SIZE" in environ:
        found = _by_rank(environ)
    elif _int(environ, "SLURM_STEP_NUM_TASKS", 1) > 1:
        found = _slurm(environ)
    elif _int(environ, "OMPI_COMM_WORLD_SIZE", 1) > 1:
        found = _open_mpi(environ)
    else:
        return Launcher()
    if not 0 <= found.rank < found.size or not 0 <= found.local_rank < found.local_size:
        raise CannotRun(
            f"rank {found.rank} of {found.size} (local {found.local_rank} of {found.local_size}) cannot be: "
            "set RANK below WORLD_SIZE and LOCAL_RANK below LOCAL_WORLD_SIZE, or start with torchrun"
        )
    return found


def whereabouts(ranks: tuple[int, ...], launch: Launcher, known: Mapping[int, str]) -> str:
    """Ranks as text with the node that each run of them belongs to: `ranks 8-15: the second node (host n2)`.

    `known` maps ranks that did come to their hosts; a missing rank's host is that of its neighbours on the node.
    """
    parts = []
    for node in sorted({launch.node(rank) for rank in ranks}):
        here = [rank for rank in ranks if launch.node(rank) == node]
        whole = len(here) == launch.local_size and launch.local_size > 1
        named = f"{_span(here)}: the {_ordinal(node)} node" if whole else _span(here)
        host = _host(node, launch, known)
        parts.append(f"{named} (host {host})" if host else named)
    return "; ".join(parts)


def expand_hosts(text: str) -> tuple[str, ...]:
    """Expand SLURM's host list, e.g. `n[01-03,7],gpu4` (scontrol show hostnames does the same)."""
    hosts: list[str] = []
    for prefix, ranges, suffix in re.findall(r"([^,\[\]]+)(?:\[([^\]]*)\]([^,\[\]]*))?", text):
        if not ranges:
            hosts.append(prefix)
            continue
        for part in ranges.split(","):
            low, _, high = part.partition("-")
            hosts += [f"{prefix}{n:0{len(low)}d}{suffix}" for n in range(int(low), int(high or low) + 1)]
    return tuple(hosts)


def _by_rank(environ: Mapping[str, str]) -> Launcher:
    missing = [name for name in ("RANK", "WORLD_SIZE") if name not in environ]
    if missing:
        raise CannotRun(f"{missing[0]} is not set: set RANK and WORLD_SIZE together, or start with torchrun")
    rank, size = _int(environ, "RANK", 0), _int(environ, "WORLD_SIZE", 1)
    address = environ.get("MASTER_ADDR", "127.0.0.1")
    alone = address in ("127.0.0.1", "localhost", "::1")
    local_size = _int(environ, "LOCAL_WORLD_SIZE", size if alone else 1)
    return Launcher(
        rank=rank,
        size=size,
        local_rank=_int(environ, "LOCAL_RANK", rank % max(local_size, 1)),
        local_size=max(local_size, _int(environ, "LOCAL_RANK", 0) + 1),
        address=address,
        port=_int(environ, "MASTER_PORT", 29500),
        agent_store=environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
        attempt=environ.get("TORCHELASTIC_RESTART_COUNT", "0"),
    )


def _slurm(environ: Mapping[str, str]) -> Launcher:
    # Only srun sets the STEP variables; a batch script has SLURM_NTASKS as well, and is one process all the same.
    nodes = expand_hosts(environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", ""))
    tasks = _tasks(environ.get("SLURM_STEP_TASKS_PER_NODE") or environ.get("SLURM_TASKS_PER_NODE", ""))
    node = _int(environ, "SLURM_NODEID", 0)
    cyclic = environ.get("SLURM_DISTRIBUTION", "").startswith("cyclic")
    local_rank = _int(environ, "SLURM_LOCALID", 0)
    return Launcher(
        rank=_int(environ, "SLURM_PROCID", 0),
        size=_int(environ, "SLURM_STEP_NUM_TASKS", 1),
        local_rank=local_rank,
        local_size=tasks[node] if node < len(tasks) else local_rank + 1,
        address=environ.get("MASTER_ADDR") or (nodes[0] if nodes else "127.0.0.1"),
        # One port for each job of a node that several jobs share.
        port=_int(environ, "MASTER_PORT", 20000 + _int(environ, "SLURM_JOB_ID", 0) % 20000),
        hosts=() if cyclic else nodes,
    )


def _open_mpi(environ: Mapping[str, str]) -> Launcher:
    size, local_size = _int(environ, "OMPI_COMM_WORLD_SIZE", 1), _int(environ, "OMPI_COMM_WORLD_LOCAL_SIZE", 1)
    if size > local_size and "MASTER_ADDR" not in environ:
        raise CannotRun("MASTER_ADDR is not set: name the host of rank 0, e.g. mpirun -x MASTER_ADDR=FIRST_HOST")
    return Launcher(
        rank=_int(environ, "OMPI_COMM_WORLD_RANK", 0),
        size=size,
        local_rank=_int(environ, "OMPI_COMM_WORLD_LOCAL_RANK", 0),
        local_size=local_size,
        address=environ.get("MASTER_ADDR", "127.0.0.1"),
        port=_int(environ, "MASTER_PORT", 29500),
    )


def _tasks(text: str) -> list[int]:
    """SLURM's tasks per node, e.g. `8(x2),4`, as [8, 8, 4]."""
    return [int(n) for n, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text) for _ in range(int(times or 1))]


def _int(environ: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(environ.get(name) or default)
    except ValueError as error:
        raise CannotRun(f"{name}={environ[name]} is not a number: unset it, or start with torchrun or srun") from error


def _host(node: int, launch: Launcher, known: Mapping[int, str]) -> str:
    if node < len(launch.hosts):
        return launch.hosts[node]
    return next((host for rank, host in sorted(known.items()) if launch.node(rank) == node), "")


def _span(ranks: list[int]) -> str:
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    text = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"rank {text}" if len(ranks) == 1 else f"ranks {text}"


def _ordinal(node: int) -> str:
    return _ORDINALS[node] if node < len(_ORDINALS) else f"{node + 1}th"
