"""Models that no runtime loads, or that fail in every run: errors, and no answer takes them for legal.

`REFUSED` are refused by onnxruntime as well, `BY_THE_SPECIFICATION` hold operators that it does not have. What it runs
although onnx's inference refuses it stays legal (`RUN`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

import absint
from absint.diagnostics import Severity
from absint.questions.sizes.outcomes import Outcome

FLOAT, INT64, STRING, UINT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.UINT8
HUGE = (1 << 63) - 1


def info(name: str, dims: Sequence[int | str] | None, kind: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def one(
    operator: str,
    inputs: Sequence[ValueInfoProto | str],
    opset: int = 17,
    constants: dict[str, np.ndarray] | None = None,
    *,
    outputs: int = 1,
    kind: int = FLOAT,
    domain: str = "",
    **attributes: object,
) -> ModelProto:
    """One node `n`; strings are names of constants, or inputs that are left out."""
    names = [item if isinstance(item, str) else item.name for item in inputs]
    outs = [f"y{at}" for at in range(outputs)]
    made = helper.make_node(operator, names, outs, "n", domain=domain, **attributes)
    graph = helper.make_graph(
        [made],
        "g",
        [item for item in inputs if not isinstance(item, str)],
        [info(name, None, kind) for name in outs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def with_constant(change: str) -> ModelProto:
    """Add of an input and an initialiser of two elements, which is an input too; then something is broken."""
    model = one("Add", [info("x", ["N", 2]), "w"], constants={"w": np.ones(2, np.float32)})
    tensor = model.graph.initializer[0]
    if change == "data":
        tensor.raw_data = b"\0" * 7
    elif change == "sign":
        tensor.dims[0] = -2
    elif change == "type":
        tensor.data_type = TensorProto.UNDEFINED
    else:
        dims, kind = {"rank": ([2, 2], FLOAT), "size": ([3], FLOAT), "element type": ([2], INT64)}[change]
        model.graph.input.append(info("w", dims, kind))
    return model


def with_tensor(tensor: TensorProto) -> ModelProto:
    """Add of an input and a Constant."""
    model = one("Add", [info("x", ["N"], tensor.data_type), "w"], kind=tensor.data_type)
    model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], "c", value=tensor))
    return model


def narrow(data_type: int, numbers: Sequence[int]) -> ModelProto:
    """Numbers that need more bits than their type has, in an initialiser, and cast to INT64."""
    tensor = TensorProto(name="w", data_type=data_type, dims=[len(numbers)])
    (tensor.uint64_data if data_type == TensorProto.UINT32 else tensor.int32_data).extend(numbers)
    model = one("Cast", ["w"], kind=INT64, to=INT64)
    model.graph.initializer.append(tensor)
    return model


def untyped_input() -> ModelProto:
    model = one("Relu", [info("x", [2])])
    model.graph.input[0].ClearField("type")
    return model


def called(outputs: list[str]) -> ModelProto:
    body = [helper.make_node("Identity", ["a"], ["b"]), helper.make_node("Identity", ["a"], ["c"])]
    function = helper.make_function("local", "F", ["a"], ["b", "c"], body, [helper.make_opsetid("", 17)])
    call = helper.make_node("F", ["x"], outputs, "n", domain="local")
    graph = helper.make_graph([call], "g", [info("x", [1])], [info("y", [1])])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8)


def looped(operator: str, item: ValueInfoProto, **attributes: object) -> ModelProto:
    """The node in the body of a loop of `x_trips` trips, which collects what it computes."""
    inner = helper.make_node(operator, [item.name], ["slice"], "n", **attributes)
    going = helper.make_node("Identity", ["going"], ["still"])
    body = helper.make_graph(
        [going, inner],
        "body",
        [info("i", [], INT64), info("going", [], TensorProto.BOOL)],
        [info("still", [], TensorProto.BOOL), ValueInfoProto(name="slice")],
    )
    loop = helper.make_node("Loop", ["x_trips", "go"], ["y0"], "loop", body=body)
    graph = helper.make_graph(
        [loop],
        "g",
        [item, info("x_trips", [], INT64)],
        [ValueInfoProto(name="y0")],
        [numpy_helper.from_array(np.array(True), "go")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def sequence(
    operator: str,
    inputs: Sequence[ValueInfoProto | str],
    constants: dict[str, np.ndarray],
    *,
    domain: str = "",
    **attributes: object,
) -> ModelProto:
    """One node whose output is no tensor."""
    model = one(operator, inputs, constants=constants, domain=domain, **attributes)
    model.graph.output[0].ClearField("type")
    return model


def without_elements(attribute: str, model: ModelProto) -> ModelProto:
    """The node with a list of no integers as an attribute."""
    model.graph.node[0].attribute.append(AttributeProto(name=attribute, type=AttributeProto.INTS))
    return model


def encoder(**attributes: object) -> ModelProto:
    return one("LabelEncoder", [info("x", [3], STRING)], domain="ai.onnx.ml", kind=INT64, **attributes)


def ensemble(**changes: object) -> ModelProto:
    """A TreeEnsemble of one node and two leaves, with some attributes changed."""
    attributes: dict[str, object] = {
        "n_targets": 1, "tree_roots": [0], "nodes_featureids": [0], "nodes_truenodeids": [0], "nodes_falsenodeids": [1],
        "nodes_trueleafs": [1], "nodes_falseleafs": [1], "leaf_targetids": [0, 0],
        "nodes_splits": numpy_helper.from_array(np.ones(1, np.float32)),
        "nodes_modes": numpy_helper.from_array(np.zeros(1, np.uint8)),
        "leaf_weights": numpy_helper.from_array(np.ones(2, np.float32)),
    }  # fmt: skip
    return one("TreeEnsemble", [info("x", ["N", 1])], domain="ai.onnx.ml", **attributes | changes)


X, IMAGE, W = info("x", ["N", 4]), info("x", ["N", 1, 5, 5]), info("w", [1, 1, 3, 3])
TEXTS = numpy_helper.from_array(np.array(["a", "b"], object))
REFUSED: dict[str, tuple[ModelProto, str]] = {
    "too many inputs": (one("Relu", [X, info("w", [1])]), "Relu-14 must have 1 input, found 2"),
    "too few inputs": (one("Add", [X]), "Add-14 must have 2 inputs, found 1"),
    "too many outputs": (one("Relu", [X], outputs=2), "Relu-14 must have 1 output, found 2"),
    "no output": (one("Split", [X], outputs=0), "Split-13 must have at least 1 output, found 0"),
    "required attribute": (one("Cast", [X]), "required attribute to of Cast-13 is missing"),
    "negative pads of Conv": (one("Conv", [IMAGE, W], pads=[-1, 0, 0, 0]), "pads must not be negative, found [-1, 0, "),
    "negative pads of ConvTranspose": (one("ConvTranspose", [IMAGE, W], pads=[0, 0, 0, -1]), "pads must not be nega"),
    "negative pads of MaxPool": (
        one("MaxPool", [IMAGE], kernel_shape=[2, 2], pads=[-1, 0, 0, 0]),
        "the pads of a pool must not be negative, found [-1, 0, 0, 0]",
    ),
    "negative pads of AveragePool": (
        one("AveragePool", [IMAGE], kernel_shape=[2, 2], pads=[0, -1, 0, 0]),
        "the pads of a pool must not be negative",
    ),
    "pads and auto_pad": (
        one("Conv", [IMAGE, W], pads=[0, 0, 0, 0], auto_pad="VALID"),
        "pads must be left out if auto_pad is VALID",
    ),
    "Softmax of a scalar": (one("Softmax", [info("x", [])]), "Softmax needs an axis, found a scalar"),
    "Hardmax of a scalar": (one("Hardmax", [info("x", [])], 11), "Hardmax needs an axis, found a scalar"),
    "negative axis of an old Flatten": (
        one("Flatten", [X], 9, axis=-1),
        "axis must not be negative before opset 11, found -1",
    ),
    "axis of Softmax": (one("Softmax", [X], axis=2), "axis 2 is out of range for rank 2; type inference refuses it"),
    "axis of Hardmax": (one("Hardmax", [X], 11, axis=-3), "axis -3 is out of range for rank 2; type inference refuses"),
    "axis of LogSoftmax in a loop": (
        looped("LogSoftmax", X, axis=3),
        "axis 3 is out of range for rank 2; type inference refuses it as a runtime loads the model",
    ),
    "ratio of Dropout": (
        one("Dropout", [X, "r"], constants={"r": np.full(1, 0.5, np.float32)}),
        "ratio must be a scalar, found shape [1]; type inference refuses it",
    ),
    "training_mode of Dropout": (
        one("Dropout", [X, "", "t"], constants={"t": np.zeros((1, 1), bool)}),
        "training_mode must be a scalar, found shape [1, 1]; type inference refuses it",
    ),
    "shape of Expand": (one("Expand", [X, info("s", [], INT64)]), "shape must have rank 1, found shape []; type infer"),
    "Concat of an empty input that differs": (
        one("Concat", [info("x", ["N", 1]), info("w", [2, 2])], axis=0),
        "the inputs must agree on axis 1, found 1 and 2; type inference refuses it",
    ),
    "split without elements": (
        sequence("SplitToSequence", [X, "s"], {"s": np.zeros(0, np.int64)}),
        "split must have elements, found none; type inference refuses it",
    ),
    "weights of a loss": (
        one("NegativeLogLikelihoodLoss", [X, info("t", ["N"], INT64), info("w", [4, 1])]),
        "weight must have rank 1, found shape [4, 1]; type inference refuses it",
    ),
    "Optional of nothing": (sequence("Optional", [], {}), "Optional must have an input or the attribute type, found n"),
    "one-sided DFT of complex numbers": (
        one("DFT", [info("x", [1, "N", 2])], onesided=1),
        "the last axis must have size 1 for a one-sided DFT, found 2; type inference refuses it as a runtime loads ",
    ),
    "ellipses of two widths": (
        one("Einsum", [info("x", [2, "N"]), info("w", ["N"])], equation="...,...->..."),
        "the ellipses must stand for the same number of axes, found 1, 2",
    ),
    "past key alone": (
        one(
            "Attention",
            [*(info(n, [1, 2, 4]) for n in "qkv"), "", info("p", [1, 2, 2, 2])],
            23,
            q_num_heads=2,
            kv_num_heads=2,
        ),
        "past_key and past_value must be given together, found past_key alone",
    ),
    "QuantizeLinear to two types": (
        one("QuantizeLinear", [X, info("s", []), info("z", [], UINT8)], 21, kind=UINT8, output_dtype=TensorProto.INT8),
        "output_dtype must be the type of y_zero_point, found INT8 and UINT8",
    ),
    "too large": (
        one("Concat", [info("x", ["N", HUGE]), info("w", ["N", 1])], axis=1),
        "no axis has 9223372036854775808 elements: a size fits 63 bits",
    ),
    "too large an input": (one("Relu", [info("x", [1 << 40, 1 << 30])]), "no tensor has shape [1099511627776, 10737"),
    "CategoryMapper": (
        one("CategoryMapper", [info("x", [3], STRING)], domain="ai.onnx.ml", kind=INT64, cats_int64s=[1, 2]),
        "cats_int64s and cats_strings must have the same length, found 2 and 0",
    ),
    "OneHotEncoder": (
        one("OneHotEncoder", [info("x", [3], INT64)], domain="ai.onnx.ml", cats_int64s=[1], cats_strings=["a"]),
        "one of cats_int64s and cats_strings must be given, found cats_int64s and cats_strings",
    ),
    "OneHotEncoder of nothing": (
        without_elements("cats_int64s", one("OneHotEncoder", [info("x", [3], INT64)], domain="ai.onnx.ml")),
        "OneHotEncoder must have categories, found none",
    ),
    "ZipMap of two types": (
        sequence(
            "ZipMap",
            [info("x", ["N", 2])],
            {},
            domain="ai.onnx.ml",
            classlabels_strings=["a", "b"],
            classlabels_int64s=[1, 2],
        ),
        "one of classlabels_strings and classlabels_int64s must hold values, found classlabels_strings and classlabels",
    ),
    "attribute of another type": (
        one("GlobalLpPool", [IMAGE], p=2.0),
        "attribute p of GlobalLpPool-2 must be INT, found FLOAT",
    ),
    "attribute of another type that is read": (
        one("Softmax", [X], axis=[1]),
        "attribute axis of Softmax-13 must be INT, found INTS",
    ),
    "split of an old Split without elements": (
        without_elements("split", one("Split", [info("x", [2])], 11)),
        "split must have a size for each output, found none; type inference refuses it",
    ),
    "Imputer of two types": (
        one("Imputer", [X], domain="ai.onnx.ml", imputed_value_floats=[1.0], imputed_value_int64s=[1]),
        "one of imputed_value_floats and imputed_value_int64s must hold values, found imputed_value_floats and imputed",
    ),
    "default of LabelEncoder has two elements": (
        encoder(keys_tensor=TEXTS, values_tensor=numpy_helper.from_array(np.ones(2, np.int64)), default_tensor=TEXTS),
        "default_tensor must hold one element in one axis, found shape [2]",
    ),
    "default of LabelEncoder of another type": (
        encoder(
            keys_tensor=TEXTS,
            values_tensor=numpy_helper.from_array(np.ones(2, np.int64)),
            default_tensor=numpy_helper.from_array(np.ones(1, np.int32)),
        ),
        "default_tensor must have the type of the values, found INT32 and INT64",
    ),
    "TreeEnsemble of two lengths": (
        ensemble(nodes_truenodeids=[0, 0]),
        "nodes_truenodeids must have as many entries as nodes_featureids, found 2 and 1",
    ),
    "leaves of two lengths": (
        ensemble(leaf_targetids=[0]),
        "leaf_weights must have as many entries as leaf_targetids, found 2 and 1",
    ),
    "leaves of two axes": (
        ensemble(leaf_weights=numpy_helper.from_array(np.ones((1, 2), np.float32))),
        "leaf_weights must have one axis, found shape [1, 2]",
    ),
    "data of another length": (
        with_constant("data"),
        "the initialiser must have the data of FLOAT[2], found another length",
    ),
    "initialiser without a type": (with_constant("type"), "the initialiser must have an element type, found 0"),
    "initialiser of a negative size": (with_constant("sign"), "its dims are [-2]: sizes are never negative"),
    "constant without all its data": (
        with_tensor(TensorProto(data_type=INT64, dims=[2], int64_data=[1])),
        "the tensor of value must have the data of INT64[2], found another length",
    ),
    "constant of a negative size": (
        with_tensor(TensorProto(data_type=INT64, dims=[-1])),
        "its dims are [-1]: sizes are never negative",
    ),
    "initialiser of another rank": (
        with_constant("rank"),
        "it is declared with shape [2, 2], and its initialiser has shape [2]",
    ),
    "initialiser of another size": (
        with_constant("size"),
        "it is declared with shape [3], and its initialiser has shape [2]",
    ),
    "initialiser of another type": (
        with_constant("element type"),
        "it is declared INT64, and its initialiser is FLOAT",
    ),
    "input without a type": (untyped_input(), "it must have a type, found none"),
    "call with too few outputs": (
        called(["y"]),
        "a call of function 'F' must name 2 outputs, found 1; an unused one has an empty name",
    ),
}

TWICE, NOWHERE = one("Relu", [X]), one("Relu", [X])
TWICE.graph.node.append(helper.make_node("Neg", ["x"], ["y0"]))
NOWHERE.graph.output.append(info("z", None))
REFUSED |= {
    "an output that exists": (TWICE, "output 'y0' has been computed before"),
    "an input from nowhere": (one("Add", [X, "z"]), "input 'z' is not computed by any node"),
    "an output from nowhere": (NOWHERE, "no node computes it"),
}

Q, SMALL = info("q", [1, 3, 4]), {"q_num_heads": 2, "kv_num_heads": 2}


def linear(rule: str, *gates: ValueInfoProto | str) -> ModelProto:
    inputs = [info(n, [1, "T", 4]) for n in "qkv"]
    return one("LinearAttention", [*inputs, "", *gates], 27, outputs=2, update_rule=rule, **SMALL)


BY_THE_SPECIFICATION: dict[str, tuple[ModelProto, str]] = {
    "unknown rule": (linear("other"), "update_rule must be one of linear, gated, delta, gated_delta, found 'other'"),
    "gate that is missing": (linear("gated"), "update_rule 'gated' needs input decay"),
    "gate that is not taken": (
        linear("linear", info("d", [1, "T", 2])),
        "update_rule 'linear' must have no input decay",
    ),
    "gate of another rank": (linear("gated", info("d", [1, 2])), "decay must have rank 3, found shape [1, 2]"),
    "gate of another width": (linear("gated", info("d", [1, "T", 3])), "the last dim of decay must be kv_num_heads ("),
    "windows": (
        one("Attention", [info(n, [1, 2, 4]) for n in "qkv"], 25, left_window_size=-2, **SMALL),
        "left_window_size must be -1 or more, found -2",
    ),
}


def zeros(model: ModelProto, size: int) -> dict[str, np.ndarray]:
    """Inputs of small sizes; every symbol has the given one."""
    kinds = {FLOAT: np.float32, INT64: np.int64, UINT8: np.uint8}
    return {
        item.name: np.zeros(
            [dim.dim_value or size for dim in item.type.tensor_type.shape.dim], kinds[item.type.tensor_type.elem_type]
        )
        for item in model.graph.input
    }


RUN: dict[str, ModelProto] = {
    "a false shape of an intermediate value": one("Transpose", [info("x", [2, 3])]),
    "unused outputs": called(["y", ""]),
    "heads beside inputs of rank 4": one("Attention", [info(n, [1, 2, 3, 2]) for n in "qkv"], 23, **SMALL),
    "one of two caches": one("Attention", [info(n, [1, 2, 4]) for n in "qkv"], 23, outputs=2, **SMALL),
    "sums that overflow": one(
        "Add", [info("x", [1], INT64), "c"], kind=INT64, constants={"c": np.array([HUGE], np.int64)}
    ),
    "split without sizes": without_elements("split", one("Split", [X], 11)),
    "numbers wider than UINT8": narrow(UINT8, [258, -1]),
    "numbers wider than INT16": narrow(TensorProto.INT16, [65537, 1 << 15]),
    "numbers wider than UINT32": narrow(TensorProto.UINT32, [(1 << 32) + 3]),
    "negative pads of Pad": one("Pad", [info("x", [5]), "p"], constants={"p": np.array([-1, -1])}),
}
RUN["a false shape of an intermediate value"].graph.value_info.append(info("y0", [7, 7]))

LOAD = """
import sys, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(sys.stdin.buffer.read(), options, providers=["CPUExecutionProvider"])
import numpy as np
feeds = {}
kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(uint8)": np.uint8, "tensor(string)": object}
for item in session.get_inputs():
    feeds[item.name] = np.zeros([d if isinstance(d, int) else 2 for d in item.shape], kinds[item.type])
session.run(None, feeds)
"""


def runs(model: ModelProto) -> bool:
    """onnxruntime loads and runs it, in a process of its own: it may end that."""
    found = subprocess.run(
        [sys.executable, "-c", LOAD], input=model.SerializeToString(), capture_output=True, check=False
    )
    return found.returncode == 0


def errors(result: absint.Result) -> list[str]:
    return [d.message for d in result.diagnostics if d.severity is Severity.ERROR]


ALL = {**REFUSED, **BY_THE_SPECIFICATION}


@pytest.mark.parametrize("name", ALL)
def test_it_is_an_error(name: str) -> None:
    model, text = ALL[name]
    result = absint.analyze(model)
    assert any(text in message for message in errors(result)), errors(result)
    assert not result.can_run


@pytest.mark.parametrize("name", ALL)
def test_no_answer_takes_it_for_legal(name: str) -> None:
    result = absint.analyze(ALL[name][0])
    sizes = dict.fromkeys(result.symbols, 2)
    assert result.check(sizes).outcome is Outcome.ILLEGAL
    assert not result.contract().allows(sizes)
    assert result.prove("1 == 2").verdict is absint.Verdict.CONTRADICTION
    if result.symbols:
        assert result.check_range(dict.fromkeys(result.symbols, (1, 3))).outcome is Outcome.ILLEGAL


@pytest.mark.parametrize("name", REFUSED)
def test_onnxruntime_refuses_it(name: str) -> None:
    if name != "too large":  # nobody can feed it
        assert not runs(REFUSED[name][0])


@pytest.mark.parametrize("name", RUN)
def test_what_onnxruntime_runs_is_no_error(name: str) -> None:
    assert runs(RUN[name])
    assert errors(absint.analyze(RUN[name])) == []


LOSS = [info("x", [2, 2]), info("t", [2], INT64), info("w", [1, 2])]
HIDDEN = {
    "Conv": ("Conv", [info("x", [1, 1, 5, 5]), W], {"pads": [-1, 0, 0, 0]}, "[1, 1, 2, 3]"),
    "DFT": ("DFT", [info("x", [1, 4, 2])], {"onesided": 1}, "[1, 3, 2]"),
    "Softmax": ("Softmax", [info("x", [0, 4])], {"axis": 3}, "[0, 4]"),
    "Concat": ("Concat", [info("x", [0, 1]), info("w", [2, 2])], {"axis": 0}, "[2, 2]"),
    "SoftmaxCrossEntropyLoss": ("SoftmaxCrossEntropyLoss", LOSS, {}, "[]"),
    "NegativeLogLikelihoodLoss": ("NegativeLogLikelihoodLoss", LOSS, {}, "[]"),
    "Dropout": ("Dropout", [info("x", [2, 4]), info("w", [1])], {}, "[2, 4]"),
    "Einsum": ("Einsum", [info("x", [2, 3]), info("w", [])], {"equation": "...,...->..."}, "[2, 3]"),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_where_inference_does_not_see_the_shapes_kernels_run_it(name: str) -> None:
    operator, inputs, attributes, shape = HIDDEN[name]
    model = one(operator, inputs, **attributes)
    node = model.graph.node.pop()
    model.graph.node.append(helper.make_node("Max", ["zero", "zero"], ["axis"]))
    for item in inputs:
        model.graph.node.append(helper.make_node("Unsqueeze", [item.name, "axis"], [f"{item.name}_u"]))
        model.graph.node.append(helper.make_node("Squeeze", [f"{item.name}_u", "axis"], [f"{item.name}_h"]))
    model.graph.node.append(node)
    del node
    model.graph.node[-1].input[:] = [f"{item.name}_h" for item in inputs]
    model.graph.initializer.append(numpy_helper.from_array(np.array([0]), "zero"))
    result = absint.analyze(model)
    assert errors(result) == []
    assert str(result.shapes["y0"]) == shape
    assert runs(model)


def test_a_node_in_dead_code_keeps_the_model_from_loading() -> None:
    inner = helper.make_node("CategoryMapper", ["s"], ["t"], domain="ai.onnx.ml", cats_int64s=[1])
    bodies = {
        "then_branch": body([helper.make_node("Identity", ["x"], ["a"])], "a"),
        "else_branch": body([inner, helper.make_node("Identity", ["x"], ["b"])], "b"),
    }
    model = one("Relu", [info("x", ["N"])])
    del model.graph.node[:]
    model.graph.input.append(info("s", [3], STRING))
    model.graph.node.append(helper.make_node("If", ["yes"], ["y0"], "n", **bodies))
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    assert not runs(model)
    assert "cats_int64s and cats_strings must have the same length" in errors(absint.analyze(model))[0]


def body(nodes: list[object], output: str) -> GraphProto:
    return helper.make_graph(nodes, "body", [], [info(output, None)])


def test_an_attribute_that_refers_to_one_of_the_function_is_there() -> None:
    cast = helper.make_node("Cast", ["a"], ["b"])
    cast.attribute.append(AttributeProto(name="to", ref_attr_name="kind", type=AttributeProto.INT))
    function = helper.make_function("local", "F", ["a"], ["b"], [cast], [helper.make_opsetid("", 17)], ["kind"])
    call = helper.make_node("F", ["x"], ["y"], "n", domain="local", kind=INT64)
    graph = helper.make_graph([call], "g", [info("x", [1])], [info("y", [1], INT64)])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8)
    assert runs(model)
    assert errors(absint.analyze(model)) == []


@pytest.mark.parametrize(
    ("operator", "constants", "text"),
    [
        ("Tile", {"c": np.array([HUGE])}, "no axis has"),
        ("Expand", {"c": np.array([-3])}, ""),
        ("Pad", {"c": np.array([HUGE, 1])}, "no axis has"),
    ],
)
def test_a_default_that_fails_is_an_error_of_its_own(
    operator: str, constants: dict[str, np.ndarray], text: str
) -> None:
    model = one(operator, [info("x", [5]), "c"], constants=constants)
    model.graph.input.append(info("c", list(constants["c"].shape), INT64))
    result = absint.analyze(model)
    found = [d for d in result.diagnostics if d.code == "defaults-fail"]
    assert all(d.severity is Severity.ERROR for d in found)
    if text:
        assert text in found[0].message
        assert found[0].message.startswith("cannot run with the file's values of initialisers that are inputs too: ")
    assert result.can_run  # a caller may replace the value
    assert bool(found) is not absint.analyze(model, defaults=True).can_run


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, -0.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,)])
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
def test_numbers_that_are_not_finite_are_data(number: float, dtype: type, shape: tuple[int, ...], raw: bool) -> None:
    weight = numpy_helper.from_array(np.full(shape, number, dtype), "c")
    if not raw:
        bits = np.full(shape, number, dtype).ravel()
        values = bits.view(np.uint16).tolist() if dtype is np.float16 else bits.tolist()
        weight = helper.make_tensor("c", weight.data_type, shape, values)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", weight.data_type, ["N"])],
        [helper.make_tensor_value_info("y", weight.data_type, None)],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert not absint.analyze(model).diagnostics
    assert absint.analyze(model.SerializeToString()).can_run


@pytest.mark.parametrize(
    ("data_type", "numbers", "kept"),
    [(UINT8, [258, -1], [2, 255]), (TensorProto.INT8, [130], [-126]), (TensorProto.UINT32, [(1 << 32) + 3], [3])],
)
def test_wide_fields_keep_their_low_bits(data_type: int, numbers: list[int], kept: list[int]) -> None:
    assert str(absint.analyze(narrow(data_type, numbers))["y0"]) == f"Tensor(INT64[{len(kept)}] = {kept})"
