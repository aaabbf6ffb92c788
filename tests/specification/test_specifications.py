"""Specifications against runs: what runs is legal, what is legal runs, and outputs have the specified sizes."""

from __future__ import annotations

import pytest

from absint.research.specification.choices import CHOICES
from absint.research.specification.formulas import both, equal
from absint.research.specification.node import Defined, Node, greatest, tensor
from absint.research.specification.specs import Instance, Specification, at, specification, specified
from absint.research.specification.terms import variable
from tests.specification.comparing import bindings, differences, is_legal
from tests.specification.operators import versions


@pytest.mark.share(3)
@pytest.mark.parametrize(("domain", "operator"), specified(), ids=lambda part: part)
def test_runs_agree(domain: str, operator: str) -> None:
    for version in versions(domain, operator):
        spec = specification(domain, operator, version)
        if spec is not None:
            for instance in spec.instances(operator, version):
                for view in instance.views:
                    if view.shown in ("elements", "signed"):
                        assert not list(differences(spec, operator, version, view))


@pytest.mark.parametrize(("operator", "version"), [("Col2Im", 18), ("GRU", 14), ("Split", 13), ("Attention", 23)])
def test_legal_sizes_are_found(operator: str, version: int) -> None:
    """Also where those that are drawn are hardly ever legal."""
    spec = specification("", operator, version)
    assert spec is not None
    instances = spec.instances(operator, version)[:2]  # one of them may be of no legal form
    meanings = [(instance, spec.meaning(operator, version, instance)) for instance in instances]
    assert max(sum(is_legal(m, binding) for binding in bindings(i, m)) for i, m in meanings) >= 2


@pytest.mark.parametrize("operator", ["FusedMatMul", "QuickGelu"])
def test_operators_of_onnxruntime_run(operator: str) -> None:
    """Its own operators have version 1: it refuses a model that names another."""
    spec = specification("com.microsoft", operator, 1)
    assert spec is not None
    wrong = spec._replace(function=lambda node: tensor([7, *node.input(0).dims]))
    assert list(differences(wrong, operator, 1, spec.grid[0]))


@pytest.mark.parametrize(("operator", "name"), CHOICES)
def test_other_ways_are_illegal_and_fail(operator: str, name: str) -> None:
    domain = "ai.onnx.ml" if operator in ("CastMap", "Normalizer") else ""
    version = versions(domain, operator)[-1]
    spec = specification(domain, operator, version)
    assert spec is not None
    instance = next(found for found in spec.grid if found.first <= version <= found.last)
    other = "other" if isinstance(CHOICES[operator, name][0], str) else 2
    wrong = instance._replace(attributes={**instance.attributes, name: other})
    assert f"{name} must be one of" in spec.meaning(operator, version, wrong).legal[0].reason
    assert not list(differences(spec, operator, version, wrong))


def _wrong(function: object, instance: Instance) -> list[str]:
    spec = Specification(("Concat",), "", 1, 99, function, (instance,))  # type: ignore[arg-type]
    return list(differences(spec, "Concat", 13, instance))


def test_a_wrong_size_is_found() -> None:
    found = _wrong(lambda node: tensor([node.input(0).dims[0]]), at("N", "M", axis=0))
    assert any("output 0 has shape" in text for text in found)


def test_a_clause_too_many_is_found() -> None:
    def narrow(node: Node) -> object:
        node.requires(equal(node.input(0).dims[0], node.input(1).dims[0]), "too much")
        return tensor([node.input(0).dims[0] + node.input(1).dims[0]])

    assert any("runs and is illegal: too much" in text for text in _wrong(narrow, at("N", "M", axis=0)))


def test_a_clause_too_few_is_found() -> None:
    found = _wrong(lambda node: tensor(node.input(0).dims), at("N C", "M D", axis=0))
    assert any("is legal and fails" in text for text in found)


def test_a_clause_about_negative_elements_is_found() -> None:
    def narrow(node: Node) -> object:
        node.requires((node.elements(1) or ())[0] >= -1, "too much")
        return tensor([])

    (plain, signed, _) = at("3", ". a").views
    spec = Specification(("Gather",), "", 1, 99, narrow, ())  # type: ignore[arg-type]
    assert not list(differences(spec, "Gather", 13, plain._replace(inputs=at("3", ". 0").inputs)))
    assert any("at {'a': -3} runs and is illegal: too much" in t for t in differences(spec, "Gather", 13, signed))


def test_the_greatest_is_unique() -> None:
    size = variable("N")
    halves = greatest(lambda q: q * 2 <= size)
    assert [halves.value({"N": number}) for number in range(5)] == [0, 0, 1, 1, 2]
    with pytest.raises(ValueError, match="no size up to 9"):
        Defined(lambda q: both(q >= 3, q < 3)).value({}, limit=9)


def test_a_later_form_is_specified_apart() -> None:
    """Also where an earlier form fits too, and is registered last."""
    newest, older = specification("", "MaxPool", 12), specification("", "MaxPool", 8)
    assert newest is not None
    assert older is not None
    assert any("ceil_mode" in instance.attributes for instance in newest.grid)
    assert not any("ceil_mode" in instance.attributes for instance in older.grid)
    flatten = specification("", "Flatten", 13)
    assert flatten is not None
    axes = {instance.attributes.get("axis") for instance in flatten.grid}
    assert {-1, 0, None} <= axes
