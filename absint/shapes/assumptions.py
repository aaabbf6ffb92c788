"""Assumptions of the caller about input symbols, and the facts that they and the declarations imply together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.terms.expr import MAX_DIM, Dim, symbol
from absint.lattices.terms.interval import Interval
from absint.lattices.text.dim_params import is_placeholder
from absint.lattices.text.nearest import did_you_mean
from absint.lattices.text.reading import parse_relation
from absint.lattices.text.tokens import TextError
from absint.shapes.input_elements import MAX_INPUT_ELEMENTS, InputElement
from absint.shapes.inputs import Inputs
from absint.shapes.memo import known_facts

Assumption = str | Relation
"""A relation over input symbols, or its text."""


_TRUTHS: Final = (0, 1)
"""Bounds of a name that stands for a condition in a text."""


def read_assumptions(assume: Sequence[Assumption], inputs: Inputs) -> list[Relation]:
    """The user's assumptions as relations over sizes and elements of the inputs.

    Raises UsageError for a text that does not parse, a name that is no symbol, and a size that stands as a condition.
    """
    relations = []
    parameters = inputs.parameters
    for item in assume:
        try:
            relation = parse_relation(item, _Assumed(parameters), total=True) if isinstance(item, str) else item
        except TextError as error:
            raise UsageError(
                f"assumption {item!r} does not parse: {error.reason}, at column {error.column + 1}"
            ) from None
        known_names(relation.free_symbols, inputs, f"assumption {item!s}")
        relation = over_elements(relation, inputs.elements)
        for name in sorted(s.name for s in relation.symbols if s.bounds == _TRUTHS and s.name not in inputs.elements):
            raise UsageError(f"assumption {item!s}: {name!r} is a size, not a condition: write {name} >= 1, say")
        relations.append(relation)
    return relations


class _Assumed(dict[str, Dim]):
    """The symbols of a text; a name that nothing has is a size, which is refused with a better line later."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Dim:
        return symbol(name)


def over_elements(relation: Relation, elements: Mapping[str, InputElement]) -> Relation:
    """A relation that was read without a model, in which an element of an input passes for a size."""
    if not elements or relation.free_symbols.isdisjoint(elements):
        return relation
    return relation.substitute({s: elements[s.name].expr for s in relation.symbols if s.name in elements})


def check_number(name: str, number: object, elements: Mapping[str, InputElement], what: str = "") -> int:
    """The number for a size or an element. Raises UsageError, which begins with `what`, for one that it cannot have."""
    element = elements.get(name)
    what = what or f"{name}={number!r}"
    if element is not None and isinstance(number, bool):
        return int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise UsageError(f"{what}: {'an element of an input' if element else 'a size'} is an integer")
    if element is not None:
        if number not in Interval(*element.symbol.bounds):
            lo, hi = element.symbol.bounds
            raise UsageError(f"{what}: {element.where} is of type {element.dtype}, {lo} to {hi}")
    elif number < 0:
        raise UsageError(f"{what}: a size cannot be negative")
    elif number > MAX_DIM:
        raise UsageError(f"{what}: a size is below 2**31")
    return number


def facts_of(assumptions: Sequence[Relation], premises: Sequence[Relation]) -> Facts:
    """The facts of the inputs' declarations and the user's assumptions together."""
    relations = [*premises, *assumptions]
    facts = known_facts.facts_of(relations)
    if facts.contradiction:
        stated = ", ".join(str(relation) for relation in relations if relation is not TRUE)
        raise UsageError(f"the assumptions contradict each other: {stated}")
    return facts


def known_names(names: Iterable[str], inputs: Inputs, what: str) -> None:
    """Raises UsageError for a name that is neither a size nor an element of a small input."""
    known = (*inputs.symbols, *inputs.elements)
    for name in names:
        if name not in known and name in inputs.others:
            raise UsageError(
                f"{what}: input {name!r} has no symbols for its elements: only integers and truths have them, "
                f"in an input of at most {MAX_INPUT_ELEMENTS} whose shape is declared in numbers"
            )
    known_symbols(names, known, what)


def known_symbols(names: Iterable[str], symbols: Sequence[str], what: str) -> None:
    """Raises UsageError for a name that is no symbol of the inputs."""
    for name in names:
        if name not in symbols:
            hint = did_you_mean(name, symbols, 1) or f"the input symbols are: {', '.join(symbols) or 'none'}"
            option = "; --names-as-declared (names_as_declared=True) takes placeholders for names"
            raise UsageError(f"{what}: no input has a symbol {name!r}; {hint}{option if is_placeholder(name) else ''}")
