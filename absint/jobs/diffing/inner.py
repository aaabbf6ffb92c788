"""Computed values that have their name in both models: those whose types or shapes differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from absint.jobs.diffing.answers import Inner
from absint.jobs.diffing.correspondence import Correspondence, plain
from absint.jobs.diffing.grounds import Grounds
from absint.jobs.diffing.pairing import form_of
from absint.lattices.deadline import on_time
from absint.lattices.logic.relation import conjunction, eq
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import Tensor, Value
from absint.questions.sizes.smallest import Sizes, small_sizes
from absint.solution.analysed import Analysed
from absint.solution.described import described

_SAMPLES: Final = 24
"""Legal sizes at which shapes are evaluated before a proof is tried."""


def differing(first: Analysed, second: Analysed, over: Correspondence, grounds: Grounds) -> Iterator[Inner]:
    """Values of the main graph that are of another type or shape in the second model; inputs and outputs apart.

    Raises DeadlineError past the deadline that is set.
    """
    samples = grounds.small(_SAMPLES)
    ports = {*first.inputs, *first.outputs, *second.inputs, *second.outputs}
    for name in first.operands:
        if name not in second.operands or name in ports:
            continue
        on_time()
        value, other = first.values[name], second.values[name]
        before, after = form_of(value), form_of(other)
        if before.differs(after):
            yield Inner(name, _text(value), _text(other), None, True)
        elif before.is_known and after.is_known:
            pairs = [(plain(first, a), over.dim(b)) for (_, a), (_, b) in zip(before.sizes, after.sizes, strict=True)]
            decided, at = _apart(pairs, grounds, samples)
            if at is not None or not decided:
                yield Inner(name, _text(value), _text(other), at, decided)


def _apart(pairs: list[tuple[Dim, Dim]], grounds: Grounds, samples: list[Sizes]) -> tuple[bool, Sizes | None]:
    """Sizes at which two shapes differ; True with None if none do, False if that is not known."""
    relation = conjunction(*(eq(a, b) for a, b in pairs if isinstance(a, Expr) and isinstance(b, Expr) and a is not b))
    for sizes in samples:
        if relation.at(sizes) is NO:
            return True, sizes
    if not relation.free_symbols <= grounds.chosen(relation).keys():
        return True, None  # data decide sizes of both: --values is about those that are known to differ
    decision = grounds.decide(relation)
    if decision.entailed is not False:
        return decision.entailed is True, None
    model = grounds.model(decision)
    return True, next(small_sizes(relation, grounds.premises, grounds.chosen(relation), model), None)


def _text(value: Value) -> str:
    return described(Tensor(value.dtype, value.shape) if isinstance(value, Tensor) else value)
