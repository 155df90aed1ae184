"""matmul-flops: the matmul rate that an accelerator really reaches, at boost clock and sustained."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright_tools import distributed, environment, gemm_report, tables, telemetry
from clusterwright_tools.errors import BadParameter, CannotRun
from clusterwright_tools.gemm import DTYPES, Bench, Shape, Timing, parse_shape
from clusterwright_tools.gemm_search import PAUSE, ROUNDS, Space, search
from clusterwright_tools.model_shapes import linear_shapes
from clusterwright_tools.params import param
from clusterwright_tools.progress import Progress
from clusterwright_tools.registry import Impact, Launch, tool
from clusterwright_tools.report import Report
from clusterwright_tools.world import World

_NAME = "matmul-flops"
_SEARCH_SHARE, _SUSTAINED_SHARE = 0.8, 0.12
_PATIENCE = 600.0


@dataclass(frozen=True)
class MatmulParams:
    """What to measure, and for how long."""

    dtype: str = param("bfloat16", "operand type; `all` measures each that the device has", choices=(*DTYPES, "all"))
    seconds: float = param(60.0, "time budget of the search, for each dtype", unit="s", low=2, high=3600)
    shapes: tuple[str, ...] = param((), "measure exactly these MxNxK instead of searching")
    model: str = param(
        "",
        "measure a model's linear layers, by the names of its config.json: hidden_size=4096,intermediate_size=14336,…",
    )
    tokens: int = param(8192, "tokens in a micro-batch, the M of the model's layers", low=1, high=1 << 24)
    m: int = param(0, "fix M in the search; 0 leaves it free", low=0, high=1 << 20)
    n: int = param(0, "fix N in the search; 0 leaves it free", low=0, high=1 << 20)
    k: int = param(0, "fix K in the search; 0 leaves it free", low=0, high=1 << 20)
    seed: int = param(0, "seed of the search", low=0, high=1 << 31)


@dataclass(frozen=True)
class Measured:
    """What one device reached with one shape and dtype. `tried` counts the shapes of the search, 0 without one."""

    dtype: str
    label: str
    boost: tuple[Timing, ...]
    sustained: Timing | None
    error: float
    tried: int


@tool(
    name=_NAME,
    area="compute",
    launch=Launch.PER_DEVICE,
    impact=Impact.LOADS_DEVICE,
    seconds=60,
    chapters=(
        "hardware/accelerators#what-matmul-flops-can-this-accelerator-really-reach",
        "hardware/accelerators#why-is-the-sustained-matmul-rate-lower-than-the-best-rate",
    ),
)
def matmul_flops(params: MatmulParams, progress: Progress) -> Report | None:
    """Find the matmul rate that each accelerator really reaches: the best at boost clock, and the sustained one.

    The best rate compares with published MAMF tables (single products, rested, cache flushed, mean of 100 after 50
    warm-ups). The sustained rate is what back-to-back work, such as training, meets at the power limit.
    """
    listed = [("", parse_shape(text)) for text in params.shapes] + linear_shapes(params)
    launch = distributed.launcher()
    with distributed.arrive(launch, tables.threshold("roll-call-deadline")) as world:
        if complaint := world.roll.complaint():
            raise CannotRun(complaint)
        # Devices search for themselves and meet at the end: a slow one may come much later.
        world.patience = 2 * len(DTYPES) * params.seconds + _PATIENCE
        index = world.place.index
        dtypes = _dtypes(params.dtype, index)
        with distributed.hold_devices(world, _NAME):
            mine = list(_measure(params, listed, dtypes, progress, world))
            everything = world.gather(mine)
            hellos = [dict(world.hellos[rank]) for rank in range(world.size)]
    return None if everything is None else gemm_report.build(everything, hellos, index)


def _measure(
    params: MatmulParams, listed: list[tuple[str, Shape]], dtypes: list[str], progress: Progress, world: World
) -> Iterator[Measured]:
    index = world.place.index
    if index is not None:
        environment.torch().cuda.set_device(index)
    reader = telemetry.Device(world.place.uuid)
    for dtype in dtypes:
        bench = Bench(world.device, dtype, reader)
        if listed:
            yield from (_exact(bench, dtype, label, shape, params, progress, world) for label, shape in listed)
        else:
            yield _searched(bench, dtype, params, index, progress, world)


def _searched(
    bench: Bench, dtype: str, params: MatmulParams, index: int | None, progress: Progress, world: World
) -> Measured:
    begin = time.monotonic()
    units = 1 if index is None else environment.device(index)["multiprocessors"]
    low, high, step = (64, 512, 64) if index is None else (512, 16384, 128)
    space = Space(low, high, step, units, Shape(params.m, params.n, params.k))
    bench.reserve([space.clip(high, high, high)])
    found = search(bench, space, _SEARCH_SHARE * params.seconds, params.seed, progress)
    shape, timings = found.shape, found.timings
    if world.size > 1:
        # Devices are compared on one shape, at one time: the best that any of them found.
        shape, timings = max(world.all_gather((found.finalists[shape], shape)))[1], ()
        bench.reserve([shape])
        world.barrier()
    boost = timings or tuple(bench.boost(shape, pause=PAUSE) for _ in range(ROUNDS))
    left = params.seconds - (time.monotonic() - begin)
    seconds = min(max(0.5, 0.9 * left, _SUSTAINED_SHARE * params.seconds), 12)
    progress.say(f"{dtype} {shape}: back to back for {seconds:.0f} s", 0.9)
    sustained = None if progress.stopped else bench.sustained(shape, seconds, lambda: progress.stopped)
    return Measured(dtype, "", boost, sustained, bench.error(shape), found.tried)


def _exact(
    bench: Bench, dtype: str, label: str, shape: Shape, params: MatmulParams, progress: Progress, world: World
) -> Measured:
    progress.say(f"{dtype} {label} {shape}")
    bench.reserve([shape])
    world.barrier()
    boost = tuple(bench.boost(shape, pause=PAUSE) for _ in range(ROUNDS))
    sustained = bench.sustained(shape, min(6.0, params.seconds / 4), lambda: progress.stopped)
    return Measured(dtype, label, boost, sustained, bench.error(shape), 0)


def _dtypes(wanted: str, index: int | None) -> list[str]:
    if wanted != "all":
        if (reason := _missing(wanted, index)) is not None:
            raise BadParameter(f"dtype: {wanted}: {reason}")
        return [wanted]
    return [dtype for dtype in DTYPES if _missing(dtype, index) is None]


def _missing(dtype: str, index: int | None) -> str | None:
    """Why the device has no such dtype, None where it has."""
    if index is None:
        return (
            None
            if dtype in ("float32", "bfloat16")
            else "measured on accelerators only; on a CPU take float32 or bfloat16"
        )
    library = environment.torch()
    if library.version.hip:
        return "not measured on AMD devices yet" if dtype.startswith(("float8", "tf32")) else None
    needed = {"float8_e4m3fn": (8, 9), "tf32": (8, 0), "bfloat16": (8, 0)}.get(dtype, (0, 0))
    has = library.cuda.get_device_capability(index)
    return (
        None
        if has >= needed
        else f"needs compute capability {needed[0]}.{needed[1]}, this device has {has[0]}.{has[1]}"
    )
