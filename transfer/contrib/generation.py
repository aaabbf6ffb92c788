"""Text generation: searches that run a decoder many times, operators on the tokens they make, hashes of n-grams.

Source: onnxruntime's documentation and CPU kernels. The graphs in the attributes of a search (decoder, encoder) are
not read: a search pads every sequence to max_length, and only the size of a vocabulary depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import conjunction, eq, ge, gt, implies, le, lt
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const
from absint.lattices.terms.normal import maximum
from absint.lattices.value import Tensor
from absint.transfer.conditions import one_integer, require_captures, require_offsets, scalar_size
from absint.transfer.op import Op, as_size, of_dims
from absint.transfer.rule import device, kernel

GPT, ENCODER_DECODER, WHISPER = 0, 1, 2
"""The values of the attribute model_type."""

BEAM_INPUTS: Final = (
    "input_ids max_length min_length num_beams num_return_sequences length_penalty repetition_penalty vocab_mask "
    "prefix_vocab_mask attention_mask decoder_input_ids logits_processor"
)


def _vocabulary(op: Op) -> Dim:
    """The attribute vocab_size; without it, the decoder decides."""
    size = op.integer("vocab_size", 0)
    return const(size) if size > 0 else UNKNOWN_SIZE


def _prompt(op: Op, length: Dim) -> Dim:
    """The rows of a prompt, which must be shorter than max_length."""
    batch, tokens = op.sizes("input_ids", 2)
    op.require(gt(length, tokens), "max_length must exceed the length of the prompt")
    return batch


@device("GreedySearch Sampling", "input_ids max_length -> sequences filtered_logits")
def greedy_search(op: Op) -> Sequence[Tensor]:
    """The sequences that a decoder generates, padded: (B, max_length), and the last logits, (B, vocabulary)."""
    length = scalar_size(op, "max_length")
    batch = _prompt(op, length)
    op.may_fail("the decoder must run")
    return of_dims(op.dtype("input_ids"), batch, length), of_dims(DType.FLOAT, batch, _vocabulary(op))


def _beam_search(op: Op, model: int) -> tuple[Dim, list[Tensor]]:
    """The number of rows, and the sequences, their scores, and the scores of each step."""
    length, beams, returned = (scalar_size(op, name) for name in ("max_length", "num_beams", "num_return_sequences"))
    op.require(ge(returned, 1), "num_return_sequences must be at least 1")
    op.require(le(returned, beams), "num_return_sequences must not exceed num_beams")
    op.may_fail("the decoder must run")
    if model == GPT:
        batch, prompt = _prompt(op, length), op.sizes("input_ids", 2)[1]
    else:
        shape, prompt = op.tensor("input_ids").shape, UNKNOWN_SIZE
        batch = UNKNOWN_SIZE if shape.is_top or not len(shape) else shape[0]
    scores = op.common_dtype("length_penalty", "repetition_penalty")
    steps = of_dims(scores, as_size(length - prompt), batch, beams, _vocabulary(op))
    return batch, [of_dims(DType.INT32, batch, returned, length), of_dims(scores, batch, returned), steps]


@device("BeamSearch", f"{BEAM_INPUTS} -> sequences sequences_scores scores")
def beam_search(op: Op) -> Sequence[Tensor]:
    """The best sequences of a search, padded: (B, num_return_sequences, max_length), with their scores."""
    return _beam_search(op, op.integer("model_type", GPT))[1]


@device(f"""WhisperBeamSearch: {BEAM_INPUTS} cross_qk_layer_head extra_decoding_ids temperature -> sequences
    sequences_scores scores cross_qk non_speech_probs""")
def whisper_beam_search(op: Op) -> Sequence[Tensor]:
    """BeamSearch for speech, with attention (B, num_return_sequences, heads, tokens, frames) and probabilities (B)."""
    batch, outputs = _beam_search(op, WHISPER)
    returned = outputs[0].shape[1]
    heads = op.sizes("cross_qk_layer_head", 2)[0] if op.has("cross_qk_layer_head") else UNKNOWN_SIZE
    attended = of_dims(DType.FLOAT, batch, returned, heads, UNKNOWN_SIZE, UNKNOWN_SIZE)
    return *outputs, attended, of_dims(outputs[1].dtype, batch)


# Operators on tokens


@kernel("NGramRepeatBlock", "input_ids[B, T] scores[B, V] -> scores_out:scores[B, V]")
def ngram_repeat_block(op: Op, B: Dim, T: Dim, V: Dim) -> None:
    """The scores, with tokens that would repeat an n-gram at -inf: their shape."""
    size = op.positive("ngram_size")
    none = eq(B, 0) | lt(T, size)
    if size == 1:
        op.require(none | ge(V, 1), "the vocabulary must not be empty")
    op.may_fail("every token must be in the vocabulary", unless=none)


@kernel("BifurcationDetector", "src_tokens cur_tokens prev_suffix_match_idx pred_tokens -> tokens suffix_match_idx")
def bifurcation_detector(op: Op) -> Sequence[Tensor]:
    """The current tokens, then the predicted ones until they leave the source; an index of unchanged shape."""
    least, most = op.integer("min_ngram_size", 1), op.integer("max_ngram_size", 3)
    if not 1 <= least <= most:
        op.reject(f"n-grams must have 1 token or more, and at most max_ngram_size, found {least} to {most}")
    (current,) = op.sizes("cur_tokens", 1)
    (source,) = op.sizes("src_tokens", 1)
    index = op.tensor("prev_suffix_match_idx")
    op.require(eq(index.shape.size, 1), "prev_suffix_match_idx must hold one element")
    tokens = current
    if op.has("pred_tokens"):
        (predicted,) = op.sizes("pred_tokens", 1)
        reach = "the predicted tokens must reach the end of the source"
        op.require(ge(predicted, 1) & le(predicted, source + 1), reach)
        start = one_integer(op, "prev_suffix_match_idx") if index.shape.rank in (0, 1) else UNKNOWN_SIZE
        op.require_equal(start + predicted, source + 1, reach)
        tokens = op.fresh("tokens")
        op.define(ge(tokens, current), "tokens are added")
        op.define(le(tokens, current + predicted), "no more tokens are added than predicted")
    return of_dims(DType.INT64, tokens), Tensor(DType.INT64, index.shape)


@kernel("DynamicTimeWarping", "input -> output")
def dynamic_time_warping(op: Op) -> Tensor:
    """The cheapest path through a matrix of costs, (M, N) or (1, M, N): (2, steps)."""
    shape = op.tensor("input").shape
    if shape.is_top:
        op.may_fail("the input must be a matrix")
        return of_dims(DType.INT32, 2, UNKNOWN_SIZE)
    op.reject("input must be a matrix", unless=len(shape) in (2, 3), found=shape)
    if len(shape) == 3:
        op.require_equal(shape[0], 1, "the input must be one matrix")
    rows, columns = shape[-2:]
    steps = op.fresh("steps")
    op.define(le(steps, rows + columns), "a path visits no row and column together twice")
    if isinstance(rows, Expr) and isinstance(columns, Expr):
        some = ge(rows, 1) & ge(columns, 1)
        op.define(implies(some, ge(steps, maximum(rows, columns))), "a path visits every row and column")
    return of_dims(DType.INT32, 2, steps)


@kernel("""NGramHashMapping: input_ids multipliers vocab_sizes past_ids head_offsets eos_token_id segment_ids
    -> hash_ids present_ids""")
def ngram_hash_mapping(op: Op) -> Sequence[Tensor]:
    """Hashes of the n-grams that end at each token: (B, S, hashes), and the last tokens, (B, max_ngram_size - 1)."""
    batch, length = op.sizes("input_ids", 2)
    return _hashes(op, (batch, length), batch)


@kernel("""VarlenNGramHashMapping: input_ids multipliers vocab_sizes cumulative_sequence_length past_ids
    head_offsets eos_token_id segment_ids past_segment_ids capture_count -> hash_ids present_ids present_segment_ids
    state_update""")
def varlen_ngram_hash_mapping(op: Op) -> Sequence[Tensor]:
    """NGramHashMapping on N tokens of B rows without padding; segments and captured states are outputs too."""
    (tokens,) = op.sizes("input_ids", 1)
    batch = require_offsets(op, "cumulative_sequence_length", tokens, least=1)
    op.require(ge(tokens, batch), "every row must have a token")
    capacity = require_captures(op, batch)
    if not op.has("segment_ids"):
        if op.has("past_segment_ids") or op.outputs == 3:
            op.reject("segments of the past, and those that follow, need segment_ids, which is missing")
        if op.wants(2):
            op.may_fail("present_segment_ids needs segment_ids, which is missing")
    hashes, present = _hashes(op, (tokens,), batch)
    before = op.positive("max_ngram_size") - 1
    op.require_dims("past_segment_ids", batch, before)
    segments = of_dims(DType.INT32, batch, before)
    return hashes, present, segments, of_dims(op.dtype("input_ids"), batch, capacity, before)


def _hashes(op: Op, tokens: tuple[Dim, ...], batch: Dim) -> tuple[Tensor, Tensor]:
    """The hashes of each token, and the tokens that the next call needs."""
    longest = op.positive("max_ngram_size")
    if longest < 2 or op.integer("pad_id") is None:
        op.reject(f"max_ngram_size must be 2 or more, and pad_id be given, found {longest}")
    count, dtype = (longest - 1) * op.positive("n_head_per_ngram"), op.common_dtype("input_ids", "multipliers")
    op.require(ge(op.sizes("multipliers", 1)[0], longest), "each position of an n-gram must have a multiplier")
    op.require_dims("vocab_sizes", count)
    op.require_dims("head_offsets", count)
    op.require_dims("past_ids", batch, longest - 1)
    op.require_dims("segment_ids", *tokens)
    op.require_dims("eos_token_id")
    words = op.integers("vocab_sizes")
    if words is None:
        op.may_fail(_WORDS)
    else:
        op.require(conjunction(*(ge(size, 1) for size in words)), _WORDS)
    return of_dims(dtype, *tokens, count), of_dims(dtype, batch, longest - 1)


_WORDS = "vocabularies must not be empty"
