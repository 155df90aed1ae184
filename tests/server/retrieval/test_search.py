import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.knowledge import reference
from clusterwright.retrieval import build, search, versions
from clusterwright.retrieval.search import Searcher

XID_79 = "debugging/xid#what-does-xid-79-mean"


class Started:
    """A build in the background that ends when the test says so."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.count = 0

    def __call__(self, data: Path) -> "Started":
        self.count += 1
        return self

    def poll(self) -> int | None:
        return self.code


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def searcher(root: Path, data: Path, embedder: Any, started: Started) -> Iterator[Searcher]:
    made = Searcher(root=root, data=data, embedder=embedder, start_build=started)
    yield made
    made.close()


def settled(searcher: Searcher) -> None:
    """Wait until the dense index is open."""
    searcher.search("xid", wait=True)


def test_the_section_that_answers_comes_first_with_all_that_is_cited(searcher: Searcher) -> None:
    answer = searcher.search("NVRM: Xid (PCI:0000:65:00): 79, pid=1234", wait=True)
    first = answer.results[0]
    assert answer.mode == "hybrid"
    assert answer.note == ""
    assert first.id == XID_79
    assert first.chapter == "Xid errors"
    assert first.heading == "What does Xid 79 mean?"
    assert "fallen off the bus" in first.text
    assert "---" not in first.text
    assert first.reviewed == "2026-12"
    assert [source.url for source in first.sources] == ["https://example.com/manual"]


def test_the_packaged_model_finds_what_shares_no_word(root: Path, data: Path, real: Any) -> None:
    searcher = Searcher(root=root, data=data, embedder=real)
    answer = searcher.search("the graphics card vanished from PCIe", mode="dense", wait=True)
    searcher.close()
    assert answer.results[0].id == XID_79


def test_without_waiting_the_first_answer_is_lexical_and_says_why(searcher: Searcher, started: Started) -> None:
    answer = searcher.search("xid 79")
    assert answer.results[0].id == XID_79
    assert answer.mode == "lexical"
    assert answer.note == "lexical results only: the semantic index is being built"
    searcher.search("xid 79")
    assert started.count == 1


def test_answers_become_hybrid_when_the_build_has_ended(
    searcher: Searcher, root: Path, data: Path, embedder: Any
) -> None:
    assert searcher.search("xid 79").mode == "lexical"
    build.build(root, data, embedder)
    settled(searcher)
    assert searcher.search("xid 79").mode == "hybrid"


def test_a_build_that_failed_is_told(searcher: Searcher, started: Started) -> None:
    searcher.search("xid 79")
    started.code = 2
    assert searcher.search("xid 79").note.startswith("lexical results only: the index build failed (see ")
    assert started.count == 1


def test_the_background_build_is_the_command_line_and_leaves_a_log(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_CONFIG", str(data / "config.toml"))
    (data / "config.toml").write_text('[embedding]\nmodel = "nobody/nothing"\n')
    process = search._start_build(data)
    assert process.wait(timeout=120) == 2
    assert "nobody/nothing is not on this machine" in (data / "build.log").read_text()


def test_a_model_that_loads_is_told(searcher: Searcher, embedder: Any) -> None:
    settled(searcher)
    embedder.is_ready = False
    answer = searcher.search("xid 79")
    assert (answer.mode, answer.note) == ("lexical", "lexical results only: the embedding model is loading")


def test_a_model_that_failed_is_told(searcher: Searcher, embedder: Any) -> None:
    settled(searcher)
    embedder.error = "the embedding model x is not on this machine"
    answer = searcher.search("xid 79")
    assert answer.mode == "lexical"
    assert "is not on this machine" in answer.note


def test_chapters_that_change_during_the_build_do_not_spoil_it(
    root: Path, data: Path, embedder: Any, chapter: Callable[..., None]
) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        if stage == "switching":
            chapter("debugging/more", "## What does Xid 94 mean?\n\nXid 94 is a contained error.\n")

    searcher = Searcher(root=root, data=data, embedder=embedder, progress=progress)
    assert searcher.search("xid 79", mode="dense", wait=True).results[0].id == XID_79
    searcher.close()


def test_a_build_that_fails_is_told_to_those_who_wait(searcher: Searcher, embedder: Any) -> None:
    embedder.error = "the embedding model x is not on this machine"
    answer = searcher.search("xid 79", wait=True)
    assert answer.results[0].id == XID_79
    assert (answer.mode, answer.note) == ("lexical", f"lexical results only: {embedder.error}")
    with pytest.raises(UserError, match="is not on this machine"):
        searcher.search("xid 79", mode="dense", wait=True)


def test_dense_alone_that_cannot_run_is_an_error_for_those_who_wait(searcher: Searcher, embedder: Any) -> None:
    settled(searcher)
    embedder.error = "the embedding model x is not on this machine"
    with pytest.raises(UserError, match="is not on this machine"):
        searcher.search("xid 79", mode="dense", wait=True)
    assert searcher.search("xid 79", mode="dense").mode == "lexical"


def test_lexical_mode_needs_no_model_and_no_build(searcher: Searcher, embedder: Any, started: Started) -> None:
    embedder.error = "no model"
    answer = searcher.search("xid 79", mode="lexical", wait=True)
    assert (answer.mode, answer.note, started.count) == ("lexical", "", 0)


def test_dense_mode_ranks_by_meaning_alone(searcher: Searcher) -> None:
    answer = searcher.search("row remapping", mode="dense", wait=True)
    assert answer.mode == "dense"
    assert answer.results[0].id == "debugging/xid#what-does-xid-63-mean"


def test_changed_chapters_are_found_at_once(
    searcher: Searcher, chapter: Callable[..., None], started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(searcher)
    monkeypatch.setattr(search, "_LOOK_AGAIN_SECONDS", 0.0)
    chapter("debugging/more", "## What does Xid 94 mean?\n\nXid 94 is a contained error.\n")
    answer = searcher.search("xid 94")
    assert answer.results[0].id == "debugging/more#what-does-xid-94-mean"
    assert answer.mode == "lexical"
    assert started.count == 1


def test_vectors_of_other_weights_are_never_compared(searcher: Searcher, embedder: Any) -> None:
    settled(searcher)
    embedder.weights = "fake:2"
    answer = searcher.search("xid 79")
    assert answer.mode == "lexical"
    assert "made with other weights of fake" in answer.note


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ({"limit": 0}, "limit was set to 1 (from 1 to 50 is possible)"),
        ({"limit": 99}, "limit was set to 50 (from 1 to 50 is possible)"),
        ({"max_tokens": 1}, "max_tokens was set to 200 (from 200 to 40000 is possible)"),
    ],
)
def test_numbers_out_of_range_are_clamped_and_told(searcher: Searcher, asked: dict[str, int], note: str) -> None:
    answer = searcher.search("xid 79", mode="lexical", **asked)
    assert answer.note == note
    assert answer.results


def test_the_limit_holds(searcher: Searcher) -> None:
    assert len(searcher.search("xid", limit=1, mode="lexical").results) == 1


def test_an_empty_query_is_refused(searcher: Searcher) -> None:
    with pytest.raises(UserError, match="the query is empty"):
        searcher.search("  ")


def test_bytes_that_are_no_text_do_no_harm(searcher: Searcher) -> None:
    answer = searcher.search("xid 79 \udce9\0", wait=True)
    assert answer.results[0].id == XID_79
    assert json.loads(json.dumps(answer.to_dict()))["query"] == "xid 79 ? "


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
def test_where_nothing_matches_the_answer_says_so(searcher: Searcher, mode: search.Mode) -> None:
    answer = searcher.search("qwertyuiop", mode=mode, wait=True)
    assert answer.results == ()
    assert answer.note == "nothing in the chapters matches this query"


def test_a_missing_knowledge_folder_is_named(tmp_path: Path, data: Path, embedder: Any) -> None:
    with pytest.raises(UserError, match="no chapters in"):
        Searcher(root=tmp_path / "none", data=data, embedder=embedder).search("xid")


@pytest.mark.parametrize(
    "part", ["lexical/params.index.json", "lexical/vocab.index.json", "lexical/data.csc.index.npy"]
)
def test_a_damaged_lexical_index_says_how_to_rebuild(
    searcher: Searcher, root: Path, data: Path, embedder: Any, part: str
) -> None:
    version = build.build(root, data, embedder)
    (version / part).write_bytes(b"")
    with pytest.raises(UserError, match=r"is damaged .*clusterwright index build --force"):
        searcher.search("xid 79")


def test_a_damaged_dense_index_says_how_to_rebuild(searcher: Searcher, root: Path, data: Path, embedder: Any) -> None:
    version = build.build(root, data, embedder)
    (version / "chroma/chroma.sqlite3").write_bytes(b"garbage" * 1000)
    with pytest.raises(UserError, match="clusterwright index build --force"):
        searcher.search("xid 79", mode="dense", wait=True)
    answer = searcher.search("xid 79")
    assert answer.mode == "lexical"
    assert "clusterwright index build --force" in answer.note


def test_a_version_in_use_is_not_removed(searcher: Searcher, root: Path, data: Path, embedder: Any) -> None:
    settled(searcher)
    used = versions.current(data)
    assert used is not None
    for _ in range(3):
        build.build(root, data, embedder, force=True)
    assert used.is_dir()


def test_many_threads_get_the_same_answer(searcher: Searcher) -> None:
    settled(searcher)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(searcher.search("xid 79").results[0].id)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == [XID_79] * 8


def test_without_an_index_the_shipped_chapters_are_not_parsed_again(
    root: Path, data: Path, tmp_path: Path, embedder: Any, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.export(root, tmp_path / "corpus", data, embedder)
    monkeypatch.setattr(paths, "shipped", lambda name: tmp_path / name)
    with monkeypatch.context() as patch:
        patch.delattr(reference, "library")
        found = Searcher(root=root, data=data, embedder=embedder, start_build=started).search("xid 79", mode="lexical")
        assert found.results[0].id == XID_79
    (root / "debugging/xid.md").write_text((root / "debugging/xid.md").read_text().replace("risers", "cables"))
    found = Searcher(root=root, data=data, embedder=embedder, start_build=started).search("xid 79", mode="lexical")
    assert "cables" in found.results[0].text


def test_start_loads_and_builds_in_the_background(searcher: Searcher, embedder: Any, started: Started) -> None:
    searcher.start().join(30)
    assert (embedder.started, started.count) == (1, 1)


def test_importing_search_loads_no_heavy_package() -> None:
    script = (
        "import sys, clusterwright.retrieval.search;"
        "print(sorted({'torch', 'chromadb', 'sentence_transformers', 'bm25s', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
