"""Simplified models of texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import onnx
from onnx import numpy_helper, parser

import absint
from absint.jobs.simplifying.simplify import compared

HEAD = '<ir_version: 10, opset_import: ["": %d]> g '


def analyzed(text: str, opset: int = 18, assume: Sequence[str] = ()) -> absint.Result:
    return absint.analyze(parser.parse_model(HEAD % opset + text), assume=assume)


def simplified(text: str, opset: int = 18) -> tuple[absint.Result, onnx.ModelProto]:
    """The model of a text, and its copy, which runs as it does at all small sizes and is the same when made again."""
    result = analyzed(text, opset)
    found = result.simplify()
    assert found.undone == []
    assert found.model is not None
    copy = absint.analyze(found.model)
    for sizes in product((0, 1, 2, 3), repeat=len(result.symbols)):
        text_of_difference, _ = compared(result, copy, dict(zip(result.symbols, sizes, strict=True)), isolated=False)
        assert not text_of_difference, sizes
    again = copy.simplify().model
    assert again == found.model
    return result, found.model


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def constant(model: onnx.ModelProto, name: str) -> list[int]:
    found = {tensor.name: tensor for tensor in model.graph.initializer}
    return list(numpy_helper.to_array(found[name]).ravel())
