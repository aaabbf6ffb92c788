"""Liveness and peak memory: laws of the lattice, answers counted by hand, and runs taken apart."""

from __future__ import annotations

import time
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper, numpy_helper

import absint
from absint import UsageError
from absint.analyses.liveness import LastUses, MomentLattice, Regions, bytes_of
from absint.engine import fixpoint
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Expr, Symbol, expr_of
from absint.lattices.text import parse
from absint.lattices.value import TOP, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor
from absint.questions.costs.dominance import Dominance, Sum
from absint.questions.costs.memory import Memory
from tests.absint.shapes.flows import FLOWS
from tests.effort import examples
from tests.laws import LAWS, Domain, widening_chain_ends
from tests.models import boolean, branch, const, floats, loop_body, model, node, untyped

# The lattice

WIDTH, END = 3, 4
MOMENTS = Domain(
    "moments",
    MomentLattice(WIDTH, END),
    st.lists(st.integers(-1, END), max_size=WIDTH).map(tuple),
    [(output, step) for output in range(WIDTH) for step in range(-1, END + 1)],
    lambda moments, use, _: use[0] < len(moments) and use[1] <= moments[use[0]],
    lambda n: (min(n, END),),
    factors=lambda moments: None,
)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_moments_of_last_uses_are_a_lattice(law: Any) -> None:
    @settings(max_examples=examples(100))
    @given(MOMENTS.elements, MOMENTS.elements, MOMENTS.elements)
    def holds(a: object, b: object, c: object) -> None:
        law(MOMENTS, a, b, c)

    holds()


def test_widening_moments_ends() -> None:
    widening_chain_ends(MOMENTS, (), [(1, 2), (0,), (4, 4, 4)])


# Bytes


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (Tensor(DType.FLOAT, Shape([2, "N"])), "8*N"),
        (Tensor(DType.BOOL, Shape([])), "1"),
        (Tensor(DType.INT4, Shape(["N"])), "(N + 1)//2"),
        (Tensor(DType.FLOAT6E2M3, Shape([4])), "3"),
        (Tensor(DType.FLOAT, Shape(None)), None),
        (Tensor(DType.FLOAT, Shape([None])), None),
        (Tensor(DType.STRING, Shape([2])), None),
        (Tensor(DType.UNDEFINED, Shape([2])), None),
        (SparseTensor(DType.DOUBLE, Shape(["N", 2])), "16*N"),
        (SequenceOf(Tensor(DType.FLOAT, Shape([2])), absint.Dim("K")), "8*K"),
        (SequenceOf(Tensor(DType.FLOAT, Shape([None])), absint.Dim(0)), "0"),
        (SequenceOf.of([Tensor(DType.FLOAT, Shape([2])), Tensor(DType.FLOAT, Shape(["N"]))], TOP), "4*N + 8"),
        (OptionalOf(Tensor(DType.FLOAT, Shape([2])), True), "8"),
        (OptionalOf(Tensor(DType.FLOAT, Shape([2])), False), "0"),
        (OptionalOf(Tensor(DType.FLOAT, Shape([2]))), None),
        (MapOf(DType.INT64, Tensor(DType.FLOAT, Shape([]))), None),
        (TOP, None),
    ],
    ids=str,
)
def test_bytes_of_a_value(value: Any, size: str | None) -> None:
    found = bytes_of(value)
    assert size == (None if found is None else str(found))


def test_every_element_type_of_fixed_size_has_its_bits() -> None:
    assert {dtype for dtype in DType if not dtype.bits} == {DType.CONFLICT, DType.UNDEFINED, DType.STRING}
    for dtype in DType:
        if (width := dtype.bits) >= 8 and dtype.value <= DType.COMPLEX128.value:
            assert helper.tensor_dtype_to_np_dtype(int(dtype)).itemsize * 8 == width


# Counted by hand


def analysed(made: onnx.ModelProto, **policies: Any) -> Memory:
    return absint.analyze(made).memory(**policies)


def peak(made: onnx.ModelProto, **policies: Any) -> str:
    return str(analysed(made, **policies).peak)


def chain() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])], [floats("x", "N")], ["y"])


@pytest.mark.parametrize(("inputs", "expected"), [("freed", "8*N"), ("kept", "12*N"), ("apart", "8*N")])
def test_a_chain(inputs: str, expected: str) -> None:
    assert peak(chain(), inputs=inputs) == expected


def test_the_steps_of_a_chain() -> None:
    found = analysed(chain()).steps
    assert [(step.label, str(step.bytes)) for step in found] == [
        ("the start", "4*N"),
        ("Relu #0", "8*N"),
        ("Neg #1", "8*N"),
    ]


def test_a_value_with_two_readers_lives_to_the_second() -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Add", ["a", "b"], ["y"])]
    assert peak(model(nodes, [floats("x", "N")], ["y"])) == "12*N"


def test_an_operand_twice_is_one_value() -> None:
    assert peak(model([node("Mul", ["x", "x"], ["y"])], [floats("x", "N")], ["y"])) == "8*N"


def test_a_value_that_nothing_reads_dies_at_once() -> None:
    nodes = [node("Concat", ["x", "x"], ["dead"], axis=0), node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["y"])]
    found = analysed(model(nodes, [floats("x", "N")], ["y"]))
    assert str(found.peak) == "12*N"
    assert found.last_use("dead") == "Concat #0"


def test_an_output_lives_to_the_end() -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Concat", ["a", "a"], ["b"], axis=0), node("Relu", ["b"], ["y"])]
    assert peak(model(nodes, [floats("x", "N")], ["y"])) == "16*N"
    assert peak(model(nodes, [floats("x", "N")], ["a", "y"])) == "20*N"


def test_an_input_that_nothing_reads_is_there_at_the_start() -> None:
    made = model([node("Relu", ["x"], ["y"])], [floats("x", "N"), floats("u", "M")], ["y"])
    assert peak(made) == "4*max(M + N, 2*N)"
    assert peak(made, inputs="kept") == "4*M + 8*N"


def test_an_input_that_is_an_output() -> None:
    assert peak(model([node("Relu", ["x"], ["y"])], [floats("x", "N")], ["x", "y"])) == "8*N"


def test_parameters_take_no_memory() -> None:
    made = model([const("c", [1.0] * 6, np.float32), node("Add", ["x", "c"], ["a"]), node("Add", ["a", "w"], ["y"])],
                 [floats("x", 6)], ["y"])  # fmt: skip
    made.graph.initializer.append(numpy_helper.from_array(np.ones(6, np.float32), "w"))
    found = analysed(made)
    assert str(found.peak) == "48"
    assert [value.name for value in found.lifetimes] == ["x", "a", "y"]


def test_bytes_depend_on_the_element_type() -> None:
    nodes = [node("Cast", ["x"], ["a"], to=TensorProto.DOUBLE), node("Cast", ["a"], ["y"], to=TensorProto.INT8)]
    assert peak(model(nodes, [floats("x", "N")], ["y"])) == "12*N"


def test_the_peak_is_the_largest_of_sums_that_cannot_be_compared() -> None:
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[1, 0]),
        node("MatMul", ["x", "t"], ["s"]),
        node("Relu", ["s"], ["y"]),
    ]
    found = analysed(model(nodes, [floats("x", "N", "K")], ["y"]))
    assert str(found.peak) == "4*max(2*K*N + N**2, 2*N**2)"
    assert found.sums == 2
    assert found.evaluate({"N": 3, "K": 1}) == 72
    assert found.evaluate({"N": 1, "K": 3}) == 28


def test_many_inputs_with_symbols_of_their_own() -> None:
    count = 400
    nodes = [node("Relu", [f"x{k}"], [f"y{k}"]) for k in range(count)]
    inputs = [floats(f"x{k}", f"N{k}", f"M{k}") for k in range(count)]
    found = analysed(model(nodes, inputs, [f"y{k}" for k in range(count)]))
    started = time.process_time()
    assert found.sums == count
    assert time.process_time() - started < 2
    sizes = {f"{letter}{k}": k % 7 + 1 for k in range(count) for letter in "NM"}
    assert found.evaluate(sizes) == 4 * (sum(sizes[f"N{k}"] ** 2 for k in range(count)) + 49)


@pytest.mark.parametrize("seed", range(20))
def test_no_pair_of_sums_is_missed(seed: int) -> None:
    draw = Random(seed)
    n, m, k = symbols = [Symbol("N"), Symbol("M", 1, 64), Symbol("K")]
    monos = [(), (n,), (m,), (k,), (n, n), *(mono for e in ("N*M", "K//2", "max(N, K)") for mono, _ in parse(e).terms)]
    narrowed = {k: expr_of(n) + 2} if seed % 2 else {}
    base = dict.fromkeys(draw.sample(monos, 2), 1)
    dominance = Dominance(narrowed, symbols, base)
    some = [{mono: draw.randrange(-1, 4) for mono in draw.sample(monos, 3)} for _ in range(40)]
    sums = sorted(
        (dominance.sum(terms, step) for step, terms in enumerate(some)), key=lambda s: (s.values[::-1], -s.step)
    )
    kept: list[Sum] = []
    for candidate in sums[::-1]:
        if not any(dominance.at_least(other, candidate) for other in kept):
            kept.append(candidate)
    assert 1 < len(kept) < 40
    assert dominance.undominated(sums) == kept
    assert dominance.undominated(sums[:20], kept[:3]) == [
        each for each in dominance.undominated(sums[:20]) if not any(dominance.at_least(a, each) for a in kept[:3])
    ]


def test_a_requirement_that_excludes_0_makes_sums_comparable() -> None:
    free = model([node("Relu", ["x"], ["y"])], [floats("x", 1, 1, "N"), floats("u", 1)], ["y"])
    assert peak(free) == "4*max(N + 1, 2*N)"
    window = model([node("Conv", ["x", "w"], ["y"])], [floats("x", 1, 1, "N"), floats("u", 1)], ["y"])
    window.graph.initializer.append(numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "w"))
    assert peak(window) == "8*N"


def test_views_may_share_memory() -> None:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Flatten", ["a"], ["b"]),
        node("Identity", ["b"], ["c"]),
        node("Neg", ["x"], ["d"]),
        node("Neg", ["c"], ["y"]),
    ]
    made = model(nodes, [floats("x", "N", 2)], ["d", "y"])
    assert peak(made) == "24*N"  # x, c, d; the copies a and b are dead
    found = analysed(made, views="shared")
    assert str(found.peak) == "24*N"
    assert [(value.name, found.label(value.last)) for value in found.lifetimes] == [
        ("x", "Neg #3"),
        ("a", "Neg #4"),
        ("d", "the end"),
        ("y", "the end"),
    ]
    with pytest.raises(UsageError, match="no value 'b' takes memory of its own"):
        found.last_use("b")


def test_a_view_of_a_parameter_takes_no_memory_where_views_are_shared() -> None:
    made = model([node("Identity", ["w"], ["v"]), node("Add", ["x", "v"], ["y"])], [floats("x", 4)], ["y"])
    made.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "w"))
    assert peak(made) == "48"
    assert peak(made, views="shared") == "32"


def test_sizes_that_data_decide_stay_in_the_expression() -> None:
    found = analysed(model([node("NonZero", ["x"], ["y"])], [floats("x", "N")], ["y"]))
    assert str(found.peak) == "4*N + 8*_d0"
    assert found.evaluate({"N": 5, "_d0": 2}) == 36


def test_the_live_values_at_the_peak() -> None:
    found = analysed(chain()).at({"N": 3})
    assert (found.bytes, found.step, [tuple(item) for item in found.live]) == (24, "Relu #0", [("x", 12), ("a", 12)])


def test_values_without_a_known_size_are_listed() -> None:
    strings = helper.make_tensor_value_info("s", TensorProto.STRING, ["K"])
    nodes = [node("StringNormalizer", ["s"], ["t"]), node("Relu", ["x"], ["y"])]
    found = analysed(model(nodes, [strings, floats("x", "N")], ["t", "y"]))
    assert found.uncounted == ("s", "t")
    assert str(found.peak) == "8*N"


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        ({}, "no size for 'N', which the size of 'x' needs"),
        ({"N": -1}, "N=-1: a size cannot be negative"),
        ({"N": 1, "K": 2}, "K=2: no input has a symbol 'K'; the input symbols are: N"),
        ({"N": 1 << 31}, "N=2147483648: a size is below 2**31"),
    ],
)
def test_a_bad_binding_is_one_clear_line(binding: Mapping[str, int], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        analysed(chain()).evaluate(binding)
    assert str(caught.value) == message


def test_sizes_that_no_run_has() -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], kernel_shape=[3])]
    found = analysed(model(nodes, [floats("x", 1, 1, "N"), floats("w", 2, 1, 3)], ["y"]))
    with pytest.raises(UsageError, match="'y' would have -8 bytes: no run has these sizes"):
        found.evaluate({"N": 1})


# Control flow, counted by hand


def chosen(condition: str) -> onnx.ModelProto:
    """then: a copy of x and its double, else: x three times."""
    then = branch([node("Relu", ["x"], ["a"]), node("Concat", ["a", "a"], ["p"], axis=0)], untyped("p"))
    other = branch([node("Concat", ["x", "x", "x"], ["q"], axis=0)], untyped("q"))
    ask = [const("two", 2), node("Size", ["x"], ["n"]), node("Equal", ["n", "two"], ["small"])]
    ask.append(node("Cast", ["f"], ["odd"], to=TensorProto.BOOL))
    nodes = [*ask, node("If", [condition], ["y"], name="if", then_branch=then, else_branch=other)]
    return model(nodes, [floats("x", "N"), boolean("b"), floats("f", 1)], ["y"])


def test_of_an_if_over_sizes_the_branch_that_is_taken_counts() -> None:
    found = analysed(chosen("small"))
    # x and the condition, then a and p; else q
    assert str(found.peak) == "max(16*N + 1, 4*N + 13)"
    assert found.evaluate({"N": 2}) == 33
    assert [step.label for step in found.steps if "branch" in step.label] == [
        "Relu if/then_branch/#0",
        "Concat if/then_branch/#1",
        "Concat if/else_branch/#0",
    ]


def test_of_an_if_by_data_the_larger_branch_counts() -> None:
    found = analysed(chosen("odd"))
    at = {"N": 100, **{name: 300 for name in found.default_sizes if name != "N"}}
    assert found.evaluate(at) == 1601


def test_of_an_if_by_an_input_the_branch_counts_that_it_takes() -> None:
    found = analysed(chosen("b"))
    assert found.default_sizes == {"N": 64, "b": 1}
    assert [found.evaluate({"N": 100, "b": flag}) for flag in (0, 1)] == [1601, 1601]


def test_a_body_runs_on_top_of_what_lives_around_the_loop() -> None:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [const("m", 4), node("Loop", ["m", ""], ["y"], body=inner, name="loop")]
    found = analysed(model(nodes, [floats("x", "N")], ["y"]))
    # x 4*N, y 16*N; iteration number and condition; s and the next condition
    assert str(found.peak) == "max(20*N + 9, 24*N + 1)"
    assert found.last_use("x") == "Loop loop"
    assert found.last_use("loop/body/i") == "Loop loop"
    assert found.last_use("loop/body/s") == "Relu loop/body/#1"


def test_a_loop_without_a_trip_takes_only_its_outputs() -> None:
    inner = loop_body([node("Relu", ["x"], ["x_next"])], ["x"])
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    found = analysed(model(nodes, [floats("w", "T"), floats("x0", "N")], ["y"]))
    # w and x0; m, x0 and the body's i, c, x; m, x0 and y
    assert found.evaluate({"T": 0, "N": 10}) == 88
    assert found.evaluate({"T": 1, "N": 10}) == 8 + 40 + max(9 + 40, 1 + 40 + 40)
    for trips in range(3):
        assert found.peak.evaluate({"T": trips, "N": 10}) == found.evaluate({"T": trips, "N": 10})


def growing() -> onnx.ModelProto:
    """T times x is appended to x."""
    inner = loop_body([node("Concat", ["c0", "x"], ["c0_next"], axis=0)], ["c0"])
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", "", "x"], ["y"], body=inner, name="loop")]
    return model(nodes, [floats("w", "T"), floats("x", "N")], ["y"])


def test_sizes_that_grow_are_largest_in_the_last_trip() -> None:
    found = analysed(growing())
    # m, x, c: N*T in the last trip, its successor N*(T + 1), the condition
    assert found.peak.evaluate({"T": 7, "N": 10}) == 8 + 40 + 1 + 40 * 7 + 40 * 8
    assert found.evaluate({"T": 7, "N": 10}) == 8 + 40 + 1 + 40 * 7 + 40 * 8
    top = found.at({"T": 7, "N": 10})
    assert ("loop/body/c0_next", 320) in [tuple(item) for item in top.live]


def test_a_loop_over_very_many_trips_is_not_gone_through() -> None:
    sizes = {"T": 200_000, "N": 1}
    found = analysed(growing())
    assert isinstance(found.peak, Expr)
    assert found.peak.evaluate(sizes) == found.evaluate(sizes) == 8 + 4 + 1 + 4 * 200_000 + 4 * 200_001
    square = [node("Transpose", ["c0"], ["t"]), node("MatMul", ["c0", "t"], ["s"])]
    inner = loop_body([*square, node("Concat", ["c0", "x"], ["c0_next"], axis=0)], ["c0"], ["s"])
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", "", "x"], ["y", "z"], body=inner, name="loop")]
    found = analysed(model(nodes, [floats("w", "T"), floats("x", "N", 1)], ["y"]))
    with pytest.raises(UsageError, match=r"Loop loop makes 200,000 trips, too many to evaluate one by one"):
        found.evaluate(sizes)


def test_the_analysis_is_a_fixpoint() -> None:
    """The states are those that the transfer gives of themselves, and every value dies at or after its birth."""
    for build in (FLOWS["loop_in_a_loop"], FLOWS["if_nested"]):
        result = absint.analyze(build().model)
        analysis = LastUses(result, Regions(result), views="shared")
        states = fixpoint(result.graph, analysis).states
        assert [analysis.transfer(number, states) for number in range(len(states))] == states
        assert all(moment >= number or moment >= -1 for number, state in enumerate(states) for moment in state)
