"""The effects of freezing on a model: types, constants, branches, files, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import absint
from absint import IllegalSizesError, UsageError
from absint.model.inference import Outline
from absint.model.wire.fields import delimited, encoded
from tests.jobs.freezing import same, session
from tests.models import parsed

BIG = 6_000


def model(text: str, opset: int = 18, functions: str = "") -> ModelProto:
    return parsed(text, opset, functions=functions)


def text(frozen: ModelProto) -> str:
    return " ".join(f"{node.op_type}({','.join(node.input)})" for node in frozen.graph.node)


SHAPES = model(
    """(float[N, M] x) => (float[A, B] y) {
        s = Shape(x)  zero = Constant<value_int=0>()  n = Gather(s, zero)  axes = Constant<value_ints=[0]>()
        v = Unsqueeze(n, axes)  rest = Constant<value_ints=[-1]>()  t = Concat<axis=0>(rest, v)  y = Reshape(x, t)
    }"""
)


def test_shape_computations_become_constants() -> None:
    frozen = absint.freeze(SHAPES, {"N": 4})
    assert text(frozen) == "Reshape(x,t)"
    (target,) = frozen.graph.initializer
    assert (target.name, numpy_helper.to_array(target).tolist()) == ("t", [-1, 4])
    assert [dim.dim_value or dim.dim_param for dim in frozen.graph.input[0].type.tensor_type.shape.dim] == [4, "M"]
    assert [dim.dim_value or dim.dim_param for dim in frozen.graph.output[0].type.tensor_type.shape.dim] == ["M", 4]


def test_a_constant_that_is_an_output_stays_a_node() -> None:
    frozen = absint.freeze(model("(float[N] x) => (int64[1] s) {s = Shape(x)}"), {"N": 3})
    assert text(frozen) == "Constant()"
    assert list(frozen.graph.node[0].output) == ["s"]


def test_initialisers_of_old_files_stay_inputs() -> None:
    old = model("(float[N] x, float[K] z) => (float[A] y) {s = Shape(x)  e = Expand(z, s)  y = Relu(e)}")
    old.ir_version = 3
    frozen = absint.freeze(old, {"N": 3})
    assert text(frozen) == "Constant() Expand(z,s) Relu(e)"
    assert not frozen.graph.initializer


def test_nodes_that_do_nothing_at_the_sizes_go_and_so_do_pairs_and_equal_nodes() -> None:
    given = model("""(float[N, M] x, int64 i) => (float[A, B] y, float[C] z) {
        s = Shape(x)  r = Reshape(x, s)  t = Transpose(r)  u = Transpose(t)  one = Relu(u)  two = Relu(x)
        y = Add(one, two)  first = Gather(x, i)  second = Gather(r, i)  z = Add(first, second)}""")
    frozen = absint.freeze(given, {"N": 3, "M": 2})
    assert text(frozen) == "Relu(x) Add(one,one) Gather(x,i) Add(first,first)"
    assert absint.freeze(frozen, {}) == frozen


IF = """(float[N] x, bool flag) => (float[A] y, float[B] z) {
    s = Shape(x)  three = Constant<value_ints=[3]>()  c = Equal(s, three)
    y, z = If(c) <
        then_branch = t () => (float[A] a, float[B] a2) <float[1] w = {2.0}> {a = Mul(x, w)  u = Neg(a)  a2 = Relu(u)},
        else_branch = e () => (float[A] b, float[B] b2) {
            b = If(flag) <then_branch = p () => (float[A] u) {u = Neg(x)},
                          else_branch = q () => (float[A] v) {v = Abs(x)}>
            b2 = Add(b, x)}>
}"""


def test_a_decided_if_is_inlined_under_unique_names() -> None:
    frozen = absint.freeze(model(IF), {"N": 3})
    assert text(frozen) == "Mul(x,w) Neg(y) Relu(y/u)"
    assert [tensor.name for tensor in frozen.graph.initializer] == ["w"]
    other = absint.freeze(model(IF), {"N": 4})
    assert text(other) == "If(flag) Add(y,x)"
    onnx.checker.check_model(other, full_check=True)


def test_a_branch_that_hands_out_one_value_twice_or_an_outer_one_is_copied() -> None:
    twice = model(
        """(float[N] x) => (float[A] y, float[B] z, float[C] w) {
            s = Shape(x)  three = Constant<value_ints=[3]>()  c = Equal(s, three)
            y, z, w = If(c) <
                then_branch = t () => (float[A] a, float[B] a, float[C] k) <float[1] k = {5.0}> {a = Neg(x)},
                else_branch = e () => (float[A] b, float[B] b1, float[C] b2) {b = Abs(x) b1 = Abs(x) b2 = Abs(x)}>
        }"""
    )
    frozen = absint.freeze(twice, {"N": 3})
    assert text(frozen) == "Neg(x) Identity(y) Identity(k)"
    onnx.checker.check_model(frozen, full_check=True)


def test_nodes_that_may_fail_or_differ_stay() -> None:
    gathers = model(
        "(float[N] x, int64[2] i) => (int64[1] s) {g = Gather(x, i)  r = RandomNormalLike(x)  s = Shape(g)}"
    )
    assert text(absint.freeze(gathers, {"N": 3})) == "Gather(x,i) RandomNormalLike(x) Constant()"


def test_what_rests_on_a_shared_name_is_not_folded() -> None:
    """No runtime checks that two inputs have the same size where it is a symbol."""
    both = model("(float[N, 2] a, float[N, 2] b) => (bool[2] y) {s = Shape(a)  t = Shape(b)  y = Equal(s, t)}")
    assert text(absint.freeze(both, {})) == "Shape(a) Shape(b) Equal(s,t)"
    assert text(absint.freeze(both, {"N": 3})) == "Constant()"


def test_a_negative_zero_is_not_folded() -> None:
    zero = model(
        "(float[N] x) => (float y) {s = Size(x)  f = Cast<to=1>(s)  n = Constant<value_float=-1.0>()  y = Mul(f, n)}"
    )
    assert text(absint.freeze(zero, {"N": 0})) == "Constant() Mul(f,n)"
    assert text(absint.freeze(zero, {"N": 3})) == "Constant()"


def test_runtimes_that_differ_keep_the_node() -> None:
    """The window count of a pool that is larger than its input: onnxruntime gives 1, the specification 0."""
    pool = "(float[1, 1, N] x) => (int64[3] s) {p = MaxPool<kernel_shape=[2], strides=[2]>(x)  s = Shape(p)}"
    assert text(absint.freeze(model(pool), {"N": 1})) == "MaxPool(x) Shape(p)"
    assert text(absint.freeze(model(pool), {"N": 4})) == "Constant()"


ROWS = """<domain: "my", opset_import: ["": 18]> rows (v) => (r) {
    s = Shape(v)  i = Constant<value_int=0>()  r = Gather(s, i)
}"""


def test_calls_of_functions() -> None:
    called = model("(float[N] x) => (float[A] y) {n = my.rows(x)  f = Cast<to=1>(n)  y = Add(x, f)}", functions=ROWS)
    frozen = absint.analyze(called).freeze({"N": 4})
    assert frozen.model is not None
    assert text(frozen.model) == "Add(x,f)"
    assert frozen.calls == 0
    left = absint.analyze(model("(float[N] x) => (int64 n) {n = my.rows(x)}", functions=ROWS)).freeze({})
    assert left.calls == 1


# Sizes


def test_illegal_sizes_name_the_node_and_the_nearest_legal_ones(tmp_path: Path) -> None:
    grid = model("(float[N] x) => (float[A, 4] y) {t = Constant<value_ints=[-1, 4]>()  y = Reshape(x, t)}")
    with pytest.raises(IllegalSizesError, match=r"illegal at N=6: Reshape #1.*; nearest legal: N=4; or N=8") as raised:
        absint.analyze(grid).freeze({"N": 6}, tmp_path / "out.onnx")
    assert raised.value.failure.origin.operator == "Reshape"
    assert raised.value.nearest is not None
    assert list(tmp_path.iterdir()) == []


def test_sizes_that_no_others_go_with_are_illegal() -> None:
    summed = model("(float[N] x, float[M] y, float[8] z) => (float[A] s) {c = Concat<axis=0>(x, y)  s = Add(c, z)}")
    result = absint.analyze(summed)
    with pytest.raises(IllegalSizesError, match="Add #1"):
        result.freeze({"N": 9})
    assert result.freeze({"N": 3}).derived == {"M": 5}


def test_what_is_left_of_the_contract() -> None:
    rows = model("(float[N, M] x) => (float[A, 6] y) {t = Constant<value_ints=[-1, 6]>()  y = Reshape(x, t)}")
    frozen = absint.analyze(rows).freeze({"N": 4})
    assert [str(clause.relation) for clause in frozen.clauses] == ["M % 3 == 0"]
    with pytest.raises(IllegalSizesError, match=r"illegal at N=4, M=2: Reshape"):
        absint.analyze(rows).freeze({"N": 4, "M": 2})


def test_a_size_that_follows_is_fixed_too() -> None:
    product = model("(float[N, K] a, float[M, 3] b) => (float[A, 3] y) {y = MatMul(a, b)}")
    frozen = absint.analyze(product).freeze({"N": 2, "K": 5})
    assert frozen.derived == {"M": 5}
    assert frozen.is_static


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"M": 3}, "M=3: no input has a symbol 'M'; the input symbols are: N"),
        ({"N": (1, 4)}, "N=1..4: a range, and a symbol can be fixed at one size only"),
        ({"N": -1}, "N=-1: a size cannot be negative"),
        ({"x": [3, 4]}, "x=3x4: 'x' has 1 axis"),
    ],
)
def test_sizes_that_make_no_sense(sizes: dict[str, object], message: str) -> None:
    given = model("(float[N] x, int64 k) => (float[A] y) {a = Cast<to=1>(k)  y = Add(x, a)}")
    with pytest.raises(UsageError) as raised:
        absint.analyze(given).freeze(sizes)  # type: ignore[arg-type]
    assert message in str(raised.value)


def test_a_copy_that_would_not_load_is_refused() -> None:
    pads = model("(float[1, 1, N] x, float[1, 1, 3] w) => (float[A, B, C] y) {y = Conv<pads=[-1, 0]>(x, w)}")
    del pads.graph.input[0].type.tensor_type.shape.dim[:]
    for name in ("a", "b", "n"):
        pads.graph.input[0].type.tensor_type.shape.dim.add().dim_param = name
    del pads.graph.input[1].type.tensor_type.shape.dim[:]
    for name in ("c", "d", "m"):
        pads.graph.input[1].type.tensor_type.shape.dim.add().dim_param = name
    with pytest.raises(UsageError, match="no frozen model does what the model does, as the copy does not load: Conv"):
        absint.analyze(pads).freeze({"a": 1, "b": 1, "n": 9, "c": 1, "d": 1, "m": 3})


# Symbols to fix


def test_the_fewest_symbols() -> None:
    found = absint.analyze(SHAPES).fewest_symbols()
    assert found.choices == (("N", "M"),)
    assert str(found) == "fix N, M"
    product = model("(float[N, K] a, float[M, 3] b) => (float[A, 3] y, int64 r) {y = MatMul(a, b)  r = Size(b)}")
    either = absint.analyze(product).fewest_symbols()
    assert either.choices == (("N",),)
    assert either.unused == ("K", "M")
    added = model(
        """(float[N] a, float[M] b, float[K] c) => (float[A] y, float[B] z) {
            y = Concat<axis=0>(a, b)  z = MatMul(a, b)  w = Neg(c)
        }"""
    )
    tied = absint.analyze(added).fewest_symbols()
    assert tied.choices == (("N", "K"), ("M", "K"))
    assert tied.follow in ({"M": "N"}, {"M": ""})


def test_data_stay_dynamic() -> None:
    data = model("(float[N, M] x) => (int64[2, A] i, float[B, M] y) {i = NonZero(x)  y = Neg(x)}")
    found = absint.analyze(data).fewest_symbols()
    assert found.choices == (("N", "M"),)
    assert [(value.name, str(value.causes[0])) for value in found.by_data] == [("i", "the data of NonZero #0")]
    frozen = absint.analyze(data).freeze({"N": 3, "M": 4})
    assert [value.name for value in frozen.dynamic.outputs] == ["i"]
    assert str(frozen) == "frozen at N=3, M=4: 2 of 2 nodes, 1 value of dynamic shape"


def test_a_model_that_never_runs_has_no_sample() -> None:
    never = model("(float[N, 3] a, float[4, 5] b) => (float[A, 5] y) {y = MatMul(a, b)}")
    assert str(absint.analyze(never).fewest_symbols()) == "no legal sizes were found at which it could be tried"
    with pytest.raises(IllegalSizesError, match="MatMul"):
        absint.analyze(never).freeze({})


# Files


def large(branch: bool = False) -> ModelProto:
    """A model with large tensors: an initialiser, one in a Constant node, and one in a branch."""
    rng = np.random.default_rng(0)
    numbers = [numpy_helper.from_array(rng.standard_normal(BIG).astype(np.float32), name) for name in "abc"]
    packed = helper.make_tensor("b", TensorProto.FLOAT, [BIG], numpy_helper.to_array(numbers[1]).tolist())
    body = helper.make_graph(
        [helper.make_node("Add", ["q", "c"], ["r"])],
        "t",
        [],
        [helper.make_tensor_value_info("r", 1, None)],
        [numbers[2]],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["q"], ["o"])], "e", [], [helper.make_tensor_value_info("o", 1, None)]
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Constant", [], ["b"], value=packed),
        helper.make_node("Add", ["a", "b"], ["p"]),
        helper.make_node("Mul", ["p", "x"], ["q"]),
        helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.array([1]))),
        helper.make_node("Equal", ["s", "one"], ["k"]),
        helper.make_node("If", ["k"], ["y"], then_branch=body, else_branch=other),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, ["N"])],
        [helper.make_tensor_value_info("y", 1, ["A"])],
        [numbers[0], numpy_helper.from_array(np.zeros(BIG, np.float32), "unused")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize("size", [1, BIG])
def test_weights_go_from_file_to_file_wherever_they_are(size: int, tmp_path: Path) -> None:
    onnx.save(large(), tmp_path / "model.onnx")
    result = absint.analyze(tmp_path / "model.onnx")
    frozen = result.freeze({"N": size}, tmp_path / "frozen.onnx")
    assert frozen.model is None
    assert frozen.inlined == 1
    assert frozen.dropped == ("unused",)
    assert frozen.bytes == (tmp_path / "frozen.onnx").stat().st_size < frozen.bytes_before
    feeds = {"x": np.linspace(0, 1, size, dtype=np.float32)}
    before, after = (session(tmp_path / f"{name}.onnx").run(feeds) for name in ("model", "frozen"))
    assert same(before["y"], after["y"])
    assert result.freeze({"N": size}).model == onnx.load(tmp_path / "frozen.onnx")


def test_external_weights_stay_where_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    onnx.save(large(), tmp_path / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=1000)
    result = absint.analyze(tmp_path / "model.onnx")
    assert result.freeze({"N": 1}, tmp_path / "beside.onnx").weights_elsewhere == ()
    frozen = result.freeze({"N": 1}, folder / "frozen.onnx")
    assert frozen.weights_elsewhere == ("w.bin",)
    assert result.freeze({"N": 1}, folder / "frozen.onnx", copy_weights=True).weights_elsewhere == ()
    feeds = {"x": np.ones(1, np.float32)}
    outputs = [session(path).run(feeds)["y"] for path in (tmp_path / "model.onnx", folder / "frozen.onnx")]
    assert same(*outputs)
    with pytest.raises(UsageError, match="holds weights of the model"):
        result.freeze({"N": 1}, tmp_path / "w.bin")


def test_a_frozen_model_is_left_as_it_is_byte_for_byte(tmp_path: Path) -> None:
    onnx.save(large(), tmp_path / "model.onnx")
    absint.analyze(tmp_path / "model.onnx").freeze({"N": 1}, tmp_path / "frozen.onnx")
    absint.analyze(tmp_path / "frozen.onnx").freeze({}, tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "frozen.onnx").read_bytes()


def test_parts_of_an_outline_get_their_data_back() -> None:
    data = large().SerializeToString()
    outline = Outline(data)
    assert outline.model.ByteSize() < 2000 < len(data)
    moved = onnx.NodeProto()
    moved.CopyFrom(outline.model.graph.node[1])
    pieces = outline.pieces(moved)
    content = b"".join(piece if isinstance(piece, bytes) else data[piece.start : piece.end] for piece in pieces)
    assert onnx.NodeProto.FromString(content) == large().graph.node[1]
    assert all(len(piece) < 200 for piece in pieces if isinstance(piece, bytes))


@pytest.mark.parametrize("parts", [(5000, 3), (3, 5000), (5000, 5000), (2, 2)])
def test_a_tensor_in_two_parts_keeps_the_order_of_its_data(parts: tuple[int, int]) -> None:
    """As a parser merges them: numbers follow each other, and of two `raw_data` the last one counts."""
    first, second = (
        TensorProto(int64_data=[at] * size, raw_data=bytes([at]) * size).SerializeToString()
        for at, size in enumerate(parts, 1)
    )
    attribute = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR).SerializeToString()
    attribute += delimited(5, first) + delimited(5, second)
    node = helper.make_node("Constant", [], ["c"]).SerializeToString() + delimited(5, attribute)
    data = delimited(ModelProto.GRAPH_FIELD_NUMBER, delimited(onnx.GraphProto.NODE_FIELD_NUMBER, node))
    outline = Outline(data)
    pieces = outline.pieces(outline.model)
    content = b"".join(piece if isinstance(piece, bytes) else data[piece.start : piece.end] for piece in pieces)
    assert ModelProto.FromString(content) == ModelProto.FromString(data)


def test_a_file_of_over_2_gb(tmp_path: Path) -> None:
    """Its weights are a hole, in the copy too."""
    count = 550_000_000
    rest = model("(float[N] x, int64[1] i) => (float[A] y) {s = Shape(x)  p = Gather<axis=0>(w, i)  y = Expand(p, s)}")
    graph = rest.graph.SerializeToString()
    rest.ClearField("graph")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count]).SerializeToString()
    tensor += encoded(TensorProto.RAW_DATA_FIELD_NUMBER << 3 | 2) + encoded(4 * count)
    graph += encoded(onnx.GraphProto.INITIALIZER_FIELD_NUMBER << 3 | 2) + encoded(len(tensor) + 4 * count) + tensor
    with open(tmp_path / "large.onnx", "wb") as file:
        file.write(rest.SerializeToString())
        file.write(encoded(ModelProto.GRAPH_FIELD_NUMBER << 3 | 2) + encoded(len(graph) + 4 * count) + graph)
        file.truncate(file.tell() + 4 * count)
    frozen = absint.analyze(tmp_path / "large.onnx").freeze({"N": 5}, tmp_path / "frozen.onnx")
    found = (tmp_path / "frozen.onnx").stat()
    assert frozen.bytes == found.st_size > 1 << 31
    assert found.st_blocks * 512 < 1 << 20
    assert str(absint.analyze(tmp_path / "frozen.onnx").shapes["y"]) == "[5]"
