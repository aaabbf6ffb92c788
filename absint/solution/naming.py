"""Names for the long dims of a result, the same in every document and query about it; the head of such documents.

Relations and the nodes that state them, in one line each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import YES, Relation, le
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.forms import Key
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.notation import form_of
from absint.lattices.text.sheets import Line, so_many
from absint.lattices.value import AnyTensor, SequenceOf, Value, parts
from absint.model.declared_types import read_texts
from absint.program.limits import UNFINISHED
from absint.program.steps import Operand
from absint.shapes.readability import more_names
from absint.solution.analysed import Analysed, once
from absint.transfer.ordinary import box_of, holds_in_box
from absint.transfer.semantics import EITHER, ONNX

if TYPE_CHECKING:
    from absint.solver.constraints import Constraint, Origin, PossibleFailure


_DEFINED_IN_MESSAGE: Final = 4


def names_of(analysed: Analysed) -> Names:
    """A document about a result, which defines the names that it uses."""
    return Names(naming(analysed))


@once
def naming(analysed: Analysed) -> Naming:
    """The names of the long dims of a result: those of outputs first, then of all values in execution order."""
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


_LONG: Final = 80
_LONGEST: Final = 300


def brief(relation: Relation, texts: Names) -> str:
    """A relation with its long parts named; of one that is too large to read all the same, its size."""
    found = texts.naming.relation(relation)
    if len(found.text) > _LONGEST:
        return f"<{relation.size:,} terms over {', '.join(sorted(relation.free_symbols)[:4])}>"
    return texts.noted(found)


def stated(constraint: Constraint, texts: Names) -> str:
    """A constraint with the node that states it: `N == 64  (MatMul /fc: inner dimensions of A and B must agree)`."""
    return f"{brief(constraint.formula, texts)}  ({reason(constraint.origin, constraint.reason)})"


def reason(origin: Origin, why: str) -> str:
    """The origin of a statement and its reason; the reason alone for an assumption of the user and a declared input."""
    from absint.solution.constraints import ASSUMPTION, DECLARATION

    return why if origin in (ASSUMPTION, DECLARATION) else f"{origin}: {why}"


def in_short(premises: Sequence[Constraint], texts: Names, most: int = 2) -> str:
    """The first of some premises: `N <= 16777216; M <= 16777216; and 3 more`.

    In place of long numeric premises stand largest sizes at which all of them hold, and in place of what these imply.
    """
    numeric = [c.formula for c in premises if c.is_premise]
    boxes = {formula: box_of(formula) for formula in numeric if form_of(formula).length > _LONG}
    box = min((size for size in boxes.values() if size is not None), default=0)
    inside = {s for formula, size in boxes.items() if size is not None for s in formula.symbols}
    left = [c for c in premises if not (c.formula in numeric and _is_inside(c.formula, inside, box))]
    known = Facts(c.formula for c in left)
    bounded = [s for s in inside if known.decide(le(expr_of(s), box)) is not YES]
    names = ", ".join(sorted(symbol.name for symbol in bounded))
    first = [f"{names} <= {box}"] if bounded else []
    shown = first + [brief(constraint.formula, texts) for constraint in left[: most - len(first)]]
    more = len(first) + len(left) - len(shown)
    return "; ".join([*shown, *([f"and {more:,} more"] if more else [])])


def _is_inside(premise: Relation, symbols: set[Symbol], box: int) -> bool:
    """The premise holds if none of the symbols, which box it, is larger."""
    return symbols.issuperset(premise.symbols) and holds_in_box(premise, box)


def by_nodes(constraints: Iterable[Constraint], relation: Relation) -> str:
    """The origins of a relation: a node that states just this, else the first two; and the number of others."""
    found = list(constraints)
    exact = [constraint for constraint in found if constraint.formula is relation]
    shown = exact[:1] or found[:2]
    rest = {constraint.origin for constraint in found} - {constraint.origin for constraint in shown}
    more = f", and {so_many(len(rest), 'more node')}" if rest else ""
    return "; ".join(dict.fromkeys(reason(c.origin, c.reason) for c in shown)) + more


def failures_by_reason(possible_failures: Iterable[PossibleFailure]) -> dict[str, list[PossibleFailure]]:
    """Possible failures of one operator for one reason are one line, and so are all nodes that were not analysed."""
    found: dict[str, list[PossibleFailure]] = {}
    for failure in possible_failures:
        operator = "" if failure.reason == UNFINISHED else f"{failure.origin.operator}: "
        found.setdefault(f"{operator}{failure.reason}", []).append(failure)
    return found


def runs_alone(semantics: str) -> list[Line]:
    """The runs that an answer is about; nothing for those of either semantics."""
    runs = "by the documents of ONNX" if semantics == ONNX else "in onnxruntime"
    return [] if semantics == EITHER else [Line(f"of runs {runs} alone")]


# The relations that an unsound policy takes for granted where dims broadcast.


class Claimed(NamedTuple):
    """A relation that an unsound policy takes for granted, and the node that needs it."""

    relation: Relation
    node: str
    reason: str

    def __str__(self) -> str:
        return f"{self.relation} ({self.node}: {self.reason})"


@once
def claims(analysed: Analysed) -> tuple[Claimed, ...]:
    """The claims under printed names, in execution order; none under a sound policy."""
    if analysed.policy.sound:
        return ()
    found = [
        (str(item), statement)
        for node, item in enumerate(analysed.nodes)
        for statement in analysed.analysis.statements(node)
        if statement.role == "claimed"
    ]
    symbols = (s for _, statement in found for s in sorted(statement.relation.symbols, key=lambda s: s.name))
    names = more_names(symbols, analysed.names, analysed.taken)
    return tuple(Claimed(said.relation.substitute(names), node, said.reason) for node, said in found)
