"""Files that tools wrote, judged by runs in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import absint
from absint.runs.run import RunError, feeds_for, run

Sizes = Mapping[str, int]
Outputs = Mapping[str, Any]


def outputs(model: Path, feeds: Mapping[str, Any]) -> Outputs | str:
    """The outputs of a run, or the reason why there are none."""
    try:
        return run(absint.analyze(model), feeds, isolated=True)
    except RunError as error:
        return "does not load" if "Load" in str(error) else "no run succeeds"
    except Exception as error:  # whatever is wrong with the file of another tool
        return type(error).__name__


def feeds(model: Path, sizes: Sizes) -> Mapping[str, Any]:
    """Random arrays for the inputs."""
    return feeds_for(absint.analyze(model), sizes, seed=1)


def copy_at(original: Path, copy: Path, sizes: Sizes) -> str:
    """The verdict on a copy at these sizes, beside a run of the original."""
    if not copy.exists():
        return "no file"
    given = feeds(original, sizes)
    written = outputs(copy, given)
    if isinstance(written, str):
        return f"**written, {written}**"
    expected = outputs(original, given)
    if isinstance(expected, str):
        return "**written, runs where the model does not**"
    return compared(expected, written)


def compared(expected: Outputs, written: Outputs) -> str:
    """Outputs of two runs on the same inputs."""
    for name, array in expected.items():
        other = written.get(name)
        if other is None:
            return f"**output {name} is gone**"
        if np.shape(array) != np.shape(other):
            return f"**{name} is {list(np.shape(other))}, not {list(np.shape(array))}**"
    if all(np.asarray(array).tobytes() == np.asarray(written[name]).tobytes() for name, array in expected.items()):
        return "same outputs"
    close = all(np.allclose(array, written[name], rtol=1e-3, atol=1e-4) for name, array in expected.items())
    return "outputs close" if close else "**other outputs**"


def still_open(copy: Path) -> int:
    """Dims of inputs that have no number."""
    infos = onnx.load(copy, load_external_data=False).graph.input
    return sum(not dim.HasField("dim_value") for info in infos for dim in info.type.tensor_type.shape.dim)


def runs_at(model: Path, sizes: Sizes) -> bool:
    """Does the model run at these sizes, on random inputs?"""
    return not isinstance(outputs(model, feeds(model, sizes)), str)
