"""The analyses of examples/ on models and a program: what they claim holds in runs, and each is short."""

from __future__ import annotations

import ast
import random
import runpy
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, quantize_static

import absint
from absint.lattices.domains import FLOAT32, INTERVALS
from tests.absint.shapes.together.execution import outputs_of
from tests.absint.shapes.together.test_together import INDICES
from tests.models import parsed

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ("index_bounds", "sharding", "value_ranges", "zones")


def of(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="example")


def printed(name: str, *arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()


@pytest.mark.parametrize(("name", "most"), [*((name, 34) for name in NAMES), ("quantised_scales", 40)])
def test_an_analysis_is_short(name: str, most: int) -> None:
    """Two thirds of the shortest of those that were written by hand, of 51 to 97 lines; one that reports, too."""
    assert len(list(lines_of_code((EXAMPLES / f"{name}.py").read_text("utf-8")))) <= most


def test_the_page_says_how_short_they_are() -> None:
    names = ("index_bounds", "value_ranges", "sharding", "zones")
    counts = [len(list(lines_of_code((EXAMPLES / f"{name}.py").read_text("utf-8")))) for name in names]
    page = (EXAMPLES.parent / "docs" / "framework.md").read_text("utf-8")
    assert f"Four analyses of {min(counts)} to {max(counts)} lines" in " ".join(page.split())


def lines_of_code(text: str) -> Iterator[str]:
    """All but empty lines, comments and docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    owners = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented) and ast.get_docstring(node)]
    skipped = {at for node in owners for at in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    for number, line in enumerate(text.splitlines(), 1):
        if number not in skipped and line.strip() and not line.strip().startswith("#"):
            yield line


# Indices

LAST = parsed("""(float[N, C] x, float[C, 2] table, int64[N] n) => (float[N, 2] rows, float[N, K, 2] best) {
  most = ArgMax <axis = 1, keepdims = 0> (x)
  rows = Gather <axis = 0> (table, most)
  two = Constant <value_ints = [2]> ()
  values, places = TopK (x, two)
  best = Gather <axis = 0> (table, places)
}
""")


def test_indices_discharge_every_doubt(tmp_path: Path) -> None:
    path = tmp_path / "indices.onnx"
    onnx.save(INDICES, path)
    alone, together = printed("index_bounds", str(path), "N=3")
    assert alone.startswith("shapes alone: legal at N=3; may fail on data: Gather")
    assert together.startswith("with indices: runs at N=3; does not fail: Gather")
    assert together.count("(shown by IndexBounds)") == alone.count("every index must lie within the axis") == 5


@pytest.mark.parametrize("model", [INDICES, LAST], ids=["indices", "last"])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_where_indices_say_that_it_runs_it_does(model: onnx.ModelProto, size: int) -> None:
    analysis = of("index_bounds")["IndexBounds"]()
    result = absint.analyze(model, with_=[analysis])
    sizes = {name: {"N": size, "C": size + 1}[name] for name in result.symbols}
    assert result.check(sizes).outcome is absint.Outcome.RUNS
    claims, rng = result.found_by(analysis), np.random.default_rng(size)
    feeds = []
    for _ in range(5):
        rows = 8 if model is INDICES else size + 1
        given = {"x": rng.integers(-1, 2, (size, rows)), "table": rng.random((rows, 4 if model is INDICES else 2))}
        feeds.append({name: array.astype(np.float32) for name, array in given.items()})
        if model is LAST:
            feeds[-1]["n"] = rng.integers(-9, 9, size)
    for arrays in outputs_of(model, feeds):
        for name, array in arrays.items():
            if array.dtype == np.int64:
                assert all(INTERVALS.allows(claims[name], int(number)) for number in array.ravel()), name


# Ranges

RANGES = parsed("""(float[N] x, float[N] scale, int64 trips, bool choose) => (float[N] y, float[N] z) {
  half = Constant <value_float = 0.5> ()
  cond = Not (choose)
  relu = Relu (x)
  picked = If (cond) <
    then_branch = one () => (float[N] a) { a = Neg (relu) },
    else_branch = two () => (float[N] b) { b = Tanh (scale) }>
  y, kept = Loop (trips, choose, picked, relu) <
    body = step (int64 i, bool c, float[N] p, float[N] q) => (bool again, float[N] pn, float[N] qn) {
      again = Identity (c)
      halved = Mul (p, half)
      pn = Sub (halved, half)
      qn = Max (q, halved)
    }>
  root = Sqrt (kept)
  z = Div (root, scale)
}
""")


def test_ranges_hold_in_runs_and_are_shown(tmp_path: Path) -> None:
    example = of("value_ranges")
    ranges = example["Ranges"](x=FLOAT32.of(-2, 3), scale=FLOAT32.of(0.5, 4))
    assert ranges.label == "Ranges(x in [-2, 3], scale in [0.5, 4])"
    claims = absint.analyze(RANGES, with_=[ranges]).found_by(ranges)
    assert FLOAT32.text(claims["relu"]) == "[0, 3]"
    assert claims["kept"].lo == 0  # a root of it is no NaN, however many trips
    assert not claims["root"].nan
    rng = np.random.default_rng(0)
    feeds = []
    for trips in range(5):
        for choose in (True, False):
            x, scale = rng.uniform(-2, 3, 4).astype(np.float32), rng.uniform(0.5, 4, 4).astype(np.float32)
            feeds.append({"x": x, "scale": scale, "trips": np.array(trips), "choose": np.array(choose)})
    for arrays in outputs_of(RANGES, feeds):
        for name, array in arrays.items():
            for number in array.ravel():
                assert FLOAT32.allows(claims[name], float(number)), f"{name}: {claims[name]}, {number}"
    path = tmp_path / "ranges.onnx"
    onnx.save(RANGES, path)
    lines = printed("value_ranges", str(path), "x=-2..3", "scale=0.5..4")
    assert f"{'relu':24}[0, 3]" in lines


# Sharding

LAYERS = parsed("""(float[B, 8] x, float[8, 12] w1, float[12, 8] w2, int64 layers)
  => (float[B, 8] y, float[B, 12] h0, float[B, 8] p0) {
  yes = Constant <value_int = 1> ()
  go = Cast <to = 9> (yes)
  h0 = MatMul (x, w1)
  p0 = MatMul (h0, w2)
  y = Loop (layers, go, x) <
    body = layer (int64 i, bool c, float[B, 8] a) => (bool again, float[B, 8] b) {
      again = Identity (c)
      h = MatMul (a, w1)
      r = Relu (h)
      p = MatMul (r, w2)
      b = Tanh (p)
    }>
}
""")


def test_each_direction_of_sharding_needs_the_other() -> None:
    example = of("sharding")
    layout, wishes = example["Layout"](x=-1, w1=1), example["Wishes"]()
    for analyses in ([layout, wishes], [wishes, layout]):
        found = absint.analyze(LAYERS, with_=analyses).found_by(layout)
        axes = {name: axis.value for name, axis in found.items() if axis.value is not None}
        assert axes == {
            **{"x": -1, "w1": 1, "w2": 0, "h0": 1, "p0": -1, "y": -1},
            **{f"Loop#4/body/{name}": axis for name, axis in (("a", -1), ("h", 1), ("r", 1), ("p", -1), ("b", -1))},
        }
    alone = absint.analyze(LAYERS, with_=[layout]).found_by(layout)
    assert alone["w2"].value is alone["y"].value is None


def test_tensors_that_are_split_so_give_parts_of_the_whole() -> None:
    rng = np.random.default_rng(1)
    shapes = {"x": (3, 8), "w1": (8, 12), "w2": (12, 8)}
    feeds: dict[str, np.ndarray] = {name: rng.random(shape, np.float32) for name, shape in shapes.items()}
    axes = {"x": -1, "w1": 1, "w2": 0, "h0": 1}

    def part(name: str, array: np.ndarray, device: int) -> np.ndarray:
        return array if axes.get(name, -1) == -1 else np.split(array, 2, axes[name])[device]

    (whole,) = outputs_of(LAYERS, [{**feeds, "layers": np.array(0)}])
    model = onnx.ModelProto()
    model.CopyFrom(LAYERS)
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.ClearField("shape")
    split = [{name: part(name, array, device) for name, array in feeds.items()} for device in (0, 1)]
    found = list(outputs_of(model, [{**one, "layers": np.array(0)} for one in split]))
    for device, arrays in enumerate(found):
        np.testing.assert_allclose(arrays["h0"], part("h0", whole["h0"], device), rtol=1e-5)
    np.testing.assert_allclose(found[0]["p0"] + found[1]["p0"], whole["p0"], rtol=1e-5)


# Zones


def test_zones_hold_whenever_the_program_gets_there() -> None:
    example = of("zones")
    graph, program, zones = example["GRAPH"], example["PROGRAM"], example["Differences"]()
    found = absint.fixpoint(graph, zones, entries={"start": zones.lattice.top})
    chosen = random.Random(0)
    visited = 0
    for _ in range(200):
        state: dict[str, int] = {"0": 0, "n": 0, "i": 0, "j": 0}
        known, point = {"0"}, "start"
        while graph[point] and visited < 20_000:
            visited += 1
            ways = [
                (target, after) for target in graph[point] if (after := walked(program[point, target], state, chosen))
            ]
            if not ways:
                break
            target, after = chosen.choice(ways)
            known |= {a for kind, a, _, _ in program[point, target] if kind == "="}
            state, point = after, target
            values = {(a, b): state[a] - state[b] for a in known for b in known}
            for pair, interval in found.before[point].items():
                assert set(pair) <= known
                assert values[pair] in interval, f"{point}: {pair} in {interval}, found {values[pair]}"
    assert visited > 1000
    assert printed("zones")[3] == "end    i - n in [0, 0]"


def walked(actions: list[tuple[str, str, str, int]], state: Mapping[str, int], chosen: random.Random) -> dict[str, int]:
    """The state after the actions; empty if a comparison does not hold."""
    after = dict(state)
    for kind, a, b, c in actions:
        if kind == "<=":
            if after[a] - after[b] > c:
                return {}
        else:
            after[a] = chosen.randint(-2, 4) if b == "?" else after[b] + c
    return after


# Scales

SCALES = str(EXAMPLES / "quantised_scales.py")
GIVEN = "float s = {0.1}, float t = {0.2}, uint8 z = {128}, uint8 o = {0}, int8 n = {0}, float[4] each = {1, 2, 3, 4}"
MISTAKES = {
    "other scale": ("q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, t, z)", "scales-differ"),
    "other zero": ("q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, o)", "scales-differ"),
    "zero left out": ("q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s)", "scales-differ"),
    "other type": (
        "q = QuantizeLinear (x, s, o) i = Cast <to = 3> (q) y = DequantizeLinear (i, s, n)",
        "scales-differ",
    ),
    "after moves": (
        """q = QuantizeLinear (x, s, z) p = Transpose <perm = [1, 0]> (q) two = Constant <value_ints = [4, -1]> ()
        r = Reshape (p, two) y = DequantizeLinear (r, t, z)""",
        "scales-differ",
    ),
    "concat": (
        "q = QuantizeLinear (x, s, z) r = QuantizeLinear (x, t, z) c = Concat <axis = 0> (q, r) y = Identity (c)",
        "scales-meet",
    ),
    "add": ("q = QuantizeLinear (x, s, z) r = QuantizeLinear (x, s, o) y = Add (q, r)", "scales-meet"),
    "branches": (
        """q = QuantizeLinear (x, s, z)
        w = If (fine) <then_branch = one () => (u) { u = Identity (q) },
                       else_branch = two () => (v) { v = QuantizeLinear (x, t, z) }>
        y = DequantizeLinear (w, s, z)""",
        "scales-meet",
    ),
    "loop": (
        """q = QuantizeLinear (x, s, z)
        y = Loop (count, , q) <body = step (int64 i, bool go, uint8[N, 4] p) => (bool again, uint8[N, 4] r) {
            again = Identity (go) f = DequantizeLinear (p, s, z) g = Relu (f) r = QuantizeLinear (g, t, z) }>""",
        "scales-meet",
    ),
}
FINE = {
    "pair": "q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z)",
    "default": "q = QuantizeLinear (x, s) y = DequantizeLinear (q, s, o)",
    "each": "q = QuantizeLinear <axis = 1> (x, each) y = DequantizeLinear <axis = 1> (q, each)",
    "concat": """q = QuantizeLinear (x, s, z) r = QuantizeLinear (x, s, z) c = Concat <axis = 0> (q, r)
        y = DequantizeLinear (c, s, z)""",
    "again": "q = QuantizeLinear (x, s, z) p = DequantizeLinear (q, s, z) y = QuantizeLinear (p, t, z)",
    "given": "q = QuantizeLinear (x, scale, z) y = DequantizeLinear (q, s, z)",
    "sum": "q = QuantizeLinear (x, s, z) r = Add (q, q) y = DequantizeLinear (r, s, o)",
}


def reported(text: str) -> list[absint.Diagnostic]:
    model = parsed(f"(float[N, 4] x, float scale, bool fine, int64 count) => (y) <{GIVEN}> {{ {text} }}", 21)
    result = absint.analyze(model, with_=[SCALES])
    assert result.can_run
    return [item for item in result.diagnostics if item.by]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_of_scales_are_found(name: str) -> None:
    text, code = MISTAKES[name]
    assert [item.code for item in reported(text)] == [code]


@pytest.mark.parametrize("name", FINE)
def test_right_scales_are_no_finding(name: str) -> None:
    assert reported(FINE[name]) == []


def test_models_that_onnxruntime_quantises_have_right_scales(tmp_path: Path) -> None:
    """And a wrong scale in such a model is found at the node that reads it."""
    rng = np.random.default_rng(0)
    weights = [(name, rng.random((8, 8), np.float32)) for name in ("v", "w")]
    model = parsed("""(float[N, 8] x) => (float[M, 8] y) {
        a = MatMul (x, v) b = Relu (a) c = MatMul (b, w) d = Add (c, b) e = Concat <axis = 0> (d, c) y = Softmax (e)
    }""")
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights)
    onnx.save(model, tmp_path / "plain.onnx")

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [{"x": rng.random((4, 8), np.float32)} for _ in range(3)]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop() if self.left else None

    quantize_static(tmp_path / "plain.onnx", tmp_path / "quantised.onnx", Reader())
    found = absint.lint(tmp_path / "quantised.onnx", analyses=[SCALES], jobs=1)
    assert {item.code for item in found.findings} & {"scales-differ", "scales-meet"} == set()
    quantised = onnx.load(tmp_path / "quantised.onnx")
    quantised.graph.initializer.append(onnx.numpy_helper.from_array(np.array(7, np.float32), "wrong"))
    written = {node.output[0] for node in quantised.graph.node if node.op_type == "QuantizeLinear"}
    readers = [node for node in quantised.graph.node if node.op_type == "DequantizeLinear" and node.input[0] in written]
    assert len(readers) > 3
    for node in readers:
        before, node.input[1] = node.input[1], "wrong"
        (item,) = [item for item in absint.analyze(quantised, with_=[SCALES]).diagnostics if item.by]
        assert item.code == "scales-differ"
        assert node.name in item.where
        node.input[1] = before
