"""`clusterwright run` around a script in the place of the zipapp: real jobs, real signals."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clusterwright import jobs
from clusterwright.cli import cli
from clusterwright.cli.run import _command
from clusterwright.errors import UserError
from clusterwright.jobs import bundle
from clusterwright_tools import registry
from clusterwright_tools.errors import BadParameter

_PRELUDE = """
import json, os, sys, time
from pathlib import Path
from clusterwright_tools.report import Report, Status
STOP = Path(os.environ["CLUSTERWRIGHT_STOP_FILE"])
def say(message, fraction):
    told = Path(os.environ["CLUSTERWRIGHT_PROGRESS_FILE"])
    told.with_suffix(".part").write_text(json.dumps({"message": message, "fraction": fraction, "seconds": 1.0}))
    told.with_suffix(".part").replace(told)
def report(status):
    Report("matmul-flops", Status(status), "called with " + " ".join(sys.argv[1:-2])).save(Path(sys.argv[-1]))
"""
_DRIVER = """
import sys
from pathlib import Path
from clusterwright.cli import main
from clusterwright.jobs import bundle
bundle.cached = lambda: Path({script!r})
main()
"""

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_DEVICE", "cpu")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "script.py"
    monkeypatch.setattr(bundle, "cached", lambda: path)
    return path


@pytest.fixture
def run(script: Path) -> Run:
    """Runs `clusterwright run matmul-flops …` with the given text as the measurement."""

    def call(text: str, *arguments: str) -> Result:
        script.write_text(_PRELUDE + text)
        return CliRunner().invoke(cli, ["run", "matmul-flops", *arguments])

    return call


@pytest.mark.parametrize(("status", "code"), [("pass", 0), ("warn", 0), ("fail", 1), ("unknown", 3)])
def test_the_report_is_printed_and_gives_the_exit_code(run: Run, status: str, code: int) -> None:
    done = run(f"report({status!r}); sys.exit(1)", "--seconds", "5", "--shapes", "1x2x3", "--shapes", "4x5x6")
    assert done.exit_code == code
    assert done.stdout.startswith(f"matmul-flops: {status.upper()}\n")
    assert "called with matmul-flops --seconds 5.0 --shapes 1x2x3 --shapes 4x5x6\n" in done.stdout


def test_progress_goes_to_stderr_unless_quiet(run: Run) -> None:
    text = 'say("half way", 0.5); report("pass")'
    done = run(text)
    assert done.stderr.splitlines()[0] == f"job {jobs.listed()[0].id}"
    assert done.stderr.splitlines()[1].endswith("s  50%] half way")
    assert "half way" not in done.stdout
    assert run(text, "--quiet").stderr == ""


def test_the_report_as_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    done = run('report("pass")', "--json", str(path), "--quiet")
    assert json.loads(path.read_text())["status"] == "pass"
    assert done.stdout.startswith("matmul-flops: PASS")
    done = run('report("pass")', "--json", "-", "--quiet")
    assert json.loads(done.stdout) == json.loads(path.read_text())


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(run: Run, tmp_path: Path) -> None:
    done = run('report("pass")', "--json", str(tmp_path / "missing" / "report.json"))
    assert isinstance(done.exception, UserError)
    assert "its folder is missing" in str(done.exception)
    assert jobs.listed() == []


def test_a_measurement_that_cannot_run_is_told_in_its_own_line(script: Path) -> None:
    script.write_text('import sys; print("noise"); sys.exit("clusterwright: no GPU; use one")')
    command = [sys.executable, "-c", _DRIVER.format(script=str(script)), "run", "matmul-flops", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "clusterwright: no GPU; use one\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--seconds", "1"], "seconds: 1 is out of range"), (["--dtype", "x"], "dtype: 'x' is not one of")],
)
def test_parameters_are_refused_before_anything_runs(run: Run, arguments: list[str], message: str) -> None:
    done = run('report("pass")', *arguments)
    assert isinstance(done.exception, BadParameter)
    assert message in str(done.exception)
    assert jobs.listed() == []


def test_an_unknown_measurement_is_told_with_those_there_are() -> None:
    done = CliRunner().invoke(cli, ["run", "no-such"])
    assert isinstance(done.exception, BadParameter)
    assert "matmul-flops" in str(done.exception)


def test_detaching_prints_the_id_alone(run: Run) -> None:
    done = run('report("pass")', "--detach")
    assert done.exit_code == 0
    assert jobs.wait(done.stdout.strip(), 30).state is jobs.State.DONE


def test_the_configured_limit_is_the_longest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[measure]\nlimit_seconds = 30\n")
    done = run('report("pass")', "--limit", "7200")
    assert "ended after 30 s at the latest (measure.limit_seconds)" in done.stderr
    run('report("pass")', "--limit", "20")
    assert [job.limit for job in jobs.listed()] == [20, 30]


def test_even_if_busy_reaches_the_measurement(run: Run) -> None:
    text = 'report("pass" if os.environ.get("CLUSTERWRIGHT_EVEN_IF_BUSY") else "fail")'
    assert run(text).exit_code == 1
    assert run(text, "--even-if-busy").exit_code == 0


def test_no_more_jobs_than_can_be_meant(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from clusterwright.jobs import starting

    monkeypatch.setattr(starting, "MOST", 1)
    id = run("while not STOP.exists(): time.sleep(0.01)", "--detach").stdout.strip()
    done = run('report("pass")')
    assert isinstance(done.exception, UserError)
    assert "1 jobs are running already" in str(done.exception)
    jobs.cancel(id)
    jobs.wait(id, 30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_gives_the_results_so_far(script: Path, number: signal.Signals) -> None:
    script.write_text(_PRELUDE + 'say("on", None)\nwhile not STOP.exists(): time.sleep(0.01)\nreport("fail")')
    with _foreground(script) as process:
        _until_it_measures(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    job = jobs.listed()[0]
    assert process.returncode == 1
    assert out.startswith("matmul-flops: FAIL")
    assert err.endswith(f"clusterwright: {job.id}: cancelled; the results so far are shown\n")
    assert job.state is jobs.State.CANCELLED


def test_a_second_interrupt_ends_it_at_once(script: Path) -> None:
    script.write_text(_PRELUDE + 'say("on", None)\nwhile not STOP.exists(): time.sleep(0.01)\n'
                                 'say("heard", None)\nwhile True: time.sleep(1)')  # fmt: skip
    with _foreground(script) as process:
        _until_it_measures(process)
        process.send_signal(signal.SIGINT)
        _until_it_measures(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert err.splitlines()[-1] == "clusterwright: cancelled before it had results"


def test_options_of_ours_do_not_hide_a_parameter() -> None:
    for tool in registry.tools().values():
        names = [name for option in _command(tool).params for name in option.opts]
        assert len(names) == len(set(names))


def _foreground(script: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _DRIVER.format(script=str(script)), "run", "matmul-flops"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _until_it_measures(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    while not process.stderr.readline().startswith("["):
        assert process.poll() is None
