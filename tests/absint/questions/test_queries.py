"""Queries: texts that name values, input symbols and printed symbols of a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, strategies as st
from onnx import TensorProto, ValueInfoProto, helper

import absint
from absint import UsageError
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE, Relation, boolean, eq, ge, implies
from absint.lattices.shape import BOTTOM_SHAPE, Shape
from absint.lattices.terms.expr import Dim, const, expr_of, symbol
from absint.lattices.text import TextError
from absint.lattices.text.tokens import quote
from absint.lattices.value import BOTTOM, TOP, MapOf, OptionalOf, SparseTensor, Tensor, Value
from absint.questions.proofs.text import Query, read_dim, read_relation
from absint.shapes.summaries import State
from tests.models import model

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
N, M, H = (symbol(name) for name in "NMH")
node = helper.make_node


def value(name: str, dims: Sequence[int | str | None] | None, dtype: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


@pytest.fixture(scope="module")
def result() -> absint.Result:
    """Names as exporters give them, a symbol that is a value too, invented symbols, an unknown rank, a sequence."""
    nodes = [
        node("Relu", ["input_ids"], ["/model/layers.0/Relu_output_0"]),
        node("MatMul", ["/model/layers.0/Relu_output_0", "w"], ["onnx::Add_12"]),
        node("NonZero", ["input_ids"], ["found"]),
        node("Shape", ["input_ids"], ["dims"]),
        node("Identity", ["input_ids"], ["H"]),
        node("Mystery", ["input_ids"], ["mystery"], domain="my"),
        node("SequenceConstruct", ["input_ids"], ["pieces"]),
        node("Identity", ["flag"], ["flagged"]),
        node("Expand", ["input_ids", "target"], ["expanded"]),
    ]
    inputs = [
        value("input_ids", ["N", "M"]),
        value("w", ["M", "H"]),
        value("flag", [], BOOL),
        value("target", [2], INT64),
    ]
    return absint.analyze(model(nodes, inputs))


def tensor(result: absint.Result, name: str) -> Tensor:
    found = result.values[name]
    assert isinstance(found, Tensor)
    return found


def states_with(result: absint.Result, name: str, value: Value | Sequence[Dim]) -> list[State]:
    """The result's states, with another value, or other dims, for a value of the main graph."""
    states = list(result.states)
    number, index = result.operands[name]
    assert index == 0
    states[number] = (value if isinstance(value, Value) else Tensor(tensor(result, name).dtype, Shape(value)),)
    return states


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("/model/layers.0/Relu_output_0[1] == input_ids[1]", TRUE),
        ("onnx::Add_12[-1] % 32 == 0", eq(H % 32, 0)),
        ("shape(/model/layers.0/Relu_output_0) == shape(input_ids)", TRUE),
        ("shape(onnx::Add_12) == [N, 3 * M]", eq(H, 3 * M)),
        ("size(input_ids) == size(onnx::Add_12)", eq(N * M, N * H)),
        ("rank(w) == rank(dims)", FALSE),
        ("dims[0] == 2", TRUE),
        ("N >= 1 -> M <= symbol(H) + 2", implies(ge(N, 1), ge(H + 2, M))),
        ("H[0] == N", TRUE),
    ],
)
def test_relations_over_values_and_symbols(result: absint.Result, text: str, meaning: Relation) -> None:
    assert read_relation(result, text) is meaning


def test_dims_are_those_of_the_states(result: absint.Result) -> None:
    """Printed names are read back as the symbols that constraints are over."""
    for name, value in result.values.items():
        if not isinstance(value, Tensor) or value.shape.rank is None:
            continue
        operand = result.operands[name]
        state = result.states[operand[0]][operand[1]]
        assert isinstance(state, Tensor)
        for axis, (shown, internal) in enumerate(zip(value.shape, state.shape, strict=True)):
            assert read_dim(result, f"{quote(name)}[{axis}]") is internal
            if "broadcast" in str(shown):  # a query says the same where the operands do not broadcast, too
                assert result.prove(f"{quote(name)}[{axis}] == {shown}")
            elif "H" not in shown.free_symbols:
                assert read_dim(result, str(shown)) is internal


def test_invented_symbols_have_their_printed_names(result: absint.Result) -> None:
    invented = str(tensor(result, "found").shape[1])
    assert invented.startswith("_d")
    internal = read_dim(result, "found[1]")
    assert internal.free_symbols != {invented}
    assert read_dim(result, invented) is internal
    assert read_relation(result, f"{invented} == found[1]") is TRUE
    assert read_relation(result, f"{invented} <= N*M") is ge(N * M, internal)


def test_conditions_of_the_data_have_their_printed_names(result: absint.Result) -> None:
    contents = tensor(result, "flagged").contents
    assert contents is not None
    (shown,) = contents.elements
    assert read_relation(result, f"{shown} -> N == 2") is implies(boolean("flag"), eq(N, 2))
    with pytest.raises(UsageError, match="expected a condition"):
        read_relation(result, "N -> M == 2")


def test_integers_of_the_data_have_their_own_bounds(result: absint.Result) -> None:
    contents = tensor(result, "target").contents
    assert contents is not None
    shown = str(contents.elements[0])
    read = read_dim(result, shown)
    assert read.bounds.lo is not None
    assert read.bounds.lo < 0
    assert read_relation(result, f"{shown} >= 0") is ge(read, 0)


def test_states_of_another_round(result: absint.Result) -> None:
    """Dims, and the bounds of symbols, are those of the states that are asked."""
    (shown,) = tensor(result, "found").shape[1].free_symbols
    (internal,) = read_dim(result, shown).symbols
    assert internal.origin_node == result.operands["found"][0]
    narrow = expr_of(internal.within(1, 9))
    assert narrow.free_symbols == {internal.name}
    states = states_with(result, "found", [const(2), narrow])
    assert read_dim(result, "found[1]", states) is read_dim(result, shown, states) is narrow
    assert read_relation(result, f"{shown} >= 1", states) is TRUE
    assert read_relation(result, f"{shown} >= 1") is not TRUE
    gone = states_with(result, "found", [const(2), N])
    assert read_dim(result, "found[1]", gone) is N
    with pytest.raises(UsageError, match="no symbol or value"):
        read_dim(result, shown, gone)


def test_symbols_of_the_inputs_are_those_of_the_states() -> None:
    """An assumption that bounds a symbol narrows it, in the query too; one that fixes it leaves it a symbol there."""
    proto = model([node("Relu", ["x"], ["y"])], [value("x", ["N", "M"])])
    bounded = absint.analyze(proto, assume=["N >= 2"])
    assert read_dim(bounded, "N") is read_dim(bounded, "y[0]")
    fixed = absint.analyze(proto, bind={"N": 4})
    assert read_relation(fixed, "y[0] == N") is eq(N, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "/model/layers.0/Relu_output[1] == 2",
            "no value '/model/layers.0/Relu_output' here; did you mean '/model/layers.0/Relu_output_0'?\n"
            "    /model/layers.0/Relu_output[1]...\n"
            "    ^",
        ),
        (
            "2 == input_ids[2]",
            "axis 2 is out of range: 'input_ids' has rank 2, its axes are -2 to 1\n"
            "    2 == input_ids[2]\n"
            "                   ^",
        ),
        ("rank(pieces) == 1", "'pieces' is a sequence: only tensors have dims\n    rank(pieces) == 1\n         ^"),
        ("H == 2", "'H' is a symbol and a value: write symbol(H), or H[axis] and the like\n    H == 2\n    ^"),
        (
            "found == 2",
            "'found' is a value: write found[axis], shape(found), size(found) or rank(found)\n    found == 2\n    ^",
        ),
        ("N == 2 and", "expected a number, a name or '(', found the end\n    N == 2 and\n              ^"),
        ("M2 == 2", "no symbol or value 'M2' here; did you mean 'M'?\n    M2 == 2\n    ^"),
    ],
)
def test_errors(result: absint.Result, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_relation(result, text)
    assert str(caught.value) == message
    assert isinstance(caught.value.__cause__, TextError)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (BOTTOM, "'found' is computed in no run"),
        (Tensor(DType.INT64, BOTTOM_SHAPE), "'found' is computed in no run"),
        (TOP, "the rank of 'found' is unknown, and so is its axis 0"),
        (SparseTensor(DType.INT64), "the rank of 'found' is unknown, and so is its axis 0"),
        (MapOf(DType.INT64, TOP), "'found' is a map: only tensors have dims"),
        (OptionalOf(TOP), "'found' is an optional: only tensors have dims"),
        (Tensor(DType.INT64, Shape([None])), "axis 0 of 'found' is unknown: it has no expression"),
    ],
)
def test_values_without_dims(result: absint.Result, value: Value, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_dim(result, "2*found[0]", states_with(result, "found", value))
    assert str(caught.value) == f"{reason}\n    2*found[0]\n      ^"


def test_sparse_tensors_have_dims(result: absint.Result) -> None:
    states = states_with(result, "found", SparseTensor(DType.INT64, Shape([N, 3])))
    assert read_dim(result, "found[0]", states) is N


def test_a_dim_is_no_relation_and_a_relation_no_dim(result: absint.Result) -> None:
    with pytest.raises(UsageError, match="expected a condition such as N >= 1, found a number"):
        read_relation(result, "input_ids[0]")
    with pytest.raises(UsageError, match="expected a number, found a condition"):
        read_dim(result, "input_ids[0] == 2")
    with pytest.raises(UsageError, match="expected a number, found a shape"):
        read_dim(result, "shape(w)")


NAMES = ["/a/b.0", "a", "b[0]", "x::y", "N", "a/b", "`", "in", "1", "%3", "a b", "_d0", "é", "f(x)", "past-seq", "#"]
PIECES = [
    *NAMES,
    *map(quote, NAMES),
    *"[](),+-*/ ",
    "==",
    "<=",
    "->",
    "[0]",
    "[-1]",
    "shape(",
    "size(",
    "symbol(",
    "or",
]


@pytest.fixture(scope="module")
def odd() -> Query:
    """A chain of values with odd names."""
    nodes = [node("Relu", [before], [after]) for before, after in zip(["x", *NAMES], NAMES, strict=False)]
    return Query(absint.analyze(model(nodes, [value("x", ["N", "past-seq"])])))


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_read_or_refused(odd: Query, text: str) -> None:
    for read, kind in ((odd.relation, Relation), (odd.dim, Dim)):
        found = outcome(read, text)
        assert isinstance(found, kind) or (isinstance(found, str) and found.splitlines()[-1].strip() == "^")


def outcome(read: Callable[[str], object], text: str) -> object:
    """The parsed text, or the message of the error."""
    try:
        return read(text)
    except UsageError as problem:
        return str(problem)


@pytest.mark.parametrize("name", NAMES)
def test_odd_names(odd: Query, name: str) -> None:
    assert odd.relation(f"{quote(name)}[0] == symbol(N) and shape({quote(name)}) == [x[0], x[-1]]") is TRUE
