"""Rules under one semantics: held against onnxruntime where the runs are its own, and against specifications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO, YES
from absint.lattices.shape import SCALAR, Shape
from absint.lattices.value import Tensor
from absint.research.obligations.making import applied
from absint.research.specification.node import Meaning
from absint.research.specification.specs import Instance, Specification, specification, specified
from absint.testing import Case
from absint.testing.cases import arrays_of
from absint.testing.rules import apply_case
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import overlay, rule
from absint.transfer.semantics import ONNX, RUNTIME, SEMANTICS, Semantics
from absint.transfer.stated import Applied
from tests.differences.outcomes import NO_KERNEL, in_onnxruntime
from tests.specification import holders as held
from tests.specification.comparing import bindings, case_of
from tests.specification.operators import is_known, versions

OPERATORS = [found for found in specified() if is_known(*found)]
"""The operators that ONNX documents."""

RUNS = 5
"""Bindings at which each instance is run."""


def instances(domain: str, operator: str, version: int) -> Iterator[tuple[Instance, Specification, Meaning]]:
    """The instances of a version that has a specification."""
    spec = specification(domain, operator, version)
    for instance in spec.grid if spec is not None else ():
        if instance.first <= version <= instance.last:
            yield instance, spec, spec.meaning(operator, version, instance, documented=True)


def is_excluded(applied: Applied, at: Mapping[str, int]) -> bool:
    """A requirement is false at these sizes."""
    required = (s.relation for s in applied.statements if s.role == "required")
    return applied.rejected is not None or any(relation.at(at) is NO for relation in required)


def is_doubtful(applied: Applied, at: Mapping[str, int]) -> bool:
    """The rule says that the node may fail at these sizes."""
    return any(f.unless.at(at) is not YES for f in applied.possible_failures if not f.at_load)


def other_sizes(applied: Applied, at: Mapping[str, int], shapes: Sequence[Sequence[int] | None]) -> Iterator[str]:
    """The claims about sizes that are not those of the outputs."""
    for value, shape in zip(applied.outputs, shapes, strict=False):
        if shape is None or not isinstance(value, Tensor) or value.shape.rank is None:
            continue
        claimed = [None if dim.is_unknown or dim.free_symbols - at.keys() else dim.evaluate(at) for dim in value.shape]
        if len(claimed) != len(shape) or any(a not in (None, b) for a, b in zip(claimed, shape, strict=True)):
            yield f"{value.shape} is {claimed}, found {list(shape)}"


@pytest.mark.parametrize(("domain", "operator"), OPERATORS, ids=lambda part: part)
def test_the_documents_decide(domain: str, operator: str) -> None:
    for version in versions(domain, operator):
        for instance, _, meaning in instances(domain, operator, version):
            rule = shipped().lookup(domain, operator, version)
            assert rule is not None
            answer = applied(rule, operator, version, instance, ONNX)
            for at in bindings(instance, meaning):
                where = f"{operator}-{version} {instance} at {dict(at)}"
                if all(clause.strict.holds(at) for clause in meaning.legal):
                    assert not is_excluded(answer, at), where
                    sizes = [[size.value(at) for size in output.dims] for output in meaning.outputs]
                    assert not list(other_sizes(answer, at, sizes)), where
                elif rule.complete:
                    assert is_excluded(answer, at) or is_doubtful(answer, at), where


@pytest.mark.parametrize(("domain", "operator"), OPERATORS, ids=lambda part: part)
def test_onnxruntime_decides(domain: str, operator: str) -> None:
    version = versions(domain, operator)[-1]
    for instance, spec, meaning in instances(domain, operator, version):
        case = case_of(spec, operator, version, instance)
        rule = shipped().lookup(domain, operator, version)
        assert rule is not None
        answer = applied(rule, operator, version, instance, RUNTIME)
        safe = [at for at in bindings(instance, meaning) if all(c.formula.holds(at) for c in meaning.limits)]
        for at in safe[:: max(1, len(safe) // RUNS)]:
            where = f"{operator}-{version} {instance} at {dict(at)}"
            if held.holds(instance):
                outputs, failure = held.execute(case, instance, at)
            else:
                outputs, failure = in_onnxruntime(case, arrays_of(case, at, 0))
            if outputs is None:
                if rule.complete and not any(text in failure for text in (*NO_KERNEL, held.UNFED)):
                    assert is_excluded(answer, at) or is_doubtful(answer, at), f"{where}: {failure}"
            else:
                assert not is_excluded(answer, at), where
                shapes = [np.shape(array) if isinstance(array, np.ndarray) else None for array in outputs]
                assert not list(other_sizes(answer, at, shapes)), where


def test_a_rule_of_another_domain_has_the_semantics_of_onnxruntime() -> None:
    """Nobody else documents its operators."""
    windows = {"kernel_shape": [2], "strides": [2]}
    from tests.transfer.harness import Arg

    inner = Case("NhwcMaxPool", [Arg(["N", "H", 3], 2)], windows, opset=1, domain="com.microsoft")
    plain = Case("MaxPool", [Arg(["N", 3, "H"])], windows)
    assert "max" in str(apply_case(inner, semantics=ONNX).outputs[0])
    assert "max" not in str(apply_case(plain, semantics=ONNX).outputs[0])


def test_an_overlay_is_asked_first_unless_the_documents_alone_count() -> None:
    @overlay
    def first_row(op: Op) -> Tensor | None:
        """It gives the first row of a matrix."""
        x = op.tensor("X")
        return Tensor(x.dtype, Shape(x.shape[1:])) if x.shape.rank == 2 else None

    @rule("Fold", "X[...] -> Y[...]")
    @first_row
    def fold(op: Op) -> None:
        """The shape of X."""

    def shape(semantics: Semantics, *dims: int) -> str:
        (output,) = apply(fold, Op(fold, [Tensor(DType.FLOAT, Shape(dims))], semantics=semantics)).outputs
        return str(output.shape) if isinstance(output, Tensor) else ""

    assert [shape(semantics, 2, 3) for semantics in SEMANTICS] == ["[3]", "[2, 3]", "[3]"]
    assert [shape(semantics, 4) for semantics in SEMANTICS] == ["[4]"] * 3
    assert (fold.summary, fold.deviation) == ("The shape of X.", "It gives the first row of a matrix.")


def test_a_reduction_of_a_scalar_without_axes_is_not_refused() -> None:
    for name in ("ReduceSum", "ReduceMax"):
        found = shipped().lookup("", name, 18)
        assert found is not None
        op = Op(found, [Tensor(DType.FLOAT, SCALAR)], version=18, semantics=RUNTIME)
        assert not apply(found, op).possible_failures
