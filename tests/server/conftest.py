"""A small knowledge folder, and an embedder that needs no model."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from clusterwright.config import Embedding
from clusterwright.errors import UserError
from clusterwright.retrieval import tokens
from clusterwright.retrieval.embedder import LOAD_SECONDS, Embedder, Vectors

CHAPTER = """---
title: {title}
summary: {summary}
tools: [{tools}]
reviewed: 2026-12
sources:
  maker: {{title: "The maker's manual", url: "https://example.com/manual"}}
---

{body}
"""

BUSBW = """## What bus bandwidth should an all-reduce reach?

An all-reduce on eight GPUs joined by NVLink should reach most of the link rate. [^maker] On RoCE set
`NCCL_IB_GID_INDEX`.

```measure
collective-bandwidth --ops all_reduce
```

## Why is a collective slower on two nodes?

The network between nodes carries less than NVLink inside one. [^maker]
"""

XID = """## What does Xid 79 mean?

Xid 79 says that the GPU has fallen off the bus. [^maker] Drain the node and look at power and risers.

## What does Xid 63 mean?

Xid 63 records a row remapping. [^maker] Reset the GPU so that it takes effect.
"""


class FakeEmbedder:
    """Vectors from hashed words. `made` counts the texts embedded; `error` is raised once it is set."""

    def __init__(self, model: str = "fake", weights: str = "fake:1", is_ready: bool = True):
        self.model, self.weights, self.is_ready = model, weights, is_ready
        self.made: list[str] = []
        self.started = 0
        self.error = ""

    def start(self) -> None:
        self.started += 1

    def state(self) -> dict[str, str]:
        return {"state": "ready", "error": ""}

    def fingerprint(self) -> str:
        if self.error:
            raise UserError(self.error)
        return self.weights

    def embed(self, texts: list[str], timeout: float = LOAD_SECONDS, wait: bool = True) -> Vectors:
        if self.error:
            raise UserError(self.error)
        if not wait and not self.is_ready:
            raise UserError("the embedding model is loading")
        self.made += texts
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term in tokens.terms(text):
                row[int.from_bytes(hashlib.sha256(term.encode()).digest()[:4]) % 64] += 1
            row /= np.linalg.norm(row) or 1.0
        return Vectors(rows, self.weights)


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    """The packaged model, loaded once for all tests."""
    client = Embedder(Embedding(), tmp_path_factory.mktemp("embedder"))
    client.start()
    process = psutil.Process(client.state()["pid"])
    yield client
    process.terminate()
    process.wait(timeout=20)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def fake() -> Callable[..., FakeEmbedder]:
    return FakeEmbedder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A knowledge folder of two chapters."""
    folder = tmp_path / "knowledge"
    write(folder, "network/busbw", "Collectives", "What collectives reach.", "collective-bandwidth", BUSBW)
    write(folder, "debugging/xid", "Xid errors", "What the driver reports.", "preflight", XID)
    return folder


@pytest.fixture
def chapter(root: Path) -> Callable[[str, str], None]:
    """Writes a chapter (id, body) into the knowledge folder."""
    return lambda id, body: write(root, id, id.title(), "A chapter.", "preflight", body)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def write(root: Path, id: str, title: str, summary: str, tools: str, body: str) -> None:
    file = root / f"{id}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CHAPTER.format(title=title, summary=summary, tools=tools, body=body), encoding="utf-8")
