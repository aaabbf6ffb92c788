"""Nodes that onnxruntime refuses, or that end its process, beside ones that run: `check` promises the latter alone."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, helper

import absint
from absint.questions.sizes.checking import Outcome
from tests.soundness.claims import against
from tests.soundness.runs import ENGINE

QUANTISED: Final = "<float a = {0.5}, uint8 z = {1}>"
PARAMETERS: Final = "float s, uint8 z"
VECTORS: Final = "float[1] s, uint8[1] z"
IMAGE: Final = "uint8[N, 1, 4, 4] x"

PAIRS: Final[dict[str, tuple[str, str]]] = {
    "Resize": (
        "(float[1, N] x) => (y) <float[2] s = {1.0, 2.0}> "
        '{ y = Resize<keep_aspect_ratio_policy = "not_larger", mode = "nearest">(x, "", s) }',
        '(float[1, N] x) => (y) <float[2] s = {1.0, 2.0}> { y = Resize<mode = "nearest">(x, "", s) }',
    ),
    **{
        f"Resize that keeps a ratio, to {sizes}": (
            f"({kind} x) => (y) <{sizes} = {{{elements}}}> "
            '{ y = Resize<keep_aspect_ratio_policy = "not_larger", mode = "nearest">(x, "", "", k) }',
            f"({kind} x) => (y) <int64[2] k = {{4, 4}}> "
            '{ y = Resize<keep_aspect_ratio_policy = "not_larger", mode = "nearest">(x, "", "", k) }',
        )
        for kind, sizes, elements in (
            ("float[2, 2]", "int64 k", "4"),
            ("float[2, 2]", "int64[1] k", "4"),
            ("float[2, 2]", "int64[2] k", "-1, 2"),
        )
    },
    "Col2Im to an image without an axis": (
        "(float[0, 2, N] x) => (y) <int64[0] k = {}> { y = Col2Im(x, k, k) }",
        "(float[1, 1, N] x) => (y) <int64[1] k = {2}, int64[1] b = {1}> { y = Col2Im(x, k, b) }",
    ),
    "Expand to a scalar": (
        "(string x) => (y) <int64 k = {1}> { y = Expand(x, k) }",
        "(string x) => (y) <int64[1] k = {1}> { y = Expand(x, k) }",
    ),
    "QLinearSoftmax of a scale": tuple(
        f"(uint8[2, 3] x) => (y) <float s = {{{scale}}}, float t = {{0.5}}, uint8 z = {{1}}> "
        "{ y = com.microsoft.QLinearSoftmax<opset = 13>(x, s, z, t, z) }"
        for scale in ("-1", "0.5")
    ),
    "QLinearConcat of scales": tuple(
        f"(int8[2, N] x, {scale} s, int8 z) => (y) <float t = {{0.5}}, int8 o = {{1}}> "
        "{ y = com.microsoft.QLinearConcat<axis = -1>(t, o, x, s, z) }"
        for scale in ("int8", "float")
    ),
    "Split": (
        "(float[2] x) => (y, z) { y, z = Split(x) }",
        "(float[2] x) => (y, z) { y, z = Split<num_outputs = 2>(x) }",
    ),
    "LayerNormalization": (
        "(float[N, 2] x, float[2] s) => (y, z) { y, z = LayerNormalization<stash_type = -1>(x, s) }",
        "(float[N, 2] x, float[2] s) => (y, z) { y, z = LayerNormalization<stash_type = 1>(x, s) }",
    ),
    **{
        f"MatMul of no {kind}": tuple(
            f"({kind}[2, {size}] x, {kind}[{size}, 2] w) => (y) {{ y = MatMul(x, w) }}" for size in (0, 1)
        )
        for kind in ("uint32", "uint64")
    },
    "CenterCropPad": (
        "(float x) => (y) <int64[0] k = {}> { y = CenterCropPad(x, k) }",
        "(float[2] x) => (y) <int64[1] k = {1}> { y = CenterCropPad(x, k) }",
    ),
    "LinearClassifier": tuple(
        "(float[1] x) => (y, z) { y, z = ai.onnx.ml.LinearClassifier"
        f"<coefficients = [1.0, 1.0], intercepts = [1.0, 1.0], classlabels_ints = [0, 1]{more}>(x) }}"
        for more in (', classlabels_strings = ["a", "b"]', "")
    ),
    "RandomNormal": (
        "() => (float[2] y) { y = RandomNormal<shape = [2], scale = 0.0>() }",
        "() => (float[2] y) { y = RandomNormal<shape = [2], scale = 0.5>() }",
    ),
    "RandomNormalLike": (
        "(float[N] x) => (float[N] y) { y = RandomNormalLike<scale = -1.0>(x) }",
        "(float[N] x) => (float[N] y) { y = RandomNormalLike(x) }",
    ),
    "RandomUniform": (
        "() => (float[2] y) { y = RandomUniform<shape = [2], low = 2.0, high = 1.0>() }",
        "() => (float[2] y) { y = RandomUniform<shape = [2], low = 1.0, high = 1.0>() }",
    ),
    "RandomUniformLike": (
        "(float[N] x) => (float[N] y) { y = RandomUniformLike<low = 1.5>(x) }",
        "(float[N] x) => (float[N] y) { y = RandomUniformLike<low = -1.5>(x) }",
    ),
    "MaxPool": (
        "(float[N, 1, 4] x) => (y) { y = MaxPool<kernel_shape = [2], storage_order = 2>(x) }",
        "(float[N, 1, 4] x) => (y) { y = MaxPool<kernel_shape = [2], storage_order = 1>(x) }",
    ),
    "MeanVarianceNormalization": (
        "(float[N, 1, 4, 4] x) => (y) { y = MeanVarianceNormalization<axes: ints = []>(x) }",
        "(float[N, 1, 4, 4] x) => (y) { y = MeanVarianceNormalization<axes = [0, 1, 2, 3]>(x) }",
    ),
    "Pad": (
        "(float[N] x, float[0] c) => (y) <int64[2] p = {1, 1}> { y = Pad(x, p, c) }",
        "(float[N] x, float[1] c) => (y) <int64[2] p = {1, 1}> { y = Pad(x, p, c) }",
    ),
    "Pad by a constant that the mode does not read": (
        '(float[N] x, float[0] c) => (y) <int64[2] p = {-1, 0}> { y = Pad<mode = "edge">(x, p, c) }',
        '(float[3] x, float c) => (y) <int64[2] p = {-1, 0}> { y = Pad<mode = "edge">(x, p, c) }',
    ),
    "DequantizeLinear of 8-bit floats": (
        "(float[N] x, float s) => (y) { q = Cast<to = 19>(x) z = Cast<to = 19>(s) y = DequantizeLinear(q, s, z) }",
        "(float[N] x, float s) => (y) { q = Cast<to = 19>(x) y = DequantizeLinear(q, s) }",
    ),
    "QLinearGlobalAveragePool": (
        f"({IMAGE}) => (y) <float s = {{20000.0}}, float a = {{0.5}}, uint8 z = {{1}}> "
        "{ y = com.microsoft.QLinearGlobalAveragePool(x, s, z, a, z) }",
        f"({IMAGE}) => (y) <float s = {{1000.0}}, float a = {{0.5}}, uint8 z = {{1}}> "
        "{ y = com.microsoft.QLinearGlobalAveragePool(x, s, z, a, z) }",
    ),
    "QLinearGlobalAveragePool by a negative scale": (
        f"({IMAGE}) => (y) <float s = {{-1.0}}, float a = {{0.5}}, uint8 z = {{1}}> "
        "{ y = com.microsoft.QLinearGlobalAveragePool(x, s, z, a, z) }",
        f"({IMAGE}) => (y) {QUANTISED} {{ y = com.microsoft.QLinearGlobalAveragePool(x, a, z, a, z) }}",
    ),
    "QLinearAdd": (
        f"(uint8[N] x, {VECTORS}) => (y) {{ y = com.microsoft.QLinearAdd(x, s, z, x, s, z, s, z) }}",
        f"(uint8[N] x, {PARAMETERS}) => (y) {{ y = com.microsoft.QLinearAdd(x, s, z, x, s, z, s, z) }}",
    ),
    "QLinearConcat": (
        f"(uint8[2, 2] x, uint8[0, 4] e, {PARAMETERS}) => (y) "
        "{ y = com.microsoft.QLinearConcat<axis = 0>(s, z, x, s, z, e, s, z) }",
        f"(uint8[2, 2] x, uint8[0, 2] e, {PARAMETERS}) => (y) "
        "{ y = com.microsoft.QLinearConcat<axis = 0>(s, z, x, s, z, e, s, z) }",
    ),
    "QLinearAveragePool": (
        f"({IMAGE}, {VECTORS}) => (y) {{ y = com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(x, s, z, s, z) }}",
        f"({IMAGE}, {PARAMETERS}) => (y) "
        "{ y = com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(x, s, z, s, z) }",
    ),
    "SplitToSequence": (
        "(float[N, 2] x) => (seq(float) y) <int64 k = {2}> { y = SplitToSequence<keepdims = 0>(x, k) }",
        "(float[N, 2] x) => (seq(float) y) <int64 k = {1}> { y = SplitToSequence<keepdims = 0>(x, k) }",
    ),
    "UnfoldTensor": (
        "(float[2] x) => (y) { y = com.microsoft.UnfoldTensor<dim = 0, size = 0>(x) }",
        "(float[N] x) => (y) { y = com.microsoft.UnfoldTensor<dim = 0, size = 1>(x) }",
    ),
    "UnfoldTensor of narrow integers": (
        "(int8[2] x) => (y) { y = com.microsoft.UnfoldTensor<dim = 0, size = 1>(x) }",
        "(float[N] x) => (y) { y = com.microsoft.UnfoldTensor<dim = 0, size = 1>(x) }",
    ),
    "NonMaxSuppression": (
        "(float[N, 3, 4] x, float[N, 1, 3] s) => (y) { y = NonMaxSuppression<center_point_box = 2>(x, s) }",
        "(float[N, 3, 4] x, float[N, 1, 3] s) => (y) { y = NonMaxSuppression<center_point_box = 1>(x, s) }",
    ),
    "Split into a part whose size is a scalar": (
        "(float[3, N] x) => (y) <int64 k = {3}> { y = Split(x, k) }",
        "(float[3, N] x) => (y) <int64[1] k = {3}> { y = Split(x, k) }",
    ),
    "QuantizeLinear": (
        "(float[N] x, float16 s) => (y) { y = QuantizeLinear(x, s) }",
        "(float[N] x, float s) => (y) { y = QuantizeLinear(x, s) }",
    ),
    "InstanceNormalization": (
        "(float16[1, 3, 0] x, float16[3] s) => (y) { y = InstanceNormalization(x, s, s) }",
        "(float16[1, 3, N] x, float16[3] s) => (y) { y = InstanceNormalization(x, s, s) }",
    ),
    "QLinearAveragePool without a zero point": (
        f"({IMAGE}, {PARAMETERS}) => (y) "
        '{ y = com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(x, s, "", s) }',
        f"({IMAGE}, {PARAMETERS}) => (y) "
        "{ y = com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(x, s, z, s, z) }",
    ),
    **{
        f"{node} of no channels": tuple(
            f"(uint8[1, 3, 2, 2] x, int8[{rows}, 3, 2, 2] w, {PARAMETERS}) => (y) <int8[{rows}] c = {{{zeros}}}> "
            f"{{ y = {node}(x, s, z, w, s, c, s, z) }}"
            for rows, zeros in ((0, ""), (1, "0"))
        )
        for node in ("QLinearConv", "com.microsoft.QLinearConv")
    },
    "QLinearConcat of a zero point of another type": (
        f"(uint8[2] x, {PARAMETERS}) => (y) {{ y = com.microsoft.QLinearConcat<axis = 0>(s, z, x, s, s) }}",
        f"(uint8[2] x, {PARAMETERS}) => (y) {{ y = com.microsoft.QLinearConcat<axis = 0>(s, z, x, s, z) }}",
    ),
    **{
        f"{node} with pads {pads} that padding on its own leaves out": (
            f"(float[N, 1, 4] x) => (y) {{ y = {node}<kernel_shape = [2], auto_pad = {padding}, pads = {pads}>(x) }}",
            f"(float[N, 1, 4] x) => (y) {{ y = {node}<kernel_shape = [2], auto_pad = {padding}>(x) }}",
        )
        for pads in ([3], [0, 2])
        for node, padding in (("MaxPool", '"SAME_UPPER"'), ("AveragePool", '"VALID"'), ("LpPool", '"SAME_LOWER"'))
    },
    **{
        f"{node} that reduces {kind} by {bad}": tuple(
            f"({kind}[3] x, {kind}[1] u) => (y) <int64[1{axis}] i = {{1}}> "
            f'{{ y = {node}<reduction = "{by}">(x, i, u) }}'
            for by in (bad, good)
        )
        for node, axis in (("ScatterElements", ""), ("ScatterND", ", 1"))
        for kind, bad, good in (
            ("bool", "max", "mul"),
            ("bool", "min", "add"),
            ("string", "mul", "add"),
            ("string", "max", "none"),
            ("float16", "add", "none"),
            ("float16", "mul", "max" if node == "ScatterElements" else "none"),
        )
    },
    "ScatterND that reduces float16 by min": tuple(
        f'({kind}[3] x, {kind}[1] u) => (y) <int64[1, 1] i = {{1}}> {{ y = ScatterND<reduction = "min">(x, i, u) }}'
        for kind in ("float16", "float")
    ),
    "MatMulIntegerToFloat by zero points of columns, which only one matrix has": tuple(
        f"(int8[3, N] a, int8[{batch}N, 4] b, float s, int8 z, int8[4] c) => (y) "
        "{ y = com.microsoft.MatMulIntegerToFloat(a, b, s, s, z, c) }"
        for batch in ("4, ", "")
    ),
    "DynamicQuantizeMatMul by zero points of columns, which only one matrix has": tuple(
        f"(float[3, N] a, int8[{batch}N, 4] b, float s, int8[4] c) => (y) "
        "{ y = com.microsoft.DynamicQuantizeMatMul(a, b, s, c) }"
        for batch in ("4, ", "")
    ),
    "ConvTranspose of three axes": tuple(
        f"(float[1, 1, 3, {size}, 1] x, float[1, 1, 2, 3, 2] w) => (y) {{ y = ConvTranspose(x, w) }}"
        for size in ("0", "N")
    ),
    "MoE": tuple(
        "(float[2, 8] x, float[2, 4] r, float[4, 32, 8] a, float[4, 8, 16] b) => (y) { y = com.microsoft.MoE"
        f'<activation_type = "swiglu", swiglu_fusion = 1, swiglu_limit = {limit}>(x, r, a, "", b) }}'
        for limit in ("-1.0", "0.5")
    ),
    **{
        f"{node} with empty {name}": (
            f"({inputs}) => (y) {{ y = {node}<{window}{name}: ints = []>({passed}) }}",
            f"({inputs}) => (y) {{ y = {node}{f'<{window[:-2]}>' if window else ''}({passed}) }}",
        )
        for node, inputs, window, passed, names in (
            ("Conv", "float[N, 1, 4] x, float[1, 1, 2] w", "", "x, w", "strides dilations pads kernel_shape"),
            ("ConvTranspose", "float[N, 1, 4] x, float[1, 1, 2] w", "", "x, w", "strides output_padding output_shape"),
            ("MaxPool", "float[N, 1, 4] x", "kernel_shape = [2], ", "x", "strides dilations pads"),
            ("LpPool", "float[N, 1, 4] x", "kernel_shape = [2], ", "x", "strides dilations pads"),
        )
        for name in names.split()
    },
}
"""Texts of models, a node that fails and one that runs, where N is 2 and all elements are 1."""

EMBEDDING: Final = (
    "(float[4, 8] w, float[4, 8] p, float[{size}] g, float[8] b) => (float[1, 2, 8] y) <int32[1, 2] ids = {{0, 1}}> "
    '{{ {outputs} = com.microsoft.EmbedLayerNormalization(ids, "", w, p, "", g, b) }}'
)
ATTENTION: Final = (
    "({kind}[1, 2, 2, 2] q, {kind}[1, 2, 5, 2] k, {kind}[1, {heads}, {steps}, 2] v) => (y) {{ y = Attention(q, k, v) }}"
)
"""The runtime has no kernel for doubles: it runs the function that defines the operator, which broadcasts."""

RUN: Final = {
    "BifurcationDetector": (
        "(int64[2] s, int64[1] c, int64[1, 1] i) => (t, k) { t, k = com.microsoft.BifurcationDetector(s, c, i) }"
    ),
    "DecoderMaskedMultiHeadAttention without rows": (
        "(float[0, 1, 17] q, float[0, 4, 2, 4] k) => (y) "
        "{ y = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 4>(q, k, k) }"
    ),
    "DecoderMaskedMultiHeadAttention of values that heads do not share": (
        "(float[2, 1, 16] q, float[2, 1, 17] v) => (y) "
        "{ y = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 4>(q, q, v) }"
    ),
    "MultiHeadAttention without rows": (
        "(float[0, 0, 8] q, float[0, 4, 8] k, float[0, 4, 2] v) => (y) "
        "{ y = com.microsoft.MultiHeadAttention<num_heads = 4>(q, k, v) }"
    ),
    **{
        f"LayerNormalization with a constant B of shape [{sizes}]": (
            f"(float[N, 2] x, float[2] s) => (y) <float[{sizes}] b = {{}}> {{ y = LayerNormalization(x, s, b) }}"
        )
        for sizes in ("0", "2, 0", "0, 2", "1, 0, 2")
    },
    **{
        f"MelWeightMatrix of {length} samples": (
            f"() => (y) <int64 n = {{3}}, int64 d = {{{length}}}, int64 r = {{16000}}, float a = {{2}}> "
            "{ y = MelWeightMatrix(n, d, r, a, a) }"
        )
        for length in (-1, 0)
    },
    "LayerNormalization whose stash type no output has": (
        "(float[N, 2] x, float[2] s) => (y) { y = LayerNormalization<stash_type = -1>(x, s) }"
    ),
    "LayerNormalization whose further outputs have no names": (
        '(float[N, 2] x, float[2] s) => (y) { y, "", "" = LayerNormalization<stash_type = 99>(x, s) }'
    ),
    "Concat of a shape that passed through a sequence": (
        "(float[1, 1] x) => (y) <float one = {1.0}, int64[2, 4] c = {1, 2, 3, 4, 5, 6, 7, 8}> "
        "{ s = Shape(x) s1 = SequenceConstruct(s, s, s, s) s2 = ConcatFromSequence<axis = 1, new_axis = 1>(s1) "
        "zeros = Sub(x, x) e = NonZero(zeros) e3 = Concat<axis = 0>(e, e) y = Concat<axis = 1>(s2, c, e3) }"
    ),
}
"""Texts of models that run with all elements 1."""

HIDDEN: Final = {
    f"Resize to {sizes} by {policy}{axes}": (
        f"(float[2, 2] x) => (y) <{sizes}> "
        f'{{ y = Resize<keep_aspect_ratio_policy = "{policy}", mode = "nearest"{axes}>(x, "", "", k) }}'
    )
    for policy, sizes, axes in (
        ("not_smaller", "int64 k = {4}", ""),
        ("not_smaller", "int64[1] k = {4}", ", axes: ints = []"),
        ("stretch", "int64[2] k = {4, 4}", ", axes: ints = []"),
        ("not_smaller", "int64[2] k = {-1, 2}", ""),
    )
}
"""The same of models whose inputs declare no shape: type inference refuses some where it sees one."""

WHERE: Final = (
    f"(bool[2] c, uint8[2] x, {PARAMETERS}) => (y) <float a = {{0.5}}, uint8 b = {{1}}> "
    "{ y = com.microsoft.QLinearWhere(c, x, s, z, x, s, z, a, b) }"
)


OLD: Final[dict[str, tuple[int, str, str]]] = {
    "Slice with empty axes": (
        9,
        "(float[N] x) => (y) { y = Slice<starts = [0], ends = [1], axes: ints = []>(x) }",
        "(float[N] x) => (y) { y = Slice<starts = [0], ends = [1], axes = [0]>(x) }",
    ),
    "Crop to an empty scale": (
        7,
        "(float[N, 1, 4, 4] x) => (y) { y = Crop<border = [1, 1, 1, 1], scale: ints = []>(x) }",
        "(float[N, 1, 4, 4] x) => (y) { y = Crop<border = [1, 1, 1, 1], scale = [2, 2]>(x) }",
    ),
    "Clip whose ends cross": (
        7,
        "(float[N] x) => (y) { y = Clip<min = 1.0, max = 0.5>(x) }",
        "(float[N] x) => (y) { y = Clip<min = 0.5, max = 0.5>(x) }",
    ),
    "Reshape without its attribute": (
        4,
        "(float[1] x) => (float y) { y = Reshape(x) }",
        "(float[1] x) => (float[1, 1] y) { y = Reshape<shape = [1, 1]>(x) }",
    ),
}
"""Opsets, and texts of models, a node that fails and one that runs."""


def parsed(text: str, opset: int = 20) -> ModelProto:
    imports = f'["" : {opset}, "com.microsoft" : 1, "ai.onnx.ml" : 3]'
    return onnx.parser.parse_model(f"<ir_version: 10, opset_import: {imports}> G {text}")


def runs(model: ModelProto) -> bool:
    feeds = {}
    for info in model.graph.input:
        kind = info.type.tensor_type
        feeds[info.name] = np.ones(
            [dim.dim_value if dim.HasField("dim_value") else 2 for dim in kind.shape.dim],
            helper.tensor_dtype_to_np_dtype(kind.elem_type),
        )
    serialised = model.SerializeToString()
    return bool(ENGINE.load(serialised)[0] and ENGINE.run(serialised, feeds)[0])


def outcome(model: ModelProto) -> Outcome:
    result = absint.analyze(model)
    return result.check(dict.fromkeys(result.symbols, 2)).outcome


@pytest.mark.parametrize("name", PAIRS)
def test_one_fails_and_one_runs(name: str) -> None:
    bad, good = map(parsed, PAIRS[name])
    assert not runs(bad)
    assert outcome(bad) is not Outcome.RUNS
    assert runs(good)
    assert outcome(good) is Outcome.RUNS


@pytest.mark.parametrize("name", RUN)
def test_what_runs_is_not_claimed_to_fail(name: str) -> None:
    model = parsed(RUN[name])
    assert runs(model)
    assert absint.analyze(model).can_run


@pytest.mark.parametrize("name", HIDDEN)
def test_what_runs_where_inference_sees_no_shapes_is_not_claimed_to_fail(name: str) -> None:
    model = parsed(HIDDEN[name])
    y = run_without_shapes(model, np.ones((2, 2), np.float32))
    assert not list(against("y", absint.analyze(model)["y"], y, {}))


def run_without_shapes(model: ModelProto, x: np.ndarray) -> np.ndarray:
    """The first output of a model whose inputs declare no shape; with and without them it is not claimed to fail."""
    undeclared = onnx.ModelProto()
    undeclared.CopyFrom(model)
    for info in undeclared.graph.input:
        info.type.tensor_type.ClearField("shape")
    ok, values = ENGINE.run(undeclared.SerializeToString(), {"x": x})
    assert ok
    assert absint.analyze(model).can_run
    assert absint.analyze(undeclared).can_run
    return np.asarray(values[0])


@pytest.mark.parametrize(("size", "outputs"), [("8", "y"), ("K", "y, m")])
def test_embeddings_whose_sizes_inference_does_not_see(size: str, outputs: str) -> None:
    model = parsed(EMBEDDING.format(size=size, outputs=outputs))
    assert not runs(model)
    assert outcome(model) is not Outcome.RUNS
    assert runs(parsed(EMBEDDING.format(size=8, outputs="y, m")))


@pytest.mark.parametrize(("heads", "steps"), [(2, 1), (1, 5), (1, 1)])
def test_attention_that_runs_as_a_function_may_broadcast(heads: int, steps: int) -> None:
    double, single = (parsed(ATTENTION.format(kind=kind, heads=heads, steps=steps)) for kind in ("double", "float"))
    double.opset_import[0].version = single.opset_import[0].version = 23
    assert runs(double)
    assert absint.analyze(double).can_run
    assert not runs(single)
    assert not absint.analyze(single).can_run


def test_windows_and_masks_of_attention_that_runs_as_a_function() -> None:
    """A mask of more rows than the query broadcasts; newer versions of onnxruntime run windows, too, as a function."""
    masked = parsed("(double[1, 2, 1, 2] q, double[1, 2, 5, 2] k, double[4, 5] m) => (y) { y = Attention(q, k, k, m) }")
    masked.opset_import[0].version = 23
    assert runs(masked)
    assert not absint.analyze(masked).shapes["y"][2].is_concrete
    window = parsed(
        "(float[1, 2, 4] q, float[1, 6, 4] k, float[1, 12, 4] v) => (y) "
        "{ y = Attention<q_num_heads = 2, kv_num_heads = 2, left_window_size = 1>(q, k, v) }"
    )
    window.opset_import[0].version = 25
    assert absint.analyze(window).can_run
    assert not absint.analyze(window).shapes["y"][2].is_concrete


def test_a_cast_that_saturates_in_a_way_that_is_none_has_no_known_elements() -> None:
    """onnxruntime leaves in the output what its memory held."""
    result = absint.analyze(parsed("() => (float[1] y) <int64[1] c = {3}> { y = Cast<to = 1, saturate = 2>(c) }"))
    assert result["y"].contents is None
    assert absint.analyze(parsed("() => (y) <int64[1] c = {3}> { y = Cast<to = 1>(c) }"))["y"].contents is not None


@pytest.mark.parametrize("name", OLD)
def test_one_of_an_old_opset_fails_and_one_runs(name: str) -> None:
    version, *texts = OLD[name]
    bad, good = map(parsed, texts)
    for made in (bad, good):
        made.opset_import[0].version = version
    assert not runs(bad)
    assert outcome(bad) is not Outcome.RUNS
    assert runs(good)
    assert outcome(good) is Outcome.RUNS


def test_a_transform_of_fewer_samples_than_onnxruntime_allows() -> None:
    model = parsed(
        "() => (y) <int64 n = {3}, int64 d = {-2}, int64 r = {16000}, float a = {2}> "
        "{ y = MelWeightMatrix(n, d, r, a, a) }"
    )
    assert not runs(model)
    (said,) = absint.analyze(model).diagnostics
    assert "can never run: dft_length must be at least -1" in str(said)


@pytest.mark.parametrize("spatial", [-1, 0, 2])
def test_parameters_for_each_activation(spatial: int) -> None:
    """onnxruntime takes any other number than 1 for 0."""
    node = f"BatchNormalization<spatial = {spatial}>(x, p, p, p, p)"
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 7]> G (float[2, 3, 4] x, float[3, 4] p) => (y) {{ y = {node} }}'
    )
    assert runs(model)
    assert absint.analyze(model).can_run


def test_constants_beside_other_parameters_of_qlinear_where_end_the_process() -> None:
    assert not runs(parsed(WHERE))
    assert outcome(parsed(WHERE)) is not Outcome.RUNS


@pytest.mark.parametrize(("precision", "is_run"), [(0, True), (1, True), (10, True), (3, False), (16, False)])
def test_the_precision_of_quantising(precision: int, is_run: bool) -> None:
    model = parsed(f"(float[N] x, float s) => (y) {{ y = QuantizeLinear<precision = {precision}>(x, s) }}")
    model.opset_import[0].version = 23
    assert runs(model) is is_run
    assert (outcome(model) is Outcome.RUNS) is is_run
    assert absint.analyze(model, semantics="onnx").can_run


@pytest.mark.parametrize(("kind", "dtype", "is_run"), [("double", np.float64, False), ("float16", np.float16, True)])
def test_a_grid_of_a_type_without_a_kernel_is_made_by_a_function(
    kind: str, dtype: type[np.floating], is_run: bool
) -> None:
    """The function broadcasts: the batch of theta and its columns need not fit."""
    model = parsed(f"({kind}[B, 2, 4] x, int64[4] k) => (y) {{ y = AffineGrid(x, k) }}")
    model.opset_import[0].version = 20
    feeds = {"x": np.ones((2, 2, 4), dtype), "k": np.array([0, 1, 2, 3])}
    ok, reply = ENGINE.run(model.SerializeToString(), feeds)
    result = absint.analyze(model)
    assert (ok, result.can_run) == (is_run, is_run)
    assert not ok or not list(against("y", result["y"], reply[0], {"B": 2}))


@pytest.mark.parametrize(("stated", "shape"), [("-1", (1, 1, 6)), ("5", (1, 1, 5)), ("0", None), ("-2", None)])
def test_an_output_shape_that_is_left_to_the_kernel(stated: str, shape: tuple[int, ...] | None) -> None:
    """Inference refuses -1 where it sees the shapes; the kernel computes the size."""
    text = (
        f"(float[1, 1, N] x) => (y) <float[1, 1, 2] w = {{1.0, 1.0}}> {{ y = ConvTranspose<output_shape = [{stated}], "
    )
    model = parsed(text + "strides = [2]>(x, w) }")
    result = absint.analyze(model)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    ok, reply = ENGINE.run(model.SerializeToString(), {"x": np.ones((1, 1, 3), np.float32)})
    assert (ok, result.can_run) == (shape is not None, shape is not None)
    assert not ok or list(reply[0].shape) == list(shape or ()) == result.shapes["y"].evaluate({"N": 3})


@pytest.mark.parametrize(("sizes", "is_run"), [((1, 1, 0, 1), True), ((4, 0, 0, 2), True), ((1, 4, 1, 1), False)])
def test_scales_of_an_empty_normalisation(sizes: tuple[int, ...], is_run: bool) -> None:
    model = parsed("(float[A, B, C, D] x, float[S] s) => (y) { y = GroupNormalization<num_groups = 2>(x, s, s) }")
    model.opset_import[0].version = 21
    feeds = {"x": np.ones(sizes, np.float32), "s": np.ones(2, np.float32)}
    assert ENGINE.run(model.SerializeToString(), feeds)[0] is is_run
    check = absint.analyze(model).check({**dict(zip("ABCD", sizes, strict=True)), "S": 2})
    assert (check.outcome is not Outcome.ILLEGAL) is is_run


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (
            "(float[B, 3, 2, 8] q, float[B, 3, 6, 8] k, float[B, 3, 6, D] v) => (y) { y = Attention(q, k, v) }",
            {"B": 0, "D": 0},
        ),
        (
            "(float[B, 2, 2, 8] q, float[B, 3, 6, 8] k, float[B, 3, 6, D] v) => (y) { y = Attention(q, k, v) }",
            {"B": 0, "D": 2},
        ),
        ("(float[2, 4, 2, 2] q, float[2, 2] k, float[2, 2, 1, D] v) => (y) { y = Attention(q, k, v) }", {"D": 2}),
    ],
)
def test_sizes_of_attention_that_runs_as_a_function(text: str, sizes: dict[str, int]) -> None:
    model = parsed(text)
    model.opset_import[0].version = 25
    feeds = {
        info.name: np.ones([d.dim_value or sizes[d.dim_param] for d in info.type.tensor_type.shape.dim], np.float32)
        for info in model.graph.input
    }
    hidden = onnx.ModelProto()
    hidden.CopyFrom(model)
    for info in hidden.graph.input:
        info.type.tensor_type.ClearField("shape")
    ok, reply = ENGINE.run(hidden.SerializeToString(), feeds)
    result = absint.analyze(model)
    assert ok
    assert result.check(sizes).outcome is not Outcome.ILLEGAL
    assert not list(against("y", result["y"], reply[0], sizes))


def test_inputs_that_are_left_out_count() -> None:
    model = parsed('(float[3] x) => (y) { y = Clip(x, "", "") }')
    model.opset_import[0].version = 7
    assert not runs(model)
    assert outcome(model) is not Outcome.RUNS


@pytest.mark.parametrize(
    ("text", "opset", "feeds"),
    [
        (
            "(float16[B, 3, 4] x, int64[K] k) => (float16[] y) { y = AffineGrid(x, k) }",
            20,
            {"x": np.ones((0, 3, 4), np.float16), "k": np.array([0, 1, 2, 3])},
        ),
        (
            "(float[1, 1, 2, 4] x, float[] k, float[1, 1, 3, 4] v) => (float[] z, float[] y, float[] p) "
            "{ z, y, p = Attention(x, k, v) }",
            25,
            {
                "x": np.ones((1, 1, 2, 4), np.float32),
                "k": np.ones((1, 1, 1, 3, 4), np.float32),
                "v": np.ones((1, 1, 3, 4), np.float32),
            },
        ),
        (
            "(float[1, 1, 2, 4] x, float[1, 1, 3, 4] k, float[1, 1, 3, 4] v, float[N, 1, 1, 1, 3] m) => (float[] y) "
            "{ y = Attention(x, k, v, m) }",
            25,
            {
                "x": np.ones((1, 1, 2, 4), np.float32),
                "k": np.ones((1, 1, 3, 4), np.float32),
                "v": np.ones((1, 1, 3, 4), np.float32),
                "m": np.ones((4, 1, 1, 1, 3), np.float32),
            },
        ),
    ],
    ids=["AffineGrid", "Attention", "mask"],
)
def test_ranks_of_what_runs_as_a_function(text: str, opset: int, feeds: dict[str, np.ndarray]) -> None:
    model = parsed(text)
    model.opset_import[0].version = opset
    ok, reply = ENGINE.run(model.SerializeToString(), feeds)
    assert ok
    ran = dict(zip([output.name for output in model.graph.output], reply, strict=True))["y"]
    assert ran.ndim == {"AffineGrid": 4, "Attention": 5}[model.graph.node[0].op_type]
    assert not list(against("y", absint.analyze(model)["y"], ran, {"B": 0, "K": 4, "N": 4}))


def test_a_constant_in_a_later_form_runs() -> None:
    model = parsed("() => (y) { y = Constant<value_int = 4>() }", 6)
    assert runs(model)
    assert absint.analyze(model).can_run


def test_rows_of_a_weight_that_inference_does_not_see() -> None:
    """The function behind the operator is a convolution of as many groups as x has channels: here one, to two."""
    text = "(float[R, 1, 2] w) => (y, s) <float[1, 1, 3] x = {1, 1, 1}> { y, s = CausalConvWithState(x, w) }"
    model = parsed(text, 27)
    result = absint.analyze(model)
    undeclared = onnx.ModelProto()
    undeclared.CopyFrom(model)
    for info in undeclared.graph.input:
        info.type.tensor_type.ClearField("shape")
    ok, (y, _) = ENGINE.run(undeclared.SerializeToString(), {"w": np.ones((2, 1, 2), np.float32)})
    assert ok
    assert result.can_run
    assert not list(against("y", result["y"], y, {"R": 2}))


@pytest.mark.parametrize("shape", ["", "[1]", "[1, 1]"])
@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_a_range_of_halves_runs_as_a_function(shape: str, delta: float) -> None:
    """Its Loop takes any step and any rank of an end, and repeats the axes of the start."""
    model = parsed(f"(float16{shape} a, float16{shape} b) => (y) {{ d = Sub(b, a) y = Range(a, b, d) }}", 27)
    for info in model.graph.input:
        info.type.tensor_type.ClearField("shape")
    sizes = [1] * (shape.count("1"))
    feeds = {name: np.full(sizes, value, np.float16) for name, value in (("a", 1.0), ("b", 1.0 + delta))}
    result = absint.analyze(model)
    assert result.can_run
    ok, reply = ENGINE.run(model.SerializeToString(), feeds)
    if ok:
        assert not list(against("y", result["y"], reply[0], {}))
    assert ok or shape


def test_a_function_of_blocks_takes_more_axes_of_one() -> None:
    model = parsed("(int32[N, 1, 1, 1, 1] x) => (y) { y = SpaceToDepth<blocksize = 1>(x) }", 28)
    assert run_without_shapes(model, np.ones((2, 1, 1, 1, 1), np.int32)).shape == (2, 1, 1, 1)


def test_a_split_into_given_sizes_and_minus_one_outputs() -> None:
    model = parsed("(float[2] x) => (y, z) <int64[2] k = {1, 1}> { y, z = Split<num_outputs = -1>(x, k) }")
    assert run_without_shapes(model, np.ones(2, np.float32)).shape == (1,)


def test_a_split_in_a_loop_without_a_trip_has_sizes_of_inference() -> None:
    model = parsed("""(float[1] x, int64 n) => (ys) <bool go = {1}> {
        ys = Loop(n, go) <body = B (int64 i, bool c) => (bool d, y) {
            d = Identity(c)  a, y, z = Split<num_outputs = 3>(x) }>
    }""")
    ok, (ys,) = ENGINE.run(model.SerializeToString(), {"x": np.ones(1, np.float32), "n": np.array(0)})
    assert ok
    assert not list(against("ys", absint.analyze(model)["ys"], ys, {}))


def test_a_kernel_of_no_size_runs_where_inference_does_not_look() -> None:
    model = parsed(
        "(int8[A, B, C, D] x, int8[E, B, 0, 0] w, float[E] t, int8[E] u, float s, int8 z) => (y) "
        "{ y = com.microsoft.QLinearConv<channels_last = 1, kernel_shape = [0, 0]>(x, s, z, w, t, u, s, z) }"
    )
    assert absint.analyze(model).can_run
