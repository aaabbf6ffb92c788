"""Models with another type in a random place: an error where onnxruntime speaks of types, and none where it loads."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

import absint
from tests.absint.model.typing.mutations import innermost
from tests.absint.model.typing.runtime import refusal
from tests.absint.model.typing.test_attributes import loads
from tests.adversarial import MODELS
from tests.soundness.models import NEWEST_RUN, node_tests

TYPES = (1, 2, 6, 7, 8, 9, 10, 11, 13)


def with_bodies(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and the graphs inside of it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from with_bodies(attribute.g)


def sources() -> list[ModelProto]:
    """The adversarial set, and node tests of several nodes or with bodies."""
    tests = [test.model for test in node_tests().values()]
    several = [m for m in tests if len(m.graph.node) > 1 or any(a.HasField("g") for a in m.graph.node[0].attribute)]
    return [*(item.model for item in MODELS.values()), *several]


def undeclared(model: ModelProto) -> None:
    """Declare no types of what the main graph computes."""
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.ClearField("type")


def changed(source: ModelProto, choose: random.Random) -> tuple[str, ModelProto] | None:
    """The model with one change and what it is; None if there is nothing to change in that way."""
    model = ModelProto()
    model.CopyFrom(source)
    model.ir_version = min(model.ir_version, 10)
    for entry in model.opset_import:
        if not entry.domain:
            entry.version = min(entry.version, NEWEST_RUN)
    graph = choose.choice(list(with_bodies(model.graph)))
    kind = choose.choice(["input", "cast", "cast", "declaration", "initialiser"])
    places = {
        "input": [info for info in model.graph.input if innermost(info.type)],
        "cast": [(at, k) for at, node in enumerate(graph.node) for k, name in enumerate(node.input) if name],
        "declaration": [i for i in (*graph.output, *graph.value_info) if i.type.HasField("tensor_type")],
        "initialiser": [i for i in graph.initializer if i.data_type in (TensorProto.FLOAT, TensorProto.INT64)],
    }[kind]
    if not places:
        return None
    place, dtype = choose.choice(places), choose.choice(TYPES)
    if kind == "cast":
        at, k = place
        cast = helper.make_node("Cast", [graph.node[at].input[k]], ["cast__"], to=dtype)
        graph.node[at].input[k] = "cast__"
        nodes = [*graph.node[:at], cast, *graph.node[at:]]
        del graph.node[:]
        graph.node.extend(nodes)
    elif kind == "initialiser":
        place.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(place).astype(np.float64), place.name))
    else:
        innermost(place.type).tensor_type.elem_type = dtype
    if kind != "declaration" and graph is model.graph:
        undeclared(model)
    return f"{kind} {dtype}", model


def test_errors_are_those_of_onnxruntime() -> None:
    choose, pool, told = random.Random(16), sources(), 0
    for _ in range(400):
        source = choose.choice(pool)
        found = changed(source, choose)
        if found is None:
            continue
        what, model = found
        errors = [d for d in absint.analyze(model, refine=False).diagnostics if d.code == "ill-typed"]
        text = onnx.printer.to_text(model)
        if errors:
            assert not loads(model), f"{what}: {errors[0]}\n{text}"
            told += 1
        elif "Type" in (refused := refusal(model) or "") and "ShapeInferenceError" not in refused:
            raise AssertionError(f"{what}: {refused}\n{text}")
    assert told >= 150
