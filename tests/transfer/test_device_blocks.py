"""Fused blocks of com.microsoft for devices: onnxruntime's inference, and its CPU kernels where it has one."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, shape_text, sizes
from tests.transfer.inference import check_inferred

MS = partial(Case, domain="com.microsoft", opset=1)
F16, BF16, U8, I32, I64 = (
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.UINT8,
    TensorProto.INT32,
    TensorProto.INT64,
)
BLH = sizes(B=[1, 2], L=[1, 3], H=[64])
X = Arg(["B", "L", "H"], F16)
WIDTH: Final = 2 * 256 + 2 * 128 + 4

CASES = {
    "MatMulPacked": (
        MS("MatMulPacked", [X, Arg([5, 36], U8)], {"K": 64, "N": 5, "packed_type": 2}, bindings=BLH),
        ["[B, L, 5]"],
    ),
    "MatMulNBitsQLoRA": (
        MS(
            "MatMulNBitsQLoRA",
            [X, Arg([5, 2, 16], U8), Arg([5, 2], F16), Arg([4, 2, 16], U8), Arg([4, 2], F16), Arg([5, 1, 16], U8),
             Arg([5, 1], F16)],
            {"K": 64, "N": 5, "bits": 4, "block_size": 32, "lora_bits": 4, "lora_block_size": 32},
            bindings=BLH,
        ),
        ["[B, L, 5]"],
    ),
    "GatherPacked": (
        MS("GatherPacked", [Arg([9, 36], U8), Arg(["B", "L"], I64)], {"K": 64, "packed_type": 2}, bindings=BLH),
        ["[B, L, 64]"],
    ),
    "MoEPacked": (
        MS(
            "MoEPacked",
            [X, Arg(["B*L", 4], F16), Arg([4, 8, 36], U8), Arg([4, 8, 36], U8), Arg([4, 64, 36], U8)],
            {"gate_type": 2, "up_type": 2, "down_type": 2},
            bindings=BLH,
        ),
        ["[B, L, H]"],
    ),
    "RouterGateUpProj": (
        MS("RouterGateUpProj", [X, Arg([64, 26], F16)], {"router_size": 6}, 2, bindings=BLH),
        ["[B, L, 6]", "[B, L, 10]"],
    ),
    "SwiGLU": (MS("SwiGLU", [X], bindings=BLH), ["[B, L, H//2]"]),
    "HyperConnectionLowRankMix": (
        MS(
            "HyperConnectionLowRankMix",
            [Arg(["B", "L", "H"]), Arg(["H"]), Arg(["H", 3]), Arg([3, "H"]), Arg(["H", 4])],
            {"num_branches": 4},
            3,
            bindings=BLH,
        ),
        ["[B, L, H//4]", "[B, L, 4]", "[B, L, H]"],
    ),
    "RMSNormRotary": (
        MS(
            "RMSNormRotary",
            [Arg(["B", "L", 2, "H"], F16), Arg(["H"]), Arg([1], I64), Arg([9, 8]), Arg([9, 8])],
            {"rotary_embedding_dim": 16},
            2,
            bindings=BLH,
        ),
        ["[B, L, 2*H]", "[B, L, 2, H]"],
    ),
    "PackedSparseAttentionIndexerMerge": (
        MS(
            "PackedSparseAttentionIndexerMerge",
            [Arg(["L", 7], I32), Arg(["L"], I32), Arg(["B"], I32), Arg(["B"], I32), Arg(["B"], I32)],
            {"max_output_entries": 6, "policy_mode": "append_range"},
            3,
            bindings=BLH,
        ),
        ["[B, 6]", "[B]", "[B]"],
    ),
    "ConvStateReplay": (
        MS("ConvStateReplay", [Arg(["H"]), Arg(["B"]), Arg(["L"]), Arg([8], I64)], bindings=BLH),
        ["[L]"],
    ),
    "GatedDeltaNetStateReplay": (
        MS("GatedDeltaNetStateReplay", [Arg(["H"]), Arg(["B"]), Arg(["L"]), Arg([11], I64)], bindings=BLH),
        ["[L]"],
    ),
    "Mamba2Verify": (
        MS(
            "Mamba2Verify",
            [Arg(["L", WIDTH], BF16), Arg(["B", 512, 3], BF16), Arg(["B", 4, 128, 64]), Arg([512, 4], BF16),
             Arg([512], BF16), Arg([4]), Arg([4]), Arg([4]), Arg([256]), Arg([1], I32)],
            {"heads": 4, "n_groups": 1},
            5,
            bindings=BLH,
        ),
        ["[L, 256]", "[B, 512, 3]", "[B, 4, 128, 64]", "[L, 512]", "[L, 256]"],
    ),
    "SpeculativePrefixCommit": (
        MS(
            "SpeculativePrefixCommit",
            [Arg(["B", 8], I64), Arg(["B", 8], I64), Arg(["B"], I32), Arg(["B", 16], I64), Arg(["B", 2], I64),
             Arg(["B", 16], I64), Arg([2], I64)],
            {},
            3,
            bindings=BLH,
        ),
        ["[B]", "[B, 16]", "[B, 2]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_shapes(name: str) -> None:
    case, expected = CASES[name]
    applied = apply_case(case)
    assert [shape_text(output) for output in applied.outputs][: len(expected)] == expected
    assert applied.doubts


@pytest.mark.parametrize("name", CASES)
def test_inference_agrees(name: str) -> None:
    assert check_inferred(CASES[name][0]) > 0


def test_routers_run_on_a_cpu() -> None:
    logits, bias = Arg(["B", "L", 8]), Arg([8])
    assert run_case(MS("MoEGroupRouter", [logits, bias], {"top_k": 2}, bindings=BLH, expect=["[B*L, 8]"])) > 0
