"""The client of the embedding process (see `worker`): starts it when it is not there, never loads a model itself."""

import hashlib
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clusterwright import __version__, config
from clusterwright.errors import UserError
from clusterwright.retrieval import models, wire

if TYPE_CHECKING:
    import numpy as np

LOAD_SECONDS = 180.0
_QUICK_SECONDS = 2.0
_ATTEMPTS = 10


@dataclass(frozen=True)
class Vectors:
    """Unit vectors, one row a text (float32, n x d), the weights that made them, and how many texts were cut off."""

    rows: "np.ndarray[Any, np.dtype[np.float32]]"
    fingerprint: str
    truncated: int = 0


class Embeds(Protocol):
    """What search and build need of an embedder."""

    @property
    def model(self) -> str:
        """The model's name in the configuration."""

    def start(self) -> None:
        """Begin loading, without waiting for it."""

    def fingerprint(self) -> str:
        """Names the model's weights; waits for the model when they are not known."""

    def embed(self, texts: list[str], timeout: float = LOAD_SECONDS, wait: bool = True) -> Vectors:
        """Turn texts into vectors, waiting for the model if it must; without `wait`, UserError while it loads."""


class Embedder:
    """Reaches the embedding process of a data folder: one short connection a call, so threads may share it.

    Every method raises UserError where the process cannot start, has failed, or does not answer in time.
    """

    def __init__(self, settings: config.Embedding, data: Path):
        self._settings, self._data = settings, data.absolute()
        self.log = self._data / "embedder.log"

    @property
    def model(self) -> str:
        """The model's name in the configuration."""
        return self._settings.model

    def start(self) -> None:
        """Start the process unless it runs; the model loads there while this returns."""
        self._connect(start=True).close()

    def state(self) -> dict[str, Any]:
        """What the process says of itself (`state` is `loading`, `ready` or `failed`), or `off`. Starts nothing."""
        try:
            with self._connect(start=False) as connection:
                connection.settimeout(_QUICK_SECONDS)
                wire.send(connection, {"op": "state"})
                return wire.receive(connection)[0]
        except TimeoutError as error:
            raise UserError(f"the embedding process does not answer; see {self.log}") from error
        except (ConnectionError, EOFError, FileNotFoundError):  # it is not there, or just ending
            return {"state": "off", "error": ""}

    def fingerprint(self) -> str:
        """Names the model's weights. The default model's are known without loading it."""
        return models.PACKAGED_FINGERPRINT if self.model == models.PACKAGED else self.embed([]).fingerprint

    def embed(self, texts: list[str], timeout: float = LOAD_SECONDS, wait: bool = True) -> Vectors:
        """Turn texts into vectors, starting the process if need be; without `wait`, UserError while the model loads."""
        import numpy as np

        with self._connect(start=True) as connection:
            header, payload = self._ask(connection, {"op": "embed", "texts": texts, "wait": wait}, timeout)
        if "error" in header:
            raise UserError(header["error"])
        rows = np.frombuffer(payload, dtype=np.float32).reshape(len(texts), header["columns"])
        return Vectors(rows, header["fingerprint"], header["truncated"])

    def _ask(self, connection: socket.socket, request: dict[str, Any], timeout: float) -> tuple[dict[str, Any], bytes]:
        connection.settimeout(timeout)
        try:
            wire.send(connection, request)
            return wire.receive(connection)
        except TimeoutError as error:
            raise UserError(f"the embedding model did not answer within {timeout:g} s; see {self.log}") from error
        except (EOFError, ConnectionError) as error:
            raise UserError(f"the embedding process ended while it was asked; see {self.log}") from error

    def _connect(self, start: bool) -> socket.socket:
        path = self._socket()
        for attempt in range(_ATTEMPTS):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(str(path))
                return connection
            except (ConnectionError, FileNotFoundError):
                connection.close()
                if not start:
                    raise
            if attempt:
                time.sleep(0.05 * attempt)  # the one before is just ending
            try:
                self._spawn(path)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise UserError(f"cannot start the embedding process ({error}); see {self.log}") from error
        raise UserError(f"the embedding process does not accept connections; see {self.log}")

    def _spawn(self, path: Path) -> None:
        settings = self._settings
        argv = [sys.executable, "-P", "-m", "clusterwright.retrieval.worker", str(path), str(self._data)]
        argv += [settings.model, settings.device, str(settings.idle_minutes * 60)]
        # One arena: glibc would otherwise keep some hundred MB for the threads that answer.
        environment = os.environ | models.QUIET | {"MALLOC_ARENA_MAX": "1"}
        if settings.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""  # not even a context on the GPU that is measured
        with self.log.open("ab") as log:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self._data,
                timeout=60,
                check=False,
            )
        if done.returncode:
            raise UserError(f"the embedding process does not start (exit code {done.returncode}); see {self.log}")

    def _socket(self) -> Path:
        if not hasattr(socket, "AF_UNIX"):
            raise UserError("semantic search needs Unix sockets (Linux or macOS); search with mode lexical here")
        settings = self._settings
        key = "\0".join((__version__, str(self._data), settings.model, settings.device))
        return runtime_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.sock"


def runtime_folder() -> Path:
    """A short private folder for sockets: paths of sockets may have about 100 characters only.

    Raises:
        UserError: somebody else owns the folder, or others may enter it.
    """
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    if len(str(base)) > 50 or not base.is_dir():
        base = Path("/tmp")
    folder = base / f"clusterwright-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UserError(f"{folder} must be a folder of your own with mode 0700; remove it or set XDG_RUNTIME_DIR")
    return folder
