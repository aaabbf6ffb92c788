"""Assertions about models: when they hold, and what a failure says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

import absint
from absint.errors import UsageError
from absint.testing import assert_legal, assert_same_contract, assert_shapes
from tests.absint.jobs.auditing.models import model

SHAPES = model("(float[N, 4] x, float[M] y) => (z, w, v) {z = Concat<axis=0>(x, x) w = NonZero(x) v = Relu(y)}")
LENGTHS = model(
    """(float[batch, seq] x, float[1, 64] p) => (z) <int64[1] zero = {0}, int64[1] one = {1}> {
    n = Shape<start = 1>(x) s = Slice(p, zero, n, one) z = Add(x, s)}"""
)


@pytest.mark.parametrize(
    "shapes",
    [
        {"z": "[2*N, 4]", "w": "[2, n]", "v": "[M]"},
        {"z": "[ N + N , ? ]"},
        {"z": (None, 4), "w": [2, "n"]},
        {"z": "[rows, 4]", "w": "[2, n]"},
        {"x": "[N, 4]"},
        {"z": "[max(2*N, N), 4]"},
        {},
    ],
)
def test_shapes_that_hold(shapes: dict[str, str | Sequence[int | str | None]]) -> None:
    assert_shapes(SHAPES, shapes)
    assert_shapes(absint.analyze(SHAPES), shapes)


def test_a_dim_that_is_another_one() -> None:
    with pytest.raises(AssertionError) as error:
        assert_shapes(SHAPES, {"z": "[N, 4]"})
    lines = str(error.value).splitlines()
    assert lines[:2] == ["the model: not the expected shapes", "z: expected [N, 4], found [2*N, 4]"]
    assert lines[2].startswith("  z[0] == N is false, as at N=")
    assert "        computed by Concat #0: 2*a" in lines


@pytest.mark.parametrize(
    ("shapes", "line"),
    [
        ({"z": "[2*N]"}, "z: expected [2*N], found [2*N, 4]: another rank"),
        ({"z": "[]"}, "z: expected [], found [2*N, 4]: another rank"),
        ({"z": "[n, 4]", "v": "[n]"}, "  v[0] == z[0] is false, as at N=2, M=3"),
        ({"w": "[2, N]"}, "  w[1] == N is not proved: not entailed at N=2, M=1 (it rests on data-dependent sizes)"),
    ],
)
def test_what_a_failure_says(shapes: dict[str, str], line: str) -> None:
    with pytest.raises(AssertionError) as error:
        assert_shapes(SHAPES, shapes)
    start = line.partition(" at N=")[0]
    assert any(found.startswith(start) for found in str(error.value).splitlines()), str(error.value)


def test_values_that_are_not_known() -> None:
    opaque = model("(float[N] x) => (z, s) {z = my.Nothing(x) s = SequenceConstruct(x)}")
    with pytest.raises(AssertionError, match=r"z: expected \[N\], but it is no tensor whose type is known"):
        assert_shapes(opaque, {"z": "[N]"})
    unranked = model("(float[N] x, int64[k] t) => (z) {z = Reshape(x, t)}")
    with pytest.raises(AssertionError, match=r"z: expected \[N\], but its rank is unknown"):
        assert_shapes(unranked, {"z": "[N]"})
    with pytest.raises(UsageError, match="no value 'q'"):
        assert_shapes(SHAPES, {"q": "[N]"})
    with pytest.raises(UsageError, match=r"the shape of 'z': expected a text as \[batch, seq, 768\], found 'N'"):
        assert_shapes(SHAPES, {"z": "N"})


def test_names_with_any_characters(tmp_path: Path) -> None:
    odd = model("(float[N] x) => (z) {z = Relu(x)}")
    odd.graph.node[0].output[0] = odd.graph.output[0].name = "a,b(c)[0]"
    assert_shapes(odd, {"a,b(c)[0]": "[N]"})
    with pytest.raises(AssertionError, match="is false"):
        assert_shapes(odd, {"a,b(c)[0]": "[N + 1]"})


def test_a_long_derivation_is_cut() -> None:
    nodes = " ".join(f"a{n} = Concat<axis = 0>(a{n - 1}, x)" for n in range(1, 30))
    deep = model(f"(float[N] x) => (a29) {{a0 = Relu(x) {nodes}}}")
    with pytest.raises(AssertionError) as error:
        assert_shapes(deep, {"a29": "[N]"})
    assert str(error.value).splitlines()[-1].endswith("more lines: absint explain the model 'a29[0]'")


def test_legal_sizes() -> None:
    assert_legal(LENGTHS, batch=1, seq=64)
    assert_legal(LENGTHS, batch=1, seq=(1, 64))
    assert_legal(LENGTHS, {"batch": (0, 7)}, seq=5)
    assert_legal(LENGTHS, {"x": [2, (1, 64)]})
    with pytest.raises(UsageError, match="no input has a symbol 'sq'; did you mean 'seq'"):
        assert_legal(LENGTHS, sq=1)


@pytest.mark.parametrize("sizes", [{"batch": 1, "seq": 65}, {"batch": 1, "seq": (1, 512)}, {}, {"seq": (60, None)}])
def test_an_illegal_size(sizes: dict[str, int | tuple[int, int]]) -> None:
    with pytest.raises(AssertionError) as error:
        assert_legal(LENGTHS, sizes)
    first, clause, nearest = str(error.value).splitlines()
    assert first.startswith("the model: illegal ")
    assert "Add #2: dims of axis -1 must broadcast" in first
    assert clause.startswith("  the contract needs seq <= 64")
    assert "(Add #2)" in clause
    assert nearest == "  nearest legal: seq=64 (others unchanged)"


def test_sizes_that_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    from absint.questions.sizes.outcomes import Outcome, RangeCheck

    monkeypatch.setattr(
        absint.Result, "check_range", lambda *_: RangeCheck({"N": (1, 2)}, Outcome.UNDECIDED, reason="out of time")
    )
    with pytest.raises(AssertionError, match=r"the model: not decided: undecided for N=1\.\.2 \(out of time\)"):
        assert_legal(SHAPES, N=(1, 2))


def test_nodes_that_may_fail_on_data_are_legal() -> None:
    assert_legal(model("(float[N] x, int64[K] i) => (z) {z = Gather(x, i)}"), N=(1, 9), K=2)


RENAMED = model(
    "(float[R, 4] x, float[C] y) => (z, w, v) {z = Concat<axis=0>(x, x) w = NonZero(x) a = Abs(y) v = Neg(a)}"
)


def test_the_same_contract(tmp_path: Path) -> None:
    onnx.save(RENAMED, tmp_path / "b.onnx")
    assert_same_contract(SHAPES, tmp_path / "b.onnx")
    assert_same_contract(absint.analyze(SHAPES), SHAPES)


def test_another_contract() -> None:
    one = model("(float[N] x, float[M] y) => (z) {z = Relu(x)}")
    two = model("(float[N] x, float[M] y) => (z) {a = MatMul(x, y) z = Relu(x)}")
    with pytest.raises(AssertionError) as error:
        assert_same_contract(one, two)
    text = str(error.value)
    assert text.startswith("not the same contract\n")
    assert "changed: the contract narrowed" in text
    assert "B alone needs M == N" in text
    with pytest.raises(AssertionError):
        assert_same_contract(one, two, wider=True)
    with pytest.raises(AssertionError):
        assert_same_contract(two, one)
    assert_same_contract(two, one, wider=True)


def test_another_shape_of_an_output() -> None:
    one = model("(float[N] x) => (z) {z = Relu(x)}")
    two = model("(float[N] x) => (z) {z = Concat<axis = 0>(x, x)}")
    with pytest.raises(AssertionError, match="output z changed"):
        assert_same_contract(one, two)
    more = model("(float[N] x) => (z, w) {z = Relu(x) w = Abs(x)}")
    with pytest.raises(AssertionError, match="not the same contract"):
        assert_same_contract(one, more)
    assert_same_contract(one, more, wider=True)
