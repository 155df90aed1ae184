"""Matrix products on one device: operands, the two ways to time them, and the check of the result.

A product is C[m, n] = A[m, k] @ B[n, k].T, both operands contiguous in k, as a linear layer has them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clusterwright_tools import tables
from clusterwright_tools.environment import torch
from clusterwright_tools.errors import BadParameter, CannotRun
from clusterwright_tools.report import Clocks
from clusterwright_tools.telemetry import Device, Sampler
from clusterwright_tools.timing import Timer

DTYPES = ("float32", "tf32", "float16", "bfloat16", "float8_e4m3fn")
WARMUP, COUNT = 50, 100
REST_LIMIT = 10.0
_FLUSH_BYTES = 256 << 20  # more than any last-level cache in use
_CPU_FLUSH_BYTES = 8 << 20  # a CPU's figure says little anyway; it should come soon
_KICK = 1 << 22


@dataclass(frozen=True, order=True)
class Shape:
    """Sizes of a product."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def flop(self) -> float:
        """Floating-point operations: a multiplication and an addition for each of m x n x k."""
        return 2.0 * self.m * self.n * self.k


@dataclass(frozen=True)
class Timing:
    """Seconds of each product (or of each window of products), with the device's state meanwhile."""

    shape: Shape
    seconds: tuple[float, ...]
    per_sample: int
    clocks: Clocks
    rested: bool = True

    @property
    def rates(self) -> list[float]:
        """TFLOPS of each sample."""
        return [self.shape.flop * self.per_sample / one / 1e12 for one in self.seconds]

    @property
    def rate(self) -> float:
        """TFLOPS over all samples: total work over total time."""
        return self.shape.flop * self.per_sample * len(self.seconds) / sum(self.seconds) / 1e12


def parse_shape(text: str) -> Shape:
    """`MxNxK` as a shape.

    Raises:
        BadParameter: the text has another form, or a size is no positive number.
    """
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", text.strip().lower())
    if not match or "0" in match.groups():
        raise BadParameter(f"shapes: {text!r} is not MxNxK, e.g. 4096x4096x8192")
    return Shape(*(int(part) for part in match.groups()))


class Bench:
    """Times products of one dtype on one device (`cpu` or `cuda:N`)."""

    def __init__(self, device: str, dtype: str, telemetry: Device) -> None:
        self._torch = torch()
        self._device, self._dtype, self._telemetry = device, dtype, telemetry
        self._timer = Timer(device)
        self._tensor_type = self._torch.float32 if dtype in ("tf32", "float32") else getattr(self._torch, dtype)
        self._out_type = self._torch.bfloat16 if dtype.startswith("float8") else self._tensor_type
        flush = _CPU_FLUSH_BYTES if device == "cpu" else _FLUSH_BYTES
        self._flush = self._torch.empty(flush // 4, dtype=self._torch.int32, device=device)
        self._one = self._torch.ones((), dtype=self._torch.float32, device=device)
        self._pools: dict[str, Any] = {}
        self._torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
        self._clock_share = tables.threshold("boost-clock-fraction")

    def reserve(self, shapes: list[Shape]) -> None:
        """Make the operands large enough for all of `shapes`; each product then uses a part of them.

        Raises:
            CannotRun: they do not fit into the free memory.
        """
        need = {
            "a": max(one.m * one.k for one in shapes),
            "b": max(one.n * one.k for one in shapes),
            "c": max(one.m * one.n for one in shapes),
            "fill": max(one.m * one.n for one in shapes),
        }
        self._refuse_too_large(need)
        for name, count in need.items():
            if name not in self._pools or self._pools[name].numel() < count:
                self._pools[name] = None
                self._pools[name] = self._random(count, self._tensor_type if name in "ab" else self._out_type)

    def boost(self, shape: Shape, warmup: int = WARMUP, count: int = COUNT, pause: float = 0) -> Timing:
        """Time single products near the highest clock: rested first, cache flushed and output refilled before each.

        `pause` is the least time to rest, in seconds: the clock reads full again before the chip is cool again.
        """
        if self._telemetry.read is not None:
            time.sleep(pause)
        rested = self.rest()
        run, c, fill = self._product(shape)

        def before() -> None:
            self._flush.zero_()
            c.copy_(fill)

        with Sampler(self._telemetry) as sampler:
            seconds = self._timer.each(run, warmup + count, before)[warmup:]
        return Timing(shape, tuple(seconds), 1, sampler.clocks, rested)

    def sustained(self, shape: Shape, seconds: float, stopped: Callable[[], bool] = lambda: False) -> Timing:
        """Time products back to back for `seconds`; the first quarter, in which clocks settle, is not counted."""
        run, _, _ = self._product(shape)
        one = sorted(self._timer.each(run, 5))[2]
        per_window = max(1, round(0.1 / one))
        self._timer.windows(run, seconds / 4, per_window, stopped)
        with Sampler(self._telemetry) as sampler:
            windows = self._timer.windows(run, seconds * 3 / 4, per_window, stopped)
        return Timing(shape, tuple(windows), per_window, sampler.clocks)

    def rest(self) -> bool:
        """Wait until the SM clock under a light load is near its maximum; False if it did not come there in time."""
        if self._telemetry.read is None:
            return True
        begin = time.monotonic()
        while time.monotonic() - begin < REST_LIMIT:
            self._flush[:_KICK].zero_()
            self._timer.synchronize()
            now = self._telemetry.read()
            if now.sm_mhz is None or now.sm_mhz_limit is None or now.sm_mhz >= self._clock_share * now.sm_mhz_limit:
                return True
            time.sleep(0.05)
        return False

    def error(self, shape: Shape) -> float:
        """Largest error of a corner of the product against float64, relative to the corner's root mean square."""
        run, c, _ = self._product(shape)
        c.fill_(float("nan"))
        run()
        a, b = self._operands(shape)
        rows, columns = min(64, shape.m), min(64, shape.n)
        double = self._torch.float64
        exact = a[-rows:].to(double) @ b[-columns:].to(double).T
        difference = c[-rows:, -columns:].to(double) - exact
        return float(difference.abs().max() / exact.square().mean().sqrt())

    def _operands(self, shape: Shape) -> tuple[Any, Any]:
        a = self._pools["a"][: shape.m * shape.k].view(shape.m, shape.k)
        b = self._pools["b"][: shape.n * shape.k].view(shape.n, shape.k)
        return a, b

    def _product(self, shape: Shape) -> tuple[Any, Any, Any]:
        a, b = self._operands(shape)
        c = self._pools["c"][: shape.m * shape.n].view(shape.m, shape.n)
        fill = self._pools["fill"][: shape.m * shape.n].view(shape.m, shape.n)
        if self._dtype.startswith("float8"):
            scaled, out, one = self._torch._scaled_mm, self._out_type, self._one

            def run() -> Any:
                return scaled(a, b.T, scale_a=one, scale_b=one, out_dtype=out, out=c)
        else:

            def run() -> Any:
                return self._torch.mm(a, b.T, out=c)

        return run, c, fill

    def _random(self, count: int, kind: Any) -> Any:
        # In parts: some dtypes have no normal_ of their own, and a float32 copy of the whole would double the memory.
        made = self._torch.empty(count, dtype=kind, device=self._device)
        part = 1 << 26
        for begin in range(0, count, part):
            piece = made[begin : begin + part]
            piece.copy_(self._torch.randn(piece.numel(), device=self._device))
        return made

    def _refuse_too_large(self, need: dict[str, int]) -> None:
        if self._device == "cpu":
            return
        size = self._tensor_type.itemsize * (need["a"] + need["b"]) + self._out_type.itemsize * (
            need["c"] + need["fill"]
        )
        free = self._torch.cuda.mem_get_info(self._device)[0]
        if size > 0.9 * free:
            raise CannotRun(
                f"the operands need {size / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free; ask for smaller shapes"
            )
