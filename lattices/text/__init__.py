"""The text form of dims and relations: one grammar, published in docs/grammar.md, that reads every dialect.

`format_dim` and `format_relation` print, `parse` and `parse_relation` read, and what is printed reads back as the
identical object. `read_dim_param` reads the `dim_param` of a model, where most texts are names and nothing is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, symbol
from absint.lattices.text.parser import MAX_CONDITION_DEPTH, Parser
from absint.lattices.text.printer import format_dim, format_relation
from absint.lattices.text.reference_parser import ReferenceParser
from absint.lattices.text.references import References, UnresolvedError
from absint.lattices.text.syntax import Names
from absint.lattices.text.tokens import MAX_DIGITS, MAX_TEXT, TextError, Token, reads_as_name, tokens


class DimParam(NamedTuple):
    """What a `dim_param` means, and why it does not mean more where its author may have wanted an expression."""

    dim: Dim
    hint: str | None = None


def parse(text: str, names: Names = None, references: References | None = None, *, total: bool = False) -> Dim:
    """The dim that a text denotes.

    A text without any operator is a number or a name ("batch size" too); `?` is the unknown dim. With `names`, only
    these names are allowed; a mapping gives the dim that each stands for. With `references`, `X[1]` and the like denote
    dims of the values that it knows, and no text denotes the unknown dim.

    `broadcast(a, b)` is the size of a value that some node has computed: the node requires that a and b broadcast. In a
    `total` text, and with `references`, it is the first operand that is not 1 whether or not they do.
    Raises TextError, which points at the column, for anything else and for whatever is over a limit.
    """
    whole = text.strip()
    if whole == "?" and references is None:
        return UNKNOWN_DIM
    if reads_as_name(whole) and (names is None or whole in names) and (references is None or whole not in references):
        return names[whole] if isinstance(names, Mapping) else symbol(whole)
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

    A name that stands where a condition is expected is a boolean symbol. With `references`, relations over values are
    read too: `X[1] == Z[0] + 2`, `shape(X) == shape(Z)`, `shape(X) == [N, 3]`, `size(X) == size(Z)`, `rank(X) == 4`.
    `total` is as for `parse`; what the text divides by is added to `divisors`.
    Raises TextError, which points at the column, for any other text and for whatever is over a limit.
    """
    parser = _parser(text, names, references, relation=True, total=total)
    relation = parser.relation()
    if divisors is not None:
        divisors += parser.divisors
    return relation


def _parser(text: str, names: Names, references: References | None, relation: bool, total: bool) -> Parser:
    if references is None:
        return Parser(text, names, relation, total)
    return ReferenceParser(text, names, references, relation)


def read_dim_param(text: str, standalone_names: Collection[str], *, total: bool = False) -> DimParam:
    """The dim that a `dim_param` of a model denotes; a text that is not an expression is a name as it stands.

    `standalone_names` are the dim_params of the graph's inputs that are names by themselves. `past-seq` and `a/b`,
    without a space at the operator, are expressions only if each of their names is one of them. `total`: see `parse`.
    """
    if reads_as_name(text):
        return DimParam(_named(text))
    key = (text, frozenset(standalone_names), total)
    found = _read.get(key)
    if found is None:
        found = _read_dim_param(*key)
        _read.add(key, found)
    return found


def _read_dim_param(text: str, standalone_names: frozenset[str], total: bool) -> DimParam:
    """The dim of a text that is more than a plain name."""
    name = DimParam(_named(text))
    try:
        found = list(tokens(text))
        if len(found) == 2 and text != found[0].text and found[0].kind != "quoted":
            return name  # " N" is not the name "N": models compare the texts
        if _has_hyphen(text, found) and not _stands_alone(found, standalone_names):
            return name
        dim = parse(text, total=total)
    except TextError as problem:
        return name._replace(hint=str(problem)) if _EXPRESSION.search(text) else name
    return name if dim.is_concrete and int(dim) < 0 else DimParam(dim)


MAX_KEPT: Final = MAX_TEXT
"""Characters of dim_params that stay parsed: exporters write the same long text at hundreds of values."""


class _Kept:
    """Parsed texts, bounded by their length in all."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, frozenset[str], bool], DimParam] = {}
        self._length = 0

    def get(self, key: tuple[str, frozenset[str], bool]) -> DimParam | None:
        return self._found.get(key)

    def add(self, key: tuple[str, frozenset[str], bool], dim: DimParam) -> None:
        if self._length + len(key[0]) > MAX_KEPT:
            self._found, self._length = {}, 0
        self._found[key] = dim
        self._length += len(key[0])


_read = _Kept()


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


_EXPRESSION: Final = re.compile(r"[+*%^(),]|//|/:|\s[-/]|[-/]\s")
"""What shows that a text is meant as an expression; a `-` or `/` without a space is also common inside names."""

_INTERNAL: Final = re.compile(r"\\*%")


def _named(text: str) -> Dim:
    """The symbol of that name; one that looks internal gets a backslash in front."""
    return symbol("\\" + text if _INTERNAL.match(text) else text)


def _has_hyphen(text: str, found: list[Token]) -> bool:
    """Whether a `-` or `/` between two operands has no space around it."""
    return any(
        token.kind == "op"
        and token.text in ("-", "/")
        and (before.kind != "op" or before.text == ")")
        and not text[token.at - 1].isspace()
        and not text[token.at + 1 : token.at + 2].isspace()
        for before, token in pairwise(found)
    )


def _stands_alone(found: list[Token], standalone_names: Collection[str]) -> bool:
    """Whether the tokens name at least one dim, and only dims that stand alone on some input."""
    names = [token for token, after in pairwise(found) if token.kind == "name" and after.text != "("]
    return bool(names) and all(token.text in standalone_names for token in names)


__all__ = [
    "MAX_CONDITION_DEPTH", "MAX_DIGITS", "MAX_TEXT", "DimParam", "References", "TextError", "UnresolvedError",
    "format_dim", "format_dim_param", "format_relation", "parse", "parse_relation", "read_dim_param",
]  # fmt: skip
