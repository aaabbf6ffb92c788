"""A model and its frozen copy, held against each other: by runs, by the checker, by inference of others."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from absint import Result
from absint.runs.run import feeds_for
from absint.runs.session import Session


@contextmanager
def folder_like(path: Path) -> Iterator[Path]:
    """A temporary folder that holds the weights of the model's folder."""
    with tempfile.TemporaryDirectory() as made:
        for weights in path.parent.glob("*.bin"):
            shutil.copy(weights, made)
        yield Path(made)


def session(path: Path) -> Session:
    """The model as onnxruntime runs it without optimisations, which would reorder the arithmetic of floats."""
    model = onnx.load(path, load_external_data=False)
    return Session(path.read_bytes(), [info.name for info in model.graph.output], str(path.parent))


def same(a: Any, b: Any) -> bool:
    """The same values, bit by bit."""
    if isinstance(a, np.ndarray):
        b = np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, Sequence) and not isinstance(a, str):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a)


def differing(before: Session, after: Session, feeds: Mapping[str, Any], *, but_empty: bool = False) -> str:
    """The first output that differs between the two, or why one of them does not run; empty if both agree.

    With `but_empty` two arrays without elements may differ in their sizes.
    """
    left, right = (_run(model, feeds) for model in (before, after))
    if isinstance(left, str):
        return ""  # the original fails too, so there is nothing to agree on
    if isinstance(right, str):
        return f"the frozen model fails: {right}"
    for name, value in left.items():
        if not same(value, right[name]) and not (but_empty and _are_empty(value, right[name])):
            return f"output {name!r} differs"
    return ""


def _are_empty(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype and a.size == b.size == 0


def runs(model: Session, feeds: Mapping[str, Any]) -> bool:
    return not isinstance(_run(model, feeds), str)


def _run(model: Session, feeds: Mapping[str, Any]) -> Mapping[str, Any] | str:
    try:
        return model.run(feeds)
    except Exception as error:
        return " ".join(str(error).split())[:200]


def feeds_at(result: Result, sizes: Mapping[str, int]) -> Iterator[Mapping[str, Any]]:
    """A few feeds at these sizes."""
    yield feeds_for(result, sizes, seed=1)
    yield feeds_for(result, sizes, values="ones")
    yield feeds_for(result, sizes, values="zeros")


def unknown_to_onnx(model: onnx.ModelProto) -> list[str]:
    """Values of the main graph of which onnx's own inference, on the inputs alone, does not find every size."""
    inferred = onnx.shape_inference.infer_shapes(stripped(model), data_prop=True)
    return list(_open(inferred))


def unknown_to_onnxruntime(model: onnx.ModelProto, folder: Path) -> list[str]:
    """The same of onnxruntime's symbolic_shape_infer, which reads weights from the working directory, and leaves a file
    there where it fails. Raises ImportError where it cannot be imported.
    """
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    with chdir(folder):
        inferred = SymbolicShapeInference.infer_shapes(stripped(model), auto_merge=False, guess_output_rank=False)
    return list(_open(inferred))


def stripped(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the shapes that were written into it, except those of its inputs."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.value_info[:]
    for info in found.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return found


def tensors_open(model: onnx.ModelProto) -> list[str]:
    """Tensors of the main graph of which some size is no number."""
    others = {
        info.name
        for info in (*model.graph.value_info, *model.graph.output)
        if info.type.WhichOneof("value") not in (None, "tensor_type")
    }
    return [name for name in _open(model) if name not in others]


def _open(model: onnx.ModelProto) -> Iterator[str]:
    known = {
        info.name
        for info in (*model.graph.value_info, *model.graph.output)
        if info.type.tensor_type.HasField("shape")
        and all(dim.HasField("dim_value") for dim in info.type.tensor_type.shape.dim)
    }
    for node in model.graph.node:
        yield from (name for name in node.output if name and name not in known)
