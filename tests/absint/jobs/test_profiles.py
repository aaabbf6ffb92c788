"""Optimisation profiles: proved boxes, legal corners, and the texts that tools read."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from onnx import helper, numpy_helper

import absint
from absint.cli import run
from absint.jobs.profiles.making import WantedSizes, inside, least_and_greatest
from absint.jobs.profiles.profile import TOOLS, InputProfile, Profile, Sizes3
from absint.lattices.limits import Limits
from absint.lattices.terms.expr import Expr, symbol
from absint.lattices.text import parse
from absint.questions.sizes.outcomes import Outcome, RangeCheck
from absint.solver.constraints import ConstraintSet
from absint.solver.prove import Prover
from tests.absint.commands.cli_models import FLOAT, INT64, node, save, value
from tests.absint.questions.test_nearest import analysed, model
from tests.effort import examples


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def resized(tmp: str) -> absint.Result:
    """Rows and columns are elements of an input; they have to be 64 at most in total."""
    save(
        f"{tmp}.onnx",
        [node("ConstantOfShape", ["size"], ["zeros"], name="zeros"), node("Add", ["zeros", "row"], ["y"], name="add")],
        [value("size", INT64, [2]), value("row", FLOAT, ["W"])],
        [value("y", FLOAT, None)],
    )
    return absint.analyze(f"{tmp}.onnx")


# Boxes


def test_a_legal_box() -> None:
    found = analysed("cached").profile({"batch": (1, 4, 8), "past": 5, "seq": 3, "total": 8})
    assert found
    assert str(found) == (
        "profile for batch=1..4..8, past=5, seq=3, total=8\n"
        "  old: FLOAT [1, 5] .. [4, 5] .. [8, 5]\n"
        "  new: FLOAT [1, 3] .. [4, 3] .. [8, 3]\n"
        "  mask: FLOAT [8]"
    )
    assert [each.is_dynamic for each in found.inputs] == [True, True, False]
    assert found.checked.outcome is Outcome.RUNS


def test_a_box_with_illegal_sizes_is_refused_with_the_legal_part() -> None:
    found = analysed("top").profile({"M": (1, 64), "k": (1, 4, 8)})
    assert not found
    assert found.inputs == ()
    assert found.nearest == {"M": Sizes3(8, 64, 64), "k": Sizes3(1, 4, 8)}
    assert analysed("top").check_range({"M": (8, 64), "k": (1, 8)})
    assert not analysed("top").check_range({"M": (7, 64), "k": (1, 8)})
    assert str(found).splitlines() == [
        "refused: not all sizes in M=1..64..64, k=1..4..8 are legal: at M=2, k=3, TopK top: k must not be larger than "
        "axis 0, found 3 and 2",
        "  nearest legal box: M=8..64..64, k=1..4..8",
        "  legal corners, with some illegal sizes between (--corners): M=1..64..64, k=1..4..8",
    ]
    assert repr(found).startswith("<Profile: not all sizes in M=1..64..64")


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_the_legal_part_is_legal_and_no_side_can_move(data: st.DataObject) -> None:
    result = analysed("top")
    ends = {}
    for name in ("M", "k"):
        low, best, high = sorted(data.draw(st.lists(st.integers(0, 9), min_size=3, max_size=3)))
        ends[name] = (low, best, high)
    found = result.profile(ends)
    points = product(*(range(low, high + 1) for low, _, high in ends.values()))
    legal = {p for p in points if result.check(dict(zip(ends, p, strict=True)))}
    everything = (ends["M"][2] - ends["M"][0] + 1) * (ends["k"][2] - ends["k"][0] + 1)
    assert bool(found) is (len(legal) == everything)
    if found or found.nearest is None:
        assert found or found.corners is None or found.nearest is not None
        return
    sides = [(sizes.min, sizes.max) for sizes in found.nearest.values()]
    assert set(product(*(range(lo, hi + 1) for lo, hi in sides))) <= legal
    for at, (wanted, (lo, hi)) in enumerate(zip(ends.values(), sides, strict=True)):
        for moved in ((lo - 1, hi), (lo, hi + 1)):
            if wanted[0] <= moved[0] and moved[1] <= wanted[2]:
                grown = [*sides[:at], moved, *sides[at + 1 :]]
                assert not set(product(*(range(lo, hi + 1) for lo, hi in grown))) <= legal


def test_a_congruence_is_no_box() -> None:
    result = analysed("halved")
    found = result.profile({"H": (1, 33, 64), "W": 8})
    assert found.refused.startswith("not all sizes in H=1..33..64, W=8 are legal: at ")
    assert found.nearest == {"H": Sizes3(32, 32, 32), "W": Sizes3(8, 8, 8)}
    assert found.corners == {"H": Sizes3(2, 32, 64), "W": Sizes3(8, 8, 8)}
    corners = result.profile({"H": (1, 33, 64), "W": 8}, corners=True)
    assert corners
    assert corners.inputs[0].corners == ((1, 3, 2, 8), (1, 3, 32, 8), (1, 3, 64, 8))
    assert corners.warnings[0] == "moved to legal sizes: H=2..32..64"
    assert corners.warnings[1].startswith(
        "not all sizes between are legal: Concat cat: the inputs must agree on axis 2"
    )


def test_steps_are_told() -> None:
    save(
        "eighths.onnx",
        [node("Reshape", ["x", "shape"], ["y"], name="reshape")],
        [value("x", FLOAT, ["seq"])],
        [value("y", FLOAT, None)],
        [numpy_helper.from_array(np.array([-1, 8], np.int64), "shape")],
    )
    found = absint.analyze("eighths.onnx").profile({"seq": (1, 60, 512)})
    assert found.steps == {"seq": (8, 0)}
    assert found.warnings == ("seq must be a multiple of 8: an engine takes all sizes of a range",)
    assert found.corners == {"seq": Sizes3(8, 56, 512)}


def test_sizes_that_are_tied() -> None:
    wanted: WantedSizes = {"batch": 1, "past": (0, 32, 60), "seq": (1, 4, 4), "total": (1, 36, 64)}
    found = analysed("cached").profile(wanted)
    assert not found
    assert found.nearest == {name: Sizes3(size, size, size) for name, size in zip(
        ("batch", "past", "seq", "total"), (1, 32, 4, 36), strict=True)}  # fmt: skip
    assert analysed("cached").profile(wanted, corners=True).inputs[2] == InputProfile(
        "mask", "FLOAT", (1,), (36,), (64,)
    )


def test_no_sizes_in_the_box_are_legal() -> None:
    found = analysed("cached").profile({"batch": 1, "past": 5, "seq": (3, 4), "total": 3})
    assert found.nearest is None
    assert found.corners is None
    assert found.warnings == ("around the best sizes, nearest legal: total=9 (others unchanged)",) or found.warnings[
        0
    ].startswith("around the best sizes, nearest legal: ")
    refused = analysed("cached").profile({"batch": 1, "past": 5, "seq": (3, 4), "total": 3}, corners=True)
    assert (
        refused.refused == "no legal least, best and greatest sizes were found in batch=1, past=5, seq=3..4..4, total=3"
    )


def test_assumptions_move_the_corners() -> None:
    result = absint.analyze(model("halved"), assume=["H % 8 == 0", "W == 4"])
    found = result.profile({"H": (1, 30, 64), "W": 4})
    assert found
    assert found.symbols["H"] == Sizes3(8, 32, 64)
    assert "of the sizes between, those are legal that meet H % 8 == 0 and W == 4" in found.warnings
    assert found.assuming == ("H % 8 == 0", "W == 4")


def test_an_undecided_box_is_refused() -> None:
    found = analysed("product").profile({"A": (6, 12), "B": (6, 12)}, seconds=1e-9)
    assert found.refused.startswith(
        "it is not shown that all sizes in A=6..12..12, B=6..12..12 are legal: the time limit"
    )


# Inputs


def test_elements_that_decide_sizes_are_profiled_by_value() -> None:
    result = resized("resized")
    found = result.profile({"size_0": (1, 2, 3), "size_1": 8, "W": 8})
    assert found.inputs == (
        InputProfile("size", "INT64", (1, 8), (2, 8), (3, 8), is_values=True),
        InputProfile("row", "FLOAT", (8,), (8,), (8,)),
    )
    assert "elements of size: INT64 [1, 8] .. [2, 8] .. [3, 8]" in str(found)
    assert found.text("trtexec") == "--minShapes=size:1x8 --optShapes=size:2x8 --maxShapes=size:3x8\n"
    assert (
        "min_shape=(1, 8), opt_shape=(2, 8), max_shape=(3, 8), dtype=torch.int64, name='size', is_shape_tensor=True"
        in (found.text("torch-tensorrt"))
    )
    assert found.text("openvino") == "\n"
    with pytest.raises(absint.UsageError, match="no sizes for 'size_1'"):
        result.profile({"size_0": (1, 2, 3), "W": 8})


def derived() -> absint.Result:
    save(
        "derived.onnx",
        [node("Relu", ["x"], ["y"]), node("Relu", ["z"], ["w"])],
        [value("x", FLOAT, ["a", "b"]), value("z", FLOAT, ["a*(8 - b) + 20", "a + b", 3])],
        [value("y", FLOAT, None), value("w", FLOAT, None)],
    )
    return absint.analyze("derived.onnx")


def test_derived_dims_need_not_be_monotone() -> None:
    found = derived().profile({"a": (1, 2, 3), "b": (0, 5, 9)})
    assert found.inputs[1].corners == ((17, 1, 3), (26, 7, 3), (44, 12, 3))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(["a*b - 3*a", "a % 7 + b", "max(a, 5) - b", "a//3*b", "a*a - 6*a + b", "2*a + 1"]),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.booleans(),
)
def test_extremes(text: str, one: tuple[int, int], other: tuple[int, int], enumerated: bool) -> None:
    dim = parse(text)
    assert isinstance(dim, Expr)
    names = sorted(dim.free_symbols)
    ends = dict(zip(names, ((min(pair), max(pair)) for pair in (one, other)), strict=False))
    numbers = [
        dim.evaluate(dict(zip(names, place, strict=True)))
        for place in product(*(range(lo, hi + 1) for lo, hi in ends.values()))
    ]
    premises = inside({name: symbol(name) for name in names}, ends)
    with pytest.MonkeyPatch.context() as patch:
        if not enumerated:
            patch.setattr("absint.jobs.profiles.making._POINTS", 0)
        found = least_and_greatest(dim, ends, premises, Prover(ConstraintSet(), limits=Limits(60)))
    assert found == (min(numbers), max(numbers), True)


def test_unproved_extremes_are_those_of_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.jobs.profiles.making._POINTS", 0)
    monkeypatch.setattr("absint.jobs.profiles.making._BETTER", 0)
    dim = parse("a*a - 6*a")
    assert isinstance(dim, Expr)
    low, high, proved = least_and_greatest(dim, {"a": (0, 9)}, [], Prover(ConstraintSet()))
    assert not proved
    assert low <= -9
    assert high >= 27


def test_inputs_that_no_engine_takes() -> None:
    save("rankless.onnx", [node("Relu", ["x"], ["y"])], [value("x", FLOAT, None)], [value("y", FLOAT, None)])
    refused = absint.analyze("rankless.onnx").profile({})
    assert not refused
    assert refused.refused == (
        "an engine needs the rank of every input, and none is declared of 'x': assume one, as shape(x) == [N, 4]"
    )
    assert run(["profile", "rankless.onnx"]) == 1
    assert absint.analyze("rankless.onnx", assume=["shape(x) == [2, 4]"]).profile({}).inputs[0].max == (2, 4)
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, ["N"])
    save("listed.onnx", [node("SequenceLength", ["x"], ["y"])], [sequence], [value("y", INT64, [])])
    with pytest.raises(absint.UsageError, match="input 'x' is no tensor"):
        absint.analyze("listed.onnx").profile({})


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"H": (1, 4, 8)}, "no sizes for 'W': give ranges, as W=2..4..16"),
        ({"H": (8, 4, 2), "W": 2}, "H=8..4..2: expected the least, the best and the greatest size"),
        ({"H": (1, 2, 3, 4), "W": 2}, r"H=\(1, 2, 3, 4\): expected a size, or the least, the best and the greatest"),
        ({"H": 2, "w": 2}, "no input has a symbol 'w'"),
        ({"H": (-2, 2), "W": 2}, "a size cannot be negative"),
        ({"x": [1, 4, 2, 2]}, "axis 1 of 'x' is 3, not 4"),
    ],
)
def test_bad_sizes(wanted: dict[str, object], message: str) -> None:
    with pytest.raises(absint.UsageError, match=message):
        analysed("halved").profile(wanted)  # type: ignore[arg-type]


def test_shapes_of_inputs_give_symbols_their_sizes() -> None:
    found = analysed("halved").profile({"x": [1, 3, 2, None], "W": 4})
    assert found.symbols == {"H": Sizes3(2, 2, 2), "W": Sizes3(4, 4, 4)}


# Tools


def made(*inputs: InputProfile) -> Profile:
    return Profile({}, inputs, RangeCheck({}, Outcome.RUNS))


IDS = InputProfile("ids", "INT64", (1, 1), (4, 64), (32, 512))
IMAGE = InputProfile("image", "FLOAT", (1, 3, 8), (2, 3, 8), (2, 3, 8))
WEIGHT = InputProfile("weight", "FLOAT16", (3, 4), (3, 4), (3, 4))
K = InputProfile("k", "INT64", (1,), (5,), (9,), is_values=True)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            "trtexec",
            "--minShapes=ids:1x1,image:1x3x8,k:1 --optShapes=ids:4x64,image:2x3x8,k:5 "
            "--maxShapes=ids:32x512,image:2x3x8,k:9\n",
        ),
        (
            "polygraphy",
            "--trt-min-shapes 'ids:[1,1]' 'image:[1,3,8]' 'k:[1]' "
            "--trt-opt-shapes 'ids:[4,64]' 'image:[2,3,8]' 'k:[5]' "
            "--trt-max-shapes 'ids:[32,512]' 'image:[2,3,8]' 'k:[9]'\n",
        ),
        (
            "onnxruntime-trt",
            '{\n    "trt_profile_min_shapes": "ids:1x1,image:1x3x8,k:1",\n'
            '    "trt_profile_opt_shapes": "ids:4x64,image:2x3x8,k:5",\n'
            '    "trt_profile_max_shapes": "ids:32x512,image:2x3x8,k:9"\n}\n',
        ),
        (
            "torch-tensorrt",
            "import torch\nimport torch_tensorrt\n\ninputs = [\n"
            "    torch_tensorrt.Input(min_shape=(1, 1), opt_shape=(4, 64), max_shape=(32, 512), dtype=torch.int64, "
            "name='ids'),\n"
            "    torch_tensorrt.Input(min_shape=(1, 3, 8), opt_shape=(2, 3, 8), max_shape=(2, 3, 8), "
            "dtype=torch.float32, name='image'),\n"
            "    torch_tensorrt.Input(shape=(3, 4), dtype=torch.float16, name='weight'),\n"
            "    torch_tensorrt.Input(min_shape=(1,), opt_shape=(5,), max_shape=(9,), dtype=torch.int64, name='k', "
            "is_shape_tensor=True),\n]\n",
        ),
        ("openvino", "--input 'ids[1..32,1..512],image[1..2,3,8]'\n"),
    ],
)
def test_texts(tool: str, expected: str) -> None:
    assert made(IDS, IMAGE, WEIGHT, K).text(tool) == expected
    if tool == "torch-tensorrt":
        compile(expected, "inputs", "exec")


@pytest.mark.parametrize("tool", TOOLS)
def test_static_inputs_need_no_profile(tool: str) -> None:
    assert "ids" not in made(WEIGHT).text(tool)


def colons(text: str) -> dict[str, list[int]]:
    """As trtexec reads a specification: parts at commas, the last colon, quotes off."""
    found = {}
    for part in text.split(","):
        name, _, sizes = part.rpartition(":")
        found[name.strip("'")] = [int(size) for size in sizes.split("x")]
    return found


@pytest.mark.parametrize(
    "name", ["input:0", "a b", "past_key_values.0.key", "über", "x$HOME", "a;b", "`ls`", "serving_default_x:0"]
)
def test_odd_names_survive_the_shell_and_the_parsers(name: str) -> None:
    odd = InputProfile(name, "FLOAT", (1, 3), (2, 3), (4, 3))
    words = shlex.split(made(odd, IDS).text("trtexec"))
    assert [colons(word.partition("=")[2])[name] for word in words] == [[1, 3], [2, 3], [4, 3]]
    words = shlex.split(made(odd, IDS).text("polygraphy"))
    assert words[1] == f"{name}:[1,3]"
    if ":" not in name:
        assert shlex.split(made(odd).text("openvino")) == ["--input", f"{name}[1..4,3]"]
        options = json.loads(made(odd).text("onnxruntime-trt"))
        assert options["trt_profile_opt_shapes"] == f"{name}:2x3"


@pytest.mark.parametrize(
    ("tool", "name", "message"),
    [
        ("trtexec", "a,b", "trtexec cannot read the name 'a,b' of an input: it has a special ','"),
        ("trtexec", "a*", "it has a special '\\*'"),
        ("trtexec", "it's", 'it has a special "\'"'),
        ("polygraphy", "a\nb", r"polygraphy cannot read the name 'a\\nb' of an input"),
        ("onnxruntime-trt", "x:0", "onnxruntime's TensorRT provider cannot read the name 'x:0' of an input"),
        ("openvino", "x[0]", "ovc cannot read the name 'x\\[0\\]' of an input"),
        ("trtexec", " ", "trtexec cannot read the empty name of an input"),
    ],
)
def test_names_that_a_tool_cannot_read_are_refused(tool: str, name: str, message: str) -> None:
    with pytest.raises(absint.UsageError, match=message):
        made(InputProfile(name, "FLOAT", (1,), (2,), (3,))).text(tool)


def test_what_has_no_text() -> None:
    with pytest.raises(absint.UsageError, match="unknown format 'tflite'; there are: trtexec, polygraphy"):
        made(IDS).text("tflite")
    refused = Profile({}, (), RangeCheck({}, Outcome.ILLEGAL), "too large")
    with pytest.raises(absint.UsageError, match="the profile is refused: too large"):
        refused.text("trtexec")
    with pytest.raises(absint.UsageError, match="torch_tensorrt has no inputs of type STRING: 's' is one"):
        made(InputProfile("s", "STRING", (1,), (2,), (3,))).text("torch-tensorrt")


# The command


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    model("top")
    assert run(["profile", "top.onnx", "M=8..16..64", "k=1..4..8", "--format", "trtexec"]) == 0
    assert capsys.readouterr() == ("--minShapes=x:8,k:1 --optShapes=x:16,k:4 --maxShapes=x:64,k:8\n", "")
    assert run(["profile", "top.onnx", "M=8..16..64", "k=8"]) == 0
    assert capsys.readouterr().out == (
        "profile for M=8..16..64, k=8\n  x: FLOAT [8] .. [16] .. [64]\n  elements of k: INT64 [8]\n"
    )


def test_the_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    model("top")
    refused = ["profile", "top.onnx", "M=1..64", "k=1..8"]
    assert run([*refused, "--format", "trtexec"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("absint: refused: not all sizes in M=1..64..64, k=1..8..8 are legal: at ")
    assert "absint: nearest legal box: M=8..64..64, k=1..8..8" in err.splitlines()
    assert run([*refused, "--format", "trtexec", "--corners"]) == 0
    out, err = capsys.readouterr()
    assert out == "--minShapes=x:1,k:1 --optShapes=x:64,k:8 --maxShapes=x:64,k:8\n"
    assert err.startswith("absint: warning: not all sizes between are legal: TopK top: ")
    assert run(refused) == 1
    assert capsys.readouterr().out.startswith("refused: not all sizes")
    assert run([*refused, "--max-seconds", "60", "--seconds", "0.000001"]) == 3


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    model("halved")
    assert run(["profile", "halved.onnx", "H=2..8", "W=4", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "absint.profile/2"
    assert found["model"] == "halved.onnx"
    assert found["symbols"]["H"] == {"min": 2, "opt": 8, "max": 8}
    assert found["corners"]["H"] == {"min": 2, "opt": 8, "max": 8}
    assert run(["profile", "halved.onnx", "H=2", "W=4", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"] == [
        {"name": "x", "dtype": "FLOAT", "min": [1, 3, 2, 4], "opt": [1, 3, 2, 4], "max": [1, 3, 2, 4],
         "is_values": False, "is_dynamic": False}
    ]  # fmt: skip
    assert json.loads(analysed("halved").profile({"H": 2, "W": 4}).to_json())["inputs"] == found["inputs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["H=2.."], "H=2..: a profile needs both ends of a range, as 1..32 or 1..4..32"),
        (["H=?"], "H=?: a profile needs a size, as H=1..4..32"),
        ([], "no sizes for 'H', 'W': give ranges, as H=2..4..16 W=2..4..16"),
        (["H=2", "W"], "W: expected the path of a model, or a size, as batch=4 or seq=1..2048"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    model("halved")
    assert run(["profile", "halved.onnx", *arguments]) == 2
    assert capsys.readouterr().err == f"absint: error: {message}\n"
