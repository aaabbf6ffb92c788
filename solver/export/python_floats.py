"""Float terms as Python: the functions that generated sources call to round as the run does.

They raise ZeroDivisionError where a float has no value that every platform shares, as a quotient by 0 does.
"""

from __future__ import annotations

from typing import Final

from absint.lattices.terms.floats import Float, signs_zero

FLOAT_HELPERS: Final[dict[str, str]] = {
    "_float64": '''
def _float64(a):
    """The number; NaN is none."""
    if a != a:
        raise ZeroDivisionError("a float that is no number")
    return a
''',
    "_float32": '''
def _float32(a):
    """The nearest float32; infinite beyond its range."""
    if a != a:
        raise ZeroDivisionError("a float that is no number")
    try:
        return _struct.unpack("f", _struct.pack("f", a))[0]
    except OverflowError:
        return _math.copysign(_math.inf, a)
''',
    "_float64_of": '''
def _float64_of(over, under=1):
    """The float64 nearest to a rational number."""
    try:
        return over / under
    except OverflowError:
        return _math.inf if over > 0 else -_math.inf
''',
    "_float32_of": '''
def _float32_of(over, under=1):
    """The float32 nearest to a rational number, rounded once."""
    near = _float64_of(over, under)
    if near - near != 0.0:
        return near
    top, bottom = near.as_integer_ratio()
    rest = over * bottom - top * under
    if rest and _struct.unpack("q", _struct.pack("d", near))[0] % 2 == 0:
        near = _math.nextafter(near, _math.inf if rest > 0 else -_math.inf)
    return _float32(near)
''',
    "_over": '''
def _over(a, b):
    """The quotient of two floats."""
    if b:
        return a / b
    if not a:
        raise ZeroDivisionError("a float that is no number")
    return _math.copysign(_math.inf, a) * _math.copysign(1.0, b)
''',
    "_extreme": '''
def _extreme(pick, a, b):
    """The larger or smaller of two floats; of 0 and -0 neither is."""
    if a == b == 0 and _math.copysign(1.0, a) != _math.copysign(1.0, b):
        raise ZeroDivisionError("two zeros of different signs")
    return pick(a, b)
''',
    "_whole": '''
def _whole(rounding, a):
    """The float rounded to an integer by a function of Python."""
    return a if a - a != 0.0 else _math.copysign(float(rounding(a)), a)
''',
    "_root": '''
def _root(a):
    """The square root."""
    if a < 0:
        raise ZeroDivisionError("the root of a negative number")
    return _math.sqrt(a)
''',
    "_cast": '''
def _cast(a, least, most):
    """The float rounded towards 0, as an integer of the type between two ends."""
    if a - a != 0.0 or not least <= int(a) <= most:
        raise ZeroDivisionError("a float outside the integers of its cast")
    return int(a)
''',
}
"""The source of the functions that float terms call."""

NEEDED: Final = {
    "_float32_of": ("_float64_of", "_float32"),
}
"""Functions that others call."""

_WHOLE: Final = {"floor": "_math.floor", "ceil": "_math.ceil", "round": "round"}


def call(term: Float, operands: list[str]) -> tuple[str, tuple[str, ...]]:
    """The source of a term over those of its operands, and the helpers that it calls."""
    form, a = f"_{term.format}", operands[0] if operands else ""
    match term.op:
        case "constant":
            return repr(term.number), ()
        case "of":
            over = a if term.under == 1 else f"{a}, {term.under}"
            return f"{form}_of({over})", (f"{form}_of",)
        case "cast":
            return f"{form}({a})", (form,)
        case "neg":
            return f"(-{a})", ()
        case "abs":
            return f"abs({a})", ()
        case "floor" | "ceil" | "round":
            return f"_whole({_WHOLE[term.op]}, {a})", ("_whole",)
        case "sqrt":
            return f"{form}(_root({a}))", (form, "_root")
        case "max" | "min":
            return f"_extreme({term.op}, {a}, {operands[1]})", ("_extreme",)
        case "ite":
            return f"({operands[1]} if {a} else {operands[2]})", ()
        case "/" if signs_zero(term.floats[1]):
            return f"{form}(_over({a}, {operands[1]}))", (form, "_over")
    return f"{form}({a} {term.op} {operands[1]})", (form,)
