import json
from pathlib import Path

import pytest

from clusterwright_tools.progress import PROGRESS_FILE, STOP_FILE, Progress


def test_lines_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    Progress().say("halfway", 0.5)
    captured = capsys.readouterr()
    assert captured.out == "" and "50%] halfway" in captured.err


@pytest.mark.parametrize("made", [Progress(quiet=True), Progress(rank=1)])
def test_quiet_and_other_ranks_say_nothing(made: Progress, capsys: pytest.CaptureFixture[str]) -> None:
    made.say("hello")
    assert capsys.readouterr().err == ""


def test_the_file_is_for_whoever_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROGRESS_FILE, str(tmp_path / "p.json"))
    Progress(quiet=True).say("halfway", 0.5)
    told = json.loads((tmp_path / "p.json").read_text())
    assert (told["message"], told["fraction"]) == ("halfway", 0.5)


def test_stop_by_call_and_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STOP_FILE, str(tmp_path / "stop"))
    one, two = Progress(), Progress()
    assert not one.stopped
    one.stop()
    assert one.stopped and not two.stopped
    (tmp_path / "stop").touch()
    assert two.stopped
