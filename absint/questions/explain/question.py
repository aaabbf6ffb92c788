"""The derivation of a dim, node by node, back to inputs, initialisers and data-dependent sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from absint.errors import UnknownNameError, UsageError
from absint.lattices.shape import Shape
from absint.lattices.value import BOTTOM, TOP, AnyTensor
from absint.program.steps import ABSENT, Operand
from absint.questions.explain.explanation import Explanation
from absint.questions.explain.flow_sources import Slot
from absint.questions.explain.fresh import fresh_symbols
from absint.questions.explain.places import Place, axes_of, number_at, numbers_of
from absint.questions.explain.steps import Steps
from absint.solution.described import brief

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

MAX_ELEMENTS: Final = 16
"""Most elements of one value to explain if no axis is given."""


def explain(
    analysed: Analysed, value: str, axis: int | None = None, *, element: int | None = None, path: str = ""
) -> Explanation:
    """Explain the dim of an axis; without an axis, all dims and known elements of the value.

    `element` explains one element instead, by its row-major index. `path` names the subgraph or inlined function
    (`loop1/body`) of the value. A negative axis counts from the back.

    Of a value of unknown rank the known sizes are explained, and the `note` says where the others begin.

    Raises UsageError for a value, axis or element that does not exist, or of which nothing is known.
    """
    operand = _found(analysed, value, path)
    found = analysed.value_of(operand)
    if element is None and isinstance(found, AnyTensor) and found.shape.rank is None:
        known = [at for at in axes_of(found.shape) if axis in (None, at)]
        slots = [Slot(*operand, Place("axis", at)) for at in known]
        rest = "no axis" if not found.shape.known else "no other axis" if known else f"nothing of axis {axis}"
        note = _no_rank(analysed, operand, found.shape, rest) if axis is None or not known else ""
        return Steps(analysed).explanation(value, path, operand, slots, note)
    return Steps(analysed).explanation(value, path, operand, _slots(analysed, value, operand, axis, element))


def _no_rank(analysed: Analysed, operand: Operand, shape: Shape, which: str) -> str:
    """The reason why a value has axes that are not explained."""
    if shape.cases:
        return f"sizes choose its shape, {brief(shape)}: {which} is explained"
    variable, reason = shape.variable, f"its rank is unknown, so {which} is explained"
    given = ((name, analysed.value_of((node, 0))) for name, node in analysed.input_nodes.items())
    for name, value in given:
        if isinstance(value, AnyTensor) and value.shape.variable is variable is not None:
            return f"{reason}: {variable.name} is a list of sizes of input {name!r}; state them, as {name}=2x3"
    for symbol in fresh_symbols(analysed):
        if variable is not None and symbol.name == variable.name:
            why = "" if symbol.cause == "open" else f", {symbol.why}"
            return f"{reason}: {symbol.name} is a list of sizes that begins at {symbol.label}{why}"
    return f"{reason}; it is computed by {analysed.nodes[operand[0]]}"


# What is asked for


def _found(analysed: Analysed, value: str, path: str) -> Operand:
    view = analysed.at(path) if path else analysed.values
    if value not in view:
        scopes = analysed.scopes
        inner = [p for p, scope in scopes.items() if value in scope.names]
        if not inner:
            raise UnknownNameError(f"{view.place} has no value", value, view)
        where = ", ".join(repr(p) if p else "the main graph" for p in inner[:3])
        raise UsageError(f"{view.place} has no value {value!r}; there is one in {where}")
    operand = analysed.scopes[path].names[value]
    if operand == ABSENT:
        raise UsageError(f"{value!r} is an input of the function that this call leaves out")
    return operand


def _slots(analysed: Analysed, value: str, operand: Operand, axis: int | None, element: int | None) -> Sequence[Slot]:
    if axis is not None and element is not None:
        raise UsageError("give an axis or an element, not both")
    found = analysed.value_of(operand)
    if found is BOTTOM:
        raise UsageError(f"{value!r} is never computed: no run reaches {analysed.nodes[operand[0]]}")
    if not isinstance(found, AnyTensor):
        kind = "nothing is known of it" if found is TOP else f"it is {found!r}"
        raise UsageError(f"{value!r} is not known to be a tensor: {kind}")
    if element is not None:
        place = Place("element", element)
        if element < 0 or number_at(found, place) is None:
            raise UsageError(f"nothing is known of element {element} of {value!r}: it is {found!r}")
        return [Slot(*operand, place)]
    rank = found.shape.rank
    assert rank is not None
    if axis is not None:
        if not -rank <= axis < rank:
            raise UsageError(f"axis {axis} of {value!r} is out of range: it has rank {rank}, shape {found.shape}")
        return [Slot(*operand, Place("axis", axis % rank))]
    places = [place for place, _ in numbers_of(found) if place.kind == "element"]
    dims = [Place("axis", at) for at in range(rank)]
    return [Slot(*operand, place) for place in (*dims, *(places if len(places) <= MAX_ELEMENTS else ()))]
