"""Chains of windows: what is claimed of a symbolic size is what the rules give, step by step, for each number."""

from __future__ import annotations

import random

import pytest

from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.stated import Applied

Layer = tuple[str, int, dict[str, object]]


def layer(step: Layer, size: Dim) -> Applied:
    op, kernel, attributes = step
    rule = shipped().lookup("", op, 20)
    assert rule is not None
    inputs = [Tensor(DType.FLOAT, Shape([1, 1, size]))]
    if op.startswith("Conv"):
        inputs.append(Tensor(DType.FLOAT, Shape([1, 1, kernel])))
    else:
        attributes = {**attributes, "kernel_shape": [kernel]}
    return apply(rule, Op(rule, inputs, attributes, version=20))


def chain(steps: list[Layer], size: Dim) -> tuple[Dim | None, list[Applied]]:
    """The size at the end, None if a step is rejected."""
    applied = []
    for step in steps:
        found = layer(step, size)
        applied.append(found)
        if found.rejected is not None:
            return None, applied
        (output,) = found.outputs
        assert isinstance(output, Tensor)
        size = output.shape[2]
    return size, applied


def pool(kernel: int, stride: int, pad: int = 0, **more: object) -> Layer:
    return "MaxPool", kernel, {"strides": [stride], "pads": [pad, pad], **more}


def conv(kernel: int, stride: int, pad: int = 0) -> Layer:
    return "Conv", kernel, {"strides": [stride], "pads": [pad, pad]}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([conv(7, 2, 3), pool(3, 2, 1), conv(3, 2, 1), conv(3, 2, 1), conv(3, 2, 1)], "(N + 31)//32"),
        ([conv(3, 1, 1), pool(2, 2)] * 5, "max(N//32, 1)"),
        ([conv(10, 5), *[conv(3, 2)] * 4, *[conv(2, 2)] * 2], "(N + 240)//320 - 1"),
        ([conv(3, 2), pool(3, 2, ceil_mode=1), pool(3, 2, ceil_mode=1)], "(N + 7)//8 - 1"),
        ([("ConvTranspose", 2, {"strides": [2]})] * 3, "8*N"),
    ],
)
def test_chains_stay_one_quotient(steps: list[Layer], expected: str) -> None:
    assert str(chain(steps, Dim("N"))[0]) == expected


def random_layer(rng: random.Random) -> Layer:
    op = rng.choice(["MaxPool", "AveragePool", "Conv", "Conv", "ConvTranspose"])
    kernel = rng.randint(1, 5)
    attributes: dict[str, object] = {"strides": [rng.randint(1, 4)], "dilations": [rng.choice([1, 1, 1, 2, 3])]}
    if rng.random() < 0.6:
        attributes["pads"] = [rng.randint(0, kernel - 1), rng.randint(0, kernel - 1)]
    elif rng.random() < 0.4:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if op.endswith("Pool"):
        attributes["ceil_mode"] = rng.randint(0, 1)
    return op, kernel, attributes


@pytest.mark.parametrize("seed", range(60))
def test_symbolic_agrees_with_concrete(seed: int) -> None:
    rng = random.Random(seed)
    steps = [random_layer(rng) for _ in range(rng.randint(1, 4))]
    claim, applied = chain(steps, Dim("N"))
    for number in (*range(20), 57):
        size, _ = chain(steps, Dim(number))
        required = [s.relation for found in applied for s in found.statements if s.role == "required"]
        holds = claim is not None and all(relation.evaluate({"N": number}) for relation in required)
        assert holds == (size is not None), f"{steps} at {number}"
        if size is not None and claim is not None:
            assert claim.evaluate({"N": number}) == int(size), f"{steps} at {number}: {claim}"
