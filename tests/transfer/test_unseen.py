"""Complete rules: where nothing is stated, every run succeeds, whatever is hidden or odd about the node."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import pytest

from absint.lattices.logic.relation import YES
from absint.transfer.families import shipped
from absint.transfer.stated import Applied
from tests.transfer.harness import Binding, Case, apply_case, check_outputs, execute
from tests.transfer.test_table import cases
from tests.transfer.unseen import hidden, other_attributes

T = TypeVar("T")

MOST_CASES, MOST_DATA, MOST_BINDINGS = 8, 12, 2

EMPTY_REDUCTION = "Reduce"
"""onnxruntime returns the input of an empty reduction over a negative axis: docs/runtime-differences.md."""


ENDS_THE_PROCESS = frozenset({"QLinearAveragePool", "Unique"})
"""Operators whose kernels end the process of onnxruntime over odd attributes, or for sizes of 0."""

WINDOWS = frozenset({"HannWindow", "HammingWindow", "BlackmanWindow"})
"""onnx.reference, alone to run some of their types, makes empty windows of negative sizes; onnxruntime refuses."""


@cache
def complete() -> dict[str, list[Case]]:
    """Cases of complete rules by operator."""
    modules = [f"tests.transfer.{path.stem}" for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    found: dict[str, dict[str, Case]] = {}
    for module in modules:
        if module not in (__name__, "tests.transfer.test_table"):
            for case in cases(list(vars(import_module(module)).values())):
                rule = shipped().lookup(case.domain, case.op, case.opset)
                if rule is not None and rule.complete and not case.may_differ:
                    found.setdefault(case.op, {})[str(case)] = case
    return {op: some(list(of_op.values()), MOST_CASES) for op, of_op in sorted(found.items())}


def some(items: Sequence[T], count: int) -> list[T]:
    """The first and some others."""
    rest = items[1:]
    return [*items[:1], *random.Random(0).sample(rest, min(count - 1, len(rest)))]


def says_all(applied: Applied) -> bool:
    """The rule states nothing but requirements, and not that the node cannot run."""
    return applied.rejected is None and not applied.doubts


def wrong(applied: Applied, case: Case, bindings: Sequence[Binding]) -> Iterator[str]:
    """Failures that no requirement tells, and claims that a run contradicts."""
    required = [s.relation for s in applied.statements if s.role == "required"]
    required += [failure.unless for failure in applied.possible_failures if not failure.is_open]
    for number, binding in enumerate(some(bindings, MOST_BINDINGS)):
        if any("hang" in f.reason and f.unless.at(binding) is not YES for f in applied.possible_failures):
            continue
        outputs, failure = execute(case, binding, seed=number)
        legal = all(relation.at(binding) is YES for relation in required)
        if outputs is None:
            if legal:
                yield f"{case} at {binding}: fails, and nothing says so: {failure}"
        elif not case.op.startswith(EMPTY_REDUCTION) and (legal or case.op not in WINDOWS):
            check_outputs(case, applied, binding, outputs)


@pytest.mark.share(2)
@pytest.mark.parametrize("op", complete())
def test_what_is_hidden_may_fail_or_every_run_succeeds(op: str) -> None:
    for case in complete()[op]:
        for what, seen, others in hidden(case):
            applied = apply_case(seen)
            if says_all(applied):
                found = [text for other in some(others, MOST_DATA) for text in wrong(applied, other, case.bindings)]
                assert not found, f"{what} is hidden: {found[0]}"


def with_attributes() -> list[str]:
    """The operators that have cases with attributes."""
    found = (op for op, of_op in complete().items() if any(case.attributes for case in of_op))
    return [op for op in found if op not in ENDS_THE_PROCESS]


@pytest.mark.parametrize("op", with_attributes())
def test_an_odd_attribute_may_fail_or_every_run_succeeds(op: str) -> None:
    for case in complete()[op]:
        for what, odd in other_attributes(case):
            applied = apply_case(odd)
            if says_all(applied) and not applied.notes:
                found = list(wrong(applied, odd, case.bindings))
                assert not found, f"{what}: {found[0]}"
