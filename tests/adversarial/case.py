"""An adversarial model: its text, the sizes that it runs at, and the data that matter."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from onnx import ModelProto, TensorProto, TypeProto, helper, parser, shape_inference


@dataclass(frozen=True)
class Adversarial:
    """A model in ONNX's text syntax, with runs of it: every binding with every choice of data."""

    text: str
    """The graph from its inputs on; local functions follow it."""
    bindings: Sequence[Mapping[str, int]]
    data: Sequence[Mapping[str, Any]] = ({},)
    opset: int = 18

    @cached_property
    def model(self) -> ModelProto:
        """The model."""
        functions = ', "my": 1' if "my." in self.text else ""
        head = f'<ir_version: 10, opset_import: ["": {self.opset}{functions}]>\ngraph '
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return with_output_types(parser.parse_model(head + self.text))


def with_output_types(model: ModelProto) -> ModelProto:
    """The same model; outputs without a type get the one that `onnx` infers, without a shape, else float."""
    bare = [output for output in model.graph.output if not output.HasField("type")]
    if bare:
        inferred = {output.name: output.type for output in shape_inference.infer_shapes(model).graph.output}
        for output in bare:
            output.type.CopyFrom(without_shape(inferred[output.name]))
    return model


def without_shape(type_: TypeProto) -> TypeProto:
    """The type of a value, with nothing about its dims."""
    if type_.HasField("sequence_type"):
        return helper.make_sequence_type_proto(without_shape(type_.sequence_type.elem_type))
    return helper.make_tensor_type_proto(type_.tensor_type.elem_type or TensorProto.FLOAT, None)


def sizes(text: str) -> list[dict[str, int]]:
    """Bindings from a table in one line: the names, then the sizes of each run, as in `N M: 0 1, 5 5`."""
    names, _, rows = text.partition(":")
    return [dict(zip(names.split(), map(int, row.split()), strict=True)) for row in rows.split(",")]


def case(text: str, runs: str = ":", *data: Mapping[str, Any], opset: int = 18) -> Adversarial:
    """A model, the sizes that it runs at (`N M: 0 1, 5 5`), and choices of the data that matter."""
    return Adversarial(text, sizes(runs), data or ({},), opset)


Theme = Mapping[str, Adversarial]
"""Models of one theme by name."""
