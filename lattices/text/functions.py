"""The functions of the grammar: of dims, of exact quotients (the meaning of `/` inside `floor` and `ceil`), of floats.

A number beside a float is one of its format: `800/float32(h)`. A dim has to be converted: `float32(w)*float32(h)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, Final

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms import floats, normal
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, add, const, mul
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import Format, of_ratio


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


def _divided(a: Dim, by: Dim, times: Dim) -> Dim:
    if not isinstance(by, Expr) or (by.const or 0) < 2:
        raise ValueError("the second operand of `divided` is a number of 2 or more")
    return normal.divided_times(a, by, times)


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
    "truncdiv": Function("dd", normal.truncdiv), "divided": Function("ddd", _divided),
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


class Literal(NamedTuple):
    """A decimal that is no binary fraction: a float rounds it, and exact arithmetic has no place for it."""

    value: Fraction


class Quotient(NamedTuple):
    """An integer over a decimal, to be divided by the float nearest to that and rounded once: `float32(N/0.1)`."""

    over: Expr
    by: Fraction


FORMATS: Final[Mapping[str, Format]] = {"float32": "float32", "float64": "float64"}
"""Functions that round a number to a format."""

CASTS: Final[Mapping[str, Callable[[Float], Dim]]] = {
    "int": normal.integer, "trunc": normal.integer, "int64": normal.int64, "int32": normal.int32,
}  # fmt: skip
"""Functions that make an integer of a float."""

_UNARY: Final = {
    "floor": "floor", "ceil": "ceil", "ceiling": "ceil", "round": "round", "sqrt": "sqrt", "abs": "abs", "Abs": "abs",
}  # fmt: skip
_BINARY: Final = {"max": "max", "Max": "max", "min": "min", "Min": "min"}
FLOAT_FUNCTIONS: Final = frozenset({*FORMATS, *CASTS, *_UNARY, *_BINARY, "ite", "Where"})
"""Functions that take floats."""


def as_float(form: Format, number: object) -> Float | None:
    """The number in a format. Raises ValueError for what cannot stand beside a float."""
    if isinstance(number, Float):
        if number.format != form:
            raise ValueError(f"expected a {form}, found a {number.format}: write {form}(...)")
        return number
    value = fraction(number)
    if value is None:
        raise ValueError(f"expected a float, found an integer: write {form}(...)")
    return floats.constant(form, of_ratio(form, value.numerator, value.denominator))


def fraction(number: object) -> Fraction | None:
    """The value of a constant that is no float."""
    if isinstance(number, Literal):
        return number.value
    over, under = parts(number) if isinstance(number, Expr | Ratio) else (None, None)
    if isinstance(over, Expr) and isinstance(under, Expr) and over.const is not None and under.const:
        return Fraction(over.const, under.const)
    return None


def converted(form: Format, number: object) -> Float | None:
    """`float32(...)` of a dim, of an exact quotient by a constant, of a constant, of another float."""
    if isinstance(number, Float):
        return floats.cast_float(form, number)
    value = fraction(number)
    if value is not None:
        return floats.constant(form, of_ratio(form, value.numerator, value.denominator))
    if isinstance(number, Expr):
        return floats.of(form, number)
    if isinstance(number, Quotient):
        top, bottom = of_ratio(form, number.by.numerator, number.by.denominator).as_integer_ratio()
        return floats.of(form, number.over * bottom, top) if top > 0 else None
    if isinstance(number, Ratio) and number.under.const:
        return floats.of(form, number.over, number.under.const)
    raise ValueError(f"{form} takes a dim, or a quotient by a constant")


def float_call(function: str, operands: Sequence[object]) -> Float | Dim | None:
    """One of the functions where an operand is a float. None for a result without a value, or over the budget."""
    if function in FORMATS:
        return converted(FORMATS[function], operands[0])
    form = next(operand.format for operand in operands if isinstance(operand, Float))
    if function in ("ite", "Where"):
        condition, *sides = operands
        assert isinstance(condition, Relation)
        return floats.choose(condition, *(as_float(form, side) for side in sides))
    values = [as_float(form, operand) for operand in operands]
    if function in CASTS:
        return None if values[0] is None else CASTS[function](values[0])
    if function in _UNARY:
        return floats.unary(_UNARY[function], values[0])
    result = values[0]
    for value in values[1:]:
        result = floats.binary(_BINARY[function], result, value)
    return result


def float_operation(op: str, a: object, b: object) -> Float | None:
    """a op b, one of `+ - * /`, where one of the two is a float."""
    form = a.format if isinstance(a, Float) else b.format if isinstance(b, Float) else "float32"
    x, y = as_float(form, a), as_float(form, b)
    return floats.binary("+", x, floats.unary("neg", y)) if op == "-" else floats.binary(op, x, y)
