import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from clusterwright.config import Embedding
from clusterwright.errors import UserError
from clusterwright.retrieval import embedder, models
from clusterwright.retrieval.embedder import Embedder

UNKNOWN = "nobody/nothing"


@pytest.fixture
def client(data: Path) -> Iterator[Callable[..., Embedder]]:
    """Makes embedders of this test's data folder, and ends their processes."""
    made: list[Embedder] = []

    def make(**settings: object) -> Embedder:
        made.append(Embedder(Embedding.model_validate(settings), data))
        return made[-1]

    yield make
    for one in made:
        if "pid" in (state := one.state()):
            process = psutil.Process(state["pid"])
            process.terminate()
            process.wait(timeout=20)


def test_texts_become_unit_vectors_by_meaning(real: Embedder) -> None:
    found = real.embed(["the gpu ran out of memory", "CUDA OOM error", "how to cook rice"])
    likeness = found.rows @ found.rows.T
    assert found.rows.shape == (3, 384)
    assert likeness.diagonal() == pytest.approx([1, 1, 1], abs=1e-5)
    assert likeness[0, 1] > likeness[0, 2]
    assert found.fingerprint == models.PACKAGED_FINGERPRINT == real.fingerprint()
    assert real.state()["state"] == "ready"


def test_what_exceeds_the_window_is_counted(real: Embedder) -> None:
    assert real.embed(["short", "word " * 300]).truncated == 1


def test_no_text_is_no_vector(real: Embedder) -> None:
    assert len(real.embed([]).rows) == 0


def test_another_process_uses_the_same_model(real: Embedder) -> None:
    script = (
        "import sys; from pathlib import Path; from clusterwright.config import Embedding;"
        "from clusterwright.retrieval.embedder import Embedder; client = Embedder(Embedding(), Path(sys.argv[1]));"
        "client.start(); print(client.state()['pid'], client.embed(['x']).rows.shape)"
    )
    argv = [sys.executable, "-c", script, str(real.log.parent)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == f"{real.state()['pid']} (1, 384)"


def test_the_log_of_the_model_is_silent(real: Embedder) -> None:
    real.embed(["x"])
    assert real.log.read_text() == ""


def test_nothing_is_started_by_asking_for_the_state(client: Callable[..., Embedder]) -> None:
    assert client().state()["state"] == "off"


def test_the_process_ends_when_idle(client: Callable[..., Embedder]) -> None:
    one = client(model=UNKNOWN, idle_minutes=0.001)
    one.start()
    with contextlib.suppress(psutil.NoSuchProcess, KeyError):  # it has ended already
        psutil.Process(one.state()["pid"]).wait(timeout=20)
    assert one.state()["state"] == "off"


def test_the_process_ends_with_its_data_folder(client: Callable[..., Embedder], data: Path) -> None:
    one = client(idle_minutes=60)
    one.start()
    process = psutil.Process(one.state()["pid"])
    shutil.rmtree(data)
    process.wait(timeout=20)


def test_a_terminated_process_leaves_no_socket(client: Callable[..., Embedder]) -> None:
    one = client()
    one.start()
    process = psutil.Process(one.state()["pid"])
    assert one._socket().exists()
    process.terminate()
    process.wait(timeout=20)
    assert not one._socket().exists()


def test_starting_twice_makes_one_process(client: Callable[..., Embedder]) -> None:
    one, other = client(), client()
    one.start()
    pid = one.state()["pid"]
    other._spawn(other._socket())
    assert other.state()["pid"] == pid


def test_a_process_that_dies_is_told_and_replaced(client: Callable[..., Embedder]) -> None:
    one = client()
    one.start()
    process = psutil.Process(one.state()["pid"])
    with one._connect(start=False) as connection:
        process.send_signal(signal.SIGKILL)
        with pytest.raises(UserError, match=r"the embedding process ended while it was asked; see .*embedder\.log"):
            one._ask(connection, {"op": "embed", "texts": ["x"]}, 60)
    assert one.state()["state"] == "off"
    one.start()
    assert one.state()["pid"] != process.pid


def test_an_unknown_model_is_told_to_everyone_who_asks(client: Callable[..., Embedder]) -> None:
    one = client(model=UNKNOWN)
    with pytest.raises(UserError, match=f"the embedding model {UNKNOWN} is not on this machine"):
        one.embed(["x"])
    with pytest.raises(UserError, match="is not on this machine"):
        one.embed(["x"], wait=False)


def test_who_does_not_wait_starts_the_process_and_is_told_that_the_model_loads(client: Callable[..., Embedder]) -> None:
    one = client()
    with pytest.raises(UserError, match="the embedding model is loading"):
        one.embed(["x"], wait=False)
    assert one.state()["state"] == "loading"


def test_a_model_that_does_not_answer_in_time_is_an_error(client: Callable[..., Embedder]) -> None:
    with pytest.raises(UserError, match="did not answer within"):
        client().embed(["x"], timeout=0.001)


def test_a_log_that_cannot_be_written_is_an_error(client: Callable[..., Embedder], data: Path) -> None:
    (data / "embedder.log").mkdir()
    with pytest.raises(UserError, match=r"cannot start the embedding process .*embedder\.log"):
        client().start()


def test_a_platform_without_unix_sockets_is_told(
    client: Callable[..., Embedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = client()
    with monkeypatch.context() as patch:
        patch.delattr(socket, "AF_UNIX")
        with pytest.raises(UserError, match="needs Unix sockets"):
            one.start()


def test_the_path_of_the_socket_is_short_wherever_the_data_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / "/".join(["deep"] * 40)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    assert len(str(Embedder(Embedding(), deep)._socket())) < 100


def test_a_runtime_folder_that_others_may_enter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        monkeypatch.setenv("XDG_RUNTIME_DIR", base)
        folder = embedder.runtime_folder()
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o755)
        with pytest.raises(UserError, match="must be a folder of your own with mode 0700"):
            embedder.runtime_folder()
