"""Cases of the forms that operators had before opset 7."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, sizes

F, I32, I64, U32, B = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.BOOL
N = sizes(N=[0, 1, 2, 3, 5])
NM = sizes(N=[0, 1, 2, 5], M=[0, 1, 4])


def positive(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.5, 2, shape)


def nonzero(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 7, shape)


def some(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 4, shape)


def limited(name: str, opset: int, dtype: int) -> list[Case]:
    """The forms of two inputs that do not broadcast as numpy does."""
    legacy = {"consumed_inputs": [0, 0]} if opset == 1 and name in ("Add", "Sub", "Mul", "Div") else {}
    data = positive if dtype == F else nonzero if dtype == I32 else None

    def case(a: list[Any], b: list[Any], expect: str, **attributes: int) -> Case:
        args = [Arg(a, dtype, data=data), Arg(b, dtype, data=data)]
        return Case(name, args, {**legacy, **attributes}, opset=opset, bindings=NM, expect=[expect])

    return [
        case(["N", 2], ["N", 2], "[N, 2]"),
        case(["N", 2], ["M", 2], "[M, 2]"),
        case([2, "N", 3], [], "[2, N, 3]", broadcast=1),
        case([2, "N", 3], [1, 1], "[2, N, 3]", broadcast=1),
        case([2, "N", 3], ["M", 3], "[2, N, 3]", broadcast=1),
        case([2, "N", 3], ["M"], "[2, N, 3]", broadcast=1, axis=1),
        case(["N", "M", 2], ["M", "N"], "[N, M, 2]", broadcast=1, axis=0),
        case(["N", 2], ["M", 2], "[N, 2]", broadcast=1, axis=0),
    ]


LIMITED = [
    *(case for name in ("Add", "Sub", "Mul", "Div") for case in limited(name, 1, F) + limited(name, 6, I32)),
    *(case for name in ("Pow", "Less", "Greater") for case in limited(name, 1, F)),
    *(case for name in ("And", "Or", "Xor") for case in limited(name, 1, B)),
    *limited("Equal", 1, I32),
]


def known(name: str, a: list[Any], b: Any, contents: str | None, **attributes: int) -> Case:
    """Elements that are known, in opset 6."""
    args = [Arg(elements=a, dtype=I64), Arg(elements=b, dtype=I64)]
    return Case(name, args, attributes, opset=6, bindings=sizes(N=[0, 1, 2, 5], M=[1, 4]), contents=contents)


LIMITED_CONTENTS = [
    known("Add", ["N", 2], ["M", -3], "[M + N, -1]"),
    known("Mul", ["N", 2], 3, "[3*N, 6]", broadcast=1),
    known("Sub", [["N", 2], [3, 4]], ["M", 1], "[[N - M, 1], [3 - M, 3]]", broadcast=1),
    known("Sub", [["N", 2], [3, 4]], ["M", 1], None, broadcast=1, axis=0),
    known("Mul", [["N", 2], [3, 4]], [2, "M"], "[[2*N, 2*M], [6, 4*M]]", broadcast=1, axis=1),
    known("Div", ["N", 7], [2, "M"], "[N//2, 7//M]"),
    known("Div", ["N", 7], 2, "[N//2, 3]", broadcast=1),
    known("Equal", ["N", 2], [-1, 2], "[false, true]"),
    known("Equal", ["N", 2], [5], None, broadcast=1),
]

VARIADIC = [
    Case(name, args, {"consumed_inputs": [0, 0]}, opset=1, bindings=NM, expect=[expect])
    for name in ("Max", "Min", "Sum", "Mean")
    for args, expect in (
        ([Arg(["N", 2])], "[N, 2]"),
        ([Arg(["N", 2])] * 3, "[N, 2]"),
        ([Arg(["N", 2]), Arg(["M", 2])], "[M, 2]"),
    )
]

FIRST_UNARY = "Abs Ceil Clip Elu Exp Floor HardSigmoid LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid Sqrt Tanh"

UNARY = [
    Case(name, [Arg(["N", "M", 2], data=positive)], attributes, opset=1, bindings=NM, expect=["[N, M, 2]"])
    for name in (*FIRST_UNARY.split(), "Softplus", "Softsign")
    for attributes in ({}, *([{"consumed_inputs": [0]}] if name in FIRST_UNARY.split() else []))
]

OTHERS = [
    Case("Clip", [Arg(["N"])], {"min": 0.25, "max": 0.5}, opset=1, bindings=N, expect=["[N]"]),
    *(
        Case("Dropout", [Arg(["N", 2])], {"is_test": t}, outputs=2, opset=v, bindings=N, expect=["[N, 2]"] * 2)
        for t in (0, 1)
        for v in (1, 6)
    ),
    *(Case("PRelu", [Arg(["N", 3, "M"]), Arg(slope)], opset=v, bindings=NM, expect=["[N, 3, M]"])
      for slope in ([3], [1]) for v in (1, 6)),
    *(Case("Cast", [Arg(["N", "M"])], {"to": to}, opset=1, bindings=NM, expect=["[N, M]"])
      for to in ("INT64", "BOOL", "DOUBLE", "FLOAT16")),
    Case("Reshape", [Arg(["N", "M", 2])], {"shape": [0, -1]}, opset=1, bindings=NM, expect=["[N, 2*M]"]),
    Case("Reshape", [Arg(["N", "M"])], {"shape": [-1], "consumed_inputs": [0]}, opset=1, bindings=NM, expect=["[M*N]"]),
    Case("Reshape", [Arg(["N", 6])], {"shape": [0, 2, 3]}, opset=1, bindings=N, expect=["[N, 2, 3]"]),
    Case("Tile", [Arg(["N", 2]), Arg(elements=[3.0]), Arg(elements=[0.0])], opset=1, bindings=N,
         expect=["[3*N, 2]"]),
    Case("Tile", [Arg(["N", 2]), Arg(elements=2.0), Arg(elements=1.0)], opset=1, bindings=N,
         expect=["[N, 4]"]),
    Case("Tile", [Arg(["N", 2]), Arg([1], data=some), Arg(elements=[1.0])], opset=1, bindings=N),
    Case("Tile", [Arg(["N", 2]), Arg([1], data=some), Arg([1], data=lambda s, r: r.integers(0, 2, s))], opset=1,
         bindings=N),
    *(Case("Split", [Arg(["N", 5])], {"axis": axis, "split": [2, 3]}, outputs=2, opset=1,
           bindings=sizes(N=[0, 1, 4, 5, 6]), expect=expect)
      for axis, expect in ((1, ["[N, 2]", "[N, 3]"]), (0, ["[2, 5]", "[3, 5]"]))),
    Case("Split", [Arg(["N", 3])], {"axis": 0}, outputs=2, opset=1, bindings=sizes(N=[0, 1, 2, 3, 4, 6, 8]),
         expect=["[N//2, 3]", "[N//2, 3]"]),
    Case("Split", [Arg(["N", 5]), Arg(elements=[2.0, 3.0])], {"axis": 1}, outputs=2, opset=1, bindings=N),
    Case("Split", [Arg(["N", 5]), Arg([2], data=lambda s, r: np.array([1.0, 4.0]))], {"axis": 1}, outputs=2, opset=1,
         bindings=N),
    Case("Concat", [Arg(["N", "M"]), Arg(["N", 3])], opset=1, bindings=NM, expect=["[N, M + 3]"]),
    Case("Concat", [Arg(["N", 2]), Arg(["M", 2])], {"axis": 0}, opset=1, bindings=NM, expect=["[M + N, 2]"]),
    *(Case("Pad", [Arg(["N", 3])], {"paddings": [1, 0, 2, 1], **mode}, opset=1, bindings=N, expect=["[N + 3, 4]"])
      for mode in ({}, {"value": 1.5}, {"mode": "edge"})),
    Case("Upsample", [Arg(["N", 2, "M", 3])], {"height_scale": 2.0, "width_scale": 1.5}, opset=1, bindings=NM,
         expect=["[N, 2, 2*M, 4]"]),
    Case("Upsample", [Arg(["N", 1, "M", "M"])], {"height_scale": 1.25, "width_scale": 3.0}, opset=1, bindings=NM,
         expect=["[N, 1, M + M//4, 3*M]"]),
    *(Case("Gemm", [Arg(a), Arg(b), Arg(c)], {"transA": t, "transB": u, "broadcast": w}, opset=v,
           bindings=[{**b, "K": k} for b in NM for k in (1, 4)], expect=["[N, M]"])
      for v in (1, 6)
      for a, b, t, u in ((["N", 3], [3, "M"], 0, 0), ([3, "N"], ["M", 3], 1, 1))
      for c, w in ((["N", "M"], 0), (["N", "K"], 0), (["M"], 1), (["K"], 1), ([1], 1), ([], 1))),
    *(Case("BatchNormalization", [Arg(["N", 3, "M"]), *[Arg([3], data=positive)] * 4], legacy, outputs=5, opset=v,
           bindings=NM, expect=["[N, 3, M]", *["[3]"] * 4])
      for v, legacy in ((1, {"consumed_inputs": [0, 0, 0, 1, 1]}), (6, {}))),
    *(Case("BatchNormalization", [Arg(["N", 3, "M"]), *[Arg([3], data=positive)] * 4], {**legacy, "is_test": 1},
           opset=v, bindings=NM, expect=["[N, 3, M]"])
      for v, legacy in ((1, {"consumed_inputs": [0, 0, 0, 1, 1]}), (6, {}))),
    *(Case("BatchNormalization", [Arg(["N", 3, 2]), *[Arg([3, 2], data=positive)] * 4],
           {**legacy, "is_test": 1, "spatial": 0}, opset=v, bindings=N, expect=["[N, 3, 2]"])
      for v, legacy in ((1, {"consumed_inputs": [0, 0, 0, 1, 1]}), (6, {}))),
    Case("InstanceNormalization", [Arg(["N", 3, "M"]), Arg([3]), Arg([3])], {"consumed_inputs": [0, 0, 0]}, opset=1,
         bindings=NM, expect=["[N, 3, M]"]),
    Case("GlobalLpPool", [Arg(["N", 2, "M", 3])], {"p": 3.0}, opset=1, bindings=NM, expect=["[N, 2, 1, 1]"]),
    Case("LpPool", [Arg(["N", 2, "M"])], {"kernel_shape": [2], "strides": [2]}, opset=1,
         bindings=sizes(N=[1, 3], M=[2, 3, 4, 7])),
    Case("RNN", [Arg(["N", "M", 3]), Arg([1, 2, 3]), Arg([1, 2, 2])], {"hidden_size": 2, "output_sequence": 1},
           outputs=2, opset=1, bindings=NM, expect=["[N, 1, M, 2]", "[1, M, 2]"]),
]  # fmt: skip
