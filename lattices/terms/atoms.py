"""Atoms: symbols, and operations without a polynomial form (`floordiv`, `max`, `ite`, ...) over normal forms.

A symbol's name that begins with `%` is internal: it spells the kind, the node and the tag of a symbol that some node
invents. Names of models never do, whatever a file contains: the text of a dim is escaped when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import ClassVar, Final, Self, TypeVar, cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.interval import Interval, clamped

T = TypeVar("T")


class SymbolKind(Enum):
    """The meaning of a symbol."""

    INPUT = "input"
    """A size that the model names, an element of a small input, or a name that is printed for another symbol."""
    DATA = "data"
    """An element of an initialiser that is an input too, or a size that the declaration of an input leaves out."""
    FRESH = "fresh"
    """A number that a node computes from data, or that its rule leaves open."""
    ITERATION = "iteration"
    """The number of a loop's iteration, or a number that the loop carries, in one iteration."""
    PROBE = "probe"
    """A number that a loop carries, while its closed form is guessed: no claim rests on it."""
    HOLE = "hole"
    """A number that every node with the same rule, attributes and inputs names on its own."""
    PLACEHOLDER = "placeholder"
    """A number within one question; no result mentions it."""


class Origin(NamedTuple):
    """The origin of a symbol: the node, None for a hole, and the tag, which distinguishes the symbols of one node."""

    node: int | None
    tag: str


INTERNAL: Final = "%"
"""Names that begin with this are internal."""

HOLE_NAME: Final = "%hole:"
"""The name of a hole is this and its tag."""

_TAG_PREFIXES: Final[Mapping[SymbolKind, str]] = {
    SymbolKind.DATA: "data/",
    SymbolKind.ITERATION: "loop/",
    SymbolKind.PROBE: "probe/",
}


def name_of(kind: SymbolKind, node: int, tag: str) -> str:
    """The internal name of a symbol that a node invents."""
    return f"{INTERNAL}{node}:{_TAG_PREFIXES.get(kind, '')}{tag}"


def kind_of(name: str) -> tuple[SymbolKind, Origin | None]:
    """The kind and the origin that a name spells; only symbols that a node invents have an origin."""
    if not name.startswith(INTERNAL):
        return SymbolKind.INPUT, None
    if name.startswith(HOLE_NAME):
        return SymbolKind.HOLE, Origin(None, name[len(HOLE_NAME) :])
    node, separator, tag = name[1:].partition(":")
    if not separator or not node.isdecimal():
        return SymbolKind.PLACEHOLDER, None
    for kind, prefix in _TAG_PREFIXES.items():
        if tag.startswith(prefix):
            return kind, Origin(int(node), tag.removeprefix(prefix))
    return SymbolKind.FRESH, Origin(int(node), tag)


MAX_DIM: Final = 2**31 - 1
"""Numeric premise: every dim of every run is at most this."""

Monomial = tuple["Atom", ...]
Values = Mapping["Atom", int]


class Interned:
    """One object for each structure, so a copy is the object itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Operand(Interned):
    """An operand of a composite atom: an expression, or the condition of a choice."""

    __slots__ = ()

    @property
    def key(self) -> str:
        """Orders operands the same in every run."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of atoms, those inside others counted, plus 1."""
        raise NotImplementedError

    def atoms(self) -> Iterator[Atom]:
        """The atoms that occur directly, repeats included."""
        raise NotImplementedError

    @property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that occur, at any depth."""
        return _symbols_in({*self.atoms()})

    def value(self, values: Values) -> int:
        """The value once the atoms have theirs; 0 or 1 for a condition. Raises UndefinedError where it has none."""
        raise NotImplementedError


class Atom(Interned):
    """A factor of a monomial. `args` are the operands of a composite atom, `key` orders atoms the same in every run."""

    __slots__ = ("__weakref__", "args", "bounds", "children", "inner", "key", "op", "size")

    op: str
    args: tuple[Operand, ...]
    children: tuple[Atom, ...]
    """The atoms that occur directly in the operands, each once, in the order of their last places."""
    inner: frozenset[Symbol]
    """The symbols that occur in the operands, at any depth."""
    key: str
    bounds: Interval
    size: int

    def __repr__(self) -> str:
        return f"Atom({self.op}({', '.join(map(str, self.args))}))"

    def __reduce__(self) -> tuple[Callable[..., Atom], tuple[object, ...]]:
        return atom, (self.op, self.args, self.bounds)


class Symbol(Atom):
    """A named integer with fixed bounds; a dim symbol is a natural number below 2^31.

    The name and the bounds tell symbols apart. An internal name, which is never printed, spells the kind and origin.
    """

    __slots__ = ("kind", "name", "origin")

    prefix: ClassVar[str] = "_d"
    """The printed name of one that a node invents is this and a number."""
    is_number: ClassVar[bool] = True
    """It may stand in expressions; a shape variable may not."""

    name: str
    kind: SymbolKind
    origin: Origin | None
    """The origin of a symbol that a node invents, or of a hole for one."""

    def __new__(cls, name: str, lo: int | None = 0, hi: int | None = MAX_DIM) -> Symbol:
        found = _SYMBOLS.get((name, lo, hi))
        return found if found is not None else _SYMBOLS.add((name, lo, hi), lambda: cls._build(name, lo, hi))

    @classmethod
    def _build(cls, name: str, lo: int | None, hi: int | None) -> Symbol:
        self = object.__new__(cls)
        self.op, self.args, self.children, self.name, self.size = "symbol", (), (), name, 1
        self.bounds, self.inner = Interval(lo, hi), frozenset()
        self.kind, self.origin = kind_of(name)
        # Symbols of one name and different bounds differ, and no name can pass for the key of an operation.
        quoted = name if name.isidentifier() else repr(name)
        self.key = f"0{quoted}" if (lo, hi) == (0, MAX_DIM) else f"0{quoted}[{lo},{hi}]"
        return self

    def __reduce__(self) -> tuple[Callable[..., Symbol], tuple[object, ...]]:
        return Symbol, (self.name, *self.bounds)

    @staticmethod
    def fresh(node: int, tag: str, lo: int | None, hi: int | None, kind: SymbolKind = SymbolKind.FRESH) -> Symbol:
        """The symbol of this tag that the node invents; the same at every visit."""
        return Symbol(name_of(kind, node, tag), lo, hi)

    @staticmethod
    def hole(tag: str, lo: int | None = 0, hi: int | None = MAX_DIM) -> Symbol:
        """A hole for a symbol that each node invents on its own."""
        return Symbol(f"{HOLE_NAME}{tag}", lo, hi)

    @staticmethod
    def placeholder(tag: str, lo: int | None = 0, hi: int | None = MAX_DIM) -> Symbol:
        """A symbol that no result mentions."""
        return Symbol(f"{INTERNAL}{tag}", lo, hi)

    @property
    def origin_node(self) -> int | None:
        """The node that invented it; None for a symbol of the inputs, and for a hole."""
        return None if self.origin is None else self.origin.node

    @property
    def is_by_data(self) -> bool:
        """It stands for a data-dependent truth, and is no part of a size."""
        return self.kind is not SymbolKind.INPUT and self.bounds == (0, 1)

    def filled(self, node: int, kind: SymbolKind = SymbolKind.FRESH) -> Symbol:
        """The symbol with which a node fills this hole."""
        assert self.origin is not None
        return Symbol.fresh(node, self.origin.tag, *self.bounds, kind)

    def within(self, lo: int | None, hi: int | None) -> Symbol:
        """The same symbol with other bounds."""
        return Symbol(self.name, lo, hi)

    def named(self, name: str) -> Symbol:
        """The same kind of symbol with the same bounds and another name."""
        return Symbol(name, *self.bounds)

    def __repr__(self) -> str:
        return f"Symbol({self.name!r})"


_SYMBOLS: InternTable[Symbol] = InternTable()
_ATOMS: InternTable[Atom] = InternTable()


def atom(op: str, args: tuple[Operand, ...], bounds: Interval) -> Atom:
    """The composite atom op(args), interned. The caller has already rewritten it to normal form."""

    def build() -> Atom:
        self = object.__new__(Atom)
        self.op, self.args, self.bounds = op, args, bounds
        below = [child for arg in args for child in arg.atoms()]
        self.children = tuple(below) if len(below) < 2 else tuple(dict.fromkeys(reversed(below)))[::-1]
        self.inner = _symbols_in(self.children)
        self.size = 1 + sum(arg.size for arg in args)
        self.key = short_key(f"{op}({','.join(arg.key for arg in args)})", op)
        return self

    key = (op, *map(id, args))  # operands are interned, and the atom keeps them alive
    found = _ATOMS.get(key)
    return found if found is not None else _ATOMS.add(key, build)


def _symbols_in(atoms: Collection[Atom]) -> frozenset[Symbol]:
    return frozenset([a for a in atoms if isinstance(a, Symbol)]).union(*[a.inner for a in atoms])


def short_key(text: str, op: str) -> str:
    """The text, or its digest where nesting would make it long."""
    if len(text) <= 160:
        return f"1{text}"
    try:
        from _blake2 import blake2b  # hashlib has it from there, and loads OpenSSL before
    except ImportError:
        from hashlib import blake2b

    return f"2{op}:{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def postorder(roots: Iterable[Atom], known: Container[Atom] = ()) -> list[Atom]:
    """Every atom reachable from the roots, operands first, each once; iterative, so depth is no limit.

    Atoms in `known` are left out, with all atoms that are reached through them alone.
    """
    done: dict[Atom, None] = {}
    stack = list(roots)
    while stack:
        node = stack[-1]
        if node not in done and node not in known:
            if node.children and (below := [c for c in node.children if c not in done and c not in known]):
                stack += below
                continue
            done[node] = None
        stack.pop()
    return list(done)


def operands_first(root: T, operands: Callable[[T], Sequence[T]], known: Container[T] = ()) -> list[T]:
    """The root and all that it is built from, operands first and in their order, each once; depth is no limit.

    Those in `known` are left out, with all that are reached through them alone.
    """
    done: dict[T, None] = {}
    stack = [(root, False)]
    while stack:
        top, is_open = stack.pop()
        if top in done or top in known:
            continue
        if is_open or not (below := operands(top)):
            done[top] = None
        else:
            stack.append((top, True))
            stack += [(part, False) for part in reversed(below) if part not in done]
    return list(done)


def reached(starts: Iterable[T], onward: Callable[[T], Iterable[T]]) -> set[T]:
    """The starts, and all that they lead to in any number of steps."""
    found: set[T] = set()
    pending = [*starts]
    while pending:
        item = pending.pop()
        if item not in found:
            found.add(item)
            pending += onward(item)
    return found


# Monomials, products of atoms sorted by key: their order, product and bounds.


def term_order(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    """By descending degree, then by key: the same order in every run."""
    return -len(term[0]), [a.key for a in term[0]]


def joined(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a:
        return b
    if not b:
        return a
    return tuple(sorted(a + b, key=lambda factor: factor.key))


def divided(a: tuple[Monomial, int], b: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    """The exact quotient of two monomials with their coefficients, if there is one."""
    if a[1] % b[1]:
        return None
    left = list(a[0])
    for factor in b[0]:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left), a[1] // b[1]


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


@lru_cache(maxsize=1 << 14)
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
