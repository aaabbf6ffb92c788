"""Ranges of functions and truths of single elements, and the table of all elementwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import inf, isinf
from typing import Final

from absint.analyses.ranges.norms import own
from absint.analyses.ranges.origins import LEAST, own_inverse_root, own_root, without_nan
from absint.analyses.ranges.rules import (
    DIGITS,
    FLOATS,
    NONE,
    ONE,
    ZERO,
    arithmetic,
    clip,
    division,
    extreme,
    fitted,
    input_of,
    interval,
    join,
    modulo,
    narrower,
    negative,
    picked,
    power,
    truth,
)
from absint.analyses.ranges.seen import ANY, TRUTHS, At, Rule, any_of
from absint.lattices.domains import INTERVALS as INTS, Span
from absint.lattices.dtype import INTEGER_RANGES, DType


def roughly(function: Callable[[float], float], lo: float = -inf) -> Rule:
    """A function that never falls, with results from a number on, by kernels that approximate it."""
    return lambda at: near(at, function, input_of(at, 0), lo)


def near(at: At, function: Callable[[float], float], x: Span, lo: float = -inf) -> Span:
    if at.dtype not in FLOATS:
        return any_of(at.dtype)
    if x.is_empty:
        return x
    form, slack = FLOATS[at.dtype], max(2.0 ** (5 - DIGITS[at.dtype]), 1e-6)
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


def exponential(at: At) -> Span:
    return near(at, math.exp, input_of(at, 0), 0.0)


def logarithm(at: At) -> Span:
    x = input_of(at, 0)
    at.note("outside of domain", x, Span(5e-324, inf))
    inside = Span(max(x.lo, 0.0), x.hi) if x.hi >= 0 else NONE
    found = near(at, lambda end: math.log(end) if end > 0 else -inf, inside)
    return Span(found.lo, found.hi, x.nan or x.lo < 0)


def root(at: At) -> Span:
    x = input_of(at, 0)
    at.note("outside of domain", x, Span(0.0, inf))
    if at.dtype not in FLOATS:
        return any_of(at.dtype)
    form = FLOATS[at.dtype]
    found = form.increasing(lambda end: end, form.sqrt(x))
    return Span(max(found.lo, 0.0), found.hi, found.nan) if not found.is_empty else found


def quotient(at: At) -> Span:
    """Of a number by the root of the mean of squares, its own among them, what `norms` says."""
    found = division(at)
    most = own_root(at, at.operand(1), at.operand(0))
    return found if most is None else narrower(found, own(at, input_of(at, 0), most, LEAST, centred=False))


def times(at: At) -> Span:
    found = _PRODUCT(at)
    for index in (0, 1):
        most = own_inverse_root(at, at.operand(1 - index), at.operand(index))
        if most is not None:
            found = narrower(found, own(at, input_of(at, index), most, LEAST, centred=False))
    return found


_PRODUCT: Final = arithmetic("mul")


def reciprocal(at: At) -> Span:
    x = input_of(at, 0)
    at.note("division by zero", x, ZERO)
    return FLOATS[at.dtype].div(ONE, x) if at.dtype in FLOATS else ANY


def inverse(lo: float, hi: float, least: float, most: float) -> Rule:
    """Of a function that is defined between two numbers: what it gives lies between two others."""

    def rule(at: At) -> Span:
        x = input_of(at, 0)
        at.note("outside of domain", x, Span(lo, hi))
        return Span(least, most, x.nan or x.lo < lo or x.hi > hi)

    return rule


def bounded(most: float) -> Rule:
    """A function whose results have at most this absolute value; of infinities some kernels give NaN."""

    def rule(at: At) -> Span:
        x = input_of(at, 0)
        return Span(-most, most, x.nan or isinf(x.lo) or isinf(x.hi))

    return rule


def leaky(at: At) -> Span:
    x, slope = input_of(at, 0), at.attribute("alpha", 0.01)
    if at.dtype not in FLOATS or x.is_empty:
        return ANY if at.dtype not in FLOATS else x
    form = FLOATS[at.dtype]
    scaled = form.mul(Span(min(x.lo, 0.0), min(x.hi, 0.0)), form.rounded(Span(slope, slope)))
    return join(Span(max(x.lo, 0.0), max(x.hi, 0.0), x.nan), scaled)


def bump(least: float) -> Rule:
    """A smooth Relu, which goes a little below 0; of infinities some kernels give NaN."""
    return lambda at: bumped(at, input_of(at, 0), least)


def bumped(at: At, x: Span, least: float) -> Span:
    if at.dtype not in FLOATS or x.is_empty:
        return ANY
    slack = max(1e-6, 2.0 ** (4 - DIGITS[at.dtype]))
    return Span(least, max(0.0, x.hi) + slack * max(1.0, abs(x.hi)), x.nan or isinf(x.lo) or isinf(x.hi))


def swish(default: float) -> Rule:
    """A number times the sigmoid of its multiple: at least -0.2785 by the factor, which is `alpha`."""

    def rule(at: At) -> Span:
        factor = at.attribute("alpha", default)
        return bumped(at, input_of(at, 0), -0.28 / factor - 1e-3) if factor > 1e-3 else ANY

    return rule


def elu(at: At) -> Span:
    factor = at.attribute("alpha", 1.0)
    if not 0 <= factor < inf:
        return ANY
    return near(at, lambda end: end if end > 0 else factor * math.expm1(end), input_of(at, 0), -factor * 1.001 - 1e-6)


def sloped(at: At) -> Span:
    """PRelu: a factor for numbers below 0."""
    x, slope = input_of(at, 0), input_of(at, 1)
    if at.dtype not in FLOATS or x.is_empty:
        return any_of(at.dtype)
    below = FLOATS[at.dtype].mul(Span(min(x.lo, 0.0), min(x.hi, 0.0)), slope)
    return join(Span(max(x.lo, 0.0), max(x.hi, 0.0), x.nan), below)


def thresholded(at: At) -> Span:
    return join(input_of(at, 0), ZERO)


def sign(at: At) -> Span:
    x = input_of(at, 0)
    ends = [0 if end == 0 or x.is_empty else math.copysign(1, end) for end in (x.lo, x.hi)]
    found = join(Span(int(ends[0]), int(ends[1])), Span(0, 0) if x.nan else NONE)
    return Span(found.lo, found.hi, x.nan) if at.dtype in FLOATS else found


def is_nan(at: At) -> Span:
    x = input_of(at, 0)
    return TRUTHS if x.nan else Span(0, 0)


def dropped(at: At) -> Span:
    """Dropout, where nothing is dropped: it is not trained, or the input that says so is left out."""
    return input_of(at, 0) if len(at.ranges) < 3 or at.ranges[2] is None else any_of(at.dtype)


def hard_sigmoid(at: At) -> Span:
    return Span(0.0, 1.0, input_of(at, 0).nan)


def relu(at: At) -> Span:
    return picked(max, input_of(at, 0), Span(0, 0))


def absolute(at: At) -> Span:
    if at.dtype in INTEGER_RANGES:
        return fitted(at, INTS.abs(interval(input_of(at, 0))))
    return FLOATS[at.dtype].abs(input_of(at, 0)) if at.dtype in FLOATS else ANY


def of_form(name: str) -> Rule:
    """An operation that is exact in every format of floats."""

    def rule(at: At) -> Span:
        found: Span = getattr(FLOATS[DType.DOUBLE], name)(input_of(at, 0))
        return found if at.dtype in FLOATS else any_of(at.dtype)

    return rule


# Truths


def compared(name: str) -> Rule:
    def rule(at: At) -> Span:
        a, b = input_of(at, 0), input_of(at, 1)
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


def conjunction(at: At) -> Span:
    a, b = input_of(at, 0, TRUTHS), input_of(at, 1, TRUTHS)
    return Span(min(a.lo, b.lo), min(a.hi, b.hi))


def disjunction(at: At) -> Span:
    a, b = input_of(at, 0, TRUTHS), input_of(at, 1, TRUTHS)
    return Span(max(a.lo, b.lo), max(a.hi, b.hi))


def negation(at: At) -> Span:
    a = input_of(at, 0, TRUTHS)
    return Span(1 - a.hi, 1 - a.lo)


def choice(at: At) -> Span:
    condition, yes, no = input_of(at, 0), input_of(at, 1), input_of(at, 2)
    branch = without_nan(at)
    yes, no = Span(yes.lo, yes.hi, yes.nan and branch != 1), Span(no.lo, no.hi, no.nan and branch != 2)
    return yes if condition.lo >= 1 else no if condition.hi <= 0 else yes.join(no)


ELEMENTWISE: Final[Mapping[str, Rule]] = {
    "Add": arithmetic("add"), "Sub": arithmetic("sub"), "Mul": times, "Neg": negative,
    "Sum": arithmetic("add", 1), "Div": quotient, "Mod": modulo, "Pow": power, "Max": extreme("max"),
    "Min": extreme("min"), "Clip": clip, "Relu": relu, "Abs": absolute, "Sqrt": root, "Exp": exponential,
    "Log": logarithm, "Reciprocal": reciprocal, "Ceil": of_form("ceil"), "Floor": of_form("floor"),
    "Round": of_form("round"), "Sin": bounded(1.000001), "Cos": bounded(1.000001), "Softsign": bounded(1.00001),
    "Tanh": roughly(math.tanh), "Erf": roughly(math.erf),
    "Atan": roughly(math.atan), "Sigmoid": roughly(sigmoid, 0.0), "Softplus": roughly(softplus, 0.0),
    "Asin": inverse(-1.0, 1.0, -1.6, 1.6), "Acos": inverse(-1.0, 1.0, -1e-3, 3.2),
    "Acosh": inverse(1.0, inf, -1e-3, inf), "Atanh": inverse(-1.0, 1.0, -inf, inf), "LeakyRelu": leaky,
    "HardSigmoid": hard_sigmoid, "HardSwish": bump(-0.38), "Gelu": bump(-0.18), "Mish": bump(-0.32),
    "Swish": swish(1.0), "Elu": elu, "PRelu": sloped, "ThresholdedRelu": thresholded, "Sign": sign,
    "IsNaN": is_nan, "IsInf": truth, "Dropout": dropped, "Asinh": roughly(math.asinh), "Less": compared("Less"),
    "LessOrEqual": compared("LessOrEqual"), "Greater": compared("Greater"),
    "GreaterOrEqual": compared("GreaterOrEqual"), "Equal": compared("Equal"), "And": conjunction,
    "Or": disjunction, "Not": negation, "Where": choice,
}  # fmt: skip
