"""Files that are no models, and models that lie: one line and exit code 2, or diagnostics and the rest analysed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.cli import run
from tests.models import parsed

EXAMPLE = Path(__file__).parents[3] / "examples" / "tiny_decoder.onnx"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info
node = helper.make_node


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto] | None = None,
    outputs: list[onnx.ValueInfoProto] | None = None,
    *,
    initializer: list[onnx.TensorProto] | None = None,
    opset: int = 18,
    functions: list[onnx.FunctionProto] | None = None,
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", FLOAT, ["N", 4])] if inputs is None else inputs,
        [value("y", FLOAT, None)] if outputs is None else outputs,
        initializer,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("my", 1)]
    built = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    return built.SerializeToString()


GOOD = model([node("Relu", ["x"], ["y"])])


def negative_tensor() -> onnx.TensorProto:
    return TensorProto(name="w", data_type=FLOAT, dims=[-1], float_data=[1.0])


def calling_itself(names: list[str]) -> list[onnx.FunctionProto]:
    """Functions of which each calls the next, and the last the first."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    return [
        helper.make_function("my", name, ["a"], ["b"], [node(after, ["a"], ["b"], domain="my")], opsets)
        for name, after in zip(names, [*names[1:], names[0]], strict=True)
    ]


def branch(name: str, read: str, output: str) -> onnx.GraphProto:
    return helper.make_graph([node("Relu", [read], [name], name="inner")], name, [], [value(output, FLOAT, None)])


CONDITIONAL = [value("x", FLOAT, ["N"]), value("c", BOOL, [])]

CALLING = parsed(
    """(float[N] x) => (float[N] y) { y = my.f(x) }
<domain: "my", opset_import: ["" : 18, "qqq" : 1]> f (a) => (b) { b = Relu(a) }""",
    domains={"my": 1},
).SerializeToString()

# What stands in for the path is MODEL.
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "text": (
        lambda: b"hello, this is a text file\n",
        "MODEL: not an ONNX model, or truncated (27 bytes do not parse as protobuf)",
    ),
    "empty": (lambda: b"", "MODEL: empty, not an ONNX model"),
    "truncated": (
        lambda: GOOD[: len(GOOD) // 2],
        f"MODEL: not an ONNX model, or truncated ({len(GOOD) // 2} bytes do not parse as protobuf)",
    ),
    "no-graph": (
        lambda: onnx.ModelProto(ir_version=8).SerializeToString(),
        "MODEL: not an ONNX model (it has no graph)",
    ),
    "empty-graph": (lambda: model([], [], []), "MODEL: not an ONNX model, or truncated (its graph is empty)"),
    "no-such-wire-type-in-a-node": (
        lambda: GOOD.replace(b"\x22\x04Relu", b"\x26\x04Relu"),
        f"MODEL: not an ONNX model, or truncated ({len(GOOD)} bytes do not parse as protobuf)",
    ),
    "cycle": (
        lambda: model(
            [
                node("Add", ["x", "b"], ["a"], name="first"),
                node("Relu", ["a"], ["b"], name="second"),
                node("Relu", ["b"], ["y"]),
            ]
        ),
        "MODEL: the graph has a cycle through node 'first' (output 'a'): a graph must be acyclic",
    ),
    "future-opset": (
        lambda: model([node("Relu", ["x"], ["y"])], opset=999),
        "MODEL: opset 999 of ai.onnx is not supported (the installed onnx package knows 1 to "
        f"{onnx.defs.onnx_opset_version()}; a newer one may know it)",
    ),
    "negative-opset": (
        lambda: model([node("Relu", ["x"], ["y"])], opset=-1),
        "MODEL: opset -1 of ai.onnx is not supported (the installed onnx package knows 1 to "
        f"{onnx.defs.onnx_opset_version()}; a newer one may know it)",
    ),
    "utf8-value": (lambda: GOOD.replace(b"\x01x", b"\x01\xff"), r"MODEL: a name in it is not valid UTF-8: b'\xff'"),
    "utf8-output": (
        lambda: model([node("Relu", ["x"], ["y"])], outputs=[value("zz", FLOAT, None)]).replace(b"zz", b"\xffz"),
        r"MODEL: a name in it is not valid UTF-8: b'\xffz'",
    ),
    "utf8-operator": (
        lambda: GOOD.replace(b"Relu", b"R\xff\xfeu"),
        r"MODEL: a name in it is not valid UTF-8: b'R\xff\xfeu'",
    ),
    "utf8-import-of-a-function": (
        lambda: CALLING.replace(b"qqq", b"q\xffq"),
        r"MODEL: a name in it is not valid UTF-8: b'q\xffq'",
    ),
    "utf8-attribute": (
        lambda: model([node("LeakyRelu", ["x"], ["y"], zzz=1.0)]).replace(b"zzz", b"z\xffz"),
        r"MODEL: a name in it is not valid UTF-8: b'z\xffz'",
    ),
    "utf8-input-of-a-function-that-nothing-calls": (
        lambda: CALLING.replace(b"\x01a", b"\x01\xff").replace(b"\x01f", b"\x01h", 1),
        r"MODEL: a name in it is not valid UTF-8: b'\xff'",
    ),
    "utf8-dim": (lambda: GOOD.replace(b"\x01N", b"\x01\xff"), r"a dim has a name that is not valid UTF-8: b'\xff'"),
}


@pytest.mark.parametrize("command", ["analyze", "annotate"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_model_is_told_in_one_line(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = REFUSED[name]
    path = tmp_path / "bad.onnx"
    path.write_bytes(content())
    target = ["-o", str(tmp_path / "out.onnx")] if command == "annotate" else []
    assert run([command, str(path), *target]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.replace(str(path), "MODEL") == f"absint: error: {message}\n"
    assert [p.name for p in tmp_path.iterdir()] == ["bad.onnx"]


def test_a_missing_file_and_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(tmp_path / "gone.onnx")]) == 2
    assert capsys.readouterr().err == f"absint: error: {tmp_path}/gone.onnx does not exist\n"
    for name in ("detector_v2.onnx", "decoder.ONNX", "notes.txt"):
        (tmp_path / name).touch()
    for given, meant in (("detektor_v2.onnx", "detector_v2.onnx"), ("Decoder", "decoder.ONNX"), ("notes", "")):
        assert run(["analyze", str(tmp_path / given)]) == 2
        hint = f"; did you mean '{tmp_path}/{meant}'?" if meant else ""
        assert capsys.readouterr().err == f"absint: error: {tmp_path}/{given} does not exist{hint}\n"
    assert run(["analyze", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"absint: error: {tmp_path} is a directory: give the path of the .onnx file in it\n"
    )


REPORTED: dict[str, tuple[Callable[[], bytes], list[str], str | None]] = {
    "undefined-input": (
        lambda: model([node("Add", ["x", "ghost"], ["y"], name="add")]),
        ["error: Add add: input 'ghost' is not computed by any node [undefined-input]"],
        None,
    ),
    "duplicate-output": (
        lambda: model([node("Relu", ["x"], ["y"], name="first"), node("Neg", ["x"], ["y"], name="second")]),
        ["error: Neg second: output 'y' has been computed before [duplicate-output]"],
        "[N, 4]",
    ),
    "undefined-output": (
        lambda: model([node("Relu", ["x"], ["z"])]),
        ["error: output 'y': no node computes it [undefined-output]"],
        None,
    ),
    "no-nodes": (lambda: model([], outputs=[value("x", FLOAT, ["N", 4])]), [], None),
    "recursion": (
        lambda: model([node("F", ["x"], ["y"], domain="my", name="call")], functions=calling_itself(["F"])),
        [
            "error: F call/#0: function 'F' calls itself; the call is left opaque [recursive-function]",
            "warning: my::F: no transfer rule (1 node); outputs are unknown [no-rule]",
        ],
        None,
    ),
    "mutual-recursion": (
        lambda: model([node("F", ["x"], ["y"], domain="my", name="call")], functions=calling_itself(["F", "G"])),
        [
            "error: F call/G#0/#0: function 'F' calls itself; the call is left opaque [recursive-function]",
            "warning: my::F: no transfer rule (1 node); outputs are unknown [no-rule]",
        ],
        None,
    ),
    "negative-initialiser": (
        lambda: model([node("Add", ["x", "w"], ["y"])], initializer=[negative_tensor()]),
        ["error: tensor 'w': its dims are [-1]: sizes are never negative [negative-size]"],
        None,
    ),
    "negative-input": (
        lambda: model([node("Relu", ["x"], ["y"])], inputs=[value("x", FLOAT, [-1, 4])]),
        [],
        "[x_dim0, 4]",
    ),
    "attribute-type": (
        lambda: model([node("Concat", ["x", "x"], ["y"], axis="zero", name="cat")]),
        ['error: Concat cat (output "y"): attribute axis of Concat-13 must be INT, found STRING [ill-formed]'],
        None,
    ),
    "missing-operand": (
        lambda: model([node("Relu", [], ["y"], name="relu")]),
        ['error: Relu relu (output "y"): Relu-14 must have 1 input, found 0 [ill-formed]'],
        None,
    ),
    "dangling-names-in-branches": (
        lambda: model(
            [
                node(
                    "If",
                    ["c"],
                    ["y"],
                    name="if",
                    then_branch=branch("t", "ghost", "t"),
                    else_branch=branch("e", "x", "gone"),
                )
            ],
            CONDITIONAL,
        ),
        [
            "error: Relu if/then_branch/inner: input 'ghost' is not computed by any node [undefined-input]",
            "error: if/else_branch: output 'gone' is not computed by any node [undefined-output]",
        ],
        None,
    ),
    "missing-branch": (
        lambda: model([node("If", ["c"], ["y"], name="if", then_branch=branch("t", "x", "t"))], CONDITIONAL),
        [
            "error: If if: attribute 'else_branch' (a graph) is missing [missing-attribute]",
            "warning: If: no transfer rule (1 node); outputs are unknown [no-rule]",
        ],
        None,
    ),
    "input-twice": (
        lambda: model([node("Relu", ["x"], ["y"])], inputs=[value("x", FLOAT, ["N"]), value("x", FLOAT, ["M"])]),
        ["error: input 'x': declared twice [duplicate-input]"],
        "[N]",
    ),
    "unsorted": (
        lambda: model([node("Relu", ["a"], ["y"]), node("Relu", ["x"], ["a"])]),
        ["warning: the graph: nodes are not in topological order; analysed in a sorted order [unsorted]"],
        "[N, 4]",
    ),
    "unknown-dtype": (lambda: model([node("Relu", ["x"], ["y"])], inputs=[value("x", 99, ["N"])]), [], "[N]"),
    "untyped-input": (
        lambda: model([node("Relu", ["x"], ["y"])], inputs=[onnx.ValueInfoProto(name="x")]),
        ["error: input x: it must have a type, found none [ill-formed]"],
        None,
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_can_be_analysed_is(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, diagnostics, shape = REPORTED[name]
    path = tmp_path / "odd.onnx"
    path.write_bytes(content())
    result = absint.analyze(path)
    assert [str(d) for d in result.diagnostics] == diagnostics
    found = result.shapes.get("y")
    assert (None if found is None or found.is_top else str(found)) == shape
    errors = any(text.startswith("error") for text in diagnostics)
    assert run(["analyze", str(path)]) == (1 if errors else 0)
    printed = capsys.readouterr()
    assert printed.err == ""
    for text in diagnostics:
        assert f"  {text.partition(': ')[2]}\n" in printed.out
    assert run(["annotate", str(path), "-o", str(tmp_path / "out.onnx")]) == 0
    assert onnx.load(tmp_path / "out.onnx").graph.name == "g"


def test_names_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "red.onnx"
    path.write_bytes(model([node("Relu", ["x"], ["\x1b[31m\ny"])], outputs=[value("\x1b[31m\ny", FLOAT, None)]))
    assert run(["analyze", str(path), "--values"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "  \\x1b[31m\\ny  FLOAT [N, 4]\n" in out


# Fuzzing: whatever the bytes are, the answer is a result or an error that a user can read.


def survives(content: bytes, policy: str) -> bool:
    """True if the bytes could be analysed; any exception but the documented ones passes through."""
    result = None
    try:
        result = absint.analyze(content)
        result.annotate(policy)  # type: ignore[arg-type]
    except (absint.ModelError, absint.UsageError) as error:
        message = str(error)
    else:
        message = "; ".join(d.message for d in result.diagnostics if d.code != "dim-text")
        assert not result.analysis.crashes
    assert "\n" not in message
    return result is not None


POLICIES = ["refine", "skip", "override", "strict"]


def without_weights(path: Path) -> bytes:
    """Most bytes of a model are weights, where a flip changes nothing."""
    proto = onnx.load(path)
    for tensor in proto.graph.initializer:
        if len(tensor.raw_data) > 64:
            tensor.ClearField("raw_data")
    return proto.SerializeToString()


def control_flow() -> bytes:
    """Every construct that lowering knows, in a few nodes."""
    loop = helper.make_graph(
        [node("Identity", ["go"], ["again"]), node("Relu", ["c"], ["r"]), node("Concat", ["r", "x"], ["c2"], axis=0)],
        "loop",
        [value("i", INT64, []), value("go", BOOL, []), value("c", FLOAT, ["Q", "P"])],
        [value("again", BOOL, []), value("c2", FLOAT, None), value("r", FLOAT, None)],
    )
    scan = helper.make_graph(
        [node("Add", ["s", "row"], ["s2"]), node("Identity", ["s2"], ["out"])],
        "scan",
        [value("s", FLOAT, None), value("row", FLOAT, None)],
        [value("s2", FLOAT, None), value("out", FLOAT, None)],
    )
    function = helper.make_function(
        "my", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    return model(
        [
            node("Loop", ["m", "", "x"], ["grown", "rows"], name="loop", body=loop),
            node(
                "If", ["c"], ["z"], name="if", then_branch=branch("t", "grown", "t"), else_branch=branch("e", "x", "e")
            ),
            node("Scan", ["w0", "x"], ["w", "ws"], name="scan", body=scan, num_scan_inputs=1),
            node("F", ["z"], ["zz"], domain="my"),
            node("Constant", [], ["k"], value=helper.make_tensor("k", INT64, [2], [0, -1])),
            node("Reshape", ["zz", "k"], ["y"]),
        ],
        [value("x", FLOAT, ["N", "P"]), value("w0", FLOAT, ["P"]), value("m", INT64, []), value("c", BOOL, [])],
        [value("y", FLOAT, ["K", "L"]), value("ws", FLOAT, None), value("rows", FLOAT, None)],
        functions=[function],
    )


@pytest.mark.parametrize("batch", range(4))
def test_flipped_and_truncated_bytes(batch: int) -> None:
    decoder = without_weights(EXAMPLE)
    analysed = 0
    for seed in range(batch * 40, batch * 40 + 40):
        rng = random.Random(seed)
        content = bytearray(decoder)
        if rng.random() < 0.2:
            del content[rng.randrange(len(content)) :]
        for _ in range(rng.choice([1, 2, 8, 64])):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        analysed += survives(bytes(content), rng.choice(POLICIES))
    assert analysed, "no mutant could be analysed: the test tests nothing"


@pytest.mark.parametrize("batch", range(2))
def test_flipped_bytes_of_control_flow(batch: int) -> None:
    original = control_flow()
    assert absint.analyze(original).diagnostics == ()
    analysed = 0
    for seed in range(batch * 300, batch * 300 + 300):
        rng = random.Random(seed)
        content = bytearray(original)
        for _ in range(rng.choice([1, 1, 2, 4])):
            content[rng.randrange(len(content))] = rng.choice([rng.randrange(256), rng.randrange(16), 255, 0])
        analysed += survives(bytes(content), rng.choice(POLICIES))
    assert analysed > 20


def mutated(proto: onnx.ModelProto, rng: random.Random) -> None:
    """Change one thing that a byte flip seldom reaches."""
    graph = rng.choice([proto.graph, *(a.g for n in proto.graph.node for a in n.attribute if a.HasField("g"))])
    if not graph.node:
        return
    item = rng.choice(graph.node)
    names = [name for other in graph.node for name in (*other.input, *other.output)] + [""]
    match rng.randrange(8):
        case 0 if item.input:
            item.input[rng.randrange(len(item.input))] = rng.choice(names)
        case 1 if item.input:
            del item.input[rng.randrange(len(item.input))]
        case 2:
            item.op_type = rng.choice(
                ["Loop", "If", "Scan", "Reshape", "Slice", "Where", "Range", "Expand", "Resize", "Tile", "Conv", "LSTM"]
            )
        case 3 if item.attribute:
            attribute = rng.choice(item.attribute)
            attribute.type = rng.randrange(15)
            attribute.i = rng.choice([-1, 0, -(2**63), 2**63 - 1])
        case 4 if item.attribute:
            del item.attribute[rng.randrange(len(item.attribute))]
        case 5:
            item.output.append(rng.choice([*names, "new"]))
        case 6 if item.output:
            del item.output[rng.randrange(len(item.output))]
        case 7 if graph.input:
            declared = rng.choice(graph.input).type
            if rng.random() < 0.3:
                declared.sequence_type.elem_type.tensor_type.elem_type = 1
            else:
                texts = ["N", "_d0", "2*", "N//0", "`", "N - P", "-1", " N", "((((", "max(N"]
                declared.tensor_type.shape.dim.add().dim_param = rng.choice(texts)


@pytest.mark.parametrize("batch", range(2))
def test_models_with_changed_parts(batch: int) -> None:
    original = onnx.load_from_string(control_flow())
    analysed = 0
    for seed in range(batch * 150, batch * 150 + 150):
        rng = random.Random(seed)
        proto = onnx.ModelProto()
        proto.CopyFrom(original)
        for _ in range(rng.choice([1, 2, 5])):
            mutated(proto, rng)
        analysed += survives(proto.SerializeToString(), rng.choice(POLICIES))
    assert analysed > 50


@pytest.mark.parametrize(
    "arguments",
    [["annotate", "MODEL", "-o", "OUT"], ["freeze", "MODEL", "N=3", "-o", "OUT"], ["diff", "MODEL", "MODEL"]],
    ids=lambda arguments: arguments[0],
)
def test_texts_that_name_nothing_need_not_be_utf8(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = TensorProto(name="w", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, text in (("location", "w.bin"), ("zzz", "zzz")):
        weights.external_data.add(key=key, value=text)
    nodes = [node("Relu", ["x"], ["y"])]
    if arguments[0] == "diff":  # onnxruntime refuses such a key
        nodes = [node("Add", ["x", "w"], ["y"])]
    found = onnx.load_model_from_string(model(nodes))
    found.graph.initializer.extend([weights] if len(nodes[0].input) > 1 else [])
    for key in ("absint.assuming", "absint.definitions", "zzz"):
        found.metadata_props.add(key=key, value="zzz")
    (tmp_path / "model.onnx").write_bytes(found.SerializeToString().replace(b"zzz", b"z\xffz"))
    paths = {"MODEL": str(tmp_path / "model.onnx"), "OUT": str(tmp_path / "out.onnx")}
    assert run([paths.get(argument, argument) for argument in arguments]) != 2
    assert "internal error" not in capsys.readouterr().err
