"""Sizes to freeze a model at: checked, with those of further symbols that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError
from absint.lattices.dtype import DType
from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, Relation, eq
from absint.lattices.records import changed
from absint.lattices.terms.expr import Dim, Symbol, const
from absint.lattices.text.escapes import format_sizes
from absint.lattices.value import Tensor
from absint.model.load import Loaded
from absint.program.lowered import Lowered
from absint.program.steps import LoopBody
from absint.questions.sizes.checking import broken_requirement, check
from absint.questions.sizes.contracts import contract
from absint.questions.sizes.nearest import nearest
from absint.questions.sizes.neighbours import Nearest
from absint.questions.sizes.outcomes import Failure, Outcome
from absint.shapes.inputs import Inputs, read_inputs
from absint.shapes.refinement import run_rounds
from absint.shapes.sizes import Sizes, facts_of, given as given_sizes
from absint.solution.analysed import Analysed
from absint.solution.constraints import DECLARATION, Recorder, recorded
from absint.solution.loader_view import idle_loops
from absint.solver.constraints import PossibleFailure
from absint.solver.contracts.contract import Clause

if TYPE_CHECKING:
    from onnx import ModelProto


LIMITS: Final = Limits(10.0)
"""Of the questions which sizes stay legal if not all are fixed, and which are nearest."""


class IllegalSizesError(UsageError):
    """No run exists at these sizes. Nothing has been written."""

    def __init__(self, sizes: Mapping[str, int], failure: Failure, nearest: Nearest | None = None) -> None:
        at = format_sizes(sizes)
        text = f"illegal at {at}: {failure}" if at else f"the model never runs: {failure}"
        super().__init__(text if nearest is None else f"{text}; {nearest.line}")
        self.sizes = dict(sizes)
        """The sizes that were asked for, and those that follow."""
        self.failure = failure
        """The first requirement in execution order that does not hold, and its node."""
        self.nearest = nearest
        """The legal sizes that are nearest; None unless every symbol has a size."""


@dataclass(frozen=True)
class FixedSizes:
    """Legal sizes, and the analysis of the model at them."""

    given: Mapping[str, int]
    """The sizes that the caller gives, and elements of inputs."""
    derived: Mapping[str, int]
    """Sizes of other symbols: the requirements of the model allow no others."""
    bound: Analysed
    """The analysis at these sizes."""
    assumptions: Sequence[Relation]
    """Those of the caller about the original."""
    possible_failures: tuple[PossibleFailure, ...] = ()
    """Nodes that may fail on some data at these sizes; known if all symbols have a size."""
    clauses: tuple[Clause, ...] = ()
    """The contract that is left: what the symbols that have no size must meet."""
    without_trip: tuple[str, ...] = ()
    """Outputs of loops that have other sizes in the copy if the loop has no trip."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """All of them."""
        return {**self.given, **self.derived}


def fix(analysed: Analysed, sizes: Sizes) -> FixedSizes:
    """The model at these sizes of symbols, or shapes of inputs. Symbols may be left out.

    Raises IllegalSizesError if no run exists there, UsageError for a name that is no symbol, a number that is no size,
    and an analysis that a limit cut short.
    """
    analysed.require_sound("freeze")
    given = _given(analysed, sizes)
    try:
        return _fixed(analysed, given)
    except IllegalSizesError as error:
        if given and given.keys() >= {*analysed.symbols}:
            raise IllegalSizesError(given, error.failure, nearest(analysed, given, LIMITS)) from None
        raise IllegalSizesError(given, error.failure) from None


def _fixed(analysed: Analysed, given: Mapping[str, int]) -> FixedSizes:
    for relation in (*analysed.declared_premises, *analysed.assumptions):
        if relation.free_symbols <= given.keys() and relation.at(given) is NO:
            reason = "the declared or assumed sizes do not allow it"
            raise IllegalSizesError(given, Failure(DECLARATION, reason, str(relation)))
    bound = at(analysed, given)
    if bound.last.analysis.unfinished:
        raise UsageError("a limit cut the analysis short, so it is not known which sizes are legal: allow more")
    _check_bound(analysed, bound, given)
    derived = _derived(bound, given)
    every = {**given, **derived}
    if derived:
        bound = at(analysed, every)
        _check_bound(analysed, bound, every)
    if every.keys() >= {*analysed.symbols}:
        found = check(analysed, every)
        if found.failure is not None:
            raise IllegalSizesError(given, found.failure)
        if found.outcome is Outcome.UNDECIDED:
            raise UsageError("a limit cut the analysis short, so it is not known which sizes are legal: allow more")
        return FixedSizes(given, derived, bound, analysed.assumptions, found.possible_failures)
    return FixedSizes(given, derived, bound, analysed.assumptions, (), _left(analysed, bound, given, every))


def _left(
    analysed: Analysed, bound: Analysed, given: Mapping[str, int], every: Mapping[str, int]
) -> tuple[Clause, ...]:
    """The contract of the symbols that have no size. Raises IllegalSizesError if no sizes meet it.

    Nodes state it over all symbols: at given sizes one may state less, and leave more to data.
    """
    relations = [*bound.assumptions]
    whole = Analysed(analysed.loaded, analysed.lowered, analysed.declared_inputs, analysed.rounds, relations)
    found = contract(whole, LIMITS)
    for clause in (*found.clauses, *contract(bound, LIMITS).clauses):
        if clause.relation is FALSE:
            stated = (Failure(c.origin, c.reason, str(c.formula)) for c in clause.because)
            none = Failure(DECLARATION, "no sizes of the other symbols are legal with these")
            raise IllegalSizesError(given, next(stated, none))
    clauses = [c._replace(relation=c.relation.substitute(known_sizes(c.relation, every))) for c in found.clauses]
    return tuple(clause for clause in clauses if clause.relation is not TRUE)


def _given(analysed: Analysed, sizes: Sizes) -> dict[str, int]:
    """The sizes, in the order of the symbols, and the elements of inputs after them."""
    found = given_sizes(sizes, analysed.declared_inputs)
    if found.equations:
        names = " or ".join(name for name in analysed.symbols if name in found.equations[0].free_symbols)
        raise UsageError(
            f"the shape says that {found.equations[0]}, which leaves sizes open: give a size of {names} too"
        )
    numbers: dict[str, int] = {}
    for name, (low, high, text) in found.ends.items():
        if low is None or low != high:
            raise UsageError(f"{text}: a range, and a symbol can be fixed at one size only")
        numbers[name] = low
    return {name: numbers[name] for name in analysed.parameters if name in numbers}


def at(analysed: Analysed, sizes: Mapping[str, int]) -> Analysed:
    """The analysis at these sizes of some symbols.

    Raises IllegalSizesError if declarations or assumptions exclude them.
    """
    watch = analysed.lowered.watch
    lowered = changed(analysed.lowered, watch=None if watch is None else watch.again())
    relations = [eq(analysed.parameters[name], size) for name, size in sizes.items()]
    assumptions = [*analysed.assumptions, *relations]
    inputs = analysed.declared_inputs
    try:
        facts = facts_of(assumptions, inputs.premises)
    except UsageError:
        reason = "the declared or assumed sizes do not allow it"
        raise IllegalSizesError(sizes, Failure(DECLARATION, reason)) from None
    return _solved(analysed.loaded, lowered, inputs, facts, assumptions)


def redeclared(fixed: FixedSizes, model: ModelProto) -> FixedSizes:
    """The same sizes with the analysis of `model`, an outline that declares them.

    A runtime gives an output of a loop without a trip the sizes that type inference finds in the body, and that finds
    more where sizes are declared; and elements of an input have names where it is small. Any other model has the same
    analysis.
    """
    bound = fixed.bound
    has_loop = any(isinstance(node.step, LoopBody) for node in bound.nodes)
    if not (has_loop or _gains_elements(bound, fixed.sizes)):
        return fixed
    loaded = Loaded(model, bound.origin, bound.loaded.folder, given=model, is_outlined=True)
    found = again(fixed, loaded)
    changed = _without_trip(bound, found) if fixed.sizes else ()
    return replace(fixed, bound=found, without_trip=tuple(dict.fromkeys(changed)))


def again(fixed: FixedSizes, loaded: Loaded) -> Analysed:
    """The analysis of a copy that declares the sizes, under what the assumptions about the original leave."""
    lower = fixed.bound.lowered.lower
    assert lower is not None
    lowered = lower(loaded)
    inputs = read_inputs(lowered)
    for node, value in inputs.values.items():
        lowered.program.nodes.replace_value(node, value)
    relations = [relation.substitute(known_sizes(relation, fixed.sizes)) for relation in fixed.assumptions]
    left = [relation for relation in relations if relation.free_symbols <= inputs.parameters.keys()]
    elements = [name for name in inputs.elements if name in fixed.given]
    left += [eq(inputs.parameters[name], fixed.given[name]) for name in elements]
    return _solved(loaded, lowered, inputs, facts_of(left, inputs.premises), left)


def _gains_elements(bound: Analysed, sizes: Mapping[str, int]) -> bool:
    """The elements of an input get names, since its shape is in numbers now."""
    for value in bound.declared_inputs.values.values():
        if isinstance(value, Tensor) and (value.dtype.is_integer or value.dtype is DType.BOOL) and value.shape.rank:
            names = {name for dim in value.shape.open for name in dim.free_symbols}
            if names and names <= sizes.keys():
                return True
    return False


def _without_trip(before: Analysed, after: Analysed) -> Iterator[str]:
    """Outputs of loops that may make no trip, unless their sizes are sure to be those of the original."""
    names = after.program.names
    for number, step in idle_loops(after):
        for index in range(step.count, len(after.nodes[number].outputs)):
            old, new = before.states[number][index], after.states[number][index]
            is_same = isinstance(old, Tensor) and old is new and old.shape.concrete is not None
            is_vector = isinstance(new, Tensor) and new.shape.rank == 1
            if (number, index) in names and not is_same and not is_vector:
                yield names[number, index]


def known_sizes(relation: Relation, sizes: Mapping[str, int]) -> dict[Symbol, Dim]:
    """The symbols of a relation that have a size."""
    return {s: const(sizes[s.name]) for s in relation.symbols if s.name in sizes}


def _solved(
    loaded: Loaded, lowered: Lowered, inputs: Inputs, facts: Facts, assumptions: Sequence[Relation]
) -> Analysed:
    rounds = run_rounds(lowered, facts, tuple(inputs.parameters), memoise=True, trace=None, refine=True)
    return Analysed(loaded, lowered, inputs, rounds, assumptions)


def _check_bound(analysed: Analysed, bound: Analysed, sizes: Mapping[str, int]) -> None:
    """Raises IllegalSizesError if the analysis at the sizes shows that no run exists."""
    failure = broken_requirement(analysed, sizes)
    if failure is None:
        never = (c for c in recorded(bound).base if c.role == "required" and c.formula is FALSE)
        failure = next((Failure(c.origin, c.reason) for c in never), None)
    if failure is None and bound.rounds.conflict:
        first = bound.rounds.conflict[0]
        failure = Failure(Recorder(bound.lowered, bound.base).origin(first.node), first.reason, str(first.relation))
    if failure is not None:
        raise IllegalSizesError(sizes, failure)


def _derived(bound: Analysed, given: Mapping[str, int]) -> dict[str, int]:
    """The sizes of further symbols that the requirements of every run leave."""
    facts = bound.last.analysis.facts
    found: dict[str, int] = {}
    for name in bound.symbols:
        if name not in given:
            value = facts.simplify(bound.parameters[name])
            if value.is_concrete:
                found[name] = int(value)
    return found
