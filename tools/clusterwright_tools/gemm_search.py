"""Search for the shape with the highest matmul rate in a given time, without a list of shapes.

A brute-force scan measures most of its shapes on a chip that it has itself heated. Here bursts of a few milliseconds
rank thousands of shapes while the clock is up, and better ones are bred from the best. A burst is too short to meet
the power limit, and large products look better in it than they are: so leaders of every size are rated, and bred
further, by the full protocol, each after a rest. The finalists are measured again in turn, and their median decides.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clusterwright_tools.gemm import COUNT, WARMUP, Bench, Shape, Timing
from clusterwright_tools.progress import Progress
from clusterwright_tools.render import number
from clusterwright_tools.report import spread

_TILES = ((128, 256), (256, 128), (128, 128), (256, 256), (192, 128), (128, 192))
_BURST = (2, 6)
_RANDOM_UNTIL, _BRED_UNTIL, _RATED_UNTIL, _FINAL_UNTIL = 0.22, 0.4, 0.74, 0.95
ROUNDS, PAUSE = 3, 0.5
_TELL_SECONDS = 2.0
_ELITE, _LEADERS, _FINALISTS = 12, 48, 6
# One full protocol takes at most this share of the time, or these seconds: a slow dtype would overrun its budget.
_COSTLY_SHARE, _COSTLY_SECONDS = 0.01, 0.4
_HOPE = 0.92  # a size whose best burst is below this share of the overall best has no chance


Choose = Callable[[dict[Shape, float], int], list[Shape]]


@dataclass(frozen=True)
class Space:
    """The shapes that may be proposed. A fixed size (m, n or k) is 0 where it is free; `units` are the device's SMs."""

    low: int
    high: int
    step: int
    units: int
    fixed: Shape

    def clip(self, m: float, n: float, k: float) -> Shape:
        """The nearest shape inside."""

        def near(value: float, fixed: int) -> int:
            whole = self.step * round(value / self.step)
            return fixed or min(self.high, max(self.low, whole))

        return Shape(near(m, self.fixed.m), near(n, self.fixed.n), near(k, self.fixed.k))

    def draw(self, rng: random.Random) -> Shape:
        """A shape drawn evenly on a logarithmic scale; half of them fill whole waves of tiles on all units.

        A kernel gives each unit one tile of C at a time, so a last wave that is nearly empty costs as much as a full
        one. Tile sizes differ from kernel to kernel, hence the choice among common ones.
        """
        m, n, k = (self._log(rng, self.low, self.high) for _ in range(3))
        if self.units > 1 and rng.random() < 0.5:
            tile_m, tile_n = rng.choice(_TILES)
            tiles = self.units * rng.choice((1, 1, 2, 2, 3, 4, 6, 8))
            down = round(self._log(rng, 1, tiles))
            m, n = down * tile_m, (tiles // down) * tile_n
        return self.clip(m, n, k)

    def near(self, shape: Shape, rng: random.Random) -> Shape:
        """A shape close to a good one: one or two sizes moved by a few steps."""
        sizes = [float(shape.m), float(shape.n), float(shape.k)]
        for axis in rng.sample(range(3), rng.choice((1, 1, 2))):
            sizes[axis] += self.step * rng.choice((-8, -4, -2, -1, 1, 2, 4, 8))
        return self.clip(*sizes)

    @staticmethod
    def _log(rng: random.Random, low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))


@dataclass(frozen=True)
class Outcome:
    """The best shape with all its full-protocol timings, the number of shapes tried, and the rate of each finalist."""

    shape: Shape
    timings: tuple[Timing, ...]
    tried: int
    finalists: dict[Shape, float]


def search(bench: Bench, space: Space, seconds: float, seed: int, progress: Progress) -> Outcome:
    """Find the fastest shape in about `seconds`; stops early, with what it has, when `progress` says so."""
    begin, told = time.monotonic(), 0.0
    rng = random.Random(seed)

    def left(share: float) -> bool:
        return time.monotonic() - begin < share * seconds and not progress.stopped

    def rate(shapes: Iterator[Shape], into: dict[Shape, float], until: float, *protocol: int) -> None:
        for shape in shapes:
            if into and not left(until):
                return
            if shape not in into:
                into[shape] = spread(bench.boost(shape, *protocol).rates).p50 if protocol else bench.boost(shape).rate
                tell(into)

    def tell(rates: dict[Shape, float]) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _TELL_SECONDS:
            told = now
            best = number(max(rates.values()))
            progress.say(f"{len(rates)} shapes, the best {best} TFLOPS", 0.9 * min(1.0, (now - begin) / seconds))

    bursts: dict[Shape, float] = {}
    rate(iter(lambda: space.draw(rng), None), bursts, _RANDOM_UNTIL, *_BURST)
    rate(_bred(space, bursts, _leaders, rng), bursts, _BRED_UNTIL, *_BURST)
    rated: dict[Shape, float] = {}
    rate(iter(_leaders(_affordable(bursts, seconds), _LEADERS)), rated, _RATED_UNTIL)

    def chosen(known: dict[Shape, float], count: int) -> list[Shape]:
        return _best(_affordable(known, seconds), count)

    rate(_bred(space, rated, chosen, rng), rated, _RATED_UNTIL)
    final: dict[Shape, list[Timing]] = {shape: [] for shape in chosen(rated, 1 if progress.stopped else _FINALISTS)}
    while left(_FINAL_UNTIL) or min(map(len, final.values())) < (1 if progress.stopped else ROUNDS):
        for shape in final:
            final[shape].append(bench.boost(shape, pause=PAUSE))
    medians = {shape: spread([one.rate for one in timings]).p50 for shape, timings in final.items()}
    winner = _best(medians, 1)[0]
    return Outcome(winner, tuple(final[winner]), len(bursts | rated), medians)


def _bred(space: Space, rated: dict[Shape, float], choose: Choose, rng: random.Random) -> Iterator[Shape]:
    """Endless neighbours of the best shapes known so far. The square makes the front of the ranking likelier."""
    while True:
        elite = choose(rated, _ELITE)
        yield space.near(elite[int(len(elite) * rng.random() ** 2)], rng)


def _affordable(bursts: dict[Shape, float], seconds: float) -> dict[Shape, float]:
    """Those whose full protocol is quick enough, the quickest alone if none is. Rates are in TFLOPS."""
    limit = max(_COSTLY_SHARE * seconds, _COSTLY_SECONDS)
    takes = {shape: (WARMUP + COUNT) * shape.flop / (rate * 1e12) for shape, rate in bursts.items()}
    limit = max(limit, min(takes.values()))
    return {shape: rate for shape, rate in bursts.items() if takes[shape] <= limit}


def _leaders(rated: dict[Shape, float], count: int) -> list[Shape]:
    """The best of every size that has a chance, size by octaves of work: first the best of each, then the second…"""
    by_size: dict[int, dict[Shape, float]] = {}
    for shape, rate in rated.items():
        by_size.setdefault(int(math.log2(shape.flop)), {})[shape] = rate
    hope = _HOPE * max(rated.values())
    ranked = [_best(group, count) for group in by_size.values() if max(group.values()) >= hope]
    rows = itertools.zip_longest(*ranked)
    return [shape for row in rows for shape in row if shape is not None][:count]


def _best(rated: dict[Shape, float], count: int) -> list[Shape]:
    return sorted(rated, key=lambda shape: -rated[shape])[:count]
