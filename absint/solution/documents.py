"""The head of documents about a result, and the document about a model that has none."""

from __future__ import annotations

from typing import Final

from absint.lattices.text.documents import Document, Head
from absint.lattices.text.forms import Key
from absint.solution.analysed import Analysed


def about(analysed: Analysed) -> Head:
    """The head of a document about a result: its model, what the caller has given, and the runs that it is about."""
    return Head(analysed.origin, tuple(map(str, analysed.assumptions)), analysed.semantics)


ERROR: Final = Document[Exception](
    "error",
    1,
    "a model of several that could not be read or answered",
    Key("error", str, "one line: what, where, what to do", lambda error: error),
    head=("model",),
    defines=False,
)
