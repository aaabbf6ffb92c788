"""Facts about symbols: the cheap, exact tier behind `decide` and `simplify`.

Facts come from relations: an equality that solves a symbol, bounds, a finite set, a congruence; everything else is kept
as a premise. Nothing here searches: an answer costs a few normal forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_, or_
from typing import Final, cast

from absint.lattices.limits import on_time
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN, UNKNOWN_RELATION, YES, Comparison, Relation, Truth
from absint.lattices.logic.relation import intervals_of
from absint.lattices.logic.solving import Order, congruence_of, originals, positive_factors, solve
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, add, const, constant_divisor, expr_of, mul, sub
from absint.lattices.terms.interval import ANY, EMPTY, Congruence, Interval
from absint.lattices.terms.normal import CONSTRUCTORS, Substitution, floordiv, substitute, with_atoms
from absint.lattices.terms.polynomials import nonneg, nonneg_of

_MAX_CASES: Final = 64
_MAX_PASSES: Final = 8


class Facts:
    """An immutable set of relations that hold, indexed for use. `contradiction` is set when they cannot all hold."""

    def __init__(self, relations: Iterable[Relation] = (), order: Sequence[str] = ()) -> None:
        """`order` lists symbols by priority: an equality is solved for a symbol that is not in it, or late in it."""
        self.order = Order.of(order)
        self.narrows_only = False
        """The replacements carry every fact: bounds show all others."""
        self.relations: tuple[Relation, ...] = tuple(dict.fromkeys(_flat(relations)))
        self.contradiction = FALSE in self.relations
        self.mapping: dict[Symbol, Dim] = {}
        """Replacements of solved and narrowed symbols."""
        self._mentions: dict[Symbol, dict[Symbol, None]] = {}
        """For a symbol in the replacements of others: those others."""
        self.replaced = Substitution(self.mapping)
        self.remainders: dict[Symbol, Congruence] = {}
        """Symbols with a known remainder."""
        self.values: dict[Symbol, frozenset[int]] = {}
        """Symbols with finitely many values."""
        for _ in range(_MAX_PASSES):
            # A later relation may solve a symbol of an earlier one: learn again until nothing new is known.
            replaced, known = self.replaced, self.remainders
            self._premises: list[Expr] = []
            self.values = {}
            self.remainders = {s: c for s, c in known.items() if s not in self.mapping}
            is_shown = True
            for relation in self.relations:
                on_time()
                found = relation.map(self.replaced) if self.mapping else relation
                is_shown = is_shown and found is TRUE
                self._learn(found)
            if replaced is self.replaced and self.remainders == known:
                self.narrows_only = is_shown
                break

    def __bool__(self) -> bool:
        return bool(self.relations)

    def assume(self, *relations: Relation) -> Facts:
        """These facts and the given ones."""
        return Facts((*self.relations, *relations), self.order) if relations else self

    def about(self, includes: Callable[[Symbol], bool]) -> Facts:
        """The facts that mention no other symbols."""
        kept = [relation for relation in self.relations if all(map(includes, relation.symbols))]
        return self if len(kept) == len(self.relations) else Facts(kept, self.order)

    def _learn(self, relation: Relation) -> None:
        if relation is FALSE:
            self.contradiction = True
        elif isinstance(relation, Comparison) and relation.op == "==":
            self._learn_equality(relation.expr)
        elif (found := intervals_of(relation)) is not None:
            self._learn_intervals(*found)
        elif isinstance(relation, Comparison) and relation.op == ">=":
            for symbol in positive_factors(relation.expr):
                self._narrow(symbol, Interval(1, None))
            self._premises.append(relation.expr)

    def _learn_equality(self, e: Expr) -> None:
        solved = solve(e, self.order)
        if solved is not None:
            self._bind(*solved)
            return
        found = congruence_of(e, self.remainders)
        if found is not None:
            known = self.remainders.get(found[0], ANY).meet(found[1])
            if known is None:
                self.contradiction = True
            else:
                self.remainders[found[0]] = known
        self._premises += [e, cast(Expr, -e)]

    def _learn_intervals(self, symbol: Symbol, intervals: Sequence[Interval]) -> None:
        """The symbol lies in one of the intervals: in their hull, and in a finite set if they are single numbers."""
        inside = [part for interval in intervals if not (part := interval.meet(symbol.bounds)).is_empty]
        self._narrow(symbol, reduce(Interval.join, inside, EMPTY))
        points = [part.lo for part in inside if part.lo is not None and part.lo == part.hi]
        values = self.values.get(symbol, frozenset(points) if 1 < len(points) == len(inside) else None)
        if values is not None:
            self.values[symbol] = left = frozenset(v for v in values if any(v in part for part in inside))
            self._narrow(symbol, Interval(min(left), max(left)) if left else EMPTY)

    def _narrow(self, symbol: Symbol, bounds: Interval) -> None:
        narrowed = symbol.bounds.meet(bounds)
        if narrowed.is_empty:
            self.contradiction = True
        elif narrowed.lo == narrowed.hi and narrowed.lo is not None:
            self._bind(symbol, const(narrowed.lo))
        elif narrowed != symbol.bounds:
            self._bind(symbol, expr_of(symbol.within(*narrowed)))

    def _bind(self, symbol: Symbol, value: Dim) -> None:
        for other in self._mentions.pop(symbol, ()):
            now = self.mapping[other]
            if now is expr_of(symbol):
                self._put(other, value)
            elif isinstance(now, Expr):
                self._put(other, substitute(now, {symbol: value}))
        self._put(symbol, value)
        self.replaced = Substitution(self.mapping)

    def _put(self, symbol: Symbol, value: Dim) -> None:
        self.mapping[symbol] = value
        for part in value.symbols if isinstance(value, Expr) else ():
            self._mentions.setdefault(part, {})[symbol] = None

    @cached_property
    def key(self) -> frozenset[Relation]:
        """The relations: equal ones decide alike."""
        return frozenset(self.relations)

    @cached_property
    def originals(self) -> Mapping[Symbol, Dim]:
        """Symbols that the facts narrowed -> the symbols they replace."""
        return originals(self.mapping)

    @cached_property
    def restored(self) -> Substitution:
        """Puts the original symbols in the place of narrowed ones."""
        return Substitution(self.originals)

    @property
    def rewritten(self) -> int:
        """The number of atoms whose replacements are kept."""
        return len(self.replaced) + len(self.restored)

    def simplify(self, dim: Dim) -> Dim:
        """The dim under solved equalities, bounds and congruences; the same value in every run that meets the facts."""
        if not isinstance(dim, Expr) or dim.const is not None:
            return dim
        if self.mapping and not self.mapping.keys().isdisjoint(dim.symbols):
            dim = self.replaced(dim)
        return self.without_remainders(dim)

    def without_remainders(self, dim: Dim) -> Dim:
        """The dim with its exact quotients divided, in operands of atoms too."""
        if not isinstance(dim, Expr) or self.remainders.keys().isdisjoint(dim.symbols):
            return dim
        return self._divided(dim)

    def _divided(self, e: Expr) -> Dim:
        def divided(node: Atom, values: Mapping[Atom, Dim]) -> Dim | None:
            args = [self._exact_quotients(arg.rebuild(values)) if isinstance(arg, Expr) else arg for arg in node.args]
            unchanged = all(a is b for a, b in zip(args, node.args, strict=True))
            return expr_of(node) if unchanged else CONSTRUCTORS[node.op](*args)

        return self._exact_quotients(e.rebuild(with_atoms(e, divided)))

    def _exact_quotients(self, e: Dim) -> Dim:
        """k*m*(a // m)*b is k*(a - r)*b, and (a + c) // m is a // m + (r + c) // m, where a = r (mod m) is known."""
        total: Dim = const(0)
        for mono, coef in e.terms if isinstance(e, Expr) else ():
            term: Dim = const(1)
            for factor in mono:
                divisor = constant_divisor(factor)
                known = self.congruence(cast(Expr, factor.args[0])) if divisor else ANY
                if not divisor or known.modulus % divisor:
                    term = mul(term, expr_of(factor))
                    continue
                over = cast(Expr, factor.args[0])
                if coef % divisor == 0:
                    coef //= divisor
                    term = mul(term, sub(over, const(known.remainder % divisor)))
                else:
                    shift = sum(c for m, c in over.terms if not m)
                    carry = ((known.remainder - shift) % divisor + shift) // divisor
                    term = mul(term, add(floordiv(sub(over, const(shift)), divisor), const(carry)))
            total = add(total, mul(const(coef), term))
        return total if isinstance(e, Expr) else e

    def congruence(self, e: Expr) -> Congruence:
        """A congruence that all values of the expression meet."""
        total = Congruence(0, 0)
        for mono, coef in e.terms:
            part = Congruence(0, coef)
            for factor in mono:
                part = part.times(self.remainders.get(factor, ANY) if isinstance(factor, Symbol) else ANY)
            total = total + part
        return total

    def decide(self, relation: Relation) -> Truth:
        """YES if the relation holds in every run that meets the facts, NO if in none, UNKNOWN if neither is shown."""
        if relation is TRUE:
            return YES
        if relation is FALSE:
            return NO
        if not self.relations:
            return UNKNOWN
        if relation in self.relations:
            return YES
        if relation.negated in self.relations:
            return NO
        if relation.op == "and":
            return reduce(and_, map(self.decide, relation.parts), YES)
        if relation.op == "or":
            return reduce(or_, map(self.decide, relation.parts), NO)
        if not isinstance(relation, Comparison):
            return UNKNOWN
        return self._decide_zero(relation.op, self.simplify(relation.expr), _MAX_CASES)

    def _decide_zero(self, op: str, e: Dim, cases: int) -> Truth:
        """A simplified expression compared with 0."""
        if not isinstance(e, Expr):
            return UNKNOWN
        if op == ">=":
            answer = YES if self._shown(e) else NO if self._shown(e, -1, -1) else UNKNOWN
        else:
            equal = self._equal_zero(e)
            answer = equal if op == "==" else ~equal
        if answer is UNKNOWN:
            answer = self._by_cases(op, e, cases)
        if answer is UNKNOWN and (spread := self._spread(e)) is not e:
            answer = self._decide_zero(op, spread, cases)
        return answer

    def _spread(self, e: Expr) -> Dim:
        """The expression in multiples of the moduli."""
        multiples = self.multiples(e.symbols)
        return substitute(e, multiples) if multiples else e

    def multiples(self, symbols: Iterable[Symbol]) -> Mapping[Symbol, Dim]:
        """Symbols that are r modulo m -> m*k + r: quotients of these by divisors of m have no remainder left."""
        known = ((symbol, self.remainders.get(symbol, ANY)) for symbol in symbols)
        return {symbol: in_steps(symbol, found) for symbol, found in known if found.modulus > 1}

    def _equal_zero(self, e: Expr) -> Truth:
        if e.const is not None:
            return Truth.of(e.const == 0)
        if self._shown(e, 1, -1) or self._shown(e, -1, -1) or 0 not in self.congruence(e):
            return NO
        return YES if self._shown(e) and self._shown(e, -1) else UNKNOWN

    def _shown(self, e: Expr, sign: int = 1, shift: int = 0) -> bool:
        """sign*e + shift >= 0 in every run that meets the facts."""
        if nonneg_of(e, sign, shift):
            return True
        if not self._premises:
            return False
        least = add(e if sign > 0 else -e, const(shift))
        return any(nonneg(sub(least, premise)) for premise in self._premises)

    def _by_cases(self, op: str, e: Expr, cases: int) -> Truth:
        """Enumerate the finite set of a symbol."""
        symbol = min((s for s in e.symbols if s in self.values), key=lambda s: s.key, default=None)
        if symbol is None or len(self.values[symbol]) > cases:
            return UNKNOWN
        values = sorted(self.values[symbol])
        truths = {self._decide_zero(op, substitute(e, {symbol: const(v)}), cases // len(values)) for v in values}
        return truths.pop() if len(truths) == 1 else UNKNOWN

    def __repr__(self) -> str:
        return f"Facts({', '.join(map(str, self.relations))})"


def in_steps(symbol: Symbol, remainder: Congruence) -> Dim:
    """m*k + r for a symbol that is r modulo m, over a k of its own."""
    m, r = remainder
    lo, hi = symbol.bounds
    least, most = None if lo is None else -((r - lo) // m), None if hi is None else (hi - r) // m
    return add(mul(const(m), expr_of(Symbol.placeholder(f"{symbol.name}/{m}", least, most))), const(r))


def _flat(relations: Iterable[Relation]) -> Iterator[Relation]:
    for relation in relations:
        if relation.op == "and":
            yield from relation.parts
        elif relation is not TRUE and relation is not UNKNOWN_RELATION:
            yield relation


NO_FACTS: Final = Facts()
