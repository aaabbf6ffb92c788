"""Specifications of operators on sequences, optional values and maps: wrong ones are found, some forms are left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from absint import Op, Shape, Tensor, rule
from absint.lattices.dtype import DType
from absint.lattices.terms.expr import Dim
from absint.lattices.value import OptionalOf, SequenceOf, Value
from absint.research.obligations.making import obligations
from absint.research.obligations.solving import Gap, Obligation, by_z3
from absint.research.specification.node import held, listed, tensor
from absint.research.specification.specs import Function, Instance, Specification, at, specification
from absint.solver.backend import Backend
from absint.transfer.rule import Rule
from tests.specification.comparing import bindings, case_of, differences
from tests.specification.holders import execute

ONE = at("sequence K: N C", ". p")


def _spec(operator: str, function: Function | None = None) -> Specification:
    found = specification("", operator, 24)
    assert found is not None
    return found if function is None else found._replace(function=function)


WRONG: dict[str, tuple[Instance, Function, str]] = {
    "SequenceErase": (ONE, lambda node: held(2, node.input(0).dims), "holds"),
    "SequenceAt": (ONE, lambda node: tensor(node.input(0).dims[:1]), "has shape"),
    "SequenceInsert": (at("sequence 1: N", "M"), lambda node: listed([node.input(1).dims, [3]]), "holds"),
    "SequenceConstruct": (at("N"), lambda _: listed([]), "holds"),
    "Optional": (at("N"), lambda _: held(1, [3]), "holds"),
}


@pytest.mark.parametrize("operator", WRONG)
def test_runs_find_what_is_wrong(operator: str) -> None:
    instance, function, text = WRONG[operator]
    assert any(text in found for found in differences(_spec(operator, function), operator, 24, instance))


def test_runs_are_given_what_inputs_hold() -> None:
    for operator, instance in (("SequenceErase", ONE), ("SequenceLength", at("sequence K: N C"))):
        spec = _spec(operator)
        case = replace(case_of(spec, operator, 11, instance), opset=11)
        chosen = bindings(instance, spec.meaning(operator, 11, instance))
        assert sum(execute(case, instance, binding)[0] is not None for binding in chosen) >= 8


def _judged(made: Rule, operator: str, instance: Instance) -> tuple[set[str], set[str]]:
    """The claims that are refuted, and what is left open."""
    found = list(obligations(made, _spec(operator), operator, 11, instance))
    with Backend() as backend:
        decided = [by_z3(item, backend) for item in found if isinstance(item, Obligation)]
    claims = {decision.obligation.claim for decision in decided if decision.verdict == "refuted"}
    return claims, {item.reason for item in found if isinstance(item, Gap)}


def _erases(value: Value) -> Rule:
    @rule("SequenceErase", inputs="input_sequence position", outputs="output_sequence")
    def erasing(_: Op) -> Value:
        """Whatever comes in."""
        return value

    return erasing


def test_a_wrong_rule_is_refuted() -> None:
    each = Tensor(DType.FLOAT, Shape(["N", "C"]))
    right = _judged(_erases(SequenceOf(each, Dim("K") - 1)), "SequenceErase", ONE)
    assert right == (set(), set())
    longer, _ = _judged(_erases(SequenceOf(each, Dim("K"))), "SequenceErase", ONE)
    assert longer == {"the length of output 0 is K"}
    turned, _ = _judged(_erases(SequenceOf(Tensor(DType.FLOAT, Shape(["C", "N"])), Dim("K") - 1)), "SequenceErase", ONE)
    assert len(turned) == 2
    flat, _ = _judged(_erases(SequenceOf(Tensor(DType.FLOAT, Shape(["N"])), Dim("K") - 1)), "SequenceErase", ONE)
    assert flat == {"each tensor of output 0 has rank 1, specified is 2"}
    assert _judged(_erases(each), "SequenceErase", ONE)[1] == {"what output 0 holds"}
    assert _judged(_erases(OptionalOf(each)), "SequenceErase", ONE)[1] == {"the length of output 0 is unknown"}


def test_a_sequence_that_is_not_listed_is_left_open() -> None:
    @rule("SequenceConstruct", inputs="inputs*", outputs="output_sequence")
    def constructing(op: Op) -> Value:
        """One description for all."""
        return SequenceOf(op.variadic()[0], Dim("N"))

    found = _judged(constructing, "SequenceConstruct", at("N", "M"))
    assert found == ({"the length of output 0 is N"}, {"each tensor of output 0"})


LEFT_OUT: list[tuple[str, Instance]] = [
    ("SequenceLength", at("N")),
    ("SequenceLength", at("optional 1: N")),
    ("SequenceInsert", at("sequence K: N", "M")),
    ("SplitToSequence", at("N", ". 2")),
    ("SplitToSequence", at("4", ". 2", keepdims=0)),
    ("Optional", at("sequence K: N")),
]


@pytest.mark.parametrize(("operator", "instance"), LEFT_OUT)
def test_forms_that_are_not_specified(operator: str, instance: Instance) -> None:
    with pytest.raises(LookupError):
        _spec(operator).function(instance.node(operator, 11))


def test_instances_are_written() -> None:
    instance = at("sequence K int64: N", "optional 0:", "map 2 string:")
    assert str(instance) == "sequence of K [N], optional of 0 [], map by string of 2 []"
    assert instance.variables == ("N", "K")
