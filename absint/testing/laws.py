"""Laws of every rule, whatever its operator; they need no run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from absint.lattices.contents import element_symbols
from absint.lattices.dtype import DType
from absint.lattices.lattice import placed
from absint.lattices.shape import TOP_SHAPE, shape_of
from absint.lattices.terms.expr import UNKNOWN_DIM, UNKNOWN_SIZE, Dim, Expr, Symbol
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.value import TOP, AnyTensor, Container, SequenceOf, Tensor, Value, parts
from absint.lattices.value_lattice import VALUES
from absint.testing.checks import hole_free
from absint.transfer.application import apply
from absint.transfer.op import Applied, Op
from absint.transfer.rule import Rule

Inputs = Sequence[Value | None]


def check_behaviour(case: str, rule: Rule, applied: Applied, inputs: Inputs, again: Callable[[], Op]) -> None:
    """The rule gives the same answer twice, changes none of its inputs, and invents symbols by `op.fresh` only."""
    op = again()
    before = (tuple(op.inputs), repr(sorted(op.attributes.items())))
    second = apply(rule, op)
    if (tuple(op.inputs), repr(sorted(op.attributes.items()))) != before:
        raise AssertionError(f"{case}: {rule} changes its inputs or attributes: copy what is to be changed")
    if second != applied:
        raise AssertionError(f"{case}: {rule} says {second.outputs} after {applied.outputs}: it must not keep state")
    known = {s.name for value in inputs if value is not None for s in symbols_of(value)}
    relations = [*(s.relation for s in applied.statements), *(c.relation for c in applied.caveats)]
    stated = chain.from_iterable(relation.symbols for relation in relations)
    for symbol in chain(chain.from_iterable(map(symbols_of, applied.outputs)), stated):
        if symbol.name not in known and symbol.kind is not SymbolKind.HOLE:
            raise AssertionError(
                f"{case}: {rule} invents the symbol {symbol.name!r}, which every node would share: "
                f"use op.fresh({symbol.name!r})"
            )


def weaker(inputs: Inputs) -> Iterator[tuple[str, list[Value | None]]]:
    """The same inputs with less known: of each alone, then of all."""
    for index, value in enumerate(inputs):
        if isinstance(value, Tensor):
            for what, less in _weaker(value):
                changed = list(inputs)
                changed[index] = less
                yield f"{what} of input {index} unknown", changed
    if any(isinstance(value, Tensor) for value in inputs):
        yield "all ranks unknown", [Tensor(v.dtype) if isinstance(v, Tensor) else v for v in inputs]
        yield "all inputs unknown", [None if v is None else TOP for v in inputs]


def _weaker(value: Tensor) -> Iterator[tuple[str, Value]]:
    shape = value.shape
    if shape.rank is not None:
        dims = shape.dims
        bare = Tensor(value.dtype, shape)
        if value is not bare:
            yield "the elements", bare
        for axis in range(len(dims)):
            yield f"dim {axis}", Tensor(value.dtype, shape_of((*dims[:axis], UNKNOWN_SIZE, *dims[axis + 1 :])))
        if len(dims) > 1:
            yield "every dim", Tensor(value.dtype, shape_of((UNKNOWN_SIZE,) * len(dims)))
        yield "the rank", Tensor(value.dtype)
    yield "the type", Tensor(DType.UNDEFINED, shape, value.contents, value.ramps)


def check_weaker(case: str, what: str, applied: Applied, less: Applied) -> None:
    """An application that knew less does not reject what runs, and gives weaker answers."""
    if less.rejected is not None:
        raise AssertionError(f"{case} with {what}: rejected ({less.rejected}), but with more known it is not")
    for index, (value, other) in enumerate(zip(applied.outputs, less.outputs, strict=True)):
        lost = _lost(other, value)
        if lost:
            raise AssertionError(
                f"{case} with {what}: output {index} is {other}, but with more known only {value}: {hole_free(lost)}"
            )


def _lost(less: Value, value: Value) -> str:
    """The type, rank or dim of `less` that `value`, of an application that knew more, lacks, in words."""
    if isinstance(less, Container) and type(less) is type(value):
        assert isinstance(value, Container)
        return placed("each element", _lost(less.element, value.element))
    return VALUES.why_not_leq(value, _kept(less, value))


def _kept(less: Value, value: Value) -> Value:
    """Parts of `less` that must hold of `value` too.

    Two terms may differ: either operand of a broadcast is right in every run.
    """
    if not isinstance(less, AnyTensor) or type(less) is not type(value):
        return less
    assert isinstance(value, AnyTensor)
    shape = less.shape
    if shape.rank is None:
        shape = TOP_SHAPE
    elif shape.rank == value.shape.rank:
        pairs = zip(shape, value.shape, strict=True)
        shape = shape_of(tuple([dim if _is_more(dim, known) else UNKNOWN_DIM for dim, known in pairs]))
    return type(less)(less.dtype, shape)


def _is_more(less: Dim, dim: Dim) -> bool:
    if not isinstance(less, Expr) or _is_invented(less):
        return False
    return not isinstance(dim, Expr) or _is_invented(dim) or (less.const is not None and less is not dim)


def _is_invented(dim: Expr) -> bool:
    return any(symbol.kind is SymbolKind.HOLE for symbol in dim.symbols)


def symbols_of(value: Value) -> Iterator[Symbol]:
    """Every symbol that a value mentions."""
    for part in parts(value):
        if isinstance(part, AnyTensor):
            yield from _symbols(part.shape.numbers)
            if part.shape.variable is not None:
                yield part.shape.variable
        if isinstance(part, Tensor):
            for element in part.contents.elements if part.contents is not None else ():
                yield from element_symbols(element)
            yield from _symbols(number for ramp in part.ramps for number in (ramp.base, *ramp.steps))
        if isinstance(part, SequenceOf):
            yield from _symbols((part.length,))


def _symbols(dims: Iterable[Dim]) -> Iterator[Symbol]:
    for dim in dims:
        if isinstance(dim, Expr):
            yield from dim.symbols
