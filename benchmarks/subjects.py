"""The models that every job is tried on, each complete in one file, and changed where a job needs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

import absint
from absint.lattices.value import Tensor

Sizes = Mapping[str, int]


class Subject(NamedTuple):
    """A model, sizes at which it runs, and what makes them illegal."""

    name: str
    legal: Sizes
    change: Sizes
    other: Sizes
    """Other sizes at which it runs."""
    box: Mapping[str, tuple[int, int, int]]
    """Least, best and greatest sizes of a profile; the illegal sizes lie within."""

    @property
    def illegal(self) -> Sizes:
        return {**self.legal, **self.change}

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.onnx"

    def copied(self, models: Path, folder: Path) -> Path:
        """The model with its weights in the same file."""
        path = folder / self.file
        onnx.save(onnx.load(models / self.file), path)
        return path


SUBJECTS: Final = (
    Subject(
        "bert.dynamo", {"batch": 2, "seq": 7}, {"seq": 100}, {"seq": 12}, {"batch": (1, 2, 4), "seq": (1, 64, 512)}
    ),
    Subject(
        "gpt2_past.dynamo",
        {"batch": 2, "seq": 3, "total": 8, "past": 5},
        {"total": 3},
        {"seq": 2, "total": 9, "past": 4},
        {"batch": (1, 2, 4), "seq": (1, 1, 64), "total": (1, 8, 128), "past": (0, 5, 64)},
    ),
    Subject("mamba.legacy", {"batch": 2, "seq": 8}, {"seq": 9}, {}, {"batch": (1, 2, 4), "seq": (1, 8, 512)}),
    Subject(
        "convnext.dynamo",
        {"batch": 2, "height": 64, "width": 96},
        {"height": 16},
        {"height": 97, "width": 130},
        {"batch": (1, 2, 4), "height": (1, 64, 256), "width": (1, 64, 256)},
    ),
    Subject(
        "speech_conv.dynamo",
        {"batch": 2, "samples": 2000},
        {"samples": 50},
        {"samples": 3001},
        {"batch": (1, 2, 4), "samples": (1, 2000, 16000)},
    ),
)


def shapes(model: Path, sizes: Sizes) -> dict[str, list[int]]:
    """The shapes of the inputs at these sizes."""
    result = absint.analyze(model)
    found = {name: result[name] for name in result.inputs}
    return {
        name: [int(n) for n in value.shape.evaluate(sizes)]
        for name, value in found.items()
        if isinstance(value, Tensor)
    }


def traced(source: Path) -> Path:
    """The model as a tracer that saw a batch of 1 leaves it: the first output goes through a Reshape to [1, -1, ...].

    What the output declares stays as it was. At batch 1 nothing changes.
    """
    model = onnx.load(source)
    graph = model.graph
    output = graph.output[0]
    dims = [d.dim_value for d in output.type.tensor_type.shape.dim]
    target = np.array([1, -1, *dims[2:]], np.int64)
    inner = f"{output.name}_before"
    for node in graph.node:
        node.output[:] = [inner if name == output.name else name for name in node.output]
        node.input[:] = [inner if name == output.name else name for name in node.input]
    graph.initializer.append(numpy_helper.from_array(target, "traced_shape"))
    graph.node.append(helper.make_node("Reshape", [inner, "traced_shape"], [output.name], name="traced"))
    path = source.with_name(f"traced_{source.name}")
    onnx.save(model, path)
    return path


def undeclared(source: Path) -> Path:
    """The model without the shapes of outputs and inner values that its exporter wrote."""
    model = onnx.load(source)
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    path = source.with_name(f"undeclared_{source.name}")
    onnx.save(model, path)
    return path
