"""The lexical index: BM25 (bm25s) over sections, with headings and titles counted more than once."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import UserError
from clusterwright.retrieval import REBUILD, tokens
from clusterwright.retrieval.chunks import plain

if TYPE_CHECKING:
    from clusterwright.knowledge.chapters import Chapter, Section

# The heading asks what the section answers, so its words weigh more than those of the body.
HEADING_TIMES = 3
TITLE_TIMES = 1
EXPANSION_WEIGHT = 0.3
MAX_TERMS = 40


def index(book: Iterable["Chapter"]) -> "Lexical":
    """Index all sections of all chapters, in their order."""
    return Lexical.build(_document(chapter, section) for chapter in book for section in chapter.sections)


def _document(chapter: "Chapter", section: "Section") -> list[str]:
    """The terms of a section, weighted by repetition."""
    heading = tokens.terms(" / ".join(section.path))
    return tokens.terms(chapter.title) * TITLE_TIMES + heading * HEADING_TIMES + tokens.terms(plain(section.text))


class Lexical:
    """A BM25 index over numbered documents."""

    def __init__(self, bm25: Any):
        self._bm25 = bm25

    @classmethod
    def build(cls, documents: Iterable[list[str]]) -> "Lexical":
        """Index documents, given as lists of terms; their numbers are their order."""
        bm25 = _bm25s().BM25(k1=1.2, b=0.75, method="lucene")
        bm25.index(list(documents), show_progress=False)
        return cls(bm25)

    @classmethod
    def load(cls, folder: Path) -> "Lexical":
        """Read an index that `save` wrote.

        Raises:
            UserError: it is damaged.
        """
        try:
            return cls(_bm25s().BM25.load(str(folder), load_corpus=False))
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise UserError(f"the lexical index in {folder} is damaged ({error}); {REBUILD}") from error

    def save(self, folder: Path) -> None:
        """Write the index into a folder, made when missing."""
        self._bm25.save(str(folder), show_progress=False)

    def count(self) -> int:
        """How many documents there are."""
        return int(self._bm25.scores["num_docs"])

    def search(self, terms: Sequence[str], expansion: Sequence[str], limit: int) -> list[int]:
        """Numbers of the best documents, best first. Each shares a term with the query itself, not its expansion."""
        own = self._rarest(terms)
        if not own:
            return []
        scores = self._bm25.get_scores(own)
        matched = scores > 0
        related = self._rarest(expansion)
        if related:
            scores = scores + EXPANSION_WEIGHT * self._bm25.get_scores(related)
        order = (-scores).argsort(kind="stable")[:limit]
        return [int(number) for number in order if matched[number]]

    def _rarest(self, terms: Sequence[str]) -> list[str]:
        """The known terms, and of a long query those in the fewest documents."""
        known = [term for term in dict.fromkeys(terms) if term in self._bm25.vocab_dict]
        if len(known) <= MAX_TERMS:
            return known
        starts = self._bm25.scores["indptr"]
        ids = {term: self._bm25.vocab_dict[term] for term in known}
        return sorted(known, key=lambda term: int(starts[ids[term] + 1] - starts[ids[term]]))[:MAX_TERMS]


def _bm25s() -> Any:
    import bm25s

    # It logs every step at DEBUG, whatever level the application asked for.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s
