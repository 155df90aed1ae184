"""Checks that one rank makes by itself, with one partner, or with all: each is the work of one `World.step`."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from clusterwright_tools import tables, telemetry
from clusterwright_tools.collectives import Collective, fill, wrong
from clusterwright_tools.environment import torch
from clusterwright_tools.pairs import Pair
from clusterwright_tools.timing import Timer
from clusterwright_tools.world import World

_EDGE = {"cpu": 256, "cuda": 4096}
_SECONDS = {"cpu": 0.1, "cuda": 1.0}
_ROWS = 16
_EXCHANGED = {"cpu": 1 << 20, "cuda": 64 << 20}
_COLLECTIVE_BYTES = 1 << 20


def own_device(world: World) -> dict[str, Any]:
    """Fill and read back device memory, and multiply matrices that are the same on all ranks.

    Gives `wrong` (elements of the memory), `error` (of the product, relative to a float64 reference), `seconds` and
    `flop` (of one product, median), `repeats` (whether the last product had the bits of the first), `digest` (of these
    bits) and `clocks`.
    """
    kind = world.device.partition(":")[0]
    bad = 0 if kind == "cpu" else _memory(world.device)
    edge, timer = _EDGE[kind], Timer(world.device)
    dtype = torch().float32 if kind == "cpu" else torch().bfloat16
    generator = torch().Generator().manual_seed(1)
    left, right = (torch().randn(edge, edge, generator=generator).to(dtype) for _ in range(2))
    on_left, on_right = left.to(world.device), right.to(world.device)
    product = on_left @ on_right
    first = _digest(product)
    error = _error(product[:_ROWS].cpu(), left[:_ROWS], right)
    with telemetry.Sampler(telemetry.Device(world.place.uuid)) as sampler:
        took, end = [], time.monotonic() + _SECONDS[kind]
        while time.monotonic() < end:
            took += timer.each(lambda: torch().matmul(on_left, on_right, out=product), 10)
    took.sort()
    return {
        "wrong": bad,
        "error": error,
        "seconds": took[len(took) // 2],
        "flop": 2 * edge**3,
        "repeats": _digest(product) == first,
        "digest": first,
        "clocks": sampler.clocks if sampler.clocks.samples else None,
    }


def exchange(world: World, pair: Pair, timeout: float) -> dict[str, Any]:
    """Send to and receive from the other rank of `pair` at once; gives `seconds` (median) and `wrong` elements."""
    library, timer = torch().distributed, Timer(world.device)
    nbytes = _EXCHANGED[world.device.partition(":")[0]]
    group = library.new_group(list(pair), timeout=timedelta(seconds=timeout), use_local_synchronization=True)
    try:
        one = Collective("send_recv", "float32", world.device, pair, pair.index(world.rank), nbytes, group)
        one.poison()
        one.run()
        timer.synchronize()
        bad = one.wrong()
        one.run()
        took = sorted(timer.each(one.run, 10))
        return {"seconds": took[len(took) // 2], "wrong": bad + one.wrong(), "nbytes": one.nbytes}
    finally:
        # Also because torch derives the next group's name from the number of groups, which has to be alike everywhere.
        library.destroy_process_group(group)


def together(world: World, op: str) -> int:
    """One small collective over all ranks; the number of wrong elements on this rank."""
    one = Collective(op, "float32", world.device, tuple(range(world.size)), world.rank, _COLLECTIVE_BYTES)
    one.poison()
    one.refill()
    one.run()
    Timer(world.device).synchronize()
    return one.wrong()


def _memory(device: str) -> int:
    """Wrong elements after filling and reading back device memory, as much as the table says, half the free at most."""
    free = torch().cuda.mem_get_info(device)[0]
    wanted = int(tables.threshold("preflight-allocation-gib") * 2**30)
    block = torch().empty(min(wanted, free // 2) // 4, dtype=torch().float32, device=device)
    bad = 0
    for period in ([*range(251)], [*range(250, -1, -1)]):
        fill(block, period)
        bad += wrong(block, period)
    return bad


def _error(rows: Any, left: Any, right: Any) -> float:
    """Norm of the error of some rows of the product over the norm of their float64 reference."""
    reference = left.double() @ right.double()
    return float((rows.double() - reference).norm() / reference.norm())


def _digest(product: Any) -> int:
    """A sum over the bits of the product, weighted by place: equal products have equal ones."""
    integers = torch().int32 if product.dtype == torch().float32 else torch().int16
    bits = product.view(integers).flatten().long()
    places = torch().arange(bits.numel(), device=bits.device) % 8191 + 1
    return int((bits * places).sum())
