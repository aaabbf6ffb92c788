"""The conformance kit and elements: those that a rule hands on unasked are found and told, and so are wrong ones."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto

from absint import Op, Shape, Tensor, rule
from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.ramp import ramp
from absint.lattices.terms.expr import const
from absint.lattices.terms.normal import Real
from absint.lattices.value import OptionalOf, SequenceOf, Value, without_elements
from absint.testing import Arg, Case, check_rule, sizes
from absint.transfer.application import apply
from absint.transfer.rule import Function, Rule

CASE = Case("Copy", [Arg(["N", 3], TensorProto.INT64)], bindings=sizes(N=[0, 1, 2]))
KNOWN = Tensor(DType.INT64, Shape([2]), Contents.vector([const(4), const(5)]))
GROWING = Tensor(DType.INT64, Shape(["N"]), ramps=ramp(const(0), [const(1)]))


def copying(function: Function, *, elements: bool) -> Rule:
    return rule("Copy", domain="my", inputs="X", complete=True, elements=elements)(function)


def same(x: np.ndarray) -> np.ndarray:
    return x


def first(op: Op) -> Value:
    value = op.value("X")
    assert value is not None
    return value


@pytest.mark.parametrize(
    "value",
    [
        KNOWN,
        GROWING,
        Tensor(DType.INT64, Shape(["N"]), Contents.fill(const(1))),
        SequenceOf.of([KNOWN, GROWING], KNOWN),
        OptionalOf(SequenceOf(KNOWN, const(2)), True),
    ],
    ids=str,
)
def test_elements_are_handed_on_by_a_rule_that_says_so_alone(value: Value) -> None:
    plain, said = copying(first, elements=False), copying(first, elements=True)
    assert apply(said, Op(said, [value])).outputs == (value,)
    (found,) = apply(plain, Op(plain, [value])).outputs
    assert found is without_elements(value)
    assert "=" not in str(found)
    assert type(found) is type(value)


def test_shapes_lengths_and_presence_stay() -> None:
    found = without_elements(OptionalOf(SequenceOf.of([KNOWN, GROWING], KNOWN), True))
    assert str(found) == "Optional(Sequence(Tensor(INT64[2]), Tensor(INT64[N])))"


def test_elements_that_are_handed_on_unasked_are_told() -> None:
    message = (
        r"Copy-20 .* with all elements known: rule 'first' .*test_kit_elements.py:\d+\) gives outputs with elements"
    )
    with pytest.raises(AssertionError, match=message):
        check_rule(copying(first, elements=False), [CASE], reference=same)
    assert check_rule(copying(first, elements=True), [CASE], reference=same)


def test_elements_of_another_value_are_wrong() -> None:
    """The rule of MoE was of this kind."""
    with pytest.raises(AssertionError, match=r"with all elements known, output 0, element 0: claimed \d, ran -\d"):
        check_rule(copying(first, elements=True), [CASE], reference=lambda x: -1 - x)


def only(condition: Callable[[Tensor], bool], wrong: Callable[[Tensor], Tensor]) -> Function:
    """A rule that is right but where its input is such."""

    def rule(op: Op) -> Tensor:
        x = op.tensor("X")
        return wrong(x) if condition(x) else x

    return rule


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            only(
                lambda x: x.contents is not None and not x.contents.is_fill,
                lambda x: Tensor(x.dtype, x.shape, x.contents and x.contents.map(lambda e: e + 1)),  # type: ignore[operator]
            ),
            "with all elements known, output 0, element 0: claimed",
        ),
        (
            only(
                lambda x: x.contents is not None and x.contents.is_fill,
                lambda x: Tensor(x.dtype, x.shape, Contents.fill(const(-7))),
            ),
            "with all elements of an input alike, output 0, every element: claimed -7, ran",
        ),
        (
            only(lambda x: bool(x.ramps), lambda x: Tensor(x.dtype, x.shape, ramps=ramp(const(1), [const(1)] * 2))),
            "with growing elements, output 0, element 0: claimed 1, ran 0",
        ),
    ],
    ids=["element", "fill", "ramp"],
)
def test_a_wrong_element_fill_and_ramp_is_told(rule: Function, message: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(message)):
        check_rule(copying(rule, elements=True), [CASE], reference=same)


def test_a_wrong_quotient_is_told() -> None:
    """A quotient that no float holds exactly is compared up to its rounding."""

    def third(op: Op) -> Tensor:
        x = op.tensor("X")
        return Tensor(x.dtype, x.shape, Contents.fill(Real(const(1), 3)))

    case = Case("Copy", [Arg(["N"])], bindings=sizes(N=[0, 2]))
    assert check_rule(copying(third, elements=True), [case], reference=lambda x: np.full_like(x, 1 / 3))
    with pytest.raises(AssertionError, match=r"every element: claimed \(1\)/3 = 0.333\d*, ran 0.34"):
        check_rule(copying(third, elements=True), [case], reference=lambda x: np.full_like(x, 0.34))
