"""What is known about symbols beyond their kind: the cheap, exact tier that `decide` and `simplify` draw on.

Facts come from relations: an equality that solves a symbol, bounds, a finite set, a congruence; everything else is kept
as it stands and used as a premise. Nothing here searches: an answer costs a few normal forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import gcd
from typing import Final, cast

from lattices.expr import Dim, Expr, Symbol, const, expr_of, mul, sub, substitute
from lattices.interval import ANY, Congruence, Interval
from lattices.normal import nonneg
from lattices.relation import FALSE, TRUE, Relation, negation
from lattices.truth import NO, UNKNOWN, YES, Truth

_MAX_CASES: Final = 64


class Facts:
    """An immutable set of relations that hold, indexed for use. `contradiction` is set when they cannot all hold."""

    __slots__ = ("_congruences", "_mapping", "_premises", "_sets", "contradiction", "relations")

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        self.relations: tuple[Relation, ...] = tuple(dict.fromkeys(_flat(relations)))
        self.contradiction = FALSE in self.relations
        self._mapping: dict[Symbol, Dim] = {}
        self._premises: list[Expr] = []
        self._sets: dict[Symbol, frozenset[int]] = {}
        self._congruences: dict[Symbol, Congruence] = {}
        for relation in self.relations:
            self._learn(relation)

    def __bool__(self) -> bool:
        return bool(self.relations)

    def assume(self, *relations: Relation) -> Facts:
        """These facts and the given ones."""
        return Facts((*self.relations, *relations)) if relations else self

    def _learn(self, relation: Relation) -> None:
        relation = relation.substitute(self._mapping) if self._mapping else relation
        if relation is FALSE:
            self.contradiction = True
        elif relation.op == "==":
            self._learn_equality(relation.expr)
        elif relation.op == ">=":
            self._learn_bound(relation.expr)
        elif relation.op == "or":
            self._learn_set(relation)

    def _learn_equality(self, e: Expr) -> None:
        solved = solve(e)
        if solved is not None:
            self._bind(*solved)
            return
        found = _congruence_of(e)
        if found is not None:
            symbol, congruence = found
            known = self._congruences.get(symbol, ANY).meet(congruence)
            if known is None:
                self.contradiction = True
            else:
                self._congruences[symbol] = known
        self._premises += [e, cast(Expr, -e)]

    def _learn_bound(self, e: Expr) -> None:
        """a*s + c >= 0 narrows the symbol s; anything else is a premise."""
        linear = [(mono, coef) for mono, coef in e.terms if mono]
        if len(linear) == 1 and len(linear[0][0]) == 1 and isinstance(symbol := linear[0][0][0], Symbol):
            coef = linear[0][1]
            rest = sum(c for m, c in e.terms if not m)
            bound = Interval(-(rest // coef), None) if coef > 0 else Interval(None, rest // -coef)
            narrowed = symbol.bounds.meet(bound)
            if narrowed.is_empty:
                self.contradiction = True
            elif narrowed.lo == narrowed.hi and narrowed.lo is not None:
                self._bind(symbol, const(narrowed.lo))
            elif narrowed != symbol.bounds:
                self._bind(symbol, expr_of(Symbol(symbol.name, *narrowed)))
        else:
            self._premises.append(e)

    def _learn_set(self, relation: Relation) -> None:
        """s == a or s == b or ... gives a finite set."""
        values: set[int] = set()
        symbols = set()
        for part in relation.parts:
            solved = solve(part.expr) if part.op == "==" else None
            if solved is None or not isinstance(solved[1], Expr) or solved[1].const is None:
                return
            symbols.add(solved[0])
            values.add(solved[1].const)
        if len(symbols) == 1:
            symbol = symbols.pop()
            self._sets[symbol] = self._sets.get(symbol, frozenset(values)) & values

    def _bind(self, symbol: Symbol, value: Dim) -> None:
        step = {symbol: value}
        self._mapping = {s: _replace(v, step) for s, v in self._mapping.items()}
        self._mapping[symbol] = value
        self._premises = [p for e in self._premises if isinstance(p := substitute(e, step), Expr)]

    def simplify(self, dim: Dim) -> Dim:
        """The dim under the solved equalities, bounds and congruences; the same value in every run that meets the facts."""
        if not isinstance(dim, Expr) or dim.const is not None:
            return dim
        if self._mapping and not self._mapping.keys().isdisjoint(dim.symbols):
            dim = substitute(dim, self._mapping)
        if self._congruences and isinstance(dim, Expr):
            dim = self._exact_quotients(dim)
        return dim

    def _exact_quotients(self, e: Expr) -> Dim:
        """k*m*(a // m) is k*(a - r) where a = r (mod m) is known."""
        for mono, coef in e.terms:
            if len(mono) == 1 and mono[0].op == "floordiv":
                a, b = cast(tuple[Expr, Expr], mono[0].args)
                m = b.const
                if m is None or coef % m:
                    continue
                known = self.congruence(a)
                if known.modulus % m == 0:
                    quotient = mul(const(coef // m), sub(a, const(known.remainder % m)))
                    return self.simplify(sub(e, sub(mul(const(coef), expr_of(mono[0])), quotient)))
        return e

    def congruence(self, e: Expr) -> Congruence:
        """A congruence that all values of the expression meet."""
        total = Congruence(0, 0)
        for mono, coef in e.terms:
            part = Congruence(0, coef)
            for factor in mono:
                known = self._congruences.get(factor, ANY) if isinstance(factor, Symbol) else ANY
                part = part.times(known)
            total = total + part
        return total

    def decide(self, relation: Relation) -> Truth:
        """Whether the relation holds in every run that meets the facts, in none, or is not settled here."""
        if relation is TRUE:
            return YES
        if relation is FALSE:
            return NO
        if relation.op == "and":
            return _all(self.decide(part) for part in relation.parts)
        if relation.op == "or":
            return YES if relation in self.relations else ~_all(~self.decide(part) for part in relation.parts)
        if relation in self.relations:
            return YES
        if negation(relation) in self.relations:
            return NO
        if relation.op in ("symbol", "not", "open") or not self.relations:
            return UNKNOWN
        return self._decide_comparison(relation)

    def _decide_comparison(self, relation: Relation) -> Truth:
        e = self.simplify(relation.expr)
        if not isinstance(e, Expr):
            return UNKNOWN
        if relation.op == ">=":
            return YES if self._shown(e) else NO if self._shown(-e - 1) else self._by_cases(relation, e)
        equal = self._equal_zero(e)
        if equal is UNKNOWN:
            return self._by_cases(relation, e)
        return equal if relation.op == "==" else ~equal

    def _equal_zero(self, e: Expr) -> Truth:
        if e.const is not None:
            return Truth.of(e.const == 0)
        if self._shown(e - 1) or self._shown(-e - 1) or 0 not in self.congruence(e):
            return NO
        return YES if self._shown(e) and self._shown(-e) else UNKNOWN

    def _shown(self, e: Dim) -> bool:
        return nonneg(e) or any(nonneg(sub(e, premise)) for premise in self._premises)

    def _by_cases(self, relation: Relation, e: Expr) -> Truth:
        """Enumerate the finite set of the one symbol that occurs."""
        if len(e.symbols) != 1:
            return UNKNOWN
        (symbol,) = e.symbols
        values = self._sets.get(symbol)
        if values is None:
            return UNKNOWN
        cases = list(islice(sorted(values), _MAX_CASES + 1))
        if len(cases) > _MAX_CASES:
            return UNKNOWN
        truths = {relation.substitute({symbol: const(v)}) for v in cases}
        return YES if truths == {TRUE} else NO if truths == {FALSE} else UNKNOWN

    def __repr__(self) -> str:
        return f"Facts({', '.join(map(str, self.relations))})"


def solve(e: Expr) -> tuple[Symbol, Dim] | None:
    """e == 0 as symbol == term, where a symbol occurs once, linearly and with coefficient 1 or -1.

    The symbol that stands last in the order of keys is solved, so the earlier (input) names survive. A solution that could
    leave the bounds of the symbol is not one.
    """
    for mono, coef in sorted(e.terms, key=lambda term: [a.key for a in term[0]], reverse=True):
        if len(mono) != 1 or coef not in (1, -1) or not isinstance(symbol := mono[0], Symbol):
            continue
        value = mul(const(-coef), sub(e, mul(const(coef), expr_of(symbol))))
        if isinstance(value, Expr) and symbol not in value.symbols and _within(value, symbol.bounds):
            return symbol, value
    return None


def _within(value: Expr, bounds: Interval) -> bool:
    """The value respects the lower bound; the upper one is the premise that all dims share."""
    return bounds.lo is None or nonneg(sub(value, const(bounds.lo)))


def _congruence_of(e: Expr) -> tuple[Symbol, Congruence] | None:
    """s - m*(s // m) - r == 0 (that is, s % m == r) as a congruence of s; sums over one symbol only."""
    for mono, coef in e.terms:
        if len(mono) == 1 and mono[0].op == "floordiv":
            a, b = cast(tuple[Expr, Expr], mono[0].args)
            rest = sub(e, mul(const(coef), expr_of(mono[0])))
            if b.const is None or not isinstance(rest, Expr):
                continue
            # e = coef*(a//b) + rest == 0, so rest is a multiple of coef.
            if any(m and (len(m) != 1 or not isinstance(m[0], Symbol)) for m, _ in rest.terms):
                continue
            linear = [(m[0], c) for m, c in rest.terms if m]
            if len(linear) != 1:
                continue
            symbol, factor = cast(Symbol, linear[0][0]), linear[0][1]
            modulus = abs(coef)
            if gcd(factor, modulus) != 1 or modulus < 2:
                continue
            constant = sum(c for m, c in rest.terms if not m)
            return symbol, Congruence.of(modulus, -constant * pow(factor, -1, modulus))
    return None


def _flat(relations: Iterable[Relation]) -> Iterator[Relation]:
    for relation in relations:
        if relation.op == "and":
            yield from relation.parts
        elif relation is not TRUE:
            yield relation


def _all(truths: Iterable[Truth]) -> Truth:
    result = YES
    for truth in truths:
        result = result & truth
    return result


def _replace(dim: Dim, mapping: dict[Symbol, Dim]) -> Dim:
    return substitute(dim, mapping) if isinstance(dim, Expr) else dim


NO_FACTS: Final = Facts()
