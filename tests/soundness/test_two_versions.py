"""Every operator with several versions, in a function of one in a model of another: claims against onnxruntime."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, helper, numpy_helper

import absint
from absint.questions.sizes.outcomes import Outcome
from absint.testing.cases import Array, Case, arrays_of
from absint.transfer.semantics import Semantics
from tests.pages.operators import all_cases

NEWEST = 24
"""onnxruntime runs no later opset."""
NEWEST_ML = 5
"""The newest opset of ai.onnx.ml that onnxruntime loads."""
OLDEST = 8
OF_EACH = 3
"""Cases of an operator and opset."""
UNTRIED = ("NOT_IMPLEMENTED", "Could not find", "not a registered", "can't be converted")


@cache
def versions() -> dict[tuple[str, str], set[int]]:
    """The versions of each operator."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        found[schema.domain, schema.name].add(schema.since_version)
    return found


def models_of(case: Case, arrays: Sequence[Array | None]) -> Iterator[onnx.ModelProto]:
    """The node in a function of its own opset, in a model of each other one."""
    names = [f"x{at}" if array is not None else "" for at, array in enumerate(arrays)]
    given, outputs = [name for name in names if name], [f"y{at}" for at in range(case.outputs)]
    attributes = cast("dict[str, Any]", dict(case.attributes))
    node = helper.make_node(case.op, names, outputs, domain=case.domain, **attributes)
    inputs, initialisers = [], []
    for arg, name, array in zip(case.inputs, names, arrays, strict=True):
        if arg is None or array is None:
            continue
        if arg.elements is not None and not arg.hidden and not arg.fed:
            initialisers.append(numpy_helper.from_array(array, name))
        else:
            inputs.append(helper.make_tensor_value_info(name, int(arg.dtype), array.shape))
    call = helper.make_node("F", given, outputs, domain="my")
    infos = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([call], "graph", inputs, infos, initialisers)
    known = versions()[case.domain, case.op]
    own = max((v for v in known if v <= case.opset), default=0)
    least, oldest, most = (1, 1, NEWEST_ML) if case.domain else (7, OLDEST, NEWEST)
    for version in sorted(max(v, oldest) for v in known - {own} if least <= v <= most):
        function = helper.make_function("my", "F", given, outputs, [node], imports(case.domain, case.opset))
        opsets = [*imports(case.domain, version), helper.make_opsetid("my", 1)]
        yield helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)


def imports(domain: str, version: int) -> list[onnx.OperatorSetIdProto]:
    """The opsets of a graph with nodes of this version."""
    own = [helper.make_opsetid(domain, version)] if domain else []
    return [helper.make_opsetid("", 20 if domain else version), *own]


def shapes_of(model: onnx.ModelProto, arrays: Sequence[Array | None]) -> tuple[list[object] | None, str]:
    """The shapes of a run in onnxruntime, or the reason why it fails."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    feeds = {info.name: arrays[int(info.name[1:])] for info in model.graph.input}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, feeds)
    except Exception as error:
        return None, str(error)
    return [value.shape if isinstance(value, np.ndarray) else None for value in found], ""


def wrong_claim(model: onnx.ModelProto, ran: list[object] | None, semantics: Semantics) -> str:
    """What an analysis says that the run contradicts."""
    result = absint.analyze(model, semantics=semantics)
    outcome = result.check({}).outcome
    if ran is None:
        return "it is said to run" if outcome is Outcome.RUNS else ""
    if outcome is Outcome.ILLEGAL:
        return "it is said to fail"
    for info, shape in zip(model.graph.output, ran, strict=True):
        claimed = result.shapes[info.name]
        if isinstance(shape, tuple) and not claimed.is_top:
            if claimed.rank != len(shape):
                return f"{info.name} has shape {shape}, not {claimed}"
            if any(dim.is_concrete and int(dim) != size for dim, size in zip(claimed, shape, strict=True)):
                return f"{info.name} has shape {shape}, not {claimed}"
    return ""


def chosen() -> Iterator[Case]:
    """A few cases of each operator and opset; empty tensors end the process in some kernels of old versions."""
    seen: Counter[tuple[str, str, int]] = Counter()
    for case in all_cases():
        key = case.domain, case.op, case.opset
        if case.domain in ("", "ai.onnx.ml") and len(versions()[key[:2]]) > 1 and case.bindings:
            seen[key] += seen[key] < OF_EACH + 1
            if seen[key] <= OF_EACH:
                yield case


@pytest.mark.parametrize("semantics", ["either", "onnxruntime"])
def test_claims_hold_in_onnxruntime(semantics: Semantics) -> None:
    wrong, tried, failed = [], 0, 0
    for case in chosen():
        arrays = arrays_of(case, max(case.bindings, key=lambda binding: min(binding.values(), default=0)), 0)
        if any(array is not None and not array.size for array in arrays):
            continue
        for model in models_of(case, arrays):
            ran, reason = shapes_of(model, arrays)
            if ran is None and any(text in reason for text in UNTRIED):
                continue
            tried, failed = tried + 1, failed + (ran is None)
            fault = wrong_claim(model, ran, semantics)
            if fault:
                wrong.append(f"{case} in a model of {model.opset_import[0].version}: {fault} {reason[:200]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 1000
    assert failed > 100
