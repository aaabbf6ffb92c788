"""Dims and relations as Python expressions with the meaning of `evaluate`.

The expressions need Python alone, and the functions in `HELPERS` that they name. Where no value exists they raise
ArithmeticError; the other parts of a formula may still decide it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, cast

from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.atoms import Operand
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Atom, Expr, Monomial, Symbol, postorder
from absint.lattices.terms.floats import Float, signs_zero

# Float terms as Python: the functions that generated sources call to round as the run does.
#
# They raise ZeroDivisionError where a float has no value that every platform shares, as a quotient by 0 does.

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

NEEDED: Final = {"_float32_of": ("_float64_of", "_float32")}
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


HELPERS: Final[dict[str, str]] = FLOAT_HELPERS | {
    "_all": '''
def _all(*parts):
    """True if all parts hold; a false one settles it even if another has no value."""
    undefined = None
    for part in parts:
        try:
            if not part():
                return False
        except ArithmeticError as error:
            undefined = error
    if undefined is not None:
        raise undefined
    return True
''',
    "_any": '''
def _any(*parts):
    """True if some part holds; a true one settles it even if another has no value."""
    undefined = None
    for part in parts:
        try:
            if part():
                return True
        except ArithmeticError as error:
            undefined = error
    if undefined is not None:
        raise undefined
    return False
''',
    "_broadcast": '''
def _broadcast(*sizes):
    """The size that is not 1, else 1. Raises ArithmeticError if there are two."""
    others = {size for size in sizes if size != 1}
    if len(others) > 1:
        raise ArithmeticError("sizes that do not broadcast")
    return others.pop() if others else 1
''',
    "_divided": '''
def _divided(a, b, times):
    """a divided by b, rounded down, so many times."""
    while times > 0 and a not in (0, -1):
        a, times = a // b, times - 1
    return a
''',
    "_truncdiv": '''
def _truncdiv(a, b):
    """a divided by b, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient
''',
}
"""The source of the functions that an expression may call."""

_FLIPPED: Final = {">=": "<=", "==": "==", "!=": "!="}

# The binding power of a piece of source, loosest first.
_CHOICE, _OR, _AND, _COMPARISON, _SUM, _PRODUCT, _POWER, _ATOM = range(8)

_DEEPEST: Final = 30
"""Operands that nest deeper than this become functions of their own, so that every Python can compile the source."""

_LONGEST_SUM: Final = 12


class Piece(NamedTuple):
    """An expression, its binding power and depth, and a flag: it may divide by zero."""

    text: str
    level: int = _ATOM
    depth: int = 1
    partial: bool = False

    def within(self, least: int) -> str:
        """The text as an operand of something that binds that tightly."""
        return self.text if self.level >= least else f"({self.text})"

    @property
    def deferred(self) -> str:
        return f"lambda: {self.text}"


class Source:
    """Writes expressions over local names, and collects the functions that they call."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` gives the local name of each symbol."""
        self._names = names
        self._atoms: dict[Atom, Piece] = {}
        self._formulas: dict[Relation, Piece] = {}
        self._functions: list[str] = []
        self._count = 0
        self.helpers: set[str] = set()
        """The names in HELPERS that the expressions written so far call."""

    def dim(self, dim: Expr) -> Piece:
        self._prepare(dim.atoms())
        return self._sum(dim)

    def relation(self, relation: Relation) -> Piece:
        """Raises ValueError for a relation over an unknown dim."""
        self._prepare(relation.atoms())
        return self._formula(relation)

    def functions(self) -> list[str]:
        """The lines of the local functions that the expressions written since the last call need, before them."""
        lines, self._functions = self._functions, []
        return lines

    def _prepare(self, roots: Iterable[Atom]) -> None:
        for node in postorder(roots):
            if node not in self._atoms:
                self._atoms[node] = self._shallow(self._atom(node))

    def _shallow(self, piece: Piece) -> Piece:
        if piece.depth <= _DEEPEST:
            return piece
        name = f"_part_{self._count}"
        self._count += 1
        self._functions += [f"def {name}():", f"    return {piece.text}"]
        return Piece(f"{name}()", _ATOM, 2, piece.partial)

    def _atom(self, node: Atom) -> Piece:
        if isinstance(node, Symbol):
            return Piece(self._names[node.name])
        if node.op == "ite":
            condition, *sides = cast(tuple[Relation, Expr, Expr], node.args)
            test, a, b = self._formula(condition), *map(self._sum, sides)
            text = f"{a.within(_OR)} if {test.within(_OR)} else {b.within(_OR)}"
            return _join(text, _CHOICE, (test, a, b))
        if node.op in INTEGERS:
            return self._of_floats(node)
        args = [self._sum(cast(Expr, arg)) for arg in node.args]
        if node.op in ("floordiv", "truncdiv"):
            return self._quotient(node, *args)
        if node.op == "divided":
            return self._call("_divided", [a.text for a in args], args)
        if node.op == "broadcast":
            return self._call("_broadcast", [a.text for a in args], args)._replace(partial=True)
        return _join(f"{node.op}({', '.join(a.text for a in args)})", _ATOM, args)

    def _of_floats(self, node: Atom) -> Piece:
        """An integer that floats are cast to."""
        whole = cast(Float, node.args[0])
        done: dict[Float, Piece] = {}
        for term in whole.subterms():
            args = [done[arg] if isinstance(arg, Float) else self._operand(arg) for arg in term.args]
            text, helpers = call(term, [arg.within(_ATOM) for arg in args])
            for helper in helpers:
                self.helpers.update((helper, *NEEDED.get(helper, ())))
            done[term] = self._shallow(_join(text, _ATOM, args) if args else Piece(text))
        lo, hi = INTEGERS[node.op]
        piece = self._call("_cast", [done[whole].text, str(lo), str(hi)], (done[whole],))
        return piece._replace(partial=piece.partial or not whole.is_total)

    def _operand(self, arg: Operand) -> Piece:
        return self._sum(arg) if isinstance(arg, Expr) else self._formula(cast(Relation, arg))

    def _quotient(self, node: Atom, a: Piece, b: Piece) -> Piece:
        if node.op == "truncdiv":
            piece = self._call("_truncdiv", [a.text, b.text], (a, b))
        else:
            piece = _join(f"{a.within(_PRODUCT)}//{b.within(_POWER)}", _PRODUCT, (a, b))
        return piece._replace(partial=piece.partial or 0 in cast(Expr, node.args[1]).bounds)

    def _call(self, helper: str, args: list[str], pieces: Iterable[Piece]) -> Piece:
        self.helpers.add(helper)
        return _join(f"{helper}({', '.join(args)})", _ATOM, pieces)

    def _sum(self, e: Expr) -> Piece:
        return _added([(coef, self._product(mono, abs(coef))) for mono, coef in e.ordered])

    def _product(self, mono: Monomial, scale: int) -> Piece:
        """A term without its sign."""
        factors = [Piece(str(scale))] if scale != 1 or not mono else []
        for factor in dict.fromkeys(mono):
            piece, power = self._atoms[factor], mono.count(factor)
            factors.append(piece if power == 1 else _join(f"{piece.within(_ATOM)}**{power}", _POWER, (piece,)))
        if len(factors) == 1:
            return factors[0]
        product = _join("*".join(f.within(_POWER) for f in factors), _PRODUCT, factors)
        return product._replace(depth=product.depth + len(factors))

    def _formula(self, relation: Relation) -> Piece:
        for part in relation.subformulas():
            if part not in self._formulas:
                self._formulas[part] = self._shallow(self._connected(part))
        return self._formulas[relation]

    def _connected(self, r: Relation) -> Piece:
        if r.op in ("true", "false"):
            return Piece(r.op.title())
        if isinstance(r, Comparison):
            return self._comparison(r.op, r.expr)
        if r.op not in ("and", "or"):
            raise ValueError("a relation over an unknown dim has no truth")
        parts = [self._formulas[part] for part in r.parts]
        if any(part.partial for part in parts):
            return self._call("_all" if r.op == "and" else "_any", [part.deferred for part in parts], parts)
        level = _AND if r.op == "and" else _OR
        return _join(f" {r.op} ".join(part.within(level + 1) for part in parts), level, parts)

    def _comparison(self, op: str, e: Expr) -> Piece:
        """`e op 0` with the negative terms on the right, or a constant alone there."""
        terms = [(coef, self._product(mono, abs(coef)), not mono) for mono, coef in e.ordered]
        constant_alone = all(coef > 0 or constant for coef, _, constant in terms)
        right_side = [constant if constant_alone else coef < 0 for coef, _, constant in terms]
        left = _added([(coef, p) for (coef, p, _), moved in zip(terms, right_side, strict=True) if not moved])
        right = _added([(-coef, p) for (coef, p, _), moved in zip(terms, right_side, strict=True) if moved])
        if all(constant for (_, _, constant), moved in zip(terms, right_side, strict=True) if not moved):
            left, op, right = right, _FLIPPED[op], left
        return _join(f"{left.within(_SUM)} {op} {right.within(_SUM)}", _COMPARISON, (left, right))


def _join(text: str, level: int, pieces: Iterable[Piece]) -> Piece:
    operands = tuple(pieces)
    depth = 1 + max(piece.depth for piece in operands)
    return Piece(text, level, depth, any(piece.partial for piece in operands))


def _added(terms: list[tuple[int, Piece]]) -> Piece:
    """The sum of pieces, each with the sign of its number."""
    if not terms:
        return Piece("0")
    if len(terms) == 1 and terms[0][0] > 0:
        return terms[0][1]
    pieces = [piece for _, piece in terms]
    terms = sorted(terms, key=lambda term: term[0] < 0)
    signed = [("-" if coef < 0 else "", piece.within(_PRODUCT)) for coef, piece in terms]
    if len(terms) > _LONGEST_SUM:
        return _join(f"sum(({', '.join(map(''.join, signed))}))", _ATOM, pieces)
    (sign, first), *rest = signed
    text = sign + (f"({first})" if sign and "//" in first else first)
    for sign, piece in rest:
        text += f" {sign or '+'} {piece}"
    total = _join(text, _SUM, pieces)
    return total._replace(depth=total.depth + len(terms))
