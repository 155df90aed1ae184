"""Searching: the lexical and the dense ranking, fused; lexical alone, and saying so, until the dense one can answer."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from clusterwright import config, paths
from clusterwright.errors import UserError
from clusterwright.retrieval import REBUILD, build, corpus, models, versions
from clusterwright.retrieval.answer import Answer, Result, fit, fuse
from clusterwright.retrieval.embedder import Embedder, Embeds
from clusterwright.retrieval.opened import Opened
from clusterwright.retrieval.query import Query, readable, understand

__all__ = ["Answer", "Mode", "Result", "Searcher"]

Mode = Literal["hybrid", "lexical", "dense"]
MAX_LIMIT = 50
MIN_TOKENS, MAX_TOKENS = 200, 40_000
_CANDIDATES = 50
_UNRELATED = 0.25
_LOOK_AGAIN_SECONDS = 2.0


class Running(Protocol):
    """A build in the background; `poll` gives its exit code once it has ended."""

    def poll(self) -> int | None:
        """None while it runs."""


class Searcher:
    """Answers queries over the chapters. Threads may share one.

    With `wait=False` it never waits for a model or a build: what is not ready is started in the background, and the
    answer is lexical and says so. With `wait=True` it builds what is missing and waits for the model.
    """

    def __init__(
        self,
        settings: config.Config | None = None,
        *,
        root: Path | None = None,
        data: Path | None = None,
        embedder: Embeds | None = None,
        start_build: Callable[[Path], Running] | None = None,
        progress: build.Progress = build.silent,
    ):
        self._settings = settings or config.load()
        self._root = root or paths.shipped("knowledge")
        self._data = data or paths.data_dir()
        self._embedder = embedder or Embedder(self._settings.embedding, self._data)
        self._start_build = start_build or _start_build
        self._progress = progress
        self._lock = threading.Lock()
        self._opened: Opened | None = None
        self._retired: Opened | None = None
        self._seen: tuple[float, Path | None] = (0.0, None)
        self._building: Running | None = None

    def start(self) -> threading.Thread:
        """Begin to build and load what is missing, in the background."""
        thread = threading.Thread(target=self._warm, daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Let go of the index."""
        for opened in (self._opened, self._retired):
            if opened:
                opened.close()

    def search(
        self, query: str, *, limit: int = 5, max_tokens: int = 4500, mode: Mode = "hybrid", wait: bool = False
    ) -> Answer:
        """The sections that answer a query, within a budget of tokens.

        Raises:
            UserError: the query is empty, there are no chapters, the index is damaged, or `dense` with `wait` failed.
        """
        query = readable(query)
        asked = understand(query)
        notes = [asked.note]
        limit = _clamped("limit", limit, 1, MAX_LIMIT, notes)
        max_tokens = _clamped("max_tokens", max_tokens, MIN_TOKENS, MAX_TOKENS, notes)
        built, trouble = self._build() if wait and mode != "lexical" else (False, "")
        opened = self._look(built)
        by_words = opened.words.search(asked.terms, asked.expansion, _CANDIDATES)
        by_meaning: list[str] = []
        ran = mode
        if mode != "lexical":
            try:
                by_meaning = self._meaning(opened, asked, bool(by_words), wait, trouble)
            except UserError as reason:
                if wait and mode == "dense":
                    raise
                notes.append(f"lexical results only: {reason}")
                ran = "lexical"
        ranked = fuse([by_meaning] if ran == "dense" else [by_words, by_meaning])
        found = [(*opened.sections[id], score) for id, score in ranked]
        weights = opened.words.weights(asked.terms)
        results, truncated = fit(found, weights, limit, max_tokens)
        if not results:
            notes.append("nothing in the chapters matches this query")
        return Answer(query, ran, results, truncated, "; ".join(note for note in notes if note))

    def _meaning(self, opened: Opened, asked: Query, related: bool, wait: bool, trouble: str) -> list[str]:
        """Sections in the order of their nearest chunk. Where no word matches, only what is close in meaning counts.

        Raises:
            UserError: why there is no such ranking, or not yet.
        """
        index = opened.dense(self._settings.chroma.url)
        if index is None:
            raise UserError(trouble or self._build_state())
        if wait:
            self._embedder.start()  # the model loads while the index is opened
        dense = index.get(wait)
        if dense is None:
            self._embedder.start()
            raise UserError("the dense index is being opened")
        text = asked.english if self._embedder.model == models.PACKAGED else asked.text
        vectors = self._embedder.embed([text], wait=wait)
        if vectors.fingerprint != index.weights:
            raise UserError(f"the index was made with other weights of {self._embedder.model}; {REBUILD}")
        near = dense.search(vectors.rows[0], _CANDIDATES)
        if not related and (not near or near[0][1] < _UNRELATED):
            return []
        found = dict.fromkeys(id.rpartition("@")[0] for id, _ in near)
        return [id for id in found if id in opened.sections]

    def _build(self) -> tuple[bool, str]:
        """Build what is missing: whether that was done, else what stood in the way."""
        url = self._settings.chroma.url
        try:
            build.build(self._root, self._data, self._embedder, url=url, progress=self._progress)
        except UserError as error:
            return False, str(error)
        return True, ""

    def _look(self, built: bool = False) -> Opened:
        """The present state. Whether chapters changed is looked up every other second, `current` at every call.

        A version that was just built is taken although a chapter may have changed meanwhile.
        """
        with self._lock:
            looked, seen = self._seen
            settled = time.monotonic() - looked < _LOOK_AGAIN_SECONDS and versions.current(self._data) == seen
            if self._opened and settled:
                return self._opened
            knowledge, current = corpus.fingerprint(self._root), versions.current(self._data)
            fresh = current and (built or versions.fresh(current, knowledge, self._embedder.model))
            version = current if fresh else None
            if self._opened is None or (self._opened.knowledge, self._opened.version) != (knowledge, version):
                if self._retired:
                    self._retired.close()  # the one replaced now may still be searched by another thread
                self._retired, self._opened = self._opened, Opened(self._root, knowledge, version)
            self._seen = (time.monotonic(), current)
            return self._opened

    def _build_state(self) -> str:
        with self._lock:
            code = self._building.poll() if self._building else 0
            if code == 0:
                self._building = self._start_build(self._data)
            if code:
                return f"the index build failed (see {self._data / 'build.log'}); {REBUILD}"
            return "the semantic index is being built"

    def _warm(self) -> None:
        with contextlib.suppress(UserError):  # the first search tells it
            self._embedder.start()
            if self._look().dense(self._settings.chroma.url) is None:
                self._build_state()


def _clamped(name: str, value: int, low: int, high: int, notes: list[str]) -> int:
    clamped = min(max(value, low), high)
    if clamped != value:
        notes.append(f"{name} was set to {clamped} (from {low} to {high} is possible)")
    return clamped


def _start_build(data: Path) -> subprocess.Popen[bytes]:
    log = data / "build.log"
    with log.open("ab") as stream:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "clusterwright", "index", "build"],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=os.environ | {"CLUSTERWRIGHT_DATA": str(data)},
            start_new_session=True,
        )
