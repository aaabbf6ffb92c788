"""What is known of remainders, by an assumption or a requirement, divides the sizes of values."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

import absint
from absint.lattices.limits import without_shortcuts
from absint.questions.proofs.proof import Verdict
from tests.absint.questions.queries.execution import Runs
from tests.absint.questions.queries.graphs import model
from tests.models import floats, node


def halved(steps: int) -> ModelProto:
    """Windows of stride 2 after each other."""
    names = ["x", *(f"y{step}" for step in range(steps))]
    nodes = [
        node("MaxPool", [names[step]], [names[step + 1]], kernel_shape=[3], strides=[2], pads=[1, 1])
        for step in range(steps)
    ]
    return model(nodes, [floats("x", "B", 1, "L")], names[1:])


def floored(*rows: int) -> ModelProto:
    """`x` as rows of these lengths, and vectors as long as `x` by way of divisions by 8 and 4."""
    nodes = [node("Reshape", ["x", f"rows{row}"], [f"r{row}"]) for row in rows]
    nodes += [node("Shape", ["x"], ["n"])]
    for step in (8, 4):
        nodes += [
            node("Div", ["n", f"s{step}"], [f"q{step}"]),
            node("Mul", [f"q{step}", f"s{step}"], [f"d{step}"]),
            node("Expand", ["one", f"d{step}"], [f"y{step}"]),
        ]
    constants = {f"s{step}": np.array([step]) for step in (8, 4)} | {f"rows{row}": np.array([-1, row]) for row in rows}
    outputs = [f"r{row}" for row in rows] + ["y8", "y4"]
    return model(nodes, [floats("x", "N")], outputs, one=np.zeros(1, np.float32), **constants)


def test_an_assumed_remainder_divides_windows() -> None:
    pooled = halved(3)
    known = absint.analyze(pooled, assume=["L % 8 == 0", "L >= 1"])
    assert [str(known.shapes[f"y{i}"][2]) for i in range(3)] == ["L//2", "L//4", "L//8"]
    odd = absint.analyze(pooled, assume=["L % 8 == 3", "L >= 1"])
    runs = Runs(pooled)
    for length in (3, 11, 19, 8, 16, 64):
        found = known if length % 8 == 0 else odd
        made = runs.at({"B": 2, "L": length})
        assert made
        for run in made:
            for name in ("y0", "y1", "y2"):
                assert run.shapes[name] == (2, 1, found.shapes[name][2].evaluate({"L": length}))


@pytest.mark.parametrize("rows", [(8,), (4, 8), (2, 4, 8), (16,)])
def test_a_required_remainder_divides_sizes_elsewhere(rows: tuple[int, ...]) -> None:
    runs = Runs(floored(*rows))
    result = runs.result
    assert str(result.shapes["y8"]) == str(result.shapes["y4"]) == "[N]"
    result.verify()
    assert [str(clause.relation) for clause in result.contract().clauses] == [f"N % {max(rows)} == 0"]
    for size in (0, 1, 4, 8, 12, 16, 24, 48, 49):
        assert bool(runs.at({"N": size})) == (size % max(rows) == 0)
        for run in runs.at({"N": size}):
            assert run.shapes["y8"] == run.shapes["y4"] == (size,)


def test_a_proof_names_the_node_behind_the_remainder() -> None:
    proof = absint.analyze(floored(8)).prove("y4[0] == N")
    assert proof.verdict is Verdict.PROVED
    assert {str(c.relation) for c in proof.because} == {"N % 8 == 0"}


def test_a_net_that_halves_an_axis_and_returns_to_it() -> None:
    """As a U-Net does."""
    down = [node("MaxPool", ["x"], ["h"], kernel_shape=[3], strides=[2], pads=[1, 1])]
    down += [node("MaxPool", ["h"], ["q"], kernel_shape=[3], strides=[2], pads=[1, 1])]
    up = [node("Resize", ["q", "", "twice"], ["u"]), node("Concat", ["u", "h"], ["s"], axis=1)]
    up += [node("Resize", ["s", "", "twice"], ["v"]), node("Concat", ["v", "x"], ["y"], axis=1)]
    net = model([*down, *up], [floats("x", 1, 1, "L")], ["h", "q", "y"], twice=np.array([1, 1, 2], np.float32))
    result = absint.analyze(net)
    assert result.last.analysis.facts.remainders
    with without_shortcuts():
        again = absint.analyze(net)
    assert [str(result.shapes[name]) for name in ("h", "q", "y")] == ["[1, 1, L//2]", "[1, 1, L//4]", "[1, 3, L]"]
    assert result.shapes == again.shapes
    assert result.contract() == again.contract()
    runs = Runs(net)
    for size in (1, 2, 3, 4, 8, 10, 12):
        made = runs.at({"L": size})
        assert bool(made) == (size % 4 == 0)
        assert all(run.shapes["y"] == (1, 3, size) for run in made)


def test_a_smaller_remainder_says_less() -> None:
    result = absint.analyze(floored(4))
    assert (str(result.shapes["y8"]), str(result.shapes["y4"])) == ("[8*(N//8)]", "[N]")
