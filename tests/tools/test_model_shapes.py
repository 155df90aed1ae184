import pytest

from clusterwright_tools.errors import BadParameter
from clusterwright_tools.gemm import Shape
from clusterwright_tools.model_shapes import linear_shapes
from clusterwright_tools.tools.matmul_flops import MatmulParams

LLAMA_8B = "hidden_size=4096,intermediate_size=14336,num_attention_heads=32,num_key_value_heads=8,vocab_size=128256"


def test_layers_of_a_grouped_query_model() -> None:
    shapes = dict(linear_shapes(MatmulParams(model=LLAMA_8B, tokens=8192)))
    assert shapes == {
        "qkv": Shape(8192, 6144, 4096),
        "attention-out": Shape(8192, 4096, 4096),
        "gate-up": Shape(8192, 28672, 4096),
        "down": Shape(8192, 4096, 14336),
        "vocabulary": Shape(8192, 128256, 4096),
    }


def test_weights_add_up_to_the_model() -> None:
    """32 layers and two vocabulary matrices of the published model have 8.03e9 parameters."""
    shapes = dict(linear_shapes(MatmulParams(model=LLAMA_8B, tokens=1)))
    vocabulary = shapes.pop("vocabulary")
    count = 32 * sum(one.n * one.k for one in shapes.values()) + 2 * vocabulary.n * vocabulary.k
    assert count == pytest.approx(8.03e9, rel=0.001)


def test_no_model_no_shapes() -> None:
    assert linear_shapes(MatmulParams()) == []


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("hidden=1", "'hidden=1' is not name=size"),
        ("hidden_size=4096", "intermediate_size is missing"),
        ("hidden_size=0,intermediate_size=1,num_attention_heads=1", "'hidden_size=0' is not name=size"),
        ("hidden_size", "'hidden_size' is not name=size"),
    ],
)
def test_bad_models(model: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        linear_shapes(MatmulParams(model=model))
