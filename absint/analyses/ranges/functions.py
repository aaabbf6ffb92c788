"""Ranges of arithmetic, functions and truths of single elements, and the table of all elementwise operators."""

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from math import inf, isinf
from typing import Final, Literal

from absint.analyses.arithmetic import COMPARISONS
from absint.analyses.ranges import rules
from absint.analyses.ranges.norms import own
from absint.analyses.ranges.rules import NONE, ONE, ZERO, fitted, interval, join, picked, truth
from absint.analyses.ranges.seen import ANY, FLOATS, TRUTHS, At, Rule
from absint.lattices.domains import INTERVALS as INTS, Interval, Span
from absint.lattices.dtype import INTEGER_RANGES, DType

# Arithmetic


def arithmetic(name: Literal["add", "sub", "mul"], least: int = 2) -> Rule:
    """Of that many operands or more."""

    def rule(at: At) -> Span:
        operands = [at.input(index) for index in range(max(len(at.ranges), least))]
        if at.is_float:
            of_floats: Callable[[Span, Span], Span] = getattr(at.form, name)
            return reduce(of_floats, operands)
        if at.dtype not in INTEGER_RANGES:
            return at.any
        of_integers: Callable[[Interval, Interval], Interval] = getattr(INTS, name)
        return fitted(at, reduce(of_integers, map(interval, operands)))

    return rule


def negative(at: At) -> Span:
    if at.is_float:
        return at.form.neg(at.input(0))
    return fitted(at, INTS.neg(interval(at.input(0)))) if at.dtype in INTEGER_RANGES else at.any


def division(at: At) -> Span:
    a, b = at.input(0), at.input(1)
    at.note("division by zero", b, ZERO)
    if at.is_float:
        return at.form.div(a, b)
    if at.dtype not in INTEGER_RANGES or b.has(0):
        return at.any
    x, y = interval(a), interval(b)
    return fitted(at, INTS.truncdiv(x, y).join(INTS.floordiv(x, y)))


def modulo(at: At) -> Span:
    a, b = at.input(0), at.input(1)
    at.note("division by zero", b, ZERO)
    if at.dtype not in INTEGER_RANGES or b.has(0):
        return at.any
    apply = INTS.rem if at.attribute("fmod", 0) else INTS.mod
    return fitted(at, apply(interval(a), interval(b)))


def power(at: At) -> Span:
    """Of a base that is not negative, or by one whole number."""
    x, y = at.input(0), at.input(1)
    whole = y.lo == y.hi and 0 <= y.lo <= 64 and float(y.lo).is_integer() and not y.nan
    if at.dtype in INTEGER_RANGES:
        if not whole or at.type(1) not in INTEGER_RANGES or isinf(x.lo) or isinf(x.hi):
            return at.any
        ends = [int(x.lo) ** int(y.lo), int(x.hi) ** int(y.lo)]
        low = 0 if x.has(0) and y.lo > 0 else min(ends)
        return fitted(at, Interval(min(low, *ends), max(ends)))
    if not at.is_float:
        return ANY
    if not whole:
        if not float(y.lo).is_integer() or y.lo != y.hi:
            at.note("outside of domain", x, Span(0.0, inf))
        return _real_power(at, x, y)
    found, form = Span(1.0, 1.0), at.form
    size = form.abs(x)
    for _ in range(int(y.lo)):
        found = form.mul(found, size)
    found = form.increasing(lambda end: end, found, steps=4)
    low = max(found.lo, 0.0)
    if y.lo % 2 == 0 or x.lo >= 0:
        return Span(low, found.hi, found.nan or x.nan)
    return Span(-found.hi, found.hi, found.nan or x.nan)


def _real_power(at: At, x: Span, y: Span) -> Span:
    """Of a base that is not negative; by one exponent it rises or falls."""
    if x.lo < 0 or x.nan or y.nan or x.is_empty or y.is_empty or (x.lo == 0 and y.lo < 0):
        return ANY  # by an odd exponent below 0, -0 gives -inf
    found = Span(0.0, inf, isinf(x.hi) or isinf(y.lo) or isinf(y.hi))
    if y.lo != y.hi or found.nan or (x.lo == 0 and y.lo == 0) or at.type(1) not in FLOATS:
        return found
    slack = max(2.0 ** (5 - at.digits), 1e-6)
    try:
        low, high = sorted(float(end) ** float(y.lo) for end in (x.lo, x.hi))
    except OverflowError:
        return found
    return at.form.rounded(Span(max(0.0, low * (1 - slack) - slack), high * (1 + slack) + slack))


def extreme(pick: Callable[[float, float], float]) -> Rule:
    return lambda at: reduce(partial(picked, pick), map(at.input, range(max(1, len(at.ranges)))))


def clip(at: At) -> Span:
    low, high = at.input(1, NONE), at.input(2, NONE)
    if len(at.ranges) == 1:  # before opset 11
        least, most = at.attribute("min", -inf), at.attribute("max", inf)
        low, high = Span(least, least), Span(most, most)
    found = at.input(0)
    found = found if low == NONE else picked(max, found, low)
    return found if high == NONE else picked(min, found, high)


# Functions


def roughly(function: Callable[[float], float], lo: float = -inf) -> Rule:
    """A function that never falls, with results from a number on, by kernels that approximate it."""
    return lambda at: near(at, function, at.input(0), lo)


def near(at: At, function: Callable[[float], float], x: Span, lo: float = -inf) -> Span:
    if not at.is_float:
        return at.any
    if x.is_empty:
        return x
    form, slack = at.form, max(2.0 ** (5 - at.digits), 1e-6)
    ends = []
    for end, way in ((x.lo, -1), (x.hi, 1)):
        try:
            value = function(end)
        except OverflowError:
            value = inf
        ends.append(value if isinf(value) else value + way * slack * (1 + abs(value)))
    found = form.rounded(Span(ends[0], ends[1]))
    return Span(max(found.lo, lo), found.hi, x.nan)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def softplus(x: float) -> float:
    return x if x > 700 else math.log1p(math.exp(x))


def logarithm(at: At) -> Span:
    x = at.input(0)
    at.note("outside of domain", x, Span(5e-324, inf))
    inside = Span(max(x.lo, 0.0), x.hi) if x.hi >= 0 else NONE
    found = near(at, lambda end: math.log(end) if end > 0 else -inf, inside)
    return Span(found.lo, found.hi, x.nan or x.lo < 0)


def root(at: At) -> Span:
    x = at.input(0)
    at.note("outside of domain", x, Span(0.0, inf))
    if not at.is_float:
        return at.any
    form = at.form
    found = form.increasing(lambda end: end, form.sqrt(x))
    return Span(max(found.lo, 0.0), found.hi, found.nan) if not found.is_empty else found


def quotient(at: At) -> Span:
    """Of a number by the root of the mean of squares, its own among them, what `norms` says."""
    found = division(at)
    most = rules.own_root(at, at.operand(1), at.operand(0))
    return found if most is None else found.meet(own(at, at.input(0), most, rules.LEAST, centred=False))


def times(at: At) -> Span:
    found = _PRODUCT(at)
    for index in (0, 1):
        most = rules.own_inverse_root(at, at.operand(1 - index), at.operand(index))
        if most is not None:
            found = found.meet(own(at, at.input(index), most, rules.LEAST, centred=False))
    return found


_PRODUCT: Final = arithmetic("mul")


def reciprocal(at: At) -> Span:
    x = at.input(0)
    at.note("division by zero", x, ZERO)
    return at.form.div(ONE, x) if at.is_float else ANY


def inverse(lo: float, hi: float, least: float, most: float) -> Rule:
    """Of a function that is defined between two numbers: what it gives lies between two others."""

    def rule(at: At) -> Span:
        x = at.input(0)
        at.note("outside of domain", x, Span(lo, hi))
        return Span(least, most, x.nan or x.lo < lo or x.hi > hi)

    return rule


def bounded(most: float) -> Rule:
    """A function whose results have at most this absolute value; of infinities some kernels give NaN."""

    def rule(at: At) -> Span:
        x = at.input(0)
        return Span(-most, most, not x.is_finite)

    return rule


def leaky(at: At) -> Span:
    x, slope = at.input(0), at.attribute("alpha", 0.01)
    if not at.is_float or x.is_empty:
        return ANY if not at.is_float else x
    form = at.form
    scaled = form.mul(Span(min(x.lo, 0.0), min(x.hi, 0.0)), form.rounded(Span(slope, slope)))
    return join(Span(max(x.lo, 0.0), max(x.hi, 0.0), x.nan), scaled)


def bump(least: float) -> Rule:
    """A smooth Relu, which goes a little below 0; of infinities some kernels give NaN."""
    return lambda at: bumped(at, at.input(0), least)


def bumped(at: At, x: Span, least: float) -> Span:
    if not at.is_float or x.is_empty:
        return ANY
    slack = max(1e-6, 2.0 ** (4 - at.digits))
    return Span(least, max(0.0, x.hi) + slack * max(1.0, abs(x.hi)), not x.is_finite)


def swish(default: float) -> Rule:
    """A number times the sigmoid of its multiple: at least -0.2785 by the factor, which is `alpha`."""

    def rule(at: At) -> Span:
        factor = at.attribute("alpha", default)
        return bumped(at, at.input(0), -0.28 / factor - 1e-3) if factor > 1e-3 else ANY

    return rule


def elu(at: At) -> Span:
    factor = at.attribute("alpha", 1.0)
    if not 0 <= factor < inf:
        return ANY
    return near(at, lambda end: end if end > 0 else factor * math.expm1(end), at.input(0), -factor * 1.001 - 1e-6)


def sloped(at: At) -> Span:
    """PRelu: a factor for numbers below 0."""
    x, slope = at.input(0), at.input(1)
    if not at.is_float or x.is_empty:
        return at.any
    below = at.form.mul(Span(min(x.lo, 0.0), min(x.hi, 0.0)), slope)
    return join(Span(max(x.lo, 0.0), max(x.hi, 0.0), x.nan), below)


def sign(at: At) -> Span:
    x = at.input(0)
    ends = [0 if end == 0 or x.is_empty else math.copysign(1, end) for end in (x.lo, x.hi)]
    found = join(Span(int(ends[0]), int(ends[1])), Span(0, 0) if x.nan else NONE)
    return Span(found.lo, found.hi, x.nan) if at.is_float else found


def dropped(at: At) -> Span:
    """Dropout, where nothing is dropped: it is not trained, or the input that says so is left out."""
    return at.input(0) if len(at.ranges) < 3 or at.ranges[2] is None else at.any


def absolute(at: At) -> Span:
    if at.dtype in INTEGER_RANGES:
        return fitted(at, INTS.abs(interval(at.input(0))))
    return at.form.abs(at.input(0)) if at.is_float else ANY


def of_form(name: str) -> Rule:
    """An operation that is exact in every format of floats."""

    def rule(at: At) -> Span:
        found: Span = getattr(FLOATS[DType.DOUBLE], name)(at.input(0))
        return found if at.is_float else at.any

    return rule


# Truths


def compared(name: str) -> Rule:
    def rule(at: At) -> Span:
        a, b = at.input(0), at.input(1)
        if name.startswith("Greater"):
            a, b = b, a
        nan = a.nan or b.nan
        if name == "Equal":
            if a.hi < b.lo or b.hi < a.lo:
                return Span(0, 0)
            return Span(1, 1) if a.lo == a.hi == b.lo == b.hi and not nan else TRUTHS
        within = name.endswith("OrEqual")
        if not nan and (a.hi <= b.lo if within else a.hi < b.lo):
            return Span(1, 1)
        return Span(0, 0) if (a.lo > b.hi if within else a.lo >= b.hi) else TRUTHS

    return rule


def connected(pick: Callable[[float, float], float]) -> Rule:
    def rule(at: At) -> Span:
        a, b = at.input(0, TRUTHS), at.input(1, TRUTHS)
        return Span(pick(a.lo, b.lo), pick(a.hi, b.hi))

    return rule


def negation(at: At) -> Span:
    a = at.input(0, TRUTHS)
    return Span(1 - a.hi, 1 - a.lo)


def choice(at: At) -> Span:
    condition, yes, no = at.input(0), at.input(1), at.input(2)
    branch = rules.without_nan(at)
    yes, no = Span(yes.lo, yes.hi, yes.nan and branch != 1), Span(no.lo, no.hi, no.nan and branch != 2)
    return yes if condition.lo >= 1 else no if condition.hi <= 0 else yes.join(no)


ELEMENTWISE: Final[Mapping[str, Rule]] = {
    "Add": arithmetic("add"), "Sub": arithmetic("sub"), "Mul": times, "Neg": negative,
    "Sum": arithmetic("add", 1), "Div": quotient, "Mod": modulo, "Pow": power, "Max": extreme(max),
    "Min": extreme(min), "Clip": clip, "Relu": lambda at: picked(max, at.input(0), Span(0, 0)), "Abs": absolute,
    "Sqrt": root, "Exp": roughly(math.exp, 0.0), "Log": logarithm, "Reciprocal": reciprocal, "Ceil": of_form("ceil"),
    "Floor": of_form("floor"), "Round": of_form("round"), "Sin": bounded(1.000001), "Cos": bounded(1.000001),
    "Softsign": bounded(1.00001), "Tanh": roughly(math.tanh), "Erf": roughly(math.erf), "Atan": roughly(math.atan),
    "Asinh": roughly(math.asinh), "Sigmoid": roughly(sigmoid, 0.0), "Softplus": roughly(softplus, 0.0),
    "Asin": inverse(-1.0, 1.0, -1.6, 1.6), "Acos": inverse(-1.0, 1.0, -1e-3, 3.2),
    "Acosh": inverse(1.0, inf, -1e-3, inf), "Atanh": inverse(-1.0, 1.0, -inf, inf), "LeakyRelu": leaky,
    "HardSigmoid": lambda at: Span(0.0, 1.0, at.input(0).nan), "HardSwish": bump(-0.38), "Gelu": bump(-0.18),
    "Mish": bump(-0.32), "Swish": swish(1.0), "Elu": elu, "PRelu": sloped,
    "ThresholdedRelu": lambda at: join(at.input(0), ZERO), "Sign": sign, "IsInf": truth,
    "IsNaN": lambda at: TRUTHS if at.input(0).nan else Span(0, 0),
    "Dropout": dropped, **{name: compared(name) for name in COMPARISONS}, "And": connected(min), "Or": connected(max),
    "Not": negation, "Where": choice,
}  # fmt: skip
