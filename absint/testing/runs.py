"""Running a case: in onnxruntime, in onnx.reference, or by a function on arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import onnx
from onnx import helper, numpy_helper

from absint.runs.run import typed
from absint.runs.session import execute as execute_model
from absint.testing.cases import Array, Binding, Case

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

Outcome = tuple[list[object] | None, str]
"""The outputs of a run, or None and the reason of its failure."""

Runner = Callable[[Case, Binding, int], Outcome]
"""Runs a case at a binding, with random data from a seed."""

NEWEST_IR: Final = 10
_UNSUPPORTED: Final = re.compile(
    "NOT_IMPLEMENTED|Could not find an implementation|is not a registered|released onnx opset|Unrec|under development"
)


def arrays_of(case: Case, binding: Binding, seed: int) -> list[Array | None]:
    """The data that a run of the case gets."""
    rng = np.random.default_rng(seed)
    return [None if arg is None else arg.array(binding, rng) for arg in case.inputs]


def build_model(case: Case, arrays: Sequence[Array | None]) -> onnx.ModelProto:
    """A model of the one node; inputs with known elements are initialisers, the others inputs of unknown shape."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    out = [f"y{i}" for i in range(case.outputs)]
    attributes = cast("dict[str, Any]", dict(case.attributes))
    node = helper.make_node(case.op, names, out, domain=case.domain, name="node", **attributes)
    inputs, initializers = [], []
    for arg, name, array in zip(case.inputs, names, arrays, strict=True):
        if arg is None or array is None:
            continue
        if arg.elements is not None and not arg.hidden and not arg.fed:
            initializers.append(numpy_helper.from_array(array, name))
        else:
            rank = [None] * array.ndim if case.ranked else None
            inputs.append(helper.make_tensor_value_info(name, int(arg.dtype), rank))
    outputs = [onnx.ValueInfoProto(name=name) for name in out]
    graph = helper.make_graph([node], "case", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", case.opset if not case.domain else 20)]
    if case.domain:
        imports.append(helper.make_opsetid(case.domain, case.opset))
    return helper.make_model(graph, opset_imports=imports, ir_version=min(onnx.IR_VERSION, NEWEST_IR))


def _feeds(model: onnx.ModelProto, arrays: Sequence[Array | None]) -> dict[str, Array]:
    names = {info.name for info in model.graph.input}
    return {name: a for i, a in enumerate(arrays) if a is not None and (name := f"x{i}") in names}


def execute(case: Case, binding: Binding, seed: int) -> Outcome:
    """Run the node in onnxruntime without optimisations, else in onnx.reference; (None, reason) if it fails."""
    arrays = arrays_of(case, binding, seed)
    model = build_model(case, arrays)
    feeds = _feeds(model, arrays)
    names = [info.name for info in model.graph.output]
    try:
        _, types, values = execute_model(model.SerializeToString(), names, [feeds], None)
    except ImportError as error:
        raise ImportError(
            "onnxruntime runs the cases and is not installed: pip install 'absint[run]', or give check_rule a "
            "`reference` or `kernels`"
        ) from error
    except Exception as error:
        return reference(model, feeds) if _UNSUPPORTED.search(str(error)) else (None, str(error))
    return [typed(types[name], values[name]) if name in values else None for name in names], ""


def reference(
    model: onnx.ModelProto, feeds: Mapping[str, Array], kernels: Sequence[type[OpRun]] | None = None
) -> Outcome:
    """Run a model in onnx.reference, with kernels of its own for custom operators."""
    from onnx.reference import ReferenceEvaluator

    try:
        names = {i.name for i in model.graph.input}
        evaluator = ReferenceEvaluator(model, new_ops=list(kernels) if kernels else None)
        outputs = evaluator.run(None, {n: a for n, a in feeds.items() if n in names})
        return [np.asarray(o) if np.isscalar(o) else o for o in outputs], ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def in_reference(kernels: Sequence[type[OpRun]]) -> Runner:
    """Runs in onnx.reference with these kernels."""

    def run(case: Case, binding: Binding, seed: int) -> Outcome:
        arrays = arrays_of(case, binding, seed)
        model = build_model(case, arrays)
        return reference(model, _feeds(model, arrays), kernels)

    return run


def by_function(function: Callable[..., object]) -> Runner:
    """Runs by calling a function with the arrays (None for one left out), and the attributes by name.

    The function returns an array, or a tuple of them; an exception is a run that fails.
    """

    def run(case: Case, binding: Binding, seed: int) -> Outcome:
        arrays = arrays_of(case, binding, seed)
        try:
            result = function(*arrays, **case.attributes)
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"
        outputs = list(result) if isinstance(result, tuple) else [result]
        return [np.asarray(o) if isinstance(o, (int, float, bool)) else o for o in outputs], ""

    return run
