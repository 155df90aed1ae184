"""How fast the MCP server answers over stdio: at its start, cold, while the model loads, and warm.

Theory first. A client waits for two things: the handshake, which costs the imports of the SDK (about 0.4 s of any
Python server on it), and the first search, which must not wait for the embedding model (seconds to load). So the
handshake may not touch index or model, and a cold search has to be lexical. A bare server of the SDK is started in turn
with ours, because the machine's speed moves: the ratio says what we add. Distributions are printed whole; nothing is
asserted. The client below speaks JSON over pipes itself, so that no client library is measured.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

STARTS, QUERIES = 10, 200
OURS = ("-m", "clusterwright", "serve")
BARE = ("-c", "from mcp.server import MCPServer; MCPServer('bare').run('stdio')")
WORDS = (
    "NCCL timeout",
    "Xid 79",
    "busbw of all-reduce",
    "job pending Resources",
    "out of memory at step 1",
    "H200 TFLOPS",
)


class Server:
    """One server process and its pipes."""

    def __init__(self, data: Path, command: tuple[str, ...] = OURS) -> None:
        self.begin = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"CLUSTERWRIGHT_DATA": str(data)},
        )
        self._id = 0

    def ask(self, method: str, **params: Any) -> tuple[float, dict[str, Any]]:
        """Seconds and result of one request."""
        self._id += 1
        begin = time.perf_counter()
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while (answer := json.loads(self._process.stdout.readline())).get("id") != self._id:
            pass
        return time.perf_counter() - begin, answer["result"]

    def start(self) -> float:
        """Seconds from process start to the first reply."""
        client = {"name": "benchmark", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        first = time.perf_counter() - self.begin
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return first

    def search(self, query: str) -> tuple[float, str]:
        """Seconds, and the mode of the answer."""
        seconds, result = self.ask("tools/call", name="search", arguments={"query": query})
        return seconds, result["structuredContent"]["mode"]

    def stop(self) -> None:
        """Close stdin and wait."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def show(name: str, seconds: list[float]) -> None:
    """A distribution in milliseconds."""
    ordered = sorted(1000 * one for one in seconds)
    deciles = statistics.quantiles(ordered, n=10) if len(ordered) > 1 else ordered * 9
    cells = " ".join(f"{one:8.1f}" for one in (ordered[0], *deciles, ordered[-1]))
    print(f"{name:<44}{len(ordered):>5} {cells}", flush=True)


@contextmanager
def cold(built: Path) -> Iterator[Server]:
    """A server on a data folder of its own: an index, and no embedder running."""
    with tempfile.TemporaryDirectory(prefix="cw-bench-") as folder:
        data = Path(folder) / "data"
        shutil.copytree(built, data)
        server = Server(data)
        try:
            yield server
        finally:
            server.stop()
            # The embedder outlives its server on purpose, and would write into the folder while it is removed.
            left = [one for one in psutil.process_iter(["cmdline"]) if str(data) in " ".join(one.info["cmdline"] or [])]
            for one in left:
                one.terminate()
            psutil.wait_procs(left, timeout=10)


def main() -> None:
    """Build an index once, then measure the four states."""
    header = " ".join(f"{name:>8}" for name in ("min", *(f"p{10 * n}" for n in range(1, 10)), "max"))
    print(f"{'milliseconds':<44}{'n':>5} {header}")
    with tempfile.TemporaryDirectory(prefix="cw-bench-") as folder:
        built = Path(folder) / "data"
        environment = os.environ | {"CLUSTERWRIGHT_DATA": str(built)}
        subprocess.run([sys.executable, "-m", "clusterwright", "index", "build"], env=environment, check=True)
        starts, bare, firsts, loading = [], [], [], []
        for number in range(STARTS):
            # Before ours, whose embedder loads in the background once it is started.
            twin = Server(built, BARE)
            bare.append(twin.start())
            twin.stop()
            with cold(built) as server:
                starts.append(server.start())
                seconds, mode = server.search(WORDS[0])
                firsts.append(seconds)
                assert mode == "lexical", mode
                # Three of the servers are watched until their model is there.
                while number < 3 and mode == "lexical":
                    seconds, mode = server.search(WORDS[len(loading) % len(WORDS)])
                    loading.append(seconds)
                if number == 2:
                    warm = [server.search(f"{WORDS[n % len(WORDS)]} {n}")[0] for n in range(QUERIES)]
        show("process start to the first reply", starts)
        show("the same of a bare server of the SDK", bare)
        ratio = statistics.median(one / other for one, other in zip(starts, bare, strict=True))
        print(f"ours over the bare server, median of {STARTS} pairs: {ratio:.2f}")
        show("first search of a cold server (lexical)", firsts)
        show("any search while the model loads", loading)
        show("warm hybrid search", warm)


if __name__ == "__main__":
    main()
