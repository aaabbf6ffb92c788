"""The dims and elements of the inputs that a number of a node's output depends on, found by experiment.

Rules are pure, so a rule can be applied again to changed inputs. A number is *unchanged* if some inputs hold the same
one, and a mark in their place reappears in the output. Otherwise it *comes from* the numbers that remain once every
number has been taken out that may change without changing the output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from absint.lattices.contents import OPAQUE, Element, element_symbols
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import Relation, boolean
from absint.lattices.terms.atoms import INTERNAL, SymbolKind
from absint.lattices.terms.expr import NATURAL, Expr, Symbol, expr_of
from absint.lattices.terms.normal import Real
from absint.lattices.value import Value
from absint.program.nodes import Operation
from absint.program.steps import Operand
from absint.questions.explain.derived import Coordinate, as_integer, number_at, numbers_of, replaced
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.summaries import RuleSummary, State, name_unknowns
from absint.transfer.application import apply
from absint.transfer.op import Op
from absint.transfer.stating import AttributeValue

MAX_TRIALS: Final = 400
"""Most applications of a rule for one number; numbers not taken out by then are shown too."""

MAX_ALONE: Final = 4
"""Most inputs that are tried one by one as the unchanged one."""

_MARK: Final = f"{INTERNAL}explain:"
_FEW: Final = 8
"""So many are left out one by one; from more, halves first."""

_Item = TypeVar("_Item")

Argument = tuple[int, Coordinate]
"""An input by its position, and a place in it."""


class Dependence(NamedTuple):
    """The sources of a number."""

    unchanged: bool
    sources: tuple[Argument, ...]
    attributes: tuple[str, ...] = ()
    """Attributes that the number depends on."""
    by_facts: bool = False
    """It depends on facts that hold at the node."""
    formula: Expr | None = None
    """The number as a term over its sources, in the symbols of `variable`."""
    variables: tuple[int | None, ...] = ()
    """For each source the index of its variable; equal terms share one, constants have none."""


def variable(number: int) -> str:
    """The name that a source has in a formula."""
    return f"{_MARK}v{number}"


class Trials:
    """Applies the rules of one finished analysis again."""

    def __init__(self, analysis: ShapeAnalysis, states: Sequence[State]) -> None:
        self._analysis = analysis
        self._states = states
        self._known: dict[Hashable, Dependence] = {}

    def inputs(self, node: int) -> tuple[Value | None, ...]:
        """The inputs of a node, as its rule saw them."""
        analysis, states = self._analysis, self._states
        return tuple([analysis.operand(operand, states) for operand in analysis.nodes[node].operands])

    def of(self, node: int, output: int, place: Coordinate, leaves: Collection[Operand] = ()) -> Dependence:
        """The sources of the number at a place of an operator's output.

        Where one of several inputs would do, one of `leaves` is preferred.
        """
        item = self._analysis.nodes[node]
        operation = item.operation
        assert operation is not None
        inputs = self.inputs(node)
        facts = self._analysis.facts_at(item.gate)
        first = tuple([item.operands.index(operand) for operand in item.operands])
        preferred = tuple([operand in leaves for operand in item.operands])
        key = (operation, inputs, facts.relations, first, preferred, output, place)
        found = self._known.get(key)
        if found is None:
            trial = _Trial(operation, inputs, facts, first, output, place, self._analysis)
            number = number_at(self._states[node][output], place)
            found = self._known[key] = trial.unchanged(number, preferred) or trial.sources()
        return found


@dataclass
class _Trial:
    """One number of one application of a rule."""

    operation: Operation
    inputs: tuple[Value | None, ...]
    facts: Facts
    first: tuple[int, ...]
    """For each input the first one that is the same value."""
    output: int
    place: Coordinate
    analysis: ShapeAnalysis
    left: int = MAX_TRIALS

    # Unchanged

    def unchanged(self, number: Element | None, preferred: tuple[bool, ...]) -> Dependence | None:
        """The inputs that hold the very number, if the rule hands it on."""
        wanted = as_integer(number)
        if wanted is None:
            return None
        holders = [argument for argument, found in self._arguments() if as_integer(found) is wanted]
        holders.sort(key=lambda argument: not preferred[argument[0]])
        if isinstance(wanted, Relation):
            mark: Expr | Relation = boolean(f"{_MARK}0")
        else:
            mark = expr_of(Symbol(f"{_MARK}0", *wanted.bounds))
        alike = [argument for argument in holders if argument[1].kind == self.place.kind]
        others = [argument for argument in holders if argument[1].kind != self.place.kind]
        alone = [[argument] for argument in (*alike, *others)[:MAX_ALONE]]
        for some in dict.fromkeys(map(tuple, (alike, others, holders, *alone))):
            if some and self._hands_on(some, mark):
                least = self._least(list(some), lambda kept: self._hands_on(kept, mark))
                return Dependence(True, tuple(self._enough(least)))
        return None

    def _enough(self, holders: list[Argument]) -> list[Argument]:
        """The inputs with a number that the output depends on."""
        if len(holders) == 1:
            return holders
        truth = self._seen(self.inputs)
        marks = {a: _mark(f"{_MARK}{at}", [a], self._number(a)) for at, a in enumerate(holders)}
        return self._least(holders, lambda kept: bool(kept) and self._seen(self._marked(kept, marks)) == truth)

    def _hands_on(self, holders: Sequence[Argument], mark: Expr | Relation) -> bool:
        changes: dict[Argument, Element] = {}
        for position, place in holders:
            real = isinstance(self._number((position, place)), Real)
            changes[position, place] = Real(mark, 1) if real and isinstance(mark, Expr) else mark
        summary = self._applied(self._changed(changes))
        return summary is not None and as_integer(number_at(summary.outputs[self.output], self.place)) is mark

    # Computed

    def sources(self) -> Dependence:
        """The fewest numbers that must not change."""
        truth = self._seen(self.inputs)
        classes: dict[Hashable, list[Argument]] = {}
        for argument, number in self._arguments():
            # Equal terms change together, so that a symbol that cancels is no source; equal constants have no tie.
            constant = not element_symbols(number)
            classes.setdefault(argument if constant else (type(number), number), []).append(argument)
        groups = list(classes.values())
        together = {a: _mark(f"{_MARK}{at}", group, self._number(a)) for at, group in enumerate(groups) for a in group}

        def stays(kept: Sequence[list[Argument]]) -> bool:
            return self._seen(self._marked({a for group in kept for a in group}, together)) == truth

        groups = self._least(groups, stays)
        kept = [argument for group in groups for argument in group]
        marks = together
        apart = {a: _mark(f"{_MARK}{at}", [a], self._number(a)) for at, a in enumerate(together)}
        if len(kept) > len(groups) and self._seen(self._marked(set(kept), apart)) == truth:
            marks, kept = apart, self._least(kept, lambda some: self._seen(self._marked(set(some), apart)) == truth)
        sized = {position for position, place in kept if place.kind == "element"}
        sources = [(p, place) for p, place in kept if p not in sized or place.kind != "axis"]
        attributes = tuple(self._attributes(self._marked(set(kept), marks), truth))
        by_facts = bool(self.facts) and self._seen(self.inputs, facts=NO_FACTS) != truth
        return Dependence(False, tuple(sources), attributes, by_facts, *self._formula(sources))

    def _formula(self, sources: Sequence[Argument]) -> tuple[Expr | None, tuple[int | None, ...]]:
        """The number over one variable for each different term that it comes from."""
        terms: dict[Element, Element] = {}
        for argument in sources:
            number = self._number(argument)
            if isinstance(number, Expr) and number.const is None:
                bounds = number.bounds if argument[1].kind == "element" else number.bounds.meet(NATURAL)
                terms.setdefault(number, expr_of(Symbol(variable(len(terms)), *bounds)))
        order = list(terms)
        variables = tuple([order.index(n) if (n := self._number(a)) in terms else None for a in sources])
        changes = {argument: terms[n] for argument in sources if (n := self._number(argument)) in terms}
        summary = self._applied(self._changed(changes)) if changes else None
        found = number_at(summary.outputs[self.output], self.place) if summary is not None else None
        plain = isinstance(found, Expr) and all(s.kind is SymbolKind.PLACEHOLDER for s in found.symbols)
        return (found, variables) if plain and isinstance(found, Expr) else (None, variables)

    def _attributes(self, inputs: tuple[Value | None, ...], truth: object) -> Iterator[str]:
        attributes = self.operation.attributes
        for name in attributes:
            rest = {other: value for other, value in attributes.items() if other != name}
            if self._seen(inputs, rest) != truth:
                yield name

    def _seen(
        self,
        inputs: tuple[Value | None, ...],
        attributes: Mapping[str, AttributeValue] | None = None,
        facts: Facts | None = None,
    ) -> object:
        """The number, and what the rule defines of the symbols that it invents for it."""
        summary = self._applied(inputs, attributes, facts)
        if summary is None:
            return None
        number = number_at(summary.outputs[self.output], self.place)
        holes = {s for s in element_symbols(number) if s.kind is SymbolKind.HOLE} if number is not None else set()
        defined = [s.relation for s in summary.statements if s.role == "defined" and holes & s.relation.symbols]
        return summary.rejected is None, type(number), number, frozenset(defined)

    # Applying the rule

    def _arguments(self) -> Iterator[tuple[Argument, Element]]:
        for position, value in enumerate(self.inputs):
            if self.first[position] == position:
                for place, number in numbers_of(value):
                    yield (position, place), number

    def _number(self, argument: Argument) -> Element:
        number = number_at(self.inputs[argument[0]], argument[1])
        return OPAQUE if number is None else number

    def _marked(self, kept: Collection[Argument], marks: Mapping[Argument, Element]) -> tuple[Value | None, ...]:
        """The inputs with its mark for every number that is not kept."""
        return self._changed({argument: mark for argument, mark in marks.items() if argument not in kept})

    def _changed(self, changes: Mapping[Argument, Element]) -> tuple[Value | None, ...]:
        by_input: dict[int, dict[Coordinate, Element]] = {}
        for (position, place), number in changes.items():
            by_input.setdefault(position, {})[place] = number
        result: list[Value | None] = []
        for position, value in enumerate(self.inputs):
            if self.first[position] != position:
                result.append(result[self.first[position]])
            elif value is None or position not in by_input:
                result.append(value)
            else:
                result.append(replaced(value, by_input[position]))
        return tuple(result)

    def _applied(
        self,
        inputs: tuple[Value | None, ...],
        attributes: Mapping[str, AttributeValue] | None = None,
        facts: Facts | None = None,
    ) -> RuleSummary | None:
        operation = self.operation
        self.left -= 1
        if operation.rule is None:
            return None
        op = Op(
            operation.rule,
            inputs,
            operation.attributes if attributes is None else attributes,
            version=operation.version,
            outputs=operation.outputs,
            facts=self.facts if facts is None else facts,
            name=operation.op_type,
            policy=self.analysis.policy,
            premises=self.analysis.program.premises,
            semantics=self.analysis.program.semantics,
        )
        try:
            result = apply(operation.rule, op)
        except Exception:  # the analysis has reported it; here it means that there is nothing to find
            return None
        return name_unknowns(RuleSummary(result.outputs, (), result.statements, rejected=result.rejected))

    def _least(self, items: list[_Item], enough: Callable[[list[_Item]], bool]) -> list[_Item]:
        """A minimal part of the items that is still enough; later ones are left out first."""
        kept = list(items)
        size = len(kept) // 2 if len(kept) > _FEW else 1
        while size:
            end = len(kept)
            while end > 0 and self.left > 0:
                start = max(0, end - size)
                fewer = kept[:start] + kept[end:]
                if enough(fewer):
                    kept = fewer
                end = start
            size //= 2
        return kept


def _mark(name: str, arguments: Sequence[Argument], number: Element) -> Element:
    """A number to replace this one: with the same bounds if it has symbols, else any."""
    if isinstance(number, Relation):
        return boolean(name)
    if not isinstance(number, Expr):
        return OPAQUE
    sizes = any(place.kind != "element" for _, place in arguments)
    if number.const is not None:
        return expr_of(Symbol(name, *(NATURAL if sizes else (None, None))))
    return expr_of(Symbol(name, *(number.bounds.meet(NATURAL) if sizes else number.bounds)))
