import pytest
import torch

from clusterwright_tools import rank_check
from clusterwright_tools.launcher import Launcher
from clusterwright_tools.roll import Place, RollCall
from clusterwright_tools.world import World


@pytest.fixture
def world():
    return World(RollCall(Launcher(), {0: {"host": "h"}}, (), {}, None), Place("gloo", "cpu"), 10)


def test_a_cpu_multiplies_rightly_and_repeats_itself(world):
    told = rank_check.own_device(world)
    assert told["error"] < 1e-5
    assert told["repeats"] and told["wrong"] == 0
    assert told["seconds"] > 0 and told["clocks"] is None


def test_a_product_with_one_wrong_element_is_off():
    left, right = torch.randn(16, 256), torch.randn(256, 256)
    rows = left @ right
    good = rank_check._error(rows, left, right)
    rows[3, 5] += 50
    assert good < 1e-5
    assert rank_check._error(rows, left, right) > 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_digest_sees_one_bit_and_a_swap(dtype):
    product = torch.randn(64, 64).to(dtype)
    other = product.clone()
    assert rank_check._digest(other) == rank_check._digest(product)
    other.view(torch.int16)[5, 7] ^= 1
    assert rank_check._digest(other) != rank_check._digest(product)
    assert rank_check._digest(product.flip(0)) != rank_check._digest(product)
