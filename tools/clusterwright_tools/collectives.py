"""Collectives with data that can be checked: what each sends, how its bandwidth is counted, what must come out.

Sizes and factors follow nccl-tests (doc/PERFORMANCE.md there): with n ranks, time t and S bytes, algbw = S / t and
busbw = algbw * factor, where S is the whole buffer of all_reduce, broadcast and send_recv, the gathered output of
all_gather, the whole input of reduce_scatter and of all_to_all, each on one rank.

Values are small whole numbers, so that every sum is exact in the dtype whatever the order of the additions is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterwright_tools.environment import torch

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of an element."""

_EXACT = {"float32": 1 << 24, "bfloat16": 1 << 8, "float16": 1 << 11}
"""Up to here every whole number has a value of its own in the dtype (24, 8 and 11 significant bits)."""

_PERIOD = 251
_ALIGN = 16
_CHECK_ROWS = (1 << 24) // _PERIOD
_POISON = -1


def factor(op: str, size: int) -> Fraction:
    """busbw / algbw with `size` ranks. send_recv is a ring: every rank sends to the next one at the same time."""
    if op == "all_reduce":
        return Fraction(2 * (size - 1), size)
    if op in ("all_gather", "reduce_scatter", "all_to_all"):
        return Fraction(size - 1, size)
    return Fraction(1)


def elements(op: str, nbytes: int, dtype: str, size: int) -> int:
    """Elements in `nbytes`, rounded down, at least one; parted buffers have parts of at least one times 16 bytes."""
    count = max(1, nbytes // DTYPES[dtype])
    if op in ("all_gather", "reduce_scatter", "all_to_all"):
        unit = size * _ALIGN // DTYPES[dtype]
        count = max(1, count // unit) * unit
    return count


def memory(op: str, nbytes: int, size: int) -> int:
    """Bytes that the buffers of a collective take on one rank."""
    return {
        "all_reduce": 2 * nbytes,
        "all_gather": nbytes + nbytes // size,
        "reduce_scatter": nbytes + nbytes // size,
        "all_to_all": 2 * nbytes,
        "broadcast": nbytes,
        "send_recv": 2 * nbytes,
    }[op]


@dataclass(frozen=True)
class Values:
    """What rank r adds at position i: (i + r) mod `period`, or 0 where r is no multiple of `stride`."""

    period: int
    stride: int

    @classmethod
    def exact(cls, dtype: str, size: int) -> Values:
        """Values whose sum over `size` ranks is exact in the dtype."""
        period = max(2, min(_PERIOD, _EXACT[dtype] // size + 1))
        return cls(period, -(-size * (period - 1) // _EXACT[dtype]))

    def of(self, rank: int, first: int = 0) -> list[int]:
        """One period of a rank's values, from position `first` on."""
        if rank % self.stride:
            return [0] * self.period
        return [(first + i + rank) % self.period for i in range(self.period)]

    def total(self, size: int, first: int = 0) -> list[int]:
        """One period of the sum over all ranks, from position `first` on."""
        return [sum(column) for column in zip(*(self.of(rank, first) for rank in range(size)), strict=True)]


def copied(seed: int) -> list[int]:
    """One period of data that is moved and not added; `seed` tells the sender and the receiver apart."""
    return [(i + seed) % _PERIOD for i in range(_PERIOD)]


def fill(tensor: Any, period: list[int]) -> None:
    """Repeat `period` over a flat tensor, on its device."""
    row = torch().tensor(period, dtype=tensor.dtype, device=tensor.device)
    whole = tensor.numel() // len(period) * len(period)
    tensor[:whole].view(-1, len(period)).copy_(row)
    tensor[whole:].copy_(row[: tensor.numel() - whole])


def wrong(tensor: Any, period: list[int]) -> int:
    """How many elements of a flat tensor differ from `period` repeated over it."""
    row = torch().tensor(period, dtype=tensor.dtype, device=tensor.device)
    whole = tensor.numel() // len(period) * len(period)
    # By pieces, because a comparison takes memory of its own.
    pieces = tensor[:whole].view(-1, len(period)).split(_CHECK_ROWS) if whole else ()
    return sum(int((piece != row).sum()) for piece in pieces) + int(
        (tensor[whole:] != row[: tensor.numel() - whole]).sum()
    )


class Collective:
    """One collective with its buffers. `run` may be repeated after `refill`; `wrong` counts wrong elements afterwards.

    `ranks` are the global ranks of `group` (None: of the whole world) and `rank` is this process's place among them.
    Buffers are flat tensors of `dtype` on `device`.
    """

    def __init__(
        self, op: str, dtype: str, device: str, ranks: tuple[int, ...], rank: int, nbytes: int, group: Any = None
    ) -> None:
        self.op, self.size, self.rank, self.group = op, len(ranks), rank, group
        self._ranks = ranks
        self.count = elements(op, nbytes, dtype, self.size)
        self.nbytes = self.count * DTYPES[dtype]
        self._values = Values.exact(dtype, self.size)
        part = self.count // self.size

        def empty(count: int) -> Any:
            return torch().empty(count, dtype=getattr(torch(), dtype), device=device)

        self.input = empty(part if op == "all_gather" else self.count)
        self.output = self.input if op == "broadcast" else empty(part if op == "reduce_scatter" else self.count)
        self._fill()

    def _fill(self) -> None:
        rank, size = self.rank, self.size
        if self.op in ("all_reduce", "reduce_scatter"):
            fill(self.input, self._values.of(rank))
        elif self.op == "all_to_all":
            for to, part in enumerate(self.input.chunk(size)):
                fill(part, copied(_between(rank, to)))
        else:
            fill(self.input, copied(rank))

    def poison(self) -> None:
        """Put a value that no result has into the output, so that one that is never written is found."""
        if self.op == "broadcast":
            if self.rank != 0:
                self.output.fill_(_POISON)
        elif self.op != "all_reduce":
            self.output.fill_(_POISON)

    def refill(self) -> None:
        """What has to be done before every `run`: all_reduce works in place, and its sums must not grow."""
        if self.op == "all_reduce":
            self.output.copy_(self.input)

    def run(self) -> None:
        """Start the collective; on an accelerator the current stream waits for it, the caller does not."""
        _RUN[self.op](self)

    def wrong(self) -> int:
        """How many elements of this rank's result are not what they must be."""
        rank, size = self.rank, self.size
        if self.op == "all_reduce":
            return wrong(self.output, self._values.total(size))
        if self.op == "reduce_scatter":
            return wrong(self.output, self._values.total(size, rank * self.output.numel()))
        if self.op == "broadcast":
            return wrong(self.output, copied(0))
        if self.op == "send_recv":
            return wrong(self.output, copied((rank - 1) % size))
        parts = enumerate(self.output.chunk(size))
        if self.op == "all_gather":
            return sum(wrong(part, copied(sender)) for sender, part in parts)
        return sum(wrong(part, copied(_between(sender, rank))) for sender, part in parts)

    def _exchange(self) -> None:
        library = torch().distributed
        to, source = self._ranks[(self.rank + 1) % self.size], self._ranks[(self.rank - 1) % self.size]
        operations = [
            library.P2POp(library.isend, self.input, to, self.group),
            library.P2POp(library.irecv, self.output, source, self.group),
        ]
        for work in library.batch_isend_irecv(operations):
            work.wait()


def _between(sender: int, receiver: int) -> int:
    return 17 * sender + 31 * receiver


def _all_gather(one: Collective) -> None:
    library = torch().distributed
    # Renamed in torch 2.13, where the old name warns.
    run = getattr(library, "all_gather_single", None) or library.all_gather_into_tensor
    run(one.output, one.input, group=one.group)


def _reduce_scatter(one: Collective) -> None:
    library = torch().distributed
    run = getattr(library, "reduce_scatter_single", None) or library.reduce_scatter_tensor
    run(one.output, one.input, group=one.group)


_RUN: dict[str, Callable[[Collective], None]] = {
    "all_reduce": lambda one: torch().distributed.all_reduce(one.output, group=one.group),
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": lambda one: torch().distributed.all_to_all_single(one.output, one.input, group=one.group),
    "broadcast": lambda one: torch().distributed.broadcast(one.output, one._ranks[0], group=one.group),
    "send_recv": Collective._exchange,
}
