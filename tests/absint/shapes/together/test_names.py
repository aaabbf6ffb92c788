"""What an analysis takes for granted is about inputs and weights of the main graph, and a wrong name is told."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import absint
from absint.analyses.ranges import Ranges
from absint.errors import UsageError
from absint.lattices.domains import INTERVALS, Interval
from tests.absint.shapes.together.execution import outputs_of
from tests.models import parsed


class Integers(absint.ElementAnalysis[Interval]):
    domain = INTERVALS


CALLED = """
<ir_version: 9, opset_import: ["" : 18, "my" : 1]>
net (double[4, 4] a) => (double[4, 4] y, double[4, 4] z) { y = my.Times(a, large)  z = MatMul(a, w) }
<domain: "my", opset_import: ["" : 18]> Times (a, w) => (y) {
    zero = Sub(a, a)  one = Exp(zero)  more = Greater(one, zero)  ones = Cast<to = 11>(more)  y = MatMul(ones, w)
}
"""


def called() -> onnx.ModelProto:
    """A function with a parameter that has the name of a weight, called with another one."""
    model = parser.parse_model(CALLED)
    for name, number in (("w", 0.5), ("large", 1e6)):
        model.graph.initializer.append(numpy_helper.from_array(np.full((4, 4), number), name))
    return model


@pytest.mark.parametrize("folded", [True, False])
def test_a_parameter_of_a_function_is_no_weight(monkeypatch: pytest.MonkeyPatch, folded: bool) -> None:
    if folded:
        for name in ("LARGE", "LARGE_INSIDE", "ALIKE"):
            monkeypatch.setattr(f"absint.program.folded.{name}", 0)
    model = called()
    ranges = Ranges(absint.analyze(model).loaded.weights, a=(-1, 1))
    claims = absint.analyze(model, with_=[ranges]).found_by(ranges)
    (arrays,) = outputs_of(model, [{"a": np.ones((4, 4))}])
    assert arrays["y"].max() == 4e6
    for name in ("y", "z"):
        assert ranges.domain.allows(claims[name], float(arrays[name].max())), (name, claims[name])


def test_an_initialiser_of_a_body_is_no_input() -> None:
    """Inside a function names begin anew, in the branches of its Ifs too."""
    model = parsed(
        """(int64[1] x, bool c) => (int64[1] y) { y = my.Choose(c) }
        <domain: "my", opset_import: ["" : 18]> Choose (c) => (y) {
            y = If (c) <then_branch = t () => (int64[1] p) <int64[1] x = {70}> { p = Identity(x) },
                        else_branch = e () => (int64[1] q) <int64[1] x = {90}> { q = Identity(x) }>
        }
    """,
        domains={"my": 1},
    )
    for analysis in (Integers(x=Interval(0, 1)), Ranges(x=(0, 1))):
        claims = absint.analyze(model, with_=[analysis]).found_by(analysis)
        for truth in (True, False):
            (arrays,) = outputs_of(model, [{"x": np.zeros(1, np.int64), "c": np.array(truth)}])
            assert analysis.domain.allows(claims["y"], int(arrays["y"][0])), claims["y"]


MODEL = parsed("""(int64[N] at, float[8] table) => (float[N] y) { y = Gather(table, at) }
""")


@pytest.mark.parametrize("analysis", [Ranges(att=(0, 7)), Integers(att=Interval(0, 7))])
def test_a_name_that_the_model_does_not_have(analysis: Ranges | Integers) -> None:
    with pytest.raises(UsageError, match=r"\(att in \[0, 7\]\): the model has no input 'att'; did you mean 'at'\?"):
        absint.analyze(MODEL, with_=[analysis])


def test_a_value_that_is_computed_is_no_input() -> None:
    with pytest.raises(UsageError, match="no input 'y'; names are those of inputs, initialisers and constants"):
        absint.analyze(MODEL, with_=[Ranges(y=(0, 7))])


def test_ranges_by_a_mapping_are_named_too() -> None:
    checked = absint.analyze(MODEL, with_=[Ranges({"at": (0, 7)})]).check({"N": 3})
    assert str(checked).endswith("(shown by Ranges(at in [0, 7]))")
    assert str(absint.analyze(MODEL, with_=[Ranges({"att": (0, 7)})]).check({"N": 3})).startswith("legal")
    assert Ranges({f"x{n}": (0, n) for n in range(11)}).label.endswith("x7 in [0, 7], 3 more)")


@pytest.mark.parametrize("given", [[Ranges], [3], [None]])
def test_what_is_no_analysis(given: object) -> None:
    with pytest.raises(UsageError, match=r"expected an analysis, as Ranges\(x=\(0, 1\)\)"):
        absint.analyze(MODEL, with_=given)  # type: ignore[arg-type]


def test_one_analysis_is_given_in_a_list() -> None:
    with pytest.raises(UsageError, match="expected a list of analyses"):
        absint.analyze(MODEL, with_=Ranges(at=(0, 7)))  # type: ignore[arg-type]


@pytest.mark.parametrize("box", ["ab", 3, (1, 2, 3), ("a", "b"), (None, 1)])
def test_a_range_is_two_numbers(box: object) -> None:
    with pytest.raises(UsageError, match="at: expected"):
        Ranges(at=box)  # type: ignore[arg-type]
