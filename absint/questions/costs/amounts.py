"""Amounts of costs as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from absint.errors import UsageError
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.naming import Names

Found = TypeVar("Found")

SHOWN: Final = 5
"""Names that stand in one line."""

_LONGEST: Final = 600
"""Characters of the longest expression that a text shows."""

_SCALES: Final = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))


def tried(evaluate: Callable[[], Found]) -> tuple[Found | None, str]:
    """The numbers at some sizes; None and the reason if no run has these, or a trip count is unknown."""
    try:
        return evaluate(), ""
    except UsageError as error:
        return None, str(error)


def amount(found: Dim, texts: Names, why: str = "") -> str:
    """A number with its scale, or an expression; else the reason why there is no number either."""
    if not isinstance(found, Expr) and why:
        return f"not known: {why}"
    if not isinstance(found, Expr) or found.const is None:
        return short(found, texts)
    return scaled(found.const)


def scaled(found: int) -> str:
    """`6,290,000 (6.29 M)`."""
    scale, letter = next(((scale, letter) for scale, letter in _SCALES if found >= scale), (1, ""))
    return f"{found:,}" + (f" ({found / scale:.3g} {letter})" if letter else "")


def short(found: Dim, texts: Names) -> str:
    """A number or an expression; of a long one its size."""
    if not isinstance(found, Expr):
        return "no expression: too large to write, or different from trip to trip"
    if found.const is not None:
        return f"{found.const:,}"
    text = texts.naming.amount(found)
    if len(text.text) <= _LONGEST:
        return texts.noted(text)
    symbols = ", ".join(sorted(found.free_symbols)[:4])
    return f"<{len(text.text):,} characters over {symbols}> (whole: --format json)"


def first(items: Iterable[str]) -> str:
    """The first of some names, and the number of the others."""
    names = list(items)
    return ", ".join(names[:SHOWN]) + (f", and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")
