"""Preview operators of training: an optimiser step, and gradients of a part of the graph."""

from __future__ import annotations

from typing import Final

from absint.lattices.value import Tensor
from absint.transfer.op import Op
from absint.transfer.rule import Rule, rule

DOMAIN: Final = "ai.onnx.preview.training"


def _optimiser(name: str, says: str, states: int) -> Rule:
    """The rule of an optimiser that keeps `states` tensors for each trained tensor.

    The inputs after R (learning rate) and T (number of updates) are all trained tensors, all gradients, all first
    states, and so on. The outputs are the trained tensors, then the states.
    """

    def transfer(op: Op) -> tuple[Tensor, ...]:
        given = op.variadic()
        if len(given) < 3:
            op.reject("an optimiser needs R, T and the tensors to train")
        rate, _, *tensors = given
        if len(tensors) % (2 + states):
            op.reject(f"each trained tensor must have {2 + states} inputs, found {len(tensors)} inputs after R and T")
        count = len(tensors) // (2 + states)
        trained, gradients, *kept = (tensors[at : at + count] for at in range(0, len(tensors), count or 1))
        steps = [op.broadcast(x.shape, g.shape) for x, g in zip(trained, gradients, strict=True)]
        moved = [[op.broadcast(s.shape, step) for s, step in zip(group, steps, strict=True)] for group in kept]
        news = [op.broadcast(rate.shape, *shapes) for shapes in zip(*moved, strict=True)]
        results = zip(
            (*trained, *(s for group in kept for s in group)), (*news, *(m for g in moved for m in g)), strict=True
        )
        return tuple(Tensor(old.dtype, shape) for old, shape in results)

    transfer.__doc__ = says
    return rule(name, "R T inputs* -> outputs*", domain=DOMAIN)(transfer)


adagrad = _optimiser("Adagrad", "A step of Adagrad: the trained tensors, then their accumulated squared gradients.", 1)
adam = _optimiser("Adam", "A step of Adam: the trained tensors, then their two averages of gradients.", 2)
momentum = _optimiser("Momentum", "A step with momentum: the trained tensors, then their momenta.", 1)


@rule("Gradient", "Inputs* -> Outputs*", domain=DOMAIN)
def gradient(op: Op) -> tuple[Tensor, ...]:
    """The derivatives of `y` with respect to `xs`, the first inputs: their shapes."""
    return tuple(Tensor(x.dtype, x.shape) for x in op.variadic()[: op.outputs])
