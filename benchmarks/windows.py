"""Pools whose window is larger than the axis: onnxruntime gives one window there, and the specification none.

A claim that such a pool refutes is false of the runtime alone (docs/runtime-differences.md): the tables tell it apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import absint
from absint.lattices.terms.evaluation import UndefinedError
from absint.lattices.value import Tensor
from absint.program.nodes import Node

POOLS = ("AveragePool", "LpPool", "MaxPool")


def by_a_large_window(model: Path, refutation: Mapping[str, Any]) -> bool:
    """The cause of a refuted claim is a pool with such a window, at the sizes at which the claim is false."""
    if refutation["operator"] not in POOLS:
        return False
    result = _analysed(model)
    return any(
        _is_large(node, result, refutation["counterexample"])
        for node in result.nodes
        if str(node) == refutation["cause"]
    )


@cache
def _analysed(model: Path) -> absint.Result:
    return absint.analyze(model)


def _is_large(node: Node, result: absint.Result, sizes: Mapping[str, int]) -> bool:
    assert node.operation is not None
    producer, output = node.operands[0]
    value = result.states[producer][output]
    if not isinstance(value, Tensor):
        return False
    attributes: Mapping[str, Any] = node.operation.attributes
    kernel = attributes["kernel_shape"]
    dilations = attributes.get("dilations") or [1] * len(kernel)
    pads = attributes.get("pads") or [0] * (2 * len(kernel))
    try:
        axes = [dim.evaluate(sizes) for dim in value.shape.dims[2:]]
    except (UndefinedError, KeyError, ValueError, AttributeError):
        return False
    return any(
        size + pads[axis] + pads[axis + len(kernel)] < dilations[axis] * (kernel[axis] - 1) + 1
        for axis, size in enumerate(axes)
    )


__all__ = ["by_a_large_window"]
