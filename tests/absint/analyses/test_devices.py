"""Where nodes run beside an accelerator: the rules of onnxruntime's CUDA provider, one by one, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, parser
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

import absint
from absint.analyses.devices import (
    _BY_DOMAIN,
    _HOST_INPUTS,
    _HOST_OUTPUTS,
    Copy,
    Devices,
    host_inputs,
    host_outputs,
    missing_kernel,
)
from absint.cli import run
from absint.lattices.dtype import DType
from absint.runs.run import feeds_for, run as run_model

HEAD = '<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]>\n'
EXAMPLE = Path(__file__).parents[3] / "examples" / "tiny_detector.onnx"
DECODER = EXAMPLE.with_name("tiny_decoder.onnx")


def placed(text: str) -> Devices:
    return absint.analyze(parser.parse_model(HEAD + text)).devices()


def sides(found: Devices) -> dict[str, str]:
    """The side of each operator, by its name or number."""
    return {placement.node: placement.side for placement in found.placements}


def copies(found: Devices) -> set[tuple[str, str]]:
    return {(copy.value, copy.to) for copy in found.copies}


def test_computations_of_sizes_stay_on_the_host() -> None:
    """Shape gives its output there; what reads it alone follows; Reshape reads its target there anyway."""
    found = placed("""net (float[N, C] x) => (float[M] y) {
        s = Shape(x)  zero = Constant<value = int64[1] {0}>()  n = Gather(s, zero)
        two = Constant<value = int64[1] {2}>()  m = Mul(n, two)  t = Div(m, two)  minus = Constant<value_ints = [-1]>()
        target = Concat<axis = 0>(minus)  r = Relu(x)  y = Reshape(r, target)  z = Expand(r, t)
    }""")
    assert sides(found) == {
        "Shape #0": "device", "Constant #1": "folded", "Gather #2": "host", "Constant #3": "folded", "Mul #4": "host",
        "Div #5": "host", "Constant #6": "folded", "Concat #7": "folded", "Relu #8": "device", "Reshape #9": "device",
        "Expand #10": "device",
    }  # fmt: skip
    assert found.copies == ()
    assert str(found) == "4 nodes on the device, 3 on the host, 4 folded; 0 copies to the host, 0 to the device"


def test_a_host_value_that_the_device_reads_is_copied() -> None:
    found = placed("""net (int64[N] x) => (int64[N] y) {
        s = Shape(x)  one = Constant<value = int64[1] {1}>()  n = Add(s, one)  d = Neg(x)  y = Mul(d, n)
    }""")
    assert found.copies == (Copy("n", "Add #2", "device", ("Mul #4",), found.copies[0].size),)
    assert str(found.copies[0]) == "n of Add #2 to the device, 8 bytes, for Mul #4"


def test_a_device_value_that_a_kernel_reads_on_the_host_is_copied() -> None:
    """A data-dependent index, used as a size: the host waits."""
    found = placed("""net (float[N] x) => (float[M] y) {
        i = ArgMax<axis = 0>(x)  r = Relu(x)  y = Expand(r, i)
    }""")
    assert copies(found) == {("i", "host")}
    assert [copy.value for copy in found.to_host] == ["i"]


def test_an_operator_without_a_kernel() -> None:
    """By name and by type; strings have none. Its readers do not follow it to the host."""
    found = placed("""net (float[N] x, int64[N] k) => (float[N] y, float[M] u) {
        r = Relu(x)  a = Acos(r)  y = Neg(a)  u = Unique(r)  p = ReduceProd(k)
    }""")
    assert sides(found) == {
        "Relu #0": "device", "Acos #1": "host", "Neg #2": "device", "Unique #3": "host", "ReduceProd #4": "host",
    }  # fmt: skip
    assert copies(found) == {("r", "host"), ("a", "device")}
    assert {p.reason for p in found.placements if p.side == "host"} == {"no CUDA kernel", "no CUDA kernel for int64"}
    texts = placed("net (string[N] x) => (string[N] y) { y = Identity(x) }")
    assert str(texts.placements[0]) == "Identity #0: host (no CUDA kernel for strings)"


@pytest.mark.parametrize(
    ("operator", "side"),
    [
        ("y = Mul(n, k)", "host"),  # an input of the graph
        ("big = ConstantOfShape<value = int64[1] {1}>(many)  y = Mul(n, big)", "device"),  # an initialiser of 101
        ("h = Cast<to = 10>(n)  y = Neg(h)", "device"),  # float16
        ("y = Slice(n, k, n)", "device"),  # its kernel reads the ends on the host
        ("y = Clip(n, , n)", "device"),  # one operand is left out
        ("e = Abs(k)  y = Mul(n, e)", "device"),  # computed on the device
    ],
)
def test_what_keeps_a_node_on_the_device(operator: str, side: str) -> None:
    found = placed(f"""net (float[N] x, int64[1] k) => (int64[M] y) {{
        n = Shape(x)  many = Constant<value = int64[1] {{101}}>()  {operator}
    }}""")
    assert found.placements[-1].side == side


def test_sizes_that_are_numbers_are_folded() -> None:
    found = placed("net (float[3, 4] x) => (int64[2] y) { s = Shape(x)  y = Neg(s) }")
    assert [placement.side for placement in found.placements] == ["folded", "folded"]


@pytest.mark.parametrize(
    ("operator", "is_folded"), [("Neg(k)", True), ("com.microsoft.FastGelu(k)", False), ("RandomNormalLike(k)", False)]
)
def test_operators_of_onnx_that_draw_nothing_are_folded(operator: str, is_folded: bool, tmp_path: Path) -> None:
    text = (
        f"net (float[1] x) => (float[1] y) {{ k = Constant<value = float[1] {{1}}>()  f = {operator}  y = Add(x, f) }}"
    )
    assert (placed(text).placements[1].side == "folded") is is_folded
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(parser.parse_model(HEAD + text).SerializeToString(), options)
    assert (len(onnx.load(options.optimized_model_filepath).graph.node) == 1) is is_folded


def test_conditions_and_limits_are_read_on_the_host() -> None:
    """The condition of an If and of a Loop, at each trip; the number of the trip is there already."""
    found = placed("""net (float[N] x, int64 m) => (float[N] y, float[N] z) {
        s = ReduceMax<keepdims = 0>(x)  b = Cast<to = 9>(s)
        y = If (b) <then_branch = t () => (float[N] p) { p = Neg(x) },
                            else_branch = e () => (float[N] q) { q = Exp(x) }>
        z = Loop (m, , y) <body = l (int64 i, bool c, float[N] v) => (bool go, float[N] w) {
            w = Relu(v)  t = ReduceMax<keepdims = 0>(w)  go = Cast<to = 9>(t)  j = Neg(i)
        }>
    }""")
    assert copies(found) == {("b", "host"), ("Loop#3/body/go", "host")}
    assert {copy.readers for copy in found.copies} == {("If #2",), ("Loop #3",)}


def test_a_branch_that_no_run_takes_is_left_out() -> None:
    found = placed("""net (float[N] x) => (float[N] y) {
        c = Constant<value = bool {1}>()
        y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) },
                            else_branch = e () => (float[N] q) { q = Acos(x) }>
    }""")
    assert {placement.node.partition(" ")[0] for placement in found.placements} == {"Constant", "Neg"}


def test_operators_of_the_runtime() -> None:
    assert missing_kernel("com.microsoft", "FastGelu", [DType.FLOAT]) == ""
    assert missing_kernel("com.microsoft", "DynamicQuantizeMatMul", [DType.FLOAT]) == "no CUDA kernel"
    assert missing_kernel("mine", "Relu", [DType.FLOAT]) == "no CUDA kernel"
    assert host_inputs("com.microsoft", "GroupQueryAttention") == (6,)
    assert missing_kernel("com.microsoft", "DequantizeLinear", [DType.INT8, DType.FLOAT]) == "no CUDA kernel for float"
    assert missing_kernel("com.microsoft", "DequantizeLinear", [DType.INT8, DType.FLOAT16]) == ""
    assert host_inputs("mine", "Reshape") == ()
    assert [host_inputs("", name) for name in ("If", "Loop", "Scan", "SequenceAt")] == [(0,), (0, 1), (), (1,)]
    assert [host_inputs("", name) for name in ("Pad", "LSTM", "SequenceErase", "SequenceInsert", "SequenceLength")] == [
        (1, 2, 3), (4,), (1,), (2,), (),
    ]  # fmt: skip
    assert host_outputs("com.microsoft", "GreedySearch") == (0,)
    assert host_outputs("", "SequenceLength") == (0,)
    assert host_outputs("", "Gather") == ()


def test_the_length_of_a_sequence_and_a_position_in_it_are_on_the_host() -> None:
    found = placed("""net (float[N] x, float[M] z) => (seq(float[N]) t, int64 twice) {
        s = SequenceConstruct(x, z)  n = SequenceLength(s)  one = Constant<value = int64 {1}>()  last = Sub(n, one)
        u = SequenceErase(s, last)  a = ArgMax<axis = 0, keepdims = 0>(x)  t = SequenceInsert(u, x, a)
        twice = Add(n, n)
    }""")
    assert {name: side for name, side in sides(found).items() if side == "host"} == {"Sub #3": "host", "Add #7": "host"}
    assert copies(found) == {("a", "host")}


def test_some_outputs_of_a_node_are_on_the_host_and_others_are_not() -> None:
    """The sequences that a search finds are there, the scores of each step stay on the device."""
    text = """net (int32[B, L] ids, int32[1] most, int32[1] least, int32[1] beams, int32[1] wanted) =>
        (int32[B, W, T] s, int32[B, W, T] negated, float[T, B, W, V] other) {
        s, p, scores = com.microsoft.BeamSearch<
            decoder = d (int32[B, L] a) => (int32[B, L] b) { b = Identity(a) }, eos_token_id = 1, pad_token_id = 0
        >(ids, most, least, beams, wanted)
        negated = Neg(s)  other = Exp(scores)  third = Exp(p)
    }"""
    found = sides(placed(text))
    assert [found[name] for name in ("com.microsoft::BeamSearch #0", "Neg #1", "Exp #2", "Exp #3")] == [
        "device",
        "host",
        "device",
        "host",
    ]


def test_the_tables_name_operators_and_inputs_that_there_are() -> None:
    known = {schema.name: schema for schema in defs.get_all_schemas() if not schema.domain}
    gone = {"Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "ScaledTanh", "Scatter"}
    gone |= {"SimplifiedLayerNormalization", "Upsample"}
    steps = {"If", "Loop"}
    assert set(_BY_DOMAIN[""]) - set(known) <= gone
    for name, inputs in _HOST_INPUTS[""].items():
        assert name in _BY_DOMAIN[""].keys() | steps
        if name not in gone:
            every = [s for s in defs.get_all_schemas_with_history() if s.name == name and not s.domain]
            assert max(inputs) < max(s.max_input for s in every), name
    assert set(_HOST_INPUTS["com.microsoft"]) <= set(_BY_DOMAIN["com.microsoft"])
    assert all(set(_HOST_OUTPUTS[domain]) <= set(kernels) for domain, kernels in _BY_DOMAIN.items())
    own = {schema.name: schema for schema in get_all_operator_schema() if schema.domain == "com.microsoft"}
    later = {("BeamSearch", 12)}  # input_images, of later versions
    for table, ports in ((_HOST_INPUTS, "inputs"), (_HOST_OUTPUTS, "outputs")):
        for name, places in table["com.microsoft"].items():
            beyond = [at for at in places if at >= len(getattr(own[name], ports)) and (name, at) not in later]
            assert not beyond, (name, ports, beyond)
    assert (len(_BY_DOMAIN[""]), len(_BY_DOMAIN["com.microsoft"])) == (144, 67)


@pytest.mark.parametrize("operator", [name for name, types in _BY_DOMAIN[""].items() if types])
def test_types_of_kernels_are_types_that_the_operator_has(operator: str) -> None:
    """At least those that the newest version of the schema allows for some input or output, but for old ones."""
    schemas = [s for s in defs.get_all_schemas_with_history() if s.name == operator and not s.domain]
    if not schemas:
        assert operator in {"SimplifiedLayerNormalization", "DynamicSlice", "Affine", "Crop", "ImageScaler"} | {
            "ParametricSoftplus", "ScaledTanh",
        }  # fmt: skip
        return
    allowed = {text for s in schemas for p in (*s.inputs, *s.outputs) for text in p.types}
    named = {text.removeprefix("seq(").removeprefix("tensor(").rstrip(")") for text in allowed}
    own = {"float" if t is DType.FLOAT else t.name.lower() for t in _BY_DOMAIN[""][operator]}
    assert own - named <= {"bfloat16"}, own - named  # the runtime has some that the schema does not


@pytest.mark.parametrize(
    ("operator", "types", "reason"),
    [
        ("Range", [DType.INT16], ""),
        ("Range", [DType.FLOAT16], "no CUDA kernel for float16"),
        ("Softplus", [DType.BFLOAT16], "no CUDA kernel for bfloat16"),
        ("Softmax", [DType.BFLOAT16], ""),
        ("Neg", [DType.UINT8], "no CUDA kernel for uint8"),
        ("Size", [DType.STRING], ""),
        ("Where", [DType.BOOL, DType.STRING, DType.STRING], "no CUDA kernel for strings"),
        ("Clip", [DType.INT32], "no CUDA kernel for int32"),
        ("GatherND", [DType.INT32, DType.INT64], "no CUDA kernel for int32"),
        ("Gather", [DType.UNDEFINED, DType.INT64], ""),
    ],
)
def test_types_decide(operator: str, types: list[DType], reason: str) -> None:
    assert missing_kernel("", operator, types) == reason


def test_values_that_are_called_computations_of_sizes_are() -> None:
    """Their elements are the same in all runs of one size."""
    result = absint.analyze(DECODER)
    placements = {placement.node: placement for placement in result.devices().placements}
    computed = {name: str(result.nodes[result.producer(name)[0]]) for name in result.values}
    names = [name for name, node in computed.items() if node in placements and placements[node].side == "host"]
    assert len(names) >= 5
    for sizes in result.samples(2).sizes:
        runs = [run_model(result, feeds_for(result, sizes, seed=seed), names) for seed in range(3)]
        for name in names:
            assert all(np.array_equal(runs[0][name], other[name]) for other in runs[1:]), name


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", str(EXAMPLE)]) == 0
    text = capsys.readouterr().out
    assert "\non the host\n  reads host values alone  10 Gather, " in text
    assert "\ncopied to the device\n  /Gather_6_output_0  8 bytes, for Mul /Mul\n" in text
    assert "Conv" not in text
    assert run(["devices", str(EXAMPLE), "--all"]) == 0
    assert "  Shape /Shape" in capsys.readouterr().out
    assert run(["devices", str(EXAMPLE), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "absint.devices/1"
    assert document["copies"][0] == {
        "value": "/Gather_6_output_0", "node": "Gather /Gather_6", "to": "device", "readers": ["Mul /Mul"], "bytes": 8,
    }  # fmt: skip
    assert {node["side"] for node in document["nodes"]} == {"device", "host", "folded"}


def test_many_copies_are_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = " ".join(f"a{i} = Relu(x)  b{i} = Acos(a{i})" for i in range(25))
    path = tmp_path / "many.onnx"
    onnx.save(parser.parse_model(f"{HEAD} net (float[N] x) => (float[N] b0) {{ {nodes} }}"), path)
    assert run(["devices", str(path)]) == 0
    assert "  and 5 more values (all: --all)" in capsys.readouterr().out
