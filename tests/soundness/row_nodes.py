"""The node tests of onnx with an axis of rows: for each size of an input, and each way to find it in the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from tests.soundness.models import Input, NodeTest, resized, stripped
from tests.soundness.row_runs import Tally, hunted

Axes = Mapping[str, int]


def ways(test: NodeTest) -> Iterator[Axes]:
    """Axes of rows: each axis of each input alone, and those of one size in all inputs, the first or the last."""
    fed = [item for item in test.inputs if item.is_tensor and not item.controls]
    found: list[Axes] = [{item.name: axis} for item in fed for axis in range(item.data.ndim)]
    for size in dict.fromkeys(size for item in fed for size in item.data.shape):
        for last in (False, True):
            axes = {}
            for item in fed:
                places = [axis for axis, own in enumerate(item.data.shape) if own == size]
                if places:
                    axes[item.name] = places[-1 if last else 0]
            found.append(axes)
    found += [{item.name: axis for item in fed if item.data.ndim > axis} for axis in range(4)]
    yield from (dict(axes) for axes in dict.fromkeys(tuple(axes.items()) for axes in found if axes))


def with_rows(test: NodeTest, axes: Axes) -> ModelProto:
    """The model with inputs of the sizes of the test, but for the axes of rows; inputs that decide shapes are fixed."""
    model = stripped(test)
    for item in test.inputs:
        if item.controls:
            model.graph.initializer.append(numpy_helper.from_array(item.data, item.name))
        elif item.is_tensor:
            dims: list[int | str] = list(item.data.shape)
            if item.name in axes:
                dims[axes[item.name]] = "rows"
            model.graph.input.append(helper.make_tensor_value_info(item.name, item.type.tensor_type.elem_type, dims))
        else:
            model.graph.input.append(onnx.ValueInfoProto(name=item.name, type=item.type))
    return model


def feeds(test: NodeTest, axes: Axes, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """Data like those of the test, on so many rows; what has none stays."""
    return {item.name: _data(item, axes, count, rng) for item in test.inputs if not item.controls}


def _data(item: Input, axes: Axes, count: int, rng: np.random.Generator) -> Any:
    if item.name not in axes:
        return item.data
    shape = list(item.data.shape)
    shape[axes[item.name]] = count
    return resized(item.data, tuple(shape), rng, keep=False)


def wrong(test: NodeTest, tally: Tally) -> Iterator[str]:
    """The false claims about a node test."""
    for axes in ways(test):
        model = with_rows(test, axes)
        for text in hunted(model, axes, partial(feeds, test, axes), {}, tally):
            yield f"{test.name} {dict(axes)} {text}"
