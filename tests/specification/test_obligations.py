"""Every rule that has a specification is proved against it, for all sizes, at each instance of the grid."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from absint import Op, Shape, Tensor, rule
from absint.lattices.contents import Contents
from absint.lattices.logic.relation import FALSE, ge
from absint.lattices.terms.expr import ZERO_EXPR
from absint.lattices.terms.normal import Real
from absint.research.obligations.making import obligations, obligations_of
from absint.research.obligations.solving import Decision, Obligation, by_cvc5, by_z3, decided, is_vacuous, unbounded
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import Function, Instance, Specification, at, specification, specified
from absint.solver.backend import Backend
from absint.transfer.families import shipped
from absint.transfer.rule import Rule
from absint.transfer.semantics import ONNX
from tests.specification.operators import is_known, versions
from tests.specification.undecided import UNDECIDED, VACUOUS

SECONDS = 60
"""For one obligation; most take less than one."""


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    with Backend() as found:
        yield found


@pytest.mark.share(5)
@pytest.mark.parametrize(("domain", "operator"), specified(), ids=lambda part: part)
def test_rules_meet_their_specification(domain: str, operator: str, backend: Backend) -> None:
    seen, assumed = set(), set()
    for version in versions(domain, operator):
        for item in obligations_of(shipped(), domain, operator, version):
            if isinstance(item, Obligation) and item.premises not in assumed:
                assumed.add(item.premises)
                assert operator in VACUOUS or not is_vacuous(item, backend), (item.instance, item.claim)
            if isinstance(item, Obligation) and item.script not in seen:
                seen.add(item.script)
                decision = decided(item, backend, SECONDS)
                where = f"{operator}-{version} {item.instance}: {item.claim}, {decision.sizes}"
                assert decision.verdict != "refuted", where
                assert decision.verdict == "proved" or (operator, item.instance) in UNDECIDED, where


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("domain", "operator"), [found for found in specified() if is_known(*found)], ids=lambda part: part
)
def test_the_documents_alone_decide(domain: str, operator: str, backend: Backend) -> None:
    """Under the semantics of the documents, as far as that asks for anything else."""
    seen = set()
    for version in versions(domain, operator):
        spec, found = specification(domain, operator, version), shipped().lookup(domain, operator, version)
        assert found is not None
        for instance in spec.grid if spec is not None else ():
            if not instance.first <= version <= instance.last:
                continue
            node = (found, spec, operator, version, instance)
            both = {item.script for item in obligations(*node) if isinstance(item, Obligation)}
            for item in obligations(*node, ONNX):
                if isinstance(item, Obligation) and item.script not in both | seen:
                    seen.add(item.script)
                    decision = decided(item, backend, SECONDS)
                    where = f"{item.instance}: {item.claim}, {decision.sizes}"
                    assert decision.verdict == "proved" or (operator, item.instance) in UNDECIDED, where


def test_what_assumes_the_impossible_is_vacuous(backend: Backend) -> None:
    """A specification that allows no sizes makes every rule right."""

    @rule("Concat", inputs="x", outputs="y", complete=True)
    def wrong(op: Op) -> Tensor:
        """One more than there is, and a requirement out of thin air."""
        size = op.tensor("x").shape[0]
        op.require(ge(size, 5), "an invented requirement")
        return Tensor(op.tensor("x").dtype, Shape([size + 1]))

    def specified(least: int) -> Function:
        def function(node: Node) -> Output:
            (size,) = node.input(0).dims
            node.requires(size >= least, "not too small")
            node.requires(size < 3, "nor too large")
            return tensor([size])

        return function

    for least, vacuous in ((1, set()), (3, {"exact", "unique", "necessary"})):
        spec = Specification(("Concat",), "", 1, 99, specified(least), (at("N"),))
        found = [item for item in obligations(wrong, spec, "Concat", 13, at("N")) if isinstance(item, Obligation)]
        assert {item.kind for item in found} == {"exact", "unique", "necessary", "sufficient"}
        assert {item.kind for item in found if is_vacuous(item, backend)} == vacuous


def test_solvers_agree(backend: Backend) -> None:
    for item in obligations_of(shipped(), "", "Conv", 22):
        if isinstance(item, Obligation):
            assert by_z3(item, backend).verdict == by_cvc5(item).verdict == "proved", item


def test_bounds_are_left_out() -> None:
    """What holds of all integers holds of sizes."""
    spec, found = specification("", "Conv", 22), shipped().lookup("", "Conv", 22)
    assert spec is not None
    assert found is not None
    item = next(iter(obligations(found, spec, "Conv", 22, at("N C H", "M D 3"))))
    assert isinstance(item, Obligation)
    assert item.script.count("(assert (<= 0 ") == len("NCHMD")
    assert "(assert (<= 0 " not in unbounded(item.script)
    assert len(unbounded(item.script).splitlines()) == len(item.script.splitlines()) - len("NCHMD")


@rule("Concat", inputs="inputs*", outputs="concat_result", complete=True)
def _joins_wrongly(op: Op) -> Tensor:
    """The first input alone."""
    first, second = op.variadic()
    op.require_equal(first.shape[0], second.shape[0], "an invented requirement")
    return Tensor(first.dtype, Shape([first.shape[0]]))


def test_a_wrong_rule_is_refuted(backend: Backend) -> None:
    spec = specification("", "Concat", 13)
    assert spec is not None
    found = [
        by_z3(item, backend)
        for item in obligations(_joins_wrongly, spec, "Concat", 13, at("N", "M", axis=0))
        if isinstance(item, Obligation)
    ]
    assert {d.obligation.kind for d in found if d.verdict == "refuted"} == {"exact", "necessary"}


def test_missing_requirements_are_refuted(backend: Backend) -> None:
    @rule("Concat", inputs="inputs*", outputs="concat_result", complete=True)
    def demands_nothing(op: Op) -> Tensor:
        """Sizes of the first input, added along the axis."""
        first, second = op.variadic()
        return Tensor(first.dtype, Shape([first.shape[0] + second.shape[0], first.shape[1]]))

    spec = specification("", "Concat", 13)
    assert spec is not None
    found: list[Decision] = [
        by_z3(item, backend)
        for item in obligations(demands_nothing, spec, "Concat", 13, at("N C", "M D", axis=0))
        if isinstance(item, Obligation)
    ]
    assert "sufficient" in {d.obligation.kind for d in found if d.verdict == "refuted"}


def _refuted(
    rule: Rule, function: Function, instance: Instance, backend: Backend, operator: str = "Concat"
) -> set[str]:
    spec = Specification((operator,), "", 1, 99, function, (instance,))
    views = [item for view in instance.views for item in obligations(rule, spec, operator, 13, view)]
    found = [by_z3(item, backend) for item in views if isinstance(item, Obligation)]
    assert found
    return {f"{d.obligation.kind} {d.obligation.instance}" for d in found if d.verdict == "refuted"}


WRONG_ELEMENTS = {
    "Not": (at("bool: = p q"), FALSE),  # refuted by p = 0
    "Floor": (at("float: = 5/2 4"), Real.constant(Fraction(2))),  # right of the first alone
    "Relu": (at("= a -3"), ZERO_EXPR),  # right of the second alone
}


@pytest.mark.parametrize("operator", WRONG_ELEMENTS)
def test_a_wrong_element_is_refuted(operator: str, backend: Backend) -> None:
    """Truths, floats, and a tensor of equal elements."""
    instance, element = WRONG_ELEMENTS[operator]

    @rule(operator, inputs="x", outputs="y", elements=True)
    def filled(op: Op) -> Tensor:
        """One element everywhere."""
        return Tensor(op.tensor("x").dtype, op.tensor("x").shape, Contents.fill(element))

    spec = specification("", operator, 23)
    assert spec is not None
    found = [item for item in obligations(filled, spec, operator, 23, instance) if isinstance(item, Obligation)]
    decided = [by_z3(item, backend).verdict for item in found if item.kind == "content"]
    assert len(decided) == 2
    assert "refuted" in decided


def test_elements_have_any_sign(backend: Backend) -> None:
    @rule("Abs", inputs="x", outputs="y", elements=True)
    def same(op: Op) -> Tensor:
        """Right of what is not negative."""
        return op.tensor("x")

    spec = specification("", "Abs", 13)
    assert spec is not None
    wrong = _refuted(same, spec.function, at("= a"), backend, "Abs")
    assert wrong == {"content =[a], elements of any sign"}
    assert at("N", "= a N 3").views[1].signed == {"a"}
    assert at("uint64: = a", "bool: = p").views[1].shown == "sizes"


def test_a_rule_that_sees_no_elements_must_give_the_rank(backend: Backend) -> None:
    @rule("Concat", inputs="x sizes", outputs="y")
    def reshaped(op: Op) -> Tensor:
        """A vector where it does not know the sizes."""
        sizes = op.integers("sizes") or []
        return Tensor(op.tensor("x").dtype, Shape([3] if any(size.is_unknown for size in sizes) else sizes))

    def specified(node: Node) -> Output:
        return tensor(node.elements(1) or ())

    wrong = _refuted(reshaped, specified, at("N", "= a b"), backend)
    assert wrong == {"exact [N], =[a, b], elements unknown", "exact [N], =[a, b], elements of any sign"}
    assert at("N", "= a b").views[2].shown == "sizes"
    assert [view.shown for view in at("N", "int64=0: I").views] == ["elements", "fills"]


@pytest.mark.parametrize("is_required", [False, True])
def test_a_requirement_of_onnxruntime_alone_is_not_necessary(is_required: bool, backend: Backend) -> None:
    @rule("Concat", inputs="x", outputs="y")
    def demanding(op: Op) -> Tensor:
        """An axis that is not empty."""
        op.require(ge(op.tensor("x").shape[0], 1), "the axis must not be empty")
        return op.tensor("x")

    def lenient(node: Node) -> Output:
        node.limits(node.input(0).dims[0] >= 1, "onnxruntime needs an element", is_required=is_required)
        return tensor(node.input(0).dims)

    assert _refuted(demanding, lenient, at("N"), backend) == (set() if is_required else {"necessary [N]"})
