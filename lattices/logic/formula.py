"""Relations over integer expressions, as data: a comparison of one expression with 0, or `and`, `or` over relations.
At sizes a relation has a `Truth`, one of three.

Relations are interned and in normal form: connectives are flat, sorted and without redundant operands.
`absint.lattices.logic.relation` has the other constructors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property
from itertools import chain
from typing import Final, Literal, Protocol, cast

from absint.lattices.limits import on_time
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import Atom, Symbol, Values, operands_first, short_key
from absint.lattices.terms.dim import Condition, Dim
from absint.lattices.terms.evaluation import Binding, UndefinedError, values_of
from absint.lattices.terms.expr import Expr, const, sole_atom, sub
from absint.lattices.terms.intern import InternTable, remembered
from absint.lattices.terms.interval import Interval, Range, contains, intersection, union, without
from absint.lattices.terms.normal import Substitution


class Truth(Enum):
    """Kleene's strong three-valued logic. UNKNOWN never stands for NO."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("the truth of a three-valued answer is ambiguous: compare with `is Truth.YES` or `is Truth.NO`")

    def __and__(self, other: Truth) -> Truth:
        if self is Truth.NO or other is Truth.NO:
            return Truth.NO
        return Truth.YES if self is other is Truth.YES else Truth.UNKNOWN

    def __or__(self, other: Truth) -> Truth:
        if self is Truth.YES or other is Truth.YES:
            return Truth.YES
        return Truth.NO if self is other is Truth.NO else Truth.UNKNOWN

    def __invert__(self) -> Truth:
        return {Truth.YES: Truth.NO, Truth.NO: Truth.YES}.get(self, self)

    @staticmethod
    def of(value: bool) -> Truth:
        """YES for true, NO for false."""
        return Truth.YES if value else Truth.NO


YES = Truth.YES
NO = Truth.NO
UNKNOWN = Truth.UNKNOWN


class Algebra(Protocol):
    """The functions behind the methods of a relation, which `absint.lattices.operators` takes from above."""

    def negated(self, relation: Relation, /) -> Relation: ...

    def mapped(self, relation: Relation, change: Callable[[Expr], Dim], /) -> Relation: ...

    def ite(self, condition: Relation, a: Dim, b: Dim, /) -> Dim: ...

    def format_relation(self, relation: Relation, /) -> str: ...


@cache
def _algebra() -> Algebra:
    from absint.lattices import operators

    return operators


ComparisonOp = Literal["==", "!=", ">="]


class Line(NamedTuple):
    """A comparison as a set of values of one term that has no constant part and a positive leading coefficient."""

    term: Expr
    range: Range


class Relation(Condition):
    """A formula over integer expressions; `~ & |` build others."""

    __slots__ = ("__dict__", "__weakref__", "args", "key", "op", "size")

    args: tuple[Expr | Relation, ...]
    key: str
    size: int

    def __and__(self, other: Relation) -> Relation:
        return conjunction(self, other)

    def __or__(self, other: Relation) -> Relation:
        return disjunction(self, other)

    def __invert__(self) -> Relation:
        return self.negated

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self} depends on its symbols: ask decide()")

    def __str__(self) -> str:
        return _algebra().format_relation(self)

    def __repr__(self) -> str:
        return f"Relation({str(self)!r})"

    @property
    def parts(self) -> tuple[Relation, ...]:
        """The operands of `and` and `or`."""
        return cast("tuple[Relation, ...]", self.args)

    def comparisons(self) -> Iterator[Comparison]:
        """The comparisons it is built from, each once."""
        return (r for r in self.subformulas() if isinstance(r, Comparison))

    def subformulas(self) -> list[Relation]:
        """Every formula it is built from, operands first, each once, itself last."""
        return operands_first(self, lambda relation: relation.parts if relation.op in ("and", "or") else ())

    def atoms(self) -> Iterator[Atom]:
        return chain.from_iterable([relation.expr.atoms() for relation in self.comparisons()])

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The integer symbols that occur."""
        if all(isinstance(part, Comparison) or "symbols" in part.__dict__ for part in self.parts):
            return frozenset().union(*[part.symbols for part in self.parts])
        return frozenset().union(*[relation.expr.symbols for relation in self.comparisons()])

    @cached_property
    def negated(self) -> Relation:
        """The relation that holds exactly where this one does not. Negated once more, it may have a plainer form."""
        return _algebra().negated(self)

    @cached_property
    def line(self) -> Line | None:
        """The values that its term may have; None for what is no comparison."""
        return None

    @cached_property
    def free_symbols(self) -> frozenset[str]:
        return frozenset([s.name for s in self.symbols])

    def evaluate(self, binding: Binding) -> bool:
        """The truth under a binding of all free symbols."""
        return self.truth(values_of(self, binding))

    def at(self, binding: Binding) -> Truth:
        """The truth under a binding; UNKNOWN where it has none, where symbols without a size would decide it, and where
        a symbol has a size out of its bounds.
        """
        try:
            return Truth.of(self.truth(values_of(self, binding, partial=True)))
        except (UndefinedError, ValueError):
            return Truth.UNKNOWN

    def value(self, values: Values) -> int:
        return self.truth(values)

    def truth(self, values: Values) -> bool:
        """The truth once every atom has a value.

        A part without a value has no truth; the whole has one if the other parts settle it. Raises UndefinedError if
        they do not.
        """
        truths: dict[Relation, bool | None] = {}
        for r in self.subformulas():
            if r.op in ("true", "false"):
                truths[r] = r.op == "true"
            elif r.op == "unknown":
                raise ValueError("a relation over an unknown dim has no truth")
            elif r.op in ("and", "or"):
                parts = [truths[part] for part in r.parts]
                settled = r.op == "or"
                truths[r] = settled if settled in parts else None if None in parts else not settled
            else:
                try:
                    truths[r] = r.truth(values)
                except UndefinedError:
                    truths[r] = None
        result = truths[self]
        if result is None:
            raise UndefinedError("a part has no value and the others do not settle it")
        return result

    def __reduce__(self) -> tuple[Callable[..., Relation], tuple[object, ...]]:
        return relation_of, (self.op, *self.args)

    def map(self, change: Callable[[Expr], Dim]) -> Relation:
        """The relation with each expression that is compared with 0 changed."""
        return _algebra().mapped(self, change)

    def rebuild(self, values: Mapping[Atom, Dim]) -> Relation:
        """The relation with each atom replaced by its value."""
        return self.map(lambda e: e.rebuild(values))

    def substitute(self, mapping: Mapping[Symbol, Dim]) -> Relation:
        """Replace symbols and renormalise."""
        return self.map(Substitution(mapping))

    def choose(self, a: Dim, b: Dim) -> Dim:
        return _algebra().ite(self, a, b)

    @property
    def settled(self) -> bool | None:
        return self is TRUE if self in (TRUE, FALSE) else None


class Comparison(Relation):
    """A comparison of an expression with 0. What is built from one may be no comparison: a constant, `and`, `or`."""

    __slots__ = ("expr",)

    op: ComparisonOp
    expr: Expr

    def atoms(self) -> Iterator[Atom]:
        return self.expr.atoms()

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return self.expr.symbols

    def truth(self, values: Values) -> bool:
        value = self.expr.value(values)
        return value == 0 if self.op == "==" else value != 0 if self.op == "!=" else value >= 0

    @cached_property
    def line(self) -> Line | None:
        constant = sum(coef for mono, coef in self.expr.terms if not mono)
        term = sub(self.expr, const(constant))
        if not isinstance(term, Expr) or term.const is not None:
            return None
        if self.op == "==":
            return Line(term, (Interval(-constant, -constant),))
        if self.op == "!=":
            return Line(term, without(-constant))
        if leads_negative(term):
            return Line(cast(Expr, -term), (Interval(None, constant),))
        return Line(term, (Interval(-constant, None),))


def intervals_of(relation: Relation) -> tuple[Symbol, list[Interval]] | None:
    """The symbol and intervals of which one contains it, where a relation says this and no more."""
    lines = [part.line for part in (relation.parts if relation.op == "or" else (relation,))]
    known = [line for line in lines if line is not None]
    only = sole_atom(known[0].term) if len(known) == len(lines) else None
    if not isinstance(only, Symbol) or any(line.term is not known[0].term for line in known):
        return None
    return only, [interval for line in known for interval in line.range]


def is_plain(relation: Relation) -> bool:
    """A comparison of one symbol with a constant."""
    return isinstance(relation, Comparison) and intervals_of(relation) is not None


def leads_negative(e: Expr) -> bool:
    """The first term in structural order has a negative coefficient."""
    return e.ordered[0][1] < 0


_RELATIONS: InternTable[Relation] = InternTable()


def relation_of(op: str, *args: Expr | Relation) -> Relation:
    """The one relation of this operation and operands, which the caller has brought to normal form."""

    def build() -> Relation:
        compared = args[0] if args else None
        self: Relation = object.__new__(Comparison if isinstance(compared, Expr) else Relation)
        self.op, self.args = op, args
        if isinstance(self, Comparison):
            self.expr = cast(Expr, compared)
        self.key = short_key(f"{op}({','.join(arg.key for arg in args)})", op)
        self.size = 1 + sum(arg.size for arg in args)
        return self

    key = (op, args)
    found = _RELATIONS.get(key)
    return found if found is not None else _RELATIONS.add(key, build)


TRUE: Final = relation_of("true")
FALSE: Final = relation_of("false")
UNKNOWN_RELATION: Final = relation_of("unknown")
"""A relation over an unknown dim, or with more terms than the budget allows: it has no form, so it is never decided and
can only be dropped.
"""


def negation(relation: Relation) -> Relation:
    """The relation that holds exactly where this one does not."""
    return relation.negated


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
            if part is absorbing or _denies(part, parts):
                return absorbing
            if part is not neutral:
                parts[part] = None
    if UNKNOWN_RELATION in parts:
        return UNKNOWN_RELATION
    if len(parts) > 1:
        for part in [part for part in parts if part.op in ("and", "or") and not parts.keys().isdisjoint(part.parts)]:
            del parts[part]  # `a or (a and b)` is a
        dropped, settled = _redundant(op, tuple(parts))
        if settled is not None:
            return TRUE if settled else FALSE
        if dropped:
            return _connect(op, neutral, absorbing, tuple(part for part in parts if part not in dropped))
    if len(parts) <= 1:
        return next(iter(parts), neutral)
    return relation_of(op, *sorted(parts, key=lambda part: part.key))


def _denies(part: Relation, others: Collection[Relation]) -> bool:
    """Its negation is one of the others. Only one that shares a symbol can be it; without one it is not even built."""
    return any(not part.symbols.isdisjoint(other.symbols) for other in others) and part.negated in others


def _redundant(op: str, parts: Sequence[Relation]) -> tuple[set[Relation], bool | None]:
    """Operands of an `and` or `or` that the others make redundant, and the truth of the whole if that is settled.

    Compares only operands that hold the same term against constants: in `N == 1 or N <= 64` the first is redundant.
    """
    groups: dict[object, list[Relation]] = {}
    for part in parts:
        if part.line is not None:
            groups.setdefault(part.line.term, []).append(part)
    dropped: set[Relation] = set()
    for group in groups.values():
        if len(group) < 2:
            continue
        line = group[0].line
        assert line is not None
        possible: Range = (line.term.bounds,)
        ranges = {part: intersection(part.line.range, possible) for part in group if part.line is not None}
        join = union if op == "or" else intersection
        ordered = sorted(group, key=lambda p: p.op == ">=")
        kept: Range = () if op == "or" else possible
        later = [kept]  # the meaning of the parts from a place on, the last place first
        for part in reversed(ordered):
            on_time()
            later.append(join(later[-1], ranges[part]))
        whole = later.pop()
        if op == "or" and contains(whole, possible):
            return dropped, True
        if op == "and" and not whole:
            return dropped, False
        for part in ordered:
            on_time()
            rest = join(kept, later.pop())
            if contains(rest, ranges[part]) if op == "or" else contains(ranges[part], rest):
                dropped.add(part)
            else:
                kept = join(kept, ranges[part])
    return dropped, None
