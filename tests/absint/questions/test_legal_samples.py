"""Legal sizes to try a model at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import absint
from absint.cli import run
from absint.questions.sizes.contracts import LegalSamples
from absint.runs.run import feeds_for, run as executed
from tests.absint.commands.cli_models import FLOAT, node, save, value
from tests.absint.questions.test_nearest import analysed, ints, model
from tests.models import parsed


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["halved", "cached", "product"])
def test_samples_are_legal_distinct_and_spread(name: str) -> None:
    result = analysed(name)
    found = result.samples(20)
    assert len(found) == 20
    assert not found.complete
    assert len({tuple(sizes.values()) for sizes in found}) == 20
    assert all(result.check(sizes) for sizes in found)
    assert result.samples(20) == found
    assert result.samples(7).sizes == found.sizes[:7]
    for symbol in result.symbols:
        numbers = {sizes[symbol] for sizes in found}
        assert max(numbers) >= 24
        assert min(numbers) <= 6
        assert len(numbers) >= 6


def test_samples_run() -> None:
    result = analysed("halved")
    for sizes in result.samples(3):
        assert executed(result, feeds_for(result, sizes))["y"].shape[2:] == (sizes["H"], sizes["W"])  # type: ignore[union-attr]


def test_ends_of_ranges_and_remainders() -> None:
    result = absint.analyze(model("halved"), assume=["H % 6 == 4", "H >= 11", "W >= 20", "W <= 50"])
    found = result.samples(16)
    heights, widths = ({sizes[name] for sizes in found} for name in "HW")
    assert {16, 22} <= heights
    assert {20, 22, 50, 48} <= widths


def test_all_sizes_are_known_to_be_found() -> None:
    result = absint.analyze(model("halved"), assume=["H == 4", "W >= 4", "W <= 9"])
    found = result.samples(10)
    assert {sizes["W"] for sizes in found} == {4, 6, 8}
    assert found.complete


def test_a_size_of_0_comes_last() -> None:
    save(
        "zero.onnx",
        [node("Reshape", ["x", "shape"], ["y"], name="reshape")],
        [value("x", FLOAT, ["A", 7])],
        [value("y", FLOAT, None)],
        [ints("shape", 0, 8)],
    )
    found = absint.analyze("zero.onnx").samples(2)
    assert found.sizes == ({"A": 0},) or (found.sizes == () and found.complete)
    relu = [node("Relu", ["x"], ["y"])], [value("x", FLOAT, ["N"])], [value("y", FLOAT, None)]
    save("free.onnx", *relu)
    assert all(sizes["N"] for sizes in absint.analyze("free.onnx").samples(30))


def test_models_without_legal_sizes_and_without_symbols() -> None:
    assert str(analysed("never").samples(3)) == "no sizes are legal"
    assert analysed("never").samples(3).complete
    assert analysed("fixed").samples(3).sizes == ({},)


def test_limits() -> None:
    found = analysed("product").samples(5, seconds=1e-9)
    assert found.sizes == ()
    assert str(found) == "no legal sizes were found\n(the time limit of 1e-09 s was reached)"
    with pytest.raises(absint.UsageError, match="0 samples: expected a number from 1 on"):
        analysed("product").samples(0)


def test_text_and_json() -> None:
    found = LegalSamples(({"N": 1, "M": 2}, {"N": 3, "M": 4}))
    assert str(found) == "N=1, M=2\nN=3, M=4"
    assert repr(found) == "<LegalSamples: N=1, M=2; N=3, M=4>"
    assert json.loads(found.to_json()) == {
        "schema": "absint.samples/1",
        "absint": absint.__version__,
        "sizes": [{"N": 1, "M": 2}, {"N": 3, "M": 4}],
        "complete": False,
        "reason": "",
    }


def test_contracts_have_samples(capsys: pytest.CaptureFixture[str]) -> None:
    model("halved")
    assert analysed("halved").contract().samples == ()
    assert analysed("halved").contract(samples=2).samples == analysed("halved").samples(2).sizes
    assert run(["contract", "halved.onnx", "--samples", "2"]) == 0
    assert capsys.readouterr().out == (
        "halved.onnx: legal sizes meet 4 clauses over H, W\n"
        "  H % 2 == 0  (Concat cat: the inputs must agree on axis 2)\n"
        "  W % 2 == 0  (Concat cat: the inputs must agree on axis 3)\n"
        "  H >= 2  (Concat cat: the inputs must agree on axis 2)\n"
        "  W >= 2  (Concat cat: the inputs must agree on axis 3)\n"
        "\n"
        "taken for granted: 2 premises (H <= 33554433; W <= 33554433)\n"
        "(--all lists them)\n"
        "\n"
        "legal sizes to try\n"
        "  H=2, W=2\n"
        "  H=2, W=4\n"
    )
    assert run(["contract", "halved.onnx", "--samples", "2", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == [{"H": 2, "W": 2}, {"H": 2, "W": 4}]
    assert run(["contract", "halved.onnx", "--samples", "-2"]) == 2


def test_fewer_samples_than_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    model("halved")
    assert run(["contract", "halved.onnx", "--samples", "9", "--assume", "H == 4 and W >= 4 and W <= 9"]) == 0
    assert capsys.readouterr().out.endswith(
        "legal sizes to try\n  H=4, W=4\n  H=4, W=8\n  H=4, W=6\n(3 legal sizes were found: no other sizes are legal)\n"
    )
    assert run(["contract", "halved.onnx", "--samples", "9", "--max-seconds", "60", "--seconds", "0.000001"]) == 3
    assert "(0 legal sizes were found: the time limit of 1e-06 s was reached)" in capsys.readouterr().out


def test_samples_go_with_clauses_alone(capsys: pytest.CaptureFixture[str]) -> None:
    model("halved")
    assert run(["contract", "halved.onnx", "--samples", "2", "--role", "all"]) == 2
    assert capsys.readouterr().err == (
        "absint: error: --samples adds sizes to the clauses: leave out --shapes, --role and other formats\n"
    )


def test_the_only_legal_sizes_may_have_a_0() -> None:
    """2 + 0 rows are even, 2 + 1 and 3 + 0 are not."""
    joined = parsed("(float[N, 2] x, float[M, 2] z) => (float[a, b] y) <int64[2] s = {4, -1}> "
                    "{ c = Concat<axis = 0>(x, z)  y = Reshape(c, s) }")  # fmt: skip
    found = absint.analyze(joined, assume=["N + M <= 3 and N >= 2"]).samples(3)
    assert found.sizes == ({"N": 2, "M": 0},)
    assert found.complete


def test_a_contract_that_no_size_meets_says_so() -> None:
    relu = parsed("(float[N] x, float[M] z) => (float[a] y) { y = Relu(x) }")
    contract = absint.analyze(relu, assume=["N*M == 7", "N >= 2", "N <= 6"]).contract()
    assert contract.possible is False
    assert str(contract) == "no size is legal"
    assert repr(contract) == "<Contract: no size is legal>"


def test_a_contract_that_no_size_meets_names_the_node() -> None:
    contract = absint.analyze(
        parsed("(float[2, 3] x, float[4, 5] z) => (float[a, b] y) { y = MatMul(x, z) }")
    ).contract()
    assert str(contract) == "false  (MatMul #0)"
    assert repr(contract) == "<Contract: no size is legal>"
