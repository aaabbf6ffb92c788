"""Runs that show a version of an operator at work: cases, chains of sequences, models with maps or control flow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import onnx

import tests.transfer
import tests.transfer.versions
from absint import analyze
from tests.absint.shapes.flows import FLOWS
from tests.runs import Runs
from tests.soundness.models import NEWEST_RUN, all_nodes
from tests.transfer import test_sequences
from tests.transfer.harness import Case, apply_case
from tests.transfer.old_versions import definition_of, run_version
from tests.transfer.versions.history import Version
from tests.transfer.versions.maps import MAPS, run_model
from tests.transfer.versions.scan_8 import scan_8

ENOUGH: Final = 5
"""Runs that a version needs."""


def runs_of(version: Version, *, every: bool = False) -> int:
    """Hold what is claimed of a version against runs until there are enough, or all that there are with `every`."""
    ran = 0
    for number in _runs(version):
        ran += number
        if ran >= ENOUGH and not every:
            break
    return ran


def _runs(version: Version) -> Iterator[int]:
    own = [case for case in cases_of(version.domain, version.name) if version.covers(case.opset)]
    yield from map(run_version, own)
    yield from map(run_version, _retargeted(version))
    if version.domain:
        yield from map(run_model, MAPS.get((version.domain, version.name), ()))
        return
    yield from _chains(version)
    yield from (_flow(name, opset) for name in _flows(version.name) for opset in _opsets(version))


# Cases


@cache
def _tables() -> dict[tuple[str, str], list[Case]]:
    """Every case of a module of this folder and of the tests beside it, by operator."""
    names = [f"tests.transfer.versions.{m.name}" for m in iter_modules(tests.transfer.versions.__path__)]
    names += [f"tests.transfer.{m.name}" for m in iter_modules(tests.transfer.__path__) if m.name.startswith("test_")]
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for name in names:
        if name not in ("tests.transfer.test_table", "tests.transfer.test_versions", __name__):
            for case in cases_in(vars(import_module(name)).values()):
                found[case.domain, case.op].append(case)
    return found


def cases_in(items: Iterable[object]) -> Iterator[Case]:
    """The cases in nested containers."""
    for item in items:
        if isinstance(item, Case):
            yield item
        elif isinstance(item, (list, tuple)):
            yield from cases_in(item)


def cases_of(domain: str, name: str) -> list[Case]:
    return _tables().get((domain, name), [])


def _retargeted(version: Version) -> Iterator[Case]:
    """Cases of other versions, in this one. A form defined in numpy has cases of its own."""
    for case in cases_of(version.domain, version.name):
        moved = None if version.covers(case.opset) else version.retargeted(case)
        # a rejected node may end the process of onnxruntime
        if moved is not None and definition_of(moved) is None and apply_case(moved).rejected is None:
            yield moved


# Sequences and optionals


def _chains(version: Version) -> Iterator[int]:
    """Chains of nodes that hold the operator, in onnxruntime."""
    for chain in test_sequences.CHAINS:
        if any(node.op == version.name for node in chain.nodes):
            opset = chain.opset if version.covers(chain.opset) else version.since
            if opset <= NEWEST_RUN:
                yield test_sequences.check(replace(chain, opset=opset))


# Models with control flow

MODELS = {**FLOWS, "scan_8": scan_8}


@cache
def _flows(name: str) -> tuple[str, ...]:
    return tuple(f for f in MODELS if any(node.op_type == name for node in all_nodes(MODELS[f]().model.graph.node)))


def _opsets(version: Version) -> list[int]:
    return sorted({version.since, min(version.last, NEWEST_RUN)}) if version.since <= NEWEST_RUN else []


def _flow(name: str, opset: int) -> int:
    """A model under another opset: 0 runs if it is not legal there."""
    flow = MODELS[name]()
    model = onnx.ModelProto()
    model.CopyFrom(flow.model)
    for entry in model.opset_import:
        if not entry.domain:
            entry.version = opset
    result = analyze(model)
    try:
        runs = Runs(model, result, flow.data[0])
        runs.run(flow.bindings[0])
    except Exception:  # onnxruntime does not take the nodes beside it under this opset
        return 0
    runs.check(*flow.bindings[:ENOUGH])
    return len(flow.bindings[:ENOUGH])
