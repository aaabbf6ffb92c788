"""The shipped models run, and the analysis of each agrees with the run."""

import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import onnx
import onnxruntime
import pytest

import absint
from tests.pages import tour as tour_of

EXAMPLES = Path(__file__).parents[1] / "examples"
RUNS = [
    ("tiny_decoder.onnx", {"batch": 1, "seq": 1, "past": 0}),
    ("tiny_decoder.onnx", {"batch": 2, "seq": 4, "past": 6}),
    ("tiny_decoder.onnx", {"batch": 0, "seq": 3, "past": 5}),
    ("tiny_detector.onnx", {"batch": 1, "height": 1, "width": 1}),
    ("tiny_detector.onnx", {"batch": 2, "height": 33, "width": 70}),
]
DTYPES = {"tensor(int64)": np.int64, "tensor(float)": np.float32}


def sizes_of(dims: list[int | str], binding: dict[str, int]) -> list[int]:
    return [dim if isinstance(dim, int) else sum(binding[part] for part in dim.split(" + ")) for dim in dims]


def feeds_of(session: onnxruntime.InferenceSession, binding: dict[str, int], number: int) -> dict[str, np.ndarray]:
    """Data for the inputs, different for each number."""
    return {i.name: np.full(sizes_of(i.shape, binding), number, DTYPES[i.type]) for i in session.get_inputs()}


@pytest.mark.parametrize(("name", "binding"), RUNS)
def test_claims_hold_in_a_run(name: str, binding: dict[str, int]) -> None:
    session = onnxruntime.InferenceSession(EXAMPLES / name, providers=["CPUExecutionProvider"])
    feed = feeds_of(session, binding, 1)
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True))

    shapes = absint.analyze(EXAMPLES / name).shapes
    for output, array in outputs.items():
        shape = shapes[output]
        assert len(shape) == array.ndim
        for dim, size in zip(shape, array.shape, strict=True):
            if not dim.is_unknown and dim.free_symbols <= binding.keys():
                assert dim.evaluate(binding) == size, f"{output}: {dim} at {binding}"


@pytest.mark.parametrize(
    ("name", "binding", "line"),
    [
        ("tiny_decoder.onnx", RUNS[1][1], "present.0.value: input_ids, past_key_values.0.value"),
        ("tiny_detector.onnx", RUNS[4][1], "boxes: image"),
    ],
)
def test_the_script_of_an_own_analysis_tells_what_a_run_shows(name: str, binding: dict[str, int], line: str) -> None:
    command = [sys.executable, str(EXAMPLES / "data_flow.py"), str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    lines = done.stdout.splitlines()
    assert line in lines
    told = {output: inputs.split(", ") for output, inputs in (line.split(": ") for line in lines[:-1])}

    session = onnxruntime.InferenceSession(EXAMPLES / name, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    assert list(told) == names
    feeds, others = feeds_of(session, binding, 1), feeds_of(session, binding, 0)
    before = session.run(None, feeds)
    for changed in feeds:
        after = session.run(None, feeds | {changed: others[changed]})
        moved = [n for n, x, y in zip(names, before, after, strict=True) if not np.array_equal(x, y)]
        assert [n for n in moved if changed not in told[n]] == []


@pytest.mark.parametrize("name", sorted({name for name, _ in RUNS}))
def test_models_are_small_valid_and_name_no_machine(name: str) -> None:
    data = (EXAMPLES / name).read_bytes()
    assert len(data) < 150_000
    onnx.checker.check_model(data, full_check=True)
    assert not any(word in data for word in (b"/home/", b"/root/", b"/tmp/", b"/usr/", b"/opt/", b"/Users/", b".py"))


@pytest.mark.parametrize(("name", "binding"), RUNS[1::3])
def test_the_script_prints_sizes(name: str, binding: dict[str, int]) -> None:
    sizes = [f"{symbol}={size}" for symbol, size in binding.items()]
    command = [sys.executable, str(EXAMPLES / "analyze_model.py"), str(EXAMPLES / name), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert ": rank unknown" not in done.stdout
    if name == "tiny_decoder.onnx":
        assert "in all: [2, 4, 64]" in done.stdout.replace("(", "[").replace(")", "]")


def test_the_optimiser_of_onnxscript_folds_what_the_shapes_decide(tmp_path: Path) -> None:
    source, target = EXAMPLES / "tiny_decoder.onnx", tmp_path / "out.onnx"
    command = [sys.executable, str(EXAMPLES / "onnxscript_optimizer.py"), str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    assert "logits: [batch,seq,64]" in done.stdout.splitlines()
    assert len(onnx.load(target).graph.node) < len(onnx.load(source).graph.node)
    before, after = (
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in (source, target)
    )
    feed = feeds_of(before, {"batch": 2, "seq": 4, "past": 6}, 1)
    for one, other in zip(before.run(None, feed), after.run(None, feed), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def tour() -> nbformat.NotebookNode:
    return tour_of.executed()


def test_the_tour_runs_and_its_outputs_are_those_that_are_stored(tour: nbformat.NotebookNode) -> None:
    stored = [cell for cell in tour_of.stored().cells if cell.cell_type == "code"]
    cells = [cell for cell in tour.cells if cell.cell_type == "code"]
    assert len(cells) == len(stored) >= 19
    for cell, before in zip(cells, stored, strict=True):
        assert cell.outputs == before.outputs, f"{cell.source}: `python -m tests.pages.tour` stores the outputs anew"
        assert cell.outputs


def test_the_tour_says_what_the_models_are(tour: nbformat.NotebookNode) -> None:
    shown = {cell.source: cell.outputs[-1] for cell in tour.cells if cell.cell_type == "code"}
    decoder = absint.analyze(EXAMPLES / "tiny_decoder.onnx")
    peaks = [decoder.memory().evaluate({"batch": 1, "seq": 1, "past": past}) for past in (0, 1024, 4096)]
    found = next(output for source, output in shown.items() if source.startswith("memory = "))
    assert found.data["text/plain"] == str(peaks)
    assert "past + seq &gt;= 1" not in shown["detector.contract()"].data["text/html"]
    assert "height &gt;= 1" in shown["detector.contract()"].data["text/html"]
    assert shown['decoder.prove("present.0.key[2] == past + seq")'].data["text/plain"].startswith("<Proof proved")
    assert "changed" in shown["changes"].data["text/html"]
