"""Declared types that are false: onnxruntime compares those of values that nodes compute, and of inputs of bodies."""

from __future__ import annotations

import pytest
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

import absint
from tests.absint.model.typing.building import BOOL, FLOAT, INT, LONG, Typed, body, model, node, told
from tests.absint.model.typing.runtime import refusal
from tests.models import parsed

RELU = node("Relu", ["x"], ["h"])
AGAIN = node("Relu", ["h"], ["y"])
TRUE = node("Constant", [], ["co"], value=helper.make_tensor("t", BOOL, [], [True]))
BODY = [node("Identity", ["cc"], ["co"]), node("Relu", ["v"], ["w"]), node("Relu", ["v"], ["u"])]


def loop(
    inputs: list[Typed], outputs: list[Typed], nodes: list[NodeProto] = BODY, value_info: list[Typed] = ()
) -> NodeProto:
    """A Loop over x with a scan output."""
    infos: list[ValueInfoProto] = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in value_info]
    return node("Loop", ["m", "", "x"], ["y", "z"], body=body(nodes, outputs, inputs, value_info=infos))


def choice(dtype: int, value_info: list[Typed] = ()) -> NodeProto:
    """An If whose first branch declares what it gives."""
    infos = [helper.make_tensor_value_info(name, of, None) for name, of in value_info]
    first = body([RELU, node("Relu", ["h"], ["a"])], [("a", dtype)], value_info=infos)
    return node("If", ["c"], ["y"], then_branch=first, else_branch=body([node("Relu", ["x"], ["b"])], [("b", FLOAT)]))


AT, C, V = ("i", LONG), ("cc", BOOL), ("v", FLOAT)
CO, W, U = ("co", BOOL), ("w", FLOAT), ("u", FLOAT)

REFUSED = {
    "an output": (
        lambda: model([RELU, AGAIN], [("y", INT)]),
        "Relu #1 (output \"y\"): 'y' is declared INT32, but it is FLOAT",
    ),
    "a value": (
        lambda: model([RELU, AGAIN], value_info=[("h", INT)]),
        "Relu #0 (output \"h\"): 'h' is declared INT32, but it is FLOAT",
    ),
    "a value that nothing needs": (
        lambda: model([RELU, node("Relu", ["x"], ["y"])], value_info=[("h", INT)]),
        "Relu #0 (output \"h\"): 'h' is declared INT32, but it is FLOAT",
    ),
    "the last of two declarations": (
        lambda: model([RELU, AGAIN], value_info=[("h", FLOAT), ("h", INT)]),
        "Relu #0 (output \"h\"): 'h' is declared INT32, but it is FLOAT",
    ),
    "what a branch gives": (
        lambda: model([choice(INT)]),
        "Relu If#0/then_branch/#1 (output \"a\"): 'a' is declared INT32, but it is FLOAT",
    ),
    "a value of a branch": (
        lambda: model([choice(FLOAT, [("h", INT)])]),
        "Relu If#0/then_branch/#0 (output \"h\"): 'h' is declared INT32, but it is FLOAT",
    ),
    "what a loop carries": (
        lambda: model([loop([AT, C, ("v", INT)], [CO, W, U])]),
        "Loop #0: input 'v' of Loop#0/body is declared INT32, but it is FLOAT",
    ),
    "the iteration": (
        lambda: model([loop([("i", FLOAT), C, V], [CO, W, U])]),
        "Loop #0: input 'i' of Loop#0/body is declared FLOAT, but it is INT64",
    ),
    "the condition that a body gets": (
        lambda: with_condition(model([loop([AT, ("cc", FLOAT), V], [CO, W, U], [TRUE, *BODY[1:]])])),
        "Loop #0: input 'cc' of Loop#0/body is declared FLOAT, but it is BOOL",
    ),
    "the condition that a body gives": (
        lambda: model([loop([AT, C, V], [("co", FLOAT), W, U])]),
        "Identity Loop#0/body/#0 (output \"co\"): 'co' is declared FLOAT, but it is BOOL",
    ),
    "what a body gives back": (
        lambda: model([loop([AT, C, V], [CO, ("w", INT), U])]),
        "Relu Loop#0/body/#1 (output \"w\"): 'w' is declared INT32, but it is FLOAT",
    ),
    "what is gathered": (
        lambda: model([loop([AT, C, V], [CO, W, ("u", INT)])]),
        "Relu Loop#0/body/#2 (output \"u\"): 'u' is declared INT32, but it is FLOAT",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnxruntime_does_not_load(name: str) -> None:
    build, message = REFUSED[name]
    assert refusal(build())
    assert told(build()) == [f"error: {message} [ill-typed]"]


def with_condition(made: ModelProto) -> ModelProto:
    """The same with a condition for the loop."""
    made.graph.node[0].input[1] = "c"
    return made


HANDED = [("cc", FLOAT), ("v", INT), ("i", FLOAT)]
RUNS = {
    "a Constant": (lambda: model([TRUE, RELU], [("h", None), ("co", FLOAT)]), 1),
    "an output that is an input": (lambda: model([RELU], [("h", None), ("x", INT)]), 1),
    "a declaration of an input": (lambda: model([RELU], [("h", None)], [("x", INT)]), 1),
    "the first of two declarations": (lambda: model([RELU, AGAIN], value_info=[("h", INT), ("h", FLOAT)]), 1),
    "a value_info of an output": (lambda: model([RELU, AGAIN], [("y", FLOAT)], [("y", INT)]), 1),
    "what a body hands through": (lambda: model([loop([AT, C, V], HANDED, [])]), 3),
    "the condition of a body": (lambda: model([loop([AT, ("cc", FLOAT), V], [CO, W, U], [TRUE, *BODY[1:]])]), 1),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_onnxruntime_does_not_compare_is_only_told(name: str) -> None:
    build, count = RUNS[name]
    assert refusal(build()) is None
    assert not told(build())
    codes = [d.code for d in absint.analyze(build()).diagnostics]
    assert codes.count("false-declaration") == count


def test_kinds_that_differ() -> None:
    made = model([RELU, AGAIN])
    made.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", FLOAT, None))
    assert refusal(made)
    assert told(made) == ["error: Relu #1 (output \"y\"): 'y' is declared a sequence, but it is a tensor [ill-typed]"]


@pytest.mark.parametrize(("declared", "loads"), [("int32", False), ("int64", True)])
def test_scanned_by_a_loop_without_a_trip(declared: str, loads: bool) -> None:
    """No trip computes the value, and onnxruntime checks its type all the same."""
    made = parsed(f"""(float[N] x) => (float[a] y, {declared}[b] s) {{
            m = Constant <value_int = 0> ()
            y, s = Loop (m, , x) <body = b (int64 i, bool c, v) => (d, w, u)
                {{ d = Identity (c) w = Relu (v) u = Neg (i) }}> }}""")
    errors = [] if loads else ["error: Loop #1 (output \"y\"): 's' is declared INT32, but it is INT64 [ill-typed]"]
    assert (refusal(made) is None, told(made)) == (loads, errors)
