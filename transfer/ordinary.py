"""Ordinary sizes: a numeric premise may be assumed only if it holds for all of them.

Symbols range independently over all values up to `ORDINARY` within their bounds; interval arithmetic, not sampling,
shows the premise, of floats part by part. Where a float has no value, a premise need not hold. Facts may bound a symbol
further. An integer that is a product of k sizes is a number of rows or elements: there all sizes up to the k-th root of
`ORDINARY_PRODUCT` are enough, for k up to 4. Trip counts and values carried by loops are not sizes that a user chooses:
64 iterations that double a number overflow every integer type. They keep their own bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final, cast

from absint.lattices.limits import on_time
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import FALSE, TRUE, YES, Comparison, Relation
from absint.lattices.terms.atoms import Atom, Operand, SymbolKind
from absint.lattices.terms.evaluation import INTEGERS, UndefinedError
from absint.lattices.terms.expr import MAX_DIM, ZERO_EXPR, Dim, Expr, Symbol, expr_of, postorder, sole_atom, sub
from absint.lattices.terms.floats import Float
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Substitution, integer, rebuilt

ORDINARY: Final = 1 << 16
"""The largest ordinary size."""

ORDINARY_PRODUCT: Final = 1 << 24
"""The largest ordinary number of rows or elements."""

_MOST_FACTORS: Final = 4
"""Of a number of elements, as of images: a higher power is none."""


@remembered
def is_ordinary(premise: Relation, facts: Facts, *, products: bool = False) -> bool:
    """The premise holds for all values of its symbols up to `ORDINARY` that the facts allow.

    With `products`, where sizes are multiplied, for all up to the root of `ORDINARY_PRODUCT`.
    """
    if _is_shown(premise, facts, ORDINARY):
        return True
    return products and (most := _root(premise)) < ORDINARY and _is_shown(premise, facts, most)


def _is_shown(premise: Relation, facts: Facts, most: int) -> bool:
    loops = any(map(_is_of_a_loop, premise.symbols))
    narrowed = premise.map(_boxed(_trips(facts, most), most)) if loops else _in_box(premise, most)
    if narrowed is TRUE or narrowed is FALSE:
        return narrowed is TRUE
    known = _ordinary_facts(facts, most) if facts else facts
    if facts and not known.contradiction and known.decide(narrowed) is YES:
        return True
    return not loops and any(node.op in INTEGERS for node in postorder(premise.atoms())) and _in_cells(premise, most)


@remembered
def _in_box(premise: Relation, most: int) -> Relation:
    """The premise over symbols that have ordinary values only."""
    return premise.map(_boxed({}, most))


def _in_cells(premise: Relation, most: int) -> bool:
    """The premise is shown in parts of the box, cut in halves where the intervals are not narrow enough."""
    symbols = sorted(premise.symbols, key=lambda symbol: symbol.key)
    parts = [_parts(ordinary(symbol, most)) for symbol in symbols]
    boxes = [tuple((0, len(cells)) for cells in parts)]
    for _ in range(_MOST_CELLS):
        on_time()
        box = boxes.pop()
        widest = max(range(len(box)), key=lambda place: box[place][1] - box[place][0])
        low, high = box[widest]
        ranges = zip(parts, box, strict=True)
        cell = [cells[at].within(cells[at].bounds.lo, cells[end - 1].bounds.hi) for cells, (at, end) in ranges]
        try:
            shown = premise.map(_in_cell(tuple(zip(symbols, cell, strict=True)))) is TRUE
        except UndefinedError:
            shown = high - low == 1
        if not shown:
            if high - low == 1:
                return False
            middle = (low + high) // 2
            boxes += [(*box[:widest], half, *box[widest + 1 :]) for half in ((low, middle), (middle, high))]
        if not boxes:
            return True
    return False


@lru_cache(maxsize=1 << 10)
def _in_cell(cell: tuple[tuple[Symbol, Symbol], ...]) -> Callable[[Expr], Dim]:
    """Puts the symbols of a cell in place of others. Premises share most of their atoms: each is rebuilt once."""
    replaced = Substitution({symbol: expr_of(within) for symbol, within in cell})

    def change(e: Expr) -> Dim:
        boxed = replaced(e)
        return _where_defined(boxed) if isinstance(boxed, Expr) else boxed

    return change


_ENDS: Final = (0, 1, 1 << 4, 1 << 8, 1 << 12, ORDINARY)
_MOST_CELLS: Final = 256


def _parts(symbol: Symbol) -> list[Symbol]:
    lo, hi = symbol.bounds
    if lo is None or hi is None or lo < 0:
        return [symbol]
    ends = [end for end in _ENDS if lo <= end < hi]
    return [symbol.within(low + 1, high) for low, high in pairwise([lo - 1, *ends, hi])]


def _root(premise: Relation) -> int:
    """Sizes up to this one make up an ordinary product, of as many as the premise multiplies."""
    counts: dict[Atom, int] = {}
    for atom in postorder(premise.atoms()):
        counts[atom] = 1 if isinstance(atom, Symbol) else max((_degree(arg, counts) for arg in atom.args), default=0)
    factors = max((_degree(part.expr, counts) for part in premise.comparisons()), default=0)
    if not 2 <= factors <= _MOST_FACTORS:
        return ORDINARY
    return 1 << (ORDINARY_PRODUCT.bit_length() - 1) // factors


def _degree(arg: Operand, counts: Mapping[Atom, int]) -> int:
    """The most sizes that are multiplied, by those that its atoms multiply."""
    if isinstance(arg, Relation):
        return max((_degree(part.expr, counts) for part in arg.comparisons()), default=0)
    return max((sum(counts[atom] for atom in mono) for mono, _ in arg.terms), default=0) if isinstance(arg, Expr) else 0


def limit_of(premise: Relation) -> int:
    """The premise has been shown for all sizes up to this one."""
    return ORDINARY if _is_shown(premise, NO_FACTS, ORDINARY) else _root(premise)


@remembered
def box_of(premise: Relation) -> int | None:
    """The largest size found, `ORDINARY` or more, such that the premise holds if no size in it is larger.

    None if there is none, or if the premise is also about what is no size: a trip count, a number that may be negative.
    """
    return next((most for most in _BOXES if holds_in_box(premise, most)), None)


def holds_in_box(premise: Relation, most: int) -> bool:
    """The premise holds if no size in it is larger than this."""
    sizes = all(not _is_of_a_loop(s) and (s.bounds.lo or 0) <= most and s.bounds.leq(_SIZE) for s in premise.symbols)
    return sizes and _is_shown(premise, NO_FACTS, most)


_SIZE: Final = Interval(0, MAX_DIM)
_BOXES: Final = tuple(1 << k for k in range(30, 15, -2))


@remembered
def _ordinary_facts(facts: Facts, most: int) -> Facts:
    return Facts(relation.map(_boxed({}, most)) for relation in facts.relations)


@remembered
def _trips(facts: Facts, most: int) -> Mapping[Symbol, Symbol]:
    """Symbols of loops with the bounds that the facts give them, for all ordinary sizes: a trip is below the limit."""
    found: dict[Symbol, Symbol] = {}
    for relation in facts.relations:
        narrowed = relation.map(_boxed(found, most))
        e = narrowed.expr if isinstance(narrowed, Comparison) and narrowed.op != "!=" else ZERO_EXPR
        for symbol in filter(_is_of_a_loop, relation.symbols):
            known = found.get(symbol, symbol)
            coef = dict(e.terms).get((known,), 0)
            rest = sub(e, expr_of(known) * coef) if coef < 0 else None
            if isinstance(rest, Expr) and known not in rest.symbols and rest.bounds.hi is not None:
                bounds = known.bounds.meet(Interval(None, rest.bounds.hi // -coef))
                found[symbol] = known if bounds.is_empty else symbol.within(*bounds)
    return found


def _boxed(known: Mapping[Symbol, Symbol], most: int) -> Callable[[Expr], Dim]:
    """Puts symbols that have ordinary values only in place of those of an expression."""

    def change(e: Expr) -> Dim:
        boxed = Substitution({s: expr_of(known.get(s) or ordinary(s, most)) for s in e.symbols})(e)
        return _where_defined(boxed) if isinstance(boxed, Expr) else boxed

    return change


def _where_defined(e: Expr) -> Dim:
    """The expression with the numbers that floats are cast to where they have a value: elsewhere a premise has none.

    Raises UndefinedError where one has none at all.
    """
    nodes = postorder(e.atoms())
    if not any(node.op in INTEGERS for node in nodes):
        return e
    values: dict[Atom, Dim] = {}
    conditional = False
    for node in nodes:
        found = rebuilt(node, values)
        if node.op == "ite":
            conditional = True
        only = sole_atom(found) if isinstance(found, Expr) else None
        if only is not None and only.op in ("int64", "int32"):
            found = integer(cast(Float, only.args[0]))
        if only is not None and only.op in INTEGERS and not conditional and cast(Float, only.args[0]).span.is_empty:
            raise UndefinedError("the float is no number")
        values[node] = found
    return e.rebuild(values)


def ordinary(symbol: Symbol, most: int = ORDINARY) -> Symbol:
    """The symbol with its ordinary values only: up to `most`."""
    lo, hi = symbol.bounds
    # Others may be any number, such as a sum that wrapped around, as large as its type allows.
    is_size = symbol.kind in (SymbolKind.INPUT, SymbolKind.DATA, SymbolKind.PROBE)
    if not is_size and not symbol.bounds.leq(Interval(0, MAX_DIM)):
        return symbol
    if _is_of_a_loop(symbol) or (lo is not None and lo > most) or (hi is not None and hi < -most):
        return symbol
    lowest = -most if lo is None else max(lo, -most)
    highest = most if hi is None else min(hi, most)
    return symbol.within(lowest, highest)


def _is_of_a_loop(symbol: Symbol) -> bool:
    """The symbol is an iteration number, or a value that a loop carries."""
    return symbol.kind is SymbolKind.ITERATION
