"""Building the index: a new version beside the old one, made current when it is complete."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import filelock

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.knowledge import reference
from clusterwright.knowledge.chapters import Chapter
from clusterwright.retrieval import corpus, lexical, versions
from clusterwright.retrieval.corpus import Manifest
from clusterwright.retrieval.dense import Dense
from clusterwright.retrieval.embedder import Embeds

Progress = Callable[[str, int, int], None]
"""Called with a stage (`waiting`, `cutting`, `embedding`, `indexing`, `switching`), and how much of it is done."""


def silent(stage: str, done: int, total: int) -> None:
    """The progress of those who do not look."""


def build(
    root: Path, data: Path, embedder: Embeds, *, url: str = "", force: bool = False, progress: Progress = silent
) -> Path:
    """Bring the index of a data folder up to date and return the current version.

    A version that is up to date is left as it is, unless `force`. A build that is killed leaves the version before in
    use. `url` is that of a Chroma server.

    Raises:
        UserError: no chapters, no model, no Chroma server, or the folder cannot be written.
    """
    try:
        versions.folder(data).mkdir(parents=True, exist_ok=True)
        with _lock(data, progress):
            knowledge = corpus.fingerprint(root)
            present = versions.current(data)
            if present and not force and versions.fresh(present, knowledge, embedder.model):
                return present
            versions.prune(data)
            version = versions.create(data, knowledge)
            book = reference.library(root)
            manifest = _write_corpus(version, book, knowledge, present, embedder, progress)
            progress("indexing", 0, manifest.chunks)
            lexical.index(book).save(version / "lexical")
            with contextlib.closing(dense(version, url, manifest)) as vectors:
                vectors.fill(*_vectors(version))
            progress("switching", 0, 1)
            versions.switch(data, version)
            versions.prune(data)
            return version
    except OSError as error:
        raise UserError(f"cannot write the index in {versions.folder(data)} ({error.strerror or error})") from error


def export(root: Path, folder: Path, data: Path, embedder: Embeds, progress: Progress = silent) -> Manifest:
    """Write the corpus alone (chunks, vectors, manifest) into a folder, for shipping. Known vectors are used again."""
    knowledge = corpus.fingerprint(root)
    return _write_corpus(folder, reference.library(root), knowledge, versions.current(data), embedder, progress)


def dense(version: Path, url: str, manifest: Manifest) -> Dense:
    """Open the dense index of a version. On a server, users with the same chapters and model share a collection."""
    name = corpus.content_hash(manifest.files["chunks.jsonl"] + manifest.weights)
    return Dense(version / "chroma", url, f"clusterwright-{name[:16]}")


def verify(version: Path, url: str = "") -> list[str]:
    """What is wrong with a version, one line each; nothing if it is sound."""
    manifest = corpus.manifest(version)
    if manifest is None:
        return ["manifest.json is missing or was written by another version of clusterwright"]
    damage = corpus.damage(version, manifest)
    problems = [damage] if damage else []
    try:
        found = len(set(lexical.Lexical.load(version / "lexical").ids))
        if found != manifest.sections:
            problems.append(f"the lexical index holds {found} sections of {manifest.sections}")
    except UserError as error:
        problems.append(str(error))
    try:
        with contextlib.closing(dense(version, url, manifest)) as vectors:
            if vectors.count() != manifest.chunks:
                problems.append(f"the Chroma index holds {vectors.count()} vectors of {manifest.chunks}")
    except UserError as error:
        problems.append(str(error))
    return problems


@contextlib.contextmanager
def _lock(data: Path, progress: Progress) -> Iterator[None]:
    lock = filelock.FileLock(versions.folder(data) / "lock")
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        progress("waiting", 0, 1)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _write_corpus(
    folder: Path, book: Sequence[Chapter], knowledge: str, present: Path | None, embedder: Embeds, progress: Progress
) -> Manifest:
    progress("cutting", 0, 1)
    chunks = corpus.cut(book)
    weights = embedder.fingerprint()
    known = corpus.known_vectors(paths.shipped("corpus"), weights)
    if present:
        known |= corpus.known_vectors(present, weights)
    texts = [chunk.embedded for chunk in chunks]
    vectors, truncated = corpus.embed(texts, embedder, known, lambda done, total: progress("embedding", done, total))
    made = Manifest(
        knowledge=knowledge,
        model=embedder.model,
        weights=weights,
        sections=len({chunk.section for chunk in chunks}),
        chunks=len(chunks),
        dimension=vectors.shape[1],
        truncated=truncated,
        files={},
    )
    return corpus.write(folder, book, chunks, vectors, made)


def _vectors(version: Path) -> tuple[list[str], "corpus.Rows"]:
    texts, vectors = corpus.read(version)
    return [id for id, _ in texts], vectors
