"""The parser of dims and relations; `absint.lattices.text` is the public entry.

Operator precedence with two explicit stacks, so that depth is no limit: `items` holds operands, `stack` the operators
and open brackets that wait for more. An operator first applies those on top of the stack that bind tighter, then waits
itself; a closing bracket applies all that came after the opening one. `and`, `or` and comparisons wait until their
whole chain is there, because `0 <= N <= 7` is no operation on two operands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final, NamedTuple, cast

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr, const, polynomial
from absint.lattices.text import tokens
from absint.lattices.text.escapes import nearest, suggestion
from absint.lattices.text.functions import FUNCTIONS, Literal, Ratio
from absint.lattices.text.operations import Operations
from absint.lattices.text.syntax import CLOSING, INFIX, Bracket, Infix, Item, Name, Names, Power, Set, Sum, Value
from absint.lattices.text.tokens import MAX_DIGITS, RESERVED, TextError, Token, integer, shown, unquote

MIN_SHARED: Final = 512
"""Shorter texts are parsed as they stand."""

MAX_COMPARED: Final = 64
"""Characters of parentheses that are compared with others, for each of the text: nested ones count again."""

_PARENTHESES: Final = re.compile(r"[()]")


class Shared(NamedTuple):
    """Parentheses that were parsed before: their value, and the divisors inside."""

    value: Value
    divisors: tuple[Expr, ...]


class Parser(Operations):
    """One run over one text.

    Exporters repeat whole subexpressions, so parentheses with a text that was parsed before are not parsed again.
    """

    functions: Iterable[str] = FUNCTIONS
    """Names that an error may suggest for a misspelt function."""

    def __init__(self, text: str, names: Names, relation: bool, total: bool) -> None:
        super().__init__(text, names, total)
        self.infix = INFIX | {"&": Power.AND if relation else Power.MINIMUM}
        self.at = 0  # the column of the next token
        self.items: list[Item] = []
        self.stack: list[Infix | Bracket] = []
        self.negated_in: Token | None = None  # the `not` of a `not in`
        self.ends = self._ends()
        self.compared = MAX_COMPARED * len(text)
        self.shared: dict[tuple[str, bool, str], Shared] = {}

    def dim(self) -> Expr:
        return self._dim(self._run())

    def relation(self) -> Relation:
        return self._condition(self._run())

    def _run(self) -> Item:
        tokens.check_length(self.text)
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
        return tokens.token_at(self.text, self.at)

    def _operand(self, token: Token) -> bool:
        top = self.stack[-1] if self.stack else None
        set_wanted = isinstance(top, Infix) and top.op in ("in", "not in")
        if token.kind == "op" and token.text in CLOSING and (token.text == "(" or set_wanted):
            return self._open(token, "set" if set_wanted else "group")
        if set_wanted:
            raise self._error(token.at, f"expected a set such as {{1, 64}}, found {token.found}")
        if token.text in ("-", "+", "~") and token.kind == "op":
            prefix = {"-": "neg", "+": "pos", "~": "not"}[token.text]
            self.stack.append(Infix(prefix, Power.NOT if prefix == "not" else Power.SIGN, token.at))
            return True
        if token.kind == "name" and token.text == "not":
            self.stack.append(Infix("not", Power.NOT, token.at))
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
        if op in self.infix:
            power = self.infix[op]
            # `->` and `**` group to the right; `and`, `or` and comparisons apply to a whole chain of operands at once.
            self._reduce(power - (power not in (Power.IMPLIES, Power.POWER, Power.OR, Power.AND, Power.COMPARE)))
            self.stack.append(Infix(op, power, token.at))
            return True
        if token.kind == "end":
            self._reduce(-1)
            if self.stack:
                raise self._error(token.at, f"expected {self._innermost().closing!r}, found the end")
        elif op == "(" and isinstance(name := self.items[-1].value, Name) and name.calls:
            return self._open(token, "call", name.name)
        elif op == "not":
            self.negated_in = token
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

    def _ends(self) -> Mapping[int, int]:
        """The places after the parentheses that begin at each place, if there are others of the same length."""
        text, begun = self.text, list[int]()
        if len(text) < MIN_SHARED or "`" in text:
            return {}
        by_length: dict[int, list[int]] = {}
        for match in _PARENTHESES.finditer(text):
            if match[0] == "(":
                begun.append(match.start())
            elif begun:
                start = begun.pop()
                by_length.setdefault(match.end() - start, []).append(start)
        return {start: start + length for length, starts in by_length.items() if len(starts) > 1 for start in starts}

    def _key(self, place: int, function: str, exact: bool) -> tuple[str, bool, str] | None:
        """All that the value of the parentheses at a place depends on; None if it is not compared with others."""
        end = self.ends.get(place)
        if end is None or end - place > self.compared:
            return None
        self.compared -= end - place
        return function, exact, self.text[place:end]

    def _known(self, token: Token, function: str) -> bool:
        """Take over what the parentheses that begin here gave before, if they were parsed."""
        key = self._key(token.at, function, self.exact)
        found = None if key is None else self.shared.get(key)
        if found is None:
            return False
        at = self.items.pop().at if function else token.at
        self.items.append(Item(found.value, at))
        self.divisors += found.divisors
        self.at = self.ends[token.at]
        return True

    def _open(self, token: Token, kind: str, function: str = "") -> bool:
        if self._known(token, function):
            return False
        place = token.at
        if kind == "call":
            name = self.items.pop()
            if function not in FUNCTIONS:
                near = nearest(function, self.functions, 1)
                raise self._misread(name.at, f"no function {shown(function)}{suggestion(near)}")
            token = Token(token.kind, token.text, name.at)
        closing, first = CLOSING[token.text], len(self.items)
        self.stack.append(Bracket(kind, closing, token.at, first, self.exact, function, place, len(self.divisors)))
        if kind == "call":
            self.exact = self.exact or FUNCTIONS[function].rounds
        return True

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
        item = self._closed(opened, operands)
        key = self._key(opened.place, opened.function, opened.exact)
        self.items.append(item if key is None else self._kept(key, opened, item))

    def _kept(self, key: tuple[str, bool, str], opened: Bracket, item: Item) -> Item:
        """The operand of parentheses, for others of the same text too."""
        if isinstance(item.value, Sum):  # it changes as terms are added
            whole = polynomial(item.value.terms)
            if not isinstance(whole, Expr):
                return item
            item = Item(whole, item.at)
        self.shared[key] = Shared(item.value, tuple(self.divisors[opened.divisors :]))
        return item

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
            if top.power in (Power.OR, Power.AND, Power.COMPARE):
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
