"""The Markdown of chapters: what may be seen, headings with their anchors, and where fences stand."""

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Control, zero-width, bidirectional, variation and tag characters: people do not see them, models read them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True)
class Heading:
    """A heading: `line` and `end` bound its own lines (from 0), `path` is the chain of headings down to it."""

    text: str
    level: int
    line: int
    end: int
    slug: str
    path: tuple[str, ...]


@functools.cache
def parser() -> MarkdownIt:
    """CommonMark with tables, as chapters are written."""
    return MarkdownIt("commonmark").enable("table")


def visible(text: str) -> str:
    """The text without characters that nobody sees; its lines stay the same."""
    return _HIDDEN.sub("", text)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(tokens: Sequence[Token]) -> list[Heading]:
    """The headings in order; those inside lists and quotations make no sections."""
    found: list[Heading] = []
    seen: dict[str, int] = {}
    for opening, inline in itertools.pairwise(tokens):
        if opening.type != "heading_open" or opening.map is None or opening.level:
            continue
        text = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
        level = int(opening.tag[1])
        above = next((one.path for one in reversed(found) if one.level < level), ())
        line, end = opening.map
        found.append(Heading(text, level, line, end, _unique(slug(text), seen), (*above, text)))
    return found


def fences(tokens: Sequence[Token]) -> list[tuple[Token, int, int]]:
    """Each fence with its first line and the line after its last (from 0)."""
    return [(token, token.map[0], token.map[1]) for token in tokens if token.type == "fence" and token.map]


def language(fence: Token) -> str:
    """What a fence says that it holds."""
    return fence.info.strip().split(" ")[0]


def _unique(base: str, seen: dict[str, int]) -> str:
    name = base
    while name in seen:
        seen[base] += 1
        name = f"{base}-{seen[base]}"
    seen[name] = 0
    return name
