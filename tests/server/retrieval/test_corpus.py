from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterwright.errors import UserError
from clusterwright.knowledge import chapters
from clusterwright.retrieval import build, corpus


@pytest.fixture
def made(root: Path, data: Path, tmp_path: Path, embedder: Any) -> Path:
    build.export(root, tmp_path / "corpus", data, embedder)
    return tmp_path / "corpus"


def test_the_fingerprint_changes_with_any_chapter_or_table(root: Path, chapter: Callable[..., None]) -> None:
    before = corpus.fingerprint(root)
    assert corpus.fingerprint(root) == before
    chapter("debugging/more", "## New\n\nText.\n")
    with_chapter = corpus.fingerprint(root)
    (root / "tables").mkdir()
    (root / "tables/xid.csv").write_text("xid\n79\n")
    assert len({before, with_chapter, corpus.fingerprint(root)}) == 3


def test_a_folder_without_chapters_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no chapters in .*; reinstall clusterwright"):
        corpus.fingerprint(tmp_path / "none")


def test_the_files_hold_every_chunk_with_its_vector(root: Path, made: Path) -> None:
    texts, vectors = corpus.read(made)
    chunks = corpus.cut(chapters.load(root))
    assert texts == [(chunk.id, chunk.embedded) for chunk in chunks]
    assert vectors.dtype == np.float16
    assert np.linalg.norm(vectors.astype(np.float32), axis=1) == pytest.approx(1, abs=1e-2)
    manifest = corpus.manifest(made)
    assert manifest is not None
    assert (manifest.chunks, manifest.sections, manifest.dimension) == (len(chunks), 4, 64)
    assert corpus.damage(made, manifest) == ""


def test_only_new_text_is_embedded(made: Path, embedder: Any) -> None:
    known = corpus.known_vectors(made, embedder.weights)
    old = corpus.read(made)[0][0][1]
    embedder.made.clear()
    vectors, _ = corpus.embed([old, "new", "new"], embedder, known, lambda done, total: None)
    assert embedder.made == ["new"]
    assert (vectors[0] == corpus.read(made)[1][0]).all()
    assert (vectors[1] == vectors[2]).all()


def test_vectors_of_other_weights_are_not_reused(made: Path) -> None:
    assert corpus.known_vectors(made, "other") == {}


@pytest.mark.parametrize("name", ["chunks.jsonl", "vectors.npy"])
@pytest.mark.parametrize("how", ["missing", "changed"])
def test_damage_is_named_and_such_vectors_are_not_reused(made: Path, embedder: Any, name: str, how: str) -> None:
    if how == "missing":
        (made / name).unlink()
    else:
        (made / name).write_bytes((made / name).read_bytes()[:-1] + b"?")
    manifest = corpus.manifest(made)
    assert manifest is not None
    assert corpus.damage(made, manifest).startswith(name)
    assert corpus.known_vectors(made, embedder.weights) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 99}'])
def test_a_manifest_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert corpus.manifest(tmp_path) is None


def test_unreadable_vectors_say_how_to_rebuild(made: Path) -> None:
    (made / "vectors.npy").write_bytes(b"nonsense")
    with pytest.raises(UserError, match="clusterwright index build --force"):
        corpus.read(made)
