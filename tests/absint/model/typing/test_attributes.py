"""Types that attributes ask for, and types that single operators compare: what onnxruntime refuses is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

import absint
from tests.absint.model.typing.building import model, node, told
from tests.absint.model.typing.mutations import NAMES
from tests.absint.model.typing.runtime import refusal

ML = "ai.onnx.ml"
TREE = {
    "n_targets": 1, "nodes_featureids": [0], "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [0]),
    "nodes_truenodeids": [0], "nodes_falsenodeids": [1], "nodes_trueleafs": [1], "nodes_falseleafs": [1],
    "tree_roots": [0], "leaf_targetids": [0, 0],
}  # fmt: skip


def tensor(*numbers: float, dtype: type = np.float32) -> TensorProto:
    """A tensor attribute."""
    return numpy_helper.from_array(np.array(numbers, dtype))


def tree(splits: type, weights: type) -> NodeProto:
    """A tree of one split."""
    tensors = {"nodes_splits": tensor(1, dtype=splits), "leaf_weights": tensor(1, 2, dtype=weights)}
    return node("TreeEnsemble", ["x"], ["y"], domain=ML, **tensors, **TREE)


REFUSED: dict[str, tuple[list[NodeProto], str]] = {
    "no number of an element type": (
        [node("Cast", ["x"], ["y"], to=99)],
        "attribute to must be an element type, found 99",
    ),
    "the number of no element type": (
        [node("Cast", ["x"], ["y"], to=0)],
        "attribute to must be an element type, found 0",
    ),
    "a matrix of no element type": (
        [node("Unsqueeze", ["x", "m"], ["u"]), node("EyeLike", ["u"], ["y"], dtype=-1)],
        "attribute dtype must be an element type, found -1",
    ),
    "a sequence of no element type": (
        [node("SequenceEmpty", [], ["y"], dtype=99)],
        "attribute dtype must be an element type, found 99",
    ),
    "another width": (
        [node("BitCast", ["x"], ["y"], to=TensorProto.INT64)],
        "both types must have the same width, found FLOAT of 32 bits and INT64 of 64",
    ),
    "an element of another type": (
        [node("SequenceConstruct", ["x"], ["s"]), node("SequenceInsert", ["s", "k"], ["y"])],
        "the tensor must be FLOAT as the sequence is, found INT64",
    ),
    "an element of an empty sequence": (
        [node("SequenceEmpty", [], ["s"]), node("SequenceInsert", ["s", "k"], ["y"])],
        "the tensor must be FLOAT as the sequence is, found INT64",
    ),
    "elements of two types": (
        [node("SequenceConstruct", ["x", "k"], ["y"])],
        "inputs inputs[0] and inputs[1] must share one element type, found FLOAT and INT64",
    ),
    "keys of another type": (
        [node("LabelEncoder", ["k"], ["y"], domain=ML, keys_strings=["a"], values_int64s=[1])],
        "input X and attribute keys_strings must share one element type, found INT64 and STRING",
    ),
    "a tensor of keys": (
        [node("LabelEncoder", ["x"], ["y"], domain=ML, keys_tensor=tensor(1, dtype=np.float64), values_int64s=[1])],
        "input X and attribute keys_tensor must share one element type, found FLOAT and DOUBLE",
    ),
    "splits of a tree": (
        [tree(np.float64, np.float32)],
        "input X and attribute nodes_splits must share one element type, found FLOAT and DOUBLE",
    ),
    "weights of a tree": (
        [tree(np.float32, np.float64)],
        "input X and attribute leaf_weights must share one element type, found FLOAT and DOUBLE",
    ),
    "a map of another key": (
        [node("ZipMap", ["k"], ["y"], domain=ML, classlabels_int64s=[1])],
        "input X is INT64; ZipMap-1 takes FLOAT",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnxruntime_does_not_load(name: str) -> None:
    nodes, message = REFUSED[name]
    made = model(nodes, opset=26 if nodes[0].op_type == "BitCast" else 17)
    assert refusal(made)
    (error,) = told(made)
    assert error.partition("): ")[2] == f"{message} [ill-typed]"


ASKED: list[tuple[str, str, int, tuple[str, ...], dict[str, Any]]] = [
    ("Cast", "to", 21, ("x",), {}),
    ("Cast", "to", 9, ("x",), {}),
    ("EyeLike", "dtype", 9, ("u",), {}),
    ("RandomNormal", "dtype", 1, (), {"shape": [2]}),
    ("RandomUniform", "dtype", 1, (), {"shape": [2]}),
    ("RandomNormalLike", "dtype", 1, ("x",), {}),
    ("RandomUniformLike", "dtype", 1, ("x",), {}),
    ("Multinomial", "dtype", 7, ("u",), {}),
    ("Bernoulli", "dtype", 15, ("x",), {}),
    ("HannWindow", "output_datatype", 17, ("m",), {}),
    ("BlackmanWindow", "output_datatype", 17, ("m",), {}),
    ("SequenceEmpty", "dtype", 11, (), {}),
    ("ConstantOfShape", "value", 21, ("k",), {}),
    ("ConstantOfShape", "value", 9, ("k",), {}),
    ("Constant", "value", 9, (), {}),
    ("Constant", "value", 21, (), {}),
]


def asking(operator: str, attribute: str, opset: int, names: tuple[str, ...], more: dict[str, Any], dtype: int) -> Any:
    """A model whose node is asked for an element type."""
    wanted: object = dtype
    if attribute == "value":
        wanted = helper.make_tensor("v", dtype, [1], [b"a"] if dtype == TensorProto.STRING else [1])
    shape = [node("Reshape", ["x", "k"], ["u"])] if names == ("u",) else []
    return model([*shape, node(operator, names, ["y"], **{attribute: wanted}, **more)], opset=opset)


@pytest.mark.parametrize("case", ASKED, ids=lambda case: f"{case[0]}-{case[2]}")
def test_no_type_that_onnxruntime_gives_is_an_error(
    case: tuple[str, str, int, tuple[str, ...], dict[str, Any]],
) -> None:
    """An error only where the schema forbids the type and onnxruntime does not give it."""
    allowed = onnx.defs.get_schema(case[0], case[2], "").outputs[0].types
    for dtype in NAMES:
        if case[1] == "value" and dtype in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            continue
        text = f"seq(tensor({NAMES[dtype]}))" if case[0] == "SequenceEmpty" else f"tensor({NAMES[dtype]})"
        made = asking(*case, dtype)
        error = any(d.code == "ill-typed" for d in absint.analyze(made, refine=False).diagnostics)
        if error:
            assert text not in allowed
            assert not loads(made), text
        elif not loads(made):
            assert text in {*allowed, *newest(case[0])}


def newest(operator: str) -> set[str]:
    """The result of the newest version of an operator, or of the Cast that onnxruntime makes of it."""
    casts = operator in ("Bernoulli", "HannWindow", "BlackmanWindow")
    return set(onnx.defs.get_schema("Cast" if casts else operator).outputs[0].types)


def loads(made: onnx.ModelProto) -> bool:
    """A session can be made: here a missing kernel counts, too."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


def test_what_a_cast_may_not_give() -> None:
    (error,) = told(model([node("Cast", ["x"], ["y"], to=TensorProto.COMPLEX64)]))
    assert error.startswith(
        'error: Cast #0 (output "y"): output output would be COMPLEX64; Cast-13 gives FLOAT, UINT8, '
    )
