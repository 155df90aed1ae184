"""`clusterwright serve`: the MCP server over stdio or Streamable HTTP."""

import asyncio
import logging
import os
import signal
import socket

import click

from clusterwright import config, paths
from clusterwright.errors import UserError


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", help="Serve Streamable HTTP instead of stdio.")
@click.option("--toolsets", default="", metavar="NAMES", help="Of knowledge,jobs,measure; all by default.")
@click.option("--read-only", is_flag=True, help="Nothing that starts or cancels work.")
@click.option("--allow-load", is_flag=True, help="Over HTTP: let callers start measurements (otherwise read-only).")
@click.option("--allow-host", multiple=True, metavar="HOST:PORT", help="A further accepted Host header. Repeatable.")
def serve(address: str | None, toolsets: str, read_only: bool, allow_load: bool, allow_host: tuple[str, ...]) -> None:
    """Serve search, measurements and jobs to an agent."""
    from clusterwright.mcp.app import App, parse_toolsets
    from clusterwright.mcp.server import build

    paths.data_dir()
    # The SDK's info lines name every call; a client shows stderr to its user.
    logging.basicConfig(level=logging.WARNING)
    app = App(config.load(), parse_toolsets(toolsets), read_only or (address is not None and not allow_load))
    if address is None:
        asyncio.run(_stdio(build(app)))
        return
    from clusterwright.mcp import http

    host, port = http.parse_address(address)
    try:
        socket.create_server((host, port)).close()  # uvicorn would log the failure and end the process itself
    except OSError as error:
        raise UserError(f"cannot listen on {address} ({error.strerror}); choose another address or port") from error
    secret, file = http.token()
    where = f"the token is in {file}" if file else f"the token is that of {http.TOKEN}"
    click.echo(f"clusterwright: serving http://{host}:{port}/mcp; {where}", err=True)
    server = build(app, http.StaticToken(secret), http.auth(host, port))
    server.run("streamable-http", host=host, port=port, transport_security=http.security(host, port, allow_host))


async def _stdio(server: "object") -> None:
    """Serve until stdin closes or a signal comes.

    SIGTERM would end the process without any clean-up, and SIGINT would wait for the thread that reads stdin.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        task.cancel()
        loop.call_later(1.0, os._exit, 0)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    await server.run_stdio_async()  # type: ignore[attr-defined]
