"""Sizes that a caller gives: of symbols, as ranges, and as shapes of inputs."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import absint
from absint.cli import run
from absint.shapes.sizes import Sizes, spelled
from tests.models import floats, model as model_of, node, parsed


def model() -> onnx.ModelProto:
    """Dims that are symbols, numbers and expressions; an input with elements."""
    found = parsed(
        "(float[N, 3, H, W] x, int64[N, T] mask, float[T] twice, "
        "int64[2] k, float[T] sum, float[S] s) => (float y) {y = Relu(x)}"
    )
    for at, text in ((1, "past + seq"), (2, "2*H"), (4, "S + H")):
        found.graph.input[at].type.tensor_type.shape.dim[-1].dim_param = text
    return found


RESULT = absint.analyze(model())
REST = {"past": 1, "seq": 2, "S": 1}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"x": [2, 3, 4, 5], **REST}, {"N": 2, "H": 4, "W": 5, **REST}),
        ({"x": [2, 3, None, 5], "twice": [8], **REST}, {"N": 2, "H": 4, "W": 5, **REST}),
        ({"sum": [9], "twice": [8], "N": 1, "W": 1, "mask": [1, 7], "seq": 3},
         {"N": 1, "H": 4, "W": 1, "past": 4, "seq": 3, "S": 5}),
        ({"x": [2, 3, 4, 5], "N": 2, "mask": [2, 3], "past": 3, "S": 0, "k_1": -1},
         {"N": 2, "H": 4, "W": 5, "past": 3, "seq": 0, "S": 0, "k_1": -1}),
    ],
)  # fmt: skip
def test_shapes_bind_symbols(given: Sizes, expected: dict[str, int]) -> None:
    assert RESULT.check(given).sizes == expected
    fixed = absint.analyze(model(), bind=given)
    assert {name: fixed.symbol(name).hi for name in expected if name != "k_1"} == {
        name: size for name, size in expected.items() if name != "k_1"
    }


def test_every_shape_of_small_sizes_binds_what_a_run_shows() -> None:
    for n, h, past, seq in itertools.product((0, 1, 2, 7), repeat=4):
        shapes: Sizes = {"x": [n, 3, h, 5], "mask": [n, past + seq], "twice": [2 * h], "sum": [h + 1], "seq": seq}
        assert RESULT.check(shapes).sizes == {"N": n, "H": h, "W": 5, "past": past, "seq": seq, "S": 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mask": [2, 8], "seq": 9}, "mask=2x8: past + seq is never 8 with seq=9"),
        ({"x": [2, 3, 4]}, "x=2x3x4: 'x' has 4 axes, [N, 3, H, W]: give a size for each, as x=1x3x1x1"),
        ({"x": 3}, "x=3: 'x' has 4 axes, [N, 3, H, W]: give a size for each, as x=1x3x1x1"),
        ({"x": [2, 4, 4, 4]}, "x=2x4x4x4: axis 1 of 'x' is 3, not 4"),
        ({"x": [2, 3, 4, 4], "N": 3}, "N=3: gives N the size 3, but x=2x3x4x4 gives it the size 2"),
        ({"x": [2, 3, 4, 4], "mask": [1, 2]}, "mask=1x2: gives N the size 1, but x=2x3x4x4 gives it the size 2"),
        ({"twice": [7]}, "twice=7: 2*H is never 7"),
        ({"zz": [1, 2]}, "zz=1x2: the model has no input 'zz'; the inputs are: x, mask, twice, k, sum, s"),
        ({"mas": [1, 2]}, "mas=1x2: the model has no input 'mas'; did you mean 'mask'?"),
        ({"N": [1, 2]}, "N=1x2: 'N' is no input with a shape: give one size or range"),
        ({"N": (1, 3)}, "N=1..3: a range, where one size is asked for"),
        ({"N": "a"}, "N='a': a size is an integer"),
        ({"N": True}, "N=True: a size is an integer"),
        ({"x": [-1, 3, 2, 2]}, "x=-1x3x2x2: a size cannot be negative"),
        ({"mask": [1, (1, 4)]}, "mask=1x1..4: axis 1 of 'mask' is past + seq: give ranges of past, seq instead"),
        ({"k": [3]}, "k=3: axis 0 of 'k' is 2, not 3"),
        ({"x": [1, 3, 2, 2], "mask": [1, 8]}, "no size for 'past', 'seq', 'S': every symbol of the inputs needs one"),
    ],
)  # fmt: skip
def test_bad_sizes_are_one_clear_line(given: Sizes, message: str) -> None:
    with pytest.raises(absint.UsageError) as caught:
        RESULT.check(given)
    assert str(caught.value) == message


def test_ranges_of_symbols_and_of_axes() -> None:
    top = 2**31 - 1
    free = {"past": (0, top), "seq": (0, top), "S": (0, top)}
    assert RESULT.check_range({"x": [2, 3, 4, (1, 8)]}).box == {"N": (2, 2), "H": (4, 4), "W": (1, 8), **free}
    assert RESULT.check_range({"N": (None, 4), "H": (3, None), "W": 2}).box == {
        "N": (0, 4), "H": (3, top), "W": (2, 2), **free
    }  # fmt: skip
    with pytest.raises(absint.UsageError, match="give sizes of H, S"):
        RESULT.check_range({"sum": [9]})
    bounded = absint.analyze(model(), bind={"N": (2, 8), "seq": (None, 5)})
    assert [str(relation) for relation in bounded.assumptions] == ["N >= 2", "N <= 8", "seq <= 5"]


def test_a_shape_without_symbols_of_its_own_is_an_assumption() -> None:
    found = absint.analyze(model(), bind={"mask": [2, 8]})
    assert found.prove("past <= 8").verdict is absint.Verdict.PROVED


def test_spelling() -> None:
    assert spelled("batch", 4) == "batch=4"
    assert spelled("seq", (1, None)) == "seq=1.."
    assert spelled("image", [1, 3, None, (1, 64)]) == "image=1x3x?x1..64"


RESHAPE = """<ir_version: 9, opset_import: ["": 18]>
g (float[N, 6] x, int64[2] to) => (float[a, b] y) { y = Reshape(x, to) }"""


@pytest.mark.parametrize(
    ("argument", "code"), [("to=4,-1", 0), ("to=5,-1", 1), ("to=4,3..3", 0), ("to=4,", 2), ("n=1,2", 2)]
)
def test_elements_of_an_input_in_one_argument(
    argument: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(RESHAPE), path)
    assert run(["check", str(path), "N=2", argument]) == code
    shown = capsys.readouterr()
    if code == 0:
        assert shown.out.startswith(("legal at N=2, to_0=4, to_1=-1", "legal for N=2, to_0=4, to_1=3"))
    elif code == 2:
        assert shown.err.startswith("absint: error: ")
        assert shown.err.count("\n") == 1


def test_the_numbers_of_other_libraries_are_sizes() -> None:
    found = absint.analyze(model_of([node("Concat", ["x", "x"], ["y"], axis=0)], [floats("x", "N", "M")], ["y"]))
    for kind in (np.int64, np.int32, np.uint8):
        sizes = {"N": kind(2), "M": kind(3)}
        assert found.check(sizes)
        assert found.check({"x": [kind(2), kind(3)]})
        assert found.check_range({"N": (kind(1), kind(2))})
        assert found.contract().allows(sizes)
        assert found.shapes["y"].evaluate(sizes) == [4, 3]
        assert found.cost().evaluate(sizes) == found.cost().evaluate({"N": 2, "M": 3})
        assert absint.analyze(found.model, bind=sizes).shapes["y"] == [4, 3]
        assert found.profile({"N": (kind(1), kind(2)), "M": kind(3)})


def test_sizes_of_other_libraries_do_not_wrap() -> None:
    found = absint.analyze(
        model_of([node("Reshape", ["x", "s"], ["y"])], [floats("x", "N", "M")], ["y"], s=np.array([-1]))
    )
    large = np.int32(70_000)
    assert found.shapes["y"].evaluate({"N": large, "M": large}) == [70_000**2]


def test_what_is_no_integer_is_no_size_that_a_contract_forbids() -> None:
    contract = absint.analyze(model_of([node("Relu", ["x"], ["y"])], [floats("x", "N")], ["y"])).contract()
    for size in (2.0, "2", None, np.float32(2)):
        with pytest.raises(TypeError, match=r"^N=.*: a size is an integer$"):
            contract.allows({"N": size})  # type: ignore[dict-item]
