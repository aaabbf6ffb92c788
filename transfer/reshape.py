"""Reshape: its target is data, so each element may be a size, a 0 that copies, or the -1.

The result is found by cases. A case fixes which elements are copied and which one is inferred; arithmetic then gives
its dims and requirements. An element that is surely positive has a single case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product as combinations
from typing import Final

from absint.lattices.logic.piecewise import entails, restrict
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, conjunction, divisible, eq, ge, implies, ne
from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import MINUS_ONE, UNKNOWN_SIZE, Dim, Expr, const, product
from absint.lattices.terms.normal import exact_quotient, floordiv, maximum
from absint.lattices.value import Tensor
from absint.transfer.conditions import is_empty, vector
from absint.transfer.elements.folding import fill_of, laid_out
from absint.transfer.elements.logic import choose, is_natural, is_positive, nonzero_parts, vanishes_with
from absint.transfer.op import Op
from absint.transfer.rule import rule

_MAX_CASES: Final = 16

_MAX_CHOSEN: Final = 4
"""Elements of a target any of which may be the -1."""

_COUNT: Final = "the target must have as many elements as the input"
_INFERRED: Final = "a -1 needs the other target dims to be non-zero"
_SINGLE: Final = "only one target dim may be -1"
_DIVISIBLE: Final = "a -1 needs the element count to be divisible by the other target dims"


class Case(NamedTuple):
    """One reading of a target element where the condition holds: a size, or None if it is inferred."""

    condition: Relation
    size: Dim | None
    positive: tuple[Relation, ...] = ()
    """Relations that make the size positive, known to hold with the condition."""


Element = tuple[Case, ...]
"""All cases of a target element, with conditions that exclude each other; empty if nothing is known of it."""


@rule("Reshape", "data -> Y", until=4, complete=True, elements=True, starred=True)
def reshape_attribute(op: Op) -> Tensor:
    """numpy.reshape with the target in an attribute."""
    sizes = op.ints("shape")
    op.may_fail("onnxruntime needs attribute shape", unless=sizes is not None)
    return _reshape(op, [const(d) for d in sizes or []])


@rule("Reshape", "data shape -> Y", since=5, complete=True, elements=True, starred=True)
def reshape(op: Op) -> Tensor:
    """numpy.reshape; -1 is inferred, and 0 copies the input's dim of the same axis unless `allowzero` is set."""
    vector(op, "shape")
    target = op.integers("shape")
    if target is None:
        op.may_fail("the target, which is unknown, must have as many elements as the input")
        x = op.tensor("data")
        return Tensor(x.dtype, TOP_SHAPE, fill_of(x))
    return _reshape(op, target)


def _reshape(op: Op, target: Sequence[Dim]) -> Tensor:
    x = op.tensor("data")
    result = shape_of(reshaped_dims(op, x.shape, target, keep_zero=op.flag("allowzero")))
    return laid_out(x, result)


def reshaped_dims(op: Op, source: Shape, target: Sequence[Dim], *, keep_zero: bool) -> tuple[Dim, ...]:
    """The dims of a reshape. States its requirements."""
    minus_ones = sum(e is MINUS_ONE for e in target)
    if minus_ones > 1:
        op.reject(f"the target must have at most one -1, found [{', '.join(map(str, target))}]")
    elements = [_element(op, source, i, e, keep_zero, minus_ones == 1) for i, e in enumerate(target)]
    single = [element[0].size for element in elements if len(element) == 1]
    if len(single) == len(elements) and isinstance(source.size, Expr):
        return _by_rest(op, target, elements, source.size, _by_one_case(op, source, source.size, single, keep_zero))
    inferable = sum(any(case.size is None for case in element) for element in elements)
    count = 1
    for element in elements:
        count *= len(element)
    if not isinstance(source.size, Expr) or not 0 < count <= _MAX_CASES or inferable > 1:
        chosen = None if keep_zero else _by_choice(op, source.size, target, elements)
        return _by_count(op, source.size, elements) if chosen is None else chosen
    return _by_rest(op, target, elements, source.size, _by_cases(op, source, source.size, elements, keep_zero))


def _by_rest(
    op: Op, target: Sequence[Dim], elements: Sequence[Element], count: Expr, dims: tuple[Dim, ...]
) -> tuple[Dim, ...]:
    """The dims with a number that is data, whether a size, a 0 or a -1, replaced by what the other dims leave of the
    count.
    """
    known = [e.symbols if isinstance(e, Expr) and e.const is None else () for e in target]
    by_data = [i for i, symbols in enumerate(known) if any(s.kind is SymbolKind.FRESH for s in symbols)]
    if len(by_data) != 1 or any(len(cases) != 1 for i, cases in enumerate(elements) if i != by_data[0]):
        return dims
    (at,) = by_data
    rest = product(dim for i, dim in enumerate(dims) if i != at)
    return (*dims[:at], floordiv(count, rest), *dims[at + 1 :]) if is_positive(op, rest) else dims


_INFERRED_CASE: Final = (Case(TRUE, None),)


def _element(op: Op, source: Shape, axis: int, e: Dim, keep_zero: bool, minus_one: bool) -> Element:
    """The cases of one target element. States the requirements on it alone."""
    if not isinstance(e, Expr):
        return ()
    if e is MINUS_ONE:
        return _INFERRED_CASE
    copied = source.known[axis] if axis < len(source.head) else None
    cases = []
    if not is_natural(op, e):
        op.require(ge(e, 0 if minus_one else -1), "a target dim must be at least -1, and only one may be -1")
        if not minus_one:
            cases.append(Case(eq(e, -1), None))
    if keep_zero or is_positive(op, e):
        return (*cases, Case(ge(e, 0), e)) if cases else (Case(TRUE, e),)
    if copied is None and source.is_top:
        return () if e.const != 0 else (Case(TRUE, UNKNOWN_SIZE),)
    if copied is None:
        for part in (ne(e, 0),) if cases else nonzero_parts(e):
            op.require(part, f"the target must not be 0 at axis {axis}, which the input lacks")
        return (*cases, Case(ge(e, 1), e)) if cases else (Case(TRUE, e),)
    if e.const == 0:
        return (Case(TRUE, copied),)
    return _copied_or_kept(e, copied, cases)


def _copied_or_kept(e: Expr, copied: Dim, cases: list[Case]) -> Element:
    """The cases of a target element that may be 0 in some runs, and then copies this dim."""
    if vanishes_with(copied, e):  # the copied dim is 0 too
        return (*cases, Case(ge(e, 0), e)) if cases else (Case(TRUE, e),)
    factor = exact_quotient(e, copied) if isinstance(copied, Expr) else None
    test = factor if isinstance(factor, Expr) and factor.bounds.lo is not None and factor.bounds.lo >= 0 else e
    if cases or test.bounds.lo is None or test.bounds.lo < 0:
        return (*cases, Case(eq(e, 0), copied), Case(ge(e, 1), e))
    return (Case(ge(0, test), copied), Case(ge(test, 1), e, nonzero_parts(test)))


# Targets known up to cases


def _by_cases(op: Op, source: Shape, count: Expr, elements: Sequence[Element], keep_zero: bool) -> tuple[Dim, ...]:
    needs: list[tuple[Relation, dict[Relation, str]]] = []
    inferred: list[tuple[Relation, Dim]] = []
    axis: int | None = None
    for chosen in combinations(*elements):
        condition = conjunction(*(case.condition for case in chosen))
        sizes = [case.size for case in chosen if case.size is not None]
        if len(sizes) == len(chosen):
            needs.append((condition, _same_count(sizes, count)))
            continue
        axis = next(i for i, case in enumerate(chosen) if case.size is None)
        known = {part for case in chosen for part in case.positive}
        size, need = _infer(op, source, count, sizes, keep_zero)
        needs.append((condition, {part: why for part, why in need.items() if part not in known}))
        inferred.append((condition, size))
    _state(op, needs)
    dims = [_dim(op, element) if i != axis else None for i, element in enumerate(elements)]
    if axis is None:
        return _without_copies(op, count, elements, [d for d in dims if d is not None])
    own = [(case.condition, case.size) for case in elements[axis] if case.size is not None]
    at_axis = _nested(op, [*inferred, *own])
    if own:
        at_axis = _negative_is_zero(at_axis, own, inferred)
    return tuple(at_axis if d is None else d for d in dims)


def _by_one_case(op: Op, source: Shape, count: Expr, sizes: Sequence[Dim | None], keep_zero: bool) -> tuple[Dim, ...]:
    """The dims where each element has a single reading."""
    known = [size for size in sizes if size is not None]
    rest: Dim = UNKNOWN_SIZE
    if len(known) == len(sizes):
        needs = _same_count(known, count)
    else:
        rest, needs = _infer(op, source, count, known, keep_zero)
    for part, why in needs.items():
        op.require(part, why)
    return tuple([rest if size is None else size for size in sizes])


def _same_count(sizes: Sequence[Dim], count: Expr) -> dict[Relation, str]:
    return {eq(product(sizes), count): _COUNT}


def _infer(
    op: Op, source: Shape, count: Expr, others: Sequence[Dim], keep_zero: bool
) -> tuple[Dim, dict[Relation, str]]:
    """The size that a -1 stands for, and the requirements with their reasons.

    onnxruntime allows -1 beside a 0 that `allowzero` keeps (ONNX forbids it), and then leaves the dims that are 0 out
    of both counts.
    """
    rest = product(others)
    size = floordiv(count, rest)
    exact = divisible(count, rest)
    maybe_zero = [d for d in others if not is_positive(op, d)] if keep_zero else []
    if op.semantics == "onnx":
        for d in maybe_zero:
            op.require(ne(d, 0), "no size beside a -1 may be a 0 that is kept")
        maybe_zero = []
    if not maybe_zero:
        needs = dict.fromkeys((part for d in others if not is_positive(op, d) for part in nonzero_parts(d)), _INFERRED)
        return size, {**needs, exact: _DIVISIBLE}
    if any(d.is_concrete for d in maybe_zero):
        op.may_fail("ONNX forbids -1 beside a 0 that is kept, and onnxruntime rejects it in a constant target")
    whole, rest = _nonzero_product(op, source), _nonzero_product(op, others)
    some_zero = is_empty(maybe_zero)
    empty = TRUE if all(vanishes_with(count, d) for d in maybe_zero) else eq(count, 0)
    runs = implies(some_zero, empty & divisible(whole, rest)) & (some_zero | exact)
    return choose(op.facts, some_zero, floordiv(whole, rest), size), {runs: _DIVISIBLE}


def _nonzero_product(op: Op, dims: Iterable[Dim]) -> Dim:
    return product(d if is_positive(op, d) else maximum(d, 1) for d in dims)


def _state(op: Op, needs: Sequence[tuple[Relation, dict[Relation, str]]]) -> None:
    """State the requirements of each case; those of all cases without a condition."""
    shared = [part for part in needs[0][1] if all(part in need for _, need in needs)]
    for part in shared:
        op.require(part, needs[0][1][part])
    for condition, need in needs:
        for part, why in need.items():
            if part not in shared and not entails(condition, part):
                op.require(implies(condition, part), why)


def _dim(op: Op, element: Element) -> Dim:
    return _nested(op, [(case.condition, case.size) for case in element if case.size is not None])


def _nested(op: Op, cases: Sequence[tuple[Relation, Dim]]) -> Dim:
    """The size of the case that holds; one of them always does."""
    last, result = cases[-1]
    narrowed = [restrict(size, condition) for condition, size in cases[:-1]]
    if len(set(narrowed)) == 1 and isinstance(narrowed[0], Expr):
        return choose(op.facts, ~last, narrowed[0], result)
    for (condition, _), size in reversed(list(zip(cases[:-1], narrowed, strict=True))):
        result = choose(op.facts, condition, size, result)
    return result


def _negative_is_zero(
    at_axis: Dim, own: Sequence[tuple[Relation, Dim]], inferred: Sequence[tuple[Relation, Dim]]
) -> Dim:
    """max(e, 0) if a -1 stands for 0: x[:, 1:] reshaped to a target that computes its size as N - 1."""
    e = own[-1][1]
    zeros = [restrict(size, eq(e, -1)) for _, size in inferred] + [restrict(size, eq(e, 0)) for _, size in own[:-1]]
    return maximum(e, 0) if all(isinstance(z, Expr) and z.const == 0 for z in zeros) else at_axis


def _without_copies(op: Op, count: Expr, elements: Sequence[Element], dims: list[Dim]) -> tuple[Dim, ...]:
    """The dims, without the case of a copied 0 if the dim is 0 there anyway."""
    for i, element in enumerate(elements):
        kept = element[-1].size
        others = [d for j, d in enumerate(dims) if j != i]
        if len(element) == 2 and kept is not None and vanishes_with(count, kept):
            dims[i] = kept if all(is_positive(op, d) for d in others) else dims[i]
    return tuple(dims)


# Targets that the caller of the model chooses


def _by_choice(op: Op, count: Dim, target: Sequence[Dim], elements: Sequence[Element]) -> tuple[Dim, ...] | None:
    """The dims for a target of few elements of inputs, any of which may be the -1; None for another target."""
    if not isinstance(count, Expr) or len(target) > _MAX_CHOSEN or not all(map(_is_chosen, target)) or () in elements:
        return None
    others = [_dim(op, element) for element in elements]
    found: list[Dim] = []
    needs: list[tuple[Relation, str]] = []
    for axis, (element, size) in enumerate(zip(elements, others, strict=True)):
        inferred = next((case.condition for case in element if case.size is None), None)
        if inferred is None:
            found.append(size)
            continue
        rest = product(other for at, other in enumerate(others) if at != axis)
        found.append(choose(op.facts, inferred, floordiv(count, rest), size))
        needs.append((implies(inferred, ne(rest, 0)), _INFERRED))
        needs += [(~(inferred & eq(e, -1)), _SINGLE) for e in target[axis + 1 :]]
    whole = eq(product(found), count)
    if not all(isinstance(dim, Expr) for dim in found) or whole is UNKNOWN_RELATION:
        return None
    for relation, why in (*needs, (whole, _COUNT)):
        op.require(relation, why)
    return tuple(found)


def _is_chosen(e: Dim) -> bool:
    """It is a function of sizes and elements of inputs, and negative only where an element is."""
    if not isinstance(e, Expr) or any(symbol.kind is not SymbolKind.INPUT for symbol in e.symbols):
        return False
    signed = any(symbol.bounds.lo is None or symbol.bounds.lo < 0 for symbol in e.symbols)
    return signed or (e.bounds.lo is not None and e.bounds.lo >= 0) or e.const is not None


# Targets known in part


def _by_count(op: Op, count: Dim, elements: Sequence[Element]) -> tuple[Dim, ...]:
    """The dims if nothing is known of some elements: only the element count relates them."""
    op.may_fail(_COUNT)
    dims = [_dim(op, e) if e and all(case.size is not None for case in e) else None for e in elements]
    unknown = [i for i, d in enumerate(dims) if d is None]
    if isinstance(count, Expr) and unknown:
        rest = product(d for d in dims if d is not None)
        if len(unknown) == 1 and is_positive(op, rest):
            dims[unknown[0]] = floordiv(count, rest)
        else:
            for i in unknown:
                dims[i] = op.fresh(f"axis{i}")
            whole = eq(product(d for d in dims if d is not None), count)
            op.define(whole, "the target has as many elements as the input")
    return tuple(UNKNOWN_SIZE if d is None else d for d in dims)
