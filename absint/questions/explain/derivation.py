"""Follows numbers of a finished analysis back to their origins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from absint.lattices.contents import OPAQUE, Element, element_symbols, replace_in
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.value import AnyTensor, Value
from absint.program.steps import Operand
from absint.questions.explain.dependence import Trials
from absint.questions.explain.derived import Kind
from absint.questions.explain.flow_sources import FlowSources, Part, Slot
from absint.questions.explain.places import as_integer, number_at
from absint.questions.explain.reasons import formal, why_open

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


MAX_STEPS: Final = 60_000
"""Most numbers that one explanation follows; it counts the sources left out."""


@dataclass(frozen=True)
class Origin:
    """The sources of one number."""

    kind: Kind
    parts: tuple[Part, ...] = ()
    does: str = ""
    terms: tuple[Dim, ...] = ()
    """The terms for `{0}`, `{1}` in `does`."""
    attributes: tuple[str, ...] = ()
    by_facts: bool = False
    formula: Expr | None = None
    variables: tuple[int | None, ...] = ()
    """For each part its variable in the formula; see `Dependence`."""


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
            return self._flow(slot)
        found = self._trials.of(slot.node, slot.output, slot.place, self._leaves)
        parts = tuple(
            Part(formal(item.operation, position), Slot(*item.operands[position], place))
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

    def _flow(self, slot: Slot) -> Origin:
        flow = self._flows.of(slot.node, slot.output, slot.place)
        number = as_integer(self.number(slot))
        same = number is not None and all(as_integer(self.number(part.slot)) is number for part in flow.parts)
        return Origin("unchanged" if same and flow.parts else "control", flow.parts, flow.does, flow.terms)

    def _is_born(self, slot: Slot) -> bool:
        """The node's rule gave a fresh symbol and no expression."""
        summary = self._analysis.applied.get(slot.node)
        if summary is None:
            return False
        number = number_at(summary.outputs[slot.output], slot.place) if slot.output < len(summary.outputs) else None
        return number is not None and any(s.kind is SymbolKind.HOLE for s in element_symbols(number))
