import pytest

from clusterwright.cli import demo
from clusterwright.errors import UserError


async def nested() -> None:
    raise ExceptionGroup("client", [ExceptionGroup("transport", [UserError("mend it")])])


async def fine() -> int:
    return 7


def test_what_the_user_can_mend_comes_out_of_the_clients_groups() -> None:
    with pytest.raises(UserError, match="mend it"):
        demo.run_client(nested())


def test_a_result_comes_through() -> None:
    assert demo.run_client(fine()) == 7


def test_the_server_gets_our_settings_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_TOKEN", "x")
    monkeypatch.setenv("SECRET", "y")
    passed = demo.server_environment()
    assert passed["CLUSTERWRIGHT_TOKEN"] == "x" and "SECRET" not in passed


def test_long_text_is_shortened() -> None:
    assert demo._indent("a\n\nb\nc", 2) == "      a\n      b"
