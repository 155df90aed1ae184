"""The part of a long text that matches a query: whole paragraphs, fences, list items and table rows, in their order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.retrieval import chunks, tokens

_TABLE_HEAD = 2


@dataclass(frozen=True)
class _Unit:
    """Lines `start` to `end` of a text. `head`: the line on which the table of a row begins, -1 elsewhere."""

    start: int
    end: int
    head: int = -1


def passage(text: str, weights: Mapping[str, float], room: int) -> str:
    """At most `room` tokens of a text: its beginning, and what holds most of the weighted terms.

    Where no other part holds any of them, it is the beginning alone, as far as it goes.
    """
    lines = text.splitlines()
    first, *others = _units(text, lines)
    worth = {unit: sum(weights.get(term, 0.0) for term in set(tokens.terms(_text(lines, unit)))) for unit in others}
    matching = any(worth.values())
    if matching:
        others = sorted((unit for unit in others if worth[unit]), key=lambda unit: -worth[unit])
    kept = {first}
    room -= tokens.estimate(_text(lines, first))
    for unit in others:
        size = tokens.estimate(_text(lines, unit))
        if unit.head >= 0 and all(one.head != unit.head for one in kept):
            size += tokens.estimate(_head(lines, unit))
        if size <= room:
            kept.add(unit)
            room -= size
        elif not matching:
            break
    return _written(lines, sorted(kept, key=lambda unit: unit.start))


def _units(text: str, lines: Sequence[str]) -> Iterator[_Unit]:
    for start, end in chunks.ranges(text):
        if lines[start].lstrip().startswith("|"):
            rows = (row for row in range(start + _TABLE_HEAD, end) if lines[row].strip())
            yield from (_Unit(row, row + 1, start) for row in rows)
        else:
            yield _Unit(start, end)


def _text(lines: Sequence[str], unit: _Unit) -> str:
    return "\n".join(lines[unit.start : unit.end]).strip("\n")


def _head(lines: Sequence[str], unit: _Unit) -> str:
    return "\n".join(lines[unit.head : unit.head + _TABLE_HEAD])


def _written(lines: Sequence[str], units: Sequence[_Unit]) -> str:
    written: list[str] = []
    before = _Unit(-1, -1)
    for unit in units:
        if unit.head >= 0 and unit.head == before.head:
            written[-1] += "\n" + _text(lines, unit)
        elif unit.head >= 0:
            written.append(f"{_head(lines, unit)}\n{_text(lines, unit)}")
        elif unit.start == before.end and lines[before.end - 1].strip():  # the next item of a tight list
            written[-1] += "\n" + _text(lines, unit)
        else:
            written.append(_text(lines, unit))
        before = unit
    return "\n\n".join(written)
