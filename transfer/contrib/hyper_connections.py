"""Streams that run side by side through a model (hyper-connections), with their norms and gates.

Source: onnxruntime's documentation and CPU kernels. C streams of H features are two axes, or one of size C * H
where the attribute num_branches gives C.
"""

from __future__ import annotations

from typing import NamedTuple

from absint.lattices.logic.relation import divisible, eq, ge
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import Dim, const
from absint.lattices.value import Tensor
from absint.transfer.conditions import of_attribute
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, kernel, shaped


class Streams(NamedTuple):
    """The axes of streams."""

    lead: tuple[Dim, ...]
    branches: Dim
    width: Dim


def _streams(op: Op, name: str) -> Streams | None:
    """The axes of an input; None if its rank is unknown."""
    shape, count = op.tensor(name).shape, op.integer("num_branches", 0)
    op.reject("num_branches must not be negative", unless=count >= 0, found=count)
    if shape.is_top:
        op.may_fail(f"{name} must hold streams, and the other inputs must fit them")
        return None
    op.reject(f"{name} must have the axes of streams", unless=len(shape) >= (1 if count else 2), found=shape)
    if count:
        op.require(ge(shape[-1], 1), f"{name} must have features")
        op.require(divisible(shape[-1], count), f"{name} must hold {count} streams")
        return Streams(shape[:-1], const(count), shape[-1] // count)
    for axis, what in ((-2, "streams"), (-1, "features")):
        op.require(ge(shape[axis], 1), f"{name} must have {what}")
    return Streams(shape[:-2], shape[-2], shape[-1])


def _require_gate(op: Op, name: str, streams: Streams, *, flat: bool = False) -> None:
    """A gate for each stream, (..., C) or (..., C, 1), or feature, (..., C, H) and with `flat` (..., C * H)."""
    gate, (lead, branches, width) = op.tensor(name).shape, streams
    if gate.is_top:
        op.may_fail(f"{name} must fit the streams")
        return
    if len(gate) not in (len(lead) + 1, len(lead) + 2):
        op.reject(f"{name} must have a gate for each stream or feature, found shape {gate}")
    for axis, (found, wanted) in enumerate(zip(gate, lead, strict=False)):
        op.require_equal(found, wanted, f"dim {axis} of {name} must equal that of the streams")
    reason = f"{name} must have a gate for each stream or feature"
    if len(gate) == len(lead) + 1:
        per_stream = eq(gate[-1], branches)
        op.require(per_stream | eq(gate[-1], branches * width) if flat else per_stream, reason)
    else:
        op.require_equal(gate[-2], branches, reason)
        op.require(eq(gate[-1], 1) | eq(gate[-1], width), reason)


@kernel("HyperConnectionPreMix", "streams pre_mix -> output")
def hyper_connection_pre_mix(op: Op) -> Tensor:
    """The sum of the streams (..., C, H), each times its gate: (..., H)."""
    streams, dtype = _streams(op, "streams"), op.dtype("streams")
    if streams is None:
        return Tensor(dtype)
    _require_gate(op, "pre_mix", streams, flat=bool(op.integer("num_branches", 0)))
    return Tensor(dtype, shape_of((*streams.lead, streams.width)))


@kernel("HyperConnectionPostMix", "streams block_output post_mix stream_mix -> output")
def hyper_connection_post_mix(op: Op) -> Tensor:
    """The streams mixed, and a block's output (..., H) added to each by its gate: the shape of the streams."""
    op.require_given("block_output", "post_mix")
    streams = _streams(op, "streams")
    if streams is not None:
        op.require_dims("block_output", *streams.lead, streams.width)
        op.require_dims("stream_mix", *streams.lead, streams.branches, streams.branches)
        _require_gate(op, "post_mix", streams)
    return Tensor(op.dtype("streams"), op.tensor("streams").shape)


@kernel("BranchwiseRMSNorm", "X scale -> Y")
def branchwise_rms_norm(op: Op) -> Tensor:
    """Root-mean-square normalisation of each stream: the shape of X."""
    streams, x = _streams(op, "X"), op.tensor("X")
    scale = op.optional("scale")
    if streams is not None and scale is not None:
        _require_scale(op, scale.shape, streams)
    return Tensor(x.dtype, x.shape)


def _require_scale(op: Op, scale: Shape, streams: Streams) -> None:
    """A factor for each feature, of one stream or of all: (H), (C * H) or (C, H)."""
    _, branches, width = streams
    if scale.rank == 1:
        wanted = eq(scale[0], width) | eq(scale[0], branches * width)
        op.require(wanted, "scale must have a factor for each feature")
    elif scale.rank is None:
        op.may_fail("scale must fit the streams")
    else:
        op.require_dims("scale", branches, width)


@kernel("GatedRMSNorm", "X[..., H] scale gate[..., H] -> Y[..., H]")
def gated_rms_norm(op: Op, H: Dim) -> None:
    """Root-mean-square normalisation of groups of the last axis, times an activated gate: the shape of X."""
    groups = op.tensor("scale").shape.size
    of_attribute(op, "activation", ("silu", "swish", "sigmoid"), "silu")
    op.require(ge(groups, 1), "scale must not be empty")
    op.require(divisible(H, groups), "the last axis must divide into groups")


@kernel("GatedAdd", "X[..., H] Y[..., H] gate[..., F] gate_weight[F, 1]? -> output[..., H]")
def gated_add(op: Op, H: Dim, F: Dim) -> None:
    """X + Y * gate, with a gate (..., 1) for each row: the shape of X."""
    op.require(ge(H, 1), "the last axis of X must not be empty")
    if op.has("gate_weight"):
        op.may_fail("the device must have the kernel")
    else:
        op.require_equal(F, 1, "gate must have one value for each row")


ACTIVATIONS = shaped(
    """
    # SiLU of X times a scalar: the shape of X.
    ScaledSiLU: X[...] scale[]? -> Y[...]
    """,
    domain=MICROSOFT,
    complete=True,
)


@kernel(
    "EngramGate",
    "key[B, S, C, H] query[B, S, C, H] value[B, S, H] key_norm_scale[C, H] query_norm_scale[C, H] "
    "conv_norm_scale[C, H]? -> output:key&query&value[B, S, C, H] gated_value_normed:key&query&value[B, S, C, H]",
)
def engram_gate(op: Op) -> None:
    """A value (B, S, H) times a gate of each of C streams: (B, S, C, H), and normalised."""
    if op.wants(1) and not op.has("conv_norm_scale"):
        op.reject("gated_value_normed needs conv_norm_scale, which is missing")
