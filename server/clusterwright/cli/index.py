"""`clusterwright index`: build the search index, say how it stands, check it."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright import config, paths
from clusterwright.cli import building
from clusterwright.errors import UserError

if TYPE_CHECKING:
    from clusterwright.retrieval.embedder import Embedder

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group()
def index() -> None:
    """Build and check the search index."""


@index.command()
@click.option("--force", is_flag=True, help="Build a new version although the present one is up to date.")
@_JSON
def build(force: bool, as_json: bool) -> None:
    """Bring the index up to date. Only new text is embedded."""
    from clusterwright.retrieval import build as builder
    from clusterwright.retrieval import corpus

    settings, data = config.load(), paths.data_dir()
    with building.progress() as progress:
        version = builder.build(
            paths.shipped("knowledge"), data, _embedder(), url=settings.chroma.url, force=force, progress=progress
        )
    made = corpus.manifest(version)
    if made is None:
        raise UserError(f"the index in {version} was changed while it was built; try again")
    if made.truncated:
        click.echo(f"note: {made.truncated} chunks are longer than the window of {made.model}", err=True)
    _print(
        {"version": version.name, "sections": made.sections, "chunks": made.chunks, "model": made.model},
        as_json,
    )


@index.command()
@_JSON
def status(as_json: bool) -> None:
    """Say what is built, whether the chapters have changed since, and how the embedding model stands."""
    from clusterwright.retrieval import corpus, versions

    settings, data = config.load(), paths.data_dir()
    version = versions.current(data)
    made = corpus.manifest(version) if version else None
    up_to_date = bool(
        version and versions.fresh(version, corpus.fingerprint(paths.shipped("knowledge")), settings.embedding.model)
    )
    model = _embedder().state()
    _print(
        {
            "data": str(data),
            "version": version.name if version else None,
            "up_to_date": up_to_date,
            "sections": made.sections if made else 0,
            "chunks": made.chunks if made else 0,
            "built_with": made.model if made else None,
            "model": settings.embedding.model,
            "model_state": model["state"],
            "model_error": model["error"],
        },
        as_json,
    )


@index.command()
@_JSON
def verify(as_json: bool) -> None:
    """Check the index: checksums, and that each part holds as much as it should. Exit code 1 when it is damaged."""
    from clusterwright.retrieval import build as builder
    from clusterwright.retrieval import versions

    version = versions.current(paths.data_dir())
    if version is None:
        raise UserError("there is no index yet; make one: clusterwright index build")
    problems = builder.verify(version, config.load().chroma.url)
    if as_json:
        _print({"version": version.name, "problems": problems}, as_json)
    else:
        for problem in problems:
            click.echo(problem)
        click.echo("damaged; rebuild it: clusterwright index build --force" if problems else f"{version.name} is sound")
    sys.exit(1 if problems else 0)


@index.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path) -> None:
    """Write chunks and vectors of the chapters to FOLDER, to be shipped with the package."""
    from clusterwright.retrieval import build as builder

    with building.progress() as progress:
        made = builder.export(paths.shipped("knowledge"), folder, paths.data_dir(), _embedder(), progress)
    click.echo(f"{made.chunks} chunks of {made.sections} sections in {folder}")


def _embedder() -> "Embedder":
    from clusterwright.retrieval.embedder import Embedder

    return Embedder(config.load().embedding, paths.data_dir())


def _print(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(record, indent=2))
        return
    words = {"True": "yes", "False": "no", "None": "none"}
    for key, value in record.items():
        click.echo(f"{key.replace('_', ' ') + ':':13} {words.get(str(value), value)}")
