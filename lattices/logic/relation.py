"""Relations over integer expressions: what an operator requires, what a condition says.

A comparison is kept as one expression against 0, in normal form (content divided out, sign fixed for equalities), so
that `a + 1 <= b` and `a < b` are one object. Negation stays within the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple, cast

from absint.lattices.logic.ranges import Range, redundant, without
from absint.lattices.logic.truth import NO, UNKNOWN, YES, Truth
from absint.lattices.terms import expr as ex
from absint.lattices.terms.expr import Atom, Binding, Dim, Expr, Symbol, as_dim, const, sub
from absint.lattices.terms.intern import InternTable, remembered
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.rewriting import states


class Line(NamedTuple):
    """A comparison as a set of values of one term that has no constant part and a positive leading coefficient."""

    term: Expr
    range: Range


class Relation(ex.Interned):
    """A formula over integer expressions; `~ & |` build others."""

    __slots__ = ("__dict__", "__weakref__", "args", "key", "op", "size")

    op: str
    """`==`, `!=`, `>=` (of an expression and 0), `and`, `or`, `true`, `false`, `unknown`."""
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
        from absint.lattices.text import format_relation

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
            elif r.op == "unknown":
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
        return relation_of, (self.op, *self.args)

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


def relation_of(op: str, *args: Expr | Relation | str) -> Relation:
    """The one relation of this operation and operands, which the caller has brought to normal form."""

    def build() -> Relation:
        self = object.__new__(Relation)
        self.op, self.args = op, args
        self.key = ex.short_key(f"{op}({','.join(repr(arg) if isinstance(arg, str) else arg.key for arg in args)})", op)
        self.size = 1 + sum(1 if isinstance(arg, str) else arg.size for arg in args)
        return self

    key = (op, args)
    found = _RELATIONS.get(key)
    return found if found is not None else _RELATIONS.add(key, build)


TRUE: Final = relation_of("true")
FALSE: Final = relation_of("false")
UNKNOWN_RELATION: Final = relation_of("unknown")
"""A relation over an unknown dim, or with more terms than the budget allows: it has no form, so it is never decided
and can only be forgotten."""


def boolean(name: str) -> Relation:
    """A named condition of which nothing is known: the value of some boolean data."""
    return eq(ex.expr_of(Symbol(name, 0, 1)), 1)


def comparison(op: str, difference: Dim) -> Relation:
    """How a difference compares with 0. UNKNOWN_RELATION if it is unknown."""
    if not isinstance(difference, Expr) or len(difference.terms) >= ex.MAX_TERMS:  # its negation may have a term more
        return UNKNOWN_RELATION
    return comparisons.canonical(op, difference)


@remembered
def eq(a: Dim | int, b: Dim | int) -> Relation:
    """a == b. UNKNOWN_RELATION if either is unknown."""
    return comparison("==", sub(as_dim(a), as_dim(b)))


@remembered
def ne(a: Dim | int, b: Dim | int) -> Relation:
    """a != b."""
    return comparison("!=", sub(as_dim(a), as_dim(b)))


@remembered
def ge(a: Dim | int, b: Dim | int) -> Relation:
    """a >= b."""
    return comparison(">=", sub(as_dim(a), as_dim(b)))


def le(a: Dim | int, b: Dim | int) -> Relation:
    """a <= b."""
    return ge(b, a)


@remembered
def gt(a: Dim | int, b: Dim | int) -> Relation:
    """a > b."""
    return comparison(">=", sub(sub(as_dim(a), as_dim(b)), const(1)))


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
        return comparisons.canonical(">=", cast(Expr, -relation.expr - 1))
    if relation.op in ("and", "or"):
        parts = [negation(part) for part in relation.parts]
        return disjunction(*parts) if relation.op == "and" else conjunction(*parts)
    if relation.op == "symbol":
        return relation_of("not", relation)
    if relation.op == "not":
        return cast(Relation, relation.args[0])
    if relation.op in ("true", "false", "unknown"):
        return FALSE if relation is TRUE else TRUE if relation is FALSE else UNKNOWN_RELATION
    return comparisons.canonical("!=" if relation.op == "==" else "==", relation.expr)


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
            if part is absorbing or (part is not UNKNOWN_RELATION and part.negated in parts):
                return absorbing
            if part is not neutral:
                parts[part] = None
    if UNKNOWN_RELATION in parts:
        return UNKNOWN_RELATION
    if len(parts) > 1:
        dropped, settled = redundant(op, tuple(parts))
        if settled is not None:
            return TRUE if settled else FALSE
        if dropped:
            return _connect(op, neutral, absorbing, tuple(part for part in parts if part not in dropped))
    if len(parts) <= 1:
        return next(iter(parts), neutral)
    return relation_of(op, *sorted(parts, key=lambda part: part.key))


def _map_exprs(relation: Relation, change: Callable[[Expr], Dim]) -> Relation:
    mapped: dict[Relation, Relation] = {}
    for r in relation.subformulas():
        if r.op in ("==", "!=", ">="):
            mapped[r] = comparison(r.op, change(r.expr))
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
    if condition is UNKNOWN_RELATION or not (isinstance(a, Expr) and isinstance(b, Expr)):
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


from absint.lattices.logic import comparisons  # noqa: E402  (its rewrites need the constructors above)

ex.EVALUATE["ite"] = _value_ite
ex.REBUILD["ite"] = ite

__all__ = [
    "FALSE",
    "TRUE",
    "UNKNOWN_RELATION",
    "Relation",
    "boolean",
    "broadcastable",
    "conjunction",
    "disjunction",
    "divisible",
    "eq",
    "ge",
    "gt",
    "implies",
    "ite",
    "known",
    "le",
    "lt",
    "ne",
    "negation",
    "one_of",
]  # fmt: skip
