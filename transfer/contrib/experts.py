"""Mixtures of experts of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, ge, le
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, product
from absint.lattices.value import Tensor
from absint.transfer.caveats import runtime_needs
from absint.transfer.contrib.agreement import all_equal, of_attribute, require_dims, sizes
from absint.transfer.op import Op
from absint.transfer.rule import device, kernel


@kernel(
    "MoE",
    "input router_probs fc1_experts_weights fc1_experts_bias fc2_experts_weights fc2_experts_bias "
    "fc3_experts_weights fc3_experts_bias -> output",
)
def mixture_of_experts(op: Op) -> Tensor:
    """The shape of the input, of rank 2 or 3: each token passes through the experts that the router chooses."""
    output, hidden, experts = _routed(op)
    activation, chosen = of_attribute(op, "activation_type", _ACTIVATIONS, "relu"), op.integer("k", 1)
    if op.integer("use_sparse_mixer", 0) == 1 and chosen != 2:
        op.reject(f"a sparse mixer must choose 2 experts, found k = {chosen}")
    halves: int | None = 2 if activation == "swiglu" else 1
    if op.integer("swiglu_limit_after_activation", 0) != 0:
        runtime_needs(op, FALSE, "onnxruntime's CPU kernel takes swiglu_limit_after_activation = 0 alone")
    if halves == 2 and op.integer("swiglu_fusion", 0) != 1:
        runtime_needs(op, FALSE, "onnxruntime's CPU kernel takes swiglu with swiglu_fusion = 1 alone")
        halves = None
    _require_layers(op, hidden, experts, halves)
    require_dims(op, "fc2_experts_bias", experts, hidden)
    if op.has("fc3_experts_weights") or op.has("fc3_experts_bias"):
        runtime_needs(op, FALSE, "onnxruntime's CPU kernel has no third layer")
    return output


def _require_layers(op: Op, hidden: Dim, experts: Dim, halves: int | None) -> None:
    """Require layers that fit each other, with rows first or last in both; fc1 has `halves` times the inner size."""
    first, second = sizes(op, "fc1_experts_weights", 3), sizes(op, "fc2_experts_weights", 3)
    op.require(conjunction(*(ge(size, 1) for size in second[1:])), "tokens and inner layers must not be empty")
    fits: list[Relation] = []
    for inner, turn in ((second[2], 1), (second[1], -1)):
        wide = UNKNOWN_SIZE if halves is None else halves * inner
        form = (
            all_equal(first, (experts, *(wide, hidden)[::turn])),
            all_equal(second, (experts, *(hidden, inner)[::turn])),
        )
        bias = [all_equal(sizes(op, name, 2), (experts, wide)) for name in ("fc1_experts_bias",) if op.has(name)]
        fits.append(conjunction(*form, *bias))
    op.require(disjunction(*fits), "the layers must fit the tokens, the experts and each other")


_ACTIVATIONS = ("relu", "gelu", "silu", "swiglu", "identity")


@device(
    "QMoE",
    "input router_probs fc1_experts_weights fc1_scales fc1_experts_bias fc2_experts_weights fc2_scales "
    "fc2_experts_bias fc3_experts_weights fc3_scales fc3_experts_bias fc1_zero_points fc2_zero_points "
    "fc3_zero_points router_weights fc1_global_scale fc2_global_scale fc1_act_scale fc2_act_scale "
    "fc1_act_block_scale fc2_act_block_scale -> output",
)
def quantised_mixture_of_experts(op: Op) -> Tensor:
    """MoE with packed weights."""
    op.may_fail("the weights must fit the tokens and the experts")
    return _routed(op)[0]


def _routed(op: Op) -> tuple[Tensor, Dim, Dim]:
    """The output, the size of a token, and the number of experts."""
    x = op.tensor("input")
    if x.shape.rank not in (None, 2, 3):
        op.reject(f"input must have rank 2 or 3, found shape {x.shape}")
    if x.shape.is_top:
        op.may_fail("input must have rank 2 or 3")
    tokens, hidden = (UNKNOWN_SIZE,) * 2 if x.shape.is_top else (product(x.shape[:-1]), x.shape[-1])
    rows, experts = sizes(op, "router_probs", 2)
    op.require_equal(rows, tokens, "the router must have a row for each token")
    for name in ("fc1_experts_weights", "fc2_experts_weights"):
        op.require_equal(sizes(op, name, 3)[0], experts, f"{name} must have the experts of the router")
    if (chosen := op.integer("k", 1)) < 1:
        op.reject(f"k must be positive, found {chosen}")
    op.require(le(chosen, experts), f"there must be {chosen} experts or more")
    return Tensor(x.dtype, x.shape), hidden, experts
