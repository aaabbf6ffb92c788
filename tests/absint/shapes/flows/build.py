"""Builders of the models, and their register."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx import ModelProto, NodeProto, ValueInfoProto

from tests.models import const, ints, loop_body, model, node

Bindings = Sequence[Mapping[str, int]]


@dataclass(frozen=True)
class Flow:
    """A model, runs of it (bindings, each with every choice of data), and expected shapes by value."""

    model: ModelProto
    bindings: Bindings
    data: Sequence[Mapping[str, Any]] = ({},)
    expect: Mapping[str, str] = field(default_factory=dict)


FLOWS: dict[str, Callable[[], Flow]] = {}


def flow(build: Callable[[], Flow]) -> Callable[[], Flow]:
    """Register a model."""
    FLOWS[build.__name__] = build
    return build


def sizes(*names: str, values: Sequence[int] = (0, 1, 2, 5)) -> list[dict[str, int]]:
    """Every combination, for few names."""
    result: list[dict[str, int]] = [{}]
    for name in names:
        result = [{**b, name: v} for b in result for v in values]
    return result


TRIPS = [{"m": m} for m in (0, 1, 3, -2)]


def size_is(value: str, axis: int, number: int, out: str = "is") -> list[NodeProto]:
    """out: size of an axis == number."""
    return [
        node("Shape", [value], [f"{out}_shape"]),
        const(f"{out}_axis", axis),
        node("Gather", [f"{out}_shape", f"{out}_axis"], [f"{out}_size"], axis=0),
        const(f"{out}_number", number),
        node("Equal", [f"{out}_size", f"{out}_number"], [out]),
    ]


def carry(
    step: Sequence[NodeProto],
    expect: str,
    inputs: Sequence[ValueInfoProto],
    names: Sequence[str],
    after: Sequence[NodeProto] = (),
    data: Sequence[Mapping[str, Any]] = TRIPS,
    values: Sequence[int] = (0, 1, 2, 5),
) -> Flow:
    """A loop over M that carries x from x0."""
    nodes = [node("Loop", ["m", "", "x0"], ["y"], body=loop_body(step, ["x"])), *after]
    out = "z" if after else "y"
    made = model(nodes, [ints("m"), *inputs], [out])
    return Flow(made, sizes(*names, values=values), data, {"y": expect})
