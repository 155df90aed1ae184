"""`clusterwright serve` as clients meet it: a process of its own, over stdio and HTTP, in both eras of the protocol."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from clusterwright.mcp.http import TOKEN

ERAS = pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
SLIM = ("--toolsets", "jobs,measure")
SERVE = ("-m", "clusterwright", "serve")
STARTING = {"job_cancel", "measure_start", "measure_preflight"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
LIMIT = 120  # seconds, on a machine that has other work


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[bytes]
    address: str
    token: str
    data: Path

    @property
    def url(self) -> str:
        return f"http://{self.address}/mcp"

    def post(self, **headers: str) -> httpx2.Response:
        """An `initialize` request with these headers besides the usual ones; an empty one is left out."""
        usual = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {self.token}"}
        sent = {name: value for name, value in (usual | headers).items() if value}
        return httpx2.post(self.url, json=INITIALIZE, headers=sent, timeout=LIMIT)


def environment(folder: Path) -> dict[str, str]:
    config = folder / "config.toml"
    config.write_text("[embedding]\nidle_minutes = 0.05\n")
    return {
        "CLUSTERWRIGHT_DATA": str(folder / "data"),
        "CLUSTERWRIGHT_CONFIG": str(config),
        "XDG_RUNTIME_DIR": str(folder),
    }


def working_in(data: Path) -> list[psutil.Process]:
    """The processes that were started with this data folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("CLUSTERWRIGHT_DATA") == str(data):
                found.append(process)
    return found


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, token: str = "") -> Iterator[Served]:
    """A server over HTTP; without a token of the environment it makes one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    known = os.environ | environment(folder) | {TOKEN: token}
    log, data = folder / "log", folder / "data"
    with log.open("wb") as stream:
        command = [sys.executable, *SERVE, *SLIM, "--http", address, *arguments]
        process = subprocess.Popen(command, stdout=stream, stderr=stream, env=known)
    try:
        until = time.monotonic() + LIMIT
        while not listens(address):
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        yield Served(process, address, token or (data / "token").read_text(), data)
    finally:
        process.kill()
        process.wait(LIMIT)


def listens(address: str) -> bool:
    host, port = address.split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), LIMIT):
        return True
    return False


@contextlib.asynccontextmanager
async def connected(served: Served, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {served.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=LIMIT) as http,
        Client(streamable_http_client(served.url, http_client=http), mode=mode) as client,
    ):
        yield client


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


@ERAS
async def test_http_is_read_only(served: Served, mode: str, version: str) -> None:
    async with connected(served, mode) as client:
        assert client.protocol_version == version
        offered = await names(client)
        assert "measure_describe" in offered and not offered & STARTING
        listed = await client.call_tool("job_list", {})
        assert listed.structured_content == {"jobs": []}
        refused = await client.call_tool("measure_start", {"name": "preflight"})
        assert refused.is_error


def test_http_wants_the_token(served: Served) -> None:
    assert served.post().status_code == 200
    for wrong in ("", "Bearer wrong", served.token):
        answer = served.post(Authorization=wrong)
        assert answer.status_code == 401, wrong
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_http_refuses_other_hosts_and_origins(served: Served) -> None:
    assert served.post(Host="evil.example").status_code == 421
    assert served.post(Origin="http://evil.example").status_code == 403
    assert served.post(Origin=f"http://{served.address}").status_code == 200


def test_a_taken_port_is_told_in_one_line(served: Served, tmp_path: Path) -> None:
    command = [sys.executable, *SERVE, *SLIM, "--http", served.address]
    known = os.environ | environment(tmp_path)
    done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"clusterwright: cannot listen on {served.address}") and done.stderr.count("\n") == 1
    assert not done.stdout


async def test_http_with_load_allowed_ends_at_sigterm(tmp_path: Path) -> None:
    with serving(tmp_path, "--allow-load", token="given") as server:
        async with connected(server, "legacy") as client:
            assert await names(client) > STARTING
            server.process.send_signal(signal.SIGTERM)  # while the client's event stream is open
            assert await asyncio.to_thread(server.process.wait, LIMIT) in (0, -signal.SIGTERM)
        assert "Traceback" not in (tmp_path / "log").read_text()
        assert not listens(server.address) and not working_in(server.data)


async def test_stdio_in_the_modern_era_searches_at_once(tmp_path: Path) -> None:
    known = environment(tmp_path)
    command = StdioServerParameters(command=sys.executable, args=[*SERVE], env=known)
    try:
        with (tmp_path / "log").open("w+") as log:
            async with Client(stdio_client(command, log)) as client:
                assert client.protocol_version == "2026-07-28"
                assert await names(client) > STARTING | {"search"}
                answer = await client.call_tool("search", {"query": "What does Xid 79 mean?"})
                assert answer.structured_content and answer.structured_content["results"]
            log.seek(0)
            assert log.read() == ""
    finally:  # the embedder and the build of the index outlive the server
        while left := working_in(tmp_path / "data"):
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, 10)


async def test_stdio_in_the_legacy_era(tmp_path: Path) -> None:
    known = environment(tmp_path)
    command = StdioServerParameters(command=sys.executable, args=[*SERVE, *SLIM, "--read-only"], env=known)
    with (tmp_path / "log").open("w") as log:
        async with Client(stdio_client(command, log), mode="legacy") as client:
            assert client.protocol_version == "2025-11-25"
            offered = await names(client)
            assert "measure_describe" in offered and not offered & STARTING
    assert not working_in(tmp_path / "data")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_stdio_ends_at_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, *SERVE, *SLIM]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=os.environ | environment(tmp_path)
    ) as server:
        assert server.stdin and server.stdout and server.stderr
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "clusterwright"
        server.send_signal(number)
        assert server.wait(LIMIT) == 0
        assert server.stderr.read() == b""
    assert not working_in(tmp_path / "data")
