"""Whether given sizes are legal: one size of each symbol, or a box of sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from absint.errors import UsageError
from absint.limits import CHECK, LIMITED
from absint.recording import ASSUMPTION, DECLARATION, NOT_NEGATIVE, Recorder
from absint.rounds import Round, solved
from absint.shapes import ShapeAnalysis
from lattices.contents import Contents
from lattices.deadline import DeadlineError, within
from lattices.dtype import DType
from lattices.escapes import json_text
from lattices.expr import MAX_DIM, Dim, symbol
from lattices.facts import Facts
from lattices.limits import LONG, Limits
from lattices.real import Real
from lattices.relation import FALSE, TRUE, Relation, eq, ge, le, negation
from lattices.tensor import Tensor, Value
from solver.constraints import Constraint, ConstraintSet, Doubt, Origin
from solver.prove import Prover, holds

if TYPE_CHECKING:
    from absint.api import Result

Box = Mapping[str, int | tuple[int, int]]


class Outcome(Enum):
    """What is known about the runs at some sizes."""

    RUNS = "runs"
    HOLDS = "holds"
    MAY_FAIL = "may fail on data"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Failure:
    """The first requirement in execution order that does not hold."""

    origin: Origin
    reason: str
    relation: str = ""

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}" + (f", which needs {self.relation}" if self.relation else "")


@dataclass(frozen=True)
class Check:
    """What happens at given sizes: `FAILS` with the first node, `RUNS` for all data, or `HOLDS`: no requirement is
    broken, and `doubts` are the nodes that may fail on some data."""

    sizes: Mapping[str, int]
    outcome: Outcome
    shapes: Mapping[str, tuple[int | None, ...] | None] = field(default_factory=dict)
    """Of every tensor of the main graph; None is a size, or a rank, that only data decide."""
    failure: Failure | None = None
    doubts: tuple[Doubt, ...] = ()
    premises: tuple[Constraint, ...] = ()
    """Numeric premises that these sizes break: what is claimed of values may be wrong there."""

    @property
    def ok(self) -> bool:
        return self.outcome is not Outcome.FAILS

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        at = ", ".join(f"{name}={size}" for name, size in self.sizes.items()) or "no symbols"
        if self.failure is not None:
            return f"fails at {at}: {self.failure}"
        rest = f"; may fail on data: {'; '.join(map(str, self.doubts))}" if self.doubts else ""
        return f"{self.outcome.value} at {at}{rest}"

    def to_json(self) -> str:
        """As a JSON object, schema `absint.check/1`."""
        return json_text(
            {
                "schema": "absint.check/1",
                "sizes": dict(self.sizes),
                "outcome": self.outcome.value,
                "failure": None
                if self.failure is None
                else _located(self.failure.origin, self.failure.reason) | {"requirement": self.failure.relation},
                "doubts": [_located(d.origin, d.reason) for d in self.doubts],
                "premises": [_located(c.origin, str(c.relation)) for c in self.premises],
                "shapes": {name: None if s is None else list(s) for name, s in self.shapes.items()},
            },
            indent=1,
        )


@dataclass(frozen=True)
class RangeCheck:
    """What happens in a box of sizes.

    `HOLDS`: no size in it breaks a requirement (`RUNS`: and no node can fail for another reason). `FAILS`: with a size
    and the node. `MAY_FAIL`: a requirement over sizes that data decide is open. `UNKNOWN`: something was not decided.
    """

    box: Mapping[str, tuple[int, int]]
    outcome: Outcome
    failure: Failure | None = None
    sizes: Mapping[str, int] | None = None
    """Where it fails."""
    open: tuple[Constraint, ...] = ()
    """Requirements that are not shown to hold."""
    doubts: tuple[Doubt, ...] = ()
    premises: tuple[Constraint, ...] = ()
    """Numeric premises that some size of the box may break."""
    reason: str = ""
    assuming: tuple[Relation, ...] = ()
    """What the caller assumes: sizes that do not meet it are no part of the answer."""

    @property
    def ok(self) -> bool:
        return self.outcome in (Outcome.RUNS, Outcome.HOLDS)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        box = ", ".join(f"{name}={lo}..{hi}" for name, (lo, hi) in self.box.items()) or "no symbols"
        text = f"{self.outcome.value} for {box}"
        if self.failure is not None:
            at = ", ".join(f"{name}={size}" for name, size in (self.sizes or {}).items())
            text = f"fails for {box} at {at}: {self.failure}"
        if self.assuming:
            text += f"; assuming {' and '.join(map(str, self.assuming))}"
        if self.open:
            text += f"; not shown: {'; '.join(map(str, self.open))}"
        if self.doubts:
            text += f"; may fail on data: {'; '.join(map(str, self.doubts))}"
        return text + (f" ({self.reason})" if self.reason else "")

    def to_json(self) -> str:
        """As a JSON object, schema `absint.check-range/1`."""
        return json_text(
            {
                "schema": "absint.check-range/1",
                "box": {name: list(ends) for name, ends in self.box.items()},
                **({"assuming": list(map(str, self.assuming))} if self.assuming else {}),
                "outcome": self.outcome.value,
                "sizes": None if self.sizes is None else dict(self.sizes),
                "failure": None
                if self.failure is None
                else _located(self.failure.origin, self.failure.reason) | {"requirement": self.failure.relation},
                "open": [_located(c.origin, str(c.formula)) for c in self.open],
                "doubts": [_located(d.origin, d.reason) for d in self.doubts],
                "premises": [_located(c.origin, str(c.relation)) for c in self.premises],
                "reason": self.reason,
            },
            indent=1,
        )


def _located(origin: Origin, reason: str) -> dict[str, object]:
    place = {"node": origin.name, "path": origin.path, "operator": origin.operator, "output": origin.output}
    return {**place, "reason": reason}


def sizes_of(result: Result, binding: Mapping[str, int]) -> dict[str, int]:
    """The binding in the order of the symbols. Raises UsageError for a missing, unknown or impossible size."""
    _known(result, binding)
    for name, size in binding.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise UsageError(f"{name}={size!r}: a size is an integer")
        if size < 0:
            raise UsageError(f"{name}={size}: a size cannot be negative")
        if size > MAX_DIM:
            raise UsageError(f"{name}={size}: a size is below 2**31")
    missing = [name for name in result.symbols if name not in binding]
    if missing:
        raise UsageError(f"no size for {', '.join(map(repr, missing))}: every symbol of the inputs needs one")
    return {name: binding[name] for name in result.symbols}


def _known(result: Result, names: Mapping[str, object]) -> None:
    from absint.assumptions import known_symbols

    for name, size in names.items():
        known_symbols([name], result.symbols, f"{name}={size}")


def bound(result: Result, sizes: Mapping[str, int], inputs: Mapping[int, Value] | None = None) -> Round:
    """The analysis at these sizes, on the declarations alone."""
    facts = Facts([*result.declared_premises, *result.assumptions, *(eq(symbol(n), s) for n, s in sizes.items())])
    analysis = ShapeAnalysis(result._lowered.program, facts, inputs=inputs)
    return Round(analysis, solved(result._lowered, analysis, CHECK) or [])


def check(result: Result, binding: Mapping[str, int], *, zeros: bool = False) -> Check:
    """Analyse again with the sizes bound and nothing refined; the first false requirement in execution order, if any.

    With `zeros` the question is whether there is a run: all integer and boolean data of the inputs are taken to be 0.
    """
    sizes = sizes_of(result, binding)
    for relation in (*result.declared_premises, *result.assumptions):
        if holds(relation, sizes) is False:
            excluded = Failure(DECLARATION, "the declared or assumed sizes do not allow it", str(relation))
            return Check(sizes, Outcome.FAILS, failure=excluded)
    never = next((c for c in result.recorded.base if c.role == "required" and c.formula is FALSE), None)
    if never is not None:
        return Check(sizes, Outcome.FAILS, failure=Failure(never.origin, never.reason))
    run = bound(result, sizes, _zeros(result, sizes) if zeros else None)
    recorded = Recorder(result._lowered, run).run()
    failure = next(_failures(result, recorded.constraints, sizes), None) or _broken(result, sizes)
    if failure is not None:
        return Check(sizes, Outcome.FAILS, failure=failure)
    doubts = list(recorded.doubts)
    doubts += [
        Doubt(c.origin, TRUE, c.reason)
        for c in recorded.constraints
        if c.role == "required" or (c.role == "defined" and c.formula is FALSE)
    ]
    doubts += _incomplete(result, run, recorded)
    broken = tuple(c for c in recorded.constraints if c.role == "assumed" and c.formula is FALSE)
    shapes = {name: _concrete(run.states[node][at]) for name, (node, at) in _named(result) if node >= 0}
    outcome = Outcome.HOLDS if doubts or broken else Outcome.RUNS
    if run.analysis.unfinished:
        outcome = Outcome.UNKNOWN
    return Check(sizes, outcome, shapes, None, tuple(dict.fromkeys(doubts)), broken)


def _named(result: Result) -> Iterator[tuple[str, tuple[int, int]]]:
    return iter(result._lowered.program.main.names.items())


def _concrete(value: Value) -> tuple[int | None, ...] | None:
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return None
    return tuple(int(d) if d.is_concrete else None for d in value.shape)


def _failures(result: Result, constraints: Sequence[Constraint], sizes: Mapping[str, int]) -> Iterator[Failure]:
    stated: dict[tuple[int, str], Relation] = {}
    for c in result.recorded.base:
        if c.role == "required":
            stated.setdefault((c.origin.node, c.reason), c.formula)
    for c in constraints:
        if c.formula is FALSE and c.role == "required":
            formula = stated.get((c.origin.node, c.reason))
            broken = formula is not None and formula is not FALSE and holds(formula, sizes) is False
            yield Failure(c.origin, c.reason, str(formula) if broken else "")


def _broken(result: Result, sizes: Mapping[str, int]) -> Failure | None:
    """A requirement that a contract is made of, and that these sizes do not meet or that divides by zero for them.

    A node may state less at given sizes than over symbols: of a loop that runs its body again, say.
    """
    for c in result.recorded.base:
        if c.role == "required" and c.formula.free_symbols <= sizes.keys() and holds(c.formula, sizes) is not True:
            return Failure(c.origin, c.reason, str(c.formula))
    return None


def _incomplete(result: Result, run: Round, recorded: Recorder) -> Iterator[Doubt]:
    """Nodes whose rules do not promise to state everything that a run needs."""
    seen = set()
    for node, template in run.analysis.applied.items():
        item = result.nodes[node]
        kernel = item.kernel
        if kernel is None or not template.outputs or kernel.operator in seen:
            continue
        if kernel.rule is None or not kernel.rule.complete:
            seen.add(kernel.operator)
            yield Doubt(recorded.origin(node), TRUE, "its rule does not promise that nothing else can fail")


def _zeros(result: Result, sizes: Mapping[str, int]) -> dict[int, Value]:
    """The inputs with integer and boolean data that are all 0, and what the file gives where a caller may feed more."""
    found: dict[int, Value] = dict(result._lowered.signature.defaults)
    for node in result._lowered.signature.inputs.values():
        value = result.nodes[node].value
        if isinstance(value, Tensor):
            if value.dtype is DType.BOOL:
                found[node] = Tensor(value.dtype, value.shape, Contents.fill(FALSE))
            elif value.dtype.is_integer:
                found[node] = Tensor(value.dtype, value.shape, Contents.fill(Dim(0)))
            elif value.dtype.is_float:
                found[node] = Tensor(value.dtype, value.shape, Contents.fill(Real.constant(0)))
    return found


def check_range(result: Result, box: Box, limits: Limits | None = None) -> RangeCheck:
    """Whether every size of the box meets the requirements of round 0.

    A requirement is discharged from the box and from what nodes before it require and define, so that none proves
    itself. Symbols that the box leaves out have any size. What the caller assumes narrows the box.
    """
    limits = limits or Limits(LONG)
    ends = _narrowed(result, box_of(result, box))
    found = _Range(result, ends, Prover(result.recorded.base, order=result.symbols, limits=limits))
    try:
        with within(limits.seconds):
            return replace(found.answer(), assuming=result.assumptions)
    except DeadlineError as error:
        found.reason = str(error)
        return replace(found.undecided(), assuming=result.assumptions)


def _narrowed(result: Result, ends: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The box without the sizes at its ends that the assumptions exclude; all of it if they exclude all of it."""
    if not result.assumptions:
        return ends
    facts = Facts([*result.assumptions, *_inside(ends)], result.symbols)
    if facts.contradiction:
        return ends
    found = {}
    for name, (lo, hi) in ends.items():
        least, most = facts.simplify(symbol(name)).bounds
        found[name] = max(lo, least if least is not None else lo), min(hi, most if most is not None else hi)
    return found


def _inside(ends: Mapping[str, tuple[int, int]]) -> list[Relation]:
    return [r for name, (lo, hi) in ends.items() for r in (ge(symbol(name), lo), le(symbol(name), hi))]


class _Range:
    """What is found out about a box, node by node."""

    def __init__(self, result: Result, ends: Mapping[str, tuple[int, int]], prover: Prover) -> None:
        self._result, self._ends, self._prover = result, ends, prover
        self._open: list[Constraint] = []
        self._premises: list[Constraint] = []
        self._doubts: list[Doubt] = []
        self._held: dict[Relation, None] = {}
        self._waiting: deque[Doubt] = deque()
        self.reason = ""

    def answer(self) -> RangeCheck:
        """Raises DeadlineError past the deadline that is set."""
        result, prover = self._result, self._prover
        inside = _inside(self._ends)
        given = [c.formula for c in prover.constraints if c.origin.node < 0]
        excluded = _excluded(prover, self._ends, inside)
        excluded = excluded if excluded is not None else self._single()
        if excluded is not None:
            return excluded
        stated = stated_within(result, prover, [*inside, *given])
        self._doubts += [d for d in stated.doubts if d.guard is TRUE]
        self._waiting.extend(sorted((d for d in stated.doubts if d.guard is not TRUE), key=lambda d: d.origin.node))
        self._held |= dict.fromkeys([*inside, *given])
        failed = self._stated(stated)
        if failed is not None:
            return failed
        self._weigh(inf)
        if result.base.analysis.unfinished:
            self.reason = LIMITED
        return self.undecided()

    def undecided(self) -> RangeCheck:
        """What has been found, where nothing fails."""
        complete = not self._doubts and not self._premises and self._result.is_complete
        settled = Outcome.MAY_FAIL if self._open else Outcome.RUNS if complete else Outcome.HOLDS
        return RangeCheck(
            self._ends,
            Outcome.UNKNOWN if self.reason else settled,
            open=_shown(self._result, self._open),
            doubts=tuple(self._doubts),
            premises=_shown(self._result, self._premises),
            reason=self.reason,
        )

    def _single(self) -> RangeCheck | None:
        """The failure of a box with one size, where a requirement may divide by zero."""
        sizes = {name: lo for name, (lo, hi) in self._ends.items() if lo == hi}
        failure = _broken(self._result, sizes) if len(sizes) == len(self._ends) else None
        return None if failure is None else RangeCheck(self._ends, Outcome.FAILS, failure, sizes)

    def _weigh(self, upto: float) -> None:
        """Keep the doubts of the nodes up to this one but those that what is held removes."""
        while self._waiting and self._waiting[0].origin.node <= upto:
            doubt = self._waiting.popleft()
            if not self._prover.entails(list(self._held), negation(doubt.guard)).entailed:
                self._doubts.append(doubt)

    def _stated(self, stated: ConstraintSet) -> RangeCheck | None:
        """Go through what the nodes state; the answer if one of them fails."""
        pending: list[Relation] = []
        last = -1
        for c in stated:
            if c.origin.node < 0:
                continue
            if c.origin.node != last:
                self._held.update(dict.fromkeys(pending))
                pending, last = [], c.origin.node
                self._weigh(last)
            if c.formula in self._held:
                continue
            if c.role == "defined":
                if c.reason == NOT_NEGATIVE and not self._prover.entails(list(self._held), c.formula).entailed:
                    self._doubts.append(Doubt(c.origin, TRUE, f"it is not shown that {c.formula}"))
                pending.append(c.formula)
                continue
            failed = self._required(c)
            if failed is not None:
                return failed
            self._held[c.formula] = None
        return None

    def _required(self, c: Constraint) -> RangeCheck | None:
        decision = self._prover.entails(list(self._held), c.formula, small=True)
        if decision.entailed is None:
            self.reason = decision.reason
            self._open.append(c)
        elif not decision.entailed:
            if c.role == "assumed":
                self._premises.append(c)
                return None
            if c.formula.free_symbols <= set(self._result.symbols):
                sizes = {name: decision.model.get(name, self._ends[name][0]) for name in self._result.symbols}
                found = check(self._result, sizes)
                if found.failure is not None:
                    return RangeCheck(self._ends, Outcome.FAILS, found.failure, sizes)
            self._open.append(c)
        return None


def _shown(result: Result, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints under printed names."""
    return tuple(ConstraintSet(constraints).renamed(result.all_names))


def _excluded(prover: Prover, ends: Mapping[str, tuple[int, int]], within: Sequence[Relation]) -> RangeCheck | None:
    """The answer for a box with a size that no input can have, or without one that is assumed."""
    given = [c for c in prover.constraints if c.origin.node < 0]
    assumed = [c.formula for c in given if c.role == "assumed"]
    for c in given:
        if c.role == "declared":
            decision = prover.entails([*within, *assumed], c.formula, small=True)
            if decision.entailed is False:
                sizes = {name: decision.model.get(name, lo) for name, (lo, _) in ends.items()}
                return RangeCheck(ends, Outcome.FAILS, Failure(c.origin, c.reason, str(c.formula)), sizes)
    if assumed and prover.entails([*within, *assumed], FALSE).entailed:
        nowhere = Failure(ASSUMPTION, "no size in the box is one that is assumed")
        return RangeCheck(ends, Outcome.FAILS, nowhere, {name: lo for name, (lo, _) in ends.items()})
    return None


def stated_within(result: Result, prover: Prover, premises: Sequence[Relation]) -> ConstraintSet:
    """What the nodes state: in the last round where the premises entail what that round takes for granted.

    Else a requirement could be used to prove itself, or to show that a node before it does not fail.
    """
    learned = (item.relation for item in result.last.learned)
    sound = all(prover.entails(premises, relation).entailed for relation in learned)
    return result.recorded.every if sound else result.recorded.base


def box_of(result: Result, box: Box) -> dict[str, tuple[int, int]]:
    """Both ends for every symbol. Raises UsageError for an unknown symbol and an empty or negative range."""
    _known(result, box)
    ends: dict[str, tuple[int, int]] = {}
    for name in result.symbols:
        given = box.get(name, (0, MAX_DIM))
        lo, hi = given if isinstance(given, tuple) else (given, given)
        if lo < 0:
            raise UsageError(f"{name}={lo}..{hi}: a size cannot be negative")
        if lo > MAX_DIM:
            raise UsageError(f"{name}={lo}..{hi}: a size is below 2**31")
        if lo > hi:
            raise UsageError(f"{name}={lo}..{hi}: the range is empty, its first size is above its last")
        ends[name] = (lo, min(hi, MAX_DIM))
    return ends


__all__ = ["Box", "Check", "Failure", "Outcome", "RangeCheck", "bound", "check", "check_range", "stated_within"]
