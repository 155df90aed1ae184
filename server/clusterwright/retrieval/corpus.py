"""Chunks, their vectors and a manifest: the truth from which the lexical and the dense index are built.

manifest.json    what this was made of and with, and the checksums of the others
chapters.json    the chapters as they were read, so that opening an index parses no Markdown
chunks.jsonl     one chunk a line: its id, and the text that was embedded
vectors.npy      float16, one unit vector a chunk, in the same order
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright import __version__
from clusterwright.errors import UserError
from clusterwright.knowledge.chapters import Chapter
from clusterwright.retrieval import REBUILD, chunks
from clusterwright.retrieval.chunks import Chunk
from clusterwright.retrieval.embedder import Embeds

if TYPE_CHECKING:
    import numpy as np
    import pydantic

    Rows = np.ndarray[Any, np.dtype[Any]]

FORMAT = 1
"""Raised whenever the files are laid out differently, so that older indexes are rebuilt."""
_PACKAGE = Path(__file__).parents[1]
_MAKERS = (
    "retrieval/chunks.py",
    "retrieval/tokens.py",
    "retrieval/lexical.py",
    "knowledge/*.py",
)
_BATCH = 32

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class Manifest:
    """What a corpus was made of (`knowledge`, a hash of all files), with which model, and what it holds."""

    knowledge: str
    model: str
    weights: str
    sections: int
    chunks: int
    dimension: int
    truncated: int
    files: Mapping[str, str]
    version: str = __version__
    format: int = FORMAT


def fingerprint(root: Path) -> str:
    """Hash of all chapters and tables, and of the code that reads them.

    Raises:
        UserError: there is no such folder, or no chapter in it.
    """
    files = sorted(file for pattern in ("*/*.md", "tables/*.csv") for file in root.glob(pattern))
    if not any(file.suffix == ".md" for file in files):
        raise UserError(f"no chapters in {root}; reinstall clusterwright, or run it from a checkout")
    digest = hashlib.sha256(f"{FORMAT} {__version__}".encode())
    for file in sorted(file for pattern in _MAKERS for file in _PACKAGE.glob(pattern)):
        digest.update(file.read_bytes())
    for file in files:
        digest.update(f"\0{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def content_hash(text: str) -> str:
    """Names the text of a chunk; a vector is made once for each."""
    return hashlib.sha256(text.encode()).hexdigest()


def cut(chapters: Iterable[Chapter]) -> list[Chunk]:
    """All chunks of all chapters, in their order."""
    count = chunks.word_pieces()
    sections = ((chapter, section) for chapter in chapters for section in chapter.sections if section.text)
    return [chunk for chapter, section in sections for chunk in chunks.split(chapter, section, count)]


def embed(texts: Sequence[str], embedder: Embeds, known: Mapping[str, "Rows"], advance: Advance) -> tuple["Rows", int]:
    """Vectors (float16, n x d) of texts, and how many exceeded the model's window. Only new texts are embedded."""
    import numpy as np

    vectors = dict(known)
    new = [text for text in dict.fromkeys(texts) if content_hash(text) not in vectors]
    truncated = 0
    for start in range(0, len(new), _BATCH):
        advance(start, len(new))
        batch = new[start : start + _BATCH]
        made = embedder.embed(batch)
        truncated += made.truncated
        vectors.update(zip(map(content_hash, batch), made.rows.astype(np.float16), strict=True))
    return np.stack([vectors[content_hash(text)] for text in texts]), truncated


def write(
    folder: Path, book: Sequence[Chapter], cut_chunks: Sequence[Chunk], vectors: "Rows", made: Manifest
) -> Manifest:
    """Write a corpus; return its manifest with the checksums. That comes last, so a corpus with one is complete."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"id": chunk.id, "text": chunk.embedded}, ensure_ascii=False) for chunk in cut_chunks)
    (folder / "chunks.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    np.save(folder / "vectors.npy", vectors)
    (folder / "chapters.json").write_bytes(_book().dump_json(tuple(book)))
    files = {name: _sha256(folder / name) for name in ("chapters.json", "chunks.jsonl", "vectors.npy")}
    made = dataclasses.replace(made, files=files)
    record = json.dumps(dataclasses.asdict(made), indent=2)
    (folder / "manifest.json").write_text(f"{record}\n", encoding="utf-8")
    return made


def manifest(folder: Path) -> Manifest | None:
    """The manifest of a corpus, None where there is none that this version can read."""
    try:
        record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return Manifest(**record) if record.get("format") == FORMAT else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def read(folder: Path) -> tuple[list[tuple[str, str]], "Rows"]:
    """Chunk ids with their embedded texts, and the vectors.

    Raises:
        UserError: the files are damaged.
    """
    import numpy as np

    try:
        lines = (folder / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        vectors = np.load(folder / "vectors.npy")
        texts = [(record["id"], record["text"]) for record in records]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"the index in {folder} is damaged ({error}); {REBUILD}") from error
    if len(texts) != len(vectors):
        raise UserError(f"the index in {folder} is damaged ({len(texts)} chunks, {len(vectors)} vectors); {REBUILD}")
    return texts, vectors


def chapters(folder: Path) -> tuple[Chapter, ...]:
    """The chapters of a corpus.

    Raises:
        UserError: the file is damaged.
    """
    try:
        return _book().validate_json((folder / "chapters.json").read_bytes())
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"the index in {folder} is damaged ({reason}); {REBUILD}") from error


def known_vectors(folder: Path, weights: str) -> dict[str, "Rows"]:
    """Vectors by content hash, if the folder holds an undamaged corpus of the same weights."""
    found = manifest(folder)
    if found is None or found.weights != weights or damage(folder, found):
        return {}
    texts, vectors = read(folder)
    return {content_hash(text): vector for (_, text), vector in zip(texts, vectors, strict=True)}


def damage(folder: Path, found: Manifest) -> str:
    """What is wrong with the files of a corpus, '' if nothing is."""
    for name, expected in found.files.items():
        file = folder / name
        if not file.is_file():
            return f"{name} is missing"
        if _sha256(file) != expected:
            return f"{name} does not match its checksum"
    return ""


@functools.cache
def _book() -> "pydantic.TypeAdapter[tuple[Chapter, ...]]":
    import pydantic

    return pydantic.TypeAdapter(tuple[Chapter, ...])


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
