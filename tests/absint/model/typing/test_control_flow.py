"""Types of branches and bodies, also where no run gets there: what onnxruntime does not load is an error."""

from __future__ import annotations

import pytest
from onnx import NodeProto, helper

import absint
from tests.absint.model.typing.building import BOOL, FLOAT, INT, LONG, Typed, body, model, node, told
from tests.absint.model.typing.runtime import refusal

TO_INT = node("Cast", ["x"], ["a"], to=INT)
RELU = node("Relu", ["x"], ["b"])
TRUE = node("Constant", [], ["true"], value=helper.make_tensor("t", BOOL, [], [True]))
ZERO = node("Constant", [], ["zero"], value=helper.make_tensor("t", LONG, [], [0]))
SAME = node("Identity", ["cc"], ["co"])
EMPTY = node("SequenceEmpty", [], ["s"])


def choice(then: list[NodeProto], other: list[NodeProto], condition: str = "c") -> NodeProto:
    """An If whose branches give the last value that they compute."""
    branches = [body(nodes, [(nodes[-1].output[0], None)]) for nodes in (then, other)]
    return node("If", [condition], ["y"], then_branch=branches[0], else_branch=branches[1])


def loop(nodes: list[NodeProto], outputs: list[Typed], start: str = "x", limit: str = "m", **more: str) -> NodeProto:
    """A Loop that carries one value, `v`, of which the body gives `w`."""
    types = [("i", LONG), ("cc", BOOL), ("v", None if start == "s" else FLOAT)]
    inside = body([SAME, *nodes], [("co", BOOL), *outputs], types)
    names = ["y", "z"][: len(outputs)]
    return node("Loop", [limit, more.get("condition", ""), start], names, body=inside)


def scan(nodes: list[NodeProto], outputs: list[Typed], state: int | None = None) -> NodeProto:
    """A Scan over k with a state."""
    inside = body(nodes, outputs, [("v", state), ("t", LONG if state else None)])
    return node("Scan", ["x", "k"], ["y", "z"], body=inside, num_scan_inputs=1)


CARRIED = "what is carried must keep its type, but it starts as FLOAT and the body gives INT32"

REFUSED = {
    "a condition of floats": (
        [choice([RELU], [RELU], "x")],
        'If #0 (output "y"): input cond is FLOAT; If-16 takes BOOL',
    ),
    "branches of two element types": (
        [choice([TO_INT], [RELU])],
        "If #0 (output \"y\"): output 'y': the branches must give one type, found INT32 and FLOAT",
    ),
    "branches of two kinds": (
        [choice([node("SequenceConstruct", ["x"], ["a"])], [RELU])],
        "If #0 (output \"y\"): output 'y': the branches must give one type, found a sequence of FLOAT and FLOAT",
    ),
    "the other branch is never taken": (
        [TRUE, choice([TO_INT], [RELU], "true")],
        "If #1 (output \"y\"): output 'y': the branches must give one type, found INT32 and FLOAT",
    ),
    "a node in a branch that may be taken": (
        [choice([RELU], [node("Not", ["x"], ["n"]), node("Cast", ["n"], ["a"], to=FLOAT)])],
        'Not If#0/else_branch/#0 (output "n"): input X is FLOAT; Not-1 takes BOOL',
    ),
    "a node in a branch that is never taken": (
        [TRUE, choice([RELU], [node("Not", ["x"], ["n"]), node("Cast", ["n"], ["a"], to=FLOAT)], "true")],
        'Not If#1/else_branch/#0 (output "n"): input X is FLOAT; Not-1 takes BOOL',
    ),
    "a limit of floats": (
        [loop([node("Relu", ["v"], ["w"])], [("w", FLOAT)], limit="x")],
        'Loop #0 (output "y"): input M is FLOAT; Loop-16 takes INT64',
    ),
    "a loop condition of integers": (
        [loop([node("Relu", ["v"], ["w"])], [("w", FLOAT)], condition="m")],
        'Loop #0 (output "y"): input cond is INT64; Loop-16 takes BOOL',
    ),
    "a carried value that changes its type": (
        [loop([node("Cast", ["v"], ["w"], to=INT)], [("w", INT)])],
        f"Loop #0 (output \"y\"): output 'y': {CARRIED}",
    ),
    "values of two types in a body": (
        [loop([node("Identity", ["v"], ["w"]), node("Add", ["v", "k"], ["u"])], [("w", None), ("u", None)])],
        'Add Loop#0/body/#2 (output "u"): inputs A and B must share one element type, found FLOAT and INT64',
    ),
    "what is carried and what changes it": (
        [loop([node("Identity", ["k"], ["w"]), node("Concat", ["v", "k"], ["u"], axis=0)], [("w", None), ("u", None)])],
        'Concat Loop#0/body/#2 (output "u"): inputs inputs[0] and inputs[1] must share one element type, found FLOAT '
        "and INT64",
    ),
    "so does one of a loop without a trip": (
        [ZERO, loop([node("Cast", ["v"], ["w"], to=INT)], [("w", INT)], limit="zero")],
        f"Loop #1 (output \"y\"): output 'y': {CARRIED}",
    ),
    "a node of a loop without a trip": (
        [ZERO, loop([node("Not", ["v"], ["n"]), node("Relu", ["v"], ["w"])], [("w", FLOAT)], limit="zero")],
        'Not Loop#1/body/#1 (output "n"): input X is FLOAT; Not-1 takes BOOL',
    ),
    "a sequence of each trip": (
        [
            EMPTY,
            loop([node("Identity", ["v"], ["w"]), node("Identity", ["v"], ["u"])], [("w", None), ("u", None)], "s"),
        ],
        "Loop #1 (output \"y\"): output 'z': the body must give a tensor, found a sequence of FLOAT",
    ),
    "a node of a function": (
        [node("own", ["x"], ["y"], domain="own")],
        'Not own#0/#0 (output "b"): input X is FLOAT; Not-1 takes BOOL',
    ),
}
OWN = helper.make_function("own", "own", ["a"], ["b"], [node("Not", ["a"], ["b"])], [helper.make_opsetid("", 17)])


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnxruntime_does_not_load(name: str) -> None:
    nodes, message = REFUSED[name]
    made = model(nodes, functions=[OWN])
    if "undeclared" not in name and "sequence of each trip" not in name:
        assert refusal(made)
    assert told(made)[:1] == [f"error: {message} [ill-typed]"]


def test_a_state_of_a_scan_that_changes_its_type_fails_in_every_run() -> None:
    nodes = [node("Cast", ["v"], ["w"], to=INT), node("Identity", ["t"], ["u"])]
    made = model([scan(nodes, [("w", None), ("u", None)])])
    assert told(made) == [f"error: Scan #0 (output \"y\"): output 'y': {CARRIED} [ill-typed]"]


def test_sequence_map_wants_a_sequence() -> None:
    inside = body([node("Identity", ["t"], ["u"])], [("u", None)], [("t", None)])
    made = model([node("SequenceMap", ["x"], ["y"], body=inside)])
    (error,) = told(made)
    assert error.startswith('error: SequenceMap #0 (output "y"): input input_sequence is FLOAT; SequenceMap-17 takes ')
    assert "a sequence of FLOAT16" in error


def condition(limit: str) -> list[NodeProto]:
    """A loop whose body gives an integer as its condition, which onnxruntime looks at after the first trip."""
    one = node("Constant", [], ["co"], value=helper.make_tensor("t", LONG, [], [1]))
    inside = body(
        [one, node("Relu", ["v"], ["w"])], [("co", None), ("w", FLOAT)], [("i", LONG), ("cc", BOOL), ("v", FLOAT)]
    )
    return [node("Loop", [limit, "", "x"], ["y"], body=inside)]


def test_the_condition_that_a_body_gives() -> None:
    two = node("Constant", [], ["two"], value=helper.make_tensor("t", LONG, [], [2]))
    told_of = "the body must give a BOOL as its condition, found INT64"
    assert told(model([two, *condition("two")])) == [f'error: Loop #1 (output "y"): {told_of} [ill-typed]']
    result = absint.analyze(model(condition("m")))
    assert [str(c.relation) for c in result.constraints if c.reason == told_of] == ["m <= 0"]
    assert result.check({"N": 2}).outcome.value == "legal"
    unknown = [node("Reshape", ["k", "k"], ["size"])]
    open_ = absint.analyze(model([*unknown, *condition("size")]))
    assert f"warning: Loop #1: {told_of} [node]" in [str(d) for d in open_.diagnostics]
    size = [node("Shape", ["x"], ["n"]), node("Squeeze", ["n"], ["size"])]
    assert absint.analyze(model([*size, *condition("size")])).contract().allows({"N": 0})
    assert not absint.analyze(model([*size, *condition("size")])).contract().allows({"N": 1})


ACCEPTED = {
    "an optional that a sequence follows": lambda: model(
        [
            node("SequenceConstruct", ["x"], ["q"]),
            node("Optional", ["q"], ["s"]),
            loop([node("SequenceConstruct", ["k"], ["w"])], [("w", None)], start="s"),
        ]
    ),
    "branches of one type": lambda: model([choice([RELU], [node("Identity", ["x"], ["a"])])]),
    "an operator of a later opset": lambda: model([node("Cast", ["x"], ["y"], to=21)], opset=13),
    "a function that nothing calls": lambda: model([node("Relu", ["x"], ["y"])], functions=[OWN]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_accepted(name: str) -> None:
    assert not told(ACCEPTED[name]())
