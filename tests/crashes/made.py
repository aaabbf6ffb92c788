"""Inputs that broke something, made in code: a name, a model, and the commands that it is given to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from tests.models import parsed

Made = Callable[[], ModelProto]

EVERY: Final = (
    ("analyze", "--format", "json"),
    ("analyze", "--values", "--refine", "smt"),
    ("annotate", "-o", "out.onnx", "--outputs"),
    ("check",),
    ("contract",),
    ("contract", "--role", "all", "--format", "json"),
    ("cost",),
    ("equal",),
    ("explain", "Y"),
)
"""Commands with their arguments after the model."""

FEW: Final = (EVERY[0], EVERY[2], EVERY[5])
LARGE: Final = ("concat_of_many", "split_into_many", "split_into_many_unknown")
"""Models with thousands of symbols, which a few commands get."""


def info(name: str, kind: int = TensorProto.FLOAT, dims: Sequence[int | str] | None = None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def ints(name: str, dims: Sequence[int], numbers: Sequence[int]) -> TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, dims, numbers)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto] = (),
    constants: Sequence[TensorProto] = (),
    outputs: Sequence[str] = ("Y",),
    opset: int = 20,
    **domains: int,
) -> ModelProto:
    """A model of these nodes; `domains` are further imports, their dots as two underscores."""
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(map(info, outputs)), list(constants))
    proto = helper.make_model(graph)
    del proto.opset_import[:]
    proto.opset_import.add(version=opset)
    for name, version in domains.items():
        proto.opset_import.add(domain=name.replace("__", "."), version=version)
    return proto


X: Final = info("X", dims=["N", 4])


def one(
    op_type: str, *inputs: str, constants: Sequence[TensorProto] = (), outputs: str = "Y", **more: Any
) -> ModelProto:
    """A single node over X and constants."""
    domain = more.pop("domain", "")
    version, opset = more.pop("version", 1), more.pop("opset", 20)
    node = helper.make_node(op_type, inputs, outputs.split(), domain=domain, **more)
    domains = {domain.replace(".", "__"): version} if domain else {}
    return model([node], [X], constants, outputs.split(), opset, **domains)


def branch(name: str, *nodes: NodeProto, output: str | None = None) -> GraphProto:
    body = nodes or (helper.make_node("Identity", ["X"], [name]),)
    return helper.make_graph(list(body), name, [], [info(output or name)])


def if_on_nothing() -> ModelProto:
    """An If whose condition is a constant without elements."""
    node = helper.make_node("If", ["c"], ["Y"], then_branch=branch("a"), else_branch=branch("b"))
    return model([node], [X], [helper.make_tensor("c", TensorProto.BOOL, [0], [])])


def if_on_a_float() -> ModelProto:
    """The condition is no BOOL, and only a failure is guarded by it."""
    mystery = helper.make_node("Mystery", ["X"], ["a"], domain="my")
    node = helper.make_node("If", ["c"], ["Y"], then_branch=branch("a", mystery), else_branch=branch("b"))
    return model([node], [X, info("c", dims=[])], my=1)


def branch_with_inputs() -> ModelProto:
    """A branch of an If that declares inputs, which nothing is bound to."""
    other = branch("b")
    other.input.append(info("X", dims=["N"]))
    node = helper.make_node("If", ["c"], ["Y"], then_branch=branch("a"), else_branch=other)
    return model([node], [X, info("c", TensorProto.BOOL, [])])


def loop_with_more_outputs() -> ModelProto:
    """A Loop with more outputs than its body has."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["ci"], ["co"])],
        "b",
        [info("i", TensorProto.INT64, []), info("ci", TensorProto.BOOL, [])],
        [info("co", TensorProto.BOOL, [])],
    )
    constants = [ints("t", [], [3]), helper.make_tensor("c", TensorProto.BOOL, [], [True])]
    return model([helper.make_node("Loop", ["t", "c"], ["Y", "Z", "W"], body=body)], [], constants, ["Y", "Z", "W"])


def if_in_a_loop() -> ModelProto:
    """The outputs of an If in a loop depend on nothing in its branches: its gates come before it all the same."""
    both = {f"{name}_branch": helper.make_graph([], name, [], [info("s")]) for name in ("then", "else")}
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["ci"], ["co"]),
            helper.make_node("If", ["later"], ["t"], **both),
            helper.make_node("Not", ["co"], ["later"]),
            helper.make_node("Concat", ["t", "t"], ["so"], axis=0),
        ],
        "b",
        [info("i", TensorProto.INT64, []), info("ci", TensorProto.BOOL, []), info("s")],
        [info("co", TensorProto.BOOL, []), info("so")],
    )
    return model([helper.make_node("Loop", ["", "", "X"], ["Y"], body=body)], [X])


def tiled_beyond_int64() -> ModelProto:
    """A size over 2**63 - 1, which no file holds."""
    x = info("X", dims=[2**40, 3])
    return model([helper.make_node("Tile", ["X", "k"], ["Y"])], [x], [ints("k", [2], [2**40, 1])])


def padded_beyond_int64() -> ModelProto:
    x = info("X", dims=[2**62, 3])
    return model([helper.make_node("Pad", ["X", "k"], ["Y"])], [x], [ints("k", [4], [2**62, 0, 2**62, 0])])


def concat_of_many() -> ModelProto:
    """Inputs of which every other axis is a symbol of its own: k**4."""
    inputs = [info(f"x{i}", dims=[f"A{i}", f"B{i}"]) for i in range(300)]
    return model([helper.make_node("Concat", [i.name for i in inputs], ["Y"], axis=0)], inputs)


def split_into_many(**more: Any) -> ModelProto:
    """10,000 parts: quadratic."""
    names = [f"y{i}" for i in range(10_000)]
    node = helper.make_node("Split", ["X", *more.pop("inputs", ())], names, axis=0, **more)
    given = [info("s", TensorProto.INT64, [10_000])] if "s" in node.input else []
    return model([node], [X, *given], outputs=["y9999"])


def nested(depth: int) -> ModelProto:
    """Ifs in Ifs, as only a model in memory can have them: quadratic."""
    proto = model([], [X, info("c", TensorProto.BOOL, [])], outputs=["Y"])
    graph = proto.graph
    for _ in range(depth):
        node = graph.node.add(op_type="If", input=["c"], output=["Y"])
        other = node.attribute.add(name="else_branch", type=onnx.AttributeProto.GRAPH).g
        other.node.add(op_type="Identity", input=["X"], output=["q"])
        other.output.add(name="q")
        graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
        graph.output.add(name="Y")
    graph.node.add(op_type="Identity", input=["X"], output=["Y"])
    return proto


def odd_names() -> ModelProto:
    """Names with line breaks, escapes and marks that turn the direction of a text, in a model that cannot run."""
    odd = "a\nb\x1b[31m\x7f\x9b\u202e"
    x = info(odd, dims=["N\n\x1b[1m", 4])
    node = helper.make_node("Add", [odd, "w"], ["Y"], name=odd)
    return model([node], [x], [helper.make_tensor("w", TensorProto.FLOAT, [5], [0.0] * 5)])


def location(value: str) -> ModelProto:
    """A constant that lies in a file of this name."""
    proto = one("Reshape", "X", "t", constants=[TensorProto(name="t", data_type=7, dims=[2], data_location=1)])
    proto.graph.initializer[0].external_data.add(key="location", value=value)
    return proto


_MICROSOFT: Final = "com.microsoft"
_PREVIEW: Final = "ai.onnx.preview.training"


def loop_in_a_loop_in_a_loop() -> ModelProto:
    """A carried number, cast inside where facts about trip counts are constants once sizes are ordinary."""
    return parsed(
        """(int64 a, bool b) => (int64 Y) {
        zero = Constant<value = int64 {0}>() four = Constant<value = int64 {4}>() t = Constant<value = bool {1}>()
        m0 = Max(a, zero) m = Min(m0, four)
        Y = Loop(m, b, a) <body = l (int64 i, bool c, int64 p) => (bool d, int64 q) {
          n0 = Max(i, zero) n = Min(n0, four)
          r = Loop(n, t) <body = k (int64 j, bool e) => (bool f, float[] u) { k0 = Max(j, zero) k = Min(k0, four)
            u = Loop(k, t) <body = h (int64 g, bool gg) => (bool gf, float[] gu) {
              gu = Cast<to = 1>(p) gf = Identity(gg) }>
            f = Identity(e) }>
          q = Identity(i) d = Identity(b) }> }""",
        21,
    )


_S: Final = helper.make_tensor("s", TensorProto.FLOAT, [], [1.0])
_S4: Final = helper.make_tensor("s", TensorProto.FLOAT, [4], [1.0] * 4)

MADE: Final[Mapping[str, Made]] = {
    "if_on_nothing": if_on_nothing,
    "if_on_a_float": if_on_a_float,
    "if_in_a_loop": if_in_a_loop,
    "branch_with_inputs": branch_with_inputs,
    "loop_with_more_outputs": loop_with_more_outputs,
    "tiled_beyond_int64": tiled_beyond_int64,
    "padded_beyond_int64": padded_beyond_int64,
    "concat_of_many": concat_of_many,
    "split_into_many": lambda: split_into_many(num_outputs=10_000),
    "split_into_many_unknown": lambda: split_into_many(inputs=["s"]),
    "odd_names": odd_names,
    "location_with_a_nul": lambda: location("a\0b"),
    "location_of_a_device": lambda: location("/dev/zero"),
    "version_of_63_bits": lambda: one("Binarizer", "X", domain="ai.onnx.ml", version=2**62),
    "version_below_zero": lambda: one("Binarizer", "X", domain="ai.onnx.ml", version=-(2**63)),
    "output_dtype_99": lambda: one("QuantizeLinear", "X", "s", constants=[_S], output_dtype=99, opset=23),
    "output_dtype_of_dequantize_99": lambda: one(
        "DequantizeLinear", "X", "s", constants=[_S], output_dtype=99, opset=23
    ),
    "stash_type_99": lambda: one("LayerNormalization", "X", "s", constants=[_S4], outputs="Y M", stash_type=99),
    "type_of_gemm_99": lambda: one("GemmFloat8", "X", "X", domain=_MICROSOFT, dtype=99),
    "type_of_dequantize_99": lambda: one("DequantizeWithOrder", "X", "s", constants=[_S], domain=_MICROSOFT, to=99),
    "adagrad_of_one": lambda: one("Adagrad", "X", domain=_PREVIEW),
    "adam_of_two": lambda: one("Adam", "X", "X", domain=_PREVIEW),
    "momentum_of_none": lambda: one("Momentum", domain=_PREVIEW),
    "rank_65": lambda: one("Transpose", "c", constants=[ints("c", [1] * 65, [3])]),
    "permutation_of_65_axes": lambda: model(
        [helper.make_node("Transpose", ["X"], ["Y"], perm=list(range(65)))], [info("X")]
    ),
    "window_of_63_axes": lambda: model([helper.make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2] * 63)], [info("X")]),
    "output_without_a_possible_size": lambda: model(
        [
            helper.make_node("MaxPool", ["X"], ["P"], kernel_shape=[2**63 - 1] * 2),
            helper.make_node("Transpose", ["P"], ["Y"], perm=[0, 2, 3, 1]),
        ],
        [info("X")],
    ),
    "theta_of_a_huge_size": lambda: model(
        [helper.make_node("AffineGrid", ["T", "S"], ["Y"])],
        [info("T", dims=["N", 2**31 - 1, 3]), info("S", TensorProto.INT64)],
    ),
    "loop_in_a_loop_in_a_loop": loop_in_a_loop_in_a_loop,
    "rank_65_trilu": lambda: one("Trilu", "c", constants=[ints("c", [1] * 65, [3])]),
    "rank_65_flatten": lambda: one("Flatten", "c", constants=[ints("c", [1] * 65, [3])]),
    "nothing_of_a_huge_size": lambda: one(
        "Gather", "c", "i", constants=[ints("c", [0, 3], []), ints("i", [0, 2**62], [])]
    ),
    "nothing_of_a_huge_size_flat": lambda: one("Flatten", "c", constants=[ints("c", [0, 2**62], [])]),
    "number_out_of_its_type": lambda: one(
        "BitCast", "c", constants=[TensorProto(name="c", data_type=2, dims=[1, 1], int32_data=[-1])], to=2, opset=26
    ),
}
