"""Follows numbers of a finished analysis back to their origins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from absint.lattices.contents import OPAQUE, Element, element_symbols, replace_in
from absint.lattices.logic.relation import TRUE
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, sub
from absint.lattices.terms.normal import substitute
from absint.lattices.value import BOTTOM, AnyTensor, Tensor, Value
from absint.program.nodes import Node
from absint.program.steps import ABSENT, IfJoin, LoopBody, LoopExit, LoopHead, Operand, ScanExit, ScanHead, ScanSettings
from absint.questions.explain.dependence import Trials
from absint.questions.explain.derived import FIRST, Coordinate, Kind, as_integer, formal, number_at, why_open
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.loops.body import BodySymbols
from absint.shapes.summaries import State
from absint.solution.analysed import Analysed

# The sources of numbers of control-flow nodes: the branches of an If, what a loop carries and stacks.


class Slot(NamedTuple):
    """A number of the model: an output of a node, and a place in it."""

    node: int
    output: int
    place: Coordinate


class Contribution(NamedTuple):
    """A number that another one comes from, and its role."""

    role: str
    slot: Slot


@dataclass(frozen=True)
class Origin:
    """The sources of one number."""

    kind: Kind
    parts: tuple[Contribution, ...] = ()
    does: str = ""
    """The work of a control-flow node in words of the model, or why a symbol is invented."""
    terms: tuple[Dim, ...] = ()
    """The terms for `{0}`, `{1}` in `does`."""
    attributes: tuple[str, ...] = ()
    by_facts: bool = False
    formula: Expr | None = None
    variables: tuple[int | None, ...] = ()
    """For each part its variable in the formula; see `Dependence`."""


def _flow(does: str, parts: tuple[Contribution, ...], terms: tuple[Dim, ...] = ()) -> Origin:
    return Origin("control", parts, does, terms)


class FlowSources:
    """Reads them from a finished analysis."""

    def __init__(self, analysis: ShapeAnalysis, states: Sequence[State]) -> None:
        self._analysis = analysis
        self._states = states

    def of(self, node: int, output: int, place: Coordinate) -> Origin:
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
        return _flow("", ())

    def number(self, slot: Slot) -> Element | None:
        """The number there; None if it is unknown."""
        state = self._states[slot.node]
        return number_at(state[slot.output], slot.place) if slot.output < len(state) else None

    def _parts(self, *found: tuple[str, Operand, Coordinate]) -> tuple[Contribution, ...]:
        """The parts with a known number; a condition that is always true is left out."""
        parts = (Contribution(role, Slot(*operand, place)) for role, operand, place in found if operand != ABSENT)
        return tuple(part for part in parts if self.number(part.slot) not in (None, TRUE))

    # If

    def _join(self, item: Node, join: IfJoin, output: int, place: Coordinate) -> Origin:
        both = zip(("then", "else"), join.after, join.branches(item.operands), strict=True)
        branches = [(role, branch[output], place) for role, gate, branch in both if self._states[gate][0] is not BOTTOM]
        if len(branches) < 2:
            return _flow("only one branch is ever taken", self._parts(*branches))
        parts = self._parts(*branches)
        if len({self.number(part.slot) for part in parts}) == 1 and len(parts) == 2:
            return _flow("the same in both branches", parts)
        return _flow("the branch that is taken", (*parts, *self._parts(("condition", item.operands[0], FIRST))))

    # Loop

    def _loop_head(self, node: int, item: Node, head: LoopHead, output: int, place: Coordinate) -> Origin:
        if output == 0:
            return _flow("the number of the trip, from 0", self._parts(("limit", item.operands[0], FIRST)))
        if output == 1:
            return _flow("true at the start of every trip", ())
        return self._carried(head, Slot(node, output, place), item.operands[output], head.back[output - 1], place)

    def _carried(self, head: LoopBody, slot: Slot, start: Operand, back: Operand, start_place: Coordinate) -> Origin:
        """A carried number. The place of its start differs from its own where a batch axis is dropped."""
        body = BodySymbols(head)
        parts = self._parts(("start", start, start_place), ("back edge", back, slot.place))
        number = self.number(slot)
        if not isinstance(number, Expr) or not body.occur_in(number):
            return _flow("carried, the same in every trip", parts)
        trip = expr_of(body.iteration)
        if body.iteration not in number.symbols:
            return _flow("carried: its value at the start of one trip", parts)
        step = sub(substitute(number, {body.iteration: trip + 1}), number)
        if not _is_polynomial(step, body.iteration):
            return _flow("carried: its value at the start of trip {0}, counted from 0", parts, (trip,))
        return _flow("carried: each trip adds {0}, and {1} is the number of the trip, from 0", parts, (step, trip))

    def _loop_exit(self, item: Node, end: LoopExit, output: int, place: Coordinate) -> Origin:
        parts = end.parts(item.operands)
        trips = (
            ("limit", parts.limit, FIRST),
            ("condition", parts.condition, FIRST),
            ("condition of the body", parts.goes_on, FIRST),
        )
        if output < end.count:
            return self._final(parts.inside[output], place, trips)
        return self._stacked(parts.slices[output - end.count], place, 0, trips)

    def _final(self, head: Operand, place: Coordinate, trips: Sequence[tuple[str, Operand, Coordinate]]) -> Origin:
        loop = self._analysis.nodes[head[0]].step
        assert isinstance(loop, LoopBody)
        last = self._parts(("last trip", head, place))
        numbers = [self.number(part.slot) for part in last]
        if not any(isinstance(n, Expr) and BodySymbols(loop).occur_in(n) for n in numbers):
            return _flow("after the last trip, as in each" if last else "after the last trip", last)
        count = self._analysis.trips.get(head[0])
        parts = (*last, *self._parts(*trips))
        return (
            _flow("after {0} trips", parts, (count,))
            if isinstance(count, Expr)
            else _flow("after the last trip", parts)
        )

    def _stacked(
        self, result: Operand, place: Coordinate, axis: int, trips: Sequence[tuple[str, Operand, Coordinate]]
    ) -> Origin:
        """One number of a scan output, which stacks the trips along an axis."""
        if place.kind != "axis":
            return _flow("stacked", ())
        value = self._value(result)
        if axis < 0 and isinstance(value, Tensor) and value.shape.rank is not None:
            axis += value.shape.rank + 1
        if place.at == axis:
            return _flow("one slice for each trip", self._parts(*trips))
        inner = place.without_axis(axis)
        return _flow("stacked over the trips", self._parts(("body", result, inner)))

    # Scan

    def _scan_head(self, node: int, item: Node, head: ScanHead, output: int, place: Coordinate) -> Origin:
        settings = head.settings
        outer = place.with_axis(0) if settings.batched and place.kind == "axis" else place
        if output < settings.states:
            slot = Slot(node, output, place)
            return self._carried(head, slot, item.operands[output], head.back[output], outer)
        if place.kind != "axis":
            return _flow("one slice in each trip", ())
        operand = item.operands[output]
        axis = 0 if settings.batched else self._axis(operand, settings.input_axes[output - settings.states])
        return _flow("one slice in each trip", self._parts(("sliced", operand, outer.with_axis(axis))))

    def _scan_exit(self, item: Node, end: ScanExit, output: int, place: Coordinate) -> Origin:
        settings, parts = end.settings, end.parts(item.operands)
        trips = [
            ("length", operand, Coordinate("axis", axis)) for operand, axis in self._lengths(settings, parts.scanned)
        ]
        if settings.batched and place.kind == "axis":
            if place.at == 0:
                return _flow("the batch", self._parts(*((role, o, Coordinate("axis")) for role, o, _ in trips)))
            place = place.without_axis(0)
        if output < settings.states:
            return self._final(parts.inside[output], place, trips)
        k = output - settings.states
        axis = settings.output_axes[k] if k < len(settings.output_axes) else 0
        return self._stacked(parts.slices[k], place, axis, trips)

    def _lengths(self, settings: ScanSettings, scanned: Sequence[Operand]) -> Iterator[tuple[Operand, int]]:
        for operand, axis in zip(scanned, settings.input_axes, strict=True):
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


MAX_STEPS: Final = 60_000
"""Most numbers that one explanation follows; it counts the sources left out."""


class Derivation:
    """Follows numbers of one result back."""

    def __init__(self, analysed: Analysed) -> None:
        self._nodes = analysed.nodes
        self._analysis = analysed.last.analysis
        self._states = analysed.last.states
        self._back = analysed.rounds.originals
        self._inputs = frozenset(analysed.input_nodes.values())
        leaves = [n for n, item in enumerate(self._nodes) if item.value is not None or not item.operands]
        self._leaves = frozenset((n, 0) for n in leaves)
        self._trials = Trials(self._analysis, self._states)
        self._flows = FlowSources(self._analysis, self._states)
        self.origins: dict[Slot, Origin] = {}
        """Every number that was reached, in order."""
        self.followed: set[Slot] = set()
        """Numbers whose sources were followed."""
        self._missed: set[Slot] = set()
        self._numbers: dict[Slot, Element] = {}

    @property
    def left_out(self) -> int:
        """Numbers that the limit on steps left out."""
        return len(self._missed.difference(self.origins))

    def number(self, slot: Slot) -> Element:
        """The number there, as the last round knows it."""
        found = self._numbers.get(slot)
        if found is None:
            found = number_at(self._states[slot.node][slot.output], slot.place)
            found = self._numbers[slot] = OPAQUE if found is None else found
        return found

    def restored(self, number: Element) -> Element:
        """The number over the symbols of round 0, which the result shows."""
        return replace_in(number, self._back) if self._back else number

    def follow(self, slots: Sequence[Slot]) -> None:
        """Find the origins of the numbers, and of their sources."""
        for slot in slots:
            self.origins[slot] = self._origin(slot)
        pending = list(reversed(slots))
        while pending:
            slot = pending.pop()
            if slot in self.followed:
                continue
            if len(self.origins) >= MAX_STEPS:
                self._missed.add(slot)
                continue
            for end in self._ends(slot):
                if end not in self.followed:
                    self.followed.add(end)
                    pending += reversed(self._worth_following(end))

    def _ends(self, slot: Slot) -> list[Slot]:
        """The slots where numbers that reach this one unchanged begin; one that is explained already suffices."""
        pending, ends, explained = [slot], [], False
        run: set[Slot] = set()
        while pending:
            slot = pending.pop()
            if slot in run:
                continue
            if slot in self.followed:
                explained = True
                continue
            origin = self.origins.get(slot)
            if origin is None and len(self.origins) >= MAX_STEPS:
                self._missed.add(slot)
                continue
            run.add(slot)
            if origin is None:
                origin = self.origins[slot] = self._origin(slot)
            if origin.kind == "unchanged":
                self.followed.add(slot)
                pending += (part.slot for part in reversed(origin.parts))
            else:
                ends.append(slot)
        leaves = [end for end in ends if not self.origins[end].parts]
        return leaves if leaves or explained else ends

    def _worth_following(self, slot: Slot) -> list[Slot]:
        """The sources of a number, without the constants of an expression."""
        found = [part.slot for part in self.origins[slot].parts]
        if not element_symbols(self.number(slot)):
            return found
        return [slot for slot in found if element_symbols(self.number(slot))]

    # One number

    def _origin(self, slot: Slot) -> Origin:
        item = self._nodes[slot.node]
        if item.value is not None:
            return self._source_of(slot, item.value)
        if item.operation is None:
            return self._by_control(slot)
        found = self._trials.of(slot.node, slot.output, slot.place, self._leaves)
        parts = tuple(
            Contribution(formal(item.operation, position), Slot(*item.operands[position], place))
            for position, place in found.sources
        )
        if found.unchanged:
            return Origin("unchanged", parts)
        if self._is_born(slot):
            return Origin(
                "invented", parts, why_open(self._analysis, self._states, *slot), (), found.attributes, found.by_facts
            )
        if any(self._is_chosen(operand) for operand in item.operands):
            return Origin("control", parts, "for each shape of an input, of which sizes choose one")
        kind: Kind = "computed" if parts else "fixed"
        return Origin(kind, parts, "", (), *found[2:])

    def _is_chosen(self, operand: Operand) -> bool:
        """Sizes choose the shape of the operand, so that its axes have no numbers."""
        value = self._states[operand[0]][operand[1]] if operand[0] >= 0 else None
        return isinstance(value, AnyTensor) and bool(value.shape.cases)

    def _source_of(self, slot: Slot, declared: Value) -> Origin:
        """An input, which may be known more exactly than declared, or an initialiser."""
        if slot.node not in self._inputs:
            return Origin("initialiser")
        stated = number_at(declared, slot.place)
        if isinstance(stated, Dim) and stated is not self.restored(self.number(slot)):
            return Origin("input", (), "declared as {0}", (stated,))
        return Origin("input")

    def _by_control(self, slot: Slot) -> Origin:
        found = self._flows.of(*slot)
        number = as_integer(self.number(slot))
        same = number is not None and all(as_integer(self.number(part.slot)) is number for part in found.parts)
        return replace(found, kind="unchanged") if same and found.parts else found

    def _is_born(self, slot: Slot) -> bool:
        """The node's rule gave a fresh symbol and no expression."""
        summary = self._analysis.applied.get(slot.node)
        if summary is None:
            return False
        number = number_at(summary.outputs[slot.output], slot.place) if slot.output < len(summary.outputs) else None
        return number is not None and any(s.kind is SymbolKind.HOLE for s in element_symbols(number))
