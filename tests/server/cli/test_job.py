import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clusterwright import jobs
from clusterwright.cli import cli
from clusterwright.errors import UserError
from clusterwright.jobs import Job, store
from clusterwright.jobs.launch import Plan
from clusterwright_tools.report import Report, Status

_MEASURE = """
import os, sys, time
from pathlib import Path
from clusterwright_tools.report import Report, Status
stop = Path(os.environ["CLUSTERWRIGHT_STOP_FILE"])
print("one"); print("two"); print("three")
while len(sys.argv) > 1 and not stop.exists(): time.sleep(0.01)
Report("fake", Status.FAIL, "measured").save(stop.parent / "report.json")
"""


def _start(*arguments: str, text: str = _MEASURE) -> Job:
    import os
    import sys

    plan = Plan((sys.executable, "-c", text, *arguments), dict(os.environ), 1, False)
    return store.create(store.new_folder("fake"), "fake", {}, plan, 60)


def _call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def _json(*arguments: str) -> object:
    done = _call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_finished_job() -> None:
    job = jobs.wait(_start().id, 30)
    assert job.id in _call("job", "list").stdout
    assert _json("job", "list") == [_json("job", "status", job.id)]
    assert f"{job.id}: done" in _call("job", "status", job.id).stdout
    assert _call("job", "log", job.id, "--lines", "2").stdout == "two\nthree\n"
    assert _json("job", "log", job.id) == {"id": job.id, "log": "one\ntwo\nthree\n"}
    assert _call("job", "report", job.id).stdout.startswith("fake: FAIL\nmeasured")
    assert _json("job", "report", job.id) == _json("report", "show", job.id) == jobs.report(job.id).to_dict()
    assert _call("report", "list").stdout.split()[:2] == [job.id, "fail"]
    assert _json("report", "list") == [
        {"id": job.id, "tool": "fake", "status": "fail", "summary": "measured", "started": ""}
    ]


def test_waiting_prints_the_report_and_takes_its_exit_code() -> None:
    job = _start()
    done = _call("job", "wait", job.id)
    assert done.exit_code == 1
    assert done.stdout.startswith("fake: FAIL")
    assert json.loads(_call("job", "wait", job.id, "--json").stdout)["status"] == "fail"


def test_a_running_job() -> None:
    job = _start("until stopped")
    done = _call("job", "wait", job.id, "--seconds", "0", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["finished"] is False
    assert "winding up" in _call("job", "cancel", job.id).stdout
    done = _call("job", "wait", job.id)
    assert done.exit_code == 1
    assert "cancelled; the results so far are shown" in done.stderr


def test_a_job_without_results() -> None:
    job = jobs.wait(_start(text="raise ValueError('no')").id, 30)
    for verb in (("job", "wait"), ("job", "report"), ("report", "show")):
        done = _call(*verb, job.id)
        assert isinstance(done.exception, UserError)
        assert "crashed: ValueError: no" in str(done.exception)
    assert _json("report", "list") == []


@pytest.mark.parametrize("verb", ["status", "wait", "log", "report", "cancel"])
def test_an_unknown_job(verb: str) -> None:
    done = _call("job", verb, "no-such")
    assert isinstance(done.exception, UserError)
    assert "unknown job 'no-such'" in str(done.exception)


def test_nothing_yet() -> None:
    for verb in ("job", "report"):
        done = _call(verb, "list")
        assert (done.exit_code, done.stdout) == (0, "")
        assert "clusterwright run NAME" in done.stderr
        assert _json(verb, "list") == []


def test_a_report_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    Report("fake", Status.PASS, "fine").save(path)
    assert _call("report", "show", str(path)).stdout.startswith("fake: PASS\nfine")
    done = _call("report", "show", str(tmp_path / "missing.json"))
    assert isinstance(done.exception, UserError)
    assert "No such file" in str(done.exception)
