"""One node at given sizes: what it gives by the documents, in each runtime, and by the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import onnx
import onnxruntime as ort

from absint.lattices.logic.relation import NO, YES
from absint.lattices.value import SequenceOf, Tensor, Value
from absint.research.specification.node import Meaning
from absint.testing import Binding, Case, apply_case
from absint.testing.cases import Array, Outcome, build_model, reference
from absint.transfer.semantics import EITHER, Semantics
from absint.transfer.stated import Applied

ort.set_default_logger_severity(4)

NO_KERNEL: Final = ("NOT_IMPLEMENTED", "Could not find an implementation", "No Op registered", "is not a registered")
"""Failures of onnxruntime where it lacks the operator at a version or for a type."""

NOT_WRITTEN: Final = (
    "NotImplementedError",
    "No registered implementation",
    "No implementation for operator",
    "ot implemented",
    "unexpected keyword argument",
    "positional arguments",
)
"""Failures of onnx.reference where it lacks a version, form or mode of the operator."""


def feeds(model: onnx.ModelProto, arrays: Sequence[Array | None]) -> dict[str, Array]:
    """The arrays by the names of the inputs."""
    names = {info.name for info in model.graph.input}
    return {name: array for at, array in enumerate(arrays) if array is not None and (name := f"x{at}") in names}


def in_onnxruntime(case: Case, arrays: Sequence[Array | None]) -> Outcome:
    """Run a case in onnxruntime, without optimisations."""
    model = build_model(case, arrays)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, feeds(model, arrays)), ""
    except Exception as error:
        return None, str(error)


def in_reference(case: Case, arrays: Sequence[Array | None]) -> Outcome:
    """Run a case in onnx.reference."""
    model = build_model(case, arrays)
    return reference(model, feeds(model, arrays))


def shown(texts: Sequence[str]) -> str:
    """The shapes of outputs in one text; one that all have is written once."""
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def shape_text(output: object) -> str:
    """The shape of an array, or those of the arrays in a sequence."""
    if isinstance(output, list):
        inner = dict.fromkeys(map(shape_text, output))
        return f"a sequence of {' and '.join(inner)}" if inner else "an empty sequence"
    return str(list(np.shape(output))) if isinstance(output, np.ndarray | np.generic) else "something else"


def documented(meaning: Meaning, at: Binding) -> str:
    """The shapes by the documents, or that they exclude the node."""
    broken = [clause.reason for clause in meaning.legal if not clause.strict.holds(at)]
    if broken:
        return f"excluded: {broken[0]}"
    return shown([str([size.value(at) for size in output.dims]) for output in meaning.outputs])


def outcome(run: Outcome, missing: Sequence[str], without: str) -> str:
    """A run as text; `without` if the runtime lacks the operator."""
    outputs, failure = run
    if outputs is not None:
        return shown(list(map(shape_text, outputs)))
    return without if any(text in failure for text in missing) else "fails"


def claimed(case: Case, at: Binding, semantics: Semantics = EITHER) -> str:
    """The answer of the rule at these sizes: shapes, "illegal", or shapes that it gives unless the node fails."""
    return claim(apply_case(case, semantics=semantics), at)


def claim(applied: Applied, at: Mapping[str, int]) -> str:
    """The same, of a rule that was applied."""
    required = [s.relation for s in applied.statements if s.role == "required"]
    if applied.rejected is not None or any(relation.at(at) is NO for relation in required):
        return "illegal"
    may_fail = any(f.unless.at(at) is not YES for f in applied.possible_failures if not f.at_load)
    text = shown([_sizes(value, at) for value in applied.outputs])
    return f"{text} or fails" if may_fail else text


def _sizes(value: Value, at: Mapping[str, int]) -> str:
    if isinstance(value, SequenceOf):
        return f"a sequence of {_sizes(value.element, at)}"
    if not isinstance(value, Tensor):
        return "anything"
    if value.shape.rank is None:
        return "any rank"
    sizes = [None if d.is_unknown or d.free_symbols - at.keys() else d.evaluate(at) for d in value.shape.dims]
    return f"[{', '.join('?' if size is None else str(size) for size in sizes)}]"
