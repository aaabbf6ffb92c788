"""The `dim_param` of a model, where most texts are names and nothing is an error."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Expr, symbol
from absint.lattices.terms.intern import Kept
from absint.lattices.text.notation import format_dim, parse
from absint.lattices.text.tokens import MAX_TEXT, QUOTED, TextError, is_word, pieces, reads_as_name


class DimParam(NamedTuple):
    """The dim of a `dim_param`, with a hint if its author may have wanted an expression but got a name."""

    dim: Dim
    hint: str | None = None


def read_dim_param(text: str, standalone_names: Collection[str], *, total: bool = False) -> DimParam:
    """The dim that a `dim_param` of a model denotes; a text that is not an expression is a name.

    `standalone_names` are the dim_params of the graph's inputs that are names by themselves. `past-seq` and `a/b`,
    without a space at the operator, are expressions only if each of their names is one of them. `total`: see `parse`.
    """
    if reads_as_name(text):
        return DimParam(_named(text))
    key = (text, frozenset(standalone_names), total)
    found = _read.get(key)
    if found is None:
        found = _read.add(key, len(text), _read_dim_param(*key))
    return found


def is_placeholder(text: str) -> bool:
    """The text stands for an unknown size, as in `?`, `-1`, `None` and `unk`; `unk__6` is a name."""
    return _PLACEHOLDER.fullmatch(text) is not None


def is_unknown(dim: Dim, names: Collection[str] = ()) -> bool:
    """The declared dim is none: it is unknown, or over a placeholder that is none of the `names` of sizes."""
    return not isinstance(dim, Expr) or any(name not in names and is_placeholder(name) for name in dim.free_symbols)


def _read_dim_param(text: str, standalone_names: frozenset[str], total: bool) -> DimParam:
    """The dim of a text that is more than a plain name."""
    name = DimParam(_named(text))
    if text == "?":
        return name
    try:
        if text != text.strip() or _has_hyphen(text):
            found = pieces(text)
            if 1 < len(found) <= 3 and sum(not piece.isspace() for piece in found) == 1 and not QUOTED.search(text):
                return name  # " N" is not the name "N": models compare the texts
            if _has_hyphen(text) and not _stands_alone(found, standalone_names):
                return name
        dim = parse(text, total=total)
    except TextError as problem:
        return name._replace(hint=str(_first(text, problem))) if _EXPRESSION.search(text) else name
    return name if dim.is_concrete and int(dim) < 0 else DimParam(dim)


def _first(text: str, problem: TextError) -> TextError:
    """The first problem to report: a character that begins no token, before any other."""
    try:
        pieces(text)
    except TextError as character:
        return character
    return problem


MAX_KEPT: Final = MAX_TEXT
"""Characters of parsed dim_params that are kept: exporters write the same long text at hundreds of values."""


_read: Final[Kept[tuple[str, frozenset[str], bool], DimParam]] = Kept(MAX_KEPT)


def format_dim_param(dim: Dim, standalone_names: Collection[str] = ()) -> str:
    """The `dim_param` that `read_dim_param` reads back as this dim; empty if there is none.

    There is none for an unknown dim, a negative number, and an expression with internal or integer symbols.
    """
    texts = [format_dim(dim)]
    if isinstance(dim, Expr) and len(dim.symbols) == 1:
        (only,) = dim.symbols
        if dim is symbol(only.name):
            texts.insert(0, only.name[1:] if _INTERNAL.match(only.name) else only.name)
    return next((text for text in texts if read_dim_param(text, standalone_names).dim is dim), "")


_PLACEHOLDER: Final = re.compile(
    r"[\W_]*|\s*-\d+\s*|[\W_]*(none|null|nil|nan|unk|unknown|undefined|unspecified|any|dyn|dynamic|symbolic|variable)"
    r"([\W_]*(dim|dimension|axis|axes|size|length|shape))?[\W_]*",
    re.IGNORECASE,
)
"""Marks without a letter or a digit, a negative number, or a word for "unknown"."""

_EXPRESSION: Final = re.compile(r"[+*%^(),]|//|/:|\s[-/]|[-/]\s")
"""Signs that a text is an expression; a `-` or `/` without a space is also common inside names."""

_INTERNAL: Final = re.compile(r"\\*%")


def _named(text: str) -> Dim:
    """The symbol of that name; one that looks internal gets a backslash in front."""
    return symbol("\\" + text if _INTERNAL.match(text) else text)


_HYPHEN: Final = re.compile(r"(?<=[\w)])(?:-(?!>)|/(?![/:]))(?!\s)")
"""A `-` or `/` after an operand without a space around it."""


def _has_hyphen(text: str) -> bool:
    return _HYPHEN.search(QUOTED.sub("0", text) if "`" in text else text) is not None


def _stands_alone(found: list[str], standalone_names: Collection[str]) -> bool:
    """True if the text names at least one dim, and only dims that stand alone on some input."""
    if not standalone_names:
        return False
    texts = [piece for piece in found if not piece.isspace()]
    names = {piece for piece, after in zip(texts, [*texts[1:], ""], strict=True) if is_word(piece) and after != "("}
    return bool(names) and names.issubset(standalone_names)
