"""The parser of texts that refer to values: `X[1]`, `shape(X)`, `size(X)`, `rank(X)`, and `symbol(N)` for a symbol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Expr, Symbol, add, const, expr_of, mul
from absint.lattices.text import syntax
from absint.lattices.text.escapes import bounded
from absint.lattices.text.functions import FUNCTIONS, Literal, Ratio
from absint.lattices.text.operations import TRUTHS
from absint.lattices.text.parser import Parser
from absint.lattices.text.syntax import Bracket, Dims, Infix, Item, Name, Names, Set, UndecidedError, terms
from absint.lattices.text.tokens import TextError, Token, after_space, unquote
from absint.lattices.text.value_names import ValueNames

_FUNCTIONS: Final = ("shape", "size", "rank", "symbol")
"""Their operand is a name."""


class ReferenceParser(Parser):
    """One run over one text."""

    functions = (*FUNCTIONS, *_FUNCTIONS)

    def __init__(self, text: str, names: Names, references: syntax.References, relation: bool) -> None:
        super().__init__(text, names, relation, total=True)
        self.references = references
        self.values = ValueNames(text, names, references)

    # Tokens

    def _next(self, wants_operand: bool) -> Token:
        """The next token; a value's name before a `[` is one."""
        if wants_operand:
            at = after_space(self.text, self.at)
            name = self.values.bare(at)
            if name is not None:
                return Token("value", name, at)
        try:
            return super()._next(wants_operand)
        except TextError as problem:
            raise self.values.misread(problem, no_token=True) from None

    def _misread(self, at: int, reason: str) -> TextError:
        return self.values.misread(self._error(at, reason))

    def _operand(self, token: Token) -> bool:
        top = self.stack[-1] if self.stack else None
        if token.kind == "op" and token.text == "[" and not (isinstance(top, Infix) and top.op in ("in", "not in")):
            return self._open(token, "list")
        if token.text == "]" and isinstance(top, Bracket) and top.kind == "list" and top.first == len(self.items):
            self.stack.pop()
            self.exact = top.exact
            self.items.append(Item(Dims(()), top.at))
            return False
        return super()._operand(token)

    def _literal(self, token: Token) -> Expr | Relation | Ratio | Literal | Name:
        if token.kind == "value":
            return Name(token.text, calls=False)
        if token.kind == "quoted":
            return Name(unquote(token, self.text, internal=True), calls=False)
        return super()._literal(token)

    def _operator(self, token: Token) -> bool:
        if token.kind != "op" or self.negated_in is not None:
            return super()._operator(token)
        value, at = self.items[-1]
        name = value if isinstance(value, Name) and not value.is_symbol else None
        if token.text == "(" and name is not None and name.calls and name.name in _FUNCTIONS:
            self.items[-1] = Item(self._of_name(name.name), at)
            return False
        if token.text == "[" and (name is not None or isinstance(value, Dims)):
            if name is not None:
                self.items[-1] = Item(self._shape(name.name, at), at)
            return self._open(token, "axis")
        if token.text == "," and self.stack:
            self._reduce(-1)
            if self.stack and self._innermost().kind == "axis":
                raise self._error(token.at, "expected one axis, found ','")
        return super()._operator(token)

    # Brackets

    def _ends(self) -> Mapping[int, int]:
        """None: names of values may have parentheses."""
        return {}

    def _open(self, token: Token, kind: str, function: str = "") -> bool:
        begun = super()._open(token, kind, function)
        self.exact = self.exact and kind != "axis"
        return begun

    def _closed(self, opened: Bracket, operands: list[Item]) -> Item:
        if opened.kind == "list":
            return Item(Dims(tuple([self._dim(item) for item in operands])), opened.at)
        if opened.kind != "axis":
            return super()._closed(opened, operands)
        shape, at = self.items.pop()
        index = self._dim(operands[0])
        return Item(self._axis(cast(Dims, shape), at, index, operands[0].at), at)

    def _of_name(self, function: str) -> Expr | Dims | Name:
        """The value of a function for the name in the parenthesis that has just been opened."""
        name, at, self.at = self.values.argument(self.at, "symbol" if function == "symbol" else "value")
        if function == "symbol":
            self.values.check_symbol(name, at, alone=True)
            return Name(name, calls=False, is_symbol=True)
        shape = self._shape(name, at)
        if function == "shape":
            return shape
        if function == "rank":
            return cast(Expr, add(const(len(shape.dims)), self._hidden("rank", shape, at)))
        return self._size(shape, at)

    # Shapes

    def _shape(self, name: str, at: int) -> Dims:
        if name not in self.references:
            raise self.values.missing(name, at)
        try:
            return Dims(tuple(self.references.shape(name)), name)
        except syntax.UnknownRankError as problem:
            return problem.dims
        except syntax.UnresolvedError as problem:
            raise self._error(at, str(problem)) from None

    def _axis(self, shape: Dims, at: int, index: Expr, index_at: int) -> Expr:
        """One dim of a shape; a negative axis counts from the end."""
        axis, rank = index.const, len(shape.dims)
        if axis is None:
            raise self._error(index_at, "expected an axis: an integer")
        if shape.head >= 0:
            return self._axis_of_any_rank(shape, axis, at)
        if not -rank <= axis < rank:
            shown = str(axis) if abs(axis) < 10**20 else "of so many digits"
            axes = f"has rank {rank}, its axes are {-rank} to {rank - 1}" if rank else "is a scalar, it has no axes"
            raise self._error(index_at, f"axis {shown} is out of range: {_owner(shape)} {axes}")
        return self._dim_of(shape, axis % rank, at)

    def _axis_of_any_rank(self, shape: Dims, axis: int, at: int) -> Expr:
        """One of the known dims of a shape of unknown rank: a first one, or a last one by a negative axis."""
        if 0 <= axis < shape.head:
            return self._dim_of(shape, axis, at)
        if shape.head - len(shape.dims) <= axis < 0:
            return self._dim_of(shape, len(shape.dims) + axis, at)
        raise UndecidedError(self.text, at, f"the rank of {_owner(shape)} is unknown, and so is its axis {axis}")

    def _hidden(self, what: str, shape: Dims, at: int) -> Expr:
        """The rank or the size of the dims that are not known: 0 or 1 of a known rank, else a number with a name."""
        if shape.head < 0:
            return const(what == "size")
        if shape.variable is None:
            raise UndecidedError(self.text, at, f"the rank of {_owner(shape)} is unknown")
        return expr_of(Symbol.placeholder(f"{what} of {shape.variable.name}", 0, None))

    def _dim_of(self, shape: Dims, axis: int, at: int) -> Expr:
        dim = shape.dims[axis]
        if not isinstance(dim, Expr):
            raise self._error(at, f"axis {axis} of {_owner(shape)} is unknown: it has no expression")
        return dim

    def _size(self, shape: Dims, at: int) -> Expr:
        """The number of elements."""
        size: Dim = self._hidden("size", shape, at)
        for axis in range(len(shape.dims)):
            dim = self._dim_of(shape, axis, at)
            self._spend(terms(size) * terms(dim), at)
            size = self._settled_dim(mul(size, dim), at)
        return cast(Expr, size)

    def _compared(self, x: Expr | Set | Dims, infix: Infix, y: Expr | Set | Dims) -> Relation:
        if not isinstance(x, Dims) and not isinstance(y, Dims):
            return super()._compared(x, infix, y)
        if not (isinstance(x, Dims) and isinstance(y, Dims) and infix.op in ("==", "!=")):
            raise self._error(infix.at, "a shape is compared by == or != with a shape: shape(X) or [N, 3]")
        self._spend(terms(x) + terms(y), infix.at)
        same = self._same(x, y, infix.at)
        return same if infix.op == "==" else rel.negation(same)

    def _same(self, x: Dims, y: Dims, at: int) -> Relation:
        """Both shapes have one rank and equal dims. One pair that differs in every run decides it."""
        if (x.head, x.variable) != (y.head, y.variable) or (x.head >= 0 and x.variable is None):
            return self._same_of_any_rank(x, y, at)
        if len(x.dims) != len(y.dims):
            return rel.FALSE if x.head < 0 else self._same_of_any_rank(x, y, at)
        equal = [rel.eq(a, b) for a, b in zip(x.dims, y.dims, strict=True)]
        if rel.FALSE in equal:
            return rel.FALSE
        for axis in range(len(equal)):
            self._dim_of(x, axis, at)
            self._dim_of(y, axis, at)
        return rel.conjunction(*(self._stated(relation, at) for relation in equal))

    def _same_of_any_rank(self, x: Dims, y: Dims, at: int) -> Relation:
        """Different forms, one of unknown rank: never the same where a known rank is too small, else undecided."""
        for one, other in ((x, y), (y, x)):
            if one.head < 0 and len(one.dims) < len(other.dims):
                return rel.FALSE
        unknown = x if x.head >= 0 else y
        raise UndecidedError(self.text, at, f"the rank of {_owner(unknown)} is unknown")

    # Names

    def _check_name(self, written: Name, at: int) -> None:
        self.values.check_symbol(written.name, at, alone=written.is_symbol)

    def _boolean(self, name: Name, at: int) -> Relation:
        if not isinstance(self.names, Mapping):
            return super()._boolean(name, at)
        value = self._symbol(name, at)
        if not value.bounds.leq(TRUTHS):
            raise self._no_condition(at, "a number")
        return rel.eq(value, 1)


def _owner(shape: Dims) -> str:
    return bounded(shape.name) if shape.name else "the list"
