"""Holding the claims of an analysis against one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from onnx import helper

from absint import Result
from absint.lattices import ramp as ramps
from absint.lattices.contents import Element, element_symbols
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, NO, TRUE, YES, Relation, Truth
from absint.lattices.shape import Shape
from absint.lattices.terms.evaluation import casts_floats, values_of
from absint.lattices.terms.expr import Dim, Expr, Symbol, UndefinedError
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import Real, sole_atom
from absint.lattices.value import Bottom, MapOf, OptionalOf, SequenceOf, Tensor, Top, Value
from absint.transfer.stated import Statement

Known = dict[str, Any]
"""A number for each symbol, a tuple of sizes for each shape variable."""

ROUNDING: Final = Fraction(1, 1 << 10)
"""The relative error of the narrowest float whose elements are followed, in a quotient that is none of its numbers."""


@dataclass(frozen=True)
class Claims:
    """The claims of an analysis about every run and the values of the main graph; fresh symbols have printed names."""

    values: Mapping[str, Value]
    statements: tuple[tuple[str, Statement], ...]
    """With the node that states each; of nodes that every run computes."""
    rejected: tuple[str, ...]
    """Nodes that are claimed never to run."""
    may_fail: tuple[str, ...]

    @staticmethod
    def of(result: Result) -> Claims:
        """The claims of a result."""
        statements = tuple(
            (str(c.origin), Statement(c.relation, c.reason, c.role))
            for c in result.constraints
            if c.guard is TRUE and c.relation is not FALSE
        )
        rejected = tuple(
            f"{result.nodes[node]}: {summary.rejected}"
            for round_ in result.rounds.rounds
            for node, summary in round_.analysis.applied.items()
            if summary.rejected is not None and result.nodes[node].gate < 0
        )
        conflict = tuple(str(item.relation) for item in result.rounds.conflict)
        return Claims(
            dict(result.values), statements, rejected + conflict, tuple(map(str, result.constraints.possible_failures))
        )

    def wrong(self, binding: Mapping[str, int], run: Mapping[str, Any]) -> Iterator[str]:
        """Every claim that the run contradicts. `run` holds the concrete values by name."""
        if self.rejected:
            yield f"runs, but is claimed never to: {self.rejected[0]}"
            return
        known = dict(binding)
        conflicts = [c for name, actual in run.items() for c in learn(name, self.values[name], actual, known)]
        if any(s.role == "assumed" and s.relation.at(known) is NO for _, s in self.statements):
            return
        yield from conflicts
        for name, actual in run.items():
            yield from against(name, self.values[name], actual, known)
        for node, statement in self.statements:
            if statement.relation.at(known) is NO:
                yield f"runs, but {node} {statement.role}: {statement.relation} ({statement.reason}), at {known}"

    def broken(self, binding: Mapping[str, int]) -> bool:
        """Some requirement does not hold under the binding, or cannot be decided."""
        return bool(self.rejected) or any(
            s.relation.at(binding) is not YES for _, s in self.statements if s.role != "defined"
        )


def learn(where: str, value: Value, actual: Any, known: Known) -> Iterator[str]:
    """Bind invented symbols to the numbers that the run showed; yields contradictions."""
    for claim, number in _numbers(value, actual):
        node = sole_atom(claim)
        if isinstance(node, Symbol):
            if node.name in known and known[node.name] != number:
                yield f"{where}: {node.name} is {known[node.name]}, and {number} here"
            known.setdefault(node.name, number)
            if number not in node.bounds:
                yield f"{where}: {node.name} is claimed in {node.bounds}, ran {number}"


def _numbers(value: Value, actual: Any) -> Iterator[tuple[Expr, int]]:
    """Pairs of a claimed expression and the number that the run showed."""
    if isinstance(value, SequenceOf) and isinstance(actual, list) and isinstance(value.length, Expr):
        yield value.length, len(actual)
    if not isinstance(value, Tensor) or not isinstance(actual, np.ndarray):
        return
    if value.shape.rank == actual.ndim:
        for dim, size in zip(value.shape, actual.shape, strict=True):
            if isinstance(dim, Expr):
                yield dim, size
    elif value.shape.variable is not None and len(value.shape.known) <= actual.ndim:
        tail = len(value.shape.tail)
        ends = actual.shape[: len(value.shape.head)] + actual.shape[actual.ndim - tail :]
        yield from ((dim, size) for dim, size in zip(value.shape.known, ends, strict=True) if isinstance(dim, Expr))
    contents = value.contents if actual.dtype.kind in "biu" else None
    if contents is not None and not contents.is_fill and actual.size == len(contents.elements):
        for element, number in zip(contents.elements, actual.ravel().tolist(), strict=True):
            if isinstance(element, Expr):
                yield element, int(number)
            elif isinstance(element, Relation) and element.op == "==" and len(element.symbols) == 1:
                symbol = next(iter(element.symbols))
                if tuple(symbol.bounds) == (0, 1) and sole_atom(element.expr + 1) is symbol:
                    expr = element.expr + 1
                    assert isinstance(expr, Expr)
                    yield expr, int(bool(number))


def against(where: str, value: Value, actual: Any, known: Known) -> Iterator[str]:
    """The parts of one abstract value that one concrete value contradicts."""
    if isinstance(value, Bottom):
        yield f"{where}: claimed never to be computed, ran {actual}"
    elif isinstance(value, Top):
        return
    elif isinstance(value, SequenceOf):
        if not isinstance(actual, list):
            yield f"{where}: claimed a sequence, ran {type(actual).__name__}"
            return
        yield from _dim(f"{where}, length", value.length, len(actual), known)
        for item in actual:
            yield from against(f"{where}, an element", value.element, item, known)
        for at, (claim, item) in enumerate(zip(value.items or (), actual, strict=False)):
            yield from against(f"{where}, element {at}", claim, item, known)
    elif isinstance(value, OptionalOf):
        if actual is None:
            if value.present is True:
                yield f"{where}: claimed to be present"
        elif value.present is False:
            yield f"{where}: claimed to be absent"
        else:
            yield from against(where, value.element, actual, known)
    elif isinstance(value, MapOf):
        return
    elif isinstance(value, Tensor):
        if isinstance(actual, (list, dict)):
            yield f"{where}: claimed {value}, ran a {type(actual).__name__}"
        elif actual is not None:
            yield from _tensor(where, value, np.asarray(actual), known)
    else:
        yield f"{where}: cannot check {value}"


def _chosen(shape: Shape, known: Known) -> Shape:
    """The shape of a choice that the known symbols choose, if they do."""
    numbers = {name: number for name, number in known.items() if isinstance(number, int)}
    return next((case for condition, case in shape.cases if condition.at(numbers) is YES), shape)


def _tensor(where: str, value: Tensor, actual: np.ndarray, known: Known) -> Iterator[str]:
    if value.dtype is not DType.UNDEFINED:
        ran = DType.STRING if actual.dtype.kind in "OUST" else DType(helper.np_dtype_to_tensor_dtype(actual.dtype))
        if value.dtype is not ran:
            yield f"{where}: claimed {value.dtype}, ran {ran}"
            return
    shape = _chosen(value.shape, known)
    if shape.rank is not None:
        if shape.rank != actual.ndim:
            yield f"{where}: claimed {value.shape}, ran {actual.shape}"
            return
        for axis, (claim, size) in enumerate(zip(shape, actual.shape, strict=True)):
            yield from _dim(f"{where}[{axis}]", claim, size, known)
    elif shape.variable is not None:
        yield from _starred(where, shape, actual.shape, known)
    if value.contents is not None:
        claims, flat = value.contents.elements, actual.ravel().tolist()
        if value.contents.is_fill:
            claims = claims * len(flat)
        if len(claims) != len(flat):
            yield f"{where}: claimed {len(claims)} elements, ran {len(flat)}"
            return
        for at, (element, number) in enumerate(zip(claims, flat, strict=True)):
            yield from _element(f"{where}, element {at}", element, number, known)
    for index in np.ndindex(actual.shape if value.ramps else (0,)):
        yield from _dim(f"{where}{list(index)}", ramps.element(value.ramps, index), int(actual[index]), known)


def against_sizes(
    where: str, value: Value, dtype: DType, sizes: tuple[int | None, ...] | None, known: Known
) -> Iterator[str]:
    """What the type and the sizes of a tensor, as far as they are known, contradict."""
    if not isinstance(value, Tensor):
        return
    if value.dtype not in (DType.UNDEFINED, dtype):
        yield f"{where}: claimed {value.dtype}, ran {dtype}"
    if sizes is None or value.shape.rank is None:
        return
    if value.shape.rank != len(sizes):
        yield f"{where}: claimed {value.shape}, ran {sizes}"
        return
    for axis, (claim, size) in enumerate(zip(value.shape, sizes, strict=True)):
        if size is not None:
            yield from _dim(f"{where}[{axis}]", claim, size, known)


def _starred(where: str, shape: Shape, actual: tuple[int, ...], known: Known) -> Iterator[str]:
    """The known dims of a shape with a variable, which is one list of sizes in all shapes of the run."""
    count, rest = len(shape.head), len(actual) - len(shape.known)
    if rest < 0:
        yield f"{where}: claimed {shape}, ran {actual}"
        return
    assert shape.variable is not None
    middle = actual[count : count + rest]
    if known.setdefault(shape.variable.name, middle) != middle:
        yield f"{where}: {shape.variable.name} is {known[shape.variable.name]}, and {middle} here"
    for axis, (claim, size) in enumerate(zip(shape.known, actual[:count] + actual[count + rest :], strict=True)):
        yield from _dim(f"{where}, known dim {axis}", claim, size, known)


def _dim(where: str, claim: Dim, actual: int, known: Known) -> Iterator[str]:
    if not isinstance(claim, Expr):
        if actual not in claim.bounds or actual not in claim.congruence:
            yield f"{where}: claimed in {claim.bounds}, {claim.congruence}, ran {actual}"
        return
    if actual not in claim.bounds or actual not in claim.congruence:
        yield f"{where}: {claim} is claimed in {claim.bounds}, {claim.congruence}, ran {actual}"
    if all(s.name in known for s in claim.symbols):
        try:
            value: object = claim.evaluate(known)
        except (UndefinedError, ValueError) as error:
            if isinstance(error, UndefinedError) and casts_floats(claim):
                return  # the number is the platform's
            value = error
        if value != actual:
            yield f"{where}: {claim} is {value}, ran {actual}, at {_shown(claim, known)}"


def _shown(claim: Expr, known: Known) -> dict[str, int]:
    return {name: known[name] for name in sorted(claim.free_symbols) if name in known}


def _element(where: str, claim: Element, actual: Any, known: Known) -> Iterator[str]:
    if isinstance(claim, Dim):
        yield from _dim(where, claim, int(actual), known)
    elif isinstance(claim, Relation):
        if claim.at(known) is ~Truth.of(bool(actual)):
            yield f"{where}: {claim} is {not actual}, ran {actual}"
    elif isinstance(claim, Float) and all(s.name in known for s in element_symbols(claim)):
        with suppress(UndefinedError):
            if claim.compute(values_of(claim, known)) != actual:
                yield f"{where}: {claim} is {claim.compute(values_of(claim, known))}, ran {actual}"
    elif isinstance(claim, Real) and all(s.name in known for s in claim.num.symbols):
        value = Fraction(claim.num.evaluate(known), claim.den)
        rounding = 0 if claim.is_dyadic else abs(value) * ROUNDING
        if not np.isfinite(actual) or abs(value - Fraction(float(actual))) > rounding:
            yield f"{where}: {claim} is {value}, ran {actual}"
