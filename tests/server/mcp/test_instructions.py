from clusterwright.mcp import instructions
from clusterwright.mcp.app import App


def test_what_is_covered_fits_into_what_clients_keep() -> None:
    text = instructions.text(App())
    assert len(text.encode()) <= 2048
    assert "Distributed hangs and NCCL timeouts" in text and "measure_start" in text


def test_a_read_only_server_does_not_speak_of_starting() -> None:
    assert "measure_start" not in instructions.text(App(read_only=True))
