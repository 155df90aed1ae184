"""How a measurement is started on this machine: interpreter, ranks, argument vector and environment."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.config import Config, Measure
from clusterwright.errors import UserError
from clusterwright.jobs import devices, environment, files
from clusterwright_tools import locks, params
from clusterwright_tools.registry import Launch, Tool

_NEEDED = (3, 10)
# An old interpreter gets as far as telling its version.
_PROBE = """
import sys
print("%d %d" % sys.version_info[:2])
import importlib.util
print(importlib.util.find_spec("torch") is not None)
"""
_OTHER = "name another: --python PATH, or measure.python in config.toml"


@dataclass(frozen=True)
class Interpreter:
    """A Python to measure with; `torch` says whether it has PyTorch (found, not imported)."""

    path: str
    version: tuple[int, int]
    torch: bool


@dataclass(frozen=True)
class Plan:
    """A process to start. `cpu` says that its ranks have to run on the CPU."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    ranks: int
    cpu: bool


def plan(
    tool: Tool,
    parameters: object,
    bundle: Path,
    folder: Path,
    measure: Measure,
    *,
    ranks: int | None = None,
    python: str = "",
    even_if_busy: bool = False,
    around: Mapping[str, str] = os.environ,
) -> Plan:
    """Plan a measurement in a job's folder. `python` and `ranks` override configuration and hardware.

    Raises:
        UserError: the interpreter cannot be used, or the tool does not run in so many ranks.
    """
    inherited = environment.clean(around, measure.environment)
    number, cpu = spread(tool, ranks, devices.count(inherited))
    interpreter = find_interpreter(python or measure.python, inherited)
    if number > 1 and not interpreter.torch:
        raise UserError(f"{interpreter.path} has no PyTorch, which starts the ranks; install it there, or {_OTHER}")
    launcher = torchrun(number, folder / files.RANKS) if number > 1 else []
    call = [str(bundle), tool.name, *params.arguments(parameters), "--json", str(folder / files.REPORT)]
    busy = {locks.EVEN_IF_BUSY: "1"} if even_if_busy else {}
    variables = {**busy, **environment.for_ranks(number), **inherited, **(environment.on_cpu() if cpu else {})}
    return Plan((interpreter.path, *launcher, *call), variables, number, cpu)


def spread(tool: Tool, wanted: int | None, found: int) -> tuple[int, bool]:
    """How many ranks to start with so many devices, and whether they have to run on the CPU.

    Raises:
        UserError: the tool does not run in so many ranks.
    """
    if tool.launch is Launch.SINGLE:
        if wanted not in (None, 1):
            raise UserError(f"{tool.name} runs as one process; leave out the number of ranks")
        return 1, False
    if wanted is not None and wanted < 1:
        raise UserError(f"{wanted} ranks cannot run; give 1 or more")
    least = 2 if tool.launch is Launch.DISTRIBUTED else 1
    number = wanted or max(found, least)
    return number, number > max(found, 1)


def torchrun(ranks: int, logs: Path) -> list[str]:
    """The interpreter's arguments that start so many ranks on this machine, meeting on loopback at a free port."""
    options = ["--standalone", "--nproc-per-node", str(ranks), "--max-restarts", "0", "--local-addr", "127.0.0.1"]
    # torchrun leaves a folder in /tmp behind unless it is told where to put it.
    return ["-m", "torch.distributed.run", *options, "--log-dir", str(logs)]


def find_interpreter(named: str, inherited: Mapping[str, str]) -> Interpreter:
    """The Python that measures, the server's own where none is named.

    Raises:
        UserError: it is missing, or is no Python that is new enough.
    """
    wanted = str(Path(named).expanduser()) if named.startswith("~") else named or sys.executable
    found = shutil.which(wanted, path=inherited.get("PATH"))
    if found is None:
        raise UserError(f"there is no program {named} to measure with; {_OTHER}")
    # Not resolved: the link in a virtual environment is what makes its packages visible.
    path = str(Path(found).absolute())
    try:
        told = _ask(path, inherited)
        version = int(told[0]), int(told[1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise UserError(f"{named} does not work as a Python interpreter; {_OTHER}") from error
    if version < _NEEDED:
        raise UserError(f"{named} is Python {version[0]}.{version[1]}, measurements need 3.10 or newer; {_OTHER}")
    return Interpreter(path, version, told[2:] == ["True"])


def describe_interpreter(config: Config) -> str:
    """The Python that measures with this configuration, in a line.

    Raises:
        UserError: it cannot be used.
    """
    found = find_interpreter(config.measure.python, environment.clean(os.environ, config.measure.environment))
    torch = "with PyTorch" if found.torch else "without PyTorch, which most measurements need"
    return f"{found.path} (Python {found.version[0]}.{found.version[1]}, {torch})"


def _ask(python: str, inherited: Mapping[str, str]) -> list[str]:
    # In a folder of the system's: the current one is on the path of `-c`.
    command = [python, "-c", _PROBE]
    asked = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        env=dict(inherited),
        cwd="/",
        check=False,
    )
    return asked.stdout.split()
