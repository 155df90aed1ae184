from pathlib import Path

import pytest

from clusterwright.jobs import output
from clusterwright.jobs.output import Log


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(b"one\n")
    assert output.read(tmp_path) == "one\n"
    log.write("zwölf\n".encode())
    log.close()
    assert output.read(tmp_path) == "one\nzwölf\n"


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_a_long_log_keeps_its_beginning_and_its_end(tmp_path: Path, chunk: int) -> None:
    text = "".join(f"{n:07d}\n" for n in range(125)).encode()
    log = Log(tmp_path, head=80, segment=40)
    for at in range(0, len(text), chunk):
        log.write(text[at : at + chunk])
    log.close()
    kept = output.read(tmp_path)
    begin, end = kept.split("\n[840 bytes are left out here]\n")
    assert begin == text[:80].decode()
    assert end == text[920:].decode()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 160


def test_nothing_is_left_out_while_it_fits(tmp_path: Path) -> None:
    log = Log(tmp_path, head=10, segment=10)
    log.write(b"0123456789" * 3)
    assert output.read(tmp_path) == "0123456789" * 3
    log.close()


def test_control_characters_do_not_reach_a_terminal() -> None:
    text = "\x1b[31mred\x1b[0m \x1b]0;title\x07a\x00b\u200bc\r\n 10%\r 20%\ttab"
    assert output.printable(text) == "red abc\n 10%\n 20%\ttab"


_TORCHRUN = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "x.py", line 8, in <module>
[rank1]: RuntimeError: boom
E1201 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0 (pid: 12)
Traceback (most recent call last):
  File "run.py", line 1032, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""
_KILLED = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-12-01_03:59:50
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 12913)
"""


def test_the_line_of_the_measurement_is_found() -> None:
    assert output.tool_line("noise\nclusterwright: rank 2: no\nclusterwright: no at all\n" + _TORCHRUN) == "no at all"
    assert output.tool_line("[rank2]: clusterwright: rank 2: no\n") == "rank 2: no"
    assert output.tool_line("10%clusterwright: rank 1: aclusterwright: rank 2: b\n\n") == "rank 1: a"
    assert output.tool_line('    print("clusterwright: " + text)\n' + _TORCHRUN) == ""


def test_a_crash_is_told_without_what_torchrun_adds() -> None:
    assert output.crash_line(_TORCHRUN) == "crashed: RuntimeError: boom"
    assert output.crash_line(_TORCHRUN + _KILLED) == "rank 3 was killed by SIGKILL"
    assert output.crash_line("all is well\n") == ""


def test_signals_by_name() -> None:
    assert output.signal_name(9) == "SIGKILL"
    assert output.signal_name(40) == "signal 40"
