"""Elements of small tensors: what the specification says of them is what a run computes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime as ort
import pytest

from absint.research.specification.contents import computed, elements
from absint.research.specification.node import Input, Node
from absint.research.specification.terms import Formula, Term, term, variable

DATA = np.array([[3, -1, 0], [7, 2, -5]])
TRUTHS = np.array([[True, False, True], [False, False, True]])
FLOATS = np.float32([[2.5, -3.5, 0.5], [-0.5, 1.5, 4]])
EVEN = np.float32([[2, 4, 6], [4, 8, 0]])
TIES = np.int32([[3, 7, 7], [2, 1, 1]])
TWICE = [np.array([5, 6]), np.array([1, 1, 0])]
REDUCTIONS = ("add", "mul", "max", "min")
RUNNING = [(0, 0, 0), (1, 1, 0), (-1, 0, 1), (1, 1, 1)]
WAYS = ("LEFT", "RIGHT")
ARGS = ("ArgMax", "ArgMin")


def vector(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


CASES: list[tuple[str, int, list[np.ndarray], int, dict[str, object]]] = [
    # operator, opset, inputs, how many of them have elements that are symbols, attributes
    *[(op, 14, [DATA, vector(2, 3, 7)], 2, {}) for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")],
    *[("Div", 14, [DATA, vector(-2, 3, -7)], symbols, {}) for symbols in (1, 2)],
    *[("Mod", 14, [DATA, vector(-2, 3, -7)], symbols, {}) for symbols in (1, 2)],
    ("Div", 14, [DATA, vector(4)], 1, {}),
    ("Mod", 14, [DATA, vector(4)], 1, {}),
    *[(op, 13, [DATA], 1, {}) for op in ("Neg", "Abs", "Sign", "Identity")],
    *[(op, 13, [DATA], 1, {"axes": [1], "keepdims": 0}) for op in ("ReduceProd", "ReduceMax", "ReduceMin")],
    *[(op, 13, [DATA], 1, {}) for op in ("ReduceProd", "ReduceMax", "ReduceMin", "ReduceSum")],
    *[(op, 18, [DATA, vector(-2)], 1, {}) for op in ("ReduceProd", "ReduceMax", "ReduceMin", "ReduceSum")],
    ("ReduceSum", 13, [DATA, vector()], 1, {"noop_with_empty_axes": 1}),
    *[(op, 16, [DATA, vector(3, 2, 0)], 2, {}) for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")],
    *[(op, 13, [TRUTHS, TRUTHS[::-1]], 2, {}) for op in ("And", "Or")],
    ("Xor", 13, [TRUTHS, TRUTHS[::-1]], 2, {}),
    ("Not", 13, [TRUTHS], 1, {}),
    ("Where", 16, [TRUTHS, DATA, vector(1, 2, 3)], 3, {}),
    ("Relu", 14, [DATA.astype(np.int32)], 1, {}),
    ("Pow", 13, [DATA, vector(0, 1, 3)], 1, {}),
    *[("Clip", 13, [DATA, np.array(a), np.array(b)], 3, {}) for a, b in ((-1, 3), (4, 2))],
    ("Clip", 13, [DATA, np.array(1)], 2, {}),
    ("Clip", 10, [DATA.astype(np.float32)], 1, {"min": -1.0, "max": 3.0}),
    ("Clip", 10, [DATA.astype(np.float32)], 1, {"max": 2.0}),
    ("BitwiseNot", 18, [DATA], 1, {}),
    *[(f"Bitwise{name}", 18, [DATA, vector(6, -4, 9)], 0, {}) for name in ("And", "Or", "Xor")],
    *[("BitShift", 11, [abs(DATA).astype(np.uint64), np.uint64([1, 0, 2])], 1, {"direction": d}) for d in WAYS],
    ("BitShift", 11, [np.uint8([200, 3]), np.uint8([1, 7])], 1, {"direction": "LEFT"}),
    ("Cast", 13, [TRUTHS], 1, {"to": 7}),
    ("Cast", 13, [DATA], 1, {"to": 9}),
    ("Cast", 13, [DATA], 1, {"to": 6}),
    ("CastLike", 15, [TRUTHS, vector(1)], 1, {}),
    ("CastLike", 15, [DATA, np.array([True])], 1, {}),
    *[("ReduceMean", 18, [EVEN, vector(axis)], 0, {"keepdims": axis}) for axis in (0, 1)],
    *[(op, 13, [FLOATS], 0, {}) for op in ("Floor", "Ceil", "Round", "IsNaN", "IsInf")],
    ("Sqrt", 13, [np.float32([[0, 4], [9, 1]])], 0, {}),
    ("Reciprocal", 13, [np.float32([0.5, -0.25, 1])], 0, {}),
    ("Dropout", 13, [np.float32([0, 4])], 0, {}),
    ("Sum", 13, [FLOATS, FLOATS, np.float32([1, 3, -1])], 0, {}),
    ("Reshape", 14, [DATA, vector(0, -1, 1)], 1, {}),
    ("Reshape", 14, [DATA, vector(3, 2)], 1, {"allowzero": 1}),
    *[("Flatten", 13, [DATA], 1, {"axis": axis}) for axis in (0, 1, 2, -1)],
    ("Squeeze", 13, [DATA.reshape(1, 6, 1)], 1, {}),
    ("Squeeze", 13, [DATA.reshape(1, 6, 1), vector(-1)], 1, {}),
    ("Squeeze", 11, [DATA.reshape(1, 6, 1)], 1, {"axes": [0]}),
    ("Unsqueeze", 13, [DATA, vector(0, -1)], 1, {}),
    ("Unsqueeze", 11, [DATA], 1, {"axes": [1]}),
    ("Transpose", 13, [DATA], 1, {}),
    ("Transpose", 13, [DATA.reshape(1, 2, 3)], 1, {"perm": [2, 0, 1]}),
    ("Concat", 13, [DATA, DATA[:1]], 2, {"axis": 0}),
    ("Concat", 13, [DATA, DATA[:, :1]], 2, {"axis": -1}),
    ("Gather", 13, [DATA, vector(-1, 0)], 1, {"axis": 1}),
    ("Gather", 13, [DATA[0], np.array(1)], 1, {}),
    ("Gather", 13, [DATA, np.array([[1, 0], [0, 0]])], 1, {}),
    ("GatherElements", 13, [DATA, np.array([[2, -3], [0, 0]])], 1, {"axis": 1}),
    ("GatherElements", 13, [DATA, np.array([[1, 0, -1]])], 1, {}),
    ("GatherND", 13, [DATA, np.array([[1, -1], [0, 0]])], 1, {}),
    ("GatherND", 13, [DATA, np.array([[[1]], [[-2]]])], 1, {}),
    ("GatherND", 13, [DATA, np.array([[2], [-3]])], 1, {"batch_dims": 1}),
    ("GatherND", 13, [np.arange(12).reshape(2, 3, 2), np.array([[[1], [0]], [[2], [-3]]])], 1, {"batch_dims": 1}),
    ("Scatter", 10, [DATA, np.array([[2], [0]]), np.array([[8], [9]])], 1, {"axis": 1}),
    ("ScatterElements", 18, [DATA, np.array([[-1, 0]]), np.array([[8, 9]])], 1, {"axis": 1}),
    ("ScatterElements", 18, [DATA, np.array([[1, 0]]), np.array([[8, 9]])], 1, {"axis": 0}),
    *[("ScatterElements", 18, [*TWICE, vector(8, -9, 4)], 1, {"reduction": r}) for r in REDUCTIONS],
    ("ScatterND", 18, [DATA, np.array([[1], [-2]]), np.arange(6).reshape(2, 3)], 1, {}),
    ("ScatterND", 18, [DATA, np.array([[1, 2], [0, -3]]), vector(8, 9)], 1, {}),
    *[("ScatterND", 18, [TWICE[0], TWICE[1][:, None], vector(8, -9, 4)], 1, {"reduction": r}) for r in REDUCTIONS],
    *[("CumSum", 14, [DATA, np.array(axis)], 1, {"exclusive": e, "reverse": r}) for axis, e, r in RUNNING],
    *[("CumProd", 26, [DATA, np.array(axis)], 1, {"exclusive": e, "reverse": r}) for axis, e, r in RUNNING],
    *[(op, 13, [TIES], 1, {"axis": 1, "keepdims": k, "select_last_index": 1 - k}) for op in ARGS for k in (0, 1)],
    ("Pad", 18, [DATA, vector(1, -1, 0, 2), np.array(9)], 1, {}),
    ("Pad", 18, [DATA[0], vector(2, 1)], 1, {"mode": "constant"}),
    *[("Trilu", 14, [DATA, np.array(k)], 1, {"upper": upper}) for k in (-1, 0, 1) for upper in (0, 1)],
    ("Trilu", 14, [TRUTHS], 1, {}),
    ("Slice", 13, [DATA, vector(-2), vector(99), vector(1)], 1, {}),
    ("Slice", 13, [DATA, vector(-1), vector(-99), vector(1), vector(-1)], 1, {}),
    ("Slice", 13, [DATA, vector(9), vector(0), vector(1), vector(-2)], 1, {}),
    ("Slice", 13, [DATA, vector(1, 0), vector(2, -1)], 1, {}),
    ("Slice", 9, [DATA], 1, {"starts": [1], "ends": [3], "axes": [1]}),
    ("Slice", 9, [DATA], 1, {"starts": [1], "ends": [3]}),
    ("Split", 13, [DATA, vector(1, 2)], 1, {"axis": 1}),
    ("Split", 13, [DATA], 1, {"axis": 0}),
    ("Split", 18, [DATA], 1, {"axis": 1, "num_outputs": 2}),
    ("Split", 11, [DATA], 1, {"axis": -1, "split": [2, 1]}),
    ("Expand", 13, [DATA, vector(2, 1, 1)], 1, {}),
    ("Expand", 13, [DATA[0, :1], vector()], 1, {}),
    ("Tile", 13, [DATA, vector(2, 1)], 1, {}),
    ("ConstantOfShape", 13, [vector(2, 3)], 0, {"value": [4]}),
    ("ConstantOfShape", 13, [vector()], 0, {"value": [True]}),
    *[("Range", 13, [np.array(a), np.array(b), np.array(c)], 0, {}) for a, b, c in ((2, 9, 3), (5, 0, -2), (3, 3, 1))],
]


def test_every_operator_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(computed())


@pytest.mark.parametrize(("operator", "opset", "inputs", "symbols", "attributes"), CASES)
def test_elements_are_those_of_a_run(
    operator: str, opset: int, inputs: list[np.ndarray], symbols: int, attributes: dict[str, object]
) -> None:
    outputs = 2 if operator == "Split" else 1
    expected = run(operator, opset, inputs, outputs, attributes)
    binding: dict[str, int] = {}
    given = [described(array, f"x{place}" if place < symbols else "", binding) for place, array in enumerate(inputs)]
    found = elements(Node(operator, opset, given, attributes, outputs))  # type: ignore[arg-type]
    for items, array in zip(found, expected, strict=True):
        assert items is not None
        assert [value(item, binding) for item in items] == array.ravel().tolist()


def described(array: np.ndarray, name: str, binding: dict[str, int]) -> Input:
    """The input with a symbol for each element, or with its numbers if there is no name."""
    items: list[Term] = []
    for place, number in enumerate(array.ravel().tolist()):
        if not name:
            fraction = Fraction(number)
            whole = fraction.denominator == 1
            items.append(term(int(number)) if whole else Term("fraction", (fraction.numerator, fraction.denominator)))
            continue
        binding[f"{name}_{place}"] = int(number)
        items.append(variable(f"{name}_{place}"))
    dims = tuple(map(term, array.shape))
    if array.dtype == bool:
        return Input(dims, truths=tuple(item >= 1 for item in items), dtype="bool")
    return Input(dims, tuple(items), dtype=array.dtype.name)


def value(item: object, binding: dict[str, int]) -> int | bool:
    return item.holds(binding) if isinstance(item, Formula) else item.value(binding)  # type: ignore[attr-defined]


def run(
    operator: str, opset: int, inputs: list[np.ndarray], outputs: int, attributes: dict[str, object]
) -> list[np.ndarray]:
    real = dict(attributes)
    if operator == "ConstantOfShape":
        real["value"] = onnx.numpy_helper.from_array(np.array(real["value"]))
    names = [f"x{place}" for place in range(len(inputs))]
    results = [f"y{place}" for place in range(outputs)]
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(operator, names, results, **real)],
        "g",
        [
            onnx.helper.make_tensor_value_info(name, kind, array.shape)
            for name, kind, array in zip(names, kinds, inputs, strict=True)
        ],
        [onnx.helper.make_empty_tensor_value_info(name) for name in results],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


UNKNOWN = [
    ("Gather", [DATA, vector(3)], 2, {}),  # the places are symbols
    ("Gather", [DATA, vector(9)], 1, {}),  # it fails
    ("Cast", [DATA], 1, {"to": 1}),
    ("Mod", [DATA, DATA], 2, {"fmod": 1}),
    ("ConstantOfShape", [vector(2000)], 0, {"value": [1]}),
    ("Range", [np.array(0), np.array(9), np.array(1)], 3, {}),
    ("Split", [DATA, vector(2, 2)], 1, {"axis": 1}),
    ("Sin", [DATA], 1, {}),
    ("Sqrt", [np.float32([2])], 0, {}),
    ("Sqrt", [np.float32([-4])], 0, {}),
    ("Reciprocal", [np.float32([0])], 0, {}),
    ("Floor", [DATA], 1, {}),
    ("Neg", [np.float32([0.5])], 0, {}),
    ("Identity", [np.float32([0.5])], 0, {}),
    ("Pow", [DATA, vector(-1)], 1, {}),
    ("Pad", [DATA[:0], vector(1, 0, 1, 0)], 1, {}),
    ("BitwiseNot", [abs(DATA).astype(np.uint8)], 1, {}),
    ("CastLike", [DATA, np.int8([1])], 1, {}),
    ("ConstantOfShape", [vector(2)], 0, {}),  # the caller may have dropped the value
    ("Pad", [DATA, vector(1, 1, 1, 1)], 1, {"mode": "edge"}),
    ("Pad", [DATA, vector(0, -4, 0, 2)], 1, {}),
    ("GatherElements", [DATA, np.array([[3]])], 1, {"axis": 1}),
    ("ScatterElements", [TWICE[0], vector(1, 1), vector(8, 9)], 1, {}),  # in either order
    ("Dropout", [np.float32([1]), np.float32(0.5), np.array(True)], 0, {}),
    ("And", [DATA, DATA], 2, {}),
]


@pytest.mark.parametrize(("operator", "inputs", "symbols", "attributes"), UNKNOWN)
def test_nothing_is_said_where_elements_are_not_decided(
    operator: str, inputs: list[np.ndarray], symbols: int, attributes: dict[str, object]
) -> None:
    given = [described(array, f"x{place}" if place < symbols else "", {}) for place, array in enumerate(inputs)]
    assert elements(Node(operator, 13, given, attributes)) == (None,)  # type: ignore[arg-type]


def test_an_input_without_elements_has_none_to_compute_with() -> None:
    typeless = Input((), (term(1),))
    for operator in ("BitwiseNot", "BitShift", "CastLike"):
        assert elements(Node(operator, 18, [typeless] * 2, {"direction": "LEFT"})) == (None,)
    for missing in (None, Input((term(2),)), Input((variable("N"),), (term(1),))):
        given = [missing, Input((term(1),), (term(0),))]
        assert elements(Node("Gather", 13, given)) == (None,)


def test_symbols_of_every_sign_are_divided_as_runs_divide() -> None:
    given = [Input((), (variable("a"),)), Input((), (variable("b"),))]
    for operator, expected in (("Div", lambda a, b: int(a / b)), ("Mod", lambda a, b: a % b)):
        ((item,),) = elements(Node(operator, 13, given))  # type: ignore[misc]
        for a, b in itertools.product(range(-7, 8), (-3, -2, -1, 1, 2, 3)):
            assert value(item, {"a": a, "b": b}) == expected(a, b)  # type: ignore[no-untyped-call]
