"""Reading dims and relations: `parse` and `parse_relation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from absint.lattices.logic.relation import Relation
from absint.lattices.speed import is_on
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, symbol
from absint.lattices.text.tokens import MAX_TEXT, reads_as_name

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
    if names is None and references is None and len(text) <= MAX_TEXT and is_on():
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
