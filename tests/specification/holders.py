"""Runs of a node whose inputs are sequences, optional values or maps, which onnxruntime takes as lists and dicts."""

from __future__ import annotations

from typing import Any, cast

import onnx
import onnxruntime as ort
from onnx import TypeProto, helper

from absint.lattices.dtype import DType
from absint.research.specification.specs import Argument, Holder, Instance
from absint.testing import Case
from absint.testing.cases import NEWEST_IR, Binding, Outcome, arrays_of

UNFED = "onnxruntime takes no empty map"


def holds(instance: Instance) -> bool:
    """An input holds tensors."""
    return any(argument is not None and argument.holder is not None for argument in instance.inputs)


def execute(case: Case, instance: Instance, binding: Binding) -> Outcome:
    """Run the node in onnxruntime; the arrays that an input holds are alike."""
    feeds: dict[str, object] = {}
    infos = []
    for place, (argument, array) in enumerate(zip(instance.inputs, arrays_of(case, binding, 0), strict=True)):
        if argument is not None:
            holder = argument.holder
            infos.append(helper.make_value_info(f"x{place}", _type(argument)))
            feeds[f"x{place}"] = array if holder is None else _held(holder, array, _length(holder, binding))
    if {} in [feed for feed in feeds.values() if isinstance(feed, dict)]:
        return None, UNFED
    names = ["" if argument is None else f"x{place}" for place, argument in enumerate(instance.inputs)]
    node = helper.make_node(case.op, names, ["y"], domain=case.domain, **cast("dict[str, Any]", case.attributes))
    graph = helper.make_graph([node], "held", infos, [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid(case.domain, case.opset), *[helper.make_opsetid("", 20)] * bool(case.domain)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=NEWEST_IR)
    try:
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return list(session.run(None, feeds)), ""
    except Exception as error:
        return None, str(error)


def _type(argument: Argument) -> TypeProto:
    tensor = helper.make_tensor_type_proto(DType[argument.dtype.upper()].value, None)
    if argument.holder is None:
        return tensor
    if argument.holder.kind == "map":
        scalar = helper.make_tensor_type_proto(DType[argument.dtype.upper()].value, [])
        return helper.make_map_type_proto(DType[argument.holder.keys.upper()].value, scalar)
    made = {"sequence": helper.make_sequence_type_proto, "optional": helper.make_optional_type_proto}
    return made[argument.holder.kind](tensor)


def _length(holder: Holder, binding: Binding) -> int:
    return holder.length if isinstance(holder.length, int) else binding[holder.length]


def _held(holder: Holder, array: object, count: int) -> object:
    if holder.kind == "optional":
        return array if count else None
    if holder.kind == "sequence":
        return [array] * count
    return {f"k{key}" if holder.keys == "string" else key: float(key) for key in range(count)}
