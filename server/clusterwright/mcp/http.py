"""Streamable HTTP: a bearer token always, Host and Origin checked, loopback unless told otherwise."""

import hmac
import os
import secrets
from pathlib import Path

from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from clusterwright import paths
from clusterwright.errors import UserError

TOKEN = "CLUSTERWRIGHT_TOKEN"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class StaticToken(TokenVerifier):
    """Accepts one token, compared in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def verify_token(self, token: str) -> AccessToken | None:
        """The caller's access, None where the token is another."""
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        return AccessToken(token=token, client_id="clusterwright", scopes=[])


def parse_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8765` as host and port.

    Raises:
        UserError: it has another form.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536 or not host:
        raise UserError(f"--http takes HOST:PORT, e.g. 127.0.0.1:8765, not {text!r}")
    return host, int(port)


def token() -> tuple[str, Path | None]:
    """The token: from the environment, else from the data folder, where it is made on first use (mode 0600)."""
    if given := os.environ.get(TOKEN):
        return given, None
    path = paths.data_dir() / "token"
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(secrets.token_urlsafe(32))
    return path.read_text().strip(), path


def auth(host: str, port: int) -> AuthSettings:
    """Authentication settings: a token is required, no scopes, no authorization server."""
    url = AnyHttpUrl(f"http://{host}:{port}")
    return AuthSettings(issuer_url=url, resource_server_url=url, required_scopes=[], validate_token_resource=False)


def security(host: str, port: int, extra_hosts: tuple[str, ...]) -> TransportSecuritySettings:
    """Which `Host` and `Origin` headers are accepted: the address itself, loopback names, and what was named."""
    names = dict.fromkeys((host, *_LOOPBACK)) if host in ("127.0.0.1", "localhost", "::1") else {host: None}
    hosts = [f"{name}:{port}" for name in names] + list(extra_hosts)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts]
    )
