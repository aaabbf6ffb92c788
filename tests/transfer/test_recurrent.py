"""Recurrent layers, executed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, build_model, check_outputs, reference, run_case, sizes

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS = sizes(T=[1, 5], B=[1, 3], I=[1, 4])  # onnxruntime aborts the process on an empty axis


def layer(
    op: str, direction: str = "forward", extra: int = 0, layout: int = 0, opset: int = 14, **attributes: object
) -> Case:
    """A layer of hidden size 2; `extra` optional inputs after R are given."""
    d, gates = (2 if direction == "bidirectional" else 1), GATES[op]
    x = ["B", "T", "I"] if layout else ["T", "B", "I"]
    state = ["B", d, 2] if layout else [d, "B", 2]
    lengths = Arg(["B"], TensorProto.INT32, data=lambda s, r: r.integers(0, 1, s))
    optional = [Arg([d, 2 * gates * 2]), lengths, Arg(state), Arg(state), Arg([d, 6])][:extra]
    every = f"[B, T, {d}, 2]" if layout else f"[T, {d}, B, 2]"
    last = f"[B, {d}, 2]" if layout else f"[{d}, B, 2]"
    given = {"direction": direction, "hidden_size": 2, **({"layout": layout} if opset >= 14 else {}), **attributes}
    outputs = 3 if op == "LSTM" else 2
    inputs = [Arg(x), Arg([d, 2 * gates, "I"]), Arg([d, 2 * gates, 2]), *optional]
    return Case(op, inputs, given, outputs, STEPS, opset, expect=[every, *[last] * (outputs - 1)])


CASES = [
    *(layer(op, direction) for op, direction in product(GATES, ("forward", "reverse", "bidirectional"))),
    *(layer(op, "bidirectional", 1, opset=o) for op, o in product(GATES, (7, 14, 22))),
    layer("LSTM", extra=5),
    layer("LSTM", extra=3),
    layer("GRU", extra=3),
    layer("RNN", extra=3),
    *(layer(op, layout=1) for op in GATES),
    *(
        Case(
            op,
            [Arg(["T", 2, "I"]), Arg(["D", "G", "J"]), Arg(["D", "G", "H"])],
            {"hidden_size": 2},
            2,
            sizes(T=[3], I=[4], J=[3, 4], D=[1, 2], G=[g * 2, 5], H=[2, 3]),
            14,
        )
        for op, g in GATES.items()
    ),
    Case(
        "LSTM",
        [Arg(["T", 2, 4]), Arg([1, 8, 4]), Arg([1, 8, 2])],
        {},
        3,
        sizes(T=[3]),
        14,
        expect=["[T, 1, 2, 2]", "[1, 2, 2]", "[1, 2, 2]"],
    ),
    Case("GRU", [Arg(["T", 2]), Arg([1, 6, 4]), Arg([1, 6, 2])], {"hidden_size": 2}, 2, sizes(T=[3]), 14),
    Case("GRU", [Arg([3, 2, 4], unknown_rank=True), Arg([1, 6, 4]), Arg([1, 6, 2])], {"hidden_size": 2}, 2, opset=14),
    Case("GRU", [Arg([3, 2, 4]), Arg([1, 6, 4]), Arg([1, 6, 2])], {"hidden_size": 2, "direction": "both"}, 2, opset=14),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)


@pytest.mark.parametrize("op", GATES)
def test_batch_first_agrees_with_the_reference(op: str) -> None:
    """onnxruntime refuses layout 1; onnx.reference runs it."""
    case = layer(op, layout=1)
    binding = {"T": 5, "B": 3, "I": 4}
    rng = np.random.default_rng(0)
    arrays = [arg.array(binding, rng) for arg in case.inputs if arg is not None]
    outputs, failure = reference(build_model(case, arrays), {f"x{i}": a for i, a in enumerate(arrays)})
    assert outputs is not None, failure
    check_outputs(case, apply_case(case), binding, outputs)
