"""The process that holds the embedding model: one for a data folder, shared by all its servers and command lines.

    python -m clusterwright.retrieval.worker SOCKET DATA MODEL DEVICE IDLE_SECONDS

It returns as soon as the socket accepts connections, leaving a process behind that loads the model, answers, and ends
when nobody has asked for IDLE_SECONDS, or when the data folder is gone. A file lock makes sure that there is one.
"""

import fcntl
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from clusterwright.errors import UserError
from clusterwright.retrieval import models, wire

_TICK = 0.5
_PATIENCE = 60.0
_AFTER_FAILURE = 10.0


class _Worker:
    def __init__(self, model: str, device: str, idle: float):
        self._name, self._device, self._idle = model, device, idle
        self._loaded = threading.Event()
        self._model: models.Model | None = None
        self._error = ""
        self._computing = threading.Lock()
        self._asked = time.monotonic()

    def load(self) -> None:
        """Load the model; a failure is kept for those who ask."""
        try:
            self._model = models.load(self._name, self._device)
        except UserError as error:
            self._error = str(error)
        finally:
            if (
                self._model is None and not self._error
            ):  # a bug: its traceback goes to the log, and nobody waits for ever
                self._error = "the embedding process failed; its log has the traceback"
            self._asked = time.monotonic()
            self._loaded.set()

    def expired(self) -> bool:
        """Whether nobody has asked for long enough."""
        if not self._loaded.is_set() or self._computing.locked():
            return False
        return time.monotonic() - self._asked > (min(self._idle, _AFTER_FAILURE) if self._error else self._idle)

    def serve(self, connection: socket.socket) -> None:
        """Answer the one request of a connection."""
        with connection:
            try:
                request, _ = wire.receive(connection)
                self._asked = time.monotonic()
                header, payload = self._embed(**request) if request.pop("op") == "embed" else (self._state(), b"")
                wire.send(connection, header, payload)
            except (OSError, EOFError):
                return  # whoever asked is gone

    def _state(self) -> dict[str, Any]:
        state = "failed" if self._error else "ready" if self._model else "loading"
        known = {"fingerprint": self._model.fingerprint, "window": self._model.window} if self._model else {}
        return {"state": state, "error": self._error, "pid": os.getpid(), **known}

    def _embed(self, texts: list[str], wait: bool) -> tuple[dict[str, Any], bytes]:
        if not wait and not self._loaded.is_set():
            return {"error": "the embedding model is loading"}, b""
        self._loaded.wait()
        if self._model is None:
            return {"error": self._error}, b""
        with self._computing:
            vectors = self._model.embed(texts)
            truncated = self._model.truncated(texts)
        self._asked = time.monotonic()
        return {
            "columns": vectors.shape[-1],
            "fingerprint": self._model.fingerprint,
            "truncated": truncated,
        }, vectors.astype("float32").tobytes()


def main() -> None:
    """Become the worker of a data folder, unless there is one."""
    path, data, model, device, idle = sys.argv[1:]
    lock = os.open(Path(data) / f"embedder-{Path(path).stem}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen(64)
        if os.fork():
            os._exit(0)
        os.setsid()
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())  # so that the socket is removed
        try:
            _answer(listener, Path(data), _Worker(model, device, float(idle)))
        finally:
            Path(path).unlink(missing_ok=True)


def _answer(listener: socket.socket, data: Path, worker: _Worker) -> None:
    threading.Thread(target=worker.load, daemon=True).start()
    listener.settimeout(_TICK)
    while data.is_dir() and not worker.expired():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.settimeout(_PATIENCE)
        threading.Thread(target=worker.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
