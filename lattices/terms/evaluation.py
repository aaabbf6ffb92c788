"""What a term means: its value under a binding of its symbols, in which no rewrite takes part, and what rewrites state.

A term is a partial function of its symbols: a quotient has no value where it divides by 0, a `broadcast` has none
where two of its operands differ and neither is 1. A choice needs its condition and the side that it takes. A rewrite
may give a term a value where it had none, and never changes or loses one: `broadcast(N, 64)` is written 64, and no run
exists at sizes where N and 64 do not broadcast.

Each rewrite states `before -> after` under `when`, as data, and a test proves it in Z3: where `when` holds and `before`
has a value, `after` has the same. Small letters are integers, capital letters terms that may have no value. `holds(c)`
and `fails(c)` say that the comparison c has a truth, and which; `defined(A)` says that A has a value, and
`extends(B, A)` that B has the value of A wherever A has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from operator import index
from types import ModuleType
from typing import Final, SupportsIndex, TypeVar, cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import MAX_DIM, Atom, Operand, Symbol, Values, postorder

Binding = Mapping[str, int]
T = TypeVar("T")


class UndefinedError(ArithmeticError):
    """The expression has no value under this binding: it divides by zero, broadcasts sizes that do not fit, or makes an
    integer of NaN.
    """


def number_of(size: T) -> T:
    """Python's integer for one of another library, as NumPy's, whose products may wrap; all else as it is."""
    try:
        return size if isinstance(size, bool) else cast(T, index(cast(SupportsIndex, size)))
    except TypeError:
        return size


def values_of(root: Operand, binding: Binding, *, partial: bool = False) -> Values:
    """The value of every atom of the root that has one.

    Raises KeyError for a missing symbol, which has no value if `partial`, and ValueError for a size outside its bounds.
    """
    values: dict[Atom, int] = {}
    for node in postorder(root.atoms()):
        if not isinstance(node, Symbol):
            with suppress(UndefinedError):  # a side that is not taken needs no value
                values[node] = EVALUATE[node.op](values, node.args)
            continue
        if node.name not in binding:
            if partial:
                continue
            raise KeyError(f"no size given for symbol {node.name!r} of {root}")
        value = number_of(binding[node.name])
        if value not in node.bounds:
            lo, hi = node.bounds
            kind = "a dim and" if (lo, hi) == (0, MAX_DIM) else f"between {lo} and {hi} and"
            raise ValueError(f"symbol {node.name!r} is {kind} cannot be {value}")
        values[node] = value
    return values


def is_partial(roots: Iterable[Atom]) -> bool:
    """A term over these atoms may have no value: it divides by a symbolic divisor, or broadcasts. Floats aside."""
    return any(node.op == "broadcast" or divides(node) for node in postorder(roots))


def divides(atom: Atom) -> bool:
    """The atom is a quotient whose divisor is no constant."""
    return atom.op in ("floordiv", "truncdiv") and any(True for _ in atom.args[1].atoms())


def is_any_function(root: Operand) -> bool:
    """To a solver, a part of it is any function within bounds."""
    return any(node.op in INTEGERS or node.op == "divided" for node in postorder(root.atoms()))


def casts_floats(root: Operand) -> bool:
    """Floats are cast to integers in it: where a float has no value, the integer is the platform's."""
    return any(node.op in INTEGERS for node in postorder(root.atoms()))


def rounded_to_zero(a: int, b: int) -> int:
    """The quotient of two integers, b not 0, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def _floordiv(values: Values, args: tuple[Operand, ...]) -> int:
    return args[0].value(values) // _divisor(values, args)


def _truncdiv(values: Values, args: tuple[Operand, ...]) -> int:
    return rounded_to_zero(args[0].value(values), _divisor(values, args))


def _divisor(values: Values, args: tuple[Operand, ...]) -> int:
    divisor = args[1].value(values)
    if divisor == 0:
        raise UndefinedError("division by zero")
    return divisor


def _divided(values: Values, args: tuple[Operand, ...]) -> int:
    number, by, times = (arg.value(values) for arg in args)
    while times > 0 and number not in (0, -1):
        number, times = number // by, times - 1
    return number


def _broadcast(values: Values, args: tuple[Operand, ...]) -> int:
    sizes = {size for arg in args if (size := arg.value(values)) != 1}
    if len(sizes) > 1:
        raise UndefinedError("sizes that do not broadcast")
    return sizes.pop() if sizes else 1


def _chosen(values: Values, args: tuple[Operand, ...]) -> int:
    condition, a, b = args
    return (a if condition.value(values) else b).value(values)


INTEGERS: Final[Mapping[str, tuple[int, int]]] = {
    "int": (-(1 << 63), (1 << 63) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
}
"""Casts of floats, and the integers of their types."""


def _cast_to(op: str) -> Callable[[Values, tuple[Operand, ...]], int]:
    lo, hi = INTEGERS[op]

    def cast(values: Values, args: tuple[Operand, ...]) -> int:
        number = args[0].value(values)
        if not lo <= number <= hi:
            raise UndefinedError("a float outside the integers of its cast")
        return number

    return cast


EVALUATE: Final[Mapping[str, Callable[[Values, tuple[Operand, ...]], int]]] = {
    "floordiv": _floordiv,
    "truncdiv": _truncdiv,
    "divided": _divided,
    "max": lambda values, args: max(arg.value(values) for arg in args),
    "min": lambda values, args: min(arg.value(values) for arg in args),
    "broadcast": _broadcast,
    "ite": _chosen,
    **{op: _cast_to(op) for op in INTEGERS},
}
"""Operation -> its value, given the values of the atoms in its operands."""


F = TypeVar("F", bound=Callable[..., object])


class Rewrite(NamedTuple):
    """`after` has the value of `before` wherever that has one and `when` holds; `name` is the rewriting function."""

    name: str
    before: str
    after: str
    when: str


def states(statement: str, when: str = "") -> Callable[[F], F]:
    """Attach a statement `before -> after` to the function that rewrites by it."""

    def declare(function: F) -> F:
        before, after = statement.split(" -> ")
        function.__dict__.setdefault("rewrites", []).append(Rewrite(function.__name__.strip("_"), before, after, when))
        return function

    return declare


def stated_in(module: ModuleType) -> Iterator[Rewrite]:
    """The statements of a module's functions."""
    for function in vars(module).values():
        if callable(function) and function.__module__ == module.__name__:
            yield from getattr(function, "rewrites", ())
