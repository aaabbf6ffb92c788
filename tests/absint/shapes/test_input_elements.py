"""Elements of small inputs as symbols: sizes that they decide, against runs with many values of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, ValueInfoProto, helper

import absint
from absint import UsageError
from absint.cli import run
from absint.lattices.logic.relation import NO, ge
from absint.lattices.terms.expr import Dim
from absint.questions.proofs.proof import Verdict
from absint.runs.run import feeds_for
from absint.shapes.inputs import MAX_INPUT_ELEMENTS
from absint.solver.export import shapes_function, to_python
from tests.models import parsed

NUMBERS: Final = (-3, -2, -1, 0, 1, 2, 3, 4, 6)
SIZES: Final = (0, 1, 2, 3, 5)
LARGEST: Final = 9


class Case(NamedTuple):
    """A graph, the claimed shape of y, and whether the contract says exactly when it runs."""

    graph: str
    shape: str
    exact: bool = True


LOOP = """<body = b (int64 i, bool on, float[p] h) => (bool more, float[q] g) { more = %s g = Concat<axis=0>(h, x) }>"""
BRANCHES = """<then_branch = t () => (float[b] u) { u = Concat<axis=0>(p, x) },
    else_branch = e () => (float[c] v) { v = Identity(x) }>"""
SCALAR = "a = Constant<value_ints=[0]>() v = Unsqueeze(%s, a)"

CASES: Final = {
    "if": Case(f"(float[past] p, float[seq] x, bool use) => (y) {{ y = If(use) {BRANCHES} }}",
               "[ite(use, past + seq, seq)]"),
    "if-of-one": Case(f"(float[past] p, float[seq] x, bool[1] use) => (y) {{ y = If(use) {BRANCHES} }}",
                      "[ite(use, past + seq, seq)]"),
    "if-by-an-integer": Case("(float[past] p, float[seq] x, int64 step) => (y) "
                             f"{{ z = Constant<value_int=0>() c = Greater(step, z) y = If(c) {BRANCHES} }}",
                             "[ite(step >= 1, past + seq, seq)]"),
    "if-by-two": Case(f"(float[past] p, float[seq] x, bool a, bool b) => (y) {{ c = And(a, b) y = If(c) {BRANCHES} }}",
                      "[ite(a and b, past + seq, seq)]"),
    "loop": Case(f"(float[N] x, int64 trips) => (y) {{ y = Loop(trips, , x) {LOOP % 'Identity(on)'} }}",
                 "[N*max(trips, 0) + N]"),
    "loop-by-a-limit": Case("(float[N] x, int64 trips, int64 stop) => (y) "
                            f"{{ y = Loop(trips, , x) {LOOP % 'Less(i, stop)'} }}",
                            "[N*min(max(stop + 1, 1), max(trips, 0)) + N]"),
    "range": Case("(int64 start, int64 limit, int64 delta) => (y) { y = Range(start, limit, delta) }",
                  "[max(-((start - limit)//delta), 0)]"),
    "range-of-int32": Case("(int32 limit) => (y) { a = Constant<value_int=0>() z = Cast<to=6>(a) "
                           "b = Constant<value_int=1>() o = Cast<to=6>(b) y = Range(z, limit, o) }", "[max(limit, 0)]"),
    "slice": Case("(float[N] x, int64[1] start, int64[1] end) => (y) { y = Slice(x, start, end) }",
                  "[ite(start >= 0, ite(end >= 0, max(min(N, end) - start, 0), max(N + end - start, 0)), "
                  "ite(end >= 0, max(min(end - N - start, -start, N, end), 0), max(end + min(-start, N), 0)))]"),
    "slice-to": Case("(float[N] x, int64[1] end) => (y) { z = Constant<value_ints=[0]>() y = Slice(x, z, end) }",
                     "[ite(end >= 0, min(N, end), max(N + end, 0))]"),
    "resize": Case('(float[1, 1, H, W] x, int64[2] s) => (y) { o = Constant<value_ints=[1, 1]>() '
                   't = Concat<axis=0>(o, s) y = Resize<mode="nearest">(x, , , t) }', "[1, 1, s_0, s_1]", exact=False),
    "reshape": Case("(float[N, M] x, int64[2] to) => (y) { y = Reshape(x, to) }",
                    "[ite(to_0 == -1, M*N//ite(to_1 >= 1, to_1, M), ite(to_0 >= 1, to_0, N)), "
                    "ite(to_1 == -1, M*N//ite(to_0 >= 1, to_0, N), ite(to_1 >= 1, to_1, M))]"),
    "reshape-to-one": Case("(float[N, M] x, int64[1] to) => (y) { y = Reshape(x, to) }",
                           "[ite(to == -1, M*N, ite(to == 0, N, to))]"),
    "reshape-by-a-scalar": Case("(float[N, M] x, int64 h) => (y) { i = Constant<value_ints=[-1]>() "
                                f"{SCALAR % 'h'} t = Concat<axis=0>(i, v) y = Reshape(x, t) }}",
                                "[ite(h >= 1, M*N//h, N), ite(h >= 1, h, M)]"),
    "expand": Case("(float[N, 1] x, int64[2] to) => (y) { y = Expand(x, to) }", "[broadcast(N, to_0), to_1]"),
    "topk": Case("(float[N, M] x, int64[1] k) => (y) { y, i = TopK(x, k) }", "[N, k]"),
    "constant": Case("(int64[2] s) => (y) { y = ConstantOfShape(s) }", "[s_0, s_1]"),
    "tile": Case("(float[N, M] x, int64[2] r) => (y) { y = Tile(x, r) }", "[N*r_0, M*r_1]"),
    "split": Case("(float[3] x, int64[2] s) => (y) { y, z = Split(x, s) }", "[s_0]"),
    "onehot": Case("(int64[N] x, int64 depth, float[2] v) => (y) { y = OneHot(x, depth, v) }", "[N, depth]",
                   exact=False),
    "pad": Case("(float[N] x, int64[2] p) => (y) { y = Pad(x, p) }", "[N + p_0 + p_1]"),
    "where": Case(f"(bool use, int64 n, int64 m) => (y) {{ w = Where(use, n, m) {SCALAR % 'w'} "
                  "y = ConstantOfShape(v) }", "[ite(use, n, m)]"),
    "cast": Case(f"(bool c, uint8 n) => (y) {{ i = Cast<to=7>(c) j = Cast<to=7>(n) w = Add(i, j) {SCALAR % 'w'} "
                 "y = ConstantOfShape(v) }", "[c + n]"),
    "wraps": Case(f"(uint8 n, uint8 m) => (y) {{ s = Add(n, m) w = Cast<to=7>(s) {SCALAR % 'w'} "
                  "y = ConstantOfShape(v) }", "[_d0]", exact=False),
    "crop": Case("(float[N] x, int64[1] s) => (y) { y = CenterCropPad(x, s) }", "[max(s, 0)]", exact=False),
    "gather": Case("(float[N, M] x, int64 i) => (y) { s = Shape(x) w = Gather<axis=0>(s, i) "
                   f"{SCALAR % 'w'} y = ConstantOfShape(v) }}", "[ite(i == 0 or i == -2, N, M)]"),
    "nonzero": Case("(int64[2] s) => (y) { y = NonZero(s) }", "[1, ite(s_0 == 0, 0, 1) + ite(s_1 == 0, 0, 1)]"),
    "cumsum": Case("(int64[2] s) => (y) { a = Constant<value_int=0>() n = CumSum(s, a) y = ConstantOfShape(n) }",
                   "[s_0, s_0 + s_1]"),
    "trilu": Case("(float[N, M] x, int64 k) => (y) { y = Trilu(x, k) }", "[N, M]"),
}  # fmt: skip


def built(graph: str) -> onnx.ModelProto:
    """A model whose outputs have no declared type."""
    model = parsed(f"{graph.replace('=> (y)', '=> (float y)')}")
    del model.graph.output[:]
    model.graph.output.append(ValueInfoProto(name="y"))
    return model


def bindings(result: absint.Result, count: int) -> Iterator[Mapping[str, int]]:
    """Sizes, and numbers for all elements."""
    draw = Random(0)
    elements = result.declared_inputs.elements
    for _ in range(count):
        sizes = {name: draw.choice(SIZES) for name in result.symbols}
        yield sizes | {name: draw.choice([n for n in NUMBERS if n in e.symbol.bounds]) for name, e in elements.items()}


@pytest.mark.parametrize("name", CASES)
def test_runs_have_the_sizes_that_are_claimed(name: str) -> None:
    case = CASES[name]
    model = built(case.graph)
    result = absint.analyze(model)
    result.verify()
    shape = result.shapes["y"]
    assert str(shape) == case.shape
    contract = result.contract()
    required = [c.formula for c in result.constraints.filter("required")]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    succeeded = failed = 0
    for binding in bindings(result, 600):
        if succeeded > 60 and (failed > 20 or not contract.clauses):
            break
        feeds = feeds_for(result, binding, values="zeros")
        try:
            found = session.run(None, feeds)[0].shape
        except Exception:
            failed += 1
            if case.exact:
                assert not contract.allows(binding), binding
            continue
        succeeded += 1
        if dict(binding).keys() >= set().union(*(dim.free_symbols for dim in shape)):
            assert tuple(dim.evaluate(binding) for dim in shape) == found, binding
        assert contract.allows(binding), binding
        assert all(relation.at(binding) is not NO for relation in required), binding
        if succeeded <= LARGEST:
            checked = result.check(binding)
            assert checked.ok, binding
            assert all(size in (None, real) for size, real in zip(checked.shapes["y"] or (), found, strict=True))
    assert succeeded >= LARGEST
    if case.exact and contract.clauses:
        assert failed


# Names


def named(*inputs: ValueInfoProto) -> absint.Result:
    """A model of these inputs, each of which is an output."""
    nodes = [helper.make_node("Identity", [item.name], [f"{item.name}*"]) for item in inputs]
    outputs = [ValueInfoProto(name=node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "g", list(inputs), outputs)
    return absint.analyze(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))


value = helper.make_tensor_value_info


def test_names_and_bounds() -> None:
    result = named(
        value("k", TensorProto.INT64, []),
        value("one", TensorProto.UINT8, [1]),
        value("also", TensorProto.INT32, [1, 1]),
        value("flags", TensorProto.BOOL, [2]),
        value("%odd", TensorProto.INT8, []),
    )
    found = {name: (e.input, e.place, tuple(e.symbol.bounds)) for name, e in result.declared_inputs.elements.items()}
    assert found == {
        "k": ("k", 0, (-(2**63), 2**63 - 1)),
        "one": ("one", 0, (0, 255)),
        "also": ("also", 0, (-(2**31), 2**31 - 1)),
        "flags_0": ("flags", 0, (0, 1)),
        "flags_1": ("flags", 1, (0, 1)),
        "\\%odd": ("%odd", 0, (-128, 127)),
    }
    assert result.elements == {}  # no size depends on any
    assert str(result["flags*"].contents) == "[flags_0, flags_1]"  # type: ignore[attr-defined]


def test_large_and_other_inputs_have_none() -> None:
    result = named(
        value("long", TensorProto.INT64, [MAX_INPUT_ELEMENTS + 1]),
        value("open", TensorProto.INT64, ["N"]),
        value("real", TensorProto.FLOAT, []),
        value("square", TensorProto.INT64, [2, 2]),
        value("unranked", TensorProto.INT64, None),
        value("none", TensorProto.INT64, [0]),
    )
    assert result.declared_inputs.elements == {}
    assert result.parameters.keys() == {"N"}
    assert str(
        named(value("longest", TensorProto.INT64, [MAX_INPUT_ELEMENTS])).declared_inputs.elements["longest_15"].where
    ) == ("element 15 of input 'longest'")


def test_a_name_that_a_dim_has_gets_an_underscore() -> None:
    result = named(
        value("x", TensorProto.FLOAT, ["seq", "s_1", None]),
        value("seq", TensorProto.INT64, []),
        value("s", TensorProto.INT64, [2]),
        value("x_dim2", TensorProto.INT64, []),
    )
    assert list(result.parameters) == ["seq", "s_1", "x_dim2", "seq_", "s_0", "s_1_", "x_dim2_"]
    model = built(
        "(float[k] x, int64 k) => (y) { a = Constant<value_ints=[0]>() v = Unsqueeze(k, a) y = Expand(x, v) }"
    )
    result = absint.analyze(model)
    assert str(result.shapes["y"]) == "[broadcast(k, k_)]"
    assert result.prove("y[0] == max(symbol(k), k_)", assume=["symbol(k) >= 1", "k_ >= 1"])


# Questions


@pytest.fixture
def decoder() -> absint.Result:
    return absint.analyze(built(CASES["if"].graph))


@pytest.fixture
def topk() -> absint.Result:
    return absint.analyze(built(CASES["topk"].graph))


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ({"bind": {"use": 1}}, "[past + seq]"),
        ({"bind": {"use": True}}, "[past + seq]"),
        ({"bind": {"use": 0}}, "[seq]"),
        ({"assume": ["use"]}, "[past + seq]"),
        ({"assume": ["not use"]}, "[seq]"),
        ({"assume": ["use == 0"]}, "[seq]"),
        ({"assume": [ge(Dim("use"), 1)]}, "[past + seq]"),
    ],
)
def test_what_a_caller_chooses_decides_the_branch(given: dict[str, object], shape: str) -> None:
    assert str(absint.analyze(built(CASES["if"].graph), **given).shapes["y"]) == shape  # type: ignore[arg-type]


def test_bounds_that_are_assumed_simplify() -> None:
    model = built(CASES["slice-to"].graph)
    assert str(absint.analyze(model, assume=["0 <= end <= N"]).shapes["y"]) == "[end]"
    assert str(absint.analyze(model, assume=["end == -1", "N >= 1"]).shapes["y"]) == "[N - 1]"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bind": {"use": 2}}, "use=2: element 0 of input 'use' is of type BOOL, 0 to 1"),
        ({"bind": {"use": "x"}}, "use='x': an element of an input is an integer"),
        ({"bind": {"p": 2}}, "p=2: input 'p' has no symbols for its elements: only integers and truths have them, in "
         f"an input of at most {MAX_INPUT_ELEMENTS} whose shape is declared in numbers"),
        ({"bind": {"us": 1}}, "us=1: no input has a symbol 'us'; did you mean 'use'?"),
        ({"assume": ["use -> seq"]}, "assumption use -> seq: 'seq' is a size, not a condition: write seq >= 1, say"),
        ({"assume": ["use", "not use"]}, "the assumptions contradict each other: use, not use"),
    ],
)  # fmt: skip
def test_bad_choices_are_one_clear_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        absint.analyze(built(CASES["if"].graph), **given)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        ("use -> y[0] == past + seq", "proved"),
        ("y[0] == seq + use*past", "proved"),
        ("y[0] >= seq", "proved"),
        ("y[0] == seq", "refuted"),
        ("use", "refuted"),
        ("shape(use) == []", "proved"),
    ],
)
def test_proofs_over_elements(decoder: absint.Result, query: str, verdict: str) -> None:
    proof = decoder.prove(query, evidence="none")
    assert proof.verdict.value == verdict
    if verdict == "refuted":
        assert proof.counterexample is not None
        assert proof.counterexample.keys() >= {"past", "seq", "use"}
        assert proof.relation.at(proof.counterexample) is NO
    assert decoder.prove(query, confirm=True).verdict.value == verdict


def test_the_name_is_the_element_and_an_index_the_dim(topk: absint.Result) -> None:
    assert topk.prove("y[1] == k")
    assert topk.prove("k[0] == 1")
    assert topk.prove("k <= M")
    assert topk.prove("k >= 0")
    assert topk.prove("k == 1").counterexample is not None


def test_contract_check_and_range(topk: absint.Result) -> None:
    contract = topk.contract()
    assert [str(clause.relation) for clause in contract.clauses] == ["k >= 0", "M >= k"]
    assert contract.elements == ("k",)
    assert contract.beyond == ()
    assert contract.allows({"N": 2, "M": 3})  # as far as the sizes decide it
    assert [contract.allows({"N": 2, "M": 3, "k": k}) for k in (-1, 0, 3, 4)] == [False, True, True, False]
    with pytest.raises(KeyError, match="no size for 'M'"):
        contract.allows({"k": 1})
    assert topk.check({"N": 2, "M": 3}).outcome.value == "legal"
    assert topk.check({"N": 2, "M": 3, "k": 3}).shapes["y"] == (2, 3)
    assert topk.check({"N": 2, "M": 3, "k": 4}).outcome.value == "illegal"
    assert topk.check({"N": 2, "M": 3, "k": -1}).outcome.value == "illegal"
    assert topk.check_range({"M": (4, 8), "k": (0, 4)}).outcome.value == "runs"
    assert topk.check_range({"M": (3, 8), "k": (0, 4)}).sizes == {"N": 0, "M": 3, "k": 4}
    assert topk.check_range({"M": (3, 8)}).outcome.value == "legal"
    assert str(topk.symbol("k")) == "k >= 0"
    for box in ({"k": (3, 2)}, {"k": (0, 2**63)}):
        with pytest.raises(UsageError, match=r"k=3\.\.2: the range is empty|k=0..9223372036854775808: element 0 of"):
            topk.check_range(box)


def test_clauses_over_sizes_rest_on_no_clause_over_elements() -> None:
    model = built("(float[N] x, float[3] w, int64[1] k) => (y) { y, i = TopK(x, k) z = Add(x, w) }")
    contract = absint.analyze(model, assume=["k >= 3"]).contract()
    assert [str(clause.relation) for clause in contract.clauses] == ["N == 1 or N == 3", "N >= k"]
    model = built(
        "(float[N] x, float[2] w, int64[1] k) => (y) { o = Constant<value_ints=[1]>() a, b = TopK(x, o) "
        "y, i = TopK(x, k) c = ConstantOfShape(k) z = Add(c, w) }"
    )
    clauses = [str(clause.relation) for clause in absint.analyze(model).contract().clauses]
    assert clauses == ["N >= 1", "k >= 1", "k <= 2", "N >= k"]


def test_cost_and_memory() -> None:
    result = absint.analyze(built(CASES["loop"].graph))
    assert result.cost().default_sizes == {"N": 64, "trips": 64}
    assert result.cost().evaluate({"N": 2, "trips": 3}).bytes > result.cost().evaluate({"N": 2, "trips": -3}).bytes
    assert result.memory().evaluate({"N": 2, "trips": 3}) > result.memory().evaluate({"N": 2, "trips": 0})
    with pytest.raises(UsageError, match="no size for 'trips'"):
        result.memory().evaluate({"N": 2})


def test_explained_as_an_element_of_the_input() -> None:
    text = str(absint.analyze(built(CASES["constant"].graph)).explain("y", 1))
    assert "from s element 1 = s_1 (input)" in text


def test_the_arrays_of_a_run_have_the_elements() -> None:
    result = absint.analyze(built(CASES["reshape"].graph), assume=["to_0 == -1", "1 <= to_1 <= 2"])
    for seed in range(4):
        to = feeds_for(result, {"N": 2, "M": 2}, seed=seed)["to"].tolist()
        assert to[0] == -1
        assert 1 <= to[1] <= 2
    assert feeds_for(result, {"N": 2, "M": 2, "to_1": 2})["to"].tolist() == [-1, 2]
    with pytest.raises(UsageError, match="no inputs are made that meet the assumption"):
        feeds_for(result, {"N": 2, "M": 2, "to_1": 4})


def test_a_run_shows_the_elements(decoder: absint.Result) -> None:
    feeds = feeds_for(decoder, {"past": 2, "seq": 3, "use": 1})
    found = decoder.compare(feeds, {"y": (5,)})
    assert found.ok
    assert found.binding == {"past": 2, "seq": 3, "use": 1}
    assert not decoder.compare(feeds, {"y": (3,)}).ok


def test_counterexamples_have_the_elements_that_a_divisor_needs() -> None:
    """The quotient itself is 0 and has no symbol left."""
    result = absint.analyze(built("(float[N] x, int64 k) => (y) { y = Relu(x) }"))
    assumed = result.prove("N >= 1", given="inputs", assume=["N == 0 // k"])
    assert assumed.verdict is Verdict.REFUTED
    assert assumed.counterexample is not None
    assert assumed.counterexample["N"] == 0
    assert assumed.counterexample["k"] != 0
    assert result.prove("N >= 3").verdict is Verdict.REFUTED  # its sizes are tried first
    asked = result.prove("0 // k == 1")
    assert asked.verdict is Verdict.REFUTED
    assert asked.counterexample is not None
    assert asked.counterexample["k"] != 0


def test_counterexamples_have_the_elements_that_a_node_without_readers_needs() -> None:
    graph = "(float[N] x, int64[1] k) => (y) { unused = ConstantOfShape(k) y = Relu(x) }"
    result = absint.analyze(built(graph))
    proof = result.prove("N >= 1")
    assert proof.verdict is Verdict.REFUTED
    assert proof.counterexample is not None
    assert proof.counterexample["N"] == 0
    assert proof.counterexample["k"] >= 0


# Files


def written(result: absint.Result) -> list[str | int]:
    output = result.annotate(outputs=True).graph.output[0]
    return [dim.dim_param or dim.dim_value for dim in output.type.tensor_type.shape.dim]


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("if", ["ite(use, past + seq, seq)"]),
        ("topk", ["N", "k"]),
        ("constant", ["s_0", "s_1"]),
        ("slice-to", ["_d0"]),  # one who takes `end` for a size would read N
        ("range-of-int32", ["_d0"]),
    ],
)
def test_dims_in_a_file(name: str, dims: list[str]) -> None:
    result = absint.analyze(built(CASES[name].graph))
    assert written(result) == dims
    again = absint.analyze(result.annotate(outputs=True))
    assert written(again) == dims
    assert [d for d in again.diagnostics if d.code == "false-declaration"] == []


def test_a_name_that_means_another_size_in_the_file_is_not_given() -> None:
    model = built("(float[N, M] x, int64[1] k) => (y) { w = Relu(x) y, i = TopK(x, k) }")
    model.graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, ["N", "k"]))
    result = absint.analyze(model)
    copy = result.annotate("skip", outputs=True)
    texts = {info.name: [d.dim_param for d in info.type.tensor_type.shape.dim] for info in copy.graph.value_info}
    assert texts["w"] == ["N", "k"]
    assert [d.dim_param for d in copy.graph.output[0].type.tensor_type.shape.dim] == ["N", "k_"]


def loaded(text: str, name: str) -> Callable[..., object]:
    namespace: dict[str, Callable[..., object]] = {}
    exec(text, namespace)
    return namespace[name]


def test_a_python_guard_checks_the_elements_that_it_is_given(topk: absint.Result) -> None:
    check = loaded(to_python(topk.constraints, elements=("k", "other")), "check")
    check(N=2, M=3)
    check({"N": 2, "M": 3}, k=3)
    for sizes, message in (
        ({"N": 2, "M": 3, "k": 4}, r"^M >= k does not hold for \{'N': 2, 'M': 3, 'k': 4\}: TopK #0: k must not be"),
        ({"N": 2, "M": 3, "k": -1}, "^k >= 0 does not hold for"),
        ({"N": 2, "k": 1}, "^the size of 'M' is missing: expected 'N', 'M', 'k'$"),
        ({"N": 2, "M": 3, "k": 2**63}, r"^'k' lies in -9223372036854775808\.\.9223372036854775807 and cannot be"),
    ):
        with pytest.raises(ValueError, match=message):
            check(sizes)


def test_a_python_function_of_shapes_takes_elements(decoder: absint.Result) -> None:
    dims = {"y": decoder.shapes["y"].dims}
    shapes = loaded(shapes_function(decoder.symbols, dims, elements=tuple(decoder.elements)), "shapes")
    assert shapes(past=2, seq=3) == {"y": (None,)}
    assert shapes(past=2, seq=3, use=1) == {"y": (5,)}
    assert shapes(past=2, seq=3, use=False) == {"y": (3,)}


# The command line


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.chdir(tmp_path)

    def save(name: str) -> str:
        onnx.save(built(CASES[name].graph), f"{name}.onnx")
        return f"{name}.onnx"

    return save


def test_a_box_that_leaves_an_element_open() -> None:
    result = absint.analyze(
        parsed("""(float[N, 3] x, int64[2] k) => (float[A, B] v, int64[A, B] i) <int64[1] axes = {0}>
        { most = ReduceMax<keepdims=1>(k) v, i = TopK<axis=0>(x, most) }""")
    )
    found = result.check_range({"N": (2, 9), "k_0": (1, 4)})
    assert (found.outcome.value, found.sizes) == ("illegal", {"N": 2, "k_0": 3})
    assert result.check_range({"N": (4, 9), "k_0": (1, 4)}).outcome.value == "legal"


def test_commands(files: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    decoder, topk, ranged = files("if"), files("topk"), files("range-of-int32")

    def said(*arguments: str, code: int = 0) -> str:
        assert run(list(arguments)) == code
        return capsys.readouterr().out

    assert "y  ?     [ite(use, past + seq, seq)]" in said("analyze", decoder).replace("FLOAT", "?    ")
    assert "\n  symbols   past, seq\n  elements  use\n" in said("analyze", decoder)
    assert "[past + seq]" in said("analyze", decoder, "--set", "use=1")
    assert "[-limit]" not in said("analyze", ranged, "--set", "limit=-4")
    assert "y  INT32 [0]" in said("analyze", ranged, "--set", "limit=-4")
    assert "y  INT32 [limit]" in said("analyze", ranged, "--assume", "0 <= limit <= 16")
    found = json.loads(said("analyze", decoder, "--format", "json"))
    assert found["symbols"] == ["past", "seq"]
    assert found["elements"] == [{"name": "use", "input": "use", "index": 0, "dtype": "BOOL", "bounds": [0, 1]}]
    assert "legal sizes meet 2 clauses over N, M, k" in said("contract", topk)
    said("check", topk, "N=2", "M=3", "k=3")
    said("check", topk, "N=2", "M=3", "k=4", code=1)
    said("check", topk, "M=4..", "k=0..4")
    said("check", topk, "M=4..", "k=..4", code=1)
    said("check", ranged, "limit=-7")
    said("prove", topk, "y[1] == k", "k <= M")
    assert "[y[1]]" in said("explain", topk, "y") or "k (input)" in said("explain", topk, "y")
    assert "N=64, M=64, k=64" in said("cost", topk).replace("\n", " ")


def test_every_case_is_of_another_graph() -> None:
    assert all(a.graph != b.graph for a, b in itertools.combinations(CASES.values(), 2))
