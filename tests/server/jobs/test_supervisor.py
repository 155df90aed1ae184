import os
import re
import signal
import sys
from pathlib import Path

import pytest

from clusterwright import jobs
from clusterwright.jobs import State, files, launch, processes

from .conftest import Begin, running, supervisor_of, until, written


def test_a_finished_job_has_state_report_progress_and_log(begin: Begin) -> None:
    job = jobs.wait(
        begin('say("half"); print("out"); print("err", file=sys.stderr); report("fail"); sys.exit(1)').id, 30
    )
    assert (job.state, job.exit_code, job.reason) == (State.DONE, 1, "")
    assert (job.progress, job.fraction) == ("half", 0.5)
    assert jobs.report(job.id).status.value == "fail"
    assert sorted(jobs.log(job.id).splitlines()) == ["err", "out"]
    assert job.created <= job.started <= job.ended


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('print("noise"); sys.exit("clusterwright: no GPU here; use one")', "no GPU here; use one"),
        ('raise RuntimeError("out of paper")', "crashed: RuntimeError: out of paper; see: clusterwright job log ID"),
        ("sys.exit(0)", "ended with exit code 0; see: clusterwright job log ID"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV; see: clusterwright job log ID"),
    ],
)
def test_a_job_without_a_report_has_failed_and_says_why_in_one_line(begin: Begin, text: str, reason: str) -> None:
    job = jobs.wait(begin(text).id, 30)
    assert (job.state, job.reason.replace(job.id, "ID")) == (State.FAILED, reason)
    with pytest.raises(jobs.NoReport, match=re.escape(job.reason)):
        jobs.report(job.id)


def test_a_program_that_cannot_be_started_is_told(begin: Begin) -> None:
    job = jobs.wait(begin("", argv=("/no/such/python",)).id, 30)
    assert (job.state, job.reason) == (State.FAILED, "cannot start /no/such/python: No such file or directory")


def test_cancelling_gives_the_results_so_far(begin: Begin) -> None:
    job = begin('until(STOP.exists); report("warn")')
    until(lambda: jobs.get(job.id).state is State.RUNNING)
    assert jobs.cancel(job.id).stopping
    job = jobs.wait(job.id, 30)
    assert (job.state, job.reason, job.stopping) == (State.CANCELLED, "cancelled", False)
    assert jobs.report(job.id).status.value == "warn"


_TREE = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank("one"); rank("two"); orphan("three")
    (FOLDER / "main").write_text(str(os.getpid()))
    until(lambda: False)
"""


@pytest.mark.parametrize(("force", "grace"), [(True, 60), (False, 0.2)])
def test_cancelling_leaves_no_process_whatever_it_does_to_stay(begin: Begin, force: bool, grace: float) -> None:
    job = begin(_TREE, grace=grace)
    pids = written(job, "main", "one", "two", "three")
    assert len(running(pids)) == 4
    jobs.cancel(job.id, force=force)
    job = jobs.wait(job.id, 30)
    assert (job.state, job.reason) == (State.CANCELLED, "cancelled before it had results")
    assert running(pids) == []


def test_the_time_limit_ends_everything(begin: Begin) -> None:
    job = begin(_TREE, limit=0, grace=60)
    pids = written(job, "main", "one", "two", "three")
    until((job.folder / files.STOP).exists)
    assert len(running(pids)) == 4
    # Only to cut the grace short: that it ends by itself is the next test's matter.
    (job.folder / files.KILL).touch()
    job = jobs.wait(job.id, 30)
    assert (job.state, job.reason) == (State.TIMED_OUT, "reached its time limit before it had results")
    assert running(pids) == []


def test_output_without_end_does_not_hold_off_the_time_limit(begin: Begin) -> None:
    job = jobs.wait(begin("while True: os.write(1, b'x' * 65536)", limit=0.1, grace=0.1).id, 30)
    assert job.state is State.TIMED_OUT
    assert sum(path.stat().st_size for path in job.folder.glob("log*.txt")) <= 4 << 20


def test_what_a_measurement_leaves_behind_is_ended(begin: Begin) -> None:
    job = begin('orphan("left"); until((FOLDER / "left").exists); report()', grace=0.2)
    job = jobs.wait(job.id, 30)
    assert job.state is State.DONE
    assert running(written(job, "left")) == []


def test_a_killed_supervisor_takes_the_job_with_it(begin: Begin) -> None:
    job = begin(_TREE)
    pids = written(job, "main", "one", "two", "three")
    (job.folder / files.RANKS).mkdir()
    os.kill(supervisor_of(job), signal.SIGKILL)
    until(lambda: jobs.get(job.id).finished)
    job = jobs.get(job.id)
    assert (job.state, job.reason) == (State.LOST, "its supervisor was killed")
    assert not (job.folder / files.RANKS).exists()
    assert running(pids) == []


def test_a_supervisor_that_is_told_to_end_ends_the_job_first(begin: Begin) -> None:
    job = begin(_TREE)
    pids = written(job, "main", "one", "two", "three")
    os.kill(supervisor_of(job), signal.SIGTERM)
    assert jobs.wait(job.id, 30).state is State.CANCELLED
    assert running(pids) == []


def test_descendants_are_written_down_while_it_runs(begin: Begin) -> None:
    job = begin("until(STOP.exists)")
    until((job.folder / files.PROCESSES).exists)
    recorded = {processes.Process(*one) for one in files.read(job.folder / files.PROCESSES)}
    assert recorded == processes.descendants(supervisor_of(job))
    jobs.cancel(job.id)
    jobs.wait(job.id, 30)


def test_a_failure_under_torchrun_is_one_line_and_leaves_no_file(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    ranks = tmp_path / "ranks"
    text = "sys.exit(f\"clusterwright: {os.environ['WORLD_SIZE']} ranks at {os.environ['MASTER_ADDR']}: no\")"
    job = jobs.wait(begin(text, ranks=2, argv=(sys.executable, *launch.torchrun(2, ranks))).id, 60)
    assert (job.state, job.reason) == (State.FAILED, "2 ranks at 127.0.0.1: no")
    assert "ChildFailedError" in jobs.log(job.id)
    assert list(temporary.iterdir()) == []
