"""Placeholders in place of names: `?`, `None` and the like, as exporters declare dims whose size nobody knows.

One text on several axes says nothing of their sizes, so each axis of an input gets a symbol of its own, and a declared
type of another value claims nothing there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.terms.expr import UNKNOWN_SIZE, Expr
from absint.lattices.text.dim_params import is_placeholder, is_unknown
from absint.lattices.text.printer import format_dim
from absint.lattices.value import OptionalOf, Tensor, Value

CODE: Final = "placeholder-names"


class Placeholders:
    """The placeholders among the declared dims of inputs."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def removed(self, name: str, value: Value) -> Value:
        """The declared type of an input, where each placeholder is an unknown size."""
        found = list(_placeholders(value))
        if not found:
            return value
        self._texts[name] = list(map(format_dim, found))
        return value.replace({s: UNKNOWN_SIZE for dim in found for s in dim.symbols if is_placeholder(s.name)})

    def diagnostics(self) -> Iterator[Diagnostic]:
        """At most one, on all the inputs."""
        if not self._texts:
            return
        texts = Counter(chain.from_iterable(self._texts.values()))
        where = f"{len(self._texts)} inputs" if len(self._texts) > 1 else f"input {next(iter(self._texts))!r}"
        axes, each = (f"{texts.total()} axes are", "each") if texts.total() > 1 else ("1 axis is", "it")
        text = (
            f"{axes} declared {_listed(texts)}, which names no size: {each} is unknown, and named after input and "
            "axis; --names-as-declared (names_as_declared=True) takes it for a name"
        )
        severity = Severity.WARNING if max(texts.values()) > 1 else Severity.INFO
        yield Diagnostic(severity, CODE, where, text)


def _placeholders(value: Value) -> Iterator[Expr]:
    if isinstance(value, OptionalOf):
        yield from _placeholders(value.element)
    for dim in value.shape.open if isinstance(value, Tensor) else ():
        if is_unknown(dim):
            yield dim


def _listed(texts: Iterable[str]) -> str:
    """A few of the texts."""
    first, *more = (text.strip("`") for text in texts)
    return f"{first!r}" + (f" (or {', '.join(map(repr, more[:2]))}{', ...' if len(more) > 2 else ''})" if more else "")
