import stat

import pytest

from clusterwright import paths
from clusterwright.errors import UserError
from clusterwright.mcp import http


@pytest.mark.parametrize("text", ["8765", "127.0.0.1", "127.0.0.1:", ":8765", "127.0.0.1:0", "127.0.0.1:99999", "h:p"])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UserError, match="--http takes HOST:PORT"):
        http.parse_address(text)


def test_addresses() -> None:
    assert http.parse_address("127.0.0.1:8765") == ("127.0.0.1", 8765)


def test_the_token_is_made_once_and_private() -> None:
    secret, path = http.token()
    assert path is not None and len(secret) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert http.token() == (secret, path)
    assert path.parent == paths.data_dir()


def test_the_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(http.TOKEN, "given")
    assert http.token() == ("given", None)


async def test_only_the_token_is_let_in() -> None:
    verifier = http.StaticToken("right")
    assert await verifier.verify_token("right") is not None
    assert await verifier.verify_token("wrong") is None
    assert await verifier.verify_token("") is None


def test_only_named_hosts_are_let_in() -> None:
    local = http.security("127.0.0.1", 8765, ())
    assert "localhost:8765" in local.allowed_hosts and "http://localhost:8765" in local.allowed_origins
    other = http.security("0.0.0.0", 8765, ("node7:8765",))
    assert other.enable_dns_rebinding_protection
    assert other.allowed_hosts == ["0.0.0.0:8765", "node7:8765"]
