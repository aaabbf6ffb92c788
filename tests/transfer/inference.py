"""onnxruntime's inference for a node without a CPU kernel, held against a rule.

onnxruntime reports an inferred type when a declaration disagrees. So each output is declared with a type, a rank and
sizes that it cannot have, one at a time, and the errors give the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
import onnxruntime as ort
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import Tensor, Value
from absint.transfer.families import shipped
from tests.transfer.harness import Arg, Binding, Case, apply_case, check_dim, shape_text

WRONG_RANK: Final = 13
WRONG_SIZE: Final = 7919


class Inferred(NamedTuple):
    """The type and dims of an output, as far as onnxruntime inferred them."""

    dtype: DType
    dims: tuple[int | None, ...] | None


def check_inferred(case: Case, *, without: Collection[int] = ()) -> int:
    """Hold the answer of a rule against what onnxruntime infers at every binding; how many dims that is.

    `without` are outputs that the node leaves out.
    """
    rule, applied = shipped().lookup(case.domain, case.op, case.opset), apply_case(case)
    assert rule is not None
    assert not rule.complete or applied.doubts, f"{case}: nothing that was run shows that the node always runs"
    if case.expect is not None:
        for want, got in zip(case.expect, applied.outputs, strict=True):
            assert want is None or shape_text(got) == want, f"{case}: shape {shape_text(got)}, expected {want}"
    assert applied.rejected is None, f"{case}: rejected, {applied.rejected}"
    count = 0
    for binding in case.bindings:
        for number, value in enumerate(applied.outputs):
            if number not in without:
                found = inferred(case, binding, number, without)
                count += _compare(f"{case} at {binding}, output {number}", value, found, binding)
        for statement in applied.statements:
            assert statement.relation.at(binding) is not NO, f"{case} at {binding}: {statement} is false"
    return count


def _compare(where: str, value: Value, found: Inferred, binding: Binding) -> int:
    assert isinstance(value, Tensor), f"{where}: {value} is not a tensor"
    assert value.contents is None, f"{where}: {value} has elements, which nothing that is inferred shows"
    assert not value.ramps, f"{where}: {value} has elements, which nothing that is inferred shows"
    assert value.dtype is found.dtype, f"{where}: dtype {value.dtype}, inferred {found.dtype}"
    if found.dims is None:
        return 0
    assert value.shape.rank == len(found.dims), f"{where}: {value.shape}, inferred {found.dims}"
    for axis, (claim, size) in enumerate(zip(value.shape, found.dims, strict=True)):
        if size is not None:
            assert isinstance(claim, Expr), f"{where}: nothing said of dim {axis}, inferred {size}"
            check_dim(f"{where}, dim {axis}", claim, size, binding)
    return sum(size is not None for size in found.dims)


def inferred(case: Case, binding: Binding, number: int, without: Collection[int] = ()) -> Inferred:
    """onnxruntime's inference for one output."""
    node, inputs, initializers = _node(case, binding, without)

    def refusal(outputs: list[ValueInfoProto]) -> str:
        return _load(case, helper.make_graph([node], "case", inputs, outputs, initializers))

    found = read_inference(node.output, number, refusal)
    assert isinstance(found, Inferred), f"{case} at {binding}: onnxruntime rejects the node: {found}"
    return found


def read_inference(names: Sequence[str], number: int, refusal: Callable[[list[ValueInfoProto]], str]) -> Inferred | str:
    """onnxruntime's inference for one output, read from why it refuses declarations of the outputs; or a refusal of the
    node.
    """

    def error(elem_type: int, shape: list[int | str] | None) -> str:
        outputs = [ValueInfoProto(name=name) for i, name in enumerate(names) if name and i != number]
        return refusal([*outputs, helper.make_tensor_value_info(names[number], elem_type, shape)])

    def read(pattern: str, text: str) -> str | None:
        match = re.search(pattern, text)
        return match.group(1) if match else None

    text = error(TensorProto.COMPLEX128, None)
    dtype = read(r"expected type \(tensor\((\w+)\)\)", text)
    if dtype is None:
        return text
    kind = DType[dtype.upper()]
    rank = read(rf"inferred=(\d+) declared={WRONG_RANK}", error(kind.value, [WRONG_SIZE] * WRONG_RANK))
    if rank is None:
        return Inferred(kind, None)
    dims: list[int | None] = []
    for axis in range(int(rank)):
        declared: list[int | str] = [f"dim{i}" for i in range(int(rank))]
        declared[axis] = WRONG_SIZE
        size = read(rf"Inferred=(\d+) Declared={WRONG_SIZE}", error(kind.value, declared))
        dims.append(None if size is None else int(size))
    return Inferred(kind, tuple(dims))


def _node(
    case: Case, binding: Binding, without: Collection[int]
) -> tuple[NodeProto, list[ValueInfoProto], list[TensorProto]]:
    """The node, its inputs with the sizes of a binding, and its constants."""
    names = [f"x{i}" if arg is not None else "" for i, arg in enumerate(case.inputs)]
    outputs = ["" if i in without else f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, domain=case.domain, name="node", **case.attributes)
    inputs, initializers = [], []
    for arg, name in zip(case.inputs, names, strict=True):
        if arg is None:
            continue
        if arg.elements is not None and not arg.hidden:
            initializers.append(numpy_helper.from_array(arg.array(binding, np.random.default_rng(0)), name))
        else:
            inputs.append(helper.make_tensor_value_info(name, arg.dtype, _sizes(arg, binding)))
    return node, inputs, initializers


def _sizes(arg: Arg, binding: Binding) -> list[int]:
    dims = np.shape(arg.elements) if arg.dims is None else arg.dims
    return [Dim(dim).evaluate(binding) if isinstance(dim, str) else int(dim or 0) for dim in dims]


def _load(case: Case, graph: GraphProto) -> str:
    """Why onnxruntime does not load a model; empty if it does."""
    imports = [helper.make_opsetid("", case.opset if not case.domain else 20)]
    if case.domain:
        imports.append(helper.make_opsetid(case.domain, case.opset))
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.strict_shape_type_inference", "1")
    try:
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as failure:
        return str(failure)
    return ""
