"""The notation of dims and relations, read and printed; `absint.lattices.text` is the public entry.

Usual texts are read here, or by `arithmetic`; only others need a parser. Each expression is laid out once, as a `Form`
that shares the forms of its operands; short texts are kept with it. Stacks are explicit, so depth is no limit.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, cast
from weakref import WeakKeyDictionary

from absint.lattices.limits import takes_shortcuts
from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import Operand as Term
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, Symbol, sole_atom, symbol
from absint.lattices.terms.floats import Float
from absint.lattices.text.layout import Operand, Piece, Shown, laid_out, symbol_text
from absint.lattices.text.tokens import MAX_TEXT, TextError, reads_as_name, tokens

if TYPE_CHECKING:
    from absint.lattices.text.parser import Parser
    from absint.lattices.text.syntax import Names, References


def parse(text: str, names: Names = None, references: References | None = None, *, total: bool = False) -> Dim:
    """The dim that a text denotes.

    A text without any operator is a number or a name ("batch size" too); `?` is the unknown dim. With `names`, only
    these names are allowed; a mapping gives the dim that each stands for. With `references`, `X[1]` and the like denote
    dims of the values that it knows, and no text denotes the unknown dim.

    `broadcast(a, b)` is the size of a value that some node has computed; it has no value where a and b do not
    broadcast. In a `total` text, and with `references`, it is the first operand that is not 1, whether they broadcast
    or not. Raises TextError, which points at the column, for any other text, and for one beyond a limit.
    """
    whole = text.strip()
    if whole == "?" and references is None:
        return UNKNOWN_DIM
    if reads_as_name(whole) and (names is None or whole in names) and (references is None or whole not in references):
        return names[whole] if isinstance(names, Mapping) else symbol(whole)
    if names is None and references is None and len(text) <= MAX_TEXT and takes_shortcuts():
        from absint.lattices.text.arithmetic import Arithmetic

        found = Arithmetic(text, total=total).dim()
        if found is not None:
            return found
    return _parser(text, names, references, relation=False, total=total).dim()


def parse_relation(
    text: str,
    names: Names = None,
    references: References | None = None,
    *,
    total: bool = False,
    divisors: list[Expr] | None = None,
) -> Relation:
    """The relation that a text denotes: `seq % 8 == 0`, `0 <= N <= 7`, `N in {1, 64}`, `c -> M == N`.

    A name in the place of a condition is a boolean symbol. With `references`, relations over values are read too: `X[1]
    == Z[0] + 2`, `shape(X) == shape(Z)`, `shape(X) == [N, 3]`, `size(X) == size(Z)`, `rank(X) == 4`. `total` is as for
    `parse`; the divisors in the text are added to `divisors`. Raises TextError, which points at the column, for any
    other text, and for one beyond a limit.
    """
    parser = _parser(text, names, references, relation=True, total=total)
    relation = parser.relation()
    if divisors is not None:
        divisors += parser.divisors
    return relation


def _parser(text: str, names: Names, references: References | None, relation: bool, total: bool) -> Parser:
    if references is None:
        from absint.lattices.text.parser import Parser

        return Parser(text, names, relation, total)
    from absint.lattices.text.reference_parser import ReferenceParser

    return ReferenceParser(text, names, references, relation)


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
            found[pending.pop()] = parse(texts[name], Known(found, {**(symbols or {})}))
            open_.pop(name, None)
            continue
        open_[name] = None
        if any(used in open_ for used in wanted):
            raise TextError(texts[name], 0, f"{name} is defined by itself")
        pending += wanted
    return {name: found[name] for name in texts}


def _names(text: str) -> dict[str, None]:
    return dict.fromkeys(token.text for token in tokens(text) if token.kind == "name")


class Known(ChainMap[str, Dim]):
    """The dims that names in a definition stand for. Every name is known."""

    def __missing__(self, name: str) -> Dim:
        return symbol(name)

    def __contains__(self, name: object) -> bool:
        return True
