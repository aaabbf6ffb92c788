"""The parser of dims and relations; `absint.lattices.text` is the public entry.

Operator precedence with explicit stacks, so that depth is no limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import cast

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr, const
from absint.lattices.text.float_functions import Literal
from absint.lattices.text.functions import FUNCTIONS, Ratio
from absint.lattices.text.nearest import either, nearest
from absint.lattices.text.operations import Operations
from absint.lattices.text.syntax import (
    AND,
    CLOSING,
    COMPARE,
    IMPLIES,
    INFIX,
    MINIMUM,
    NOT,
    OR,
    POWER,
    SIGN,
    Bracket,
    Infix,
    Item,
    Name,
    Names,
    Set,
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


class Parser(Operations):
    """One run over one text."""

    functions: Iterable[str] = FUNCTIONS
    """Names that an error may suggest for a misspelt function."""

    def __init__(self, text: str, names: Names, relation: bool, total: bool) -> None:
        super().__init__(text, names, total)
        self.infix = INFIX | {"&": AND if relation else MINIMUM}
        self.at = 0  # the column of the next token
        self.items: list[Item] = []
        self.stack: list[Infix | Bracket] = []
        self.negated_in: Token | None = None  # the `not` of a `not in`

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

    def _misread(self, at: int, reason: str) -> TextError:
        """The error of a text that does not parse."""
        return self._error(at, reason)

    # Tokens; each method returns True if an operand comes next

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

    def _literal(self, token: Token) -> Expr | Relation | Ratio | Literal | Name:
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

    def _decimal(self, token: Token) -> Expr | Ratio | Literal:
        """A decimal; exact as a float if it is a binary fraction."""
        if len(token.text) > MAX_DIGITS:
            raise self._error(token.at, f"a number has at most {MAX_DIGITS} digits, this one has {len(token.text) - 1}")
        value = Fraction(token.text)
        over, under = self._settled_dim(const(value.numerator), token.at), value.denominator
        if under == 1:
            return over
        if not self.exact or under & (under - 1):
            return Literal(value)
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
            inside = [repr(self._innermost().closing)] if any(isinstance(s, Bracket) for s in self.stack) else []
            raise self._misread(token.at, f"expected {' or '.join(['an operator', *inside])}, found {token.found}")
        return False

    def _innermost(self) -> Bracket:
        return next(s for s in reversed(self.stack) if isinstance(s, Bracket))

    # Brackets

    def _open(self, token: Token, kind: str, function: str = "") -> None:
        if kind == "call":
            name = self.items.pop()
            if function not in FUNCTIONS:
                near = nearest(function, self.functions, 1)
                raise self._misread(
                    name.at, f"no function {shown(function)}" + (f"; did you mean {either(near)}?" if near else "")
                )
            token = Token(token.kind, token.text, name.at)
        self.stack.append(Bracket(kind, CLOSING[token.text], token.at, len(self.items), self.exact, function))
        if kind == "call":
            self.exact = self.exact or FUNCTIONS[function].rounds

    def _close(self, token: Token) -> None:
        self._reduce(-1)
        if not self.stack:
            raise self._error(token.at, f"{token.text!r} closes nothing")
        opened = cast(Bracket, self.stack[-1])
        if opened.closing != token.text:
            raise self._error(token.at, f"expected {opened.closing!r}, found {token.found}")
        self.stack.pop()
        self.exact = opened.exact
        operands = self.items[opened.first :]
        del self.items[opened.first :]
        self.items.append(self._closed(opened, operands))

    def _closed(self, opened: Bracket, operands: list[Item]) -> Item:
        """The operand of a pair of brackets."""
        value = operands[0].value
        if opened.kind == "call":
            value = self._call(opened, operands)
        elif opened.kind == "set":
            value = Set(tuple(self._dim(item) for item in operands))
        elif isinstance(value, Name):
            value = value._replace(calls=False)
        return Item(value, opened.at)

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
        if infix.op in ("not", "neg", "pos"):
            self.items.append(Item(self._prefixed(infix, right), infix.at))
        else:
            left = self.items.pop()
            self.items.append(Item(self._infixed(left, infix, right), left.at))

    def _apply_chain(self, power: int) -> None:
        """Apply all the operators of this power on top of the stack at once."""
        chain: list[Infix] = []
        while self.stack and isinstance(top := self.stack[-1], Infix) and top.power == power:
            chain.append(top)
            self.stack.pop()
        chain.reverse()
        first = len(self.items) - len(chain) - 1
        operands = self.items[first:]
        self.items[first:] = [Item(self._chained(operands, chain), operands[0].at)]


__all__ = ["Parser"]
