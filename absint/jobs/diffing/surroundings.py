"""Opsets, operators, diagnostics: what is in the files beside inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from absint.jobs.diffing.answers import Meaning, Surroundings
from absint.model.schemas import since
from absint.model.walk import graphs_below
from absint.questions.claims.diagnostics import diagnostics
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract


def surroundings(first: Analysed, second: Analysed, contracts: tuple[Contract, Contract]) -> Surroundings:
    """The differences between the files of two models."""
    opsets, others = _opsets(first), _opsets(second)
    used = _domains(first) | _domains(second)
    rules, other_rules = first.unruled + first.inferred, second.unruled + second.inferred
    stated = [Counter(f"{d.severity.value}: {d.message} [{d.code}]" for d in diagnostics(m)) for m in (first, second)]
    places = {f"{d.severity.value}: {d.message} [{d.code}]": d.where for m in (first, second) for d in diagnostics(m)}
    failures = [Counter(_failures(contract)) for contract in contracts]
    return Surroundings(
        (_count(first), _count(second)),
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


def _count(model: Analysed) -> int:
    """Nodes in the file, those of bodies included."""
    nodes = model.loaded.model.graph.node
    return len(nodes) + sum(len(body.node) for body in graphs_below(nodes))


def _failures(contract: Contract) -> Iterable[str]:
    """The possible failures on data, without the names of nodes."""
    for failure in contract.possible_failures:
        yield f"{failure.origin.operator}: {failure.reason}"
    for constraint in contract.beyond:
        yield f"{constraint.origin.operator}: {constraint.reason}"


def _meanings(first: Analysed, second: Analysed) -> Iterable[Meaning]:
    """Operators that both models have, under versions of their domain that mean different schemas."""
    versions, others = _versions(first), _versions(second)
    for name in sorted(versions.keys() & others.keys()):
        before, after = versions[name], others[name]
        for version in after - before.keys():
            old = max(before, key=lambda v: (v <= version, v))
            yield Meaning(name, old, version, after[version])


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
