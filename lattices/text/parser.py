"""The parser of dims and relations; `absint.lattices.text` is the public entry.

Operator precedence with explicit stacks, so that depth is no limit. Every operation is charged before it is done,
against a budget that is linear in the text, so that no short text takes long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Final, cast

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms import expr as ex
from absint.lattices.terms import normal
from absint.lattices.terms.expr import Dim, Expr, const, mul
from absint.lattices.text import functions
from absint.lattices.text.functions import DIVIDING, FUNCTIONS, TOTAL_FUNCTIONS, Function, Number, Ratio
from absint.lattices.text.nearest import either, nearest
from absint.lattices.text.syntax import (
    AND,
    CLOSING,
    COMPARE,
    COMPARISONS,
    IMPLIES,
    INFIX,
    MINIMUM,
    NOT,
    OPERATIONS,
    OR,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    Dims,
    Infix,
    Item,
    Name,
    Names,
    Open,
    Set,
    Sum,
    terms,
)
from absint.lattices.text.tokens import (
    MAX_DIGITS,
    RESERVED,
    TextError,
    Token,
    check_length,
    integer,
    shown,
    token_at,
    unquote,
)

MAX_CONDITION_DEPTH: Final = 100
"""Deepest alternation of `and` with `or`."""

_WORK: Final = 10_000
_WORK_PER_CHARACTER: Final = 100


class Parser:
    """One run over one text."""

    functions: Iterable[str] = FUNCTIONS
    """What may be meant by the name of a function that is not there."""

    def __init__(self, text: str, names: Names, relation: bool, total: bool) -> None:
        self.text, self.names = text, names
        self.table = TOTAL_FUNCTIONS if total else FUNCTIONS
        self.divisors: list[Expr] = []  # in the text; the normal form may be without them
        self.infix = INFIX | {"&": AND if relation else MINIMUM}
        self.at = 0  # where the next token is looked for
        self.items: list[Item] = []
        self.stack: list[Infix | Open] = []
        self.exact = False  # whether `/` is exact: inside floor, ceil and trunc
        self.negated_in: Token | None = None  # the `not` of a `not in`
        self.depth: dict[Relation, int] = {}
        self.work = _WORK + _WORK_PER_CHARACTER * len(text)

    def dim(self) -> Expr:
        return self._dim(self._run())

    def relation(self) -> Relation:
        return self._condition(self._run())

    def _run(self) -> Item:
        check_length(self.text)
        token, wants_operand = None, True
        try:
            while token is None or token.kind != "end":
                token = self._next(wants_operand)
                self.at = token.at + len(token.text)
                wants_operand = self._operand(token) if wants_operand else self._operator(token)
        except RecursionError:
            raise self._error(0, "the expression nests too deeply to be normalised") from None
        (result,) = self.items
        return result

    def _error(self, at: int, reason: str) -> TextError:
        return TextError(self.text, at, reason)

    def _misread(self, at: int, reason: str) -> TextError:
        """The error of a text that does not parse."""
        return self._error(at, reason)

    def _spend(self, units: int, at: int) -> None:
        self.work -= units
        if self.work < 0:
            raise self._error(at, "the expression takes too much work to normalise")

    # Tokens; each method returns whether an operand comes next

    def _next(self, wants_operand: bool) -> Token:
        return token_at(self.text, self.at)

    def _operand(self, token: Token) -> bool:
        top = self.stack[-1] if self.stack else None
        set_wanted = isinstance(top, Infix) and top.op in ("in", "not in")
        if token.kind == "op" and token.text in CLOSING and (token.text == "(" or set_wanted):
            self._open(token, "set" if set_wanted else "group")
            return True
        if set_wanted:
            raise self._error(token.at, f"expected a set such as {{1, 64}}, found {token.found}")
        if token.text in ("-", "+", "~") and token.kind == "op":
            prefix = {"-": "neg", "+": "pos", "~": "not"}[token.text]
            self.stack.append(Infix(prefix, NOT if prefix == "not" else SIGN, token.at))
            return True
        if token.kind == "name" and token.text == "not":
            self.stack.append(Infix("not", NOT, token.at))
            return True
        self.items.append(Item(self._literal(token), token.at))
        return False

    def _literal(self, token: Token) -> Expr | Relation | Ratio | Name:
        match token.kind:
            case "int":
                return self._settled_dim(const(integer(token, self.text)), token.at)
            case "decimal":
                return self._decimal(token)
            case "quoted":
                return Name(unquote(token, self.text), calls=False)
            case "name" if token.text not in RESERVED:
                return Name(token.text, calls=True)
            case "name" if token.text.lower() in ("true", "false"):
                return rel.TRUE if token.text.lower() == "true" else rel.FALSE
        raise self._misread(token.at, f"expected a number, a name or '(', found {token.found}")

    def _decimal(self, token: Token) -> Expr | Ratio:
        """A decimal is exact where it is a binary fraction, as float arithmetic would have it."""
        if len(token.text) > MAX_DIGITS:
            raise self._error(token.at, f"a number has at most {MAX_DIGITS} digits, this one has {len(token.text) - 1}")
        value = Fraction(token.text)
        over, under = self._settled_dim(const(value.numerator), token.at), value.denominator
        if under == 1:
            return over
        if not self.exact or under & (under - 1):
            raise self._error(token.at, "expected an integer, or a binary fraction inside floor(...) or ceil(...)")
        return Ratio(over, const(under))

    def _operator(self, token: Token) -> bool:
        op = token.text if token.kind in ("op", "name") else ""
        if self.negated_in is not None:
            if op != "in":
                raise self._error(token.at, f"expected 'in' after 'not', found {token.found}")
            token, op, self.negated_in = self.negated_in, "not in", None
        if token.kind == "end":
            self._reduce(-1)
            if self.stack:
                raise self._error(token.at, f"expected {self._innermost().closing!r}, found the end")
        elif op == "(" and isinstance(name := self.items[-1].value, Name) and name.calls:
            self._open(token, "call", name.name)
            return True
        elif op == "not":
            self.negated_in = token
        elif op in self.infix:
            power = self.infix[op]
            # `->` and `**` group to the right; `and`, `or` and comparisons apply to a whole chain of operands at once.
            self._reduce(power - (power not in (IMPLIES, POWER, OR, AND, COMPARE)))
            self.stack.append(Infix(op, power, token.at))
            return True
        elif op == ",":
            self._reduce(-1)
            if not self.stack or self._innermost().kind == "group":
                raise self._error(token.at, "a comma separates the operands of a function only")
            return True
        elif op in (")", "}", "]"):
            self._close(token)
        else:
            inside = [repr(self._innermost().closing)] if any(isinstance(s, Open) for s in self.stack) else []
            raise self._misread(token.at, f"expected {' or '.join(['an operator', *inside])}, found {token.found}")
        return False

    def _innermost(self) -> Open:
        return next(s for s in reversed(self.stack) if isinstance(s, Open))

    # Brackets

    def _open(self, token: Token, kind: str, function: str = "") -> None:
        if kind == "call":
            name = self.items.pop()
            if function not in FUNCTIONS:
                near = nearest(function, self.functions, 1)
                raise self._misread(name.at, f"no function {shown(function)}" + (f": {either(near)}?" if near else ""))
            token = Token(token.kind, token.text, name.at)
        self.stack.append(Open(kind, CLOSING[token.text], token.at, len(self.items), self.exact, function))
        if kind == "call":
            self.exact = self.exact or FUNCTIONS[function].rounds

    def _close(self, token: Token) -> None:
        self._reduce(-1)
        if not self.stack:
            raise self._error(token.at, f"{token.text!r} closes nothing")
        opened = cast(Open, self.stack[-1])
        if opened.closing != token.text:
            raise self._error(token.at, f"expected {opened.closing!r}, found {token.found}")
        self.stack.pop()
        self.exact = opened.exact
        operands = self.items[opened.first :]
        del self.items[opened.first :]
        self.items.append(self._closed(opened, operands))

    def _closed(self, opened: Open, operands: list[Item]) -> Item:
        """What stands in brackets."""
        value = operands[0].value
        if opened.kind == "call":
            value = self._call(opened, operands)
        elif opened.kind == "set":
            value = Set(tuple(self._dim(item) for item in operands))
        elif isinstance(value, Name):
            value = value._replace(calls=False)
        return Item(value, opened.at)

    def _call(self, opened: Open, operands: list[Item]) -> Expr | Relation | Ratio:
        function: Function = self.table[opened.function]
        count = len(function.kinds)
        if len(operands) < count or (len(operands) > count and not function.variadic):
            raise self._error(opened.at, f"{opened.function} takes {function.arity}, found {len(operands)}")
        convert = {"d": self._dim, "q": self._number, "c": self._condition}
        arguments = [convert[function.kind(i)](item) for i, item in enumerate(operands)]
        sizes = [terms(a) for a in arguments]
        self._spend(sum(sizes) * len(sizes) + sizes[0] * sizes[-1], opened.at)
        if opened.function in DIVIDING:
            self.divisors += [
                a.over if isinstance(a, Ratio) else a for a in arguments[1:] if isinstance(a, Expr | Ratio)
            ]
        try:
            value = function.build(*arguments)
        except ValueError as problem:
            raise self._error(opened.at, str(problem)) from None
        return self._stated(value, opened.at) if isinstance(value, Relation) else self._settled(value, opened.at)

    # Operators

    def _reduce(self, power: int) -> None:
        """Apply the operators on top of the stack that bind tighter than `power`."""
        while self.stack and isinstance(top := self.stack[-1], Infix) and top.power > power:
            if top.power in (OR, AND, COMPARE):
                self._apply_chain(top.power)
            else:
                self.stack.pop()
                self._apply(top)

    def _apply(self, infix: Infix) -> None:
        right = self.items.pop()
        at = infix.at
        value: Expr | Relation | Ratio | Sum
        if infix.op == "not":
            condition = self._condition(right)
            value = rel.negation(condition)
            self.depth[value] = self.depth.get(condition, 0)
        elif infix.op in ("neg", "pos"):
            number = self._number(right)
            value = number if infix.op == "pos" else self._settled(functions.minus(number), at)
        else:
            left = self.items.pop()
            at = left.at
            if infix.power == IMPLIES:
                premise, conclusion = self._condition(left), self._condition(right)
                value = self._deeper(rel.implies(premise, conclusion), (premise, conclusion), infix.at)
            elif infix.power == SUM:
                value = self._sum(left, right, infix)
            elif infix.power == POWER:
                value = self._raised(left, right)
            else:
                value = self._arithmetic(left, right, infix)
        self.items.append(Item(value, at))

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
        if infix.power == PRODUCT and y is ex.ZERO_EXPR:
            raise self._error(infix.at, "division by zero")
        if infix.power == PRODUCT:
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

    def _apply_chain(self, power: int) -> None:
        """All the operators of this power on top of the stack at once: `a and b and c`, `0 <= N <= 7`."""
        chain: list[Infix] = []
        while self.stack and isinstance(top := self.stack[-1], Infix) and top.power == power:
            chain.append(top)
            self.stack.pop()
        chain.reverse()
        first = len(self.items) - len(chain) - 1
        operands = self.items[first:]
        del self.items[first:]
        if power == COMPARE:
            values = [item.value if isinstance(item.value, Set | Dims) else self._dim(item) for item in operands]
            conditions = [self._compared(values[i], infix, values[i + 1]) for i, infix in enumerate(chain)]
        else:
            conditions = [self._condition(item) for item in operands]
        self._spend(len(conditions), operands[0].at)
        result = rel.disjunction(*conditions) if power == OR else rel.conjunction(*conditions)
        self.items.append(Item(self._deeper(result, conditions, operands[0].at), operands[0].at))

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

    # What an operand is where it stands

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
        if isinstance(value, Relation | Set | Dims):
            raise self._error(item.at, f"expected a number, found {_KINDS[type(value)]}")
        return value

    def _condition(self, item: Item) -> Relation:
        value = item.value
        if isinstance(value, Name):
            return self._boolean(value, item.at)
        if not isinstance(value, Relation):
            raise self._no_condition(item.at, _KINDS.get(type(value), "a number"))
        return value

    def _no_condition(self, at: int, found: str) -> TextError:
        return self._error(at, f"expected a condition such as N >= 1, found {found}")

    def _boolean(self, name: Name, at: int) -> Relation:
        self._check_name(name, at)
        return rel.boolean(name.name)

    def _symbol(self, name: Name, at: int) -> Expr:
        self._check_name(name, at)
        if isinstance(self.names, Mapping):
            return self._settled_dim(self.names[name.name], at)
        return ex.symbol(name.name)

    def _check_name(self, written: Name, at: int) -> None:
        name = written.name
        if self.names is not None and name not in self.names:
            near = nearest(name, self.names, 1)
            raise self._error(at, f"no symbol {shown(name)} here" + (f": {either(near)}?" if near else ""))

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


_KINDS: Final[Mapping[type, str]] = {Relation: "a condition", Set: "a set", Dims: "a shape"}
