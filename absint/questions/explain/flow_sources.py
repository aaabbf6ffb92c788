"""The sources of numbers of control-flow nodes: the branches of an If, what a loop carries and stacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from absint.lattices.contents import Element
from absint.lattices.logic.relation import TRUE
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, sub
from absint.lattices.terms.substitution import substitute
from absint.lattices.value import BOTTOM, Tensor, Value
from absint.program.constructs import IfJoin, LoopExit, LoopHead, ScanExit, ScanHead, ScanSettings
from absint.program.nodes import Node
from absint.program.steps import ABSENT, LoopBody, Operand
from absint.questions.explain.places import FIRST, Place, number_at
from absint.shapes.loops.body import BodySymbols

if TYPE_CHECKING:
    from absint.shapes.analysis import ShapeAnalysis
    from absint.shapes.summaries import State


class Slot(NamedTuple):
    """A number of the model: an output of a node, and a place in it."""

    node: int
    output: int
    place: Place


class Part(NamedTuple):
    """A number that another one comes from, and its role."""

    role: str
    slot: Slot


class Flow(NamedTuple):
    """The sources of a number of a control-flow node, and the node's work in words of the model.

    In `does`, `{0}` and so on stand for the `terms`.
    """

    does: str
    parts: tuple[Part, ...]
    terms: tuple[Dim, ...] = ()


class FlowSources:
    """Reads them from a finished analysis."""

    def __init__(self, analysis: ShapeAnalysis, states: Sequence[State]) -> None:
        self._analysis = analysis
        self._states = states

    def of(self, node: int, output: int, place: Place) -> Flow:
        """The sources of the number at a place of an output of a control-flow node."""
        item = self._analysis.nodes[node]
        step = item.step
        if isinstance(step, IfJoin):
            return self._join(item, step, output, place)
        if isinstance(step, LoopHead):
            return self._loop_head(node, item, step, output, place)
        if isinstance(step, LoopExit):
            return self._loop_exit(item, step, output, place)
        if isinstance(step, ScanHead):
            return self._scan_head(node, item, step, output, place)
        if isinstance(step, ScanExit):
            return self._scan_exit(item, step, output, place)
        return Flow("", ())

    def number(self, slot: Slot) -> Element | None:
        """The number there; None if it is unknown."""
        state = self._states[slot.node]
        return number_at(state[slot.output], slot.place) if slot.output < len(state) else None

    def _parts(self, *found: tuple[str, Operand, Place]) -> tuple[Part, ...]:
        """The parts with a known number; a condition that is always true is left out."""
        parts = (Part(role, Slot(*operand, place)) for role, operand, place in found if operand != ABSENT)
        return tuple(part for part in parts if self.number(part.slot) not in (None, TRUE))

    # If

    def _join(self, item: Node, join: IfJoin, output: int, place: Place) -> Flow:
        width = (len(item.operands) - 1) // 2
        branches = [
            (role, item.operands[1 + at * width + output], place)
            for at, (role, gate) in enumerate((("then", join.then_gate), ("else", join.else_gate)))
            if self._states[gate][0] is not BOTTOM
        ]
        if len(branches) < 2:
            return Flow("only one branch is ever taken", self._parts(*branches))
        parts = self._parts(*branches)
        if len({self.number(part.slot) for part in parts}) == 1 and len(parts) == 2:
            return Flow("the same in both branches", parts)
        return Flow("the branch that is taken", (*parts, *self._parts(("condition", item.operands[0], FIRST))))

    # Loop

    def _loop_head(self, node: int, item: Node, head: LoopHead, output: int, place: Place) -> Flow:
        if output == 0:
            return Flow("the number of the trip, from 0", self._parts(("limit", item.operands[0], FIRST)))
        if output == 1:
            return Flow("true at the start of every trip", ())
        return self._carried(head, Slot(node, output, place), item.operands[output], head.back[output - 1], place)

    def _carried(self, head: LoopBody, slot: Slot, start: Operand, back: Operand, start_place: Place) -> Flow:
        """A carried number. The place of its start differs from its own where a batch axis is dropped."""
        body = BodySymbols(head)
        parts = self._parts(("start", start, start_place), ("back edge", back, slot.place))
        number = self.number(slot)
        if not isinstance(number, Expr) or not body.occur_in(number):
            return Flow("carried, the same in every trip", parts)
        trip = expr_of(body.iteration)
        if body.iteration not in number.symbols:
            return Flow("carried: its value at the start of one trip", parts)
        step = sub(substitute(number, {body.iteration: trip + 1}), number)
        if not _is_polynomial(step, body.iteration):
            return Flow("carried: its value at the start of trip {0}, counted from 0", parts, (trip,))
        return Flow("carried: each trip adds {0}, and {1} is the number of the trip, from 0", parts, (step, trip))

    def _loop_exit(self, item: Node, end: LoopExit, output: int, place: Place) -> Flow:
        count, operands = end.count, item.operands
        trips = (
            ("limit", operands[0], FIRST),
            ("condition", operands[1], FIRST),
            ("condition of the body", operands[2 + 2 * count], FIRST),
        )
        if output < count:
            return self._final(operands[2 + count + output], place, trips)
        return self._stacked(operands[3 + 3 * count + output - count], place, 0, trips)

    def _final(self, head: Operand, place: Place, trips: Sequence[tuple[str, Operand, Place]]) -> Flow:
        loop = self._analysis.nodes[head[0]].step
        assert isinstance(loop, LoopBody)
        last = self._parts(("last trip", head, place))
        numbers = [self.number(part.slot) for part in last]
        if not any(isinstance(n, Expr) and BodySymbols(loop).occur_in(n) for n in numbers):
            return Flow("after the last trip, as in each" if last else "after the last trip", last)
        count = self._analysis.trips.get(head[0])
        parts = (*last, *self._parts(*trips))
        return (
            Flow("after {0} trips", parts, (count,)) if isinstance(count, Expr) else Flow("after the last trip", parts)
        )

    def _stacked(self, result: Operand, place: Place, axis: int, trips: Sequence[tuple[str, Operand, Place]]) -> Flow:
        """One number of a scan output, which stacks the trips along an axis."""
        if place.kind != "axis":
            return Flow("stacked", ())
        value = self._value(result)
        if axis < 0 and isinstance(value, Tensor) and value.shape.rank is not None:
            axis += value.shape.rank + 1
        if place.at == axis:
            return Flow("one slice for each trip", self._parts(*trips))
        inner = place.without_axis(axis)
        return Flow("stacked over the trips", self._parts(("body", result, inner)))

    # Scan

    def _scan_head(self, node: int, item: Node, head: ScanHead, output: int, place: Place) -> Flow:
        settings = head.settings
        outer = place.with_axis(0) if settings.batched and place.kind == "axis" else place
        if output < settings.states:
            slot = Slot(node, output, place)
            return self._carried(head, slot, item.operands[output], head.back[output], outer)
        if place.kind != "axis":
            return Flow("one slice in each trip", ())
        operand = item.operands[output]
        axis = 0 if settings.batched else self._axis(operand, settings.input_axes[output - settings.states])
        return Flow("one slice in each trip", self._parts(("sliced", operand, outer.with_axis(axis))))

    def _scan_exit(self, item: Node, end: ScanExit, output: int, place: Place) -> Flow:
        settings, operands = end.settings, item.operands
        trips = [("length", operand, Place("axis", axis)) for operand, axis in self._lengths(settings, operands)]
        if settings.batched and place.kind == "axis":
            if place.at == 0:
                return Flow("the batch", self._parts(*((role, o, Place("axis")) for role, o, _ in trips)))
            place = place.without_axis(0)
        given = settings.states + settings.scans
        if output < settings.states:
            return self._final(operands[given + output], place, trips)
        k = output - settings.states
        axis = settings.output_axes[k] if k < len(settings.output_axes) else 0
        return self._stacked(operands[given + settings.states + output], place, axis, trips)

    def _lengths(self, settings: ScanSettings, operands: Sequence[Operand]) -> Iterator[tuple[Operand, int]]:
        scans = operands[settings.states : settings.states + settings.scans]
        for operand, axis in zip(scans, settings.input_axes, strict=True):
            yield operand, 1 if settings.batched else self._axis(operand, axis)

    def _value(self, operand: Operand) -> Value | None:
        return self._analysis.operand(operand, self._states)

    def _axis(self, operand: Operand, axis: int) -> int:
        value = self._value(operand)
        rank = value.shape.rank if isinstance(value, Tensor) else None
        return axis if axis >= 0 or rank is None else axis + rank


def _is_polynomial(dim: Dim, symbol: Symbol) -> bool:
    """The symbol stands in no quotient, choice or extreme."""
    atoms = dim.atoms() if isinstance(dim, Expr) else ()
    return all(atom is symbol or symbol not in expr_of(atom).symbols for atom in atoms)
