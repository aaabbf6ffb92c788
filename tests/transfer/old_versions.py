"""Running a case in the version of the operator that it names, however old.

A form that `versions.definitions` defines in numpy runs there; another one in onnxruntime if that has a kernel of the
version, else in onnx.reference, else as the version before if only element types changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import helper

from absint.lattices.logic.relation import YES
from absint.lattices.value import Tensor
from absint.runs.run import typed
from absint.runs.session import execute
from absint.testing.cases import arrays_of, build_model, by_function, reference
from absint.transfer.families import shipped
from absint.transfer.stated import Applied
from tests.transfer.harness import Binding, Case, apply_case, check_outputs, shape_text
from tests.transfer.versions.definitions import DEFINITIONS, Definition
from tests.transfer.versions.schemas import REQUIRED, changes, schema_before, schema_of

WITHOUT_KERNEL: Final = (
    "NOT_IMPLEMENTED",
    "Could not find an implementation",
    "is not a registered",
    "No Op registered",
    "under development",
    "ONNX Runtime only *guarantees*",
    "Unrecognized attribute",
)
"""onnxruntime's messages about an operator or a type that it lacks."""

WITHOUT_CLASS: Final = ("No registered implementation", "No implementation for operator", "RuntimeImplementationError")
"""onnx.reference's messages about an operator that it lacks."""


class Run(NamedTuple):
    """The result of a case at a binding."""

    outputs: list[Any] | None
    failure: str
    runtime: str
    """`definition`, `onnxruntime` or `reference`; `nothing` if none of them has the operator."""


def run_at(case: Case, binding: Binding, seed: int) -> Run:
    """Run a case at one binding."""
    definition = definition_of(case)
    with np.errstate(all="ignore"):
        if definition is not None:
            return Run(*by_function(definition)(case, binding, seed), "definition")
        run = run_in_runtimes(case, binding, seed)
    before = schema_before(case.domain, case.op, case.opset)
    if run.runtime == "nothing" and before is not None and not changes(before, schema_of(case)):
        return run_at(replace(case, opset=before.since_version), binding, seed)
    return run


def run_in_runtimes(case: Case, binding: Binding, seed: int) -> Run:
    """Run a case in onnxruntime, else in onnx.reference."""
    arrays = arrays_of(case, binding, seed)
    model = build_model(case, arrays)
    names = {info.name for info in model.graph.input}
    feeds = {f"x{i}": a for i, a in enumerate(arrays) if a is not None and f"x{i}" in names}
    outputs, failure = in_onnxruntime(model, feeds)
    if outputs is not None or not any(text in failure for text in WITHOUT_KERNEL):
        return Run(outputs, failure, "onnxruntime")
    outputs, failure = reference(model, feeds)
    is_missing = outputs is None and any(text in failure for text in WITHOUT_CLASS)
    return Run(outputs, failure, "nothing" if is_missing else "reference")


def in_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> tuple[list[Any] | None, str]:
    """The outputs, or None and why there are none."""
    names = [info.name for info in model.graph.output]
    try:
        _, types, values = execute(model.SerializeToString(), names, [feeds], None)
    except Exception as error:
        return None, str(error)
    return [typed(types[name], values[name]) if name in values else None for name in names], ""


def definition_of(case: Case) -> Definition | None:
    """The definition in numpy of the form that the case is for."""
    return None if case.domain else DEFINITIONS.get((case.op, schema_of(case).since_version))


def run_version(case: Case) -> int:
    """Check a case at every binding; the number of bindings that ran. Raises AssertionError for a wrong claim."""
    applied = apply_case(case)
    rule = shipped().lookup(case.domain, case.op, case.opset)
    assert rule is not None
    for want, got in zip(case.expect or (), applied.outputs, strict=False):
        assert want is None or shape_text(got) == want, f"{case}: shape {shape_text(got)}, expected {want}"
    if case.contents is not None:
        first = applied.outputs[0]
        assert isinstance(first, Tensor)
        assert str(first.contents) == case.contents, f"{case}: contents {first.contents}, expected {case.contents}"
    ran = 0
    for number, binding in enumerate(case.bindings):
        run = run_at(case, binding, number)
        if run.outputs is None:
            promised = rule.complete and not case.may_differ and run.runtime in ("onnxruntime", "definition")
            explained = not promised or applied.doubts or is_broken(applied, binding)
            assert explained, f"{case} at {binding}: fails ({run.failure}) but every requirement holds"
        elif run.runtime != "reference" or not is_broken(applied, binding):
            # onnx.reference computes something where an operator should fail
            check_outputs(case, applied, binding, run.outputs)
            ran += 1
    return ran


def is_broken(applied: Applied, binding: Binding) -> bool:
    """The binding makes a requirement false, or undefined."""
    stated = [s.relation for s in applied.statements if s.role == "required"]
    stated += [failure.unless for failure in applied.possible_failures if not failure.is_open]
    return any(relation.at(binding) is not YES for relation in stated)


def is_typed(case: Case, schema: onnx.defs.OpSchema) -> bool:
    """The schema admits the inputs with their element types, and the types of the attributes."""
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    for index, arg in enumerate(case.inputs):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        kinds = allowed.get(formal.type_str, [formal.type_str])
        if arg is None and formal.option == REQUIRED:
            return False
        if arg is not None and f"tensor({type_name(int(arg.dtype))})" not in kinds:
            return False
    given = {n: v for n, v in case.attributes.items() if v is not None and v != []}
    return all(helper.make_attribute(n, v).type == schema.attributes[n].type for n, v in given.items())


def type_name(dtype: int) -> str:
    """The element type as schemas write it."""
    return helper.tensor_dtype_to_string(dtype).removeprefix("TensorProto.").lower()
