"""onnxruntime-extensions, and operators that onnxruntime keeps in ONNX's domain, which never had them or lost them.

The extensions are images, sound, tokenizers and strings; what data decide of the sizes stays unknown. Their library
must be loaded, which the rules do not ask for. Source: kernels and documentation of the operators. The others were in
ONNX before version 10, or are plugins of TensorRT: types, and the shapes that onnxruntime infers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import ge, le
from absint.lattices.records import changed
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import spliced, without
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.value import Tensor
from absint.transfer.conditions import require_like
from absint.transfer.elementwise import identity
from absint.transfer.op import Op, of_dims
from absint.transfer.rule import Outputs, rule, shaped
from absint.transfer.slicing import slice_input

CONTRIB: Final = "ai.onnx.contrib"
EXTENSIONS: Final = "com.microsoft.extensions"
"""The domain of its newer operators, which has the tokenizers too."""


MEDIA = shaped(
    """
    # An image (height, width, 3).
    DecodeImage ImageDecoder: encoded -> Y:uint8[?, ?, 3]
    # The bytes of an encoded image (height, width, 3).
    EncodeImage: image[H, W, 3] -> Y:uint8[?]
    # An image (height, width, 3) with n boxes (n, 6).
    DrawBoundingBoxes: image[H, W, 3] boxes[N, 6] -> Y:uint8[H, W, 3]
    # Tokens of each string, in a rank that depends on the tokenizer.
    HfJsonTokenizer: text -> input_ids:int64 attention_mask:int64 offset_mapping:int64
    # Tokens of each string on a new last axis, as many as the longest has.
    TrieTokenizer: text[...] -> Y:int64[..., ?]
    # Vectors: the tokens of all words, and where rows of them begin and end. Versions differ in the second.
    WordpieceTokenizer: text rows -> tokens:string[?] lengths:?[?] begins:int64[?] limits:int64[?]
    # Tokens of one or two strings with masks and types, and where each begins and ends.
    BertTokenizer:
        text -> input_ids:int64[Tokens] Y:int64[Tokens] Z:int64[Tokens] offset_mapping:int64[Tokens, 2]
    # Tokens of one or two strings in a row, with masks and types, and where each begins and ends.
    HfBertTokenizer:
        text -> input_ids:int64[1, Tokens] Y:int64[1, Tokens] Z:int64[1, Tokens] offset_mapping:int64[Tokens, 2]
    # The words, or the sentences, of a text.
    BasicTokenizer BlingFireSentenceBreaker: text -> Y:string[?]
    # One string.
    SentencepieceDecoder: ids fairseq -> Y:string[1]
    """,
    domain=CONTRIB,
)

OTHERS = shaped(
    """
    # The image of a file: (1, height, width, channels).
    ImageReader: path -> Y:uint8[1, ?, ?, ?]
    # Samples (1, n), and their rate.
    AudioDecoder: encoded format -> samples:float[1, ?] rate:int64[1]
    # One string for each.
    StringUpper StringLower StringStrip StringMapping StringRegexReplace StringECMARegexReplace:
        text[...] pattern rewrite -> Y:string[...]
    # One number for each string.
    StringLength StringToHashBucket StringToHashBucketFast: text[...] num_buckets -> Y:int64[...]
    # Each string of A with that of B after it.
    StringConcat: A[...] B[...] -> Y:string[...]
    # The parts of a vector of strings, with the row and the column of each; the number of rows and columns.
    StringSplit: text[N] separator skip_empty -> indices:int64[Parts, 2] parts:string[Parts] shape:int64[2]
    # The vector of each string, along a new last axis.
    StringToVector: text[...] -> Y:int64[..., ?]
    # The row and the column of each element; the number of rows and columns.
    RaggedTensorToSparse: rows -> indices:int64[?, 2] shape:int64[2]
    # A matrix with a row for each row.
    RaggedTensorToDense StringRaggedTensorToDense: shape values missing rows -> Y:values[?, ?]
    # The negative and the positive part of each element.
    NegPos: X[...] -> negative:float[...] positive:float[...]
    # The norm of the spectrum of each frame: (1, frequencies, frames).
    StftNorm: wave n_fft hop_length window frame_size -> Y:float[1, ?, ?]
    # The inverse of a matrix.
    Inverse: X[M, N] size sigma -> Y:float[M, N]
    # A blurred image.
    GaussianBlur: X[N, H, W, C] size sigma -> Y:float[N, H, W, C]
    # The sum of the rows of each segment.
    SegmentSum: data[N, ...] segments[N] -> Y:float[?, ...]
    # Where each run of an equal number that is not 0 begins and ends, and that number.
    SegmentExtraction: values -> positions:int64[Segments, 2] numbers:int64[Segments]
    """,
    domain=CONTRIB,
)


# Tokenizers


extension = partial(rule, domain=CONTRIB)


@extension("""GPT2Tokenizer CLIPTokenizer RobertaTokenizer SpmTokenizer: text add_special_tokens
    -> input_ids attention_mask offset_mapping""")
def bpe_tokenizer(op: Op) -> Sequence[Tensor]:
    """Tokens of each string on a new last axis, as many as the longest has, or as padding_length says."""
    padding = op.integer("padding_length", -1)
    tokens = spliced((), op.tensor("text").shape, (const(padding) if padding > 0 else op.fresh("tokens"),))
    found = Tensor(DType.INT64, tokens)
    return found, found, Tensor(DType.INT64, spliced((), tokens, (const(2),)))


@extension("SentencepieceTokenizer", "text nbest_size alpha add_bos add_eos reverse fairseq -> tokens rows begins")
def sentencepiece_tokenizer(op: Op) -> Sequence[Tensor]:
    """Tokens of all strings in a row; where each string begins and the last ends; where each token begins."""
    count, text = of_dims(DType.INT32, op.fresh("tokens")), op.tensor("text").shape
    return count, of_dims(DType.INT64, text.size + 1), count


@extension("BpeDecoder TrieDetokenizer", "ids -> Y")
def decode_rows(op: Op) -> Tensor:
    """One string for each row of tokens."""
    shape = op.tensor("ids").shape
    if shape.is_top:
        return Tensor(DType.STRING)
    return Tensor(DType.STRING, shape_of(shape[:-1] if len(shape) > 1 else (const(1),)))


@extension("BertTokenizerDecoder", "ids positions -> Y")
def bert_decoder(op: Op) -> Tensor:
    """One string; with the attribute use_indices one for each pair of positions."""
    return of_dims(DType.STRING, UNKNOWN_SIZE if op.integer("use_indices", 0) else 1)


_MOVED = (*MEDIA, bpe_tokenizer, sentencepiece_tokenizer, decode_rows, bert_decoder)
NEWER = tuple(changed(found, domain=EXTENSIONS) for found in _MOVED)


# Strings and other tensors


@extension("StringEqual", "A B -> Y")
def string_equal(op: Op) -> Tensor:
    """Compare strings: the shape is that of the input with more of them."""
    a, b = op.tensor("A").shape, op.tensor("B").shape
    return Tensor(DType.BOOL, a if not a.has_unknown and a == b else TOP_SHAPE)


@extension("StringJoin", "text separator axis -> Y")
def string_join(op: Op) -> Tensor:
    """The strings along an axis, joined; one string for a vector or a scalar."""
    shape, axis = op.tensor("text").shape, op.constants("axis")
    if shape.is_top:
        return Tensor(DType.STRING)
    if len(shape) < 2:
        return of_dims(DType.STRING, 1)
    if axis is None or len(axis) != 1:
        return Tensor(DType.STRING, Shape([None] * (len(shape) - 1)))
    op.reject(f"axis {axis[0]} is out of range for shape {shape}", unless=0 <= axis[0] < len(shape))
    return Tensor(DType.STRING, without(shape, axis))


@extension("""StringRegexSplitWithOffsets StringECMARegexSplitWithOffsets: text pattern keep_pattern
    -> words begins ends rows""")
def regex_split(op: Op) -> Sequence[Tensor]:
    """The words of all strings in a row, where each begins and ends; where the words of each string begin."""
    if op.outputs < 4:  # another version
        return of_dims(DType.STRING, UNKNOWN_SIZE), *[Tensor(DType.INT64)] * 2
    text, count = op.tensor("text").shape, op.fresh("words")
    places = of_dims(DType.INT64, count)
    rows = of_dims(DType.INT64, text[0] + 1 if text.rank else UNKNOWN_SIZE)
    return of_dims(DType.STRING, count), places, places, rows


@extension("MaskedFill", "values mask -> Y")
def masked_fill(op: Op) -> Tensor:
    """The strings that the mask keeps."""
    require_like(op, "mask", "values")
    kept, shape = op.fresh("kept"), op.tensor("values").shape
    if not shape.is_top:
        op.define(le(kept, shape.size), "no more strings than there are")
    return of_dims(DType.STRING, kept)


@extension("VectorToString", "vectors -> Y")
def vector_to_string(op: Op) -> Tensor:
    """The string of each vector along the last axis, or of each number."""
    shape = op.tensor("vectors").shape
    if shape.rank == 0:
        return Tensor(DType.STRING, SCALAR)
    return Tensor(DType.STRING, TOP_SHAPE if shape.is_top or len(shape) == 1 else shape_of(shape[:-1]))


LAST = 9
"""The last version of ONNX's domain that has them."""

MAPPED = shaped(
    """
    # The shape and type of the input.
    Affine Scale: X[...] -> Y[...]
    """,
    until=LAST,
    complete=True,
) + shaped(
    """
    # The hidden state after one more step of a GRU: the type of the state before.
    GRUUnit: hidden_prev gates seq_lengths t -> hidden:hidden_prev
    ! the gates must fit the state
    """,
    until=LAST,
)


@rule("ParametricSoftplus ScaledTanh", "X[...] -> Y[...]", until=LAST, complete=True)
def parametric(op: Op) -> None:
    """A function of each element with the parameters alpha and beta: the shape of X."""
    for name in ("alpha", "beta"):
        op.reject(f"attribute {name} must be given", unless=name in op.attributes)


copied = rule("MemcpyFromHost MemcpyToHost", "X -> Y", complete=True, elements=True)(identity.function)


@rule("DynamicSlice", "data starts ends axes steps -> output", until=LAST, complete=True, elements=True)
def dynamic_slice(op: Op) -> Outputs:
    """Slice, whose bounds no schema requires."""
    op.require_given("data", "starts", "ends")
    return slice_input.function(op)


@rule("ImageScaler", "input -> output", until=LAST, complete=True)
def image_scaler(op: Op) -> Tensor:
    """Images (N, C, H, W), scaled, with a bias for each channel: their shape."""
    op.require_given("input")
    bias = op.attributes.get("bias")
    shape = op.tensor("input").shape
    if not isinstance(bias, list):
        op.reject("attribute bias must be given")
    if not shape.is_top and len(shape) > 4:
        op.may_fail("the input must have rank 4: onnxruntime ignores further axes")
        if op.dtype("input") is not DType.FLOAT:
            return Tensor(op.dtype("input"))  # no kernel of theirs tells
        dims = shape.dims[:4]
    else:
        dims = tuple(op.sizes("input", 4))
    op.require_equal(dims[1], len(bias), "each channel must have a bias")
    return of_dims(op.dtype("input"), *dims)


@rule("Crop", "input -> output", until=LAST, complete=True)
def crop(op: Op) -> Tensor:
    """Images (N, C, H, W) without their borders, or with `scale`, that size from the top left border on."""
    op.require_given("input")
    border, scale = op.ints("border") or [], op.ints("scale")
    op.reject("border must be four sizes", unless=len(border) == 4 and min(border) >= 0, found=border)
    op.reject("scale must be two sizes", unless=scale is None or (len(scale) == 2 and min(scale) >= 0), found=scale)
    *lead, height, width = op.sizes("input", 4)
    left, top, right, bottom = border
    cut = [_cut(op, height, top, scale[0] if scale else None, bottom, "height")]
    cut.append(_cut(op, width, left, scale[1] if scale else None, right, "width"))
    return of_dims(op.dtype("input"), *lead, *cut)


def _cut(op: Op, size: Dim, before: int, kept: int | None, after: int, what: str) -> Dim | int:
    """The rest of an axis."""
    op.require(ge(size, before + (after if kept is None else kept)), f"the {what} must have room for the border")
    return size - (before + after) if kept is None else kept


@rule("GivenTensorFill", "shape -> X", until=LAST)
def given_tensor_fill(op: Op) -> Tensor:
    """A tensor of the shape of the attribute; else of the input's shape with `extra_shape` after it."""
    shape, dims, dtype = op.tensor("shape").shape if op.has("shape") else TOP_SHAPE, op.ints("shape"), op.dtype("shape")
    op.may_fail("the values must fill the tensor")
    if dims is not None:
        return of_dims(dtype, *dims)
    if shape.is_top or op.integer("input_as_shape", 0):
        return Tensor(dtype)
    return of_dims(dtype, *shape, *(op.ints("extra_shape") or []))


PLUGINS = shaped(
    """
    # Attention of contents and positions: the shape of the attention of contents.
    DisentangledAttention_TRT: c2c_attention[...] c2p_attention p2c_attention
        -> disentangled_attention:c2c_attention&c2p_attention&p2c_attention[...]
    ! TensorRT must run the node
    # A patch of each of R boxes of each image (B, R, 4): (B, R, channels, pooled_size, pooled_size).
    MultilevelCropAndResize_TRT PyramidROIAlign_TRT:
        boxes[B, R, ?] feature_map_0[?, C, ?, ?] feature_map_1 feature_map_2 feature_map_3
        -> patches[B, R, C, pooled_size, pooled_size]
    ! TensorRT must run the node
    """
)


@rule("EfficientNMS_TRT", "boxes scores anchors -> num_detections detection_boxes detection_scores detection_classes")
def efficient_nms(op: Op) -> Sequence[Tensor]:
    """At most max_output_boxes boxes of each image (B): counts (B, 1), boxes (B, n, 4), scores and classes (B, n)."""
    op.may_fail("TensorRT must run the node")
    boxes, count = op.tensor("boxes").shape, op.positive("max_output_boxes")
    batch = boxes[0] if boxes.rank else op.sizes("scores", 3)[0]
    dtype = op.common_dtype("boxes", "scores")
    scores, classes = of_dims(dtype, batch, count), of_dims(DType.INT32, batch, count)
    return of_dims(DType.INT32, batch, 1), of_dims(dtype, batch, count, 4), scores, classes


efficient_nms_trt = changed(efficient_nms, domain="TRT")
"""As some exporters write it."""
