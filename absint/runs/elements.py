"""Numbers for the elements of small inputs in a run: those that a binding gives, and the rest as the caller assumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import Expr
from absint.shapes.assumptions import check_number, facts_of
from absint.shapes.input_elements import InputElement

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def chosen(
    result: Analysed, binding: Mapping[str, int], feeds: Mapping[str, npt.NDArray[np.generic]]
) -> Mapping[str, npt.NDArray[np.generic]]:
    """The feeds with the elements that the binding names, and with others where assumptions exclude what they are.

    Raises UsageError for a number that an element cannot have, and for assumptions that these numbers do not meet.
    """
    elements = result.declared_inputs.elements
    if not elements:
        return feeds
    facts = _facts(result)
    found = dict(feeds)
    numbers = dict(binding)
    for name, element in elements.items():
        array = found[element.input]
        if name in binding:
            number = check_number(name, binding[name], elements)
        else:
            number = _allowed(element, int(array.flat[element.place]), facts)
        if number != array.flat[element.place]:
            array = found[element.input] = array.copy()
            array.flat[element.place] = number
        numbers[name] = number
    for relation in result.assumptions:
        if relation.free_symbols <= numbers.keys() and relation.at(numbers) is not YES:
            raise UsageError(f"no inputs are made that meet the assumption {relation}; give feeds")
    return found


def _facts(result: Analysed) -> Facts | None:
    """The caller's assumptions about elements."""
    names = result.declared_inputs.elements.keys()
    if all(relation.free_symbols.isdisjoint(names) for relation in result.assumptions):
        return None
    return facts_of(result.assumptions, ())


def _allowed(element: InputElement, number: int, facts: Facts | None) -> int:
    """The number, or the nearest within the bounds that are assumed."""
    value = element.expr if facts is None else facts.simplify(element.expr)
    if not isinstance(value, Expr):
        return number
    lo, hi = value.bounds
    return max(number if lo is None else lo, number if hi is None else min(number, hi))
