"""Mixtures of experts of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, product
from absint.lattices.value import Tensor
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, rule


@rule(
    "MoE",
    inputs="input router_probs fc1_experts_weights fc1_experts_bias fc2_experts_weights fc2_experts_bias "
    "fc3_experts_weights fc3_experts_bias",
    outputs="output",
    domain=MICROSOFT,
)
def mixture_of_experts(op: Op) -> Tensor:
    """The shape of the input, of rank 2 or 3: each token passes through the experts that the router chooses."""
    return _routed(op)


@rule(
    "QMoE",
    inputs="input router_probs fc1_experts_weights fc1_scales fc1_experts_bias fc2_experts_weights fc2_scales "
    "fc2_experts_bias fc3_experts_weights fc3_scales fc3_experts_bias fc1_zero_points fc2_zero_points fc3_zero_points "
    "router_weights fc1_global_scale fc2_global_scale fc1_act_scale fc2_act_scale fc1_act_block_scale "
    "fc2_act_block_scale",
    outputs="output",
    domain=MICROSOFT,
)
def quantised_mixture_of_experts(op: Op) -> Tensor:
    """MoE with packed weights."""
    return _routed(op)


def _routed(op: Op) -> Tensor:
    x = op.tensor("input")
    if x.shape.rank not in (None, 2, 3):
        op.reject(f"input must have rank 2 or 3, found shape {x.shape}")
    op.may_fail("the weights must fit the experts, of which there must be at least k")
    tokens, hidden = (UNKNOWN_SIZE,) * 2 if x.shape.is_top else (product(x.shape[:-1]), x.shape[-1])
    rows, experts = _sizes(op, "router_probs", 2)
    op.require_equal(rows, tokens, "the router must have a row for each token")
    for name in ("fc1_experts_weights", "fc2_experts_weights"):
        op.require_equal(_sizes(op, name, 3)[0], experts, f"{name} must have the experts of the router")
    op.require_equal(
        _sizes(op, "fc2_experts_weights", 3)[1], hidden, "dim 1 of fc2_experts_weights must be the size of a token"
    )
    return Tensor(x.dtype, x.shape)


def _sizes(op: Op, name: str, rank: int) -> tuple[Dim, ...]:
    shape = op.tensor(name).shape
    op.require_rank(shape, rank, name)
    return (UNKNOWN_SIZE,) * rank if shape.is_top else shape.dims


__all__ = ["mixture_of_experts", "quantised_mixture_of_experts"]
