"""Relations over integer expressions: what an operator requires, what a condition says.

A comparison is kept as one expression against 0, in normal form (content divided out, sign fixed for equalities), so
that `a + 1 <= b` and `a < b` are one object. Negation stays within the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from math import gcd
from typing import Final, NamedTuple, cast

from lattices import expr as ex
from lattices.expr import Atom, Binding, Dim, Expr, Symbol, add, as_dim, const, mul, sub
from lattices.intern import InternTable, remembered
from lattices.interval import Interval
from lattices.normal import common_factor, exact_quotient
from lattices.ranges import Range, redundant, without
from lattices.rewriting import states
from lattices.sign import nonneg
from lattices.truth import NO, UNKNOWN, YES, Truth


class Line(NamedTuple):
    """A comparison as a set of values of one term that has no constant part and a positive leading coefficient."""

    term: Expr
    range: Range


class Relation(ex.Interned):
    """A formula over integer expressions; `~ & |` build others."""

    __slots__ = ("__dict__", "__weakref__", "args", "key", "op", "size")

    op: str
    """`==`, `!=`, `>=` (one expression against 0), `and`, `or`, `symbol`, `not` (of one), `true`, `false`, `open`."""
    args: tuple[Expr | Relation | str, ...]
    key: str
    size: int

    def __and__(self, other: Relation) -> Relation:
        return conjunction(self, other)

    def __or__(self, other: Relation) -> Relation:
        return disjunction(self, other)

    def __invert__(self) -> Relation:
        return negation(self)

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self} is open: ask decide()")

    def __str__(self) -> str:
        from lattices.text import format_relation

        return format_relation(self)

    def __repr__(self) -> str:
        return f"Relation({str(self)!r})"

    @property
    def expr(self) -> Expr:
        """The expression that a comparison holds against 0."""
        return cast(Expr, self.args[0])

    @property
    def parts(self) -> tuple[Relation, ...]:
        """The operands of `and`, `or` and `not`."""
        return cast("tuple[Relation, ...]", self.args)

    def comparisons(self) -> Iterator[Relation]:
        """The comparisons and boolean symbols it is built from, each once."""
        return (r for r in self.subformulas() if r.op in ("==", "!=", ">=", "symbol"))

    def subformulas(self) -> list[Relation]:
        """Every formula it is built from, operands first, each once, itself last; iterative, so depth is no limit."""
        done: dict[Relation, None] = {}
        stack = [(self, False)]
        while stack:
            relation, expanded = stack.pop()
            if relation in done:
                continue
            operands = relation.parts if relation.op in ("and", "or", "not") else ()
            if expanded or not operands:
                done[relation] = None
            else:
                stack.append((relation, True))
                stack.extend((part, False) for part in reversed(operands) if part not in done)
        return list(done)

    def atoms(self) -> Iterator[Atom]:
        for relation in self.comparisons():
            if relation.op != "symbol":
                yield from relation.expr.atoms()

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The integer symbols that occur."""
        return frozenset(a for a in ex.postorder(self.atoms()) if isinstance(a, Symbol))

    @cached_property
    def booleans(self) -> frozenset[str]:
        """The names of the boolean symbols that occur, in conditions of sub-expressions too."""
        return self.own_booleans | ex.boolean_names(ex.postorder(self.atoms()))

    @cached_property
    def own_booleans(self) -> frozenset[str]:
        """The names of the boolean symbols that the formula is built from."""
        return frozenset(cast(str, r.args[0]) for r in self.comparisons() if r.op == "symbol")

    @cached_property
    def negated(self) -> Relation:
        """The relation that holds exactly where this one does not."""
        result = _negated(self)
        result.__dict__.setdefault("negated", self)
        return result

    @cached_property
    def line(self) -> Line | None:
        """The values that its term may have; None for what is no comparison."""
        if self.op not in ("==", "!=", ">="):
            return None
        constant = sum(coef for mono, coef in self.expr.terms if not mono)
        term = sub(self.expr, const(constant))
        if not isinstance(term, Expr) or term.const is not None:
            return None
        if self.op == "==":
            return Line(term, (Interval(-constant, -constant),))
        if self.op == "!=":
            return Line(term, without(-constant))
        if _leads_negative(term):
            return Line(cast(Expr, -term), (Interval(None, constant),))
        return Line(term, (Interval(-constant, None),))

    @property
    def free_symbols(self) -> frozenset[str]:
        return frozenset(s.name for s in self.symbols) | self.booleans

    def evaluate(self, binding: Binding) -> bool:
        """The truth under a binding of all free symbols (0 or 1 for a boolean one)."""
        return self.truth(ex.values_of(self, binding))

    def truth(self, values: ex.Values) -> bool:
        """The truth once every atom and boolean symbol has a value.

        A part that divides by zero has no truth; the whole has one if the other parts settle it. Raises UndefinedError
        if they do not.
        """
        truths: dict[Relation, bool | None] = {}
        for r in self.subformulas():
            if r.op == "symbol":
                truths[r] = bool(values[cast(str, r.args[0])])
            elif r.op in ("true", "false"):
                truths[r] = r.op == "true"
            elif r.op == "open":
                raise ValueError("a relation over an unknown dim has no truth")
            elif r.op == "not":
                inner = truths[r.parts[0]]
                truths[r] = None if inner is None else not inner
            elif r.op in ("and", "or"):
                parts = [truths[part] for part in r.parts]
                settled = r.op == "or"
                truths[r] = settled if settled in parts else None if None in parts else not settled
            else:
                truths[r] = _comparison_truth(r, values)
        result = truths[self]
        if result is None:
            raise ex.UndefinedError("division by zero")
        return result

    def __reduce__(self) -> tuple[Callable[..., Relation], tuple[object, ...]]:
        return _relation, (self.op, *self.args)

    def rebuild(self, values: Mapping[Atom, Dim]) -> Relation:
        """The relation with each atom replaced by its value."""
        return _map_exprs(self, lambda e: ex.rebuild(e, values))

    def substitute(self, mapping: Mapping[Symbol, Dim]) -> Relation:
        """Replace symbols and renormalise."""
        return self.map(ex.Substitution(mapping))

    def map(self, change: Callable[[Expr], Dim]) -> Relation:
        """The relation with each expression that is compared with 0 changed."""
        return _map_exprs(self, change)


def _comparison_truth(r: Relation, values: ex.Values) -> bool | None:
    try:
        value = ex.expr_value(values, r.expr)
    except ex.UndefinedError:
        return None
    return value == 0 if r.op == "==" else value != 0 if r.op == "!=" else value >= 0


_RELATIONS: InternTable[Relation] = InternTable()


def _relation(op: str, *args: Expr | Relation | str) -> Relation:
    def build() -> Relation:
        self = object.__new__(Relation)
        self.op, self.args = op, args
        self.key = ex.short_key(f"{op}({','.join(repr(arg) if isinstance(arg, str) else arg.key for arg in args)})", op)
        self.size = 1 + sum(1 if isinstance(arg, str) else arg.size for arg in args)
        return self

    key = (op, args)
    found = _RELATIONS.get(key)
    return found if found is not None else _RELATIONS.add(key, build)


TRUE: Final = _relation("true")
FALSE: Final = _relation("false")
OPEN: Final = _relation("open")
"""A relation over an unknown dim, or with more terms than the budget allows: it has no form, so it is never decided
and can only be forgotten."""


def boolean(name: str) -> Relation:
    """A named condition of which nothing is known: the value of some boolean data."""
    return eq(ex.expr_of(Symbol(name, 0, 1)), 1)


def _comparison(op: str, difference: Dim) -> Relation:
    if not isinstance(difference, Expr) or len(difference.terms) >= ex.MAX_TERMS:  # its negation may have a term more
        return OPEN
    return _canonical(op, difference)


@lru_cache(maxsize=1 << 14)
@states("a // m + c >= 0 -> a + c * m >= 0", when="m >= 1")
@states("c - a // m >= 0 -> c * m + m - 1 - a >= 0", when="m >= 1")
@states("g * y + c >= 0 -> y + c // g >= 0", when="g >= 1")
@states("g * y + c == 0 -> False", when="g >= 1 and c % g != 0")
@states("g * y + g * c == 0 -> y + c == 0", when="g != 0")
@states("a >= 0 -> a == 0", when="a <= 0")
@states("a != 0 -> a >= 1", when="a >= 0")
@states("g * y == 0 -> g == 0 or y == 0")
@states("a * b - 1 >= 0 -> a >= 1 and b >= 1", when="a >= 0 and b >= 0")
@states("-(a * b) >= 0 -> a <= 0 or b <= 0", when="a >= 0 and b >= 0")
@states("min(a, b) - a == 0 -> b - a >= 0")
@states("max(a, b) - a == 0 -> a - b >= 0")
@states("min(a, b) + c == 0 -> a + c == 0", when="b + c >= 1")
@states("max(a, b) + c == 0 -> a + c == 0", when="b + c <= -1")
@states("min(a, b) + c >= 0 -> a + c >= 0 and b + c >= 0")
@states("c - max(a, b) >= 0 -> c - a >= 0 and c - b >= 0")
@states("max(a, b) + c >= 0 -> a + c >= 0 or b + c >= 0")
@states("c - min(a, b) >= 0 -> c - a >= 0 or c - b >= 0")
@states("a // m == 0 -> m - 1 - a >= 0", when="m >= 1 and a >= 0")
@states("ite(a >= 0, b, c) + x >= 0 -> a >= 0 or c + x >= 0", when="b + x >= 0")
@states("ite(a >= 0, b, c) + x >= 0 -> a < 0 and c + x >= 0", when="b + x < 0")
@states("ite(a >= 0, b, c) + x == 0 -> a >= 0 or c + x == 0", when="b + x == 0")
@states("ite(a >= 0, b, c) + x == 0 -> a < 0 and c + x == 0", when="b + x != 0")
@states("ite(a == 0, b, a) - a == 0 -> a != 0", when="b != 0")
def _canonical(op: str, e: Expr) -> Relation:
    if e.const is not None:
        holds = e.const == 0 if op == "==" else e.const != 0 if op == "!=" else e.const >= 0
        return TRUE if holds else FALSE
    constant = sum(coef for mono, coef in e.terms if not mono)
    content = gcd(*(coef for mono, coef in e.terms if mono))
    if op == ">=":
        if content > 1:
            e = cast(Expr, ex._make({m: (c // content) for m, c in e.terms}))
        if (unrolled := _without_quotient(e)) is not None:
            return _canonical(op, unrolled)
        if nonneg(e):
            return TRUE
        if nonneg(-e - 1):
            return FALSE
        if nonneg(-e):
            return _canonical("==", e)
        for at_least_zero in (_bounded_extreme, _split_product, _chosen_bound):
            bounded = at_least_zero(e)
            if bounded is not None:
                return bounded
        return _relation(op, e)
    if constant % content:
        return FALSE if op == "==" else TRUE
    lead = next(coef for mono, coef in e.ordered if mono)
    scale = content if lead > 0 else -content
    if scale != 1:
        e = cast(Expr, ex._make({m: c // scale for m, c in e.terms}))
    if nonneg(e - 1) or nonneg(-e - 1):
        return FALSE if op == "==" else TRUE
    if op == "!=" and (nonneg(e) or nonneg(-e)):
        return _canonical(">=", cast(Expr, e - 1 if nonneg(e) else -e - 1))
    for equal_zero in (_met_extreme, _empty_quotient, _zero_product, _whole_quotient, _whole_factors, _chosen_zero):
        met = equal_zero(e)
        if met is not None:
            return met if op == "==" else negation(met)
    return _relation(op, e)


def _split_product(e: Expr) -> Relation | None:
    """e >= 0 as a claim about factors, if it says that a product of natural numbers is positive, or is not."""
    found = _positive_product(e)
    if found is not None:
        return found
    opposite = _positive_product(cast(Expr, -e - 1))
    return None if opposite is None else negation(opposite)


def _zero_product(e: Expr) -> Relation | None:
    """Where e == 0 holds, if some factor divides all of it: where a factor is 0."""
    factor = common_factor(e)
    if factor.const is not None or (len(e.terms) == 1 and len(e.terms[0][0]) == 1):
        return None
    rest = cast(Expr, exact_quotient(e, factor))
    return disjunction(*(_comparison("==", part) for part in (*map(ex.expr_of, factor.terms[0][0]), rest)))


def _empty_quotient(e: Expr) -> Relation | None:
    """Where e == 0 holds, if e is a natural number divided by a constant: where that is small."""
    unrolled = _without_quotient(cast(Expr, -e)) if nonneg(e) else None
    return None if unrolled is None else _canonical(">=", unrolled)


@states("a - g * m * (b // m) == 0 -> b % m == 0 and a == g * b", when="g >= 1 and m >= 1 and a >= g * b")
def _whole_quotient(e: Expr) -> Relation | None:
    """Where e == 0 holds, if e is a multiple of a quotient, taken from something that is large enough.

    `N*H == 32*(N*(H//4)//8)` says that nothing is lost in either division.
    """
    for mono, coef in e.ordered:
        node = mono[0] if len(mono) == 1 else None
        if node is None or node.op != "floordiv":
            continue
        b, m = cast(tuple[Expr, Expr], node.args)
        if m.const is None or m.const < 1 or coef % m.const or any(atom.op in ("max", "min") for atom in b.atoms()):
            continue  # an extreme in b would be settled by what follows from it, without end
        if coef > 0:
            e, coef = cast(Expr, -e), -coef
        a = add(e, mul(const(-coef), ex.expr_of(node)))
        least = mul(const(-coef // m.const), b)
        lost = sub(a, least)
        if isinstance(lost, Expr) and lost is not ex.ZERO_EXPR and _is_natural_product(lost):
            return conjunction(divisible(b, m), eq(lost, 0))
    return None


def _is_natural_product(e: Expr) -> bool:
    factor = common_factor(e)
    rest = exact_quotient(e, factor)
    return all(nonneg(ex.expr_of(atom)) for atom in factor.atoms()) and rest is not None and nonneg(rest)


@states(
    "a * c - g * (a // g) * (k * (c // k)) == 0 -> a == 0 or c == 0 or (a == g * (a // g) and c == k * (c // k))",
    when="g >= 1 and k >= 1 and a >= 0 and c >= 0",
)
def _whole_factors(e: Expr) -> Relation | None:
    """Where e == 0 holds, if e is H*W - 7*(H//7)*5*(W//5): nothing is lost in any division, or there is nothing."""
    if len(e.terms) != 2:
        return None
    (whole, one), (cut, scale) = sorted(e.terms, key=lambda term: abs(term[1]))
    if one < 0:
        one, scale = -one, -scale
    if one != 1 or scale > -2 or len(whole) < 2 or len(whole) != len(cut):
        return None
    left = list(whole)
    divisors = 1
    pairs: list[tuple[Expr, Expr]] = []
    for quotient in cut:
        found = next(((a, m) for a in left if (m := _divided(a, quotient)) is not None and nonneg(ex.expr_of(a))), None)
        if found is None:
            return None
        a, m = found
        left.remove(a)
        divisors *= m
        pairs.append((ex.expr_of(a), cast(Expr, m * ex.expr_of(quotient))))
    if divisors != -scale:
        return None
    return disjunction(*(eq(a, 0) for a, _ in pairs), conjunction(*(eq(a, cut_off) for a, cut_off in pairs)))


def _divided(a: Atom, quotient: Atom) -> int | None:
    """m where the quotient is a // m for a constant m >= 2."""
    if quotient.op != "floordiv":
        return None
    over, divisor = cast(tuple[Expr, Expr], quotient.args)
    if divisor.const is None or divisor.const < 2:
        return None
    if over is ex.expr_of(a):
        return divisor.const
    if a.op == "floordiv" and a.args[0] is over:
        inner = cast(Expr, a.args[1]).const
        if inner is not None and inner >= 1 and divisor.const % inner == 0 and divisor.const > inner:
            return divisor.const // inner
    return None


def _positive_product(e: Expr) -> Relation | None:
    """Where a*b - 1 >= 0 holds for natural a and b: where both are at least 1."""
    product = add(e, const(1))
    if not isinstance(product, Expr) or () in dict(product.terms) or not nonneg(product):
        return None
    factor = common_factor(product)
    if factor.const is not None or (len(product.terms) == 1 and len(product.terms[0][0]) == 1):
        return None
    rest = exact_quotient(product, factor)
    factors = [ex.expr_of(atom) for atom in factor.terms[0][0]]
    if not isinstance(rest, Expr) or not all(map(nonneg, (*factors, rest))):
        return None
    return conjunction(*(ge(part, 1) for part in (*factors, rest)))


def _extreme_and_rest(e: Expr) -> tuple[str, tuple[Expr, Expr], Expr] | None:
    """e as +-(an extreme of two) + rest, as the extreme's operation, its operands and +-rest, the extreme positive."""
    for mono, coef in e.terms:
        if len(mono) == 1 and mono[0].op in ("max", "min") and len(mono[0].args) == 2 and coef in (1, -1):
            rest = sub(e, mul(const(coef), ex.expr_of(mono[0])))
            if isinstance(rest, Expr) and len(rest.terms) <= _SHORT:
                return mono[0].op, cast(tuple[Expr, Expr], mono[0].args), cast(Expr, rest if coef > 0 else -rest)
    return None


_SHORT: Final = 4


def _met_extreme(e: Expr) -> Relation | None:
    """What e == 0 says, if e is an extreme of two against one of them, or against what one of them cannot be."""
    found = _extreme_and_rest(e)
    if found is None:
        return None
    op, operands, rest = found
    for a, b in (operands, operands[::-1]):
        plus, other = sub(a, -rest), sub(b, -rest)
        if not (isinstance(plus, Expr) and isinstance(other, Expr)):
            continue
        if plus is ex.ZERO_EXPR:
            return ge(b, a) if op == "min" else ge(a, b)
        if nonneg(other - 1) if op == "min" else nonneg(-other - 1):
            return _comparison("==", plus)
    return None


def _bounded_extreme(e: Expr) -> Relation | None:
    """What e >= 0 says of the operands, if e is an extreme plus or minus something."""
    for mono, coef in e.ordered:
        node = mono[0] if len(mono) == 1 else None
        if node is not None and node.op in ("max", "min") and abs(coef) == 1 and node.size <= _SMALL:
            rest = sub(e, mul(const(coef), ex.expr_of(node)))
            parts = [_comparison(">=", add(rest, mul(const(coef), cast(Expr, x)))) for x in node.args]
            return conjunction(*parts) if (node.op == "min") == (coef > 0) else disjunction(*parts)
    return None


_SMALL: Final = 64


def _chosen_zero(e: Expr) -> Relation | None:
    """What e == 0 says, if it settles a choice in e."""
    return _settled_choice("==", e)


def _chosen_bound(e: Expr) -> Relation | None:
    """What e >= 0 says, if it settles a choice in e."""
    return _settled_choice(">=", e)


def _settled_choice(op: str, e: Expr) -> Relation | None:
    """The comparison where one side of a choice in e always meets it, or never does: `N == ite(N == 0, 2, N)` is
    `N != 0`."""
    if e.size > _SMALL or len(e.terms) > _SHORT:
        return None
    conditions = dict.fromkeys(cast(Relation, a.args[0]) for mono, _ in e.ordered for a in mono if a.op == "ite")
    for condition in conditions:
        otherwise = negation(condition)
        here = _where(condition, _comparison(op, _with_side(e, condition, 1)))
        there = _where(otherwise, _comparison(op, _with_side(e, condition, 2)))
        if here in (TRUE, FALSE):
            return disjunction(condition, there) if here is TRUE else conjunction(otherwise, there)
        if there in (TRUE, FALSE):
            return disjunction(otherwise, here) if there is TRUE else conjunction(condition, here)
    return None


def _where(condition: Relation, relation: Relation) -> Relation:
    """The relation, or its truth if the condition alone settles it."""
    if conjunction(condition, relation) is FALSE:
        return FALSE
    return TRUE if disjunction(negation(condition), relation) is TRUE else relation


def _with_side(e: Expr, condition: Relation, side: int) -> Dim:
    """The expression with this operand of each choice of the condition, wherever it occurs.

    Were one left inside a quotient, what the quotient says could bring back the relation that is being settled.
    """
    values: dict[Atom, Dim] = {}
    for node in ex.postorder(e.atoms()):
        if node.op == "ite" and node.args[0] is condition:
            values[node] = cast(Expr, node.args[side]).rebuild(values)
        else:
            values[node] = ex.rebuilt(node, values)
    return ex.rebuild(e, values)


def _without_quotient(e: Expr) -> Expr | None:
    """What holds against 0 where e does, if e is a constant and a quotient by one."""
    (mono, coef), *others = e.ordered
    if len(mono) != 1 or mono[0].op != "floordiv" or coef not in (1, -1) or any(m for m, _ in others):
        return None
    a, m = cast(tuple[Expr, Expr], mono[0].args)
    if m.const is None or m.const < 1:
        return None
    bound = sum(c for _, c in others) * m.const
    unrolled = a + bound if coef > 0 else bound + m.const - 1 - a
    return unrolled if isinstance(unrolled, Expr) else None


@remembered
def eq(a: Dim | int, b: Dim | int) -> Relation:
    """a == b. OPEN if either is unknown."""
    return _comparison("==", sub(as_dim(a), as_dim(b)))


@remembered
def ne(a: Dim | int, b: Dim | int) -> Relation:
    """a != b."""
    return _comparison("!=", sub(as_dim(a), as_dim(b)))


@remembered
def ge(a: Dim | int, b: Dim | int) -> Relation:
    """a >= b."""
    return _comparison(">=", sub(as_dim(a), as_dim(b)))


def le(a: Dim | int, b: Dim | int) -> Relation:
    """a <= b."""
    return ge(b, a)


@remembered
def gt(a: Dim | int, b: Dim | int) -> Relation:
    """a > b."""
    return _comparison(">=", sub(sub(as_dim(a), as_dim(b)), const(1)))


def lt(a: Dim | int, b: Dim | int) -> Relation:
    """a < b."""
    return gt(b, a)


def one_of(a: Dim | int, values: tuple[int, ...]) -> Relation:
    """a is one of the values."""
    return disjunction(*(eq(a, value) for value in values))


@remembered
def divisible(a: Dim | int, by: Dim | int) -> Relation:
    """a is a multiple of `by` (which is not 0)."""
    return eq(as_dim(a) % by, 0)


def negation(relation: Relation) -> Relation:
    """The relation that holds exactly where this one does not."""
    return relation.negated


@states("not (a >= 0) -> -a - 1 >= 0")
@states("not (a == 0) -> a != 0")
@states("not (a >= 0 and b >= 0) -> not (a >= 0) or not (b >= 0)")
@states("not (a >= 0 or b >= 0) -> not (a >= 0) and not (b >= 0)")
def _negated(relation: Relation) -> Relation:
    if relation.op == ">=":
        return _canonical(">=", cast(Expr, -relation.expr - 1))
    if relation.op in ("and", "or"):
        parts = [negation(part) for part in relation.parts]
        return disjunction(*parts) if relation.op == "and" else conjunction(*parts)
    if relation.op == "symbol":
        return _relation("not", relation)
    if relation.op == "not":
        return cast(Relation, relation.args[0])
    if relation.op in ("true", "false", "open"):
        return FALSE if relation is TRUE else TRUE if relation is FALSE else OPEN
    return _canonical("!=" if relation.op == "==" else "==", relation.expr)


def conjunction(*relations: Relation) -> Relation:
    """All of them hold."""
    if len(relations) == 1:
        return relations[0]
    return _connect("and", TRUE, FALSE, relations)


def disjunction(*relations: Relation) -> Relation:
    """At least one of them holds."""
    if len(relations) == 1:
        return relations[0]
    return _connect("or", FALSE, TRUE, relations)


def implies(premise: Relation, conclusion: Relation) -> Relation:
    """The conclusion holds wherever the premise does."""
    return disjunction(negation(premise), conclusion)


@remembered
def _connect(op: str, neutral: Relation, absorbing: Relation, relations: tuple[Relation, ...]) -> Relation:
    parts: dict[Relation, None] = {}
    for relation in relations:
        for part in relation.parts if relation.op == op else (relation,):
            if part is absorbing or (part is not OPEN and part.negated in parts):
                return absorbing
            if part is not neutral:
                parts[part] = None
    if OPEN in parts:
        return OPEN
    if len(parts) > 1:
        dropped, settled = redundant(op, tuple(parts))
        if settled is not None:
            return TRUE if settled else FALSE
        if dropped:
            return _connect(op, neutral, absorbing, tuple(part for part in parts if part not in dropped))
    if len(parts) <= 1:
        return next(iter(parts), neutral)
    return _relation(op, *sorted(parts, key=lambda part: part.key))


def _map_exprs(relation: Relation, change: Callable[[Expr], Dim]) -> Relation:
    mapped: dict[Relation, Relation] = {}
    for r in relation.subformulas():
        if r.op in ("==", "!=", ">="):
            mapped[r] = _comparison(r.op, change(r.expr))
        elif r.op in ("and", "or"):
            parts = [mapped[part] for part in r.parts]
            mapped[r] = conjunction(*parts) if r.op == "and" else disjunction(*parts)
        else:
            mapped[r] = r
    return mapped[relation]


def known(relation: Relation) -> Truth:
    """Whether the relation has been reduced to a truth value by normal form alone."""
    return YES if relation is TRUE else NO if relation is FALSE else UNKNOWN


@remembered
def broadcastable(a: Dim | int, b: Dim | int) -> Relation:
    """What numpy broadcasting of two dims requires: equal, or one of them 1."""
    return disjunction(eq(a, b), eq(a, 1), eq(b, 1))


def ite(condition: Relation, a: Dim | int, b: Dim | int) -> Dim:
    """a where the condition holds, else b."""
    return _ite(condition, as_dim(a), as_dim(b))


@lru_cache(maxsize=1 << 12)
@states("ite(a >= 0, b, b) -> b")
@states("ite(a == b, a, b) -> b")
@states("ite(a != 0, b, c) -> ite(a == 0, c, b)")
@states("ite(a >= 0, b, c) -> ite(-a - 1 >= 0, c, b)")
def _ite(condition: Relation, a: Dim, b: Dim) -> Dim:
    if condition is TRUE or (a is b and isinstance(a, Expr)):
        return a
    if condition is FALSE:
        return b
    if condition is OPEN or not (isinstance(a, Expr) and isinstance(b, Expr)):
        return ex.Unknown(a.bounds.join(b.bounds), a.congruence.join(b.congruence))
    if condition.op in ("!=", "not") or (condition.op == ">=" and _leads_negative(condition.expr)):
        condition, a, b = negation(condition), b, a
    if condition.op == "==" and sub(a, b) in (condition.expr, -condition.expr):
        return b  # ite(a == b, a, b)
    return ex.expr_of(ex.atom("ite", (condition, a, b), a.bounds.join(b.bounds)))


def _leads_negative(e: Expr) -> bool:
    return e.ordered[0][1] < 0


def _value_ite(values: ex.Values, args: tuple[object, ...]) -> int:
    condition, a, b = cast(tuple[Relation, Expr, Expr], args)
    return (a if condition.truth(values) else b).value(values)


ex.EVALUATE["ite"] = _value_ite
ex.REBUILD["ite"] = ite

__all__ = [
    "FALSE", "OPEN", "TRUE", "Relation", "boolean", "broadcastable", "conjunction", "disjunction", "divisible",
    "eq", "ge", "gt", "implies", "ite", "known", "le", "lt", "ne", "negation", "one_of",
]  # fmt: skip
