"""Cost of operators that count elements: element-wise ones, reductions, normalisations, windows."""

from __future__ import annotations

from typing import Final

from absint.lattices.terms.expr import ZERO_EXPR, product
from absint.questions.costs.operators.instance import Instance, Rule, UnsizedError, Work, when


def per_input(flops: int, output: int = 0) -> Rule:
    """FLOPs per element of the first input, and per element of the first output."""
    return lambda op: Work(other=op.size() * flops + (op.out() * output if output else ZERO_EXPR))


def with_operands(flops: int, *optional: int) -> Rule:
    """FLOPs per element of the first output, and one more for each of these inputs that is given."""
    return lambda op: Work(other=op.out() * (flops + sum(map(op.has, optional))))


def variadic(op: Instance) -> Work:
    """One FLOP per output element for each input but the first; Mean divides too."""
    count = len(op.inputs) - 1 + (op.op_type == "Mean")
    return Work(other=op.out() * count if count else ZERO_EXPR)


def scatter(op: Instance) -> Work:
    """One FLOP per element of the updates with a reduction, else none."""
    return Work(other=when(op.text("reduction", "none") != "none", op.size(2)))


def batch_normalisation(op: Instance) -> Work:
    """2 FLOPs per element with given statistics (scale and shift, folded), 7 if they are computed."""
    trained = op.integer("training_mode", 0) or len(op.outputs) > 1
    return Work(other=op.size() * (7 if trained else 2))


def lrn(op: Instance) -> Work:
    """Per element the squares of a window of `size`, and 3 FLOPs to scale."""
    return Work(other=op.size() * (op.integer("size") + 3))


def pool(op: Instance) -> Work:
    """FLOPs = output elements * kernel size; LpPool twice as many, for the powers."""
    kernel = op.integers("kernel_shape")
    if not kernel:
        raise UnsizedError("kernel_shape is missing")
    return Work(other=op.out() * product(kernel) * (2 if op.op_type == "LpPool" else 1))


_TAPS: Final = {"linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}


def resize(op: Instance) -> Work:
    """2 FLOPs per output element and tap: 2 taps for each axis if linear, 4 if cubic. Nearest: none. The axes are those
    of the attribute, else the spatial ones."""
    taps = _TAPS.get(op.text("mode", "nearest"))
    rank = len(op.dims(0))
    axes = op.count("axes") or (rank - 2 if rank > 2 else rank)
    return Work(other=op.out() * (2 * taps**axes)) if taps else Work()


def grid_sample(op: Instance) -> Work:
    """2 FLOPs per output element and tap: 2 taps for each spatial axis if linear, 4 if cubic. Nearest: none."""
    taps = _TAPS.get(op.text("mode", "linear"))
    return Work(other=op.out() * (2 * taps ** (len(op.dims(0)) - 2))) if taps else Work()


def cross_entropy(op: Instance) -> Work:
    """LogSoftmax of the scores, 5 FLOPs an element, and 2 FLOPs per label."""
    return Work(other=op.size(0) * 5 + op.size(1) * 2)


def likelihood(op: Instance) -> Work:
    """2 FLOPs per label."""
    return Work(other=op.size(1) * 2)


def split_gelu(op: Instance) -> Work:
    """A bias on each element of the input; Gelu and a product on each of the output."""
    return Work(other=op.size() + op.out() * 2)


_STEPS: Final = {"Momentum": (3, 7), "Adagrad": (3, 9), "Adam": (4, 14)}
"""Tensors for each one that is optimised, and FLOPs per element."""


def optimiser(op: Instance) -> Work:
    """FLOPs per element that is optimised, the gradient of the norm included: Momentum 7, Adagrad 9, Adam 14."""
    tensors, flops = _STEPS[op.op_type]
    elements = sum((op.size(2 + k) for k in range((len(op.inputs) - 2) // tensors)), ZERO_EXPR)
    return Work(other=elements * flops)


def nothing(op: Instance) -> Work:
    """Elements are moved, or made, without arithmetic."""
    return Work()
