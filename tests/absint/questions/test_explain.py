"""Explanations of dims: what each comes from, held against evaluation; their texts and their JSON."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import absint.questions.explain.derivation
from absint import UsageError, analyze
from absint.lattices.contents import element_symbols
from absint.lattices.logic.relation import YES
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import Expr
from absint.lattices.text import parse
from absint.lattices.value import Tensor
from absint.questions.explain.derived import Stated, Step
from absint.questions.explain.explanation import Explanation
from absint.questions.explain.question import explain
from absint.result import Result
from absint.transfer.op import Op
from absint.transfer.rule import rule
from tests.absint.shapes.flows import FLOWS
from tests.absint.shapes.flows.build import carry
from tests.models import boolean, branch, const, floats, function, ints, loop_body, model, node


def weight(made: ModelProto, name: str, *sizes: int) -> ModelProto:
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(sizes, np.float32), name))
    return made


def explained(made: ModelProto, value: str, axis: int | None = None, **more: int | str) -> Explanation:
    return explain(analyze(made), value, axis, **more)  # type: ignore[arg-type]


def claim(explanation: Explanation) -> Step:
    """The step of the one number that was asked for."""
    (at,) = explanation.claims
    return explanation.steps[at]


def sources(step: Step) -> list[str]:
    return [f"{source.at.where} = {source.at.number}" for source in step.sources]


def halves() -> ModelProto:
    return model(
        [
            node("Conv", ["X", "W"], ["c"], name="conv", kernel_shape=[2, 2], strides=[2, 2]),
            node("Relu", ["c"], ["r"], name="relu"),
            node("Sigmoid", ["r"], ["s"], name="sigmoid"),
            node("Concat", ["s", "r"], ["Y"], name="cat", axis=2),
        ],
        [floats("X", "N", 3, "H", "W0"), floats("W", 8, 3, 2, 2)],
        ["Y"],
    )


# What a number comes from


def test_text_of_a_derivation() -> None:
    assert str(explained(halves(), "Y", 2)).splitlines() == [
        "Y: FLOAT [N, 8, 2*(H//2), W0//2]",
        "  Y[2] = 2*(H//2)  [1]",
        "",
        "[1] Y[2] = 2*(H//2)",
        "    computed by Concat cat (axis=2): 2*a",
        "    from a = s[2] = H//2 [2], a = r[2] = H//2 [2]",
        "",
        "[2] s[2] = H//2",
        "    unchanged through 2 nodes: Sigmoid sigmoid, Relu relu",
        "    from c[2] = H//2 [3]",
        "",
        "[3] c[2] = H//2",
        "    computed by Conv conv (kernel_shape=[2, 2], strides=[2, 2]): a//2",
        "    from a = X[2] = H (input)",
        "    requires H >= 2  (Conv conv: the window must fit spatial axis 0)",
    ]


def test_what_has_no_influence_is_no_source() -> None:
    made = weight(
        model([node("MatMul", ["X", "W"], ["Y"], name="mm")], [floats("X", "N", "M", 64)], ["Y"]), "W", 64, 64
    )
    step = claim(explained(made, "Y", 2))
    assert step.kind == "unchanged"
    assert sources(step) == ["W[1] = 64"]
    assert sources(claim(explained(made, "Y", 1))) == ["X[1] = M"]


def test_a_size_that_cancels_is_no_source() -> None:
    made = model(
        [
            node("Shape", ["X"], ["dims"]),
            const("i", [0]),
            node("Gather", ["dims", "i"], ["n"]),
            const("rest", [-1]),
            node("Concat", ["n", "rest"], ["target"], axis=0),
            node("Reshape", ["X", "target"], ["Y"]),
        ],
        [floats("X", "N", "M", 3)],
        ["Y"],
    )
    step = claim(explained(made, "Y", 1))
    assert str(step.at.number) == "3*M"
    assert str(step.formula) == "3*a"
    assert "X[1] = M" in sources(step)
    assert not any(source.endswith("= N") for source in sources(step))


def test_an_operand_that_is_used_twice_counts_once() -> None:
    made = model([node("Mul", ["X", "X"], ["Y"])], [floats("X", "N")], ["Y"])
    step = claim(explained(made, "Y", 0))
    assert step.kind == "unchanged"
    assert sources(step) == ["X[0] = N"]


def test_a_broadcast_comes_from_both() -> None:
    step = claim(
        explained(model([node("Add", ["X", "B"], ["Y"])], [floats("X", "N"), floats("B", "M")], ["Y"]), "Y", 0)
    )
    assert sources(step) == ["X[0] = N", "B[0] = M"]
    assert str(step.formula) == "broadcast(a, b)"
    assert [str(stated.relation) for stated in step.requires] == ["M == N or M == 1 or N == 1"]


def test_a_dim_from_a_shape_tensor_names_its_element() -> None:
    made = model(
        [
            node("Shape", ["X"], ["dims"]),
            const("two", [2]),
            node("Mul", ["dims", "two"], ["twice"], name="double"),
            node("Expand", ["one", "twice"], ["Y"], name="expand"),
        ],
        [floats("X", "N", "M"), floats("one", 1, 1)],
        ["Y"],
    )
    found = explained(made, "Y", 1)
    assert sources(claim(found)) == ["twice element 1 = 2*M"]
    text = str(found)
    assert "computed by Mul double: 2*a" in text
    assert "    with B = 2" in text


def test_elements_are_explained_too() -> None:
    made = model(
        [node("Shape", ["X"], ["dims"]), node("Size", ["X"], ["size"])], [floats("X", "N", 3)], ["dims", "size"]
    )
    found = explained(made, "dims")
    assert [found.steps[at].at.where for at in found.claims] == ["dims[0]", "dims element 0", "dims element 1"]
    assert sources(claim(explained(made, "dims", element=0))) == ["X[0] = N"]
    assert claim(explained(made, "size")).at.where == "value of size"


def test_a_number_that_only_data_decide() -> None:
    found = explained(model([node("NonZero", ["X"], ["Y"], name="nz")], [floats("X", "N", "M")], ["Y"]), "Y", 1)
    step = claim(found)
    assert (step.kind, str(step.at.number)) == ("invented", "_d0")
    assert [str(stated.relation) for stated in step.defined] == ["M*N >= _d0"]
    assert str(found).splitlines()[4:] == [
        "    born at NonZero nz: only a run decides count(X)",
        "    bounded by X[0] = N (input), X[1] = M (input)",
        "    known: M*N >= _d0  (NonZero nz: no more results than elements)",
    ]


def test_why_there_is_no_expression() -> None:
    made = model([node("Foo", ["X"], ["x"], domain="my"), node("NonZero", ["x"], ["Y"])], [floats("X", "N")], ["Y"])
    made.opset_import.append(helper.make_opsetid("my", 1))
    assert claim(explained(made, "Y", 1)).does == "the rank of its input X is unknown"


def test_a_fact_that_a_requirement_taught_is_told() -> None:
    made = model(
        [node("Relu", ["X"], ["r"]), node("MatMul", ["r", "W"], ["Y"], name="mm")], [floats("X", "N", "D")], ["Y", "r"]
    )
    found = explained(weight(made, "W", 64, 8), "r", 1)
    assert str(claim(found).at.number) == "64"
    assert str(found).splitlines()[-3:] == [
        "[2] X[1] = 64",
        "    a dim of an input, declared as D",
        "    known: D == 64  (MatMul mm: inner dimensions of A and B must agree)",
    ]


def test_an_assumption_is_told() -> None:
    made = model([node("Relu", ["X"], ["Y"])], [floats("X", "N", "D")], ["Y"])
    result = analyze(made, bind={"N": 4}, assume=["D % 8 == 0"])
    assert "known: N == 4  (an assumption or a declaration)" in str(explain(result, "Y", 0))
    assert "known: D % 8 == 0  (an assumption or a declaration)" in str(explain(result, "Y", 1))


def test_a_fact_that_a_requirement_taught_of_an_invented_size() -> None:
    made = model(
        [node("Resize", ["X", "", "scale"], ["f"], name="resize"), node("MatMul", ["f", "W"], ["Y"], name="mm")],
        [floats("X", "N"), floats("scale", 1)],
        ["Y"],
    )
    found = explained(weight(made, "W", 5, 2), "f", 0)
    step = claim(found)
    assert (step.kind, str(step.at.number)) == ("invented", "5")
    (fact,) = step.facts
    assert fact.node == "MatMul mm"
    assert fact.relation.op == "=="
    assert "== 5  (MatMul mm: inner dimensions of A and B must agree)" in str(found)


def test_constants_under_an_expression_are_named_but_not_followed() -> None:
    made = model(
        [
            const("a", [2]),
            const("b", [3]),
            node("Add", ["a", "b"], ["five"], name="sum"),
            node("Tile", ["X", "five"], ["Y"]),
        ],
        [floats("X", "N")],
        ["Y"],
    )
    step = claim(explained(made, "Y", 0))
    assert [(source.at.where, source.step, source.by) for source in step.sources] == [
        ("X[0]", 1, "input"),
        ("five element 0", None, "Add"),
    ]


def test_a_constant_is_followed_if_it_is_asked_for() -> None:
    made = model(
        [
            const("a", [2]),
            const("b", [3]),
            node("Add", ["a", "b"], ["five"], name="sum"),
            node("Tile", ["X", "five"], ["Y"]),
        ],
        [floats("X", 7)],
        ["Y"],
    )
    text = str(explained(made, "Y", 0))
    assert "computed by Add sum" in text
    assert "from A = 2, B = 3" in text


def test_of_two_ways_to_one_number_the_one_from_an_input_is_followed() -> None:
    made = model(
        [
            const("rows", [-1, 4]),
            node("Reshape", ["X", "rows"], ["flat"], name="split"),
            const("back", [-1, 8]),
            node("Reshape", ["flat", "back"], ["again"], name="merge"),
            node("Add", ["X", "again"], ["Y"], name="add"),
        ],
        [floats("X", "N", 8)],
        ["Y"],
    )
    found = explained(made, "Y", 0)
    assert str(found).splitlines()[3:] == [
        "[1] Y[0] = N",
        "    unchanged through Add add",
        "    from X[0] = N (input)",
        "    others with the same number: again[0] (Reshape)",
    ]
    assert [step.at.where for step in found.steps if not step.followed] == ["again[0]"]


def test_the_letters_of_formulas_are_no_names_of_the_model() -> None:
    made = model([node("Concat", ["a", "a"], ["Y"], axis=0)], [floats("a", "b")], ["Y"])
    assert str(claim(explained(made, "Y", 0)).formula) == "2*c"


# Control flow


def by_flag() -> ModelProto:
    then = branch([node("Concat", ["x", "x"], ["a"], axis=0, name="twice")], floats("a"))
    other = branch([node("Identity", ["x"], ["b"], name="same")], floats("b"))
    return model(
        [node("If", ["flag"], ["y"], then_branch=then, else_branch=other, name="choice")],
        [boolean("flag"), floats("x", "N")],
        ["y"],
    )


def test_both_branches_of_an_if() -> None:
    found = explained(by_flag(), "y", 0)
    assert [(source.role, str(source.at.number)) for source in claim(found).sources] == [
        ("then", "2*N"),
        ("else", "N"),
        ("condition", "flag"),
    ]
    assert str(found).splitlines()[3:6] == [
        "[1] y[0] = ite(flag, 2*N, N)",
        "    If choice: the branch that is taken",
        "    from then: choice/then_branch/a[0] = 2*N [3], else: choice/else_branch/b[0] = N [2], "
        "condition: value of flag = flag (input)",
    ]


def test_both_branches_of_an_if_by_data() -> None:
    made = by_flag()
    made.graph.input[0].name = "f"
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    made.graph.node.insert(0, node("Cast", ["f"], ["flag"], to=TensorProto.BOOL, name="odd"))
    assert str(explained(made, "y", 0)).splitlines()[3:8] == [
        "[1] y[0] = _d1",
        "    If choice: the branch that is taken",
        "    from then: choice/then_branch/a[0] = 2*N [3], else: choice/else_branch/b[0] = N [2], "
        "condition: value of flag = _d0 [4]",
        "    known: N == _d1 or _d0  (If choice: the branch that is taken)",
        "    known: not _d0 or 2*N == _d1  (If choice: the branch that is taken)",
    ]


def test_a_value_of_a_branch_by_its_path() -> None:
    found = explained(by_flag(), "a", 0, path="choice/then_branch")
    assert claim(found).path == "choice/then_branch"
    assert str(found).startswith("a: FLOAT [2*N]  (in choice/then_branch)")


def test_the_condition_of_a_branch_is_told_where_it_decides() -> None:
    then = branch([node("Add", ["x", "b"], ["sum"])], floats("sum"))
    other = branch([node("Identity", ["x"], ["same"])], floats("same"))
    made = model(
        [
            node("Size", ["x"], ["size"]),
            const("one", 1),
            node("Greater", ["size", "one"], ["more"]),
            node("If", ["more"], ["y"], then_branch=then, else_branch=other, name="choice"),
        ],
        [floats("x", "N"), floats("b", "M")],
        ["y"],
    )
    step = claim(explained(made, "sum", 0, path="choice/then_branch"))
    assert str(step.at.number) == "N"
    assert sources(step) == ["x[0] = N"]
    assert [(str(fact.relation), fact.role) for fact in step.facts] == [("N >= 2", "condition")]


def test_a_loop_shows_its_closed_form_and_ends() -> None:
    made = carry(
        [node("Concat", ["x", "w"], ["x_next"], axis=0, name="grow")], "", [floats("x0", "N"), floats("w", 3)], ["N"]
    ).model
    found = explained(made, "y", 0)
    assert claim(found).does == "after max(m, 0) trips"
    (head,) = [step for step in found.steps if step.does.startswith("carried")]
    assert head.does == "carried: each trip adds 3, and _d0 is the number of the trip, from 0"
    assert [(source.role, str(source.at.number)) for source in head.sources] == [
        ("start", "N"),
        ("back edge", "N + 3*_d0 + 3"),
    ]
    assert "above]" in str(found)


@pytest.mark.parametrize(
    ("name", "value", "does"),
    [
        ("loop_triangular", "b_y", "carried: each trip adds {0}, and {0} is the number of the trip, from 0"),
        ("loop_shrinks", "y", "carried: its value at the start of trip {0}, counted from 0"),
        ("loop_swaps", "p", "carried: its value at the start of trip {0}, counted from 0"),
        ("loop_settles_on_a_size", "y", "carried: its value at the start of trip {0}, counted from 0"),
        ("if_in_a_loop", "y", "carried: its value at the start of trip {0}, counted from 0"),
    ],
)
def test_a_form_that_is_no_polynomial_is_told_by_the_trip(name: str, value: str, does: str) -> None:
    found = explained(FLOWS[name]().model, value, 0)
    told = [step.does for step in found.steps if step.does.startswith("carried")]
    assert does in {re.sub(r"_d\d+", "{0}", text) for text in told}


def test_a_size_that_a_loop_keeps_passes_through_it() -> None:
    made = carry([node("Relu", ["x"], ["x_next"])], "", [floats("x0", "N")], ["N"]).model
    found = explained(made, "y", 0)
    assert {step.kind for step in found.steps} == {"unchanged", "input"}


def test_a_scan_output_has_the_trips_and_the_size_of_the_body() -> None:
    body = loop_body([node("Relu", ["x0"], ["s"])], scans=["s"])
    made = model([const("m", 3), node("Loop", ["m", ""], ["y"], body=body, name="loop")], [floats("x0", "N")], ["y"])
    assert str(explained(made, "y")).splitlines()[4:] == [
        "[1] y[0] = 3",
        "    unchanged through Loop loop",
        "    from value of m = 3 (constant)",
        "",
        "[2] y[1] = N",
        "    unchanged through 2 nodes: Loop loop, Relu loop/body/#1",
        "    from x0[0] = N (input)",
    ]


def test_functions_are_shown_by_path() -> None:
    made = model(
        [node("Twice", ["x"], ["y"], domain="my", name="call")],
        [floats("x", "N")],
        ["y"],
        functions=[function("Twice", ["p"], ["q"], [node("Concat", ["p", "p"], ["q"], axis=0, name="join")])],
    )
    found = explained(made, "y", 0)
    assert str(found).splitlines()[1:5] == [
        "  y[0] = 2*N  [1]",
        "",
        "[1] call/q[0] = 2*N",
        "    computed by Concat call/join: 2*a",
    ]
    assert sources(claim(found)) == ["x[0] = N"]


def everything(result: Result) -> list[tuple[str, str]]:
    scopes = {path: result.at(path) for path in result.paths} | {"": result.values}
    return [(path, name) for path, view in scopes.items() for name in view]


@pytest.mark.share(4)
@pytest.mark.parametrize("name", FLOWS)
def test_every_value_has_an_explanation_that_adds_up(name: str) -> None:
    result = analyze(FLOWS[name]().model)
    for path, value in everything(result):
        try:
            found = explain(result, value, path=path)
        except UsageError:
            continue
        assert str(found)
        check(found, random.Random(value))


def check(found: Explanation, chance: random.Random) -> None:
    """References are right, what is unchanged is, and formulas evaluate to what they stand for."""
    for at, step in enumerate(found.steps):
        assert step.id == at
        for source in step.sources:
            assert source.step is None or found.steps[source.step].at == source.at
        if step.kind == "unchanged":
            assert all(str(source.at.number) == str(step.at.number) for source in step.sources)
        if step.kind in ("computed", "unchanged"):
            known = set().union(*(element_symbols(source.at.number) for source in step.sources))
            assert element_symbols(step.at.number) <= known
        if isinstance(step.formula, Expr) and isinstance(step.at.number, Expr):
            check_formula(step, step.formula, step.at.number, chance)


def known(stated: Stated, binding: Mapping[str, int]) -> bool:
    """The binding has every symbol of what is required."""
    return {s.name for s in stated.relation.symbols} <= binding.keys()


def check_formula(step: Step, formula: Expr, number: Expr, chance: random.Random) -> None:
    terms = {s.variable: s.at.number for s in step.sources if isinstance(s.at.number, Expr) and s.variable}
    symbols = sorted({s for term in (number, *terms.values()) for s in element_symbols(term)}, key=lambda s: s.name)
    for _ in range(20):
        binding = {s.name: chance.randint(max(s.bounds.lo or 0, 1), min(s.bounds.hi or 40, 40)) for s in symbols}
        truths = [stated.relation.at(binding) is YES for stated in step.requires if known(stated, binding)]
        if not all(truths):  # false, or about sizes that no node computes
            continue
        values = {name: term.evaluate(binding) for name, term in terms.items()}
        assert formula.evaluate(values) == number.evaluate(binding), (step, binding)


# A user's rule


@rule("Fussy", inputs="X", domain="my")
def fussy(op: Op) -> Tensor:
    """Fails on what is not the symbol N."""
    x = op.tensor("X")
    if "N" not in x.shape.free_symbols:
        raise ValueError("not N")
    return Tensor(x.dtype, shape_of((x.shape[0] * 2,)))


def test_trying_a_rule_leaves_no_trace() -> None:
    made = model([node("Fussy", ["X"], ["Y"], domain="my")], [floats("X", "N")], ["Y"])
    made.opset_import.append(helper.make_opsetid("my", 1))
    result = analyze(made, table=absint.TABLE.extended([fussy]))
    operation = result.nodes[1].operation
    assert operation is not None
    assert result.analysis.memo is not None
    applications, kept = result.analysis.applications, len(result.analysis.memo[operation])
    found = explain(result, "Y", 0)
    assert sources(claim(found)) == ["X[0] = N"]
    assert result.analysis.applications == applications
    assert len(result.analysis.memo[operation]) == kept
    assert not result.analysis.crashes
    result.verify()


# Errors


def sample() -> Result:
    return analyze(
        model(
            [node("Relu", ["input_x"], ["hidden"]), node("SplitToSequence", ["hidden"], ["parts"])],
            [floats("input_x", "N", 3)],
            ["parts"],
        )
    )


@pytest.mark.parametrize(
    ("value", "axis", "element", "message"),
    [
        ("hiden", 0, None, "the main graph has no value 'hiden'; did you mean 'hidden'?"),
        ("hidden", 2, None, "axis 2 of 'hidden' is out of range: it has rank 2, shape [N, 3]"),
        ("hidden", -3, None, "axis -3 of 'hidden' is out of range: it has rank 2, shape [N, 3]"),
        ("hidden", 0, 1, "give an axis or an element, not both"),
        ("hidden", None, 5, "nothing is known of element 5 of 'hidden': it is Tensor(FLOAT[N, 3])"),
        ("parts", 0, None, "'parts' is not known to be a tensor: it is Sequence(Tensor(FLOAT[1, 3]) x N)"),
    ],
)
def test_bad_input_is_one_line(value: str, axis: int | None, element: int | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        explain(sample(), value, axis, element=element)
    assert str(caught.value) == message


def test_a_value_that_is_elsewhere() -> None:
    result = analyze(by_flag())
    with pytest.raises(UsageError, match=r"^the main graph has no value 'a'; there is one in 'choice/then_branch'$"):
        explain(result, "a")
    with pytest.raises(UsageError, match=r"^'choice/else_branch' has no value 'a'; there is one in"):
        explain(result, "a", path="choice/else_branch")
    with pytest.raises(UsageError, match="no subgraph at 'nowhere'"):
        explain(result, "a", path="nowhere")


def test_a_value_that_is_never_computed() -> None:
    then = branch([node("Identity", ["x"], ["a"])], floats("a"))
    other = branch([node("Identity", ["x"], ["b"])], floats("b"))
    made = model(
        [const("yes", True, np.bool_), node("If", ["yes"], ["y"], then_branch=then, else_branch=other, name="choice")],
        [floats("x", "N")],
        ["y"],
    )
    with pytest.raises(UsageError, match=r"^'b' is never computed: no run reaches Identity choice/else_branch/#0$"):
        explained(made, "b", path="choice/else_branch")


def test_a_negative_axis_counts_from_the_back() -> None:
    assert claim(explain(sample(), "hidden", -1)).at.where == "hidden[1]"


# Limits


def chain(length: int, inputs: Sequence[onnx.ValueInfoProto]) -> ModelProto:
    names = ["X", *(f"v{at}" for at in range(length))]
    return model([node("Relu", [a], [b], name=f"relu_{b}") for a, b in pairwise(names)], inputs, names[-1:])


def test_a_long_way_is_folded_in_the_text_and_whole_in_the_json() -> None:
    found = explained(chain(10_000, [floats("X", "N", "M")]), "v9999")
    assert str(found).splitlines() == [
        "v9999: FLOAT [N, M]",
        "  v9999[0] = N  [1]",
        "  v9999[1] = M  [2]",
        "",
        "[1] v9999[0] = N",
        "    unchanged through 10,000 nodes: Relu relu_v9999, Relu relu_v9998, ..., Relu relu_v0",
        "    from X[0] = N (input)",
        "",
        "[2] v9999[1] = M",
        "    unchanged through 10,000 nodes: Relu relu_v9999, Relu relu_v9998, ..., Relu relu_v0",
        "    from X[1] = M (input)",
    ]
    assert len(json.loads(found.to_json())["steps"]) == 20_002


def growing(length: int) -> ModelProto:
    """Each size depends on the one before."""
    names = ["X", *(f"v{at}" for at in range(length))]
    nodes = [node("Concat", [a, "one"], [b], axis=0) for a, b in pairwise(names)]
    return model(nodes, [floats("X", "N"), floats("one", 1)], names[-1:])


def test_a_text_has_a_limit_and_says_how_much_is_left_out() -> None:
    found = explained(growing(300), "v299", 0)
    lines = str(found).splitlines()
    assert sum(line.startswith("[") for line in lines) == 200
    assert lines[-1] == "left out: 100 more numbers"
    assert "(left out)" in lines[-4]
    assert len(found.steps) == 301


def test_a_limit_on_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absint.questions.explain.derivation, "MAX_STEPS", 5)
    found = explained(growing(20), "v19", 0)
    assert len(found.steps) == 5
    assert found.left_out == 1
    assert str(found).splitlines()[-1] == "left out: 1 not followed"


def test_every_number_that_is_asked_for_has_a_step_whatever_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absint.questions.explain.derivation, "MAX_STEPS", 2)
    found = explained(chain(5, [floats("X", "N", "M", "K")]), "v4")
    assert [found.steps[at].at.where for at in found.claims] == ["v4[0]", "v4[1]", "v4[2]"]


def test_a_long_expression_has_a_name() -> None:
    symbols = [f"a_rather_long_name_of_a_dim_{at}" for at in range(20)]
    made = model(
        [node("Concat", [f"x{at}" for at in range(20)], ["Y"], axis=0)],
        [floats(f"x{at}", name) for at, name in enumerate(symbols)],
        ["Y"],
    )
    found = explained(made, "Y", 0)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 160
    assert lines[1] == "  Y[0] = w1  [1]"
    where = lines.index("where")
    assert parse(" ".join(lines[where + 1 :]).strip().removeprefix("w1 = ")).free_symbols == set(symbols)
    whole = json.loads(found.to_json())
    assert whole["steps"][0]["dim"] == "w1"
    assert parse(whole["definitions"]["w1"]).free_symbols == set(symbols)


# JSON


def test_json() -> None:
    found = explained(halves(), "Y", 2)
    whole = json.loads(found.to_json())
    assert whole["schema"] == "absint.explain/2"
    assert (whole["value"], whole["path"], whole["claims"], whole["left_out"]) == ("Y", "", [0], 0)
    assert [step["id"] for step in whole["steps"]] == list(range(len(whole["steps"])))
    first = whole["steps"][0]
    assert first["node"] == {"id": 5, "name": "cat", "operator": "Concat", "path": ""}
    assert (first["kind"], first["value"], first["axis"], first["element"]) == ("computed", "Y", 2, None)
    assert (first["dim"], first["formula"], first["attributes"]) == ("2*(H//2)", "2*a", {"axis": 2})
    assert [(s["step"], s["variable"], s["value"], s["axis"], s["dim"], s["by"]) for s in first["from"]] == [
        (1, "a", "s", 2, "H//2", "Sigmoid"),
        (2, "a", "r", 2, "H//2", "Relu"),
    ]
    conv = next(step for step in whole["steps"] if step["value"] == "c")
    assert conv["requires"] == [
        {"relation": "H >= 2", "role": "required", "reason": "the window must fit spatial axis 0", "node": "Conv conv"}
    ]
    assert conv["attributes"] == {"kernel_shape": [2, 2], "strides": [2, 2]}


def test_dims_of_the_json_are_texts_of_the_grammar() -> None:
    found = explained(halves(), "Y")
    for step, written in zip(found.steps, json.loads(found.to_json())["steps"], strict=True):
        if isinstance(step.at.number, Expr):
            assert parse(str(written["dim"])) is step.at.number


def test_texts_are_the_same_in_every_run() -> None:
    first, second = (explained(FLOWS["loop_rotates_three"]().model, "p") for _ in range(2))
    assert str(first) == str(second)
    assert first.to_json() == second.to_json()


def test_names_cannot_steer_a_terminal() -> None:
    made = model([node("Relu", ["X"], ["y\x1b[31m"])], [floats("X", "N")], ["y\x1b[31m"])
    assert "\x1b" not in str(explained(made, "y\x1b[31m", 0))


def test_integers_of_an_input() -> None:
    made = model(
        [node("Range", ["zero", "m", "one"], ["Y"], name="range"), const("zero", 0), const("one", 1)],
        [ints("m")],
        ["Y"],
    )
    text = str(explained(made, "Y", 0))
    assert "value of m = m (input)" in text
