"""Work that must not grow faster than the model: counted in calls, or shown to pause the collector."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from types import ModuleType

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.analyses.liveness import Regions
from absint.lattices.terms import normal
from absint.questions.costs import cost, memory
from absint.questions.proofs import text
from absint.solution.analysed import Analysed


def joined(operator: str, count: int, **attributes: int) -> onnx.ModelProto:
    """One node of so many vectors, each with a symbol of its own."""
    inputs = [helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, [f"N{k}"]) for k in range(count)]
    node = helper.make_node(operator, [info.name for info in inputs], ["y"], **attributes)
    graph = helper.make_graph([node], "graph", inputs, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, str], list[None]]:
    """Counts the calls of a function of a module."""

    def count(module: ModuleType, name: str) -> list[None]:
        calls: list[None] = []
        function = getattr(module, name)

        def called(*arguments: object) -> object:
            calls.append(None)
            return function(*arguments)

        monkeypatch.setattr(module, name, called)
        return calls

    return count


def test_names_are_found_without_a_search(counted: Callable[[ModuleType, str], list[None]]) -> None:
    model = joined("Concat", 400, axis=0)
    calls = counted(text, "symbols_of")
    assert "x399" in str(absint.analyze(model))
    assert len(calls) <= 3 * 401


def test_a_broadcast_does_not_compare_each_two_of_its_sizes(counted: Callable[[ModuleType, str], list[None]]) -> None:
    model = joined("Sum", 200)
    calls = counted(normal, "fits")
    assert absint.analyze(model).shapes["y"].rank == 1
    assert len(calls) <= 2000


def test_what_a_broadcast_covers_is_left_out() -> None:
    n, m = absint.parse("n"), absint.parse("m")
    covered = normal.broadcast
    assert covered(n, absint.parse("max(n, 1)"), m) is covered(n, m)
    assert covered(n, absint.parse("ite(m >= 3, max(n, 1), n)")) is n
    assert covered(n, absint.parse("ite(m >= 3, 1, n)"), m) is covered(n, m)
    assert covered(m, absint.parse("ite(m >= 3, 1, n)")) is not m


@pytest.mark.parametrize("module", [cost, memory], ids=["cost", "memory"])
def test_a_bill_is_made_without_collections(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    collecting = []

    def regions(analysed: Analysed) -> Regions:
        collecting.append(gc.isenabled())
        return Regions(analysed)

    monkeypatch.setattr(module, "Regions", regions)
    result = absint.analyze(joined("Sum", 3))
    for _ in (result.cost(), result.memory()):
        pass
    assert collecting
    assert not any(collecting)
    assert gc.isenabled()


@pytest.mark.parametrize("node", ["y = Trilu(c)", "y = Transpose<perm = [1, 0]>(c)"])
def test_an_empty_tensor_with_a_long_axis_is_not_walked(node: str) -> None:
    text = f'<ir_version: 9, opset_import: ["" : 18]> g (float[N] x) => (float[A, B] y) {{ {node} }}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[0, 1 << 24]))
    absint.purge()
    tracemalloc.start()
    try:
        result = absint.analyze(model)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 25  # the places along the axis take over 500 MB
    assert [d.code for d in result.diagnostics] == []
    assert sorted(map(int, result.shapes["y"])) == [0, 1 << 24]
