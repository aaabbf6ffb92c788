"""Changes of any model that a caller notices, each with a text that must stand in the answer about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

Planted = Callable[[ModelProto], tuple[ModelProto, str] | None]
"""A model with a change, and what must be said of it; None where the change makes no sense."""


def _required(model: ModelProto) -> Iterator[ValueInfoProto]:
    held = {tensor.name for tensor in model.graph.initializer}
    return (value for value in model.graph.input if value.name not in held)


def _symbolic(model: ModelProto) -> Iterator[tuple[ValueInfoProto, int]]:
    """Axes of inputs whose size is a symbol of its own there."""
    seen: set[str] = set()
    for value in _required(model):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param and dim.dim_param not in seen:
                seen.add(dim.dim_param)
                yield value, axis


def fixed_dim(model: ModelProto) -> tuple[ModelProto, str] | None:
    """An input takes one size only."""
    found = next(_symbolic(model), None)
    if found is None:
        return None
    value, axis = found
    value.type.tensor_type.shape.dim[axis].dim_value = 3
    return model, f"{value.name}[{axis}] == 3"


def tied_inputs(model: ModelProto) -> tuple[ModelProto, str] | None:
    """Two symbols become one."""
    places = list(_symbolic(model))
    if len(places) < 2:
        return None
    (value, axis), (other, at) = places[:2]
    name = value.type.tensor_type.shape.dim[axis].dim_param
    old = other.type.tensor_type.shape.dim[at].dim_param
    for item in _required(model):
        for dim in item.type.tensor_type.shape.dim:
            if dim.dim_param == old:
                dim.dim_param = name
    return model, f"{other.name}[{at}] == {name}"


def _float_output(model: ModelProto) -> ValueInfoProto | None:
    tensors = (v for v in model.graph.output if v.type.tensor_type.elem_type == TensorProto.FLOAT)
    return next(tensors, None)


def _rewired(model: ModelProto, op_type: str, dtype: int = TensorProto.FLOAT, **attributes: int) -> str | None:
    """The first float output goes through one more node; its name."""
    output = _float_output(model)
    if output is None or any(output.name in node.input for node in model.graph.node):
        return None
    for node in model.graph.node:
        node.output[:] = [f"{name}_inner" if name == output.name else name for name in node.output]
    model.graph.node.append(helper.make_node(op_type, [f"{output.name}_inner"], [output.name], **attributes))
    output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, None))
    return output.name


def cast_output(model: ModelProto) -> tuple[ModelProto, str] | None:
    name = _rewired(model, "Cast", TensorProto.INT32, to=TensorProto.INT32)
    return None if name is None else (model, "element type: FLOAT -> INT32")


def flattened_output(model: ModelProto) -> tuple[ModelProto, str] | None:
    output = _float_output(model)
    if output is None or not len(output.type.tensor_type.shape.dim) > 2:
        return None
    name = _rewired(model, "Flatten")
    return None if name is None else (model, f"rank: {len(output.type.tensor_type.shape.dim) or ''}")


def added_output(model: ModelProto) -> tuple[ModelProto, str] | None:
    model.graph.output.append(helper.make_empty_tensor_value_info(model.graph.node[0].output[0]))
    return model, f"{model.graph.node[0].output[0]} new"


def dropped_output(model: ModelProto) -> tuple[ModelProto, str] | None:
    if len(model.graph.output) < 2:
        return None
    name = model.graph.output.pop().name
    return model, f"{name} gone"


def swapped_outputs(model: ModelProto) -> tuple[ModelProto, str] | None:
    outputs = list(model.graph.output)
    if len(outputs) < 2:
        return None
    del model.graph.output[:]
    model.graph.output.extend([outputs[1], outputs[0], *outputs[2:]])
    return model, "in another order"


def new_input(model: ModelProto) -> tuple[ModelProto, str] | None:
    model.graph.input.append(helper.make_tensor_value_info("temperature", TensorProto.FLOAT, []))
    return model, "temperature new"


def retyped_input(model: ModelProto) -> tuple[ModelProto, str] | None:
    """An INT64 input is INT32, cast where it is used."""
    found = next((v for v in _required(model) if v.type.tensor_type.elem_type == TensorProto.INT64), None)
    if found is None:
        return None
    name = found.name
    for node in model.graph.node:
        node.input[:] = [f"{name}_64" if item == name else item for item in node.input]
    found.type.tensor_type.elem_type = TensorProto.INT32
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([helper.make_node("Cast", [name], [f"{name}_64"], to=TensorProto.INT64), *nodes])
    return model, "element type: INT64 -> INT32"


CHANGES: Final[dict[str, Planted]] = {
    "an input dim fixed": fixed_dim,
    "two inputs tied": tied_inputs,
    "an output cast": cast_output,
    "an output flattened": flattened_output,
    "an output dropped": dropped_output,
    "outputs swapped": swapped_outputs,
    "an input added": new_input,
    "an input of another type": retyped_input,
    "allowed: an output added": added_output,
}
