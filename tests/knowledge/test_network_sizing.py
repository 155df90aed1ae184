"""The arithmetic of network/sizing."""

from collections.abc import Callable

import pytest

Says = Callable[..., None]
PAGE = "network/sizing#"
RATE = 400e12
NIC = 40e9


def test_ddp(says: Says) -> None:
    sent = 2 * 16 * 63 / 64
    token = 6 * 8e9 / RATE
    compute = token * 8192
    wire = sent / 40
    says(
        PAGE + "does-ddp-on-8-nodes-fit-a-400-gbits-network-worked-example-8b-model",
        f"2 x 16 GB x 63/64 = {sent:.1f} GB, so {wire:.2f} s",
        f"{token * 1e3:.2f} ms per token; 8,192 tokens take {compute:.2f} s",
        f"two thirds of it, {compute * 2 / 3:.2f} s",
        f"{wire:.2f} - {compute * 2 / 3:.2f} = {wire - compute * 2 / 3:.2f} s remain exposed",
        f"{(wire - compute * 2 / 3) / (compute + wire - compute * 2 / 3):.0%} of the step",
        f"over 4 micro-batches the compute is {4 * compute:.1f} s",
        f"for {token * 2048:.2f} s of compute",
        f"2 x 16 GB / 40 GB/s = {2 * 16 / 40:.1f} s",
    )


def test_fsdp(says: Says) -> None:
    sent = 3 * 140e9 * 63 / 64
    token = 6 * 70e9 / RATE
    wire = sent / NIC
    says(
        PAGE + "does-fsdp-zero-3-of-a-70b-model-on-64-gpus-fit-the-network",
        f"3 x 140 GB x 63/64 = {sent / 1e9:.0f} GB",
        f"at 40 GB/s per GPU {wire:.1f} s",
        f"{token * 1e3:.2f} ms per token",
        f"= {round(wire / token, -1):,.0f} tokens",
        f"8 x instead of 6 x: {round(wire / token * 6 / 8, -1):,.0f} tokens",
        f"140 GB x 16 / 2 / 8 = {140 * 16 / 2 / 8:.0f} GB",
    )


@pytest.mark.parametrize(("rate", "bandwidth"), [(400, 40), (400, 10), (400, 360), (900, 40), (900, 80), (900, 720)])
def test_break_even(says: Says, rate: int, bandwidth: int) -> None:
    ddp, fsdp = (sends * rate * 1e12 / (6 * bandwidth * 1e9) for sends in (4, 6))
    says(PAGE + "what-is-the-minimum-bandwidth-per-gpu-the-break-even-batch", f"| {ddp:,.0f} | {fsdp:,.0f} |")


def test_tensor_parallelism(says: Says) -> None:
    one = 8192 * 8192 * 2
    sent = 2 * 7 / 8 * one * 320
    compute = 6 * 70e9 * 8192 / 8 / RATE
    says(
        PAGE + "how-much-does-tensor-parallelism-send-and-why-must-it-stay-on-nvlink",
        f"one all-reduce is {one / 1e6:.0f} MB; 4 x 80 = {4 * 80}",
        f"x 320 = {sent / 1e9:.0f} GB",
        f"at 360 GB/s: {sent / 360e9:.2f} s",
        f"= {compute:.2f} s: {sent / 360e9 / compute:.0%}",
        f"at 40 GB/s: {sent / NIC:.1f} s",
        f"64 tokens x 8,192 x 2 = {64 * 8192 * 2 / 2**20:.0f} MB",
        f"160 all-reduces of 10 to 20 us are {160 * 10 / 1e3} to {160 * 20 / 1e3} ms",
    )


def test_expert_parallelism(says: Says) -> None:
    dispatch, combine = 8 * 7168, 8 * 7168 * 2
    token = 58 * 2 * (dispatch + combine)
    sent = 4096 * token
    says(
        PAGE + "how-much-do-expert-parallelisms-all-to-alls-send-worked-example-671b-moe",
        f"dispatch 8 x 7,168 = {dispatch / 1e3:.0f} KB, combine {combine / 1e3:.0f} KB",
        f"together {(dispatch + combine) / 1e3:.0f} KB; forward and backward {2 * (dispatch + combine) / 1e3:.0f} KB",
        f"58 layers {token / 1e6:.0f} MB per token",
        f"{sent / 1e9:.0f} GB per GPU. At 40 GB/s {sent / NIC:.1f} s",
        f"6 x 37e9 x 4096 / 400 TFLOPS = {6 * 37e9 * 4096 / RATE:.1f} s",
        f"are {4096 * 8 // 64} tokens each, {4096 * 8 / 64 * 7168 / 1e6:.1f} MB",
        f"64 x 8 / 64 = {64 * 8 // 64} tokens, {8 * 7168 / 1e3:.0f} KB",
    )


def test_pipeline(says: Says) -> None:
    message = 8192 * 16_384 * 2
    says(
        PAGE + "how-much-does-pipeline-parallelism-send-and-what-does-its-bubble-cost",
        f"= {message / 1e6:.0f} MB, {message / NIC * 1e3:.1f} ms at 40 GB/s",
        f"m = 32 gives {7 / 32:.0%}, with v = 4 {7 / 32 / 4:.1%}; m = 8 {7 / 8:.0%}",
    )


def test_exposed(says: Says) -> None:
    compute = 6 * 70e9 * 8192 / RATE
    gather = 140e9 * 63 / 64 / NIC
    exposed = (gather - compute / 3, 2 * gather - compute * 2 / 3)
    says(
        PAGE + "what-part-of-communication-can-be-hidden-and-how-is-exposed-time-estimated",
        f"compute {compute:.1f} s; forward {compute / 3:.2f} s against {gather:.1f} s",
        f"backward {compute * 2 / 3:.1f} s against {2 * gather:.1f} s",
        f"exposed {exposed[0]:.1f} + {exposed[1]:.1f} = {sum(exposed):.1f} s",
        f"s, {sum(exposed) / (compute + sum(exposed)):.0%} of the step",
    )


def test_inference(says: Says) -> None:
    small, large = 8192 * 131_072 / 1e9, 8192 * 327_680 / 1e9
    says(
        PAGE + "how-much-network-do-inference-and-rl-post-training-need",
        f"= {small:.2f} GB, at 40 GB/s {small / 40 * 1e3:.0f} ms",
        f"a 70B model {large:.1f} GB, {large / 40 * 1e3:.0f} ms",
        f"of the large one {large * 10:.0f} GB/s",
        f"140 GB for 70B; broadcast over NCCL at 40 GB/s {140 / 40} s",
        f"980 GB over 8 nodes of 50 GB/s storage network each {980 / 400:.2f} s",
    )
