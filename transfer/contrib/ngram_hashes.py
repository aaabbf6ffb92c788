"""Hashes of n-grams of tokens, which look up embeddings. Source: onnxruntime's documentation and CPU kernels."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import conjunction, ge
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import (
    of_dims,
    require_captures,
    require_dims,
    require_offsets,
    sizes,
)
from absint.transfer.op import Op
from absint.transfer.rule import kernel


@kernel(
    "NGramHashMapping",
    "input_ids multipliers vocab_sizes past_ids head_offsets eos_token_id segment_ids -> hash_ids present_ids",
)
def ngram_hash_mapping(op: Op) -> Sequence[Tensor]:
    """Hashes of the n-grams that end at each token: (B, S, hashes), and the last tokens, (B, max_ngram_size - 1)."""
    batch, length = sizes(op, "input_ids", 2)
    return _hashes(op, (batch, length), batch)


@kernel(
    "VarlenNGramHashMapping",
    "input_ids multipliers vocab_sizes cumulative_sequence_length past_ids head_offsets eos_token_id "
    "segment_ids past_segment_ids capture_count -> hash_ids present_ids present_segment_ids state_update",
)
def varlen_ngram_hash_mapping(op: Op) -> Sequence[Tensor]:
    """NGramHashMapping on N tokens of B rows without padding; segments and captured states are outputs too."""
    (tokens,) = sizes(op, "input_ids", 1)
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
    require_dims(op, "past_segment_ids", batch, before)
    segments = of_dims(DType.INT32, batch, before)
    return hashes, present, segments, of_dims(op.dtype("input_ids"), batch, capacity, before)


def _hashes(op: Op, tokens: tuple[Dim, ...], batch: Dim) -> tuple[Tensor, Tensor]:
    """The hashes of each token, and the tokens that the next call needs."""
    longest = op.positive("max_ngram_size")
    if longest < 2 or op.integer("pad_id") is None:
        op.reject(f"max_ngram_size must be 2 or more, and pad_id be given, found {longest}")
    count, dtype = (longest - 1) * op.positive("n_head_per_ngram"), op.common_dtype("input_ids", "multipliers")
    op.require(ge(sizes(op, "multipliers", 1)[0], longest), "each position of an n-gram must have a multiplier")
    require_dims(op, "vocab_sizes", count)
    require_dims(op, "head_offsets", count)
    require_dims(op, "past_ids", batch, longest - 1)
    require_dims(op, "segment_ids", *tokens)
    require_dims(op, "eos_token_id")
    words = op.integers("vocab_sizes")
    if words is None:
        op.may_fail(_WORDS)
    else:
        op.require(conjunction(*(ge(size, 1) for size in words)), _WORDS)
    return of_dims(dtype, *tokens, count), of_dims(dtype, batch, longest - 1)


_WORDS = "vocabularies must not be empty"
