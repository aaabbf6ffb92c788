"""Hashes of n-grams of tokens, which look up embeddings. Source: onnxruntime's documentation and CPU kernels."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import ge
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims, positive, require_dims, sizes
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, rule
from absint.transfer.window import as_size


@rule(
    "NGramHashMapping",
    inputs="input_ids multipliers vocab_sizes past_ids head_offsets eos_token_id segment_ids",
    outputs="hash_ids present_ids",
    domain=MICROSOFT,
)
def ngram_hash_mapping(op: Op) -> Sequence[Tensor]:
    """Hashes of the n-grams that end at each token: (B, S, hashes), and the last tokens, (B, max_ngram_size - 1)."""
    batch, length = sizes(op, "input_ids", 2)
    return _hashes(op, (batch, length), batch)


@rule(
    "VarlenNGramHashMapping",
    inputs="input_ids multipliers vocab_sizes cumulative_sequence_length past_ids head_offsets eos_token_id "
    "segment_ids past_segment_ids capture_count",
    outputs="hash_ids present_ids present_segment_ids state_update",
    domain=MICROSOFT,
)
def varlen_ngram_hash_mapping(op: Op) -> Sequence[Tensor]:
    """NGramHashMapping on N tokens of B rows without padding; segments and captured states are outputs too."""
    (bounds,) = sizes(op, "cumulative_sequence_length", 1)
    op.require(ge(bounds, 2), "cumulative_sequence_length must have 2 elements or more")
    batch, capacity = as_size(bounds - 1), op.integer("state_update_capacity", 0)
    op.may_fail("the rows must cover the tokens")
    if bool(capacity) != op.has("capture_count"):
        op.reject("capture_count must be given exactly if state_update_capacity is not 0")
    require_dims(op, "capture_count", batch)
    (tokens,) = sizes(op, "input_ids", 1)
    op.require(ge(tokens, batch), "every row must have a token")
    hashes, present = _hashes(op, (tokens,), batch)
    before = positive(op, "max_ngram_size") - 1
    require_dims(op, "past_segment_ids", batch, before)
    segments = of_dims(DType.INT32, batch, before)
    return hashes, present, segments, of_dims(op.dtype("input_ids"), batch, capacity, before)


def _hashes(op: Op, tokens: tuple[Dim, ...], batch: Dim) -> tuple[Tensor, Tensor]:
    """The hashes of each token, and the tokens that the next call needs."""
    longest = positive(op, "max_ngram_size")
    if longest < 2:
        op.reject(f"max_ngram_size must be 2 or more, found {longest}")
    count, dtype = (longest - 1) * positive(op, "n_head_per_ngram"), op.common_dtype("input_ids", "multipliers")
    op.require(ge(sizes(op, "multipliers", 1)[0], longest), "each position of an n-gram must have a multiplier")
    require_dims(op, "vocab_sizes", count)
    require_dims(op, "head_offsets", count)
    require_dims(op, "past_ids", batch, longest - 1)
    require_dims(op, "segment_ids", *tokens)
    require_dims(op, "eos_token_id")
    op.may_fail("vocabularies must not be empty")
    return of_dims(dtype, *tokens, count), of_dims(dtype, batch, longest - 1)
