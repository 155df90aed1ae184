from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from clusterwright.errors import UserError
from clusterwright.retrieval.dense import Dense

VECTORS = np.eye(4, 8, dtype=np.float16)
IDS = ["a@0", "a@1", "b@0", "c@0"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(Dense(tmp_path / "chroma", "", "things")) as dense:
        dense.fill(IDS, VECTORS)
    return tmp_path / "chroma"


def test_the_nearest_by_cosine_come_first(folder: Path) -> None:
    with closing(Dense(folder, "", "things")) as dense:
        found = dense.search(np.array([0.1, 0, 5, 0, 0, 0, 0, 0], dtype=np.float32), 2)
        assert [id for id, _ in found] == ["b@0", "a@0"]
        assert found[0][1] == pytest.approx(0.9998, abs=1e-3)
        assert dense.count() == 4


def test_filling_again_writes_the_same(folder: Path) -> None:
    with closing(Dense(folder, "", "things")) as dense:
        dense.fill(IDS, VECTORS)
        assert dense.count() == 4


def test_vectors_are_written_in_batches_that_chroma_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Dense(tmp_path / "chroma", "", "things")) as dense:
        monkeypatch.setattr(dense._client, "get_max_batch_size", lambda: 3)
        dense.fill(IDS, VECTORS)
        assert dense.count() == 4


def test_a_damaged_database_says_how_to_rebuild(folder: Path) -> None:
    (folder / "chroma.sqlite3").write_bytes(b"garbage" * 1000)
    with pytest.raises(UserError, match="clusterwright index build --force"):
        Dense(folder, "", "things").count()


def test_a_missing_collection_says_how_to_rebuild(folder: Path) -> None:
    with closing(Dense(folder, "", "other-things")) as dense, pytest.raises(UserError, match="index build --force"):
        dense.search(np.ones(8, dtype=np.float32), 2)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"http://127\.0\.0\.1:9 cannot be used .* check \[chroma\] in config\.toml"):
        Dense(tmp_path, "http://127.0.0.1:9", "things")
