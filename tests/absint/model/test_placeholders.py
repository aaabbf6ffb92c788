"""Placeholders in place of names of dims, as `?` and `None`: unknown sizes, unless they are taken for names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import absint
from absint.cli import run
from absint.jobs.auditing import declared, judge
from absint.lattices.text.dim_params import is_placeholder

Dims = list[int | str | None]
PLACEHOLDERS = (
    "?", "??", "-1", "-2", "None", "none", "NULL", "unk", "<unk>", "unk__", "unknown", "Unknown_dim", "dynamic",
    "dynamic_axis", "dynamic_axes", "any", "*", "-", "_", "...", " ",
)  # fmt: skip
NAMES = (
    "unk__6",
    "None_1",
    "?1",
    "N",
    "batch",
    "1",
    "dim",
    "axis",
    "dynamic_batch",
    "unknown_3",
    "x_dim0",
    "nones",
    "é",
)


def relu(dims: Dims, inner: Dims | None = None, output: Dims | None = None, *others: Dims) -> ModelProto:
    """x [dims] through two nodes, whose value `h` and output `y` may be declared, beside other inputs."""
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    inputs += [helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, other) for n, other in enumerate(others)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)]
    infos = [] if inner is None else [helper.make_tensor_value_info("h", TensorProto.FLOAT, inner)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, value_info=infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dims_of(info: onnx.ValueInfoProto) -> Dims:
    return [dim.dim_param or dim.dim_value or None for dim in info.type.tensor_type.shape.dim]


def codes(result: absint.Result) -> list[str]:
    return [item.code for item in result.diagnostics]


def test_which_texts_are_placeholders() -> None:
    assert [text for text in PLACEHOLDERS if not is_placeholder(text)] == []
    assert [text for text in NAMES if is_placeholder(text)] == []


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_each_axis_is_a_size_of_its_own(text: str) -> None:
    result = absint.analyze(relu([text, 3, text], None, None, [text]))
    assert result.symbols == ("x_dim0", "x_dim2", "x0_dim0")
    assert str(result.shapes["y"]) == "[x_dim0, 3, x_dim2]"
    assert result.prove("x[0] == x[2]").verdict.value == "refuted"
    assert result.check({"x": [2, 3, 5], "x0": [7]}).ok
    as_declared = absint.analyze(relu([text, 3, text], None, None, [text]), names_as_declared=True)
    assert as_declared.symbols == (text,)
    assert as_declared.prove("x[0] == x[2]").verdict.value == "proved"


def test_names_beside_placeholders_keep_their_meaning() -> None:
    result = absint.analyze(relu(["N", "?", "unk__6", "?"], None, None, ["N", "unk__6"]))
    assert result.symbols == ("N", "x_dim1", "unk__6", "x_dim3")


def test_an_expression_over_a_placeholder_is_unknown() -> None:
    assert absint.analyze(relu(["unk", "unk + 1"])).symbols == ("x_dim0", "x_dim1")


def test_an_optional_and_a_replaceable_initialiser() -> None:
    model = relu(["N"])
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["?", "?"]))
    model.graph.input.append(helper.make_value_info("o", optional))
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, ["?", "?"]))
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((2, 2), np.float32), "w"))
    model.graph.node.append(helper.make_node("Neg", ["w"], ["v"]))
    model.graph.output.append(helper.make_tensor_value_info("v", TensorProto.FLOAT, None))
    result = absint.analyze(model)
    assert result.symbols == ("N", "o_dim0", "o_dim1")
    assert str(result.shapes["v"]) == "[_d0, _d1]"


@pytest.mark.parametrize(
    ("inputs", "severity", "start"),
    [
        ([["?", 3]], "info", "input 'x': 1 axis is declared '?', which names no size: it is unknown"),
        ([["?", 3, "?"]], "warning", "input 'x': 2 axes are declared '?', which names no size: each is unknown"),
        ([["?", "None"]], "info", "input 'x': 2 axes are declared '?' (or 'None'), which names no size: each is"),
        ([["?"], ["?", "-1"], ["N"]], "warning", "2 inputs: 3 axes are declared '?' (or '-1'), which names no size"),
    ],
)
def test_one_diagnostic_says_so(inputs: list[Dims], severity: str, start: str) -> None:
    model = relu(inputs[0], None, None, *inputs[1:])
    (said,) = absint.analyze(model).diagnostics
    assert str(said).startswith(f"{severity}: {start}")
    assert "--names-as-declared (names_as_declared=True)" in said.message
    assert absint.analyze(model, names_as_declared=True).diagnostics == ()


def test_declared_placeholders_claim_nothing() -> None:
    model = relu(["N", "M"], ["?", "?"], ["unk", "unk"])
    result = absint.analyze(model)
    assert codes(result) == []
    audit = judge(result, declared(model), confirm=True)
    assert {item.relation for item in audit.judged} == {"rank(h) == 2", "rank(y) == 2"}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.zeros((2, 3), np.float32)})[0].shape == (2, 3)


def test_a_placeholder_that_inputs_have_for_a_name_claims_that_size() -> None:
    model = relu(["?", "M"], ["?", "?"])
    assert codes(absint.analyze(model)) == ["placeholder-names"]
    assert codes(absint.analyze(model, names_as_declared=True)) == ["false-declaration"]


def test_declared_placeholders_of_a_body_and_of_a_function_claim_nothing() -> None:
    def infos(*names: str) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["?", "?"]) for name in names]

    nodes = [helper.make_node("Neg", ["h"], ["b"]), helper.make_node("Identity", ["c"], ["d"])]
    scalars = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", 9, [])]
    out = helper.make_tensor_value_info("d", 9, [])
    body = helper.make_graph(nodes, "body", [*scalars, *infos("h")], [out, *infos("b")])
    called = [helper.make_node("Relu", ["p"], ["q"]), helper.make_node("Neg", ["q"], ["r"])]
    function = helper.make_function("own", "F", ["p"], ["r"], called, [helper.make_opsetid("", 17)])
    function.value_info.extend(infos("q"))
    trips = numpy_helper.from_array(np.array(3), "trips")
    graph = helper.make_graph(
        [
            helper.make_node("Loop", ["trips", "", "x"], ["l"], body=body),
            helper.make_node("F", ["l"], ["y"], domain="own"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [trips],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    result = absint.analyze(helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=10))
    assert codes(result) == []
    assert str(result.shapes["y"]) == "[N, M]"


def test_a_size_that_only_a_run_tells_is_not_named_by_a_placeholder() -> None:
    model = relu(["N"])
    model.graph.node.append(helper.make_node("NonZero", ["x"], ["found"]))
    model.graph.output.append(helper.make_tensor_value_info("found", TensorProto.INT64, [1, "unknown"]))
    assert str(absint.analyze(model).shapes["found"]) == "[1, _d0]"


@pytest.mark.parametrize("dialect", ["absint", "sympy", "opaque"])
def test_copies_keep_placeholders_of_inputs(dialect: str) -> None:
    model = relu(["?", "N", "?"], ["?", "?", "?"], ["?", "?", "?"])
    copy = absint.analyze(model).annotate(dialect=dialect)
    assert dims_of(copy.graph.input[0])[::2] == ["?", "?"]
    written = [dims_of(info) for info in (*copy.graph.value_info, *copy.graph.output)]
    again = absint.analyze(copy)
    assert len(written[0]) == len(set(written[0]))
    assert written[0] == written[1]
    assert [item.code for item in again.diagnostics] == ["placeholder-names"]
    named = absint.analyze(model, names_as_declared=True).annotate(dialect=dialect)
    first, _, last = dims_of(named.graph.input[0])
    assert first == last
    assert (first == "?") is (dialect != "sympy")


def test_a_copy_at_sizes() -> None:
    result = absint.analyze(relu(["?", 3, "?"]), bind={"x_dim0": 4})
    assert dims_of(result.annotate().graph.input[0]) == [4, 3, "?"]
    frozen = absint.freeze(relu(["?", 3, "?"]), {"x": [4, 3, 5]})
    assert dims_of(frozen.graph.input[0]) == [4, 3, 5]


def test_outputs_that_are_declared_so_are_written() -> None:
    model = relu(["N", "M", 3, 4], None, ["?", "None", None, "own"])
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = -1
    assert dims_of(absint.analyze(model).annotate().graph.output[0]) == ["N", "M", 3, 4]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["check", "m.onnx", "x=2x3x5"], 0),
        (["prove", "m.onnx", "x[0] == x[2]"], 1),
        (["contract", "m.onnx"], 0),
        (["cost", "m.onnx"], 0),
        (["explain", "m.onnx", "y[0]"], 0),
        (["freeze", "m.onnx", "x=2x3x5", "-o", "out.onnx"], 0),
    ],
)
def test_commands_that_show_no_diagnostics_say_so_once(
    command: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(relu(["?", 3, "?"]), "m.onnx")
    assert run(command) == code
    assert capsys.readouterr().err.count("--names-as-declared") == 1
    run([*command, "--names-as-declared"])
    assert "--names-as-declared" not in capsys.readouterr().err


def test_a_size_for_a_placeholder_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(relu(["None", 3]), "m.onnx")
    assert run(["check", "m.onnx", "None=4"]) == 2
    assert "no input has a symbol 'None'; the input symbols are: x_dim0; --names-as-declared" in capsys.readouterr().err
    assert run(["check", "m.onnx", "None=4", "--names-as-declared"]) == 0


def test_no_axis_becomes_a_placeholder() -> None:
    with pytest.raises(absint.UsageError, match="expected the name of a symbol"):
        absint.analyze(relu([2, 3])).dynamize({"x": {0: "None"}})
