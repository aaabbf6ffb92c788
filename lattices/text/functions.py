"""The functions of the text grammar, and exact quotients: the meaning of `/` inside `floor` and `ceil`."""

from __future__ import annotations

from collections.abc import Callable
from math import lcm
from typing import Any, Final

from absint.lattices.logic import relation as rel
from absint.lattices.records import NamedTuple
from absint.lattices.terms import normal
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, add, const, mul


class Ratio(NamedTuple):
    """The rational number `over / under`, not rounded yet; a constant `under` is positive."""

    over: Expr
    under: Expr


Number = Dim | Ratio


def ratio(over: Dim, under: Dim) -> Number:
    """The exact quotient; unknown if it divides by the constant 0 or either is unknown."""
    if not isinstance(over, Expr) or not isinstance(under, Expr) or under is ZERO_EXPR:
        return UNKNOWN_DIM
    quotient = normal.exact_quotient(over, under)
    if quotient is not None:
        return quotient
    if under.const is not None and under.const < 0:
        over, under = normal.exact_quotient(over, const(-1)), const(-under.const)  # type: ignore[assignment]
    return Ratio(over, under)


def parts(x: Number) -> tuple[Dim, Dim]:
    """Dividend and divisor."""
    return x if isinstance(x, Ratio) else (x, ONE_EXPR)


def plus(x: Number, y: Number) -> Number:
    (a, b), (c, d) = parts(x), parts(y)
    if b is d:
        return ratio(add(a, c), b)
    if isinstance(b, Expr) and isinstance(d, Expr) and b.const and d.const:
        common = lcm(b.const, d.const)
        return ratio(add(a * (common // b.const), c * (common // d.const)), const(common))
    return ratio(add(mul(a, d), mul(c, b)), mul(b, d))


def minus(x: Number) -> Number:
    return Ratio(-x.over, x.under) if isinstance(x, Ratio) else -x  # type: ignore[arg-type]


def times(x: Number, y: Number) -> Number:
    (a, b), (c, d) = parts(x), parts(y)
    return ratio(mul(a, c), mul(b, d))


def over(x: Number, y: Number) -> Number:
    (a, b), (c, d) = parts(x), parts(y)
    return ratio(mul(a, d), mul(b, c))


def floor(x: Number) -> Dim:
    return normal.floordiv(*x) if isinstance(x, Ratio) else x


def ceil(x: Number) -> Dim:
    return normal.ceildiv(*x) if isinstance(x, Ratio) else x


def truncate(x: Number) -> Dim:
    return normal.truncdiv(*x) if isinstance(x, Ratio) else x


def _extreme(of: Callable[..., Dim]) -> Callable[..., Number]:
    def build(*numbers: Number) -> Number:
        pairs = [parts(x) for x in numbers]
        under = [b.const if isinstance(b, Expr) else None for _, b in pairs]
        if None in under:
            raise ValueError("expected quotients by constants: the sign of a symbolic divisor is not known")
        common = lcm(*(m for m in under if m is not None))
        return ratio(of(*(a * (common // m) for (a, _), m in zip(pairs, under, strict=True) if m)), const(common))

    return build


def _ceil_to_int(x: Number, *divisor: Number) -> Number:
    """PyTorch's form with one operand, and ShapeBuilder's `CeilToInt(n, divisor)`."""
    if len(divisor) > 1:
        raise ValueError("CeilToInt takes 1 or 2 operands")
    return ceil(over(x, divisor[0]) if divisor else x)


class Function(NamedTuple):
    """A function of the grammar: `kinds` has a letter for each operand, the last repeats if `variadic`.

    d is a dim, q a dim or an exact quotient, c a condition.
    """

    kinds: str
    build: Callable[..., Any]
    variadic: bool = False
    rounds: bool = False
    """`/` is exact inside it."""

    def kind(self, index: int) -> str:
        return self.kinds[min(index, len(self.kinds) - 1)]

    @property
    def arity(self) -> str:
        plural = "" if len(self.kinds) == 1 else "s"
        return f"{'at least ' * self.variadic}{len(self.kinds)} operand{plural}"


_MAX: Final = Function("q", _extreme(normal.maximum), variadic=True)
_MIN: Final = Function("q", _extreme(normal.minimum), variadic=True)
_FLOOR: Final = Function("q", floor, rounds=True)
_CEIL: Final = Function("q", ceil, rounds=True)
_TRUNC: Final = Function("q", truncate, rounds=True)
_CEIL_TO_INT: Final = Function("q", _ceil_to_int, variadic=True, rounds=True)
_SAME: Final = Function("q", lambda x: x)
_FLOORDIV: Final = Function("dd", normal.floordiv)
_MOD: Final = Function("dd", normal.mod)
_ITE: Final = Function("cdd", rel.ite)


def _of_floats(function: str, kinds: str = "q") -> Function:
    """A function that takes a float; of a dim alone it has no meaning."""

    def build(*numbers: Number) -> Number:
        raise ValueError(f"{function} takes a float: float32(...) makes one of a dim")

    return Function(kinds, build, rounds=True)


FUNCTIONS: Final[dict[str, Function]] = {
    "max": _MAX, "Max": _MAX, "min": _MIN, "Min": _MIN,
    "floor": _FLOOR, "FloorToInt": _FLOOR, "ceil": _CEIL, "ceiling": _CEIL, "CeilToInt": _CEIL_TO_INT,
    "trunc": _TRUNC, "TruncToInt": _TRUNC, "ToFloat": _SAME, "IntTrueDiv": Function("qq", over),
    "floordiv": _FLOORDIV, "FloorDiv": _FLOORDIV, "CleanDiv": _FLOORDIV,
    "ceildiv": Function("dd", normal.ceildiv), "CeilDiv": Function("dd", normal.ceildiv),
    "truncdiv": Function("dd", normal.truncdiv),
    "mod": _MOD, "Mod": _MOD, "PythonMod": _MOD, "fmod": Function("dd", normal.fmod),
    "ModularIndexing": Function("ddd", lambda a, b, m: normal.mod(normal.floordiv(a, b), m)),
    "abs": Function("d", lambda a: normal.maximum(a, -a)), "Abs": Function("d", lambda a: normal.maximum(a, -a)),
    "broadcast": Function("d", normal.broadcast, variadic=True),
    "ite": _ITE, "Where": _ITE,
    "float32": _of_floats("float32"), "float64": _of_floats("float64"), "round": _of_floats("round"),
    "sqrt": _of_floats("sqrt"), "int": _TRUNC, "int64": _of_floats("int64"), "int32": _of_floats("int32"),
    "Eq": Function("dd", rel.eq), "Ne": Function("dd", rel.ne), "Ge": Function("dd", rel.ge),
    "Gt": Function("dd", rel.gt), "Le": Function("dd", rel.le), "Lt": Function("dd", rel.lt),
    "And": Function("c", rel.conjunction, variadic=True), "Or": Function("c", rel.disjunction, variadic=True),
    "Not": Function("c", rel.negation),
}  # fmt: skip
"""Name -> function, every dialect's names in one table."""


DIVIDING: Final = frozenset(
    {
        *("floordiv", "FloorDiv", "CleanDiv", "ceildiv", "CeilDiv", "CeilToInt", "truncdiv", "IntTrueDiv"),
        *("mod", "Mod", "PythonMod", "fmod", "ModularIndexing"),
    }
)
"""Functions that divide by their later operands."""


TOTAL_FUNCTIONS: Final = FUNCTIONS | {"broadcast": Function("d", rel.first_not_one, variadic=True)}
"""The functions of texts without requirements: queries, assumptions, dims of inputs."""
