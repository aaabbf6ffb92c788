"""Random and degenerate nodes of constants: no known element that a run of onnxruntime contradicts.

See `constant_nodes` and `constant_sweeps` for the long hunts.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from absint import purge
from absint.shapes import application
from absint.shapes.application import EXACT
from absint.transfer.families import shipped
from tests.soundness.constant_moves import MOVES, Node
from tests.soundness.constant_nodes import compared, examined
from tests.soundness.constant_sweeps import SWEEPS, wrong
from tests.soundness.constant_values import integers

SEED = 900_000
PLAIN, EVALUATED = 40, 250


@pytest.mark.share(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", sorted(MOVES))
def test_known_elements_are_those_of_the_run(op: str) -> None:
    tried = [examined(seed, op) for seed in range(SEED, SEED + (EVALUATED if op in EXACT else PLAIN))]
    wrong = [f"{found}: {found.wrong[0]}" for found in tried if found.wrong]
    assert not wrong, "\n".join(wrong[:5])
    assert sum(found.ran and found.known > 0 for found in tried) >= 8 or op in UNKNOWN


UNKNOWN = {"DepthToSpace", "SpaceToDepth", "ReverseSequence", "MaxPool", "Mean", "BitwiseNot", "CumProd", "BitCast"}
"""Operators of whose constants nothing is said, or of which few kernels exist."""


@pytest.mark.share(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", sorted(SWEEPS))
def test_known_elements_are_those_of_the_run_in_every_form(op: str) -> None:
    totals, found = wrong(op, 29 if op in EXACT else 97)
    assert not found, "\n".join(found[:5])
    assert totals["known"] or op in UNKNOWN


def test_every_operator_that_is_evaluated_or_says_elements_is_tried() -> None:
    said = {name for rule in shipped() if not rule.domain and rule.elements for name in rule.names}
    structures = {name for name in said if name.startswith(("Sequence", "Optional", "ConcatFrom"))}
    assert (
        not (said | EXACT)
        - structures
        - MOVES.keys()
        - {"Memcpy", "Scatter"}
        - {name for name in said if name.startswith(("Memcpy", "DynamicSlice"))}
    )
    assert not EXACT - SWEEPS.keys()


BIG = 2**31 + 3
WIDE = 2**53 + 1


@pytest.mark.parametrize(
    ("node", "opset", "ran"),
    [
        # In an order of the runtime's choice.
        (Node("TopK", [integers(1, 2, 3), integers(2)], {"sorted": 0}, 2), 18, [[2, 3]]),
        # Of 8 bits, indices count inside a channel; with ceil_mode and uneven pads elements differ too.
        (Node("MaxPool", [np.array([[[1, 2], [3, 4]]], np.uint8)], {"kernel_shape": [1]}, 2), 18, None),
        # Integers of 64 bits go through double.
        (Node("ReduceProd", [integers(WIDE, 2)], {"keepdims": 0}), 18, [[2 * WIDE - 2]]),
        (Node("ReduceProd", [np.array(2**62 + 1)], {"keepdims": 0}), 18, [[2**62]]),
        (Node("ReduceSum", [integers(WIDE, 2, 0, 0)], {"keepdims": 0}), 18, None),
        (Node("ReduceMean", [integers(2**62, 3037000500, -(2**31))], {"keepdims": 0}), 18, None),
        (Node("ReduceMean", [integers(2**31 - 1, 1, 2**31 - 1, 9, dtype="int32")], {"keepdims": 0}), 18, None),
        (Node("Mod", [integers(2**63 - 1), integers(3)], {"fmod": 1}), 18, [[2], [1]]),
        (Node("Mod", [np.array([2**64 - 1], np.uint64), np.array([255], np.uint64)], {"fmod": 1}), 18, [[1], [0]]),
        # INT64 is ordered by its low 32 bits.
        (Node("Max", [integers(1, 2, 3, BIG - 3), integers(7, 7, 7, 7)], {}), 18, [[7, 7, 7, 7], [7, 7, 7, BIG - 3]]),
        (Node("Min", [integers(BIG, BIG, BIG, BIG), integers(1, 5, 2, 7)], {}), 18, None),
        (Node("Clip", [integers(0, 0, 0, BIG), None, np.array(7)], {}), 18, None),
        (Node("Sign", [integers(1, BIG, 3, 4)], {}), 18, [[1, -1, 1, 1], [1, 1, 1, 1]]),
        (Node("Relu", [integers(1, 2, 3, 2**32 - 1)], {}), 18, [[1, 2, 3, 0], [1, 2, 3, 2**32 - 1]]),
        (Node("ReduceMax", [integers(5, 128, 7, 3037000500)], {"keepdims": 0}), 18, None),
        # Nothing is written where there is nothing to add up.
        (Node("MatMulInteger", [np.zeros((2, 0), np.int8), np.zeros((0, 2), np.uint8)], {}), 18, None),
        # Along an axis, in the order of first occurrences; onnx.reference takes axis 0.
        (Node("Unique", [np.array([[1, 1, 1, 1]])], {"axis": 1, "sorted": 0}), 18, [[1]]),
        (Node("Unique", [np.array([[3, 1, 3], [2, 0, 2]])], {"axis": -1, "sorted": 0}, 4), 18, [[3, 1, 2, 0]]),
        # Some processors saturate sums of products.
        (Node("MatMulInteger", [np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)], {}), 18, None),
        # Counted in double.
        (Node("Range", [np.array(n, np.float32) for n in (0.1, 0.6, 0.5)], {}), 18, None),
        # An end that is an attribute is rounded to the type.
        (Node("Clip", [np.array([-1], np.float16)], {"min": 1 / 3}), 7, None),
        # onnx.reference mixes the two values by arithmetic, and rounds.
        (Node("OneHot", [np.array([1]), np.array(2), np.array([7, 1 / 3], np.float32)], {}), 18, None),
    ],
    ids=lambda item: item.op if isinstance(item, Node) else "",
)
def test_what_onnxruntime_computes_otherwise(node: Node, opset: int, ran: list[list[int]] | None) -> None:
    """Each was claimed as the specification or numpy has it. `ran` are the results of releases since 1.31."""
    found, outputs = compared(node, opset)
    assert found.ran
    assert not found.wrong
    assert ran is None or outputs[0].ravel().tolist() in ran


def test_an_operator_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx.reference on MaxPool, as it was once trusted: the test above would say no."""
    monkeypatch.setattr(application, "EXACT", EXACT | {"MaxPool"})
    purge()
    found = any(examined(seed, "MaxPool").wrong for seed in range(SEED, SEED + EVALUATED))
    purge()
    assert found


def test_nodes_are_the_same_every_time() -> None:
    counts = Counter(examined(seed).node.op for seed in range(60))
    assert counts == Counter(examined(seed).node.op for seed in range(60))
    assert len(counts) > 30
