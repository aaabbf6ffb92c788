"""Elements are claimed only where they are those of the output: rules that once handed on what they should not."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from absint import analyze
from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, const
from absint.lattices.value import Tensor
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from tests.runs import Runs
from tests.transfer.harness import Arg, Case, run_case, sizes

INT64 = TensorProto.INT64
FLOAT = TensorProto.FLOAT


def model(op: str, arrays: list[np.ndarray | None], domain: str, outputs: int = 1, **attributes: object) -> ModelProto:
    """One node of constants."""
    names = ["" if a is None else f"c{i}" for i, a in enumerate(arrays)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    constants = [numpy_helper.from_array(a, f"c{i}") for i, a in enumerate(arrays) if a is not None]
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in node.output]
    graph = helper.make_graph([node], "g", [], results, constants)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(domain, 1)], ir_version=10
    )


def floats(*shape: int) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("op", "arrays", "outputs", "attributes"),
    [
        ("MoE", [floats(2, 4), floats(2, 3), floats(3, 5, 4), None, floats(3, 4, 5)], 1, {"k": 1}),
        ("LinearAttentionGate", [floats(1, 2, 4), floats(4), floats(4), floats(1, 2, 4)], 2, {}),
    ],
)
def test_a_layer_does_not_give_back_its_input(
    op: str, arrays: list[np.ndarray | None], outputs: int, attributes: dict[str, object]
) -> None:
    runs = Runs(model(op, arrays, "com.microsoft", outputs, **attributes))
    assert not runs.wrong({})
    assert str(runs.result["y0"]) == f"Tensor({runs.result['y0'].dtype}{list(arrays[0].shape)})"


ONES = Arg(["N", "M"], INT64, data=lambda shape, rng: np.ones(shape))


@pytest.mark.parametrize(
    "case",
    [
        Case("Pad", [ONES, Arg(["K"], INT64, low=0, high=3)], bindings=sizes(N=[0, 2], M=[1, 3], K=[4])),
        Case("Pad", [ONES, Arg([4], INT64, low=-1, high=3)], bindings=sizes(N=[2], M=[1, 3])),
        Case("Pad", [ONES, Arg([2], INT64), None, Arg([1], INT64, high=2)], bindings=sizes(N=[1, 2], M=[1, 3])),
        Case("Pad", [ONES, Arg(elements=[0, -1, 0, 0], dtype=INT64)], bindings=sizes(N=[1, 2], M=[1, 3])),
        Case("Pad", [ONES, Arg(elements=[0, 1, 0, "K"], dtype=INT64)], bindings=sizes(N=[1, 2], M=[1, 3], K=[0, 2])),
        Case("Pad", [ONES, Arg([4], INT64, low=0, high=2)], {"mode": "edge"}, bindings=sizes(N=[1, 2], M=[1, 3])),
        Case(
            "Concat",
            [ONES, Arg(["K", "L"], INT64)],
            {"axis": 0},
            bindings=sizes(N=[0, 1], M=[0, 2], K=[0, 1], L=[0, 2]),
        ),
    ],
    ids=str,
)
def test_fills_are_those_of_the_run(case: Case) -> None:
    assert run_case(case)


def test_fills_of_empty_inputs_that_differ() -> None:
    """onnxruntime makes an output with elements of them, which nobody has written."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape0"], ["a"]),
        helper.make_node("ConstantOfShape", ["shape1"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["c"], axis=1),
        helper.make_node("Concat", ["a", "a"], ["d"], axis=1),
    ]
    names = ["shape0", "shape1"]
    inputs = [helper.make_tensor_value_info(name, INT64, [2]) for name in names]
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in ("c", "d")]
    result = analyze(helper.make_model(helper.make_graph(nodes, "g", inputs, results), ir_version=10))
    assert result["c"].contents is None
    assert str(result["d"].contents) == "all 0"


@pytest.mark.parametrize(("pads", "bounds"), [([-1, 0], 7), (["K", 1], (0, 7)), ([-1, 1], (0, 7))])
def test_equal_elements_that_are_padded(pads: list[object], bounds: object) -> None:
    x = Tensor(DType.INT64, Shape(["N"]), Contents.fill(const(7)))
    sizes = Tensor(DType.INT64, Shape([2]), Contents.vector([Dim(pad) for pad in pads]))
    rule = shipped().lookup("", "Pad", 20)
    assert rule is not None
    (found,) = apply(rule, Op(rule, [x, sizes], version=20)).outputs
    assert isinstance(found, Tensor)
    assert found.contents is not None
    (element,) = found.contents.elements
    assert isinstance(element, Dim)
    assert (element.const if isinstance(element, Expr) else tuple(element.bounds)) == bounds


def test_sizes_made_of_padded_ones() -> None:
    """Pads that are not known: the product of the padded sizes is not 1."""
    nodes = [
        helper.make_node("ConstantOfShape", ["n"], ["ones"], value=helper.make_tensor("v", INT64, [1], [1])),
        helper.make_node("Pad", ["ones", "pads", "", "axes"], ["padded"]),
        helper.make_node("ReduceMax", ["padded"], ["most"], keepdims=1),
        helper.make_node("ReduceMin", ["padded"], ["least"], keepdims=1),
        helper.make_node("Expand", ["x", "least"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, [1]),
        helper.make_tensor_value_info("pads", INT64, ["K"]),
        helper.make_tensor_value_info("axes", INT64, ["L"]),
    ]
    outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
    constants = [numpy_helper.from_array(np.array([2], np.int64), "n")]
    built = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, constants),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=10,
    )
    runs = Runs(built, data={"pads": lambda shape, rng: np.array([0, 1]), "axes": lambda shape, rng: np.array([0])})
    assert not runs.wrong({"K": 2, "L": 1})
