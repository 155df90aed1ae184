"""The lexical index: BM25 (bm25s) over sections, with headings and titles counted more than once."""

import json
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import UserError
from clusterwright.retrieval import REBUILD, chunks, tokens

if TYPE_CHECKING:
    from clusterwright.knowledge.chapters import Chapter, Section

# The heading asks what the section answers, so its words weigh more than those of the body.
HEADING_TIMES = 3
TITLE_TIMES = 1
EXPANSION_WEIGHT = 0.2
MAX_TERMS = 40
PART_TOKENS = 1000


def index(book: Iterable["Chapter"]) -> "Lexical":
    """Index all sections of all chapters; a heading without text is none."""
    sections = ((chapter, section) for chapter in book for section in chapter.sections if section.text)
    return Lexical.build(found for chapter, section in sections for found in _documents(chapter, section))


def _documents(chapter: "Chapter", section: "Section") -> Iterator[tuple[str, list[str]]]:
    """The terms of a section, weighted by repetition; of a long one (a large table) in parts."""
    context = tokens.terms(chapter.title) * TITLE_TIMES + tokens.terms(" / ".join(section.path)) * HEADING_TIMES
    text = chunks.plain(section.text)
    whole = tokens.estimate(text) <= PART_TOKENS
    for part in [text] if whole else chunks.parts(text, PART_TOKENS, tokens.estimate):
        yield section.id, context + tokens.terms(part)


class Lexical:
    """A BM25 index. `ids` names the section of each document; a section may have several."""

    def __init__(self, bm25: Any, ids: Sequence[str]):
        self._bm25, self.ids = bm25, ids

    @classmethod
    def build(cls, documents: Iterable[tuple[str, list[str]]]) -> "Lexical":
        """Index documents, given as the id of their section and their terms."""
        ids, terms = zip(*documents, strict=True)
        bm25 = _bm25s().BM25(k1=1.2, b=0.75, method="lucene")
        bm25.index(list(terms), show_progress=False)
        return cls(bm25, ids)

    @classmethod
    def load(cls, folder: Path) -> "Lexical":
        """Read an index that `save` wrote.

        Raises:
            UserError: it is damaged.
        """
        try:
            ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
            bm25 = _bm25s().BM25.load(str(folder), load_corpus=False)
            if len(ids) != int(bm25.scores["num_docs"]):
                raise ValueError(f"{len(ids)} ids")
            return cls(bm25, ids)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise UserError(f"the lexical index in {folder} is damaged ({error}); {REBUILD}") from error

    def save(self, folder: Path) -> None:
        """Write the index into a folder, made when missing."""
        self._bm25.save(str(folder), show_progress=False)
        (folder / "ids.json").write_text(json.dumps(self.ids), encoding="utf-8")

    def search(self, terms: Sequence[str], expansion: Sequence[str], limit: int) -> list[str]:
        """The ids of the best sections, best first. Each shares a term with the query itself, not its expansion."""
        own = self._rarest(terms)
        if not own:
            return []
        scores = self._bm25.get_scores(own)
        matched = scores > 0
        related = self._rarest(expansion)
        if related:
            scores = scores + EXPANSION_WEIGHT * self._bm25.get_scores(related)
        order = (-scores).argsort(kind="stable")[:limit]
        return list(dict.fromkeys(self.ids[number] for number in order if matched[number]))

    def weights(self, terms: Sequence[str]) -> dict[str, float]:
        """How much each known term tells: its inverse document frequency."""
        count = len(self.ids)
        found = {term: self._frequency(term) for term in terms if term in self._bm25.vocab_dict}
        return {term: math.log(1 + (count - df + 0.5) / (df + 0.5)) for term, df in found.items()}

    def _rarest(self, terms: Sequence[str]) -> list[str]:
        """The known terms, and of a long query those in the fewest documents."""
        known = [term for term in dict.fromkeys(terms) if term in self._bm25.vocab_dict]
        return known if len(known) <= MAX_TERMS else sorted(known, key=self._frequency)[:MAX_TERMS]

    def _frequency(self, term: str) -> int:
        """In how many documents a known term is."""
        number, starts = self._bm25.vocab_dict[term], self._bm25.scores["indptr"]
        return int(starts[number + 1] - starts[number])


def _bm25s() -> Any:
    import bm25s

    # It logs every step at DEBUG, whatever level the application asked for.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s
