"""Names for the long dims of a result, the same in every document and query about it; the head of such documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.forms import Key
from absint.lattices.text.naming import Names, Naming
from absint.lattices.value import AnyTensor, SequenceOf, Value, parts
from absint.model.definitions import read_texts
from absint.program.steps import Operand
from absint.solution.analysed import Analysed

_DEFINED_IN_MESSAGE: Final = 4


def naming(analysed: Analysed) -> Naming:
    """The names of the long dims of a result: those of outputs first, then of all values in execution order."""
    return analysed.once(_naming)


def names_of(analysed: Analysed) -> Names:
    """A document about a result, which defines the names that it uses."""
    return Names(naming(analysed))


def _naming(analysed: Analysed) -> Naming:
    taken = analysed.taken

    def has(name: str) -> bool:
        return name in taken or is_value(analysed, name)

    batches = in_order(analysed, analysed.value_of)
    shown = {name: dim for dim in analysed.names.values() for name in dim.free_symbols}
    given = read_texts(analysed.lowered.definition_texts, {**shown, **analysed.parameters})
    return Naming(has, batches, {name: dim for name, dim in given.items() if isinstance(dim, Expr)})


def defining(message: str, texts: Names) -> str:
    """A message that stands alone, with the definitions of the names in it: all, or the first few of many."""
    found = [f"{name} = {text}" for name, text in texts.definitions.items()]
    if not found:
        return message
    more = ", ..." if len(found) > _DEFINED_IN_MESSAGE else ""
    return f"{message}, where {', '.join(found[:_DEFINED_IN_MESSAGE])}{more}"


def is_value(analysed: Analysed, name: str) -> bool:
    """A value of some graph of the model has the name."""
    return any(name in scope.names for scope in analysed.scopes.values())


def in_order(analysed: Analysed, value_of: Callable[[Operand], Value]) -> Iterator[Iterator[Dim]]:
    """The dims of the outputs, then those of all values, in execution order within each graph."""
    main = analysed.scopes[""].names
    yield _dims(value_of(main[name]) for name in analysed.outputs if name in main)
    yield _dims(value_of(operand) for scope in analysed.scopes.values() for operand in scope.names.values())


def _dims(values: Iterable[Value]) -> Iterator[Dim]:
    for part in (part for value in values for part in parts(value)):
        if isinstance(part, AnyTensor):
            yield from part.shape.numbers
        elif isinstance(part, SequenceOf):
            yield part.length


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
