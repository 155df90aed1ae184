import json
import os
import signal
import subprocess
import sys

import pytest

from clusterwright_tools import tables
from clusterwright_tools.errors import CannotRun
from clusterwright_tools.progress import Progress
from clusterwright_tools.report import Report, Status
from clusterwright_tools.tools.preflight import PreflightParams, preflight

IMPATIENT = """
import sys
from clusterwright_tools import main, world
world.GRACE = 1.5
main.main(["preflight", "--step-seconds", "2", "--json", {json!r}])
"""


@pytest.fixture
def argv(tmp_path):
    return ["preflight", "--json", str(tmp_path / "report.json")]


@pytest.fixture
def impatient(tmp_path):
    """A script that waits little for ranks that are gone."""
    return IMPATIENT.format(json=str(tmp_path / "report.json"))


@pytest.fixture
def report(tmp_path):
    return lambda: Report.from_dict(json.loads((tmp_path / "report.json").read_text()))


def test_the_default_deadline_is_that_of_the_table():
    assert PreflightParams().deadline == tables.threshold("roll-call-deadline")


def test_one_rank_is_refused(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CannotRun, match="preflight tests several ranks"):
        preflight.run(PreflightParams(), Progress(quiet=True))


def test_a_fit_world_passes(worlds, argv, report):
    ranks = worlds.start(argv, size=3)
    assert [one.wait() for one in ranks] == [0, 0, 0]
    told = report()
    assert told.status is Status.PASS
    assert [finding.code for finding in told.findings] == ["cpu-gloo"]
    assert told.summary == "3 ranks on 1 node: fit for a job"
    figures = {metric.name: metric for metric in told.metrics}
    assert figures["compute"].spread.samples == figures["pair bandwidth"].spread.samples == 3
    assert figures["compute error"].value < 1e-4
    assert all("CPU" in one.reason for one in told.skipped)


def test_a_rank_that_never_comes_is_named_by_the_lowest_that_did(worlds, argv, report):
    ranks = worlds.start([*argv, "--deadline", "1"], size=3, ranks=(0, 2))
    assert [one.wait() for one in ranks] == [1, 0]
    told = report()
    assert told.status is Status.FAIL
    (finding,) = [one for one in told.findings if one.code == "ranks-missing"]
    assert "rank 1 (host" in finding.evidence
    assert finding.section == "debugging/distributed-hangs#which-ranks-or-hosts-never-joined-the-job"
    assert {one.check for one in told.skipped} >= {"pairs", "collectives"}


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_rank_that_dies_or_hangs_in_the_middle_holds_nobody(worlds, impatient, report, number):
    ranks = worlds.start(size=3, script=impatient)
    ranks[0].seen("devices")
    ranks[1].kill(number)
    assert [ranks[0].wait(), ranks[2].wait()] == [1, 0]
    told = report()
    (finding,) = [one for one in told.findings if one.code == "rank-lost"]
    assert "no answer from rank 1 (host" in finding.evidence
    assert "collectives" in {one.check for one in told.skipped}


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_rank_1_speaks_when_rank_0_is_gone_with_the_store(worlds, impatient, report, number):
    ranks = worlds.start(size=3, script=impatient)
    ranks[0].seen("devices")
    ranks[0].kill(number)
    assert [ranks[1].wait(), ranks[2].wait()] == [1, 2]
    (finding,) = [one for one in report().findings if one.code == "rank-lost"]
    assert "rank 0 at 127.0.0.1:" in finding.evidence
    assert "which keeps the store, died or hangs" in ranks[2].stderr


def test_torchrun_ends_the_others_when_one_dies_and_there_is_still_a_report(argv, report, tmp_path):
    """Its agent sends SIGTERM to the ranks that are left."""
    script = tmp_path / "rank.py"
    script.write_text(
        """
import os, signal, sys
from clusterwright_tools.tools import preflight
from clusterwright_tools.main import main
if os.environ["RANK"] == "1":
    preflight.own_device = lambda world: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    environ = os.environ | {"CLUSTERWRIGHT_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run([*command, *argv], env=environ, capture_output=True, text=True, timeout=100)
    assert ended.returncode != 0
    (finding,) = [one for one in report().findings if one.code == "rank-lost"]
    assert "no answer from rank 1 (host" in finding.evidence
