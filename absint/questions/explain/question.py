"""The derivation of a dim, node by node, back to inputs, initialisers and data-dependent sizes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from absint.errors import UnknownNameError, UsageError
from absint.lattices.contents import Element, element_symbols, replace_in
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, YES, Relation
from absint.lattices.shape import Shape
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.terms.normal import substitute
from absint.lattices.value import BOTTOM, TOP, AnyTensor, Tensor
from absint.program.steps import ABSENT, Operand
from absint.questions.explain.dependence import variable
from absint.questions.explain.derivation import Contribution, Derivation, Origin, Slot
from absint.questions.explain.derived import Coordinate, Number, Source, Stated, Step, axes_of, number_at, numbers_of
from absint.questions.explain.explanation import Explanation
from absint.questions.explain.fresh import fresh_symbols
from absint.shapes.readability import more_names
from absint.shapes.rounds import Learned
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names
from absint.solution.described import brief
from absint.solution.naming import naming
from absint.transfer.stated import Statement

# The steps of an explanation: a derivation in names of the model, with the statements of the nodes on the way.

_MAX_FACTS: Final = 50
_GIVEN: Final = "an assumption or a declaration"
_VARIABLES: Final = "abcdefghijklmnopqrstuvwxyz"


class Steps:
    """Writes the steps of one explanation."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._nodes = analysed.nodes
        self._analysis = analysed.last.analysis
        self._states = analysed.last.states
        self._base = analysed.base.analysis
        self._learned = analysed.last.learned
        self._back = analysed.rounds.originals
        self._inputs = frozenset(analysed.input_nodes.values())
        self._scopes = analysed.scopes
        self._names: Mapping[Symbol, Dim] = {}
        self._stated: dict[int, list[Statement]] = {}
        self._shown: dict[Element, Element] = {}
        self._heads: dict[Operand, tuple[str, str]] = {}
        self._spots: dict[Slot, Number] = {}
        self._found = Derivation(analysed)
        taken = {name for scope in self._scopes.values() for name in scope.names}.union(analysed.parameters)
        self._letters = [name for name in _VARIABLES if name not in taken]

    def explanation(
        self, value: str, path: str, operand: Operand, slots: Sequence[Slot], note: str = ""
    ) -> Explanation:
        """The explanation of these numbers of a value, with a note if there is none."""
        found, result = self._found, self._analysed
        found.follow(slots)
        numbers = {slot: at for at, slot in enumerate(found.origins)}
        self._names = more_names(self._symbols(), all_names(result), result.taken)
        steps = tuple([self._step(slot, origin, numbers) for slot, origin in found.origins.items()])
        claims = tuple([numbers[slot] for slot in slots])
        shown = result.value_of(operand)
        label, names = result.policy.label, naming(result)
        return Explanation(
            result.origin, value, path, shown, claims, steps, found.left_out, note, label, result.assumptions, names
        )

    def _symbols(self) -> Iterator[Symbol]:
        for slot, origin in self._found.origins.items():
            for found in (slot, *(part.slot for part in origin.parts)):
                yield from self._sorted(element_symbols(self._found.restored(self._found.number(found))))
            for term in origin.terms:
                yield from self._sorted(element_symbols(self._found.restored(term)))
            for statement in self._statements(slot.node):
                yield from self._sorted(statement.relation.symbols)
        for learned in self._learned:
            yield from self._sorted(learned.relation.symbols)

    @staticmethod
    def _sorted(symbols: Iterable[Symbol]) -> list[Symbol]:
        return sorted(symbols, key=lambda s: (s.origin_node or -1, s.name))

    def _show(self, number: Element) -> Element:
        found = self._shown.get(number)
        if found is None:
            found = self._shown[number] = replace_in(self._found.restored(number), self._names)
        return found

    def _value_name(self, slot: Slot) -> tuple[str, str]:
        item = self._nodes[slot.node]
        if slot.output < len(item.outputs):
            return str(item.path), item.outputs[slot.output]
        if not self._heads:
            for path, scope in self._scopes.items():
                for name, operand in scope.names.items():
                    if operand[0] >= 0 and not self._nodes[operand[0]].outputs:
                        self._heads.setdefault(operand, (path, name))
        return self._heads.get((slot.node, slot.output), (str(item.path), f"#{slot.output}"))

    def _step(self, slot: Slot, origin: Origin, numbers: Mapping[Slot, int]) -> Step:
        item = self._nodes[slot.node]
        operation = item.operation
        return Step(
            numbers[slot],
            origin.kind,
            self._at(slot),
            slot.node,
            item.name,
            "initialiser" if origin.kind == "initialiser" else item.operator,
            str(item.path),
            origin.does.format(*map(self._show, origin.terms)) if origin.terms else origin.does,
            self._formula(origin),
            tuple((name, operation.attributes[name]) for name in origin.attributes) if operation is not None else (),
            tuple([self._source(part, numbers, origin, at) for at, part in enumerate(origin.parts)]),
            not origin.parts or slot in self._found.followed,
            *self._said(slot, origin),
        )

    def _formula(self, origin: Origin) -> Element | None:
        """The formula over letters that are no symbols of the model; None if there are too few."""
        if origin.formula is None or any(v is not None and v >= len(self._letters) for v in origin.variables):
            return None
        letters = {variable(at): letter for at, letter in enumerate(self._letters)}
        return substitute(
            origin.formula, {s: expr_of(Symbol(letters[s.name], *s.bounds)) for s in origin.formula.symbols}
        )

    def _source(self, part: Contribution, numbers: Mapping[Slot, int], origin: Origin, at: int) -> Source:
        node = part.slot.node
        item = self._nodes[node]
        by = "initialiser" if item.value is not None and node not in self._inputs else item.operator
        number = origin.variables[at] if self._formula(origin) is not None else None
        name = "" if number is None else self._letters[number]
        return Source(part.role, numbers.get(part.slot), self._at(part.slot), by, name)

    def _at(self, slot: Slot) -> Number:
        known = self._spots.get(slot)
        if known is None:
            value = self._states[slot.node][slot.output]
            contents = value.contents if isinstance(value, Tensor) else None
            sizes = contents.shape if contents is not None and slot.place.kind == "element" else None
            path, name = self._value_name(slot)
            known = self._spots[slot] = Number(name, path, slot.place, sizes, self._show(self._found.number(slot)))
        return known

    # Statements

    def _statements(self, node: int) -> list[Statement]:
        """Statements of the node in the first round and the last one, over the symbols of the first."""
        found = self._stated.get(node)
        if found is None:
            rounds = (self._base, self._analysis)
            distinct: dict[Relation, Statement] = {}
            for analysis in rounds if rounds[0] is not rounds[1] else rounds[:1]:
                for statement in analysis.statements(node):
                    relation = statement.relation.substitute(self._back)
                    if relation not in (TRUE, UNKNOWN_RELATION):
                        distinct.setdefault(relation, statement._replace(relation=relation))
            found = self._stated[node] = list(distinct.values())
        return found

    def _said(self, slot: Slot, origin: Origin) -> tuple[tuple[Stated, ...], tuple[Stated, ...], tuple[Stated, ...]]:
        """Requirements of the node, definitions of what it invents, and facts that the number rests on."""
        number = self._found.restored(self._found.number(slot))
        own = _names_in(number)
        near = own.union(*(_names_in(self._found.restored(self._found.number(part.slot))) for part in origin.parts))
        requires, defined = [], []
        for statement in self._statements(slot.node):
            about = {s.name for s in statement.relation.symbols}
            if statement.role == "defined":
                if any(s.origin_node == slot.node and s.name in own for s in statement.relation.symbols):
                    defined.append(self._told(statement, slot.node))
            elif not about.isdisjoint(near):
                requires.append(self._told(statement, slot.node))
        return tuple(requires), tuple(defined), tuple(self._facts(slot, origin, near))

    def _told(self, statement: Statement, node: int) -> Stated:
        relation = statement.relation.substitute(self._names)
        return Stated(relation, statement.role, statement.reason, str(self._nodes[node]))

    def _facts(self, slot: Slot, origin: Origin, near: set[str]) -> Iterator[Stated]:
        """The facts that refined the number of an input, of an invented symbol, or of an open decision."""
        about: set[str] = set()
        if origin.kind == "input":
            declared = self._nodes[slot.node].value
            stated = number_at(declared, slot.place) if declared is not None else None
            about = _names_in(stated) if stated is not None else about
        elif origin.kind == "invented":
            about = {symbol.name for symbol in self._born(slot)}
        if origin.by_facts:
            about |= near
        if not about:
            return
        assumed = self._base.facts.relations
        for relation in assumed:
            if not about.isdisjoint(s.name for s in relation.symbols):
                yield Stated(relation.substitute(self._names), "assumed", _GIVEN, "")
        learned = [fact for fact in self._learned if not about.isdisjoint(s.name for s in fact.relation.symbols)]
        for fact in _strongest(learned):
            if fact.relation not in assumed:
                relation = fact.relation.substitute(self._names)
                is_given = fact.node < 0
                role, reason = ("assumed", _GIVEN) if is_given else ("required", fact.reason)
                yield Stated(relation, role, reason, "" if is_given else str(self._nodes[fact.node]))
        if origin.by_facts:
            known = self._analysis.facts.relations
            for relation in self._analysis.facts_at(self._nodes[slot.node].gate).relations:
                if relation not in known and not about.isdisjoint(s.name for s in relation.symbols):
                    shown = relation.substitute(self._back).substitute(self._names)
                    yield Stated(shown, "condition", "the condition of the branch or loop", "")

    def _born(self, slot: Slot) -> Iterator[Symbol]:
        """The symbols that the node invented for the number, solved since or not."""
        summary = self._analysis.applied[slot.node]
        number = number_at(summary.outputs[slot.output], slot.place)
        for hole in element_symbols(number) if number is not None else ():
            if hole.kind is SymbolKind.HOLE:
                yield hole.filled(slot.node)


def _strongest(facts: Sequence[Learned]) -> list[Learned]:
    """The facts that no other one implies; equalities first."""
    found = sorted(facts, key=lambda fact: fact.relation.op != "==")[:_MAX_FACTS]
    known = [Facts((fact.relation,)) for fact in found]
    kept: list[int] = []
    for at, fact in enumerate(found):
        if not any(known[other].decide(fact.relation) is YES for other in (*kept, *range(at + 1, len(found)))):
            kept.append(at)
    return [found[at] for at in kept]


def _names_in(number: Element) -> set[str]:
    return {s.name for s in element_symbols(number)}


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
        slots = [Slot(*operand, Coordinate("axis", at)) for at in known]
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
        place = Coordinate("element", element)
        if element < 0 or number_at(found, place) is None:
            raise UsageError(f"nothing is known of element {element} of {value!r}: it is {found!r}")
        return [Slot(*operand, place)]
    rank = found.shape.rank
    assert rank is not None
    if axis is not None:
        if not -rank <= axis < rank:
            raise UsageError(f"axis {axis} of {value!r} is out of range: it has rank {rank}, shape {found.shape}")
        return [Slot(*operand, Coordinate("axis", axis % rank))]
    places = [place for place, _ in numbers_of(found) if place.kind == "element"]
    dims = [Coordinate("axis", at) for at in range(rank)]
    return [Slot(*operand, place) for place in (*dims, *(places if len(places) <= MAX_ELEMENTS else ()))]
