"""Costs, memory, opsets, operators, diagnostics and computed values of two models, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from absint.errors import UsageError
from absint.jobs.diffing import answers, legality
from absint.jobs.diffing.correspondence import Correspondence, form_of, plain, type_text
from absint.lattices.limits import DeadlineError, Limits, on_time, within
from absint.lattices.logic.relation import NO, conjunction, eq
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, const, sub
from absint.model.protos import graphs
from absint.model.schemas import since
from absint.questions.claims.judging import diagnostics
from absint.questions.costs.cost import Cost
from absint.questions.costs.memory import Memory
from absint.questions.sizes.checking import Judge
from absint.questions.sizes.nearest import LegalSizes
from absint.questions.sizes.start import Sizes, Starts, small_sizes
from absint.show.summary import totals
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract

_SECONDS: Final = 2.0
_TRIED: Final = 64
"""Limits of the search for sizes that are legal in both models."""


class _Bill(NamedTuple):
    model: Analysed
    cost: Cost
    memory: Memory

    def terms(self) -> Mapping[str, Dim]:
        return {
            "macs": self.cost.macs,
            "flops": self.cost.flops,
            "bytes": self.cost.bytes,
            "parameters": const(self.cost.parameter_elements),
            "parameter bytes": const(self.cost.parameter_bytes),
            "peak memory": self.memory.peak,
        }

    def numbers(self, sizes: Sizes) -> Mapping[str, int]:
        """All that these sizes determine; sizes that data decide are as `absint cost` takes them."""
        found = {"parameters": self.cost.parameter_elements, "parameter bytes": self.cost.parameter_bytes}
        with suppress(UsageError):
            found.update(self.cost.evaluate({**self.cost.default_sizes, **sizes})._asdict())
        with suppress(UsageError):
            found["peak memory"] = self.memory.evaluate({**self.memory.default_sizes, **sizes})
        return found

    def uncounted(self) -> Iterator[str]:
        for operator, count in self.cost.without_rule.items():
            yield f"{operator} ({count}) has no cost rule"
        if self.cost.unsized:
            yield f"{len(self.cost.unsized)} nodes have sizes that are not known"


def figures(over: Correspondence, at: Sizes) -> answers.Figures:
    """Costs of both, over symbols of the first. Numbers are `at` these sizes."""
    first, second = over.source, over.target
    a, b = (_Bill(model, Cost(model), Memory(model)) for model in (first, second))
    default = {**a.cost.default_sizes, **a.memory.default_sizes, **at}
    sizes = _legal_in_both(over, {n: size for n, size in default.items() if n in first.parameters})
    numbers = {} if sizes is None else a.numbers(sizes)
    others = {} if sizes is None else b.numbers(_translated(over, sizes))
    amounts = []
    for (name, before), after in zip(a.terms().items(), b.terms().values(), strict=True):
        known = None if name not in numbers or name not in others else (numbers[name], others[name])
        amounts.append(_amount(name, plain(first, before), over.dim(after), known, first))
    uncounted = [f"{side}: {line}" for side, bill in (("A", a), ("B", b)) for line in bill.uncounted()]
    if sizes is None:
        uncounted.append("no sizes were found that are legal in both, so there are no numbers")
    return answers.Figures(tuple(amounts), sizes or {}, (_share(first), _share(second)), tuple(uncounted))


def _amount(name: str, before: Dim, after: Dim, numbers: tuple[int, int] | None, first: Analysed) -> answers.Amount:
    known = isinstance(before, Expr) and isinstance(after, Expr)
    difference = sub(after, before) if known else UNKNOWN_DIM
    if isinstance(difference, Expr) and not difference.free_symbols <= first.parameters.keys():
        difference = UNKNOWN_DIM  # sizes that data decide are those of another run
    first_text, second_text, change = (str(d) if isinstance(d, Expr) else "?" for d in (before, after, difference))
    return answers.Amount(name, first_text, second_text, change, numbers)


def _legal_in_both(over: Correspondence, sizes: Sizes) -> Sizes | None:
    """The sizes if they are legal in the second model too, else the nearest that are legal in both, if there are."""
    second = over.target
    starts = second.once(Starts)
    wanted = _translated(over, sizes)
    if wanted.keys() != set(second.symbols) or starts.near(wanted) == wanted:
        return sizes
    legal = LegalSizes(over.source, sizes, Limits(_SECONDS))
    with suppress(DeadlineError), within(_SECONDS):
        for near, _ in islice(legal.near(sizes, legal.not_empty(sizes)), _TRIED):
            if second.once(Judge).is_legal(_translated(over, near)):
                return near
    return None


def _translated(over: Correspondence, sizes: Sizes) -> Sizes:
    """The sizes by symbols of the second model, as far as these are given."""
    found = ((name, expr.at(sizes)) for name, expr in over.symbols.items() if name in over.target.parameters)
    return {name: size for name, size in found if size is not None}


def _share(model: Analysed) -> answers.Share:
    counts = totals(model)
    return answers.Share(counts.concrete + counts.expression, counts.dims)


# Opsets, operators, diagnostics: what is in the files beside inputs and outputs.


def surroundings(first: Analysed, second: Analysed, contracts: tuple[Contract, Contract]) -> answers.Surroundings:
    """The differences between the files of two models."""
    opsets, others = _opsets(first), _opsets(second)
    used = _domains(first) | _domains(second)
    rules, other_rules = first.unruled + first.inferred, second.unruled + second.inferred
    stated = [Counter(f"{d.severity.value}: {d.message} [{d.code}]" for d in diagnostics(m)) for m in (first, second)]
    places = {f"{d.severity.value}: {d.message} [{d.code}]": d.where for m in (first, second) for d in diagnostics(m)}
    failures = [Counter(_failures(contract)) for contract in contracts]
    nodes, other_nodes = (sum(len(g.node) for g in graphs(m.loaded.model.graph)) for m in (first, second))
    return answers.Surroundings(
        (nodes, other_nodes),
        {d: (opsets.get(d), others.get(d)) for d in opsets | others if d in used},
        tuple(_meanings(first, second)),
        tuple((name, rules[name], other_rules[name]) for name in sorted(rules.keys() | other_rules.keys())),
        tuple(f"{places[text]}: {text}" for text in stated[1] - stated[0]),
        tuple(f"{places[text]}: {text}" for text in stated[0] - stated[1]),
        tuple(failures[1] - failures[0]),
        tuple(failures[0] - failures[1]),
    )


def _opsets(model: Analysed) -> dict[str, int]:
    return {entry.domain or "ai.onnx": entry.version for entry in model.loaded.model.opset_import}


def _domains(model: Analysed) -> set[str]:
    """The domains of its operators, and the standard one: optimisers import others that no node needs."""
    operations = (node.operation for node in model.nodes)
    return {operation.domain or "ai.onnx" for operation in operations if operation is not None} | {"ai.onnx"}


def _failures(contract: Contract) -> Iterable[str]:
    """The possible failures on data, without the names of nodes."""
    for failure in contract.possible_failures:
        yield f"{failure.origin.operator}: {failure.reason}"
    for constraint in contract.beyond:
        yield f"{constraint.origin.operator}: {constraint.reason}"


def _meanings(first: Analysed, second: Analysed) -> Iterable[answers.Meaning]:
    """Operators that both models have, under versions of their domain that mean different schemas."""
    versions, others = _versions(first), _versions(second)
    for name in sorted(versions.keys() & others.keys()):
        before, after = versions[name], others[name]
        for version in after - before.keys():
            old = max(before, key=lambda v: (v <= version, v))
            yield answers.Meaning(name, old, version, after[version])


def _versions(model: Analysed) -> Mapping[str, Counter[int]]:
    """For each operator the opsets that introduced the schemas of its nodes, and how many nodes each has."""
    found: dict[str, Counter[int]] = {}
    for node in model.nodes:
        operation = node.operation
        if operation is not None and operation.body is None:
            introduced = since(operation.domain, operation.op_type, operation.version)
            if introduced:
                found.setdefault(operation.operator, Counter())[introduced] += 1
    return found


# Computed values that have their name in both models: those whose types or shapes differ.

_SAMPLES: Final = 24
"""Legal sizes at which shapes are evaluated before a proof is tried."""


def differing(over: Correspondence, grounds: legality.Grounds) -> Iterator[answers.Inner]:
    """Values of the main graph that are of another type or shape in the second model; inputs and outputs apart.

    Raises DeadlineError past the deadline that is set.
    """
    first, second = over.source, over.target
    samples = grounds.small(_SAMPLES)
    ports = {*first.inputs, *first.outputs, *second.inputs, *second.outputs}
    for name in first.operands:
        if name not in second.operands or name in ports:
            continue
        on_time()
        value, other = first.values[name], second.values[name]
        before, after = form_of(value), form_of(other)
        if before.differs(after):
            yield answers.Inner(name, type_text(value), type_text(other), None, True)
        elif before.is_known and after.is_known:
            pairs = [(plain(first, a), over.dim(b)) for (_, a), (_, b) in zip(before.sizes, after.sizes, strict=True)]
            decided, at = _apart(pairs, grounds, samples)
            if at is not None or not decided:
                yield answers.Inner(name, type_text(value), type_text(other), at, decided)


def _apart(pairs: list[tuple[Dim, Dim]], grounds: legality.Grounds, samples: list[Sizes]) -> tuple[bool, Sizes | None]:
    """Sizes at which two shapes differ; True with None if none do, False if that is not known."""
    relation = conjunction(*(eq(a, b) for a, b in pairs if isinstance(a, Expr) and isinstance(b, Expr) and a is not b))
    for sizes in samples:
        if relation.at(sizes) is NO:
            return True, sizes
    if not relation.free_symbols <= grounds.chosen(relation).keys():
        return True, None  # data decide sizes of both: --values is about those that are known to differ
    decision = grounds.decide(relation)
    if decision.entailed is not False:
        return decision.entailed is True, None
    model = grounds.model(decision)
    return True, next(small_sizes(relation, grounds.premises, grounds.chosen(relation), model), None)
