import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from clusterwright import paths
from clusterwright.cli import cli
from clusterwright.errors import UserError
from clusterwright.retrieval import search


@pytest.fixture(autouse=True)
def small(root: Path, embedder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small knowledge folder and the embedder without a model."""
    monkeypatch.setattr(paths, "shipped", lambda name: root.parent / name)
    monkeypatch.setattr(search, "Embedder", lambda settings, data: embedder)


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, ["search", *arguments], input=stdin, catch_exceptions=False)


def test_json_holds_all_that_a_caller_needs() -> None:
    record = json.loads(run("--json", "what", "is", "xid", "79").stdout)
    assert record["query"] == "what is xid 79"
    assert record["mode"] == "hybrid"
    first = record["results"][0]
    assert first["id"] == "debugging/xid#what-does-xid-79-mean"
    assert first["sources"][0]["url"] == "https://example.com/manual"
    assert {"chapter", "heading", "text", "score", "reviewed", "measurements"} <= set(first)


def test_a_person_sees_heading_id_text_source_and_measurement() -> None:
    shown = run("all-reduce bandwidth", "--limit", "1").stdout
    for text in (
        "What bus bandwidth should an all-reduce reach?",
        "network/busbw#what-bus-bandwidth-should-an-all-reduce-reach",
        "reviewed 2026-12",
        "eight GPUs joined by NVLink",
        "https://example.com/manual",
        "clusterwright run collective-bandwidth --ops all_reduce",
    ):
        assert text in shown


def test_the_mode_can_be_named() -> None:
    assert json.loads(run("--json", "--mode", "lexical", "xid").stdout)["mode"] == "lexical"


def test_the_limit_and_the_budget_are_passed_on() -> None:
    assert len(json.loads(run("--json", "xid", "--limit", "1").stdout)["results"]) == 1
    assert "max_tokens was set to 200" in json.loads(run("--json", "xid", "--max-tokens", "1").stdout)["note"]


def test_a_note_goes_to_stderr() -> None:
    result = run("xid", "--limit", "99")
    assert result.stderr == "note: limit was set to 50 (from 1 to 50 is possible)\n"


def test_one_query_a_line_gives_one_object_a_line() -> None:
    lines = run("--stdin", stdin="xid 79\n\nxid 63\n").stdout.splitlines()
    first, empty, last = map(json.loads, lines)
    assert first["results"][0]["heading"] == "What does Xid 79 mean?"
    assert empty["error"].startswith("the query is empty")
    assert last["results"][0]["heading"] == "What does Xid 63 mean?"


def test_json_strings_may_hold_several_lines() -> None:
    (line,) = run("--stdin-json", stdin=json.dumps("my job died\nNVRM: Xid 79") + "\n").stdout.splitlines()
    assert json.loads(line)["results"][0]["heading"] == "What does Xid 79 mean?"


@pytest.mark.parametrize(
    ("stdin", "message"), [("nonsense\n", "line 1 of stdin is not valid JSON"), ("1\n", "not a JSON string")]
)
def test_a_line_that_is_no_json_string_is_refused(stdin: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        run("--stdin-json", stdin=stdin)


def test_a_dash_reads_the_query_from_stdin() -> None:
    assert json.loads(run("--json", "-", stdin="line one\nXid 79\n").stdout)["query"] == "line one\nXid 79\n"


def test_a_query_beside_stdin_is_refused() -> None:
    with pytest.raises(UserError, match="not both"):
        run("xid", "--stdin")


def test_no_query_is_refused() -> None:
    with pytest.raises(UserError, match="the query is empty"):
        run()


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CLUSTERWRIGHT_DATA", str(tmp_path / "file/data"))
    with pytest.raises(UserError, match="set CLUSTERWRIGHT_DATA to a writable folder"):
        run("xid")
