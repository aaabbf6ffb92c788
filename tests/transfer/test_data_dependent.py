"""Boxes, strings and images, executed."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

I64, I32, F32, STRING = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.STRING
BOXES = [Arg(["B", "S", 4]), Arg(["B", "C", "S"])]
LIMIT = Arg(elements=[2], dtype=I64)
SIZES = sizes(B=[0, 1, 2], S=[0, 1, 5], C=[0, 2])
TF = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0]}
POOL = {"ngram_indexes": [0, 5, 2], "pool_int64s": [1, 2, 3]}


def words(dims: list[object], text: str = "a b") -> Arg:
    import numpy as np

    return Arg(dims, STRING, data=lambda shape, rng: np.full(shape, text, dtype=object))  # type: ignore[arg-type]


CASES = [
    Case("NonMaxSuppression", [*BOXES, LIMIT], opset=11, bindings=SIZES, expect=["[?, 3]"]),
    Case("NonMaxSuppression", [*BOXES, LIMIT], opset=10, bindings=SIZES, expect=["[?, 3]"]),
    Case("NonMaxSuppression", BOXES, opset=11, bindings=SIZES, expect=["[0, 3]"]),
    Case("NonMaxSuppression", [*BOXES, Arg(elements=-4, dtype=I64)], opset=11, bindings=SIZES, expect=["[0, 3]"]),
    Case(
        "NonMaxSuppression",
        [*BOXES, Arg([1], I64), Arg(elements=[0.5], dtype=F32), Arg([1])],
        bindings=SIZES,
        expect=["[?, 3]"],
    ),
    Case(
        "NonMaxSuppression",
        [*BOXES, Arg([1], I64), Arg([1], data=lambda s, r: r.uniform(-1, 2, s))],
        bindings=SIZES,
        expect=["[?, 3]"],
    ),
    Case(
        "NonMaxSuppression",
        [Arg(["B", "S", "D"]), Arg(["A", "C", "T"]), LIMIT],
        bindings=sizes(B=[1], S=[3], D=[4, 3], A=[1, 2], C=[1], T=[3, 2]),
    ),
    Case(
        "NonMaxSuppression",
        [Arg(["B", "S", 4], unknown_rank=True), Arg(["B", "C", "S"]), LIMIT],
        bindings=SIZES,
        expect=["[?, 3]"],
    ),
    # onnxruntime rejects an empty input, for which the spec gives one empty string.
    Case("StringNormalizer", [words(["C"])], {"locale": "C"}, bindings=sizes(C=[0, 1, 3]), expect=["[max(C, 1)]"]),
    Case(
        "StringNormalizer", [words([1, "C"])], {"locale": "C"}, bindings=sizes(C=[0, 1, 3]), expect=["[1, max(C, 1)]"]
    ),
    Case(
        "StringNormalizer",
        [words(["R", "C"])],
        {"locale": "C"},
        bindings=sizes(R=[0, 1, 2], C=[1, 3]),
        expect=["[R, max(C, 1)]"],
    ),
    Case(
        "StringNormalizer",
        [words(["C"])],
        {"locale": "C", "stopwords": ["a b"]},
        bindings=sizes(C=[1, 3]),
        expect=["[?]"],
    ),
    Case(
        "StringNormalizer",
        [words([1, "C"])],
        {"locale": "C", "stopwords": ["x"]},
        bindings=sizes(C=[1, 3]),
        expect=["[1, ?]"],
    ),
    Case(
        "StringNormalizer",
        [Arg(["C"], STRING, unknown_rank=True)],
        {"locale": "C"},
        bindings=sizes(C=[1, 3]),
        expect=["?"],
    ),
    Case("TfIdfVectorizer", [Arg(["C"], I64)], {**TF, **POOL}, bindings=sizes(C=[0, 1, 3]), expect=["[6]"]),
    Case(
        "TfIdfVectorizer",
        [Arg(["B", "C"], I32)],
        {**TF, **POOL},
        bindings=sizes(B=[0, 1, 2], C=[0, 1, 3]),
        expect=["[B, 6]"],
    ),
    Case("TfIdfVectorizer", [Arg([], I64)], {**TF, **POOL}, expect=["[6]"]),
    Case("TfIdfVectorizer", [Arg(["C"], I64, unknown_rank=True)], {**TF, **POOL}, bindings=sizes(C=[3]), expect=["?"]),
    Case(
        "StringSplit",
        [words(["N", "M"])],
        outputs=2,
        bindings=sizes(N=[0, 2], M=[0, 1, 3]),
        expect=["[N, M, ?]", "[N, M]"],
    ),
    Case("StringSplit", [words([], "a b c")], {"maxsplit": 1, "delimiter": " "}, outputs=2, expect=["[?]", "[]"]),
    Case("StringSplit", [words(["N"], "")], outputs=2, bindings=sizes(N=[0, 2]), expect=["[N, ?]", "[N]"]),
    Case("StringConcat", [words(["N", 1]), words(["M"])], bindings=sizes(N=[0, 1, 3], M=[0, 1, 2]), expect=["[N, M]"]),
    Case("StringConcat", [words(["N"]), words(["M"])], bindings=sizes(N=[0, 1, 3], M=[0, 1, 2, 3])),
    Case("RegexFullMatch", [words(["N", "M"])], {"pattern": "a.*"}, bindings=sizes(N=[0, 3], M=[1]), expect=["[N, M]"]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    Case("NonMaxSuppression", [Arg([5, 4]), BOXES[1], LIMIT], bindings=SIZES),
    Case("NonMaxSuppression", [Arg(["B", "S", 3]), BOXES[1], LIMIT], bindings=sizes(B=[1], S=[3], C=[1])),
    Case("NonMaxSuppression", [*BOXES, LIMIT, Arg(elements=[1.5], dtype=F32)], bindings=sizes(B=[1], S=[3], C=[1])),
    Case("StringNormalizer", [words([1, 1, 2])], {"locale": "C"}),
    Case("StringNormalizer", [words([2, 2])], {"locale": "C"}),
    Case("TfIdfVectorizer", [Arg([1, 2, 3], I64)], {**TF, **POOL}),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def test_no_more_boxes_than_asked_for() -> None:
    (bound,) = [s.relation for s in apply_case(Case("NonMaxSuppression", [*BOXES, LIMIT])).statements]
    at_most_two = {"B": 3, "C": 4, "S": 100}
    assert bound.evaluate({**at_most_two, "%hole:selected": 24})
    assert not bound.evaluate({**at_most_two, "%hole:selected": 25})


def test_image_channels() -> None:
    assert str(apply_case(Case("ImageDecoder", [Arg(["N"], TensorProto.UINT8)])).outputs[0]) == "Tensor(UINT8[?, ?, 3])"
    gray = Case("ImageDecoder", [Arg(["N"], TensorProto.UINT8)], {"pixel_format": "Grayscale"})
    assert str(apply_case(gray).outputs[0]) == "Tensor(UINT8[?, ?, 1])"
