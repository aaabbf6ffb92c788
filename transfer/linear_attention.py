"""LinearAttention: attention whose state is a matrix for each head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from absint.lattices.logic.relation import (
    FALSE,
    UNKNOWN_RELATION,
    conjunction,
    disjunction,
    divisible,
    eq,
    ge,
)
from absint.lattices.logic.truth import NO, YES
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor
from absint.transfer.heads import Heads, Need, agreement, batches, equal_dims, heads_of, require_all
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX


@rule("LinearAttention", "query key value past_state decay beta -> output present_state", complete=True)
def linear_attention(op: Op) -> tuple[Tensor, Tensor]:
    """Packed (batch, seq, heads * size) inputs to (batch, seq, q_heads * value size) and the state of each head."""
    for name in ("query", "key", "value"):
        op.require_rank(op.tensor(name).shape, 3, name)
    q, k, v = (
        heads_of(op, "query", "q_num_heads"),
        heads_of(op, "key", "kv_num_heads"),
        heads_of(op, "value", "kv_num_heads"),
    )
    op.require(divisible(q.heads, k.heads), "heads of Q must be a multiple of those of K")
    _require_gates(op)
    past = op.optional("past_state")
    dtypes = op.common_dtype("query", "key", "value"), op.dtype("query") if past is None else past.dtype
    needs = [*batches(q, k, v), *agreement(q, k, v), *_state_needs(op, q, k, v), *_gate_needs(op, k)]
    fit = conjunction(*(need.relation for need in needs))
    if op.semantics == ONNX:
        require_all(op, needs)
    else:
        # onnxruntime runs the function that defines the operator, which broadcasts, in a Scan that needs shapes
        for size in dict.fromkeys((q.batch, q.steps, k.batch, k.steps, v.batch, v.steps)):
            op.runtime_requires(ge(size, 1), "onnxruntime needs axes that are not empty")
        op.may_fail("batches, heads and lengths of all inputs must agree", unless=fit)
        op.may_fail("onnxruntime must find the shapes of all inputs as it loads the model")
        _gates_may_be_refused(op, k)
    if op.semantics == ONNX or op.decide(fit) is YES:
        shapes = [shape_of((q.batch, q.steps, q.heads * v.size)), shape_of((q.batch, k.heads, k.size, v.size))]
    else:
        ranked = all(op.tensor(n).shape.rank is not None for n in ("query", "key", "value", *_STATES) if op.has(n))
        shapes = [shape_of((UNKNOWN_SIZE,) * rank) if ranked else Shape(None) for rank in (3, 4)]
    return Tensor(dtypes[0], shapes[0]), Tensor(dtypes[1], shapes[1])


_STATES: Final = ("past_state", "decay", "beta")


def _state_needs(op: Op, q: Heads, k: Heads, v: Heads) -> Iterator[Need]:
    """The state of each head fits, and each query has a key."""
    yield equal_dims(q.steps, k.steps, "query and key must have the same sequence length")
    past = op.optional("past_state")
    if past is None:
        return
    if past.shape.rank != 4:
        yield Need(FALSE if past.shape.rank is not None else UNKNOWN_RELATION, "past_state must have rank 4")
    for size, wanted in zip(past.shape.dims if past.shape.rank == 4 else (), (*k[:2], k.size, v.size), strict=False):
        yield equal_dims(size, wanted, "past_state must hold a state for each head of the batch")


_GATES = {"linear": (), "gated": ("decay",), "delta": ("beta",), "gated_delta": ("decay", "beta")}
"""The inputs that each update rule of LinearAttention takes."""


def _require_gates(op: Op) -> None:
    """Require decay and rate where the update rule takes them, and only there."""
    rule = op.string("update_rule", "gated_delta")
    if rule not in _GATES:
        op.ill_formed(f"update_rule must be one of {', '.join(_GATES)}, found {rule!r}")
    for name in ("decay", "beta"):
        if op.has(name) is not (name in _GATES[rule]):
            op.ill_formed(f"update_rule {rule!r} {'must have no' if op.has(name) else 'needs'} input {name}")


def _gates_may_be_refused(op: Op, k: Heads) -> None:
    """Inference refuses decay and rate of sizes that the function might broadcast."""
    for name in filter(op.has, ("decay", "beta")):
        shape = op.tensor(name).shape
        if shape.rank not in (None, 3):
            op.load_risk(f"{name} must have rank 3, found shape {shape}")
        elif shape.rank == 3 and all(op.is_equal(shape[2], size) is NO for size in (k.heads, _wide(name, k))):
            op.load_risk(f"{_GATE_WIDTH[name]}, found {shape[2]}")


def _wide(name: str, k: Heads) -> Dim:
    return k.heads * k.size if name == "decay" else Dim(1)


_GATE_WIDTH: Final = {
    "decay": "the last dim of decay must be kv_num_heads (times the head size)",
    "beta": "the last dim of beta must be kv_num_heads or 1",
}


def _gate_needs(op: Op, k: Heads) -> Iterator[Need]:
    """Decay and rate are (batch, seq, heads), or the multiples stated."""
    for name in filter(op.has, ("decay", "beta")):
        shape = op.tensor(name).shape
        if shape.rank != 3:
            fits = UNKNOWN_RELATION if shape.rank is None else FALSE
            yield Need(fits, f"{name} must have rank 3", f"shape {shape}")
            continue
        yield equal_dims(shape[0], k.batch, f"{name} must have the batch of key")
        yield equal_dims(shape[1], k.steps, f"{name} must have the sequence length of key")
        width = disjunction(eq(shape[2], k.heads), eq(shape[2], _wide(name, k)))
        yield Need(width, _GATE_WIDTH[name], str(shape[2]))
