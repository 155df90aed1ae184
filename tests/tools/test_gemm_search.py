import dataclasses
import random
from dataclasses import dataclass, field

import pytest

from clusterwright_tools.gemm import Shape, Timing
from clusterwright_tools.gemm_search import Space, search
from clusterwright_tools.progress import Progress
from clusterwright_tools.report import Clocks

FREE = Shape(0, 0, 0)
SPACE = Space(512, 16384, 128, 132, FREE)


@dataclass
class FakeBench:
    """A device whose rate has one broad hill; bursts are a little noisy."""

    peak: Shape
    seen: list[Shape] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def boost(self, shape: Shape, warmup: int = 50, count: int = 100, pause: float = 0) -> Timing:
        self.seen.append(shape)
        sizes = zip(dataclasses.astuple(shape), dataclasses.astuple(self.peak), strict=True)
        away = sum(abs(one - best) / best for one, best in sizes)
        rate = 800e12 / (1 + 0.2 * away) * self.rng.uniform(0.99, 1.01)
        return Timing(shape, (shape.flop / rate,) * 3, 1, Clocks(0))


def test_it_climbs_the_hill() -> None:
    bench = FakeBench(Shape(3072, 2816, 12544))
    found = search(bench, SPACE, 1.0, 0, Progress(quiet=True))  # type: ignore[arg-type]
    assert found.finalists[found.shape] > 0.97 * 800
    assert found.tried == len(set(bench.seen))
    assert len(found.timings) >= 3


@dataclass
class PowerLimited:
    """Large products are a little faster in a burst, and much slower once the power limit has set in after 40 ms."""

    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def boost(self, shape: Shape, warmup: int = 50, count: int = 100, pause: float = 0) -> Timing:
        small = min(1.0, shape.flop / 1e11) ** 0.3
        rate = 780e12 * small * (1.06 if shape.flop > 4e11 else 1.0) * self.rng.uniform(0.995, 1.005)
        if (warmup + count) * shape.flop / rate > 0.04:
            rate *= 0.9
        return Timing(shape, (shape.flop / rate,) * 3, 1, Clocks(0))


def test_a_burst_does_not_mislead_it() -> None:
    found = search(PowerLimited(), SPACE, 1.5, 0, Progress(quiet=True))  # type: ignore[arg-type]
    assert found.finalists[found.shape] > 0.98 * 780
    assert found.shape.flop < 2.1e11


@dataclass
class Slow:
    """A device of 50 TFLOPS that likes large products; it counts the seconds that its protocols would take."""

    full: list[float] = field(default_factory=list)

    def boost(self, shape: Shape, warmup: int = 50, count: int = 100, pause: float = 0) -> Timing:
        rate = 50e12 * min(1.0, shape.flop / 1e13) ** 0.1
        if count == 100:
            self.full.append((warmup + count) * shape.flop / rate)
        return Timing(shape, (shape.flop / rate,) * 3, 1, Clocks(0))


def test_a_slow_device_is_not_given_products_that_overrun_the_budget() -> None:
    bench = Slow()
    found = search(bench, SPACE, 0.5, 0, Progress(quiet=True))  # type: ignore[arg-type]
    assert len(bench.full) > 10
    assert max(bench.full) < 1.2  # a neighbour of an affordable shape; the largest of the space would take 26 s
    assert 150 * found.shape.flop / 50e12 < 0.5


def test_a_fixed_size_stays_fixed() -> None:
    bench = FakeBench(Shape(3072, 2816, 6144))
    space = Space(512, 16384, 128, 132, Shape(0, 0, 6144))
    search(bench, space, 0.3, 0, Progress(quiet=True))  # type: ignore[arg-type]
    assert {shape.k for shape in bench.seen} == {6144}
    assert len({shape.m for shape in bench.seen}) > 10


def test_stopped_at_once_it_still_has_a_result() -> None:
    progress = Progress(quiet=True)
    progress.stop()
    found = search(FakeBench(Shape(512, 512, 512)), SPACE, 60.0, 0, progress)  # type: ignore[arg-type]
    assert found.tried >= 1 and found.timings


@pytest.mark.parametrize("seed", range(3))
def test_shapes_stay_inside(seed: int) -> None:
    rng = random.Random(seed)
    drawn = [SPACE.draw(rng) for _ in range(300)]
    near = [SPACE.near(shape, rng) for shape in drawn]
    for size in (size for shape in drawn + near for size in (shape.m, shape.n, shape.k)):
        assert 512 <= size <= 16384 and size % 128 == 0


def test_neighbours_differ_and_are_close() -> None:
    rng = random.Random(0)
    shape = Shape(4096, 4096, 4096)
    for near in (SPACE.near(shape, rng) for _ in range(100)):
        assert near != shape
        assert max(abs(near.m - 4096), abs(near.n - 4096), abs(near.k - 4096)) <= 8 * 128
