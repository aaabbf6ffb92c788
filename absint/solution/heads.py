"""The head of documents about a result."""

from __future__ import annotations

from absint.lattices.text.documents import Head
from absint.solution.analysed import Analysed


def about(analysed: Analysed) -> Head:
    """Its model, what the caller has given, and the runs that it is about."""
    return Head(analysed.origin, tuple(map(str, analysed.assumptions)), analysed.semantics)
