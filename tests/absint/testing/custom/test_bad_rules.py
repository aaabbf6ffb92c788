"""A rule that is badly written costs its own outputs and one line that says what to do; the rest is analysed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import absint
from absint import DType, Op, RuleError, Shape, Tensor, eq, rule
from absint.transfer.rule import Rule
from tests.absint.testing.custom.graphs import around

FILE = "tests/absint/testing/custom/test_bad_rules.py"


def nothing(op: Op) -> Any:
    op.tensor("X")


def no_value(op: Op) -> Any:
    return op.tensor("X").shape


def a_list_with_a_shape(op: Op) -> Any:
    return [op.tensor("X"), op.tensor("X").shape]


def too_few(op: Op) -> Any:
    return op.tensor("X")


def too_many(op: Op) -> Any:
    return op.tensor("X"), op.tensor("X"), op.tensor("X")


def a_tuple_as_shape(op: Op) -> Any:
    return [Tensor(op.dtype("X"), ("N", 3)), op.tensor("X")]  # type: ignore[arg-type]


def a_text_as_type(op: Op) -> Any:
    return [Tensor("float32", Shape([3])), op.tensor("X")]  # type: ignore[arg-type]


def another_input(op: Op) -> Any:
    return [op.tensor("Data"), op.tensor("X")]


def raises(op: Op) -> Any:
    raise KeyError("lost\nand more")


def fails_below(op: Op) -> Any:
    return Shape([1]).dims[3]


def identity_as_requirement(op: Op) -> Any:
    dims = op.tensor("X").shape
    op.require(dims[0] == dims[1], "square")  # type: ignore[arg-type]
    return [op.tensor("X"), op.tensor("X")]


def a_relation_as_truth(op: Op) -> Any:
    op.reject("square", unless=eq(*op.tensor("X").shape))  # type: ignore[arg-type]
    return [op.tensor("X"), op.tensor("X")]


def rule_of(function: Callable[[Op], Any]) -> Rule:
    return rule("Bad", domain="my", inputs="X", outputs="Y Mask")(function)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (nothing, "returned nothing: return a value for each of Y, Mask, as Tensor(dtype, shape)"),
        (no_value, "returned Shape: return a value for each of Y, Mask, as Tensor(dtype, shape)"),
        (
            a_list_with_a_shape,
            "returned Shape as an output: an output must be Tensor(dtype, Shape([...])), with the dtype of an input or "
            "one of DType",
        ),
        (too_few, "returned 1 value and names Y, Mask as outputs: return one for each, in this order"),
        (too_many, "returned 3 values and names Y, Mask as outputs: return one for each, in this order"),
        (
            a_tuple_as_shape,
            f"returned a tensor of type {DType.FLOAT!r} and shape ('N', 3): an output must be Tensor(dtype, "
            "Shape([...])), with the dtype of an input or one of DType",
        ),
        (
            a_text_as_type,
            "returned a tensor of type 'float32' and shape Shape([3]): an output must be Tensor(dtype, Shape([...])), "
            "with the dtype of an input or one of DType",
        ),
        (another_input, "asks for an input 'Data', but its `inputs` are X"),
        (raises, "raised KeyError in line {line}: 'lost\\nand more'"),
        (fails_below, "raised IndexError in line {line}: tuple index out of range"),
        (
            identity_as_requirement,
            "states False, which is not a relation: write eq(a, b) or ne(a, b), since a == b compares the terms "
            "themselves",
        ),
        (a_relation_as_truth, "rejects unless M == N, which is no truth: write op.require(relation, reason)"),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_one_line_says_what_is_wrong(function: Callable[[Op], Any], message: str) -> None:
    made = around("Bad", ["N", "M"], outputs=2, nodes=3)
    result = absint.analyze(made, table=absint.TABLE.extended([rule_of(function)]))
    line = function.__code__.co_firstlineno
    expected = message.replace("{line}", str(line + 1))
    assert [str(d) for d in result.diagnostics] == [
        f"warning: my::Bad own: rule {function.__name__!r} ({FILE}:{line}) {expected}; its outputs are unknown "
        "[rule-failed]"
    ]
    assert (str(result["Y0"]), str(result["Y1"])) == ("?", "?")
    assert str(result.shapes["Z"]) == "[N, M]"
    assert result.constraints.possible_failures
    result.verify()


def test_outputs_without_a_name_are_told() -> None:
    @rule("Bad", domain="my", inputs="X")
    def identity(op: Op) -> Tensor:
        """X."""
        return op.tensor("X")

    result = absint.analyze(around("Bad", ["N"], outputs=3), table=absint.TABLE.extended([identity]))
    assert [str(result.shapes[f"Y{k}"]) for k in range(3)] == ["[N]", "?", "?"]
    assert [str(d) for d in result.diagnostics] == [
        "warning: my::Bad own: the node has 3 outputs, its rule names Y: the others are unknown [node]"
    ]


def test_strict_raises_no_traceback_for_it() -> None:
    result = absint.analyze(
        around("Bad", ["N", "M"], outputs=2), table=absint.TABLE.extended([rule_of(nothing)]), strict=True
    )
    assert result.can_run


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: rule("", inputs="X"), "names must list at least one operator"),
        (lambda: rule("F", inputs=["X"])(nothing), "inputs must be one string, as 'X W B', found list"),  # type: ignore[arg-type]
        (lambda: rule("F", inputs="X", since=9, until=8), "since must not exceed until, found 9 and 8"),
        (lambda: absint.TABLE.extended([nothing]), "nothing is not a rule: decorate a function with @absint.rule"),  # type: ignore[list-item]
    ],
)
def test_a_bad_declaration_raises_one_line(declare: Callable[[], object], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        declare()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
