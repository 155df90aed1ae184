"""Pairs of ranks: in which order to try them, and what the bad ones have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from clusterwright_tools.report import spread

Pair = tuple[int, int]
H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True)
class Tried:
    """What came of one pair: seconds of an exchange where it ended, the problem where it did not."""

    pair: Pair
    seconds: float | None = None
    problem: str = ""
    wrong: int = 0
    nbytes: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """`ranks` fail with every partner they had, `hosts` with every other host, `pairs` only with each other."""

    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    pairs: tuple[Pair, ...]


def schedule(nodes: Sequence[Sequence[int]], most: int) -> list[list[Pair]]:
    """Rounds in which every rank has one partner at most. `nodes` lists the ranks of each node.

    Every pair, if that takes at most `most` rounds. Otherwise half of the rounds go to pairs within the nodes, and the
    rest to pairs of nodes, whose ranks meet at shifting places.
    """
    everyone = [rank for node in nodes for rank in node]
    if len(everyone) <= most + len(everyone) % 2:
        return tournament(everyone)
    inside = [tournament(node) for node in nodes]
    deepest = max(len(rounds) for rounds in inside)
    within = [
        [pair for rounds in inside if number < len(rounds) for pair in rounds[number]] for number in range(deepest)
    ]
    within = within[: most // 2]
    across = []
    meetings = tournament(range(len(nodes)))
    for number in range(most - len(within) if meetings else 0):
        shift, both = number // len(meetings), meetings[number % len(meetings)]
        across.append([pair for one, two in both for pair in _between(nodes[one], nodes[two], shift)])
    return [one for one in (*within, *across) if one]


def tournament(players: Iterable[int]) -> list[list[Pair]]:
    """A round-robin tournament by the circle method: each pair once, in as few rounds as possible."""
    circle: list[int | None] = list(players)
    if len(circle) % 2:
        circle.append(None)
    rounds = []
    for _ in range(len(circle) - 1):
        facing = zip(circle[: len(circle) // 2], reversed(circle[len(circle) // 2 :]), strict=True)
        rounds.append([(min(a, b), max(a, b)) for a, b in facing if a is not None and b is not None])
        circle.insert(1, circle.pop())
    return rounds


def slow(tried: Sequence[Tried], hosts: Mapping[int, str], factor: float) -> dict[Pair, float]:
    """Pairs that took more than `factor` times the median of their kind (within or between hosts), with that ratio."""
    found: dict[Pair, float] = {}
    for same in (True, False):
        kind = [one for one in tried if one.seconds and (hosts[one.pair[0]] == hosts[one.pair[1]]) is same]
        if len(kind) < 3:
            continue
        median = spread([one.seconds for one in kind if one.seconds]).p50
        found |= {one.pair: one.seconds / median for one in kind if one.seconds and one.seconds > factor * median}
    return found


def diagnose(bad: Iterable[Pair], tried: Iterable[Pair], hosts: Mapping[int, str]) -> Diagnosis:
    """Name the fewest things that explain the bad pairs: ranks first, then hosts, then single pairs."""
    everything, left = list(tried), set(bad)
    ranks = _culprits([(a, b, (a, b) in left) for a, b in everything])
    left = {pair for pair in left if not ranks & set(pair)}
    between = [(hosts[a], hosts[b], (a, b) in left) for a, b in everything if hosts[a] != hosts[b]]
    suspects = _culprits(between)
    left = {pair for pair in left if not suspects & {hosts[rank] for rank in pair}}
    return Diagnosis(tuple(sorted(ranks)), tuple(sorted(suspects)), tuple(sorted(left)))


def _culprits(edges: list[tuple[H, H, bool]]) -> set[H]:
    """Those whose every edge is bad, who have at least two partners, and whose partners have good edges with others."""
    partners: dict[H, set[H]] = {}
    good: set[H] = set()
    for one, two, is_bad in edges:
        partners.setdefault(one, set()).add(two)
        partners.setdefault(two, set()).add(one)
        good |= set() if is_bad else {one, two}
    return {
        one
        for one, others in partners.items()
        if one not in good and len(others) > 1 and any(two in good for two in others)
    }


def _between(one: Sequence[int], two: Sequence[int], shift: int) -> list[Pair]:
    shorter, longer = sorted((one, two), key=len)
    return [
        (min(rank, other), max(rank, other))
        for place, rank in enumerate(shorter)
        for other in (longer[(place + shift) % len(longer)],)
    ]
