"""What a search looks into: the chapters, their lexical index, and the dense index of a version once it is open."""

import threading
from collections.abc import Sequence
from pathlib import Path

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.knowledge import reference
from clusterwright.knowledge.chapters import Chapter, Section
from clusterwright.retrieval import REBUILD, build, corpus, lexical, versions
from clusterwright.retrieval.dense import Dense
from clusterwright.retrieval.lexical import Lexical


class Opened:
    """One state of the knowledge. Without a version the lexical index is made in memory, and there is no dense one.

    Raises:
        UserError: the index of the version is damaged.
    """

    def __init__(self, root: Path, knowledge: str, version: Path | None):
        book = _book(root, knowledge, version)
        self.knowledge = knowledge
        self.sections: dict[str, tuple[Chapter, Section]] = {
            section.id: (chapter, section) for chapter in book for section in chapter.sections if section.text
        }
        self.version = version
        self._held = versions.hold(version) if version else None
        self.words = Lexical.load(version / "lexical") if version else lexical.index(book)
        if set(self.words.ids) != set(self.sections):
            raise UserError(f"the index in {version} is damaged (it holds other sections); {REBUILD}")
        self._dense: DenseIndex | None = None
        self._lock = threading.Lock()

    def dense(self, url: str) -> "DenseIndex | None":
        """The dense index, which begins to open with the first call; None without a version."""
        with self._lock:
            if self._dense is None and self.version:
                self._dense = DenseIndex(self.version, url)
            return self._dense

    def close(self) -> None:
        """Let the version go."""
        if self._dense:
            self._dense.close()
        if self._held:
            self._held.close()


class DenseIndex:
    """The dense index of a version, opened in a thread: importing Chroma takes a second."""

    def __init__(self, version: Path, url: str):
        self.weights = ""
        self._dense: Dense | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._open, args=(version, url), daemon=True)
        self._thread.start()

    def get(self, wait: bool) -> Dense | None:
        """The index, None while it is being opened.

        Raises:
            UserError: it cannot be opened.
        """
        if wait:
            self._thread.join()
        if self._error:
            raise UserError(str(self._error)) from self._error
        return self._dense

    def close(self) -> None:
        """Let go of the files."""
        self._thread.join()
        if self._dense:
            self._dense.close()

    def _open(self, version: Path, url: str) -> None:
        try:
            manifest = corpus.manifest(version)
            if manifest is None:
                raise UserError(f"the index in {version} is damaged; {REBUILD}")
            dense = build.dense(version, url, manifest)
            if dense.count() != manifest.chunks:
                raise UserError(f"the Chroma index of {version} is not complete; {REBUILD}")
            self.weights = manifest.weights
            self._dense = dense
        except (UserError, ImportError) as error:
            self._error = error


def _book(root: Path, knowledge: str, version: Path | None) -> Sequence[Chapter]:
    """The chapters as they were read for an index, or for shipping; read again only where neither is at hand."""
    if version:
        return corpus.chapters(version)
    shipped = paths.shipped("corpus")
    made = corpus.manifest(shipped)
    return corpus.chapters(shipped) if made and made.knowledge == knowledge else reference.library(root)
