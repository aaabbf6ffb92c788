"""Deviations of runtimes from the specification, where a run shows nothing about a claim or a promise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from onnx import NodeProto, helper

REFUSED: Final[tuple[tuple[str, str, str], ...]] = (
    ("Compress", "IndexError", "onnx.reference takes past the end where the condition is longer than the axis"),
    (".*", "index can't contain negative values", "onnx.reference pads with numpy, which takes no negative pads"),
)
"""(operator, part of the failure, why): legal by the spec, yet refused by the runtime that executes it here. A failure
that matches does not count against a rule declared complete."""

UNTRUSTED: Final[tuple[tuple[str, str], ...]] = (
    ("test_range_bfloat16.*_expanded", "onnx.reference stacks the scalars that a Loop scans as [n, 1], not [n]"),
)
"""(pattern of node tests, why): outputs of the runtime that contradict the spec; such tests are not executed."""


REDUCTIONS: Final = re.compile("Reduce[A-Z].*|ArgMax|ArgMin")

PRODUCTS: Final = {
    **dict.fromkeys(
        (
            "MatMul",
            "MatMulInteger",
            "MatMulInteger16",
            "FusedMatMul",
            "TransposeMatMul",
            "MatMulIntegerToFloat",
            "DynamicQuantizeMatMul",
        ),
        (0, 1),
    ),
    "QLinearMatMul": (0, 3),
}
"""Matrix products, and where their matrices stand among the inputs."""


def misreduces(nodes: Sequence[NodeProto], values: Mapping[str, Any]) -> bool:
    """onnxruntime 1.31 ignores an axis of a reduction that is negative or out of range if the input is empty."""
    for node in nodes:
        data = values.get(node.input[0]) if node.input else None
        if REDUCTIONS.fullmatch(node.op_type) and isinstance(data, np.ndarray) and data.size == 0:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            axes = attributes.get("axes", attributes.get("axis", values.get(node.input[1]) if node.input[1:] else None))
            if axes is not None and np.any((np.asarray(axes) < 0) | (np.asarray(axes) >= data.ndim)):
                return True
    return False


def multiplies_nothing(nodes: Sequence[NodeProto], values: Mapping[str, Any]) -> bool:
    """onnxruntime 1.31 does not broadcast the batch dims of a product whose inner dim is 0."""
    for node in nodes:
        if node.op_type not in PRODUCTS:
            continue
        a, b = (values.get(node.input[at]) for at in PRODUCTS[node.op_type])
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            continue
        if 0 in a.shape[-2:] and 0 in b.shape[-2:] and a.shape[:-2] != b.shape[:-2]:
            return True
    return False


def scans_nothing(nodes: Sequence[NodeProto], values: Mapping[str, Any]) -> bool:
    """onnxruntime 1.31 gives the dims that the body declares, not those of the states, after a Scan-8 of no trips."""
    for node in nodes:
        arrays = [values.get(name) for name in node.input]
        if node.op_type == "Scan" and node.input[0] == "" and any(a is not None and a.size == 0 for a in arrays):
            return True
    return False


def joins_unlike(nodes: Sequence[NodeProto], values: Mapping[str, Any]) -> bool:
    """onnxruntime 1.32 takes a Concat with an empty array whose shape does not fit, and gives what lay in memory."""
    for node in nodes:
        arrays = [values.get(name) for name in node.input]
        shapes = {array.shape for array in arrays if isinstance(array, np.ndarray)}
        if node.op_type == "Concat" and any(0 in shape for shape in shapes) and len(shapes) > 1:
            return True
    return False


def casts_nothing(nodes: Sequence[NodeProto]) -> bool:
    """onnxruntime 1.32 leaves the result of a Cast as it lay in memory if `saturate` is neither 0 nor 1."""
    return any(
        node.op_type in ("Cast", "CastLike") and attribute.name == "saturate" and attribute.i not in (0, 1)
        for node in nodes
        for attribute in node.attribute
    )


def miscomputes(nodes: Sequence[NodeProto], values: Mapping[str, Any]) -> bool:
    """A run in which onnxruntime gives wrong numbers; `values` are those of the main graph."""
    return deviates(nodes, values) or joins_unlike(nodes, values) or casts_nothing(nodes)


def deviates(nodes: Sequence[NodeProto], values: Mapping[str, Any]) -> bool:
    """A run in which onnxruntime succeeds or computes against the spec; `values` are those of the main graph."""
    return any(judge(nodes, values) for judge in (misreduces, multiplies_nothing, scans_nothing))


def is_refused(operator: str, failure: str) -> bool:
    """The failure is a known limit of the runtime."""
    return any(re.fullmatch(op, operator) and re.search(text, failure) for op, text, _ in REFUSED)


def is_untrusted(name: str) -> bool:
    """The runtime is known to compute something else than the spec says for this node test."""
    return any(re.fullmatch(pattern, name) for pattern, _ in UNTRUSTED)
