"""Symbolic integer expressions: interned integer polynomials over atoms.

An `Expr` is a sum of integer-coefficient monomials; a monomial is a product of atoms; an atom is a symbol or an
operation that has no polynomial form (`floordiv`, `truncdiv`, `max`, `min`, `broadcast`, `ite`) over normal forms.
Structurally equal expressions are one object, so equality is identity. `normal` holds the constructors of the composite
atoms with their rewrites, `absint.lattices.text` the grammar.

`Unknown` is the dim of which only an interval and a congruence are known. It absorbs arithmetic, and every constructor
returns it when a result would outgrow the size budget: nothing here ever invents a symbol.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from math import gcd
from typing import TYPE_CHECKING, Any, Final, Self, cast

from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.interval import ANY, EMPTY, FULL, Congruence, Interval, clamped

if TYPE_CHECKING:
    from absint.lattices.logic.relation import Relation

MAX_DIM: Final = 2**31 - 1
"""Numeric premise: every dim of every run is at most this."""

MAX_TERMS: Final = 256
MAX_DEGREE: Final = 32
MAX_SIZE: Final = 100_000
MAX_BITS: Final = 2048
"""Of a coefficient: repeated squaring would double its length each time."""

_CACHE: Final = 1 << 14

Monomial = tuple["Atom", ...]
Binding = Mapping[str, int]
Values = Mapping["Atom | str", int]
"""The values of atoms, and of boolean symbols by name."""


class UndefinedError(ArithmeticError):
    """The expression has no value under this binding: it divides by zero."""


class Interned:
    """There is one object of each structure, so a copy is the object itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Atom(Interned):
    """A factor of a monomial. `args` are the operands of a composite atom, `key` orders atoms the same in every run."""

    __slots__ = ("__weakref__", "args", "bounds", "key", "op", "size")

    op: str
    args: tuple[Expr | Relation, ...]
    key: str
    bounds: Interval
    size: int

    def __repr__(self) -> str:
        return f"Atom({expr_of(self)})"

    def __reduce__(self) -> tuple[Callable[..., Atom], tuple[object, ...]]:
        return atom, (self.op, self.args, self.bounds)

    def children(self) -> Iterator[Atom]:
        """The atoms that occur directly in the operands."""
        for arg in self.args:
            yield from arg.atoms()


class Symbol(Atom):
    """A named integer with fixed bounds; a dim symbol is a natural number below 2^31.

    Names that begin with `%` are internal (holes of templates, values born in the analysis) and are never printed.
    """

    __slots__ = ("name",)

    name: str

    def __new__(cls, name: str, lo: int | None = 0, hi: int | None = MAX_DIM) -> Symbol:
        found = _SYMBOLS.get((name, lo, hi))
        return found if found is not None else _SYMBOLS.add((name, lo, hi), lambda: cls._build(name, lo, hi))

    @classmethod
    def _build(cls, name: str, lo: int | None, hi: int | None) -> Symbol:
        self = object.__new__(cls)
        self.op, self.args, self.name, self.size = "symbol", (), name, 1
        self.bounds = Interval(lo, hi)
        # Symbols of one name and different bounds differ, and no name can pass for the key of an operation.
        quoted = name if name.isidentifier() else repr(name)
        self.key = f"0{quoted}" if (lo, hi) == (0, MAX_DIM) else f"0{quoted}[{lo},{hi}]"
        return self

    def __reduce__(self) -> tuple[Callable[..., Symbol], tuple[object, ...]]:
        return Symbol, (self.name, *self.bounds)

    def __repr__(self) -> str:
        return f"Symbol({self.name!r})"


_SYMBOLS: InternTable[Symbol] = InternTable()
_ATOMS: InternTable[Atom] = InternTable()
_EXPRS: InternTable[Expr] = InternTable()
_UNKNOWNS: InternTable[Unknown] = InternTable()


def atom(op: str, args: tuple[Expr | Relation, ...], bounds: Interval) -> Atom:
    """The composite atom op(args), interned. The caller has already rewritten it to normal form."""

    def build() -> Atom:
        self = object.__new__(Atom)
        self.op, self.args, self.bounds = op, args, bounds
        self.size = 1 + sum(arg.size for arg in args)
        self.key = short_key(f"{op}({','.join(arg.key for arg in args)})", op)
        return self

    key = (op, *map(id, args))  # operands are interned, and the atom keeps them
    found = _ATOMS.get(key)
    return found if found is not None else _ATOMS.add(key, build)


def short_key(text: str, op: str) -> str:
    """The text, or its digest where nesting would make it long."""
    if len(text) <= 160:
        return f"1{text}"
    return f"2{op}:{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


class Dim(Interned):
    """A dim, or any integer that a shape is computed from: an `Expr`, or `Unknown`.

    `Dim(4)`, `Dim("2*N + 1")` and `Dim(None)` build one; `+ - * // %` take a dim or an int on either side, with
    Python's meaning (`//` floors). `==` is structural: it asks whether two dims are the same expression, not
    whether they are equal in every run.
    """

    __slots__ = ()

    def __new__(cls, value: Dim | int | str | None = None) -> Dim:
        if isinstance(value, str):
            from absint.lattices.text import parse

            return parse(value)
        return UNKNOWN_DIM if value is None else as_dim(value)

    @property
    def is_unknown(self) -> bool:
        return False

    @property
    def is_concrete(self) -> bool:
        return False

    @property
    def is_symbolic(self) -> bool:
        """Neither concrete nor unknown: an expression over symbols."""
        return not self.is_unknown and not self.is_concrete

    @property
    def bounds(self) -> Interval:
        raise NotImplementedError

    @property
    def congruence(self) -> Congruence:
        raise NotImplementedError

    @property
    def free_symbols(self) -> frozenset[str]:
        """Names of the symbols that occur."""
        return frozenset()

    def evaluate(self, binding: Binding) -> int:
        """The size under a binding of the free symbols to natural numbers; names it does not need are allowed.

        Raises KeyError naming a missing symbol, ValueError for a negative size or an unknown dim,
        UndefinedError where the expression divides by zero.
        """
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self} is not defined: compare with == for the same expression, or ask decide()")

    def __add__(self, other: Dim | int) -> Dim:
        return add(self, right) if (right := _operand(other)) is not None else NotImplemented

    def __radd__(self, other: int) -> Dim:
        return add(left, self) if (left := _operand(other)) is not None else NotImplemented

    def __sub__(self, other: Dim | int) -> Dim:
        return sub(self, right) if (right := _operand(other)) is not None else NotImplemented

    def __rsub__(self, other: int) -> Dim:
        return sub(left, self) if (left := _operand(other)) is not None else NotImplemented

    def __mul__(self, other: Dim | int) -> Dim:
        return mul(self, right) if (right := _operand(other)) is not None else NotImplemented

    def __rmul__(self, other: int) -> Dim:
        return mul(left, self) if (left := _operand(other)) is not None else NotImplemented

    def __floordiv__(self, other: Dim | int) -> Dim:
        return normal.floordiv(self, right) if (right := _operand(other)) is not None else NotImplemented

    def __rfloordiv__(self, other: int) -> Dim:
        return normal.floordiv(left, self) if (left := _operand(other)) is not None else NotImplemented

    def __mod__(self, other: Dim | int) -> Dim:
        return normal.mod(self, right) if (right := _operand(other)) is not None else NotImplemented

    def __rmod__(self, other: int) -> Dim:
        return normal.mod(left, self) if (left := _operand(other)) is not None else NotImplemented

    def __neg__(self) -> Dim:
        return mul(self, const(-1))

    def _open(self, other: object, op: str) -> TypeError:
        return TypeError(
            f"whether {self} {op} {other} is open: build the relation with absint.lattices.logic and ask decide()"
        )

    def __lt__(self, other: object) -> bool:
        return self._compare(other, "<")

    def __le__(self, other: object) -> bool:
        return self._compare(other, "<=")

    def __gt__(self, other: object) -> bool:
        return self._compare(other, ">")

    def __ge__(self, other: object) -> bool:
        return self._compare(other, ">=")

    def _compare(self, other: object, op: str) -> bool:
        right = _operand(other)
        if right is None:
            return NotImplemented  # type: ignore[no-any-return]
        if not (self.is_concrete and right.is_concrete):
            raise self._open(other, op)
        a, b = int(self), int(right)
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]

    def __int__(self) -> int:
        raise TypeError(f"{self} is not a concrete size")

    def __str__(self) -> str:
        from absint.lattices.text import format_dim

        return format_dim(self)

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"


class Unknown(Dim):
    """A dim of which only bounds and a congruence are known; two of them are never known to be the same size."""

    __slots__ = ("__weakref__", "_bounds", "_congruence")

    _bounds: Interval
    _congruence: Congruence

    def __new__(cls, bounds: Interval = FULL, congruence: Congruence = ANY) -> Unknown:
        if bounds.is_empty:
            bounds, congruence = EMPTY, ANY

        def build() -> Unknown:
            self = object.__new__(cls)
            self._bounds, self._congruence = bounds, congruence
            return self

        found = _UNKNOWNS.get((bounds, congruence))
        return found if found is not None else _UNKNOWNS.add((bounds, congruence), build)

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[object, ...]]:
        return Unknown, (self._bounds, self._congruence)

    @property
    def is_unknown(self) -> bool:
        return True

    @property
    def bounds(self) -> Interval:
        return self._bounds

    @property
    def congruence(self) -> Congruence:
        return self._congruence

    def evaluate(self, binding: Binding) -> int:
        raise ValueError("an unknown dim has no value")

    def atoms(self) -> Iterator[Atom]:
        return iter(())


class Expr(Dim):
    """A polynomial in normal form: `terms` maps monomials (atoms sorted by key) to non-zero coefficients."""

    __slots__ = ("__dict__", "__weakref__", "_bounds", "const", "size", "terms")

    terms: tuple[tuple[Monomial, int], ...]
    const: int | None
    _bounds: Interval
    size: int

    @property
    def is_concrete(self) -> bool:
        return self.const is not None

    @property
    def bounds(self) -> Interval:
        """Bounds that follow from the bounds of the symbols alone."""
        return self._bounds

    @cached_property
    def congruence(self) -> Congruence:
        modulus = 0
        remainder = 0
        for mono, coef in self.terms:
            if mono:
                modulus = gcd(modulus, coef)
            else:
                remainder = coef
        return Congruence.of(modulus, remainder)

    def atoms(self) -> Iterator[Atom]:
        """Every atom of every monomial, repeats included."""
        for mono, _ in self.terms:
            yield from mono

    @cached_property
    def ordered(self) -> tuple[tuple[Monomial, int], ...]:
        """Terms by descending degree, then by key: the same order in every run."""
        return tuple(sorted(self.terms, key=_term_order))

    @cached_property
    def key(self) -> str:
        return "+".join(f"{coef}{''.join('*' + a.key for a in mono)}" for mono, coef in self.ordered) or "0"

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that occur, composite atoms searched."""
        if len(self.terms) == 1 and len(mono := self.terms[0][0]) == 1 and isinstance(mono[0], Symbol):
            return frozenset(mono)  # type: ignore[arg-type]
        return frozenset(a for a in postorder(self.atoms()) if isinstance(a, Symbol))

    @property
    def free_symbols(self) -> frozenset[str]:
        return frozenset(symbol.name for symbol in self.symbols) | self.booleans

    @cached_property
    def booleans(self) -> frozenset[str]:
        """The names of the boolean symbols that occur in conditions."""
        if not any(a.args for a in self.atoms()):
            return frozenset()
        return boolean_names(postorder(self.atoms()))

    def evaluate(self, binding: Binding) -> int:
        if self.const is not None:
            return self.const
        return expr_value(values_of(self, binding), self)

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[object, ...]]:
        return _of_terms, (self.terms,)

    def rebuild(self, values: Mapping[Atom, Dim]) -> Dim:
        return rebuild(self, values)

    def value(self, values: Values) -> int:
        return expr_value(values, self)

    def substitute(self, mapping: Mapping[str, Dim | int]) -> Dim:
        """Replace symbols by name; the result is in normal form."""
        chosen = {s: as_dim(mapping[s.name]) for s in self.symbols if s.name in mapping}
        return substitute(self, chosen) if chosen else self

    def __int__(self) -> int:
        if self.const is None:
            raise TypeError(f"{self} is not a concrete size")
        return self.const

    def __index__(self) -> int:
        return int(self)


class Constant(Expr):
    """An expression without symbols. It equals the int; apart from the rest so that theirs is the plain, fast hash."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, int) and self.const == other)

    def __hash__(self) -> int:
        return hash(self.const)

    def __bool__(self) -> bool:
        return self.const != 0


def _term_order(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    return -len(term[0]), [a.key for a in term[0]]


def _operand(value: object) -> Dim | None:
    if isinstance(value, Dim):
        return value
    return const(value) if isinstance(value, int) and not isinstance(value, bool) else None


def as_dim(value: Dim | int) -> Dim:
    """A dim from a dim or an int. Raises TypeError for anything else."""
    dim = _operand(value)
    if dim is None:
        raise TypeError(f"a dim is an int or an expression, not {type(value).__name__} {value!r}")
    return dim


def _make(terms: dict[Monomial, int]) -> Dim:
    """The interned polynomial of these terms (zero coefficients dropped), or Unknown over the size budget."""
    items = tuple(terms.items()) if all(terms.values()) else tuple((m, c) for m, c in terms.items() if c)
    key = items if len(items) < 2 else frozenset(items)
    found = _EXPRS.get(key)
    if found is not None:
        return found
    bounds = sum_bounds(items)
    size = 1
    for mono, coef in items:
        if len(mono) > MAX_DEGREE or coef.bit_length() > MAX_BITS:
            return Unknown(bounds)
        for factor in mono:
            size += factor.size
    if len(items) > MAX_TERMS or size > MAX_SIZE:
        return Unknown(bounds)
    constant = 0 if not items else items[0][1] if len(items) == 1 and not items[0][0] else None

    def build() -> Expr:
        self: Expr = object.__new__(Expr if constant is None else Constant)
        self.terms, self.size, self._bounds, self.const = items, size, bounds, constant
        return self

    return _EXPRS.add(key, build)


def _of_terms(terms: tuple[tuple[Monomial, int], ...]) -> Dim:
    """The polynomial of pickled terms; the order of a monomial's atoms is the same in every process."""
    return _make(dict(terms))


def sum_bounds(items: Iterable[tuple[Monomial, int]]) -> Interval:
    """Bounds of a sum of monomials with their coefficients."""
    lo: int | None = 0
    hi: int | None = 0
    for mono, coef in items:
        if not mono:
            low = high = cast("int | None", coef)
        else:
            low, high = mono[0].bounds if len(mono) == 1 else product_bounds(mono)
            if coef < 0:
                low, high = high, low
            low, high = None if low is None else low * coef, None if high is None else high * coef
        lo = None if lo is None or low is None else lo + low
        hi = None if hi is None or high is None else hi + high
    return clamped(lo, hi)


@lru_cache(maxsize=_CACHE)
def product_bounds(mono: Monomial) -> Interval:
    """Bounds of a product of atoms."""
    if len(mono) == 2 and mono[0] is mono[1] and _mixed(mono[0].bounds):
        return Interval(0, mono[0].bounds.times(mono[1].bounds).hi)
    part = mono[0].bounds
    for factor in mono[1:]:
        part = part.times(factor.bounds)
    return part


def _mixed(bounds: Interval) -> bool:
    """Neither sign is known: a square is still a natural number."""
    return (bounds.lo is None or bounds.lo < 0) and (bounds.hi is None or bounds.hi > 0)


@lru_cache(maxsize=4096)
def const(value: int) -> Expr:
    """The constant expression."""
    return cast(Expr, _make({(): value} if value else {}))


@lru_cache(maxsize=4096)
def expr_of(factor: Atom) -> Expr:
    """The expression that is this one atom. (Unknown, as any Dim may be, for a new atom over the size budget.)"""
    return cast(Expr, _make({(factor,): 1}))


def symbol(name: str) -> Expr:
    """A dim symbol: a natural number below 2^31."""
    return expr_of(Symbol(name))


def integer_symbol(name: str, lo: int | None = None, hi: int | None = None) -> Expr:
    """A symbol for integer data, which may be negative."""
    return expr_of(Symbol(name, lo, hi))


@lru_cache(maxsize=_CACHE)
def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, Expr) and isinstance(b, Expr):
        terms = dict(a.terms)
        for mono, coef in b.terms:
            terms[mono] = terms.get(mono, 0) + coef
        return _make(terms)
    return Unknown(a.bounds + b.bounds, a.congruence + b.congruence)


@lru_cache(maxsize=_CACHE)
def sub(a: Dim, b: Dim) -> Dim:
    return add(a, mul(b, const(-1)))


@lru_cache(maxsize=_CACHE)
def mul(a: Dim, b: Dim) -> Dim:
    if isinstance(a, Expr) and isinstance(b, Expr):
        if len(a.terms) * len(b.terms) > 4 * MAX_TERMS:
            return Unknown(a.bounds.times(b.bounds))
        terms: dict[Monomial, int] = {}
        for mono, coef in a.terms:
            for other, factor in b.terms:
                product = _join_monomials(mono, other)
                terms[product] = terms.get(product, 0) + coef * factor
        return _make(terms)
    if a is ZERO_EXPR or b is ZERO_EXPR:
        return ZERO_EXPR
    return Unknown(a.bounds.times(b.bounds), a.congruence.times(b.congruence))


def _join_monomials(a: Monomial, b: Monomial) -> Monomial:
    if not a:
        return b
    if not b:
        return a
    return tuple(sorted(a + b, key=lambda factor: factor.key))


def product(dims: Iterable[Dim | int]) -> Dim:
    """The product of the dims; 1 for none."""
    result: Dim = ONE_EXPR
    for dim in dims:
        result = mul(result, as_dim(dim))
    return result


def postorder(roots: Iterable[Atom], known: Container[Atom] = ()) -> list[Atom]:
    """Every atom reachable from the roots, operands first, each once; iterative, so depth is no limit.

    Those that are `known` are left out, with what is reached through them alone.
    """
    done: dict[Atom, None] = {}
    stack: list[tuple[Atom, bool]] = [(root, False) for root in roots]
    while stack:
        node, expanded = stack.pop()
        if node in done or node in known:
            continue
        if expanded or not node.args:
            done[node] = None
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in node.children() if child not in done)
    return list(done)


def boolean_names(nodes: Iterable[Atom]) -> frozenset[str]:
    """The boolean symbols in the conditions of these atoms themselves."""
    return frozenset(name for node in nodes if node.op == "ite" for name in cast("Relation", node.args[0]).own_booleans)


def values_of(root: Expr | Relation, binding: Binding) -> Values:
    """The value of every atom and boolean symbol of the root; an atom that divides by zero has none.

    Raises KeyError for a missing symbol, ValueError for a size outside its bounds.
    """
    values: dict[Atom | str, int] = {}
    for name in root.booleans:
        if name not in binding:
            raise KeyError(f"no truth given for condition {name!r} of {root}")
        values[name] = binding[name]
    for node in postorder(root.atoms()):
        if not isinstance(node, Symbol):
            with suppress(UndefinedError):  # a branch that is not taken may divide by zero
                values[node] = EVALUATE[node.op](values, node.args)
            continue
        if node.name not in binding:
            raise KeyError(f"no size given for symbol {node.name!r} of {root}")
        value = binding[node.name]
        if value not in node.bounds:
            lo, hi = node.bounds
            kind = "a dim and" if (lo, hi) == (0, MAX_DIM) else f"between {lo} and {hi} and"
            raise ValueError(f"symbol {node.name!r} is {kind} cannot be {value}")
        values[node] = value
    return values


def expr_value(values: Values, expr: Expr) -> int:
    """The value of a sum whose atoms have been evaluated. Raises UndefinedError if one of them has no value."""
    total = 0
    for mono, coef in expr.terms:
        for factor in mono:
            value = values.get(factor)
            if value is None:
                raise UndefinedError("division by zero")
            coef *= value
        total += coef
    return total


class Substitution:
    """Replaces symbols in many expressions, simultaneously, and renormalises; each atom is rebuilt once."""

    __slots__ = ("_mapping", "_values")

    def __init__(self, mapping: Mapping[Symbol, Dim]) -> None:
        """Symbols that are not in the mapping stay."""
        self._mapping = mapping
        self._values: dict[Atom, Dim] = {}

    def __call__(self, expr: Expr) -> Dim:
        """The expression over the new symbols."""
        values, mapping = self._values, self._mapping
        for node in postorder(expr.atoms(), values):
            values[node] = mapping[node] if isinstance(node, Symbol) and node in mapping else rebuilt(node, values)
        return rebuild(expr, values)


def substitute(expr: Expr, mapping: Mapping[Symbol, Dim]) -> Dim:
    """Replace symbols simultaneously and renormalise; symbols that are not in the mapping stay."""
    return Substitution(mapping)(expr)


def rebuilt(node: Atom, values: Mapping[Atom, Dim]) -> Dim:
    """The atom over the values of its operands' atoms."""
    if not node.args or all(values[child] is expr_of(child) for child in node.children()):
        return expr_of(node)
    return REBUILD[node.op](*(arg.rebuild(values) for arg in node.args))


def rebuild(expr: Expr, values: Mapping[Atom, Dim]) -> Dim:
    """The sum with each atom replaced by its value."""
    total: Dim = ZERO_EXPR
    for mono, coef in expr.terms:
        term: Dim = const(coef)
        for factor in mono:
            term = mul(term, values[factor])
        total = add(total, term)
    return total


EVALUATE: dict[str, Callable[[Values, tuple[Any, ...]], int]] = {}
"""Operation -> its value on evaluated operands; filled by the modules that define the operations."""

REBUILD: dict[str, Callable[..., Dim]] = {}
"""Operation -> its constructor."""

ZERO_EXPR: Final = const(0)
ONE_EXPR: Final = const(1)
UNKNOWN_DIM: Final = Unknown()
"""The top of the dim lattice: any integer."""

NATURAL: Final = Interval(0, MAX_DIM)
UNKNOWN_SIZE: Final = Unknown(NATURAL)
"""A size of which nothing is known but that it is one."""

from absint.lattices.terms import normal  # noqa: E402  (the constructors of composite atoms need the classes above)
