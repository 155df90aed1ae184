"""From what was typed or pasted to what is looked up: logs are condensed, terms of the trade expanded."""

import functools
import re
from dataclasses import dataclass

from clusterwright.errors import UserError
from clusterwright.retrieval import tokens
from clusterwright_tools import tables

MAX_CHARACTERS = 20_000
_LONG_WORDS = 60
_KEEP_WORDS = 110

_NOISE = re.compile(
    r"""\x1b\[[0-9;]*[A-Za-z]                                             # colours
    | \b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?  # 2026-12-01 10:00:00.123
    | (?:\b[A-Z][a-z]{2}\ )?\b[A-Z][a-z]{2}\ +\d{1,2}\ \d\d:\d\d:\d\d(?:\ \d{4}\b)?    # Tue Dec  1 10:00:00 2026
    | (?<![\w:])\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?![\w:])                        # 10:00:00
    | \[\s*\d+\.\d{3,}\]                                                     # kernel seconds
    | \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b                        # UUID
    | \b0x[0-9a-f]{6,}\b
    | \b\d{1,3}(?:\.\d{1,3}){3}(?::\d+|<\d+>)?                                # IPv4, port
    | \b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\b               # PCI address
    | (?<=\S):\d{3,}:\d{3,}(?=\s)                                            # host:pid:tid
    | \bpid=\d+""",
    re.VERBOSE | re.IGNORECASE,
)
_XID = re.compile(r"\bXid\s*\((?:PCI:)?[0-9a-fA-F:.]+\)\s*:\s*(\d+)")
_FOLDERS = re.compile(r"(?<![\w.:/])(?:~|\.{1,2})?/(?:[\w.+@-]+/){2,}")
_SIGNAL = re.compile(
    r"error|fail|warn|fatal|abort|exception|timeout|timed out|killed|hang|hung|nan\b|xid|refused|denied|cannot|unable"
    r"|invalid|mismatch|not found|no such|unsupported|corrupt|stuck|slow|assert|exceed|out of memory|\?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Query:
    """What is looked up: `text` by meaning; `terms` in the lexical index, `expansion` with less weight.

    `english` is the text for a model that reads English only. `note` says what was cut off.
    """

    text: str
    english: str
    terms: tuple[str, ...]
    expansion: tuple[str, ...]
    note: str = ""


def readable(raw: str) -> str:
    """A query without bytes that were no text where it was typed or pasted."""
    return raw.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def understand(raw: str) -> Query:
    """Prepare a query.

    Raises:
        UserError: there is nothing in it to look up.
    """
    if not raw.strip():
        raise UserError("the query is empty; ask a question, describe a symptom, or paste a log line")
    note = "" if len(raw) <= MAX_CHARACTERS else f"only the first {MAX_CHARACTERS:,} characters of the query were read"
    text = condense(raw[:MAX_CHARACTERS]) or raw[:MAX_CHARACTERS].strip()
    own = tuple(dict.fromkeys(tokens.terms(text)))
    english, related = _expand(text)
    if english:
        own = tuple(dict.fromkeys((*own, *tokens.terms(english))))
        text = f"{text} {english}"
    expansion = tuple(term for term in dict.fromkeys(tokens.terms(related)) if term not in own)
    latin = tokens.without_cjk(text)
    return Query(text, latin if len(latin.split()) > 1 else text, own, expansion, note)


def condense(text: str) -> str:
    """Take timestamps, addresses and folders out of log lines; of a long paste keep the lines that tell something."""
    text = _FOLDERS.sub("", _NOISE.sub(" ", _XID.sub(r"Xid \1", text)))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if re.search(r"\w", line)]
    if len(lines) > 1:
        shapes = {re.sub(r"\d+", "0", line): line for line in reversed(lines)}
        lines = list(reversed(shapes.values()))
    if sum(len(line.split()) for line in lines) <= _LONG_WORDS:
        return "\n".join(lines)
    return "\n".join(_telling(lines))


def _telling(lines: list[str]) -> list[str]:
    """The first and last line (where people write their own words) and lines of trouble, in order, up to a limit."""
    ends = {0, len(lines) - 1}
    by_worth = sorted(range(len(lines)), key=lambda at: (at not in ends, not _SIGNAL.search(lines[at]), at))
    kept: dict[int, str] = {}
    room = _KEEP_WORDS
    for at in by_worth:
        words = lines[at].split()[:room]
        if not words:
            break
        kept[at] = " ".join(words)
        room -= len(words)
    return [kept[at] for at in sorted(kept)]


@dataclass(frozen=True)
class _Entry:
    names: tuple[str, ...]
    chinese: tuple[str, ...]
    english: str
    related: str


def _parted(cell: str) -> list[str]:
    return [item.strip() for item in (cell or "").split(";") if item.strip()]


def _plain(text: str) -> str:
    return f" {' '.join(tokens.stem(word) for word in re.findall('[a-z0-9]+', text.lower()))} "


@functools.cache
def _glossary() -> tuple[_Entry, ...]:
    entries = []
    for row in tables.rows("glossary"):
        names = [row["term"], *_parted(row["aliases"])]
        related = " ".join((*names, *_parted(row["expands_to"])))
        plain = tuple(_plain(name) for name in names)
        entries.append(_Entry(plain, tuple(_parted(row["chinese"])), row["term"], related))
    return tuple(entries)


def _expand(text: str) -> tuple[str, str]:
    """The English terms of what is Chinese in the query; and words related to any term of the glossary in it."""
    plain, has_cjk = _plain(text), tokens.has_cjk(text)
    english, related = [], []
    for entry in _glossary():
        translated = has_cjk and any(word in text for word in entry.chinese)
        if translated:
            english.append(entry.english)
        if translated or any(name in plain for name in entry.names):
            related.append(entry.related)
    return " ".join(english), " ".join(related)
