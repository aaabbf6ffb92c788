"""The operators and functions of the grammar, applied to operands.

Every operation is charged in advance to a budget that is linear in the text, so that no short text takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, cast

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms import expr as ex, normal
from absint.lattices.terms.expr import Dim, Expr, const, mul
from absint.lattices.terms.floats import MAX_FLOAT, Float, unary
from absint.lattices.terms.interval import Interval
from absint.lattices.text import functions
from absint.lattices.text.escapes import nearest, suggestion
from absint.lattices.text.functions import FUNCTIONS, TOTAL_FUNCTIONS, Function, Literal, Number, Quotient, Ratio
from absint.lattices.text.syntax import COMPARISONS, Bracket, Dims, Infix, Item, Name, Names, Power, Set, Sum, terms
from absint.lattices.text.tokens import TextError, shown

MAX_CONDITION_DEPTH: Final = 100
"""Deepest alternation of `and` with `or`."""

OPERATIONS: Final[dict[str, Callable[[Dim, Dim], Dim]]] = {
    "//": normal.floordiv,
    "/:": normal.floordiv,
    "%": normal.mod,
    "^": normal.maximum,
    "&": normal.minimum,
}

TRUTHS: Final = Interval(0, 1)
"""The numbers of false and true."""

_WORK: Final = 10_000
_WORK_PER_CHARACTER: Final = 100


class Operations:
    """The operations of one text."""

    def __init__(self, text: str, names: Names, total: bool) -> None:
        self.text, self.names = text, names
        self.table = TOTAL_FUNCTIONS if total else FUNCTIONS
        self.divisors: list[Expr] = []  # of the text; the normal form may lack them
        self.exact = False  # inside floor, ceil and trunc, where `/` is exact
        self.depth: dict[Relation, int] = {}
        self.work = _WORK + _WORK_PER_CHARACTER * len(text)

    def _error(self, at: int, reason: str) -> TextError:
        return TextError(self.text, at, reason)

    def _spend(self, units: int, at: int) -> None:
        self.work -= units
        if self.work < 0:
            raise self._error(at, "the expression takes too much work to normalise")

    # Functions

    def _call(self, opened: Bracket, operands: list[Item]) -> Expr | Relation | Ratio | Float:
        function: Function = self.table[opened.function]
        count = len(function.kinds)
        if len(operands) < count or (len(operands) > count and not function.variadic):
            raise self._error(opened.at, f"{opened.function} takes {function.arity}, found {len(operands)}")
        if self._takes_floats(opened.function, operands):
            return self._of_floats(opened, operands)
        convert = {"d": self._dim, "q": self._number, "c": self._condition}
        arguments = [convert[function.kind(i)](item) for i, item in enumerate(operands)]
        sizes = [terms(a) for a in arguments]
        self._spend(sum(sizes) * len(sizes) + sizes[0] * sizes[-1], opened.at)
        if opened.function in functions.DIVIDING:
            self.divisors += [
                a.over if isinstance(a, Ratio) else a for a in arguments[1:] if isinstance(a, Expr | Ratio)
            ]
        try:
            value = function.build(*arguments)
        except ValueError as problem:
            raise self._error(opened.at, str(problem)) from None
        return self._stated(value, opened.at) if isinstance(value, Relation) else self._settled(value, opened.at)

    def _takes_floats(self, function: str, operands: list[Item]) -> bool:
        return function in functions.FORMATS or any(isinstance(item.value, Float) for item in operands)

    def _of_floats(self, opened: Bracket, operands: list[Item]) -> Expr | Float:
        function, count = opened.function, len(operands)
        if function not in functions.FLOAT_FUNCTIONS:
            raise self._error(opened.at, f"{function} takes no float: int(...) makes an integer of it")
        arguments = [
            self._condition(item) if self.table[function].kind(i) == "c" else self._plain(item)
            for i, item in enumerate(operands)
        ]
        self._spend(sum(map(terms, arguments)) * count, opened.at)
        try:
            value = functions.float_call(function, arguments)
        except ValueError as problem:
            raise self._error(opened.at, str(problem)) from None
        return self._float(value, opened.at)

    def _plain(self, item: Item) -> Expr | Ratio | Float | Literal | Quotient:
        """A number, a float or a decimal, and what is divided by one."""
        return item.value if isinstance(item.value, Float | Literal | Quotient) else self._number(item)

    def _float(self, value: Float | Dim | None, at: int) -> Expr | Float:
        if isinstance(value, Float | Expr):
            return value
        raise self._error(at, f"no float: it is infinite or no number, or over {MAX_FLOAT} operations")

    # Operators

    def _prefixed(self, infix: Infix, right: Item) -> Expr | Relation | Ratio | Float | Literal:
        """`not`, `-` or `+` before an operand."""
        if infix.op == "not":
            condition = self._condition(right)
            relation = rel.negation(condition)
            self.depth[relation] = self.depth.get(condition, 0)
            return relation
        value = right.value
        if isinstance(value, Literal):
            return Literal(-value.value) if infix.op == "neg" else value
        if isinstance(value, Float):
            return cast(Float, self._float(unary("neg", value), infix.at)) if infix.op == "neg" else value
        number = self._number(right)
        return number if infix.op == "pos" else self._settled(functions.minus(number), infix.at)

    def _infixed(self, left: Item, infix: Infix, right: Item) -> Expr | Relation | Ratio | Float | Quotient | Sum:
        """An operator between two operands."""
        if isinstance(left.value, Float) or isinstance(right.value, Float):
            return self._between_floats(left, infix, right)
        if infix.op == "/" and self.exact and isinstance(right.value, Literal) and right.value.value > 0:
            return Quotient(self._dim(left), right.value.value)
        if infix.power == Power.IMPLIES:
            premise, conclusion = self._condition(left), self._condition(right)
            return self._deeper(rel.implies(premise, conclusion), (premise, conclusion), infix.at)
        if infix.power == Power.SUM:
            return self._sum(left, right, infix)
        if infix.power == Power.POWER:
            return self._raised(left, right)
        return self._arithmetic(left, right, infix)

    def _between_floats(self, left: Item, infix: Infix, right: Item) -> Float:
        if infix.op not in ("+", "-", "*", "/"):
            raise self._error(infix.at, f"{infix.op!r} takes no float: int(...) makes an integer of it")
        x, y = self._plain(left), self._plain(right)
        self._spend(terms(x) + terms(y), infix.at)
        try:
            value = functions.float_operation(infix.op, x, y)
        except ValueError as problem:
            raise self._error(infix.at, str(problem)) from None
        return cast(Float, self._float(value, infix.at))

    def _sum(self, left: Item, right: Item, infix: Infix) -> Expr | Ratio | Sum:
        sign = 1 if infix.op == "+" else -1
        y = self._number(right)
        x = left.value if isinstance(left.value, Sum) and isinstance(y, Expr) else self._number(left)
        if isinstance(y, Ratio) or isinstance(x, Ratio):
            self._spend(terms(x) * terms(y), infix.at)
            return self._settled(functions.plus(cast(Number, x), y if sign > 0 else functions.minus(y)), infix.at)
        self._spend(len(y.terms), infix.at)
        total = x if isinstance(x, Sum) else Sum(x)
        total.add(y, sign)
        return total

    def _arithmetic(self, left: Item, right: Item, infix: Infix) -> Expr | Ratio:
        exact = infix.op == "*" or (infix.op == "/" and self.exact)
        x, y = (self._number(left), self._number(right)) if exact else (self._dim(left), self._dim(right))
        self._spend(terms(x) * terms(y), infix.at)
        if infix.op == "*":
            result: Number = functions.times(x, y) if isinstance(x, Ratio) or isinstance(y, Ratio) else mul(x, y)
            return self._settled(result, infix.at)
        if infix.power == Power.PRODUCT and y is ex.ZERO_EXPR:
            raise self._error(infix.at, "division by zero")
        if infix.power == Power.PRODUCT:
            self.divisors.append(y.over if isinstance(y, Ratio) else y)
        if infix.op == "/":
            result = functions.over(x, y) if self.exact else normal.truncdiv(cast(Dim, x), cast(Dim, y))
            return self._settled(result, infix.at)
        operation = OPERATIONS[infix.op]
        return self._settled(operation(cast(Dim, x), cast(Dim, y)), infix.at)

    def _raised(self, left: Item, right: Item) -> Expr:
        base, exponent = self._dim(left), self._dim(right).const
        if exponent is None or exponent < 0:
            raise self._error(right.at, "expected a natural number as exponent")
        if base.const is not None:
            if abs(base.const) <= 1:
                exponent = exponent % 2 or min(exponent, 2)
            if base.const.bit_length() * exponent > ex.MAX_BITS:
                raise self._error(right.at, f"expected a power of at most {ex.MAX_BITS} bits")
            return self._settled_dim(const(base.const**exponent), right.at)
        if exponent > ex.MAX_DEGREE:
            raise self._error(right.at, f"expected an exponent of at most {ex.MAX_DEGREE}")
        result: Dim = ex.ONE_EXPR
        for _ in range(exponent):
            self._spend(terms(result) * len(base.terms), right.at)
            result = self._settled_dim(mul(result, base), right.at)
        return cast(Expr, result)

    def _chained(self, operands: Sequence[Item], chain: Sequence[Infix]) -> Relation:
        """Operators of one power between operands, all at once: `a and b and c`, `0 <= N <= 7`."""
        power, at = chain[0].power, operands[0].at
        if power == Power.COMPARE:
            values = [item.value if isinstance(item.value, Set | Dims) else self._dim(item) for item in operands]
            conditions = [self._compared(values[i], infix, values[i + 1]) for i, infix in enumerate(chain)]
        else:
            conditions = [self._condition(item) for item in operands]
        self._spend(len(conditions), at)
        result = rel.disjunction(*conditions) if power == Power.OR else rel.conjunction(*conditions)
        return self._deeper(result, conditions, at)

    def _compared(self, x: Expr | Set | Dims, infix: Infix, y: Expr | Set | Dims) -> Relation:
        self._spend(terms(x) + terms(y), infix.at)
        if not isinstance(x, Expr) or isinstance(y, Dims):
            found = "a set" if isinstance(x, Set) else "a shape"
            raise self._error(infix.at, f"expected a dim on the left of a comparison, found {found}")
        if not isinstance(y, Set):
            return self._stated(COMPARISONS[infix.op](x, y), infix.at)
        self._spend(terms(x) * len(y.members), infix.at)
        inside = rel.disjunction(*(self._stated(rel.eq(x, member), infix.at) for member in y.members))
        return rel.negation(inside) if infix.op == "not in" else inside

    def _deeper(self, result: Relation, conditions: Collection[Relation], at: int) -> Relation:
        depth = 1 + max(self.depth.get(part, 0) for part in conditions)
        if depth > MAX_CONDITION_DEPTH:
            raise self._error(at, f"conditions nest deeper than {MAX_CONDITION_DEPTH}")
        if len(conditions) > 1:
            self.depth[result] = depth
        return result

    # Operands, converted to the kind that their place demands

    def _dim(self, item: Item) -> Expr:
        number = self._number(item)
        if isinstance(number, Ratio):
            raise self._error(
                item.at, "an exact quotient has to be rounded here by floor(...), ceil(...) or trunc(...)"
            )
        return number

    def _number(self, item: Item) -> Expr | Ratio:
        value = item.value
        if isinstance(value, Name):
            return self._symbol(value, item.at)
        if isinstance(value, Sum):
            return self._settled_dim(ex.polynomial(value.terms), item.at)
        if isinstance(value, Float):
            raise self._error(item.at, "expected an integer, found a float: int(...) rounds it towards 0")
        if isinstance(value, Literal | Quotient):
            raise self._error(item.at, "expected an integer, or a binary fraction inside floor(...) or ceil(...)")
        if isinstance(value, Relation | Set | Dims):
            raise self._error(item.at, f"expected a number, found {_kind(value)}")
        return value

    def _condition(self, item: Item) -> Relation:
        value = item.value
        if isinstance(value, Name):
            return self._boolean(value, item.at)
        if not isinstance(value, Relation):
            raise self._no_condition(item.at, _kind(value))
        return value

    def _no_condition(self, at: int, found: str) -> TextError:
        return self._error(at, f"expected a condition such as N >= 1, found {found}")

    def _boolean(self, name: Name, at: int) -> Relation:
        self._check_name(name, at)
        found = self.names[name.name] if isinstance(self.names, Mapping) else None
        if isinstance(found, Expr) and found.bounds.leq(TRUTHS):
            return rel.eq(found, 1)
        return rel.boolean(name.name)

    def _symbol(self, name: Name, at: int) -> Expr:
        self._check_name(name, at)
        if isinstance(self.names, Mapping):
            return self._settled_dim(self.names[name.name], at)
        return ex.symbol(name.name)

    def _check_name(self, written: Name, at: int) -> None:
        name = written.name
        if self.names is not None and name not in self.names:
            raise self._error(at, f"no symbol {shown(name)} here{suggestion(nearest(name, self.names, 1))}")

    def _settled(self, value: Number, at: int) -> Expr | Ratio:
        return value if isinstance(value, Ratio) else self._settled_dim(value, at)

    def _stated(self, relation: Relation, at: int) -> Relation:
        if relation is rel.UNKNOWN_RELATION:
            raise self._no_value(at)
        return relation

    def _settled_dim(self, value: Dim, at: int) -> Expr:
        if not isinstance(value, Expr):
            raise self._no_value(at)
        return value

    def _no_value(self, at: int) -> TextError:
        limits = f"{ex.MAX_TERMS} terms, degree {ex.MAX_DEGREE}, size {ex.MAX_SIZE}"
        return self._error(at, f"no expression: it divides by zero or outgrows the limits ({limits})")


def _kind(value: object) -> str:
    if isinstance(value, Relation):
        return "a condition"
    return "a set" if isinstance(value, Set) else "a shape" if isinstance(value, Dims) else "a number"
