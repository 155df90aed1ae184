"""Checks of what a chapter refers to: source marks, sources, and links to other sections."""

import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from urllib.parse import unquote

from markdown_it.token import Token

from clusterwright.knowledge import chapters, front
from clusterwright.knowledge.chapters import Source

_MARK = re.compile(r"\[\^([^\]]*)\]")
_UNVERIFIED = "unverified"
_MEASURED = re.compile(r"\d{4}-\d{2}-\d{2}, \S.*")


def marks(tokens: Sequence[Token], offset: int, sources: Sequence[Source], matter: str) -> Iterator[tuple[int, str]]:
    """Line and message of marks without a source, and of sources that are not used or not complete.

    `offset` is the number of lines before the body, `matter` the front matter, where sources are defined.
    """
    known = {source.key for source in sources}
    used = set()
    for line, child in _inline(tokens, offset):
        for mark in _MARK.findall(child.content) if child.type == "text" else ():
            used.add(mark)
            if mark not in known and mark != _UNVERIFIED:
                yield line, f"source mark [^{mark}] is not defined in the front matter"
    for source in sources:
        problems = []
        if source.key not in used:
            problems.append("is not used")
        if source.url and not source.url.startswith("https://"):
            problems.append("the address is not https")
        if source.measured and not _MEASURED.fullmatch(source.measured):
            problems.append("say 'YYYY-MM-DD, on what, with which versions'")
        for problem in problems:
            yield front.line(matter, "sources", source.key), f"front matter: source '{source.key}': {problem}"


def links(tokens: Sequence[Token], offset: int, file: Path, root: Path, ids: Set[str]) -> Iterator[tuple[int, str]]:
    """Line and message of links and images that lead to no file or section; `ids` are those that exist."""
    root = root.resolve()
    for line, child in _inline(tokens, offset):
        target = unquote(str(child.attrGet("href" if child.type == "link_open" else "src") or ""))
        if not target or re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (file.parent / path if path else file).resolve()
        if not linked.is_file() or root not in linked.parents:
            yield line, f"link to {target}: there is no such file in the knowledge folder"
        elif anchor and f"{chapters.chapter_id(linked, root)}#{anchor}" not in ids:
            yield line, f"link to {target}: there is no section '{anchor}'"


def _inline(tokens: Sequence[Token], offset: int) -> Iterator[tuple[int, Token]]:
    """The parts of running text with their lines; code is left out by what is asked of them."""
    for token in tokens:
        if token.type != "inline" or token.map is None:
            continue
        line = offset + token.map[0] + 1
        for child in token.children or ():
            line += child.type in ("softbreak", "hardbreak")
            yield line, child
