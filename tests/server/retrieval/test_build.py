import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.retrieval import build, versions
from clusterwright.retrieval.search import Searcher

STAGES = ["cutting", "embedding", "indexing", "switching"]

KILLED = """
import os, signal, sys
sys.path[:0] = {path!r}
from pathlib import Path
from conftest import FakeEmbedder
from clusterwright.retrieval import build

def progress(stage, done, total):
    if stage == {stage!r}:
        os.kill(os.getpid(), signal.SIGKILL)

build.build(Path({root!r}), Path({data!r}), FakeEmbedder(), progress=progress)
"""


def test_a_build_makes_a_sound_version_and_a_second_does_nothing(root: Path, data: Path, embedder: Any) -> None:
    version = build.build(root, data, embedder)
    assert versions.current(data) == version
    assert build.verify(version) == []
    made = len(embedder.made)
    assert build.build(root, data, embedder) == version
    assert len(embedder.made) == made


def test_a_changed_chapter_makes_a_new_version_and_embeds_only_what_is_new(
    root: Path, data: Path, embedder: Any, chapter: Callable[..., None]
) -> None:
    old = build.build(root, data, embedder)
    embedder.made.clear()
    chapter("network/more", "## What is a rail?\n\nA rail joins the same NIC of all nodes.\n")
    new = build.build(root, data, embedder)
    assert new != old
    assert len(embedder.made) == 1
    assert old.is_dir()


def test_another_model_makes_a_new_version(root: Path, data: Path, embedder: Any, fake: Callable[..., Any]) -> None:
    old = build.build(root, data, embedder)
    other = fake("other", "other:1")
    assert build.build(root, data, other) != old
    assert len(other.made) == 4


def test_shipped_vectors_are_used_instead_of_the_model(
    root: Path, data: Path, tmp_path: Path, embedder: Any, fake: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    build.export(root, tmp_path / "corpus", data, embedder)
    monkeypatch.setattr(paths, "shipped", lambda name: tmp_path / name)
    other = fake()
    build.build(root, data, other)
    assert other.made == []


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("before", [True, False])
def test_a_killed_build_leaves_the_index_as_it_was_and_the_next_cleans_up(
    root: Path, data: Path, embedder: Any, chapter: Callable[..., None], stage: str, before: bool
) -> None:
    old = build.build(root, data, embedder) if before else None
    chapter("network/more", "## What is a rail?\n\nA rail joins the same NIC of all nodes.\n")
    script = KILLED.format(
        stage=stage, root=str(root), data=str(data), path=[str(Path(__file__).parents[1]), *sys.path]
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert versions.current(data) == old
    assert old is None or build.verify(old) == []
    version = build.build(root, data, embedder)
    assert build.verify(version) == []
    left = {path.name for path in versions.folder(data).iterdir() if path.is_dir()}
    assert left == {version.name} | ({old.name} if old else set())


def test_of_two_builds_one_waits_and_finds_the_work_done(
    root: Path, data: Path, embedder: Any, fake: Callable[..., Any]
) -> None:
    waiting = threading.Event()
    other = fake()
    second = threading.Thread(
        target=build.build,
        args=(root, data, other),
        kwargs={"progress": lambda stage, done, total: waiting.set() if stage == "waiting" else None},
    )

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "embedding":
            second.start()
            assert waiting.wait(30)

    version = build.build(root, data, embedder, progress=progress)
    second.join(30)
    assert other.made == []
    assert versions.current(data) == version


def test_a_reader_works_on_through_a_switch_and_then_sees_the_new_version(
    root: Path, data: Path, embedder: Any, chapter: Callable[..., None]
) -> None:
    build.build(root, data, embedder)
    with closing(Searcher(root=root, data=data, embedder=embedder)) as searcher:
        first = searcher.search("xid 79", wait=True)
        chapter("debugging/more", "## What does Xid 94 mean?\n\nXid 94 is a contained error.\n")

        def progress(stage: str, done: int, total: int) -> None:
            assert searcher.search("xid 79").results[0].text == first.results[0].text

        build.build(root, data, embedder, progress=progress)
        assert searcher.search("xid 94").results[0].id == "debugging/more#what-does-xid-94-mean"


def test_verify_names_what_is_damaged(root: Path, data: Path, embedder: Any) -> None:
    version = build.build(root, data, embedder)
    (version / "vectors.npy").write_bytes(b"nonsense")
    (version / "lexical/params.index.json").unlink()
    (version / "chroma/chroma.sqlite3").write_bytes(b"garbage" * 1000)
    problems = "\n".join(build.verify(version))
    assert "vectors.npy does not match its checksum" in problems
    assert "lexical is damaged" in problems
    assert "the Chroma index" in problems
    (version / "manifest.json").unlink()
    assert "manifest.json is missing" in build.verify(version)[0]
    assert build.verify(build.build(root, data, embedder, force=True)) == []


def test_a_folder_that_cannot_be_written_is_named(root: Path, data: Path, embedder: Any) -> None:
    (data / "index").write_text("a file is in the way")
    with pytest.raises(UserError, match=r"cannot write the index in .*index"):
        build.build(root, data, embedder)


def test_a_model_that_fails_leaves_the_index_as_it_was(root: Path, data: Path, embedder: Any) -> None:
    version = build.build(root, data, embedder)
    embedder.error = "the embedding model x is not on this machine"
    with pytest.raises(UserError, match="not on this machine"):
        build.build(root, data, embedder, force=True)
    assert versions.current(data) == version
