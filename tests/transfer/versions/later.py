"""Cases of forms since opset 6 that the families have in fewer than five bindings, or inside of tests only."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from tests.transfer.harness import Arg, Case, sizes
from tests.transfer.test_ai_onnx_ml import SVM, tree_ensemble

F, D, I32, I64, U8, B, S = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.BOOL,
    TensorProto.STRING,
)
N = sizes(N=[0, 1, 2, 3, 5])
NM = sizes(N=[0, 1, 2, 5], M=[1, 4])
ML = "ai.onnx.ml"


def positive(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.1, 0.9, shape)


PIXELS = [{"K": 17 + 3 * pixels} for pixels in (1, 2, 3, 6, 12)]


def picture(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """A portable pixmap: a header of 17 bytes and three for each pixel, in two rows where that fits."""
    pixels = (shape[0] - 17) // 3
    rows = 1 + (pixels % 2 == 0)
    data = rng.integers(0, 256, 3 * pixels).astype(np.uint8).tobytes()
    return np.frombuffer(f"P6 {pixels // rows:4d} {rows:4d} 255\n".encode() + data, np.uint8)


ELEMENTWISE = {
    6: "Abs Ceil Elu Exp Floor HardSigmoid LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid Softplus Softsign Sqrt Tanh",
    7: "Acos Asin Atan Cos Sin Tan",
    9: "Acosh Asinh Atanh Cosh Erf Shrink Sign Sinh",
    10: "ThresholdedRelu",
    12: "Celu",
    14: "HardSwish",
    18: "Mish",
    20: "Gelu",
    24: "Swish",
}

UNARY = [
    Case(name, [Arg(["N", "M", 2], data=positive)], opset=opset, bindings=NM, expect=["[N, M, 2]"])
    for opset, names in ELEMENTWISE.items()
    for name in names.split()
]

BINARY = [
    Case(name, [Arg(["N", 1], dtype), Arg(["M"], dtype)], opset=opset, bindings=NM, expect=["[N, M]"])
    for name, opset, dtype in (
        ("Sub", 7, F),
        ("Less", 7, F),
        ("Greater", 7, F),
        ("GreaterOrEqual", 12, F),
        ("And", 7, B),
        ("Or", 7, B),
        ("Xor", 7, B),
        ("BitwiseOr", 18, U8),
    )
]

MORE = [
    Case("BitCast", [Arg(["N", "M"])], {"to": I32}, opset=26, bindings=NM, expect=["[N, M]"]),
    *(Case("ArgMin", [Arg(["N", 3])], {"axis": 1}, opset=v, bindings=N, expect=["[N, 1]"]) for v in (1, 11, 12, 13)),
    Case("Bernoulli", [Arg(["N", "M"], data=positive)], opset=15, bindings=NM, expect=["[N, M]"]),
    *(Case("Constant", [], {"value": numpy_helper.from_array(np.zeros(shape, np.float32))}, opset=1,
           expect=[str(list(shape))]) for shape in ((), (0,), (1,), (2, 3), (2, 0, 1), (1200,))),
    *(Case(name, [], {"shape": shape}, opset=1, expect=[str(shape)])
      for name in ("RandomNormal", "RandomUniform") for shape in ([0], [1], [7], [2, 3], [2, 0, 1])),
    *(Case("ImageDecoder", [Arg(["K"], U8, data=picture)], {"pixel_format": kind}, bindings=PIXELS,
           expect=[f"[?, ?, {channels}]"]) for kind, channels in (("RGB", 3), ("BGR", 3), ("Grayscale", 1))),
    Case("Optional", [Arg(["N", "M"])], opset=28, bindings=NM),
    Case("OptionalGetElement", [Arg(["N", "M"])], opset=28, bindings=NM, expect=["[N, M]"]),
    Case("OptionalHasElement", [Arg(["N", "M"])], opset=28, bindings=NM, expect=["[]"]),
    Case("LinearAttention", [Arg(["B", "S", 8]), Arg(["B", "S", 4]), Arg(["B", "S", 6]), Arg(["B", 1, 4, 6])],
         {"q_num_heads": 2, "kv_num_heads": 1, "update_rule": "linear"}, outputs=2, opset=27, ranked=True,
         bindings=sizes(B=[1, 2, 3], S=[1, 3, 4]), expect=["[B, S, 12]", "[B, 1, 4, 6]"]),
    Case("SVMRegressor", [Arg(["N", 3])], {**SVM, "n_supports": 2, "rho": [1.0]}, opset=1, domain=ML, bindings=N,
         expect=["[N, 1]"]),
    Case("TreeEnsemble", [Arg(["N", 3])], tree_ensemble(), opset=5, domain=ML, bindings=N, expect=["[N, 2]"]),
    Case("ConvInteger", [Arg(["N", 2, "M"], U8), Arg([3, 2, 2], U8)], bindings=sizes(N=[1, 2], M=[2, 3, 5]),
         opset=10, expect=["[N, 3, M - 1]"]),
    Case("CumProd", [Arg(["N", "M"]), Arg(elements=0, dtype=I64)], opset=26, bindings=NM, expect=["[N, M]"]),
    Case("DeformConv", [Arg([1, 1, "H", "W"]), Arg([1, 1, 2, 2]), Arg([1, 8, "H - 1", "W - 1"])],
         bindings=sizes(H=[2, 3, 5], W=[2, 4]), opset=19, expect=["[1, 1, H - 1, W - 1]"]),
    Case("GridSample", [Arg(["N", 2, 4, 5]), Arg(["N", "H", "W", 2])], bindings=sizes(N=[1, 2], H=[1, 3], W=[2, 5]),
         opset=16, expect=["[N, 2, H, W]"]),
    Case("GroupNormalization", [Arg(["N", 4, "M"]), Arg([4]), Arg([4])], {"num_groups": 2}, bindings=NM, opset=21,
         expect=["[N, 4, M]"]),
    Case("MaxRoiPool", [Arg([1, 2, "H", "W"]), Arg(["R", 5], data=lambda s, r: np.tile([0, 0, 0, 2, 2], (s[0], 1)))],
         {"pooled_shape": [2, 3]}, bindings=sizes(H=[4, 6], W=[5], R=[0, 1, 4]), opset=1, expect=["[R, 2, 2, 3]"]),
    Case("MelWeightMatrix",
         [Arg(elements=e, dtype=t) for e, t in (("N", I64), ("M", I64), (8000, I64), (20.0, F), (3000.0, F))],
         bindings=sizes(N=[2, 3, 8], M=[16, 33]), opset=17),
    Case("QLinearConv",
         [Arg([1, 1, "N"], U8), Arg(elements=0.1), Arg(elements=3, dtype=U8), Arg([2, 1, 2], U8), Arg(elements=0.1),
          Arg(elements=3, dtype=U8), Arg(elements=0.2), Arg(elements=3, dtype=U8)],
         bindings=sizes(N=[2, 3, 4, 5, 9]), opset=10, expect=["[1, 2, N - 1]"]),
    *(Case("QLinearMatMul",
           [Arg(["N", 3], U8), Arg(elements=0.1), Arg(elements=3, dtype=U8), Arg([3, "M"], U8), Arg(elements=0.1),
            Arg(elements=3, dtype=U8), Arg(elements=0.2), Arg(elements=3, dtype=U8)],
           bindings=NM, opset=v, expect=["[N, M]"]) for v in (10, 21)),
    *(Case("RNN", [Arg(["N", "M", 3]), Arg([1, 2, 3]), Arg([1, 2, 2])], {"hidden_size": 2}, outputs=2, opset=v,
           bindings=NM, expect=["[N, 1, M, 2]", "[1, M, 2]"]) for v in (7, 14, 22)),
    *(Case(name, [Arg(["N", "M"])], opset=1, bindings=NM, expect=["[N, M]"])
      for name in ("RandomNormalLike", "RandomUniformLike")),
    Case("RegexFullMatch", [Arg(["N", "M"], S)], {"pattern": "a."}, opset=20, bindings=NM, expect=["[N, M]"]),
    Case("RoiAlign",
         [Arg([1, "C", 8, 8]), Arg(["R", 4], data=lambda s, r: np.tile([0, 0, 4, 4], (s[0], 1))),
          Arg(["R"], I64, low=0, high=1)],
         {"output_height": 2, "output_width": 3}, bindings=sizes(C=[1, 3], R=[0, 1, 4]), opset=10,
         expect=["[R, C, 2, 3]"]),
    *(Case(name, [Arg(["N", 3]), Arg(["M", 3], I64, low=0, high=1), Arg(["M", 3])], {"axis": 0}, opset=v,
           bindings=sizes(N=[1, 2, 5], M=[1, 3]), expect=["[N, 3]"])
      for name, v in (("Scatter", 9), ("ScatterElements", 11))),
    Case("Unsqueeze", [Arg(["N", "M"])], {"axes": [1]}, opset=1, bindings=NM, expect=["[N, 1, M]"]),
    Case("Binarizer", [Arg(["N", "M"])], {"threshold": 0.5}, opset=1, domain=ML, bindings=NM, expect=["[N, M]"]),
    Case("FeatureVectorizer", [Arg(["N", 2]), Arg(["N", 3])], {"inputdimensions": [2, 3]}, opset=1, domain=ML,
         bindings=sizes(N=[1, 2, 3, 4, 5])),
    Case("LabelEncoder", [Arg(["N", "M"], S)], {"classes_strings": ["ab", "c"]}, opset=1, domain=ML, bindings=NM,
         expect=["[N, M]"]),
    Case("LinearRegressor", [Arg(["N", 2])], {"coefficients": [1.0, 2.0], "intercepts": [0.5], "targets": 1}, opset=1,
         domain=ML, bindings=N),
]  # fmt: skip
