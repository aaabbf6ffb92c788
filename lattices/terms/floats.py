"""Floats that a run rounds: terms over IEEE 754 arithmetic, and the integers that they are cast to.

A `Float` is an operation of the run, in its order: nothing is reassociated, so equal computations are one object, and
evaluating a term rounds where the run rounds. Its leaves are exact quotients of integers, rounded once. A detector that
resizes by `min(800/min(h, w), 1333/max(h, w))` has such sizes.

An integer that a float is cast to is an atom of the term. `int64` and `int32` stand for the number that the run gets:
where the float is NaN, infinite or outside the type, that is the platform's, so the atom has no value there, and its
bounds are those of the type. `int` is the float rounded towards 0, where that is a number of INT64: who says that a
size is such a number assumes so, or shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd, inf, isfinite, isinf, isnan, nan
from typing import Final, cast

from absint.lattices.terms import ieee
from absint.lattices.terms.atoms import Atom, Operand, Values, operands_first, postorder, short_key
from absint.lattices.terms.dim import Condition, Dim, float_text
from absint.lattices.terms.evaluation import UndefinedError
from absint.lattices.terms.expr import Expr, const, sole_atom
from absint.lattices.terms.ieee import ANYTHING, BINARY, DIGITS, UNARY, Format, Span, of_ratio, order, rounded
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.polynomials import exact_quotient

MAX_FLOAT: Final = 400
"""Operations in a term, those inside its leaves and repetitions counted."""


class Float(Operand):
    """A number of a float format that the run computes. `+ - * /` and comparisons build nothing: use the functions."""

    __slots__ = ("__weakref__", "_atoms", "args", "format", "key", "number", "op", "size", "span", "under")

    op: str
    """`constant`, `of` (a leaf), `cast`, `ite`, or an operation of `absint.lattices.terms.ieee`."""
    format: Format
    args: tuple[Operand, ...]
    number: float
    """The value of a constant."""
    under: int
    """The exact divisor of a leaf's integer."""
    span: Span
    """The range of its values, by the bounds of the symbols alone."""
    key: str
    size: int
    _atoms: tuple[Atom, ...]

    @property
    def floats(self) -> tuple[Float, ...]:
        """The operands that are floats."""
        return tuple([arg for arg in self.args if isinstance(arg, Float)])

    @property
    def leaf(self) -> Expr:
        """The integer of a leaf."""
        return cast(Expr, self.args[0])

    @property
    def is_constant(self) -> bool:
        return self.op == "constant"

    def atoms(self) -> Iterator[Atom]:
        """The atoms of the leaves and conditions, each once."""
        return iter(self._atoms)

    def subterms(self) -> list[Float]:
        """Every term it is built from, operands first, each once, itself last."""
        return operands_first(self, lambda term: term.floats)

    def rebuild(self, values: Mapping[Atom, Dim]) -> Float | None:
        """The term with each atom replaced by its value; None if one is unknown."""
        done: dict[Float, Float | None] = {}
        for term in self.subterms():
            others = [cast("Expr | Condition", arg).rebuild(values) for arg in term.args if not isinstance(arg, Float)]
            floats = [done[part] for part in term.floats]
            done[term] = _built(term.op, term.format, others, floats, term.number, term.under)
        return done[self]

    def compute(self, values: Values) -> float:
        """The float once the atoms have their values; infinite where the run overflows or divides by 0.

        Raises UndefinedError for NaN, and where kernels may differ.
        """
        done: dict[Float, float] = {}
        for term in self.subterms():
            done[term] = _computed(term, [done[part] for part in term.floats], values)
        if isnan(done[self]):
            raise UndefinedError("a float that is no number")
        return done[self]

    def value(self, values: Values) -> int:
        """The number rounded towards 0. Raises UndefinedError where it is no finite number."""
        found = self.compute(values)
        if isinf(found):
            raise UndefinedError("a float that is infinite")
        return int(found)

    @property
    def is_total(self) -> bool:
        """Every value is a finite number, whatever the symbols are within their bounds, where its leaves have one."""
        return self.span.is_finite and not any(
            (term.op == "/" and term.floats[1].span.has(0) and not signs_zero(term.floats[1]))
            or (term.op in ("max", "min") and all(part.span.has(0) for part in term.floats))
            for term in self.subterms()
        )

    @property
    def signature(self) -> tuple[str, tuple[Operand, ...]]:
        """The term as a function of its leaves and conditions: the text of the function, and the arguments."""
        places: dict[Operand, int] = {}
        texts: dict[Float, str] = {}
        for term in self.subterms():
            inner = [texts[part] for part in term.floats]
            for arg in term.args:
                if not isinstance(arg, Float):
                    inner.insert(0, f"x{places.setdefault(arg, len(places))}")
            if term.under > 1:
                inner.append(str(term.under))
            name = repr(term.number) if term.is_constant else term.op
            texts[term] = f"{name}({' '.join(inner)})" if inner else name
        return f"{self.format} {texts[self]}", tuple(places)

    def __str__(self) -> str:
        return float_text(self)

    def __repr__(self) -> str:
        return f"Float({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[..., Float | None], tuple[object, ...]]:
        others = [arg for arg in self.args if not isinstance(arg, Float)]
        return _built, (self.op, self.format, others, self.floats, self.number, self.under)


_FLOATS: InternTable[Float] = InternTable()


def _float(
    op: str, form: Format, args: tuple[Operand, ...], span: Span, number: float = 0.0, under: int = 1
) -> Float | None:
    """The term, interned; None over the size budget."""
    key = (op, form, repr(number), under, *map(id, args))
    found = _FLOATS.get(key)
    if found is not None:
        return found
    size = 1 + sum(arg.size for arg in args)
    if size > MAX_FLOAT:
        return None

    def build() -> Float:
        self = object.__new__(Float)
        self.op, self.format, self.args, self.number, self.under, self.span = op, form, args, number, under, span
        self.size = size
        self._atoms = tuple(dict.fromkeys(inner for arg in args for inner in arg.atoms()))
        own = repr(number) if op == "constant" else "" if under == 1 else str(under)
        self.key = short_key(f"{form}.{op}{own}({','.join(arg.key for arg in args)})", op)
        return self

    return _FLOATS.add(key, build)


# Constructors: None for a term that is unknown or too large


def constant(form: Format, value: float) -> Float | None:
    """A number, rounded to the format; None if that is not finite. Of the two zeros there is one, of unknown sign."""
    number = rounded(form, value) + 0.0
    return _float("constant", form, (), Span(number, number), number) if isfinite(number) else None


def of(form: Format, num: Dim, under: int = 1) -> Float | None:
    """An exact quotient of an integer and a positive constant, rounded once: what a cast of an integer gives."""
    if not isinstance(num, Expr):
        return None
    shared = gcd(under, *(coef for _, coef in num.terms))
    if shared > 1:
        num, under = cast(Expr, exact_quotient(num, const(shared))), under // shared
    if num.const is not None:
        return constant(form, of_ratio(form, num.const, under))
    only = sole_atom(num) if under == 1 else None
    if only is not None and only.op == "int" and (whole := _whole(form, cast(Float, only.args[0]))) is not None:
        return whole
    lo, hi = num.bounds
    span = Span(-inf if lo is None else of_ratio(form, lo, under), inf if hi is None else of_ratio(form, hi, under))
    return _float("of", form, (num,), span, under=under)


def _whole(form: Format, a: Float) -> Float | None:
    """The float of the integer that a float is cast to: rounded towards 0 it is the same number."""
    if a.format == "float64" and form == "float32":
        return None
    a = cast(Float, cast_float(form, a))
    if is_integral(a):
        return a
    return unary("floor", a) if a.span.lo >= 0 else unary("ceil", a) if a.span.hi <= 0 else None


def cast_float(form: Format, a: Float | None) -> Float | None:
    """The number in another format."""
    if a is None or a.format == form:
        return a
    if a.is_constant:
        return constant(form, a.number)
    if form == "float64" and a.op == "of" and _is_exact(a):
        return of(form, a.leaf, a.under)
    if a.op == "cast" and a.floats[0].format == form and form == "float32":
        return a.floats[0]
    return _float("cast", form, (a,), Span(rounded(form, a.span.lo), rounded(form, a.span.hi), a.span.nan))


def unary(op: str, a: Float | None) -> Float | None:
    """An operation of `ieee.UNARY`."""
    if a is None:
        return None
    if a.is_constant:
        return constant(a.format, rounded(a.format, UNARY[op](a.number)))
    if op in ("floor", "ceil", "round") and is_integral(a):
        return a
    if op in ("floor", "ceil", "round") and a.op == "cast" and a.format == "float64":
        return cast_float(a.format, unary(op, a.floats[0]))
    if op == "abs" and order(a.span.lo) >= order(0.0):
        return a
    if op == "neg" and a.op == "neg":
        return a.floats[0]
    return _float(op, a.format, (a,), ieee.unary_span(a.format, op, a.span))


def binary(op: str, a: Float | None, b: Float | None) -> Float | None:
    """An operation of `ieee.BINARY` on two numbers of one format."""
    if a is None or b is None or a.format != b.format:
        return None
    form = a.format
    if a.is_constant and b.is_constant:
        return constant(form, rounded(form, BINARY[op](a.number, b.number)))
    if op == "/" and b.is_constant and b.number == 0:
        return None  # of the constants that elements are, none says which zero it is
    if op == "/" and b.is_constant and (inverse := _power_of_two(b)) is not None:
        op, b = "*", inverse
    if op != "/" and (a.is_constant, a.key) > (b.is_constant, b.key):
        a, b = b, a
    assert b is not None
    if b.is_constant and b.number == (0.0 if op == "+" else 1.0) and _keeps(op, a, b):
        return a
    if op in ("max", "min"):
        if a is b:
            return a
        below, above = (a, b) if op == "min" else (b, a)
        if not (a.span.nan or b.span.nan):
            if below.span.hi < above.span.lo:
                return a
            if above.span.hi < below.span.lo:
                return b
    span = ieee.binary_span(form, op, a.span, b.span)
    if op == "/" and b.span.has(0) and not signs_zero(b):
        span = ANYTHING
    return _float(op, form, (a, b), span)


def _keeps(op: str, a: Float, b: Float) -> bool:
    """x*1 is x, and so is x/1; x + 0 is x but for -0 + 0, which is 0."""
    if op == "+":
        return order(b.number) < order(0.0) or not (order(a.span.lo) <= order(-0.0) <= order(a.span.hi))
    return op in ("*", "/")


def choose(condition: Condition, a: Float | None, b: Float | None) -> Float | None:
    """a where the condition holds, else b."""
    if a is None or b is None or a.format != b.format:
        return None
    if a is b or condition.settled is True:
        return a
    if condition.settled is False:
        return b
    return _float("ite", a.format, (condition, a, b), a.span.join(b.span))


def is_integral(a: Float) -> bool:
    """Every finite value is an integer."""
    if a.op in ("floor", "ceil", "round") or (a.op == "of" and a.under == 1):
        return True
    if a.is_constant:
        return a.number.is_integer()
    return a.op in ("neg", "abs", "max", "min", "ite", "cast", "+", "*") and all(map(is_integral, a.floats))


@lru_cache(maxsize=1 << 12)
def signs_zero(a: Float) -> bool:
    """Where the value is 0, its sign is that which the term computes: no leaf stands for a 0 that may be -0."""
    return all(
        _is_plain(term.leaf) if term.op == "of" else term.number != 0 if term.is_constant else True
        for term in a.subterms()
    )


def _is_plain(num: Expr) -> bool:
    """A sum of natural numbers without a choice among others: where floats computed it, 0 was never -0."""
    if any(coef < 0 for _, coef in num.terms):
        return False
    for node in postorder(num.atoms()):
        lo = node.bounds.lo
        if lo is None or lo < 0 or node.op == "ite":
            return False
        if any(isinstance(arg, Expr) and any(coef < 0 for _, coef in arg.terms) for arg in node.args):
            return False
    return True


def _is_exact(leaf: Float) -> bool:
    """The leaf needs no rounding."""
    limit = 1 << DIGITS[leaf.format]
    return leaf.under & (leaf.under - 1) == 0 and leaf.under <= limit and leaf.leaf.bounds.leq(Interval(-limit, limit))


def _power_of_two(a: Float) -> Float | None:
    """1/a, if it is exact: dividing by a is multiplying by it."""
    over, under = a.number.as_integer_ratio()
    if over == 0 or abs(over) & (abs(over) - 1) or under & (under - 1) or not 2.0**-100 <= abs(a.number) <= 2.0**100:
        return None
    return constant(a.format, 1 / a.number)


def _built(
    op: str, form: Format, others: Sequence[object], floats: Sequence[Float | None], number: float, under: int
) -> Float | None:
    """The term of an operation; `others` are its operands that are no floats."""
    if op == "constant":
        return constant(form, number)
    if op == "of":
        return of(form, cast(Dim, others[0]), under)
    if op == "ite":
        return choose(cast(Condition, others[0]), *floats)
    if op == "cast":
        return cast_float(form, floats[0])
    return unary(op, floats[0]) if op in UNARY else binary(op, *floats)


def _computed(term: Float, floats: list[float], values: Values) -> float:
    if term.is_constant:
        return term.number
    if term.op == "of":
        try:
            return of_ratio(term.format, term.leaf.value(values), term.under)
        except UndefinedError:  # a side of a choice that may not be taken
            return nan
    if term.op == "ite":
        return floats[0 if term.args[0].value(values) else 1]
    if term.op == "cast":
        return rounded(term.format, floats[0])
    if term.op == "/" and floats[1] == 0 and not signs_zero(term.floats[1]):
        return nan
    return rounded(term.format, (UNARY[term.op] if term.op in UNARY else BINARY[term.op])(*floats))
