"""Names for expressions that are too long to read in place, each defined once.

A definition that would be long itself has its largest parts named, those that occur several times first. Parts are
shared, so all definitions together grow with the number of distinct expressions and not with the length of their texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Final, NamedTuple

from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.terms.atoms import operands_first, reached
from absint.lattices.terms.evaluation import casts_floats
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom
from absint.lattices.text.layout import Shown, sides
from absint.lattices.text.notation import Form, PrintedPart, form_of, format_dim, format_relation

MAX_SHOWN: Final = 120
"""Characters of the longest expression that is shown in place."""

MAX_FLOAT: Final = 32
"""The same of an expression with float terms."""

_SHORTEST: Final = 16
"""A part with fewer characters is named only where it occurs several times."""

_SHORTEST_OF_ALL: Final = 10
"""A part with fewer characters is never named."""

_BATCH: Final = 8 * MAX_SHOWN
"""In a longer definition all long operands are named at once."""

_NUMBERED: Final = re.compile(r"w[1-9][0-9]*")

_NAME: Final = len("w10")

_Printed = Shown


class Naming:
    """Names of long expressions: `w1`, `w2`, ... in the order in which they appear.

    `is_taken` says which names have another meaning; `given` are names from elsewhere, with what they stand for. Before
    an expression gets a name, those of `batches` get theirs, batch by batch until it is among them, so that names do
    not depend on what is asked first.
    """

    def __init__(
        self,
        is_taken: Callable[[str], bool] = lambda name: False,
        batches: Iterable[Iterable[Dim]] = (),
        given: Mapping[str, Expr] | None = None,
    ) -> None:
        self._given = {expr: name for name, expr in (given or {}).items()}
        self._is_taken = is_taken
        self._batches: Iterator[Iterable[Dim]] = iter(batches)
        self._numbers = count(1)
        self._chosen: dict[Expr, str] = {}  # the name is empty until the expression appears
        self._split: set[_Printed] = set()
        self._order: list[Expr] = []
        self._by_name = dict(given or {})
        self._definitions: dict[str, Definition] = {}

    def dim(self, dim: Dim) -> str:
        """The text of a dim, or its name if the text is long."""
        return self._name(dim) if isinstance(dim, Expr) and _is_long(dim) else format_dim(dim)

    def relation(self, relation: Relation) -> Definition:
        """A relation with its long parts named."""
        if form_of(relation).length <= MAX_SHOWN:
            return Definition(format_relation(relation), ())
        self._all_batches()
        return self._shortened(relation)

    def amount(self, expr: Expr) -> Definition:
        """An expression with its long parts named, but without a name of its own."""
        if not _is_long(expr):
            return Definition(format_dim(expr), ())
        self._all_batches()
        return self._shortened(expr)

    def lookup(self, name: str) -> Expr | None:
        """The expression of a name."""
        if name in self._by_name or not is_numbered(name):
            return self._by_name.get(name)
        self._all_batches()
        return self._by_name.get(name)

    def definition(self, name: str) -> Definition:
        """The text that a name stands for, and the names in it."""
        return self._definitions[name]

    def needed(self, names: Iterable[str]) -> dict[str, str]:
        """The definitions of some names, and of all names in these, in order of appearance."""
        found = reached(names, lambda name: self._definitions[name].names)
        return {name: definition.text for name, definition in self._definitions.items() if name in found}

    def _name(self, expr: Expr) -> str:
        while not self._chosen.get(expr):
            self._admit(next(self._batches, (expr,)))
        return self._chosen[expr]

    def _all_batches(self) -> None:
        for batch in self._batches:
            self._admit(batch)

    def _admit(self, dims: Iterable[Dim]) -> None:
        """Name the long ones among these."""
        found = [dim for dim in dict.fromkeys(dims) if isinstance(dim, Expr) and _is_long(dim)]
        for expr in found:
            self._split_below(expr)
        for expr in found:
            self._appears(expr)
        self._define()

    def _appears(self, expr: Expr) -> str:
        """The name of an expression, which it gets now if it has none."""
        name = self._chosen.get(expr)
        if not name:
            name = self._given.get(expr) or next(filter(self._is_free, map("w{}".format, self._numbers)))
            self._chosen[expr] = name
            self._by_name[name] = expr
            self._order.append(expr)
        return name

    def _is_free(self, name: str) -> bool:
        return name not in self._by_name and not self._is_taken(name)

    def _define(self) -> None:
        """Write the definitions of names that have none. What they mention appears, and is defined in turn."""
        while len(self._definitions) < len(self._order):
            expr = self._order[len(self._definitions)]
            self._definitions[self._chosen[expr]] = self._written(expr)

    def _shortened(self, value: _Printed) -> Definition:
        self._split_below(value)
        written = self._written(value)
        self._define()
        return written

    # Choosing parts

    def _split_below(self, root: _Printed) -> None:
        """Choose parts so that the text of everything long below, and of the root, is short; operands first."""
        for value in operands_first(root, _long_parts, self._split):
            self._split.add(value)
            self._choose(value)

    def _choose(self, value: _Printed) -> None:
        """Choose visible parts of an expression or relation until its text is short, or nothing is left to name."""
        while True:
            length, visible = self._visible(value)
            excess = length - MAX_SHOWN
            if excess <= 0 or not visible:
                return
            if length > _BATCH:
                direct = {piece.value for piece in _pieces(value) if isinstance(piece, PrintedPart)}
                batch = [part.expr for part in visible if part.expr in direct and part.length > MAX_SHOWN // 4]
                if batch:
                    self._chosen.update((expr, "") for expr in batch if expr not in self._chosen)
                    continue
            enough = [part for part in visible if part.saved >= excess]
            if enough:
                best = max(
                    enough, key=lambda p: (p.times > 1, p.length if p.times > 1 else -abs(2 * p.length - length))
                )
            else:
                best = max(visible, key=lambda part: part.saved)
            self._chosen[best.expr] = ""

    def _visible(self, value: _Printed) -> tuple[int, list[_Visible]]:
        """The length of the text with the names of now, and the parts in it that could have a name."""
        lengths: dict[Expr, int] = {}
        times: dict[Expr, int] = {}
        length = 0
        stack: list[str | PrintedPart | tuple[Expr, int]] = list(reversed(_pieces(value)))
        while stack:
            piece = stack.pop()
            if isinstance(piece, str):
                length += len(piece)
            elif not isinstance(piece, PrintedPart):
                expr, start = piece
                lengths[expr] = length - start
                times[expr] = times.get(expr, 0) + 1
            elif piece.value in self._chosen:
                length += _NAME
            else:
                length += 2 * piece.in_parentheses
                if piece.form.length < _SHORTEST_OF_ALL:
                    length += piece.form.length
                    continue
                if isinstance(piece.value, Expr) and _can_have_name(piece.value):
                    stack.append((piece.value, length))
                stack.extend(reversed(_pieces(piece.value)))
        parts = (_Visible(expr, lengths[expr], times[expr]) for expr in lengths)
        return length, [part for part in parts if part.length >= (_SHORTEST if part.times == 1 else _SHORTEST_OF_ALL)]

    # Writing

    def _written(self, value: _Printed) -> Definition:
        out: list[str] = []
        names: dict[str, None] = {}
        stack: list[str | PrintedPart] = list(reversed(_pieces(value)))
        while stack:
            piece = stack.pop()
            if isinstance(piece, str):
                out.append(piece)
            elif isinstance(piece.value, Expr) and piece.value in self._chosen:
                name = self._appears(piece.value)
                out.append(name)
                names[name] = None
            else:
                if piece.in_parentheses:
                    out.append("(")
                    stack.append(")")
                stack.extend(reversed(_pieces(piece.value)))
        return Definition("".join(out), tuple(names))


class Definition(NamedTuple):
    """A text, and the names of long expressions in it."""

    text: str
    names: tuple[str, ...]


class _Visible(NamedTuple):
    """A part of a text that may be named."""

    expr: Expr
    length: int
    times: int

    @property
    def saved(self) -> int:
        return self.times * (self.length - _NAME)


class Names:
    """The texts of one document, and the names that it uses: they are defined below, in a section `where`."""

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._used: dict[str, None] = {}

    def dim(self, dim: Dim) -> str:
        """The text of a dim, or its name."""
        text = self.naming.dim(dim)
        if isinstance(dim, Expr) and _is_long(dim):
            self._used[text] = None
        return text

    def relation(self, relation: Relation) -> str:
        """The text of a relation, its long parts named."""
        return self.noted(self.naming.relation(relation))

    def amount(self, dim: Dim) -> str:
        """The text of a dim that is shown in place whatever its length, its long parts named."""
        return self.noted(self.naming.amount(dim)) if isinstance(dim, Expr) else format_dim(dim)

    def element(self, element: object) -> str:
        """The text of an element of a tensor: a dim, a relation, or a number."""
        if isinstance(element, Dim):
            return self.dim(element)
        return self.relation(element) if isinstance(element, Relation) else str(element)

    def json(self, item: object) -> int | bool | str:
        """As JSON: a number or a truth where it is one, else the text of a dim, relation or other element."""
        if item is TRUE or item is FALSE:
            return item is TRUE
        if isinstance(item, Expr) and item.const is not None:
            return item.const
        return item if isinstance(item, int) else self.element(item)

    def noted(self, found: Definition) -> str:
        """A text of `naming`, the names of which are used."""
        self._used.update(dict.fromkeys(found.names))
        return found.text

    @property
    def definitions(self) -> dict[str, str]:
        """The names in use so far and what they stand for, in order of appearance; with the names in these texts."""
        return self.naming.needed(self._used)


def is_numbered(name: str) -> bool:
    """It is of the form of the names that long expressions get."""
    return _NUMBERED.fullmatch(name) is not None


def _pieces(value: _Printed) -> tuple[str | PrintedPart, ...]:
    """The pieces of an expression, relation or float; the sides of a long comparison are parts of their own."""
    form = form_of(value)
    if not isinstance(value, Relation) or form.length <= MAX_SHOWN or (found := sides(value)) is None:
        return form.pieces
    left, op, right = found
    return PrintedPart(left, form_of(left), False), op, PrintedPart(right, form_of(right), False)


def _long_parts(value: _Printed) -> list[_Printed]:
    parts = (piece for piece in _pieces(value) if isinstance(piece, PrintedPart))
    return [part.value for part in parts if part.form.length > MAX_SHOWN]


def _is_long(expr: Expr) -> bool:
    """It has a name: above all a float term, which takes more reading than its length says."""
    length = 0 if expr.const is not None else form_of(expr).length
    most = MAX_SHOWN if length <= MAX_FLOAT or length > MAX_SHOWN or not casts_floats(expr) else MAX_FLOAT
    return length > most and _can_have_name(expr)


def _can_have_name(expr: Expr) -> bool:
    """It is not a number or symbol, which are never named."""
    return expr.const is None and not isinstance(sole_atom(expr), Symbol)


__all__ = ["MAX_SHOWN", "Definition", "Form", "Names", "Naming", "is_numbered"]
