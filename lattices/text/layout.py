"""The layout of dims and relations: the pieces of text and the operands of each, and how tightly it binds.

An expression is shown as a sum of summands. The normal form has no `mod`: `k*a - k*m*(a//m)` is shown as `k*(a % m)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import gcd
from typing import Final, cast

from absint.lattices.logic.relation import Comparison, Relation, boolean, negation
from absint.lattices.records import NamedTuple
from absint.lattices.terms import expr as ex
from absint.lattices.terms.atoms import SymbolKind, divided
from absint.lattices.terms.expr import Atom, Dim, Expr, Monomial, Symbol, constant_divisor, expr_of, mul, sub
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import of_ratio, shortest
from absint.lattices.terms.interval import ZERO
from absint.lattices.terms.normal import exact_quotient, mod, sole_atom, truncdiv
from absint.lattices.text.functions import FUNCTIONS
from absint.lattices.text.tokens import is_name, quote

_SUM, _NEGATIVE, _QUOTIENT, _PRODUCT, _POWER, _ATOM = range(6)
_REMAINDER: Final = {"floordiv": "%", "truncdiv": "fmod"}


class _Summand(NamedTuple):
    """sign * scale * product of factors * remainder of two expressions."""

    negative: bool
    scale: int
    factors: Monomial
    remainder: tuple[str, Expr, Expr] | None = None

    @property
    def is_constant(self) -> bool:
        return not self.factors and self.remainder is None


Shown = Expr | Relation | Float


class Operand(NamedTuple):
    """An expression, relation or float still to be printed, in parentheses if it binds looser than `least`."""

    value: Shown
    least: int = _SUM


Piece = str | Operand


def laid_out(value: Shown) -> tuple[int, list[Piece]]:
    """The binding power of an expression, relation or float, and its pieces."""
    if isinstance(value, Expr):
        return _expression(value)
    return _relation(value) if isinstance(value, Relation) else _float(value)


def symbol_text(symbol: Symbol) -> str:
    if symbol.kind is not SymbolKind.INPUT:
        return "?"
    name = symbol.name
    return name if is_name(name) and name not in FUNCTIONS else quote(name)


def _expression(e: Expr) -> tuple[int, list[Piece]]:
    """The binding power of an expression, and its pieces."""
    summands = _summands(e)
    if len(summands) != 1:
        return _SUM, _sum(summands)
    only = summands[0]
    if only.negative:
        return _NEGATIVE, _sum(summands)
    if (alone := sole_atom(e)) is not None:
        return _atom(alone)
    return _product(only)


def _sum(summands: list[_Summand]) -> list[Piece]:
    """Positive terms, then negative ones, the constant last; a constant goes before negative terms only."""
    if not summands:
        return ["0"]
    positive = [s for s in summands if not s.negative and not s.is_constant]
    negative = [s for s in summands if s.negative and not s.is_constant]
    constant = [s for s in summands if s.is_constant]
    leads = not positive and constant and not constant[0].negative
    pieces: list[Piece] = []
    for s in constant + negative if leads else positive + negative + constant:
        level, body = _product(s)
        if pieces:
            pieces.append(" - " if s.negative else " + ")
        elif s.negative:
            pieces.append("-")
            body = _wrapped(level, body, _PRODUCT)
        pieces += body
    return pieces


def _summands(e: Expr) -> list[_Summand]:
    """The terms of the expression, remainders recognised, in structural order."""
    if e.const is not None:
        return [_Summand(e.const < 0, abs(e.const), ())]
    left = dict(e.terms)
    found: list[_Summand] = []
    if len(left) < ex.MAX_TERMS:
        for mono, coef in e.ordered:
            if left.get(mono) == coef and (part := _remainder(mono, coef, left)) is not None:
                found.append(part)
    plain = [_Summand(coef < 0, abs(coef), mono) for mono, coef in e.ordered if mono and mono in left]
    constant = left.get((), 0)
    return found + plain + ([_Summand(constant < 0, abs(constant), ())] if constant else [])


def _remainder(mono: Monomial, coef: int, left: dict[Monomial, int]) -> _Summand | None:
    """The summand k*r*(a % b) that the term -k*r*b*(a // b) is part of; its terms are taken out of `left`."""
    for factor in dict.fromkeys(mono):
        if factor.op not in _REMAINDER:
            continue
        a, b = cast(tuple[Expr, Expr], factor.args)
        lead, scale = b.ordered[0]
        rest = divided((mono, -coef), ((factor, *lead), scale))
        if rest is None:
            continue
        others, k = rest
        group = mul(ex.polynomial({others: k}), sub(a, mul(b, expr_of(factor))))
        if not isinstance(group, Expr):
            continue
        if all(left.get(m) == c for m, c in group.terms if m or a.const is not None):
            for m, c in group.terms:
                left[m] = left.get(m, 0) - c
                if not left[m]:
                    del left[m]
            return _Summand(k < 0, abs(k), others, (_REMAINDER[factor.op], a, b))
    return _quotient_remainder(mono, coef, left)


def _quotient_remainder(mono: Monomial, coef: int, left: dict[Monomial, int]) -> _Summand | None:
    """The summand k*((a // p) % m) that k*(a // p) - k*m*(a // (p*m)) is; its terms are taken out of `left`."""
    if len(mono) != 1 or not constant_divisor(mono[0]):
        return None
    a, divisor = mono[0].args[0], constant_divisor(mono[0])
    found: list[tuple[int, Monomial]] = []
    for whole, k in left.items():
        node = whole[0] if len(whole) == 1 else None
        inner = constant_divisor(node) if node and node.args and node.args[0] is a else 0
        if divisor > inner > 0 and divisor % inner == 0 and coef * inner == -k * divisor:
            found.append((inner, whole))
    if not found:
        return None
    inner, whole = max(found, key=lambda pair: pair[0])
    del left[mono]
    k = left.pop(whole)
    return _Summand(k < 0, abs(k), (), ("%", expr_of(whole[0]), ex.const(divisor // inner)))


def _product(s: _Summand) -> tuple[int, list[Piece]]:
    """A summand without its sign."""
    factors: list[tuple[int, list[Piece]]] = []
    if s.scale != 1 or s.is_constant:
        factors.append((_ATOM, [str(s.scale)]))
    for factor, group in groupby(s.factors):
        power = len(list(group))
        level, pieces = _factor(factor)
        if power > 1:
            level, pieces = _POWER, [*_wrapped(level, pieces, _ATOM), f"**{power}"]
        factors.append((level, pieces))
    if s.remainder is not None:
        op, a, b = s.remainder
        infix: list[Piece] = [Operand(a, _PRODUCT), " % ", Operand(b, _POWER)]
        factors.append((_QUOTIENT, infix) if op == "%" else (_ATOM, _call(op, (a, b))))
    if len(factors) == 1:
        return factors[0]
    pieces = []
    for level, body in factors:
        if pieces:
            pieces.append("*")
        pieces += _wrapped(level, body, _POWER)
    return _PRODUCT, pieces


def _wrapped(level: int, pieces: list[Piece], least: int) -> list[Piece]:
    if level >= least:
        return pieces
    only = pieces[0]
    return [only._replace(least=least)] if isinstance(only, Operand) and len(pieces) == 1 else ["(", *pieces, ")"]


def _factor(factor: Atom) -> tuple[int, list[Piece]]:
    """An atom in a sum or product: an operand of its own, unless it is a symbol."""
    level, pieces = _atom(factor)
    alone: Dim = expr_of(factor)
    return level, [Operand(alone)] if factor.args and isinstance(alone, Expr) else pieces


def _atom(factor: Atom) -> tuple[int, list[Piece]]:
    if isinstance(factor, Symbol):
        return _ATOM, [symbol_text(factor)]
    if factor.op == "floordiv":
        a, b = cast(tuple[Expr, Expr], factor.args)
        return _QUOTIENT, [Operand(a, _PRODUCT), "//", Operand(b, _POWER)]
    return _ATOM, _call(factor.op, cast("tuple[Shown, ...]", factor.args))


def _call(function: str, args: Iterable[Shown]) -> list[Piece]:
    pieces: list[Piece] = [f"{function}("]
    for arg in args:
        pieces += [Operand(arg), ", "]
    return [*pieces[:-1], ")"]


# Floats

_MOST_DIVISOR: Final = 1 << 20


def _float(term: Float) -> tuple[int, list[Piece]]:
    """The binding power of a float term, and its pieces. A constant beside another operand needs no type."""
    match term.op:
        case "constant":
            return _ATOM, [f"{term.format}(", *_number(term)[1], ")"]
        case "of":
            return _ATOM, [f"{term.format}(", *_ratio(term), ")"]
        case "cast":
            return _ATOM, _call(term.format, term.floats)
        case "neg":
            return _NEGATIVE, ["-", Operand(term.floats[0], _PRODUCT + 1)]
        case "+" | "*" | "/":
            return _infix(term)
        case "max" | "min":
            return _ATOM, [f"{term.op}(", *_side(term.floats[0]), ", ", *_side(term.floats[1]), ")"]
    return _ATOM, _call(term.op, cast("tuple[Relation | Float, ...]", term.args))


def _infix(term: Float) -> tuple[int, list[Piece]]:
    a, b = term.floats
    if term.op == "+":
        if a.op == "neg" and b.op != "neg" and not (b.is_constant and b.number < 0):
            a, b = b, a
        negated = b.floats[0] if b.op == "neg" else None
        if b.is_constant and b.number < 0:
            return _SUM, [*_side(a), " - ", shortest(b.format, -b.number)]
        if negated is not None:
            return _SUM, [*_side(a), " - ", *_side(negated, _QUOTIENT)]
        return _SUM, [*_side(a), " + ", *_side(b, _QUOTIENT)]
    if term.op == "*" and b.is_constant and 1 / _MOST_DIVISOR <= b.number < 1 and (1 / b.number).is_integer():
        over, under = b.number.as_integer_ratio()
        if over == 1:
            return _PRODUCT, [*_side(a, _PRODUCT), f"/{under}"]
    return _PRODUCT, [*_side(a, _PRODUCT), term.op, *_side(b, _POWER)]


def _side(term: Float, least: int = _SUM) -> list[Piece]:
    if not term.is_constant:
        return [Operand(term, least)]
    level, pieces = _number(term)
    return _wrapped(level, pieces, least)


def _number(term: Float) -> tuple[int, list[Piece]]:
    text = shortest(term.format, term.number)
    return _NEGATIVE if text.startswith("-") else _ATOM, [text]


def _ratio(leaf: Float) -> list[Piece]:
    """`N/3`; by a float of the format, as in `N/0.1`, where the quotient is by such a one."""
    over, under = leaf.leaf, leaf.under
    if under == 1:
        return [Operand(over)]
    power = gcd(*(coef for _, coef in over.terms))
    power &= -power
    by = of_ratio(leaf.format, under, power)
    less = exact_quotient(over, ex.const(power)) if by.as_integer_ratio() == (under, power) else None
    if power > 1 and isinstance(less, Expr):
        return [Operand(less, _PRODUCT), "/", shortest(leaf.format, by)]
    return [Operand(over, _PRODUCT), f"/{under}"]


# Relations

_OR, _AND, _NOT = range(3)
_FLIPPED: Final = {">=": "<=", "==": "==", "!=": "!="}


def _relation(r: Relation) -> tuple[int, list[Piece]]:
    if r.op in ("and", "or"):
        level = _AND if r.op == "and" else _OR
        pieces: list[Piece] = []
        for part in r.parts if r.op == "and" else sorted(r.parts, key=_afterthought):
            pieces += [Operand(part, level), f" {r.op} "]
        return level, pieces[:-1]
    if isinstance(r, Comparison):
        return _NOT, _literal(r) or _comparison(r.op, r.expr)
    return _NOT, ["?" if r.op == "unknown" else r.op]


def _afterthought(alternative: Relation) -> int:
    """A sort key, which puts the alternative that reads best last at the end: `H % 8 == 0 or batch == 0`, `edges <=
    nodes or nodes >= 2 or edges == 0`.
    """
    line = alternative.line
    if not isinstance(alternative, Comparison) or line is None or _literal(alternative):
        return 0
    if not isinstance(sole_atom(line.term), Symbol):
        return 0 if line.range == (ZERO,) else 1
    return 2 if alternative.op == ">=" else 3


def _literal(r: Comparison) -> list[Piece]:
    """A boolean symbol or its negation; nothing for another comparison."""
    factor = next(r.expr.atoms(), None)
    if isinstance(factor, Symbol) and factor.bounds == (0, 1):
        condition = boolean(factor.name)
        if r is condition:
            return [symbol_text(factor)]
        if r is negation(condition):
            return ["not ", symbol_text(factor)]
    return []


def _comparison(op: str, e: Expr) -> list[Piece]:
    left, op, right = _sides(op, e)
    return [*_sum(left), f" {op} ", *_sum(right)]


def _sides(op: str, e: Expr) -> tuple[list[_Summand], str, list[_Summand]]:
    """`e op 0` with the negative terms on the right, or the constant alone there."""
    summands = _summands(e)
    left = [s for s in summands if not s.negative and not s.is_constant]
    right = [s._replace(negative=False) for s in summands if s.negative and not s.is_constant]
    constant = next((s for s in summands if s.is_constant), None)
    if not right:
        return left, op, [constant._replace(negative=not constant.negative)] if constant else []
    if not left:
        return right, _FLIPPED[op], [constant] if constant else []
    flipped = op == ">=" and len(left) < len(right)  # past + seq <= total
    if constant is not None and constant.negative:
        if op == ">=" and constant.scale == 1:
            op = ">"
        else:
            right.append(constant._replace(negative=False))
    elif constant is not None:
        left.append(constant)
    if flipped:
        return right, "<" if op == ">" else "<=", left
    return left, op, right


def sides(r: Relation) -> tuple[Expr, str, Expr] | None:
    """The two expressions that a comparison shows, and the text between them; None for any other relation."""
    if not isinstance(r, Comparison) or _literal(r):
        return None
    left, op, right = _sides(r.op, r.expr)
    found = _total(left), _total(right)
    return (found[0], f" {op} ", found[1]) if isinstance(found[0], Expr) and isinstance(found[1], Expr) else None


def _total(summands: Iterable[_Summand]) -> Dim:
    """The expression that these summands add up to."""
    total: Dim = ex.ZERO_EXPR
    for s in summands:
        term = ex.polynomial({s.factors: -s.scale if s.negative else s.scale})
        if s.remainder is not None:
            op, a, b = s.remainder
            term = mul(term, mod(a, b) if op == "%" else sub(a, mul(b, truncdiv(a, b))))
        total = ex.add(total, term)
    return total
