"""The head of every JSON document: its form, the version of absint, the model, and what the caller has given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint.lattices.text.escapes import Json
from absint.lattices.text.forms import TEXT, Document, Head, Key
from absint.version import VERSION

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def head(schema: str, model: str) -> dict[str, Json]:
    """The keys that every document about a model begins with."""
    return {"schema": schema, "absint": VERSION, "model": model}


def head_of(schema: str, analysed: Analysed) -> dict[str, Json]:
    """The same, with sizes and assumptions that the caller has given, as relations, and the runs that it is about."""
    given: list[Json] = [str(relation) for relation in analysed.assumptions]
    return {**head(schema, analysed.origin), "assume": given, "semantics": analysed.semantics}


def about(analysed: Analysed) -> Head:
    """The head of a document about a result: its model, what the caller has given, and the runs that it is about."""
    return Head(analysed.origin, tuple(map(str, analysed.assumptions)), analysed.semantics)


ERROR: Final = Document[Exception](
    "error",
    1,
    "a model of several that could not be read or answered",
    Key("error", TEXT, "one line: what, where, what to do", lambda error: error),
    head=("model",),
    defines=False,
)

__all__ = ["ERROR", "about", "head", "head_of"]
