"""A check at given sizes, one of each symbol. `absint.questions.sizes.boxes` is about all sizes in a box."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from absint.errors import UsageError
from absint.lattices.contents import Contents, element_symbols
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, YES, Relation, conjunction, disjunction, eq
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.questions.sizes.outcomes import Check, Discharged, Failure, Outcome
from absint.shapes.refinement import NO_ADVICE, Advice, Adviser, in_turns, run
from absint.shapes.rounds import Round
from absint.shapes.sizes import Sizes, exact_sizes
from absint.solution.analysed import Analysed
from absint.solution.constraints import DECLARATION, Recorder, load_doubts, recorded
from absint.solver.constraints import Constraint, PossibleFailure


def sizes_of(analysed: Analysed, binding: Sizes) -> dict[str, int]:
    """The binding in the order of the symbols, then the elements that it has.

    Raises UsageError for a missing, unknown or impossible size.
    """
    numbers = exact_sizes(binding, analysed.declared_inputs)
    missing = [name for name in analysed.symbols if name not in numbers]
    if missing:
        raise UsageError(f"no size for {', '.join(map(repr, missing))}: every symbol of the inputs needs one")
    return {name: numbers[name] for name in analysed.parameters if name in numbers}


def bound(
    analysed: Analysed,
    sizes: Mapping[str, int],
    inputs: Mapping[int, Value] | None = None,
    advice: Advice = NO_ADVICE,
    *,
    stops: bool = False,
) -> Round:
    """The analysis at these sizes, on the declarations and the advice of other analyses alone; see `run`."""
    parameters = analysed.parameters
    fixed = (eq(parameters[name], size) for name, size in sizes.items())
    facts = Facts([*analysed.declared_premises, *analysed.assumptions, *fixed])
    return run(analysed.lowered, advice.with_facts(facts), inputs=inputs, advice=advice, stops=stops)


def check(analysed: Analysed, binding: Sizes, *, zeros: bool = False) -> Check:
    """Analyse again with the sizes bound and nothing refined; the first false requirement in execution order, if any.

    With `zeros` the question is if a run exists: all integer and boolean data of the inputs are 0.
    """
    analysed.require_sound("a check of sizes")
    sizes, assumed = sizes_of(analysed, binding), analysed.assumptions
    for relation in (*analysed.declared_premises, *assumed):
        if relation.at(sizes) is NO:
            excluded = Failure(DECLARATION, "the declared or assumed sizes do not allow it", str(relation))
            return Check(sizes, Outcome.ILLEGAL, failure=excluded, assuming=assumed)
    never = next((c for c in recorded(analysed).base if c.role == "required" and c.formula is FALSE), None)
    if never is not None:
        return Check(sizes, Outcome.ILLEGAL, failure=Failure(never.origin, never.reason), assuming=assumed)
    found = _checked(analysed, sizes, bound(analysed, sizes, _zeros(analysed, sizes) if zeros else None, stops=True))
    if analysed.cooperation is None or zeros or found.outcome is not Outcome.LEGAL:
        return found
    return _advised(analysed, sizes, found, analysed.cooperation.adviser)


def _checked(analysed: Analysed, sizes: Mapping[str, int], found: Round) -> Check:
    """The check of an analysis at these sizes."""
    assumed = analysed.assumptions
    recorder = Recorder(analysed.lowered, found).run()
    failure = next(_failures(analysed, recorder.constraints, sizes), None) or broken_requirement(analysed, sizes)
    open_ = [c for c in recorder.constraints if c.role == "required"]
    failure = failure or excluded_together(analysed, [*open_, *_on_elements(analysed, sizes)])
    if failure is not None:
        return Check(sizes, Outcome.ILLEGAL, failure=failure, assuming=assumed)
    possible_failures = list(recorder.possible_failures)
    possible_failures += [
        PossibleFailure(c.origin, TRUE, c.reason if c.formula is FALSE else _needing(analysed, c))
        for c in recorder.constraints
        if c in open_ or (c.role == "defined" and c.formula is FALSE)
    ]
    possible_failures += load_doubts(analysed)
    broken = tuple(c for c in recorder.constraints if c.role == "assumed" and c.formula is FALSE)
    shapes = {name: _concrete(found.states[node][at]) for name, (node, at) in analysed.operands.items() if node >= 0}
    outcome = Outcome.LEGAL if possible_failures or broken else Outcome.RUNS
    if found.analysis.unfinished:
        outcome = Outcome.UNDECIDED
    failures = tuple(dict.fromkeys(possible_failures))
    return Check(sizes, outcome, shapes, None, failures, broken, assuming=assumed)


def _advised(analysed: Analysed, sizes: Mapping[str, int], plain: Check, adviser: Adviser) -> Check:
    """The check with what other analyses find at these sizes, and what they discharge of the plain one."""
    advice, last = in_turns(lambda advice: bound(analysed, sizes, advice=advice), adviser)
    found = _checked(analysed, sizes, last)
    left = {(failure.origin.node, failure.reason) for failure in found.possible_failures}
    discharged = [
        Discharged(failure, _sources(analysed, advice, failure.origin.node))
        for failure in plain.possible_failures
        if (failure.origin.node, failure.reason) not in left
    ]
    return replace(found, discharged=tuple(discharged)) if found.ok else found


def _sources(analysed: Analysed, advice: Advice, node: int) -> str:
    """The analyses that close a branch around a node, or tell something of its inputs; all if what they tell reaches it
    through sizes.
    """
    nodes = analysed.nodes
    by = [advice.unreached[gate] for gate in nodes.around(nodes[node].gate) if gate in advice.unreached]
    by = by or [advice.sources[operand] for operand in nodes[node].operands if operand in advice.sources]
    told = (*advice.sources.values(), *advice.unreached.values(), *(finding.by for finding in advice.findings))
    return ", ".join(sorted({name for names in by or told for name in names}))


def _concrete(value: Value) -> tuple[int | None, ...] | None:
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return None
    return tuple(int(d) if d.is_concrete else None for d in value.shape)


def _failures(analysed: Analysed, constraints: Sequence[Constraint], sizes: Mapping[str, int]) -> Iterator[Failure]:
    stated: dict[tuple[int, str], Relation] = {}
    for c in recorded(analysed).base:
        if c.role == "required":
            stated.setdefault((c.origin.node, c.reason), c.formula)
    for c in constraints:
        if c.formula is FALSE and c.role == "required":
            formula = stated.get((c.origin.node, c.reason))
            broken = formula is not None and formula is not FALSE and formula.at(sizes) is NO
            yield Failure(c.origin, c.reason, str(formula) if broken else "")


def broken_requirement(analysed: Analysed, sizes: Mapping[str, int]) -> Failure | None:
    """A requirement of the contract that these sizes break, or that divides by zero at them. A node may state less at
    given sizes than over symbols: a loop that runs its body again, say.
    """
    for c in recorded(analysed).base:
        if c.role == "required" and c.formula.free_symbols <= sizes.keys() and c.formula.at(sizes) is not YES:
            return Failure(c.origin, c.reason, str(c.formula))
    return None


def _on_elements(analysed: Analysed, sizes: Mapping[str, int]) -> Iterator[Constraint]:
    """The requirements of the contract on elements of inputs, at these sizes, at which a node may state less: see
    `broken_requirement`.
    """
    elements = analysed.declared_inputs.elements.keys()
    for c in recorded(analysed).base:
        if c.role == "required" and not elements.isdisjoint(c.formula.free_symbols):
            known = {s: Dim(sizes[s.name]) for s in c.formula.symbols if s.name in sizes}
            yield replace(c, relation=c.formula.substitute(known), guard=TRUE)


def unstated(analysed: Analysed) -> Iterator[Constraint | PossibleFailure]:
    """What sizes may decide and no requirement over sizes of the inputs says: requirements over elements and over
    sizes by data, rules that do not state all they need, nodes that may fail though their integers are known."""
    base = recorded(analysed).base
    names = frozenset(analysed.symbols)
    yield from (c for c in base if c.role == "required" and not c.formula.free_symbols <= names)
    yield from (f for f in base.possible_failures if f.kind == "rule" or _sees_integers(analysed, f.origin.node))


def _sees_integers(analysed: Analysed, node: int) -> bool:
    """No integers that only a run knows reach the node."""
    run = analysed.base.analysis
    values = [run.operand(operand, analysed.base.states) for operand in analysed.nodes[node].operands]
    return all(v.contents is not None for v in values if isinstance(v, Tensor) and v.dtype.is_integer)


def may_refuse(analysed: Analysed, sizes: Mapping[str, int] | None = None) -> bool:
    """A check may refuse sizes, or any, that meet all requirements over sizes of the inputs."""
    if sizes is None:
        return next(unstated(analysed), None) is not None
    return any(map(partial(_is_open, sizes), analysed.once(left_open)))


def left_open(analysed: Analysed) -> list[Constraint | PossibleFailure]:
    """As `unstated`, and nodes that may fail on data where a size is 0: nothing is within an empty axis."""
    found = list(unstated(analysed))
    empty = disjunction(FALSE, *(eq(analysed.parameters[name], 0) for name in analysed.symbols))
    others = (f for f in recorded(analysed).base.possible_failures if f not in found)
    return found + [f._replace(guard=conjunction(f.guard, empty)) for f in others if empty is not FALSE]


def _is_open(sizes: Mapping[str, int], item: Constraint | PossibleFailure) -> bool:
    """These sizes do not settle it."""
    return item.guard.at(sizes) is not NO if isinstance(item, PossibleFailure) else item.formula.at(sizes) is not YES


def excluded_together(analysed: Analysed, open_: Sequence[Constraint]) -> Failure | None:
    """The first requirement in execution order that no elements of the inputs meet together with those before it."""
    elements = analysed.declared_inputs.elements.keys()
    asked = [c for c in open_ if c.formula.free_symbols <= elements]
    formulas = [c.formula for c in asked]
    if not formulas:
        return None
    from absint.solver.contracts.contract import exclude_each_other

    if not exclude_each_other(formulas):
        return None
    last = next(at for at in range(1, len(asked) + 1) if exclude_each_other(formulas[:at]))
    names = sorted(set().union(*(c.formula.free_symbols for c in asked[:last])))
    c = asked[last - 1]
    together = f"; no value of {', '.join(names)} meets all requirements" if names else ""
    return Failure(c.origin, f"{c.reason}{together}", str(c.formula))


def _needing(analysed: Analysed, c: Constraint) -> str:
    """The reason of a requirement, and the elements that meet it if they alone decide it."""
    symbols = c.formula.free_symbols
    is_decided = bool(symbols) and symbols <= analysed.declared_inputs.elements.keys()
    return f"{c.reason}, which needs {c.formula}" if is_decided else c.reason


def _with_zeros(value: Tensor, sizes: Mapping[str, int]) -> Value:
    """The value, its elements 0 where nothing else is given."""
    assert value.contents is not None
    left = (s for e in value.contents.elements for s in element_symbols(e) if s.name not in sizes)
    return value.replace({s: Dim(0) for s in left})


def _zeros(analysed: Analysed, sizes: Mapping[str, int]) -> dict[int, Value]:
    """The inputs with integer and boolean data that are all 0, and the file's values where a caller may feed others."""
    found: dict[int, Value] = dict(analysed.defaults)
    chosen = {e.input for name, e in analysed.declared_inputs.elements.items() if name in sizes}
    for input_name, node in analysed.input_nodes.items():
        value = analysed.nodes[node].value
        if isinstance(value, Tensor):
            if input_name in chosen:
                found[node] = _with_zeros(value, sizes)
            elif value.dtype is DType.BOOL:
                found[node] = Tensor(value.dtype, value.shape, Contents.fill(FALSE))
            elif value.dtype.is_integer:
                found[node] = Tensor(value.dtype, value.shape, Contents.fill(Dim(0)))
            elif value.dtype.is_float:
                found[node] = Tensor(value.dtype, value.shape, Contents.fill(Real.constant(0)))
    return found


# The judge of sizes of one model: each check is made once.

_KEPT: Final = 64
_SHAPES: Final = 20_000
"""Limits of the checks that are kept: their number, and the shapes in all of them. One that fails has none."""

_RUNNING: Final = 16
"""Most sizes known to run that are kept, to be tried first."""


class Judge:
    """Checks sizes, elements of inputs among them. `Analysed.once(Judge)` is that of all questions."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._checks: dict[tuple[bool, tuple[tuple[str, int], ...]], Check] = {}
        self._shapes = 0
        self.sizes: list[Mapping[str, int]] = []
        """Sizes known to run on data that are all 0."""

    def check(self, sizes: Mapping[str, int], *, zeros: bool = False) -> Check:
        """The check at these sizes; with `zeros` on data that are all 0."""
        key = zeros, tuple(sizes.items())
        found = self._checks.get(key)
        if found is None:
            found = check(self._analysed, sizes, zeros=zeros)
            self._shapes += len(found.shapes)
            if len(self._checks) >= _KEPT or self._shapes > _SHAPES:
                self._checks.clear()
                self._shapes = len(found.shapes)
            self._checks[key] = found
        return found

    def is_legal(self, sizes: Mapping[str, int]) -> bool:
        """No requirement is broken at these sizes."""
        return self.check(sizes).outcome in (Outcome.RUNS, Outcome.LEGAL)

    def runs(self, sizes: Mapping[str, int]) -> bool:
        """The rules promise that the model runs at these sizes, on data that are all 0."""
        if sizes in self.sizes:
            return True
        runs = self.check(sizes, zeros=True).outcome is Outcome.RUNS
        if runs and len(self.sizes) < _RUNNING:
            self.sizes.append(sizes)
        return runs

    def why_not(self, sizes: Mapping[str, int]) -> str:
        """The first failure, possible failure or broken premise at these sizes, on data that are all 0."""
        found = self.check(sizes, zeros=True)
        return str(found.failure or next(iter((*found.possible_failures, *found.premises)), ""))
