"""`clusterwright doctor`: is everything in place, and what to do where it is not."""

import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable

import click

from clusterwright import __version__, config, paths
from clusterwright.errors import UserError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The checks as JSON.")
def doctor(as_json: bool) -> None:
    """Check Python, torch, the model, the index, the data folder and a round trip through the server."""
    checks: dict[str, Callable[[], str]] = {
        "clusterwright": lambda: f"{__version__}, Python {platform.python_version()} ({sys.executable})",
        "configuration": _configuration,
        "data folder": lambda: str(paths.data_dir()),
        "torch": _torch,
        "measuring Python": _measuring,
        "chapters": _chapters,
        "embedding model": _model,
        "index": _index,
        "server": lambda: _server(),
    }
    results = []
    for name, check in checks.items():
        try:
            results.append({"check": name, "ok": True, "detail": check()})
        except UserError as error:
            results.append({"check": name, "ok": False, "detail": str(error)})
        if not as_json:
            one = results[-1]
            click.echo(f"{'ok  ' if one['ok'] else 'FAIL'} {name}: {one['detail']}")
    if as_json:
        click.echo(json.dumps({"checks": results}, indent=2))
    if not all(one["ok"] for one in results):
        sys.exit(1)


def _configuration() -> str:
    config.load()
    file = paths.config_file()
    return str(file) if file.is_file() else f"defaults ({file} does not exist)"


def _torch() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError as error:
        raise UserError("PyTorch is missing; pip install torch, or from its CPU index (README)") from error


def _measuring() -> str:
    from clusterwright.jobs import launch

    return launch.describe_interpreter(config.load())


def _chapters() -> str:
    from clusterwright.knowledge import chapters

    found = chapters.load(paths.shipped("knowledge"))
    return f"{len(found)} chapters, {sum(len(one.sections) for one in found)} sections"


def _model() -> str:
    from clusterwright.retrieval.embedder import Embedder

    settings = config.load().embedding
    embedder = Embedder(settings, paths.data_dir())
    vectors = embedder.embed(["a short text"])
    return f"{settings.model} answers ({vectors.rows.shape[1]} dimensions, {vectors.fingerprint})"


def _index() -> str:
    from clusterwright.retrieval import build, corpus, versions

    settings, data = config.load(), paths.data_dir()
    version = versions.current(data)
    if version is None:
        return "none yet; the first search builds it"
    problems = build.verify(version, settings.chroma.url)
    if problems:
        raise UserError(f"{problems[0]}; rebuild it: clusterwright index build --force")
    stale = not versions.fresh(version, corpus.fingerprint(paths.shipped("knowledge")), settings.embedding.model)
    return f"{version.name} is sound" + (", but older than the chapters; the next search renews it" if stale else "")


def _server() -> str:
    from clusterwright.cli.demo import run_client

    return run_client(_round_trip())


async def _round_trip() -> str:
    from mcp import Client, StdioServerParameters

    from clusterwright.cli.demo import server_environment

    begin = time.monotonic()
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "clusterwright", "serve"], env=server_environment()
    )
    async with Client(server) as client:
        tools = await client.list_tools()
        first = time.monotonic() - begin
        answer = await client.call_tool("search", {"query": "NCCL timeout"}, read_timeout_seconds=60)
        if answer.is_error or not answer.structured_content:
            raise UserError(f"search through the server failed: {answer.content}")
        mode = answer.structured_content["mode"]
    return f"{len(tools.tools)} tools, first reply after {first:.2f} s, search answered ({mode})"
