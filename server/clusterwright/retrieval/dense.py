"""The dense index: vectors in Chroma, on disk, or on a server that a team shares. Chroma embeds nothing itself."""

import functools
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import UserError
from clusterwright.retrieval import REBUILD

if TYPE_CHECKING:
    from clusterwright.retrieval.corpus import Rows


class Dense:
    """One collection of vectors, compared by cosine.

    Every method raises UserError where the folder is damaged or the server does not answer.
    """

    def __init__(self, folder: Path, url: str, name: str):
        """Open the place for a collection: a folder, or a server where `url` is given."""
        import chromadb
        from chromadb.config import Settings
        from chromadb.errors import ChromaError

        settings = Settings(anonymized_telemetry=False)
        self._errors = (ChromaError, ValueError, OSError)
        self._place, self._name, self._hint = (url or str(folder)), name, f"check [chroma] in config.toml, or {REBUILD}"
        try:
            if url:
                parts = urllib.parse.urlsplit(url)
                secure = parts.scheme == "https"
                port = parts.port or (443 if secure else 8000)
                self._client: Any = chromadb.HttpClient(parts.hostname or "", port, ssl=secure, settings=settings)
            else:
                self._client = chromadb.PersistentClient(str(folder), settings=settings)
        except self._errors as error:
            raise self._broken(error) from error

    def fill(self, ids: Sequence[str], vectors: "Rows") -> None:
        """Write all vectors; ids that are there already are written again."""
        try:
            collection = self._client.get_or_create_collection(
                self._name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
            size = min(int(self._client.get_max_batch_size()), 1000)
            for start in range(0, len(ids), size):
                end = start + size
                collection.upsert(ids=list(ids[start:end]), embeddings=vectors[start:end].astype("float32"))
        except self._errors as error:
            raise self._broken(error) from error

    def count(self) -> int:
        """How many vectors there are."""
        try:
            return int(self._collection.count())
        except self._errors as error:
            raise self._broken(error) from error

    def search(self, vector: "Rows", limit: int) -> list[tuple[str, float]]:
        """The ids nearest to a vector with their cosine similarity, best first."""
        try:
            found = self._collection.query(query_embeddings=[vector], n_results=limit, include=["distances"])
        except self._errors as error:
            raise self._broken(error) from error
        return [(id, 1.0 - float(far)) for id, far in zip(found["ids"][0], found["distances"][0], strict=True)]

    def close(self) -> None:
        """Let go of the files."""
        self._client.close()

    @functools.cached_property
    def _collection(self) -> Any:
        return self._client.get_collection(self._name, embedding_function=None)

    def _broken(self, error: Exception) -> UserError:
        reason = " ".join(str(error).split())[:200]
        return UserError(f"the Chroma index at {self._place} cannot be used ({reason}); {self._hint}")
