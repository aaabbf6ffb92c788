"""Claims about operators of onnxruntime-extensions, which is not installed here."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from absint.transfer.contrib import extensions
from absint.transfer.rule import rules_of
from tests.transfer.harness import Arg, Case, apply_case, shape_text

I64, U8, STRING, BOOL = TensorProto.INT64, TensorProto.UINT8, TensorProto.STRING, TensorProto.BOOL
TEXTS, TEXT = Arg(["N"], STRING), Arg([1], STRING)
IMAGE = Arg(["H", "W", 3], U8)


def own(op: str, *inputs: Arg, expect: list[str], domain: str = extensions.CONTRIB, **attributes: object) -> Case:
    return Case(op, list(inputs), attributes, len(expect), expect=expect, domain=domain, opset=1)


CASES = [
    own("DecodeImage", Arg(["N"], U8), expect=["[?, ?, 3]"]),
    own("DecodeImage", Arg(["N"], U8), expect=["[?, ?, 3]"], domain=extensions.EXTENSIONS),
    own("EncodeImage", IMAGE, expect=["[?]"]),
    own("DrawBoundingBoxes", IMAGE, Arg(["K", 6]), expect=["[H, W, 3]"]),
    own("ImageReader", TEXT, expect=["[1, ?, ?, ?]"]),
    own("AudioDecoder", Arg([1, "N"], U8), expect=["[1, ?]", "[1]"]),
    own("GPT2Tokenizer", TEXTS, expect=["[N, 7]"] * 2, padding_length=7),
    own("GPT2Tokenizer", Arg([], STRING), expect=["[7]"], padding_length=7),
    own("RobertaTokenizer", TEXTS, expect=["[N, 7]", "[N, 7]", "[N, 7, 2]"], padding_length=7),
    own("HfJsonTokenizer", TEXTS, expect=["?"]),
    own("TrieTokenizer", TEXTS, expect=["[N, ?]"]),
    own("SentencepieceDecoder", Arg(["N"], I64), expect=["[1]"]),
    own("BpeDecoder", Arg(["B", "N"], I64), expect=["[B]"]),
    own("BpeDecoder", Arg(["N"], I64), expect=["[1]"]),
    own("BertTokenizerDecoder", Arg(["N"], I64), Arg([0, 2], I64), expect=["[1]"]),
    own("BertTokenizerDecoder", Arg(["N"], I64), Arg(["K", 2], I64), expect=["[?]"], use_indices=1),
    own("WordpieceTokenizer", TEXTS, Arg(["R"], I64), expect=["[?]"] * 4),
    own("BlingFireSentenceBreaker", TEXT, expect=["[?]"]),
    *(own(op, Arg(["N", "M"], STRING), expect=["[N, M]"]) for op in ("StringUpper", "StringLower", "StringStrip")),
    own("StringMapping", TEXTS, expect=["[N]"]),
    own("StringECMARegexReplace", TEXTS, TEXT, TEXT, expect=["[N]"]),
    own("StringToHashBucket", TEXTS, Arg([1], I64), expect=["[N]"]),
    own("StringToHashBucketFast", TEXTS, Arg([1], I64), expect=["[N]"]),
    own("StringECMARegexSplitWithOffsets", TEXTS, TEXT, TEXT, expect=["[?]", "[?]", "[?]", "[N + 1]"]),
    own("SpmTokenizer", TEXTS, expect=["[N, 7]"] * 2, padding_length=7),
    own("BasicTokenizer", TEXT, expect=["[?]"]),
    own("TrieDetokenizer", Arg(["B", "N"], I64), expect=["[B]"]),
    own("RaggedTensorToDense", *[Arg(["N"], I64)] * 4, expect=["[?, ?]"]),
    own("StringRaggedTensorToDense", Arg(["N"], I64), TEXTS, TEXT, Arg(["R"], I64), expect=["[?, ?]"]),
    own("GaussianBlur", Arg([1, "H", "W", 3]), Arg([2], I64), Arg([2]), expect=["[1, H, W, 3]"]),
    own("StringRegexReplace", TEXTS, TEXT, TEXT, expect=["[N]"]),
    own("StringLength", TEXTS, expect=["[N]"]),
    own("StringConcat", TEXTS, TEXTS, expect=["[N]"]),
    own("StringEqual", TEXTS, TEXTS, expect=["[N]"]),
    own("StringEqual", TEXTS, TEXT, expect=["?"]),
    own("StringJoin", Arg(["N", "M"], STRING), TEXT, Arg(elements=[1], dtype=I64), expect=["[N]"]),
    own("StringJoin", Arg(["N", "M"], STRING), TEXT, Arg([1], I64), expect=["[?]"]),
    own("StringJoin", TEXTS, TEXT, Arg([1], I64), expect=["[1]"]),
    own("StringRegexSplitWithOffsets", TEXTS, TEXT, TEXT, expect=["[?]", "?", "?"]),
    own("StringToVector", TEXTS, expect=["[N, ?]"]),
    own("VectorToString", Arg(["N", 4], I64), expect=["[N]"]),
    own("VectorToString", Arg(["N"], I64), expect=["?"]),
    own("RaggedTensorToSparse", Arg(["N"], I64), expect=["[?, 2]", "[2]"]),
    own("NegPos", Arg(["N", 2]), expect=["[N, 2]"] * 2),
    own("Inverse", Arg(["N", "N"]), expect=["[N, N]"]),
    own("StftNorm", Arg([1, "N"]), expect=["[1, ?, ?]"]),
    own("SegmentSum", Arg(["N", 3]), Arg(["N"], I64), expect=["[?, 3]"]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_claims(case: Case) -> None:
    applied = apply_case(case)
    assert applied.rejected is None
    assert case.expect == [shape_text(value) for value in applied.outputs[: case.outputs]]


@pytest.mark.parametrize(
    ("op", "inputs", "shapes"),
    [
        ("CLIPTokenizer", [TEXTS], "[N, ?] [N, ?] [N, ?, 2]"),
        ("BertTokenizer", [TEXTS], "[?] [?] [?] [?, 2]"),
        ("HfBertTokenizer", [TEXTS], "[1, ?] [1, ?] [1, ?] [?, 2]"),
        ("SentencepieceTokenizer", [TEXTS], "[?] [N + 1] [?]"),
        ("StringSplit", [TEXTS, TEXT, Arg([1], BOOL)], "[?, 2] [?] [2]"),
        ("StringRegexSplitWithOffsets", [TEXTS, TEXT, TEXT], "[?] [?] [?] [N + 1]"),
        ("SegmentExtraction", [Arg(["N"], I64)], "[?, 2] [?]"),
        ("MaskedFill", [TEXTS, Arg(["N"], BOOL)], "[?]"),
    ],
)
def test_outputs_share_a_number(op: str, inputs: list[Arg], shapes: str) -> None:
    expected = shapes.replace("] [", "];[").split(";")
    applied = apply_case(Case(op, inputs, {}, len(expected), domain=extensions.CONTRIB, opset=1))
    holes = {s for value in applied.outputs for d in value.shape for s in d.symbols if s.name not in "NHW"}  # type: ignore[attr-defined]
    assert len(holes) == 1
    assert [shape_text(value) for value in applied.outputs] == expected


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("EncodeImage", [Arg(["H", "W", 4], U8)]),
        ("DrawBoundingBoxes", [IMAGE, Arg(["K", 5])]),
        ("StringConcat", [Arg([2], STRING), Arg([3], STRING)]),
        ("StringJoin", [Arg([2, 3], STRING), TEXT, Arg(elements=[2], dtype=I64)]),
        ("StringSplit", [Arg([2, 3], STRING), TEXT, Arg([1], BOOL)]),
    ],
)
def test_rejected(op: str, inputs: list[Arg]) -> None:
    assert apply_case(Case(op, inputs, domain=extensions.CONTRIB, opset=1)).rejected is not None


def test_no_rule_promises_what_was_not_run() -> None:
    libraries = [rule for rule in rules_of(extensions) if rule.domain in (extensions.CONTRIB, extensions.EXTENSIONS)]
    assert libraries
    assert not any(rule.complete for rule in libraries)


def test_a_plugin_of_tensorrt_in_its_own_domain() -> None:
    case = Case("EfficientNMS_TRT", [Arg(["B", "N", 4]), Arg(["B", "N", 80])], {"max_output_boxes": 9}, 4, domain="TRT")
    shapes = [shape_text(value) for value in apply_case(case).outputs]
    assert shapes == ["[B, 1]", "[B, 9, 4]", "[B, 9]", "[B, 9]"]
