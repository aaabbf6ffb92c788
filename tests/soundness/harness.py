"""One node test: analyse every symbolic variant, run every sampled binding, collect what is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

import absint
from absint import Result
from absint.transfer.rule import Table
from tests.soundness import limits
from tests.soundness.claims import Claims
from tests.soundness.models import NodeTest, Variant, all_nodes, bindings, variants
from tests.soundness.runs import Runner

LOWERED = frozenset({"If", "Loop", "Scan"})


@dataclass
class Report:
    """The results of one node test."""

    test: NodeTest
    wrong: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    """Bindings at which a complete rule's requirements hold, and yet the node fails."""
    differences: Counter[str] = field(default_factory=Counter)
    """Failures of onnxruntime only, where the requirements of a complete rule hold."""
    ran: int = 0
    failed: int = 0
    runtimes: Counter[str] = field(default_factory=Counter)
    dims: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(control, `exact` or `open` or `norank`) -> dims of outputs, of variants that name every dim."""
    left_open: dict[str, str] = field(default_factory=dict)


def missing_rules(test: NodeTest, table: Table) -> list[str]:
    """Operators of the test that the table has no rule for."""
    versions = test.version
    return sorted(
        {
            f"{node.domain}::{node.op_type}" if node.domain else node.op_type
            for node in all_nodes(test.nodes)
            if not (node.domain == "" and node.op_type in LOWERED)
            and table.lookup(node.domain, node.op_type, versions.get(node.domain, 1)) is None
        }
    )


def examine(
    test: NodeTest, *, count: int = 6, thorough: bool = False, seed: int = 0, table: Table | None = None
) -> Report:
    """Analyse and run a node test. Deterministic for a seed."""
    report = Report(test)
    runners: dict[bool, Runner] = {}
    for variant in variants(test, thorough=thorough):
        result = absint.analyze(variant.model, table=table)
        claims = Claims.of(result)
        for node, error in result.analysis.crashes.items():
            report.wrong.append(f"{variant}: the rule of {result.nodes[node]} failed: {error}")
        _measure(report, variant, result)
        constant = variant.control == "constant"
        if constant not in runners:
            runners[constant] = Runner(test, constant=constant)
        _run_all(report, variant, result, claims, runners[constant], count, seed)
    return report


def _run_all(
    report: Report, variant: Variant, result: Result, claims: Claims, runner: Runner, count: int, seed: int
) -> None:
    start = crc32(str(variant).encode()) + seed
    rng = np.random.default_rng(start)
    complete = promises(result, claims)
    total = count if variant.original or variant.control != "hidden" else 2
    sampled = list(bindings(variant, total, start))
    if variant.control == "hidden":
        sampled += sampled[:3]
    for number, binding in enumerate(sampled):
        feeds = variant.feeds(binding, rng, original=number == 0)
        outcome = runner.run(feeds)
        if outcome.values is None:
            report.failed += 1
            if complete and not claims.broken(binding) and not limits.is_refused(report.test.operator, outcome.failure):
                second = runner.reference(feeds)
                if outcome.runtime == "onnxruntime" and second.values is not None:
                    report.differences[outcome.failure.splitlines()[0][:160]] += 1
                else:
                    text = f"{variant} at {binding}: every requirement holds, but it fails: {outcome.failure[:300]}"
                    report.incomplete.append(text)
            continue
        values = {**runner.constants, **feeds, **outcome.values}
        if limits.deviates(report.test.nodes, values):
            continue
        if outcome.runtime == "reference" and number and (claims.may_fail or claims.broken(binding)):
            continue  # onnx.reference computes something where the operator should fail
        report.ran += 1
        report.runtimes[outcome.runtime] += 1
        for problem in claims.wrong(binding, outcome.values):
            report.wrong.append(f"{variant} at {binding} ({outcome.runtime}): {problem}")


def promises(result: Result, claims: Claims) -> bool:
    """Every rule of the model is complete and nothing may fail on data: the requirements alone decide."""
    rules = [node.operation.rule for node in result.nodes if node.operation is not None]
    lowered = any(node.step is not None for node in result.nodes)
    return not lowered and not claims.may_fail and all(rule is not None and rule.complete for rule in rules)


def _measure(report: Report, variant: Variant, result: Result) -> None:
    """Count the exact dims of the values that the nodes of the test compute."""
    if variant.dims != "same":
        return
    inputs = set(result.symbols)
    for node in report.test.nodes:
        for name in filter(None, node.output):
            shape = result.shapes.get(name)
            if shape is None or shape.rank is None:
                report.dims[variant.control, "norank"] += 1
                report.left_open[f"{variant.control} {name}"] = f"{node.op_type}: rank unknown"
                continue
            for dim in shape:
                exact = not dim.is_unknown and dim.free_symbols <= inputs
                report.dims[variant.control, "exact" if exact else "open"] += 1
                if not exact:
                    report.left_open[f"{variant.control} {name}"] = f"{node.op_type}: {shape}"
