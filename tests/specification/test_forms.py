"""Specifications beyond their grid: at the nodes of tests/transfer a run is as specified, or the form is not covered.

Certificates read the specification of whatever node a model has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pytest

from absint.lattices.contents import Element
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor
from absint.model.schemas import since
from absint.questions.certificates.meanings import SIGNED, Reading, attributes_of
from absint.research.specification.data_dependent import bounded
from absint.research.specification.formulas import both
from absint.research.specification.node import IllegalError, Input, Node, Output, tensor
from absint.research.specification.specs import Function, specification
from absint.research.specification.terms import Formula, Term, term, variable
from absint.testing import Arg, Case
from absint.testing.cases import Binding, arrays_of, execute
from tests.pages.operators import all_cases

MOST = 6
"""Bindings that a case is tried at."""

Operator = tuple[str, str]


@cache
def _cases() -> Mapping[Operator, Sequence[Case]]:
    found = defaultdict(list)
    for case in all_cases():
        if _function(case) is not None and _is_run(case):
            found[case.domain, case.op].append(case)
    return found


def _is_run(case: Case) -> bool:
    """It has sizes to be tried at."""
    dims = [dim for arg in case.inputs if arg is not None for dim in arg.dims or () if isinstance(dim, str)]
    return all(Dim(dim).free_symbols <= set(case.bindings[0]) for dim in dims)


def _function(case: Case) -> Function | None:
    version = since(case.domain, case.op, case.opset) or case.opset
    spec = specification(case.domain, case.op, version)
    return bounded(case.domain, case.op) if spec is None else spec.function


@pytest.mark.share(3)
@pytest.mark.parametrize(("domain", "operator"), sorted(_cases()), ids=lambda part: part)
def test_runs_are_as_specified(domain: str, operator: str) -> None:
    found = {text for case in _cases()[domain, operator] for text in differences(case)}
    assert not found


def differences(case: Case) -> Iterator[str]:
    """The first place where a run and the specification of a case disagree."""
    values = [None if arg is None else arg.value() for arg in case.inputs]
    if any(isinstance(value, Tensor) and value.shape.is_top for value in values):
        return
    node = Reading(case.op, since(case.domain, case.op, case.opset) or case.opset, *_given(case, values))
    function = _function(case)
    assert function is not None
    try:
        found: Output | Sequence[Output] | IllegalError = function(node)
    except IllegalError as error:
        found = error
    except (LookupError, AssertionError, TypeError, ValueError):
        return
    for binding in case.bindings[:: max(len(case.bindings) // MOST, 1)][:MOST]:
        if text := _difference(case, binding, node, found):
            yield f"{case} at {dict(binding)}: {text}"
            return


def _given(case: Case, values: Sequence[Tensor | None]) -> tuple[Sequence[Input | None], Mapping[str, object], int]:
    inputs = [None if value is None else _input(place, value) for place, value in enumerate(values)]
    return inputs, attributes_of(case.decoded()), case.outputs


def _input(place: int, value: Tensor) -> Input:
    dims = [_term(f"in{place}@{axis}", dim) for axis, dim in enumerate(value.shape.dims)]
    block = None if value.contents is None else value.contents.block(value.shape.concrete)
    if block is None:
        return Input(tuple(dims), None)
    return Input(tuple(dims), tuple(_term(f"in{place}@e{at}", item) for at, item in enumerate(block.elements)))


def _term(name: str, item: Element) -> Term | Formula:
    if isinstance(item, Expr) and item.const is not None:
        return term(item.const)
    if isinstance(item, Real) and item.fraction is not None:
        return Term("fraction", (item.fraction.numerator, item.fraction.denominator))
    return Formula("variable", (name,)) if isinstance(item, Relation) else variable(name)


def _difference(case: Case, binding: Binding, node: Reading, found: Output | Sequence[Output] | IllegalError) -> str:
    named = _numbers(case, binding)
    certain = [clause for clause in node.limited if clause.is_certain]
    if any(not clause.formula.holds(named) for clause in node.limited if clause not in certain):
        return ""
    if _is_beyond(node, named):
        return ""
    outputs, _ = execute(case, binding, 0)
    if outputs is None:
        return ""
    if isinstance(found, IllegalError):
        return f"it runs and is illegal: {found}"
    for clause in (*node.legal, *certain):
        if not clause.formula.holds(named):
            return f"it runs and is illegal: {clause.reason}"
    for place, (output, array) in enumerate(
        zip([found] if isinstance(found, Output) else found, outputs, strict=False)
    ):
        if output.length is not None:
            continue
        if isinstance(array, np.ndarray | np.generic) and not _is_of(output, array.shape, named):
            return f"output {place} has shape {array.shape}, which is not specified"
    return ""


def _numbers(case: Case, binding: Binding) -> Mapping[str, int]:
    """The numbers that a specification may name: sizes and elements of the inputs."""
    found = {}
    for place, array in enumerate(arrays_of(case, binding, 0)):
        if array is not None:
            found |= {f"in{place}@{axis}": size for axis, size in enumerate(np.shape(array))}
            if np.asarray(array).dtype.kind in "iub":
                found |= {f"in{place}@e{at}": int(number) for at, number in enumerate(np.ravel(array).tolist())}
    return found


def _is_beyond(node: Reading, named: Mapping[str, int]) -> bool:
    """Certificates do not read it: an element that a specification takes for a size is negative."""
    read = [node.optional(place) for place in node.read] if node.operator not in SIGNED else []
    elements = [item for given in read if given is not None for item in given.elements or ()]
    return any(item.op == "variable" and named[str(item)] < 0 for item in elements)


def _is_of(output: Output, shape: Sequence[int], named: Mapping[str, int]) -> bool:
    if len(output.dims) != len(shape):
        return False
    parts = zip(output.dims, map(term, shape), strict=True)
    return all(both(defined.condition(size), size >= defined.least).holds(named) for defined, size in parts)


def _specified(function: Function, case: Case) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.specification.test_forms._function", lambda case: function)
        return list(differences(case))


def test_a_size_that_no_run_has_is_found() -> None:
    case = Case("Relu", [Arg(["N", 3])], bindings=[{"N": 2}])
    assert not _specified(lambda node: tensor(node.input(0).dims), case)
    assert "has shape (2, 3)" in _specified(lambda node: tensor([3, 3]), case)[0]
    assert "has shape (2, 3)" in _specified(lambda node: tensor([6]), case)[0]


def test_a_run_that_is_illegal_is_found() -> None:
    def narrow(node: Node) -> Output:
        node.requires(node.input(0).dims[0] >= 3, "too small")
        return tensor(node.input(0).dims)

    def never(node: Node) -> Output:
        raise IllegalError("never")

    case = Case("Relu", [Arg(["N", 3])], bindings=[{"N": 2}])
    assert _specified(narrow, case) == [f"{case} at {{'N': 2}}: it runs and is illegal: too small"]
    assert _specified(never, case) == [f"{case} at {{'N': 2}}: it runs and is illegal: never"]
