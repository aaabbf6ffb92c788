"""onnxruntime-extensions: images, sound, tokenizers and strings. What data decide of the sizes stays unknown.

Source: its operators' kernels and documentation. Its library must be loaded, which the rules do not ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import le
from absint.lattices.records import changed
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims, require_dims, require_like, sizes
from absint.transfer.op import Op
from absint.transfer.rule import Rule, rule

CONTRIB: Final = "ai.onnx.contrib"
EXTENSIONS: Final = "com.microsoft.extensions"
"""The domain of its newer operators, which has the tokenizers too."""


def _also(found: Rule) -> Rule:
    """The rule in the newer domain."""
    return changed(found, domain=EXTENSIONS)


# Images and sound


@rule("DecodeImage ImageDecoder", inputs="encoded", domain=CONTRIB)
def decode_image(op: Op) -> Tensor:
    """An image (height, width, 3)."""
    return of_dims(DType.UINT8, UNKNOWN_SIZE, UNKNOWN_SIZE, 3)


@rule("EncodeImage", inputs="image", domain=CONTRIB)
def encode_image(op: Op) -> Tensor:
    """The bytes of an encoded image (height, width, 3)."""
    require_dims(op, "image", *sizes(op, "image", 3)[:2], 3)
    return of_dims(DType.UINT8, UNKNOWN_SIZE)


@rule("DrawBoundingBoxes", inputs="image boxes", domain=CONTRIB)
def draw_bounding_boxes(op: Op) -> Tensor:
    """An image (height, width, 3) with n boxes (n, 6)."""
    height, width, _ = sizes(op, "image", 3)
    require_dims(op, "image", height, width, 3)
    require_dims(op, "boxes", sizes(op, "boxes", 2)[0], 6)
    return of_dims(DType.UINT8, height, width, 3)


@rule("ImageReader", inputs="path", domain=CONTRIB)
def image_reader(op: Op) -> Tensor:
    """The image of a file: (1, height, width, channels)."""
    return of_dims(DType.UINT8, 1, UNKNOWN_SIZE, UNKNOWN_SIZE, UNKNOWN_SIZE)


@rule("AudioDecoder", inputs="encoded format", outputs="samples rate", domain=CONTRIB)
def audio_decoder(op: Op) -> Sequence[Tensor]:
    """Samples (1, n), and their rate."""
    return of_dims(DType.FLOAT, 1, UNKNOWN_SIZE), of_dims(DType.INT64, 1)


# Tokenizers


def _with_axis(shape: Shape, size: Dim) -> Shape:
    return TOP_SHAPE if shape.is_top else shape_of((*shape, size))


@rule(
    "GPT2Tokenizer CLIPTokenizer RobertaTokenizer SpmTokenizer",
    inputs="text add_special_tokens",
    outputs="input_ids attention_mask offset_mapping",
    domain=CONTRIB,
)
def bpe_tokenizer(op: Op) -> Sequence[Tensor]:
    """Tokens of each string on a new last axis, as many as the longest has, or as padding_length says."""
    padding = op.integer("padding_length", -1)
    tokens = _with_axis(op.tensor("text").shape, const(padding) if padding > 0 else op.fresh("tokens"))
    return Tensor(DType.INT64, tokens), Tensor(DType.INT64, tokens), Tensor(DType.INT64, _with_axis(tokens, const(2)))


@rule("HfJsonTokenizer", inputs="text", outputs="input_ids attention_mask offset_mapping", domain=CONTRIB)
def json_tokenizer(op: Op) -> Sequence[Tensor]:
    """Tokens of each string, in a rank that depends on the tokenizer."""
    return [Tensor(DType.INT64)] * 3


@rule("TrieTokenizer", inputs="text", domain=CONTRIB)
def trie_tokenizer(op: Op) -> Tensor:
    """Tokens of each string on a new last axis, as many as the longest has."""
    return Tensor(DType.INT64, _with_axis(op.tensor("text").shape, UNKNOWN_SIZE))


@rule("BertTokenizer HfBertTokenizer", inputs="text", outputs="input_ids Y Z offset_mapping", domain=CONTRIB)
def bert_tokenizer(op: Op) -> Sequence[Tensor]:
    """Tokens (n) of one or two strings, or (1, n), with masks and types; where each begins and ends, (n, 2)."""
    count = op.fresh("tokens")
    ids = of_dims(DType.INT64, *([1] if op.name == "HfBertTokenizer" else []), count)
    return ids, ids, ids, of_dims(DType.INT64, count, 2)


@rule(
    "SentencepieceTokenizer",
    inputs="text nbest_size alpha add_bos add_eos reverse fairseq",
    outputs="tokens rows begins",
    domain=CONTRIB,
)
def sentencepiece_tokenizer(op: Op) -> Sequence[Tensor]:
    """Tokens of all strings in a row; where each string begins and the last ends; where each token begins."""
    count, text = of_dims(DType.INT32, op.fresh("tokens")), op.tensor("text").shape
    return count, of_dims(DType.INT64, UNKNOWN_SIZE if text.is_top else text.size + 1), count


@rule("WordpieceTokenizer", inputs="text rows", outputs="tokens lengths begins limits", domain=CONTRIB)
def wordpiece_tokenizer(op: Op) -> Sequence[Tensor]:
    """Vectors: the tokens of all words, and where rows of them begin and end. Versions differ in the second."""
    rest = of_dims(DType.INT64, UNKNOWN_SIZE)
    return of_dims(DType.STRING, UNKNOWN_SIZE), of_dims(DType.UNDEFINED, UNKNOWN_SIZE), rest, rest


@rule("BasicTokenizer BlingFireSentenceBreaker", inputs="text", domain=CONTRIB)
def parts_of_text(op: Op) -> Tensor:
    """The words, or the sentences, of a text."""
    return of_dims(DType.STRING, UNKNOWN_SIZE)


@rule("BpeDecoder TrieDetokenizer", inputs="ids", domain=CONTRIB)
def decode_rows(op: Op) -> Tensor:
    """One string for each row of tokens."""
    shape = op.tensor("ids").shape
    if shape.is_top:
        return Tensor(DType.STRING)
    return Tensor(DType.STRING, shape_of(shape[:-1] if len(shape) > 1 else (const(1),)))


@rule("SentencepieceDecoder", inputs="ids fairseq", domain=CONTRIB)
def sentencepiece_decoder(op: Op) -> Tensor:
    """One string."""
    return of_dims(DType.STRING, 1)


@rule("BertTokenizerDecoder", inputs="ids positions", domain=CONTRIB)
def bert_decoder(op: Op) -> Tensor:
    """One string; with the attribute use_indices one for each pair of positions."""
    return of_dims(DType.STRING, UNKNOWN_SIZE if op.integer("use_indices", 0) else 1)


# Strings


@rule(
    "StringUpper StringLower StringStrip StringMapping StringRegexReplace StringECMARegexReplace",
    inputs="text pattern rewrite",
    domain=CONTRIB,
)
def mapped_strings(op: Op) -> Tensor:
    """One string for each."""
    return Tensor(DType.STRING, op.tensor("text").shape)


@rule("StringLength StringToHashBucket StringToHashBucketFast", inputs="text num_buckets", domain=CONTRIB)
def numbers_of_strings(op: Op) -> Tensor:
    """One number for each string."""
    return Tensor(DType.INT64, op.tensor("text").shape)


@rule("StringConcat", inputs="A B", domain=CONTRIB)
def string_concat(op: Op) -> Tensor:
    """Each string of A with that of B after it."""
    require_like(op, "B", "A")
    return Tensor(DType.STRING, op.tensor("A").shape)


@rule("StringEqual", inputs="A B", domain=CONTRIB)
def string_equal(op: Op) -> Tensor:
    """Compare strings: the shape is that of the input with more of them."""
    a, b = op.tensor("A").shape, op.tensor("B").shape
    return Tensor(DType.BOOL, a if not a.has_unknown and a == b else TOP_SHAPE)


@rule("StringJoin", inputs="text separator axis", domain=CONTRIB)
def string_join(op: Op) -> Tensor:
    """The strings along an axis, joined; one string for a vector or a scalar."""
    shape, axis = op.tensor("text").shape, op.constants("axis")
    if shape.is_top:
        return Tensor(DType.STRING)
    if len(shape) < 2:
        return of_dims(DType.STRING, 1)
    if axis is None or len(axis) != 1:
        return Tensor(DType.STRING, Shape([None] * (len(shape) - 1)))
    if not 0 <= axis[0] < len(shape):
        op.reject(f"axis {axis[0]} is out of range for shape {shape}")
    return Tensor(DType.STRING, shape_of((*shape[: axis[0]], *shape[axis[0] + 1 :])))


@rule("StringSplit", inputs="text separator skip_empty", outputs="indices parts shape", domain=CONTRIB)
def string_split(op: Op) -> Sequence[Tensor]:
    """The parts of a vector of strings, with the row and the column of each; the number of rows and columns."""
    op.require_rank(op.tensor("text").shape, 1, "text")
    count = op.fresh("parts")
    return of_dims(DType.INT64, count, 2), of_dims(DType.STRING, count), of_dims(DType.INT64, 2)


@rule(
    "StringRegexSplitWithOffsets StringECMARegexSplitWithOffsets",
    inputs="text pattern keep_pattern",
    outputs="words begins ends rows",
    domain=CONTRIB,
)
def regex_split(op: Op) -> Sequence[Tensor]:
    """The words of all strings in a row, where each begins and ends; where the words of each string begin."""
    if op.outputs < 4:  # another version
        return of_dims(DType.STRING, UNKNOWN_SIZE), *[Tensor(DType.INT64)] * 2
    text, count = op.tensor("text").shape, op.fresh("words")
    places = of_dims(DType.INT64, count)
    return (
        of_dims(DType.STRING, count),
        places,
        places,
        of_dims(DType.INT64, text[0] + 1 if text.rank else UNKNOWN_SIZE),
    )


@rule("MaskedFill", inputs="values mask", domain=CONTRIB)
def masked_fill(op: Op) -> Tensor:
    """The strings that the mask keeps."""
    require_like(op, "mask", "values")
    kept, shape = op.fresh("kept"), op.tensor("values").shape
    if not shape.is_top:
        op.define(le(kept, shape.size), "no more strings than there are")
    return of_dims(DType.STRING, kept)


@rule("StringToVector", inputs="text", domain=CONTRIB)
def string_to_vector(op: Op) -> Tensor:
    """The vector of each string, along a new last axis."""
    return Tensor(DType.INT64, _with_axis(op.tensor("text").shape, UNKNOWN_SIZE))


@rule("VectorToString", inputs="vectors", domain=CONTRIB)
def vector_to_string(op: Op) -> Tensor:
    """The string of each vector along the last axis, or of each number."""
    shape = op.tensor("vectors").shape
    if shape.rank == 0:
        return Tensor(DType.STRING, SCALAR)
    return Tensor(DType.STRING, TOP_SHAPE if shape.is_top or len(shape) == 1 else shape_of(shape[:-1]))


# Other tensors


@rule("RaggedTensorToSparse", inputs="rows", outputs="indices shape", domain=CONTRIB)
def ragged_to_sparse(op: Op) -> Sequence[Tensor]:
    """The row and the column of each element; the number of rows and columns."""
    return of_dims(DType.INT64, UNKNOWN_SIZE, 2), of_dims(DType.INT64, 2)


@rule("RaggedTensorToDense StringRaggedTensorToDense", inputs="shape values missing rows", domain=CONTRIB)
def ragged_to_dense(op: Op) -> Tensor:
    """A matrix with a row for each row."""
    return of_dims(op.dtype("values"), UNKNOWN_SIZE, UNKNOWN_SIZE)


@rule("NegPos", inputs="X", outputs="negative positive", domain=CONTRIB)
def neg_pos(op: Op) -> Sequence[Tensor]:
    """The negative and the positive part of each element."""
    return [Tensor(DType.FLOAT, op.tensor("X").shape)] * 2


@rule("Inverse GaussianBlur", inputs="X size sigma", domain=CONTRIB)
def transformed(op: Op) -> Tensor:
    """The inverse of a matrix, or a blurred image: its shape."""
    op.require_rank(op.tensor("X").shape, 2 if op.name == "Inverse" else 4, "X")
    return Tensor(DType.FLOAT, op.tensor("X").shape)


@rule("StftNorm", inputs="wave n_fft hop_length window frame_size", domain=CONTRIB)
def stft_norm(op: Op) -> Tensor:
    """The norm of the spectrum of each frame: (1, frequencies, frames)."""
    return of_dims(DType.FLOAT, 1, UNKNOWN_SIZE, UNKNOWN_SIZE)


@rule("SegmentExtraction", inputs="values", outputs="positions numbers", domain=CONTRIB)
def segment_extraction(op: Op) -> Sequence[Tensor]:
    """Where each run of an equal number that is not 0 begins and ends, and that number."""
    count = op.fresh("segments")
    return of_dims(DType.INT64, count, 2), of_dims(DType.INT64, count)


@rule("SegmentSum", inputs="data segments", domain=CONTRIB)
def segment_sum(op: Op) -> Tensor:
    """The sum of the rows of each segment."""
    data, segments = op.tensor("data").shape, sizes(op, "segments", 1)[0]
    if not data.rank:
        return Tensor(DType.FLOAT)
    op.require_equal(data[0], segments, "each row must have a segment")
    return of_dims(DType.FLOAT, UNKNOWN_SIZE, *data[1:])


decode_image_2, encode_image_2, draw_bounding_boxes_2 = map(_also, (decode_image, encode_image, draw_bounding_boxes))
bpe_tokenizer_2, json_tokenizer_2, trie_tokenizer_2 = map(_also, (bpe_tokenizer, json_tokenizer, trie_tokenizer))
bert_tokenizer_2, sentencepiece_tokenizer_2 = map(_also, (bert_tokenizer, sentencepiece_tokenizer))
wordpiece_tokenizer_2, parts_of_text_2 = map(_also, (wordpiece_tokenizer, parts_of_text))
decode_rows_2, sentencepiece_decoder_2, bert_decoder_2 = map(_also, (decode_rows, sentencepiece_decoder, bert_decoder))
