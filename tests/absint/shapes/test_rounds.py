"""Later rounds: what they know beside the first one, and which rules they run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx.parser
import pytest

import absint
from absint import Result
from absint.lattices.limits import without_shortcuts
from absint.shapes.timings import Timings


@pytest.fixture(autouse=True)
def _purged() -> Iterator[None]:
    absint.purge()
    yield
    absint.purge()


def analysed(graph: str, timings: Timings | None = None) -> Result:
    """The analysis of a graph in ONNX's text format."""
    text = f'<ir_version: 10, opset_import: ["": 22]> g {graph}'
    return absint.analyze(onnx.parser.parse_model(text), timings=timings)


POSITIONS = """(float[P] past, float[S] new) => (float y, int64 steps, int64[C] positions) {
    all = Concat <axis = 0> (past, new)
    last = Constant <value_int = -1> ()
    y = Gather <axis = 0> (all, last)
    count = Size (all)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    is_empty = Equal (count, zero)
    steps = Where (is_empty, one, count)
    ramp = Range (zero, count, one)
    positions = Add (ramp, one)
}"""


def test_positions_are_known_where_choices_are_resolved() -> None:
    result = analysed(POSITIONS)
    assert [str(item.relation) for item in result.last.learned] == ["P + S >= 1"]
    assert str(result.values["steps"]) == "Tensor(INT64[] = P + S)"
    assert str(result.values["ramp"]) == "Tensor(INT64[P + S] = 0 + 1*[0])"
    assert str(result.values["positions"]) == "Tensor(INT64[P + S] = 1 + 1*[0])"


def test_positions_of_a_length_that_gets_a_name_are_known() -> None:
    result = analysed("""(int64[N] x) => (int64[K] y) {
        count = ReduceMax <keepdims = 0> (x)
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        y = Range (zero, count, one)
    }""")
    assert str(result.values["y"]).endswith(" = 0 + 1*[0])")


def test_a_quotient_whose_size_becomes_a_number_is_rounded_as_in_its_type() -> None:
    result = analysed("""(float[K, N] x, float[1, 1] w) => (float[K, N] y, bool[1] same) {
        y = MatMul (x, w)
        size = Shape <start = 1> (x)
        number = Cast <to = 11> (size)
        three = Constant <value = double[1] {3.0}> ()
        third = Div (number, three)
        constant = Constant <value = double[1] {0.3333333333333333}> ()
        same = Equal (third, constant)
    }""")
    assert [str(item.relation) for item in result.last.learned] == ["N == 1"]
    assert str(result.values["same"]) == "Tensor(BOOL[1] = [true])"
    assert result.values["third"] == result.values["constant"]
    result.verify()


def after_a_window(*operators: str, timings: Timings | None = None) -> Result:
    """A window that needs `L >= 4`, and then these operators."""
    names = ["a", *[f"v{number}" for number in range(len(operators))]]
    rest = "\n".join(f"{new} = {op} ({old})" for op, old, new in zip(operators, names, names[1:], strict=False))
    return analysed(
        f"""(float[N, 2, L] x, float[2, 2, 4] w) => (float[A, B, C] {names[-1]}) {{
        windows = Conv <strides = [4]> (x, w)
        pos = Relu (windows)
        a = Sigmoid (pos)
        {rest}
    }}""",
        timings=timings,
    )


@pytest.mark.parametrize("operators", [("Neg", "Exp", "Tanh") * 6, ("Relu", "Sigmoid", "Relu") * 6])
def test_timings_count_the_rules_of_all_nodes(operators: Sequence[str]) -> None:
    timings = Timings()
    result = after_a_window(*operators, timings=timings)
    assert timings.rules.keys() == {node.operator for node in result.nodes if node.operation is not None}
    assert timings.visits >= len(operators) + 3
    assert timings.phases["fixpoint"].seconds >= sum(tally.seconds for tally in timings.rules.values())


CHOICES = """(float[L] x) => (float y, float[A] short, float[B] long) {
    four = Constant <value_int = 4> ()
    y = Gather <axis = 0> (x, four)
    one = Constant <value_ints = [1]> ()
    ten = Constant <value_ints = [10]> ()
    three = Constant <value_ints = [3]> ()
    size = Shape (x)
    less = Sub (size, three)
    some = Max (less, one)
    short = Expand (y, some)
    much_less = Sub (size, ten)
    few = Max (much_less, one)
    first = Expand (y, few)
    second = Relu (first)
    third = Sigmoid (second)
    fourth = Add (second, third)
    long = Neg (fourth)
}"""


def test_one_rule_that_runs_again_speaks_for_those_that_pass_its_size_on() -> None:
    """`L >= 5` decides `max(L - 3, 1)`, and leaves `max(L - 10, 1)` as it is."""
    result = analysed(CHOICES)
    assert (str(result.shapes["short"]), str(result.shapes["long"])) == ("[L - 3]", "[max(L - 10, 1)]")
    with without_shortcuts():
        assert analysed(CHOICES).last.states == result.last.states
    assert result.last.analysis.applications == 1


def test_another_analysis_of_the_model_finds_it_done() -> None:
    assert [analysed(CHOICES).last.analysis.applications for _ in range(2)] == [1, 0]


def test_what_rounds_settled_counts_as_kept() -> None:
    first_round = analysed(CHOICES).last.analysis.first_round
    assert first_round is not None
    settled = first_round.settled
    assert {str(number) for number in settled.numbers} == {"max(L - 10, 1)"}
    assert len(settled) > len(settled.summaries) > 0


def test_the_first_node_that_teaches_a_fact_is_named() -> None:
    result = analysed("""(float[N, 4] x, float[M] z) => (float[A] a, float[B] b, float[C] c, float[D] row) {
        first = Constant <value_ints = [0]> ()
        a = Gather <axis = 0> (z, first)
        zero = Constant <value_int = 0> ()
        b = Gather <axis = 0> (x, zero)
        last = Constant <value_int = -1> ()
        row = Gather <axis = 0> (x, last)
        one = Constant <value_ints = [1]> ()
        size = Shape <end = 1> (x)
        some = Max (size, one)
        c = Expand (z, some)
    }""")
    found = {str(item.relation): str(result.nodes[item.node]) for item in result.last.learned}
    assert found["N >= 1"] == "Gather #3"
