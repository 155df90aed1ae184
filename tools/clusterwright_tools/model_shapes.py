"""The matrix products of a decoder's linear layers, from the sizes that its config.json names."""

from __future__ import annotations

from typing import Protocol

from clusterwright_tools.errors import BadParameter
from clusterwright_tools.gemm import Shape

_NEEDED = ("hidden_size", "intermediate_size", "num_attention_heads")
_OPTIONAL = ("num_key_value_heads", "head_dim", "vocab_size")


class _Params(Protocol):
    @property
    def model(self) -> str: ...
    @property
    def tokens(self) -> int: ...


def linear_shapes(params: _Params) -> list[tuple[str, Shape]]:
    """Layer name and shape of each linear layer of a gated decoder, forward pass, M = tokens.

    Query, key and value are taken as one product, gate and up projection too, as most frameworks fuse them.

    Raises:
        BadParameter: a size is missing, unknown or no positive number.
    """
    if not params.model:
        return []
    sizes = _sizes(params.model)
    hidden, ffn, heads = (sizes[name] for name in _NEEDED)
    head = sizes.get("head_dim", hidden // heads)
    kv = sizes.get("num_key_value_heads", heads)
    m = params.tokens
    layers = [
        ("qkv", Shape(m, (heads + 2 * kv) * head, hidden)),
        ("attention-out", Shape(m, hidden, heads * head)),
        ("gate-up", Shape(m, 2 * ffn, hidden)),
        ("down", Shape(m, hidden, ffn)),
    ]
    if "vocab_size" in sizes:
        layers.append(("vocabulary", Shape(m, sizes["vocab_size"], hidden)))
    return layers


def _sizes(text: str) -> dict[str, int]:
    sizes = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in _NEEDED + _OPTIONAL or not value.isdigit() or int(value) == 0:
            known = ", ".join(_NEEDED + _OPTIONAL)
            raise BadParameter(f"model: {part.strip()!r} is not name=size with one of the names {known}")
        sizes[name] = int(value)
    for name in _NEEDED:
        if name not in sizes:
            raise BadParameter(
                f"model: {name} is missing; give hidden_size=…,intermediate_size=…,num_attention_heads=…"
            )
    return sizes
