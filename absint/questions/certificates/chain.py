"""The chain of a certificate: steps in execution order, round by round, so that each rests on earlier ones alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import TRUE, eq
from absint.lattices.terms.expr import MAX_DIM, Dim, Symbol, expr_of
from absint.lattices.terms.interval import Interval
from absint.lattices.value import BOTTOM, Value
from absint.program.graph import Program
from absint.program.nodes import Node
from absint.program.steps import ABSENT, LoopExit, LoopHead, MapExit, Operand, ScanExit
from absint.questions.certificates.control import Head, head, problem_of, takes
from absint.questions.certificates.lemma import Goal, Problem, Proved, Proving, about, entailment
from absint.questions.certificates.meanings import meaning
from absint.questions.certificates.step import By, ClaimPlace, Given, Step
from absint.questions.certificates.terms import NOTHING, Claim, LemmaClaims, Terms, symbols
from absint.shapes.readability import invented, more_names
from absint.shapes.rounds import Round
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names

SIZES: Final = Interval(0, MAX_DIM)
"""The sizes that ONNX's tools can hold, taken for granted of every tensor."""

TRIPS: Final = Interval(0, MAX_DIM - (1 << 16))
"""The numbers of trips, taken for granted of every loop."""

INTEGERS: Final = Interval(*INTEGER_RANGES[DType.INT64])
"""The elements of tensors of integers, as far as lemmas know: none says of which type they are."""


class Chain:
    """The steps so far, and what they claim."""

    def __init__(self, analysed: Analysed, proving: Proving, progress: Callable[[int, int], None]) -> None:
        self.analysed = analysed
        self.proving = proving
        self.progress = progress
        self.terms = Terms()
        self.names: Mapping[Symbol, Dim] = more_names(
            invented(analysed.base.states), all_names(analysed), analysed.taken
        )
        """The printed names of invented symbols."""
        self.claims = LemmaClaims(self.terms, self.names)
        self.steps: list[Step] = []
        self.premises: list[str] = []
        """The declarations and assumptions about the input symbols."""
        self.places: dict[tuple[int, int], ClaimPlace] = {}
        """The newest claim of each output of a node."""
        self.facts: dict[str, ClaimPlace] = {}
        """The relations of the premises, and of nodes of every run."""
        self.introduced: set[str] = set()
        """The symbols that occur so far."""
        self.inputs: list[str] = []
        """The symbols of the premises."""
        self.sites = dict(_sites(analysed.program))
        """By the number of a node its place in the file, where that is not its path and first output."""

    def run(self) -> Chain:
        """Make all steps."""
        for relation in (*self.analysed.declared_premises, *self.analysed.assumptions):
            formula = self.claims.relation(relation)
            if formula is not None and formula not in self.facts:
                self.facts[formula] = ClaimPlace(-1, len(self.premises))
                self.premises.append(formula)
        self.inputs += dict.fromkeys(symbol for formula in self.premises for symbol in symbols(formula))
        self.introduced.update(self.inputs)
        rounds = self.analysed.rounds.rounds
        for number, current in enumerate(rounds):
            self._derive(number, current)
            _Round(self, number, current).run()
        return self

    def _derive(self, number: int, current: Round) -> None:
        """Add steps for the remainders that a round knows: they follow from what it learned of earlier ones, and its
        lemmas need them in so many words.
        """
        facts = current.analysis.facts
        learned = [self.claims.relation(item.relation) for item in current.learned] if facts.remainders else []
        pool = dict.fromkeys((*self.premises, *(formula for formula in learned if formula in self.facts)))
        for symbol, known in facts.remainders.items():
            relation = eq(expr_of(symbol) % known.modulus, known.remainder).map(facts.restored)
            formula = self.claims.relation(relation)
            if formula is None or formula in self.facts:
                continue
            lemma = partial(entailment, (), formula, self.terms.bounds)
            found = self.proving.least(lemma, about(pool, [formula], (), closed=True))
            if found is not None:
                given = Given(formula, "derived", str(relation), "lemma")
                used = tuple(self.facts[fact] for fact in found[1])
                self.facts[formula] = ClaimPlace(len(self.steps), 0)
                self.steps.append(Step(given.reason, round=number, relations=(given,), lemma=found[0], facts=used))

    def claim(self, place: ClaimPlace) -> Claim:
        """The claim at a place."""
        return self.steps[place.step].claims[place.at]

    def is_of_every_run(self, number: int) -> bool:
        """Every run computes the node, and some output depends on it."""
        return self.analysed.nodes[number].gate < 0 and bool(self.analysed.needed[number])


class _Round:
    def __init__(self, chain: Chain, number: int, current: Round) -> None:
        self._chain = chain
        self._number = number
        self._analysis, self._states = current.analysis, current.states
        facts = current.analysis.facts
        self._restored = facts.restored if facts.originals else None
        self._originals = facts.originals
        self._closing: dict[int, list[tuple[Step, list[Operand]]]] = {}
        """By the last node of a loop the step about its next trip, and what that takes."""

    def run(self) -> None:
        """Add the steps to the chain."""
        analysed = self._chain.analysed
        inputs = set(analysed.input_nodes.values())
        self._closing.clear()
        for number, node in enumerate(analysed.nodes):
            self._chain.progress(number, len(analysed.nodes))
            state = (analysed.base.states if number in inputs else self._states)[number]
            if not any(value is BOTTOM for value in state):
                claims = tuple(map(self._claim, state))
                self._node(number, node, claims if _is_given(node) else tuple(claim.computed for claim in claims))
            for step, operands in self._closing.pop(number, ()):
                takes = tuple(self._chain.places.get(operand) for operand in operands)
                self._chain.steps.append(step._replace(takes=takes))

    def _claim(self, value: Value) -> Claim:
        return self._chain.claims.of(value.replace(self._originals) if self._originals else value)

    def _relations(self, number: int) -> Iterator[Given]:
        """The statements of the node; in later rounds those that are new."""
        known = set(self._chain.facts) if self._number else set()
        for statement in self._analysis.statements(number):
            relation = statement.relation
            for part in relation.parts if relation.op == "and" else (relation,):
                whole = part.map(self._restored) if self._restored is not None else part
                formula = None if whole is TRUE else self._chain.claims.relation(whole)
                if formula is not None and formula not in known and statement.role != "claimed":
                    known.add(formula)
                    yield Given(formula, statement.role, statement.reason, "rule")

    def _node(self, number: int, node: Node, claims: tuple[Claim, ...]) -> None:
        chain, relations = self._chain, list(self._relations(number))
        before = [chain.places.get((number, index)) for index in range(len(claims))]
        known = [None if place is None else chain.claim(place) for place in before]
        if known == list(claims):
            claims = ()  # an earlier round has shown them
        if not relations and not claims:
            return
        parts = [part for index, claim in enumerate(claims) for part in map(Goal._make, claim.formulas(index))]
        required = [Goal(f"relation{at}", given.formula) for at, given in enumerate(_wanted(relations))]
        if not parts and not relations:
            return
        introduced = self._introduced(node, [*parts, *(Goal("", given.formula) for given in relations)])
        closing: Head | None = None
        apart: Proved | None = None
        if isinstance(node.step, LoopHead) and claims:
            closing = self._head(node, node.step, claims, [*parts, *required], introduced)
            found = closing.first
        else:
            found, apart = self._proved(node, claims, parts, required, introduced)
        proved = {part.name for part in found.parts}
        by: By = "lemma" if found.lemma is not None else "model" if _is_given(node) else "rule"
        step = Step(
            str(node),
            by,
            "" if node.operation is None else f"{node.operation.operator}-{node.operation.version}",
            node.outputs,
            self._number,
            "" if by == "model" else found.reason,
            tuple(chain.places.get(operand) for operand in takes(node)),
            claims,
            frozenset(part.name for part in parts if "@" in part.name and part.name not in proved and by == "lemma"),
            () if apart is not None else _stated(relations, found),
            found.lemma,
            tuple(chain.facts[fact] for fact in found.facts),
            introduces=introduced,
            at=self._place(number, node),
        )
        if closing is not None and closing.next is not None and isinstance(node.step, LoopHead):
            facts = tuple(chain.facts[fact] for fact in closing.facts)
            name, closes = f"{step.node}, next trip", len(chain.steps)
            after = Step(name, round=step.round, lemma=closing.next, facts=facts, closes=closes, at=step.at)
            self._closing.setdefault(node.step.last, []).insert(0, (after, [(number, 0), *node.step.back]))
        self._add(number, node, step)
        if apart is not None:
            self._add(number, node, self._apart(step, relations, apart))

    def _place(self, number: int, node: Node) -> tuple[str, ...]:
        found = self._chain.sites.get(number)
        if found is None:
            name = next(filter(None, node.outputs), "")
            found = (*node.path.site, name) if name else ()
        return found

    def _apart(self, step: Step, relations: Sequence[Given], found: Proved) -> Step:
        """A step of its own for what a node requires."""
        return step._replace(
            by="lemma" if found.lemma is not None else "rule",
            reason=found.reason,
            values=(),
            claims=(),
            on_trust=frozenset(),
            relations=_stated(relations, found),
            lemma=found.lemma,
            facts=tuple(self._chain.facts[fact] for fact in found.facts),
            introduces={},
        )

    def _add(self, number: int, node: Node, step: Step) -> None:
        chain, place = self._chain, len(self._chain.steps)
        chain.steps.append(step)
        chain.introduced.update(step.introduces)
        for index in range(len(step.claims)):
            chain.places[number, index] = ClaimPlace(place, index)
        if chain.is_of_every_run(number):
            for index, given in enumerate(step.relations):
                chain.facts.setdefault(given.formula, ClaimPlace(place, index))

    def _introduced(self, node: Node, parts: Sequence[Goal]) -> dict[str, str]:
        """The symbols that occur here first, each with the size or element that it names, if it names one."""
        found: dict[str, str] = {}
        for part in parts:
            for symbol in symbols(part.formula):
                if symbol not in self._chain.introduced:
                    found.setdefault(symbol, "")
                    allowed = INTEGERS if "@e" in part.name else SIZES
                    if isinstance(node.step, LoopHead) and part.name == "out0@e0":
                        allowed = TRIPS
                    is_name = part.formula == f"(= {part.name} {symbol})"
                    if not found[symbol] and is_name and self._chain.terms.bounds.get(symbol) == allowed:
                        found[symbol] = part.name
        return found

    def _proved(
        self,
        node: Node,
        claims: tuple[Claim, ...],
        parts: Sequence[Goal],
        required: Sequence[Goal],
        introduced: Mapping[str, str],
    ) -> tuple[Proved, Proved | None]:
        """The lemmas of a node: one, or a second about its requirements if that makes the first one general."""
        operation = node.operation
        if _is_given(node):
            return Proved(None, ()), None
        inputs = [None if operand == ABSENT else self._input(operand) for operand in takes(node)]
        named = {symbol: place for symbol, place in introduced.items() if place}
        if operation is None:
            problem = problem_of(node, inputs, named)
            if problem is None:
                return Proved(None, (), reason="control flow"), None
            return self._prove(problem, [*parts, *required]), None
        while inputs and inputs[-1] is None:
            inputs.pop()
        problem = Problem(
            tuple(inputs), partial(meaning, operation, inputs, claims, self._chain.analysed.semantics), named
        )
        if parts and required and not introduced:
            whole = self._prove(problem, [*parts, *required], general=True)
            if whole.lemma is not None:
                return whole, None
            sizes = self._prove(problem, parts, general=True)
            if sizes.lemma is not None:
                return sizes, self._prove(problem, required)
        return self._prove(problem, [*parts, *required]), None

    def _head(
        self,
        node: Node,
        step: LoopHead,
        claims: tuple[Claim, ...],
        parts: Sequence[Goal],
        introduced: Mapping[str, str],
    ) -> Head:
        inputs = [None if operand == ABSENT else self._input(operand) for operand in node.operands]
        back = [self._claim(self._states[result][at]) if result >= 0 else NOTHING for result, at in step.back]
        return head(node, claims, inputs, back, parts, introduced, self._prove)

    def _prove(self, problem: Problem, parts: Sequence[Goal], *, general: bool = False) -> Proved:
        chain = self._chain
        return chain.proving.prove(problem, parts, chain.terms.bounds, chain.facts, general=general)

    def _input(self, operand: Operand) -> Claim:
        place = self._chain.places.get(operand)
        return NOTHING if place is None else self._chain.claim(place)


def _sites(program: Program) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The places in the file of the heads of loops, and of initialisers of bodies."""
    paths = {"": ()} | {str(node.path): node.path.site for node in program.nodes}
    sources: dict[int, tuple[str, ...]] = {}
    for path, site in paths.items():
        for name, (number, _) in program.scopes[path].names.items():
            if number in program.nodes.values and program.nodes.names[number] == name:
                sources.setdefault(number, (*site, name))
    yield from sources.items()
    for node in program.nodes:
        if isinstance(node.step, LoopExit | ScanExit | MapExit) and node.outputs:
            name = next(filter(None, node.outputs), "")
            yield node.step.head, (*node.path.site, name, "body")


def _is_given(node: Node) -> bool:
    """The file says what it is: an input, an initialiser, a constant."""
    operation = node.operation
    if operation is None:
        return node.step is None
    return operation.op_type == "Constant" and not operation.domain


def _wanted(relations: Sequence[Given]) -> list[Given]:
    """The statements that a lemma may prove: all but numeric premises."""
    return [given for given in relations if given.role != "assumed"]


def _stated(relations: Sequence[Given], found: Proved) -> tuple[Given, ...]:
    """The relations with those first that a lemma proves."""
    names, wanted = {part.name for part in found.parts}, _wanted(relations)
    proved = [at for at in range(len(wanted)) if f"relation{at}" in names]
    rest = [given for at, given in enumerate(wanted) if at not in proved]
    return (*[wanted[at]._replace(by="lemma") for at in proved], *rest, *[g for g in relations if g.role == "assumed"])
