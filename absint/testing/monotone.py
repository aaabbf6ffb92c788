"""Operators of an analysis, tried on comparable elements while it runs: greater inputs give outputs no less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Final, Generic, TypeVar

from absint.analyses.forward import ForwardAnalysis
from absint.lattices.lattice import why_not_leq

T = TypeVar("T")
Inputs = Sequence["T | None"]

VISITS: Final = 3
"""Visits of a node at which its operator is tried."""


class MonotonyError(AssertionError):
    """A method of the analysis is not monotone, or no function; the text says where and on what."""


@contextmanager
def tried(
    analysis: ForwardAnalysis[T], pool: Sequence[T], text: Callable[[T], str], tries: int, seed: int
) -> Iterator[None]:
    """`operator` and `assume` of an analysis that runs in this block are tried on elements of the pool."""
    trial = _Trial(analysis, pool, text, tries, seed)
    own = dict(vars(analysis))
    analysis.operator = trial.operator  # type: ignore[method-assign]
    analysis.assume = trial.assume  # type: ignore[method-assign]
    try:
        yield
    finally:
        for name in ("operator", "assume"):
            if name in own:
                setattr(analysis, name, own[name])
            else:
                delattr(analysis, name)


class _Trial(Generic[T]):
    def __init__(
        self, analysis: ForwardAnalysis[T], pool: Sequence[T], text: Callable[[T], str], tries: int, seed: int
    ) -> None:
        self._analysis, self._pool, self._text, self._tries = analysis, pool, text, tries
        self._operator, self._assume = analysis.operator, analysis.assume
        self._draw = Random(seed)
        self._visits: dict[object, int] = {}

    def operator(self, node: int, inputs: Inputs[T]) -> Sequence[T]:
        found = self._operator(node, list(inputs))
        outputs = len(self._analysis.nodes[node].outputs)
        if len(found) < outputs:
            raise MonotonyError(f"{self._place(node)}: operator gives {len(found)} elements for {outputs} outputs")
        self._try("operator", node, None, inputs, found, lambda less: self._operator(node, list(less)))
        return found

    def assume(self, node: int, inputs: Inputs[T], truth: bool) -> Inputs[T]:
        found = self._assume(node, list(inputs), truth)
        if len(found) != len(inputs):
            raise MonotonyError(f"{self._place(node)}: assume gives {len(found)} elements for {len(inputs)} inputs")
        self._try("assume", node, truth, inputs, found, lambda less: self._assume(node, list(less), truth))
        return found

    def _try(
        self,
        method: str,
        node: int,
        truth: bool | None,
        inputs: Inputs[T],
        found: Inputs[T],
        apply: Callable[[Inputs[T]], Inputs[T]],
    ) -> None:
        visits = self._visits[node, truth] = self._visits.get((node, truth), 0) + 1
        if visits > VISITS:
            return
        where = f"{self._place(node)}: {method}" if truth is None else f"{self._place(node)}: {method} ({truth})"
        again = apply(inputs)
        if self._why(again, found) or self._why(found, again):
            raise MonotonyError(
                f"{where} gives {self._shown(again)} after {self._shown(found)} on {self._shown(inputs)}: "
                "it must not keep state"
            )
        for _ in range(self._tries):
            chosen = [self._draw.choice(self._pool) if self._draw.random() < 0.6 else None for _ in inputs]
            above = self._combined(self._analysis.domain.join, inputs, chosen)
            self._compare(where, inputs, found, above, apply(above))
            below = self._combined(self._analysis.domain.meet, inputs, chosen)
            self._compare(where, below, apply(below), inputs, found)

    def _compare(self, where: str, low: Inputs[T], less: Inputs[T], high: Inputs[T], more: Inputs[T]) -> None:
        reason = self._why(less, more)
        if reason:
            raise MonotonyError(
                f"{where} is not monotone: on {self._shown(low)} it gives {self._shown(less)}, on the greater "
                f"{self._shown(high)} it gives {self._shown(more)}, which is not above: {reason}"
            )

    def _combined(self, combine: Callable[[T, T], T], inputs: Inputs[T], chosen: Inputs[T]) -> list[T | None]:
        pairs = zip(inputs, chosen, strict=True)
        return [a if a is None or b is None else combine(a, b) for a, b in pairs]

    def _why(self, less: Inputs[T], more: Inputs[T]) -> str:
        """The first reason why elements are not below others; an input that is left out is like any."""
        pairs = ((a, b) for a, b in zip(less, more, strict=False) if a is not None and b is not None)
        return next((reason for a, b in pairs if (reason := why_not_leq(self._analysis.domain, a, b))), "")

    def _shown(self, elements: Inputs[T]) -> str:
        return "(" + ", ".join("nothing" if e is None else self._text(e) for e in elements) + ")"

    def _place(self, node: int) -> str:
        return str(self._analysis.nodes[node])
