"""Printing dims and relations; `absint.lattices.text` is the public entry.

Each expression is laid out once, as a `Form` that shares the forms of its operands; short texts are kept with it.
Stacks are explicit, so depth is no limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast
from weakref import WeakKeyDictionary

from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import Operand as Term
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom, symbol
from absint.lattices.terms.floats import Float
from absint.lattices.text.layout import Operand, Piece, Shown, laid_out, symbol_text
from absint.lattices.text.reading import parse
from absint.lattices.text.tokens import TextError, reads_as_name, tokens


class PrintedPart(NamedTuple):
    """An operand inside a form."""

    value: Shown
    form: Form
    in_parentheses: bool

    @property
    def length(self) -> int:
        return self.form.length + 2 * self.in_parentheses


class Form(NamedTuple):
    """An expression or relation as it is printed."""

    level: int
    """Its binding power."""
    pieces: tuple[str | PrintedPart, ...]
    length: int
    """Characters of the whole text."""
    text: str | None
    """The whole text, unless it is long."""


MAX_FORMS: Final = 1 << 16
"""Most forms that are kept. A form is dropped with its expression."""

_LONGEST_KEPT: Final = 240
"""Characters of the longest text that is kept with a form."""

_forms: WeakKeyDictionary[Shown, Form] = WeakKeyDictionary()


def forget() -> None:
    """Drop all forms."""
    _forms.clear()


def format_dim(dim: Dim) -> str:
    """The text of a dim: deterministic, and `parse` gives the identical expression back.

    An unknown dim, and an internal symbol inside an expression, print as `?`. A dim that is one symbol prints as its
    bare name where `parse` reads that as the name.
    """
    if not isinstance(dim, Expr):
        return "?"
    only = sole_atom(dim)
    if isinstance(only, Symbol):
        return only.name if reads_as_name(only.name) else symbol_text(only)
    return whole(form_of(dim))


def format_float(term: Term) -> str:
    """The text of a float term, which reads back inside `int(...)`."""
    return whole(form_of(cast(Float, term)))


def format_relation(relation: Relation) -> str:
    """The text of a relation: deterministic, and `parse_relation` gives the identical relation back."""
    return whole(form_of(relation))


def form_of(value: Shown) -> Form:
    """The form of an expression or relation; those of its operands are made first."""
    found = _forms.get(value)
    if found is not None:
        return found
    if len(_forms) >= MAX_FORMS:
        forget()
    made: dict[Shown, Form] = {}  # so that nothing is lost while another thread forgets
    opened: dict[Shown, tuple[int, list[Piece]]] = {}
    stack = [value]
    while stack:
        top = stack[-1]
        if top in made:
            stack.pop()
        elif (found := _forms.get(top)) is not None:
            made[stack.pop()] = found
        elif top in opened:
            level, pieces = opened.pop(stack.pop())
            made[top] = _forms[top] = _form(level, pieces, made)
        else:
            opened[top] = laid_out(top)
            stack.extend(piece.value for piece in opened[top][1] if not isinstance(piece, str))
    return made[value]


def _form(level: int, pieces: Iterable[Piece], made: Mapping[Shown, Form]) -> Form:
    parts = tuple([piece if isinstance(piece, str) else _part(piece, made[piece.value]) for piece in pieces])
    length = sum([len(part) if isinstance(part, str) else part.length for part in parts])
    return Form(level, parts, length, _joined(parts) if length <= _LONGEST_KEPT else None)


def _part(operand: Operand, form: Form) -> PrintedPart:
    return PrintedPart(operand.value, form, form.level < operand.least)


def whole(form: Form) -> str:
    """The whole text."""
    return form.text if form.text is not None else _joined(form.pieces)


def _joined(pieces: Iterable[str | PrintedPart]) -> str:
    out: list[str] = []
    stack = list(pieces)[::-1]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        if piece.in_parentheses:
            out.append("(")
            stack.append(")")
        if piece.form.text is not None:
            out.append(piece.form.text)
        else:
            stack.extend(piece.form.pieces[::-1])
    return "".join(out)


# Reading definitions of long expressions back: each name stands for the expression that it was given to.


def read_definitions(texts: Mapping[str, str], symbols: Mapping[str, Dim] | None = None) -> dict[str, Dim]:
    """The dim of each name, in the order of the texts; a text may use other names, in any order.

    `symbols` has the dim that a symbol stands for; another name is a symbol of the inputs. Raises TextError for a text
    that does not parse, and for a name that is defined by itself.
    """
    found: dict[str, Dim] = {}
    open_: dict[str, None] = {}
    pending = list(texts)[::-1]
    while pending:
        name = pending[-1]
        if name in found:
            pending.pop()
            continue
        wanted = [used for used in _names(texts[name]) if used in texts and used not in found]
        if not wanted:
            found[pending.pop()] = parse(texts[name], Known(found, symbols or {}))
            open_.pop(name, None)
            continue
        open_[name] = None
        if any(used in open_ for used in wanted):
            raise TextError(texts[name], 0, f"{name} is defined by itself")
        pending += wanted
    return {name: found[name] for name in texts}


def _names(text: str) -> dict[str, None]:
    return dict.fromkeys(token.text for token in tokens(text) if token.kind == "name")


class Known(Mapping[str, Dim]):
    """The dims that names in a definition stand for. Every name is known."""

    def __init__(self, found: Mapping[str, Dim], symbols: Mapping[str, Dim]) -> None:
        self._found, self._symbols = found, symbols

    def __getitem__(self, name: str) -> Dim:
        dim = self._found.get(name)
        return self._symbols.get(name, symbol(name)) if dim is None else dim

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter({**self._symbols, **self._found})

    def __len__(self) -> int:
        return len({**self._symbols, **self._found})
