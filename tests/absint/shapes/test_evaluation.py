"""Constant nodes: what is known of the elements is what the node tests of the `onnx` package expect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import absint
from absint.lattices.value import Tensor
from absint.shapes.application import EXACT, FLAGS
from absint.transfer.traits import RANDOM
from tests.soundness.claims import against
from tests.soundness.models import node_tests, stripped

SMALL = 1024


def constant_models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Node tests whose inputs are all small numeric tensors, as initialisers."""
    for name, test in node_tests().items():
        arrays = [item.data for item in test.inputs]
        if not all(isinstance(a, np.ndarray) and a.dtype.kind in "iubf" and a.size <= SMALL for a in arrays):
            continue
        model = stripped(test)
        for item in test.inputs:
            model.graph.initializer.append(numpy_helper.from_array(item.data, item.name))
        yield name, model


def expected() -> dict[str, dict[str, Any]]:
    """Outputs of each node test."""
    from onnx.backend.test.case.node import collect_testcases

    cases = collect_testcases(None)
    return {
        case.name: {o.name: _read(a) for o, a in zip(case.model.graph.output, case.data_sets[0][1], strict=False)}
        for case in cases
    }


def _read(output: Any) -> Any:
    return numpy_helper.to_array(output) if isinstance(output, TensorProto) else output


@pytest.mark.filterwarnings("ignore")
def test_known_elements_are_those_of_the_node_tests() -> None:
    outputs = expected()
    unknown: Counter[str] = Counter()
    known = 0
    for name, model in constant_models():
        result = absint.analyze(model, refine=False)
        for output, actual in outputs[name].items():
            value = result[output]
            problems = list(against(f"{name} {output}", value, actual, {}))
            assert not problems, problems
            if isinstance(value, Tensor) and isinstance(actual, np.ndarray) and actual.dtype.kind in "iub":
                if value.contents is not None:
                    known += 1
                elif actual.size <= SMALL:
                    unknown[model.graph.node[-1].op_type] += 1
    assert known >= 300, known
    # Floats decide these, data that are no constants, or the processor.
    rounding = {"NonMaxSuppression", "QLinearMatMul", "QLinearConv", "QuantizeLinear", "DynamicQuantizeLinear"}
    rounding |= {"ConvInteger", "MatMulInteger"}
    special = {"BitCast", "IsInf", "IsNaN"}  # of infinities and NaN, which are no known elements
    assert set(unknown) <= rounding | special | RANDOM | {"BitShift", "MaxPool", "Cast"}, unknown


def one_node(op: str, inputs: dict[str, np.ndarray[Any, Any]], **attributes: object) -> absint.Result:
    """The analysis of a node whose inputs are constants."""
    node = helper.make_node(op, list(inputs), ["y"], **attributes)
    initialisers = [numpy_helper.from_array(array, name) for name, array in inputs.items()]
    graph = helper.make_graph([node], "one", [], [onnx.ValueInfoProto(name="y")], initialisers)
    return absint.analyze(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))


def test_sizes_that_constants_decide() -> None:
    found = one_node("Unique", {"x": np.array([3, 1, 3, 3, 2])})
    assert str(found["y"]) == "Tensor(INT64[3] = [1, 2, 3])"
    found = one_node("NonZero", {"x": np.array([0.0, 2.0, 3.0], np.float32)})
    assert str(found["y"]) == "Tensor(INT64[1, 2] = [[1, 2]])"


def test_what_runtimes_differ_in_stays_unknown() -> None:
    assert one_node("NonZero", {"x": np.array(3)}).shapes["y"][0].const is None


def test_nothing_along_an_axis_that_is_too_long_is_not_evaluated() -> None:
    x = TensorProto(name="x", data_type=TensorProto.BOOL, dims=[0, 0, 2**31 - 1])
    graph = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["y"])], "g", [], [onnx.ValueInfoProto(name="y")], [x]
    )
    result = absint.analyze(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
    assert result.shapes["y"][0] == 3


def test_random_numbers_are_not_evaluated() -> None:
    found = one_node("RandomUniformLike", {"x": np.array([1, 2])}, dtype=TensorProto.FLOAT)
    assert str(found["y"]) == "Tensor(FLOAT[2])"


def test_what_the_reference_refuses_stays_unknown() -> None:
    found = one_node("Pad", {"x": np.array([1, 2, 3]), "pads": np.array([-1, 0])}, mode="reflect")
    assert str(found["y"]) == "Tensor(INT64[2] = [_d0, _d1])"


def test_products_of_bytes_depend_on_the_processor() -> None:
    """Sums of two products saturate at 2^15 where a processor has no instruction for them."""
    found = one_node("MatMulInteger", {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)})
    assert str(found["y"]) == "Tensor(INT32[1, 1])"


@pytest.mark.parametrize("op", sorted(EXACT))
def test_what_is_evaluated_exists_and_is_not_random(op: str) -> None:
    assert onnx.defs.has(op)
    assert op not in RANDOM


@pytest.mark.parametrize(("attributes", "ran"), [({"largest": 2}, [1, 2]), ({}, [7, 3]), ({"sorted": 0}, None)])
def test_flags_that_are_neither_0_nor_1(attributes: dict[str, int], ran: list[int] | None) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["y", "i"], **attributes)
    constants = {"x": np.array([3, 1, 2, 7]), "k": np.array([2])}
    initialisers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph([node], "one", [], [onnx.ValueInfoProto(name="y")], initialisers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (actual,) = ort.InferenceSession(made.SerializeToString()).run(None, {})
    assert ran is None or actual.tolist() == ran
    claimed = absint.analyze(made)["y"]
    assert not list(against("y", claimed, actual, {}))
    assert isinstance(claimed, Tensor)
    assert claimed.contents is not None
    assert bool(claimed.contents.open) == bool(attributes)


def test_every_integer_attribute_is_a_number_or_a_flag() -> None:
    numbers = {"axis", "batch_dims", "group", "k", "to"}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and schema.name in EXACT:
            found = {n for n, a in schema.attributes.items() if a.type == onnx.defs.OpSchema.AttrType.INT}
            assert found <= numbers | FLAGS, (schema.name, found)


INT32_MAX = 2**31 - 1


@pytest.mark.parametrize(
    ("op", "array", "attributes", "ran"),
    [
        ("ReduceSum", [INT32_MAX, 1], {}, [INT32_MAX]),  # onnxruntime saturates, numpy wraps
        ("ReduceProd", [2**20, 2**20], {}, [INT32_MAX]),
        ("Unique", [3, 1, 3], {"sorted": 0}, [3, 1]),  # onnx.reference sorts the only output
        ("Unique", [3, 1, 3], {"sorted": 2}, [3, 1]),
    ],
)
def test_claims_hold_in_onnxruntime_where_the_reference_differs(
    op: str, array: list[int], attributes: dict[str, int], ran: list[int]
) -> None:
    x = np.array(array, np.int64 if op == "Unique" else np.int32)
    inputs = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), None)]
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name="y")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (actual,) = ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    assert actual.ravel().tolist() == ran
    assert not list(against("y", one_node(op, {"x": x}, **attributes)["y"], actual, {}))
