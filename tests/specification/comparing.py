"""A specification against runs: legal where the node runs, and the sizes of what comes out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import prod
from typing import Final, NamedTuple

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from absint.lattices.dtype import DType
from absint.research.specification import contents
from absint.research.specification.formulas import both, equal
from absint.research.specification.node import Held, Meaning, Output
from absint.research.specification.specs import Argument, Instance, Specification
from absint.research.specification.terms import Term, variable
from absint.solver.backend import Backend
from absint.testing import Arg, Case
from absint.testing.cases import Outcome, execute
from tests.specification import holders as held
from tests.specification.operators import is_known
from tests.transfer.old_versions import definition_of, run_at

ort.set_default_logger_severity(4)

SIZES: Final = (0, 1, 2, 3, 5)
SIGNED: Final = (-7, -3, -2, -1, 0, 1, 2, 5)
"""Elements of any sign."""
MOST: Final = 24
"""Bindings that an instance is tried at."""

LAX: Final = ("CausalConvWithState",)
"""Operators that onnx.reference alone runs, of states that do not fit too."""

FEW: Final = 4
"""Legal sizes among those drawn, below which others are looked for."""

GREATEST: Final = 64
"""The greatest of these."""

NEWEST: Final = 9
"""The opset of operators of ai.onnx that `onnx` does not know."""

OLDEST: Final = 7
"""The oldest opset of onnxruntime's kernels. Older forms run as they are defined in numpy from the documents, else in
onnx.reference, which computes something of too small or wrong sizes too."""

MISSING: Final = (
    "NOT_IMPLEMENTED",
    "NotImplementedError",
    "No Op registered",
    "No registered implementation",
    "No implementation for operator",
    "not a registered",
    "Could not find an implementation",
    "Batchwise recurrent operations",
    "does not support double yet",
    "unexpected keyword argument",
    "positional arguments",
    "Subgraph must have the shape set",
    "of a type that can be fetched",
    held.UNFED,
)
"""Failures of a runtime that lacks the operator at this version, form or type."""


def differences(spec: Specification, operator: str, version: int, instance: Instance) -> Iterator[str]:
    """The places where a run and the specification disagree; each bound size is one of `SIZES`."""
    meaning = spec.meaning(operator, version, instance)
    for binding in bindings(instance, meaning):
        limits = [clause for clause in meaning.limits if not clause.formula.holds(binding)]
        if not all(limit.is_certain for limit in limits):
            continue  # it may also hang
        case = case_of(spec, operator, version, instance.at(binding) if instance.signed else instance)
        outputs, failure = held.execute(case, instance, binding) if held.holds(instance) else _run(case, binding)
        at = f"{operator}-{version} {instance} at {dict(binding)}"
        legal = is_legal(meaning, binding)
        if limits:
            if outputs is not None and not _is_old(case):
                yield f"{at} runs, and breaks a limit: {limits[0].reason}"
            continue
        if outputs is None:
            if _is_to_run(case, meaning, binding) and not any(word in failure for word in MISSING):
                yield f"{at} is legal and fails: {failure.strip()[:300]}"
            continue
        if _is_old(case) and definition_of(case) is None and not _is_to_run(case, meaning, binding):
            continue
        if not legal:
            reasons = [clause.reason for clause in meaning.legal if not clause.formula.holds(binding)]
            yield f"{at} runs and is illegal: {reasons[0]}"
            continue
        for place, (output, array) in enumerate(zip(meaning.outputs, outputs, strict=True)):
            if output.length is not None:
                if _shapes(array) != (wanted := _wanted(output, binding)):
                    yield f"{at}: output {place} holds {_shapes(array)}, specified is {wanted}"
                continue
            shape = tuple(defined.value(binding) for defined in output.dims)
            if isinstance(array, np.ndarray | np.generic) and array.shape != shape:
                yield f"{at}: output {place} has shape {array.shape}, specified is {shape}"
            specified = output.elements or contents.elements(instance.node(operator, version), spec.domain)[place]
            if specified is not None:
                numbers = [item.value(binding) if isinstance(item, Term) else item.holds(binding) for item in specified]
                if np.asarray(array).ravel().tolist() != numbers:
                    yield f"{at}: output {place} is {np.asarray(array).ravel().tolist()}, specified is {numbers}"


def _shapes(value: object) -> list[tuple[int, ...]]:
    """The shapes of the tensors that a sequence, an optional value or a sequence of maps holds."""
    if isinstance(value, list):
        parts = [next(iter(part.values())) if isinstance(part, dict) else part for part in value]
        return [np.shape(part) for part in parts]
    return [] if value is None else [np.shape(value)]  # type: ignore[call-overload]


def _wanted(output: Output, binding: Mapping[str, int]) -> list[tuple[int, ...]]:
    assert output.length is not None
    parts = output.parts if output.parts is not None else [output] * output.length.value(binding)
    return [tuple(defined.value(binding) for defined in part.dims) for part in parts]


def case_of(spec: Specification, operator: str, version: int, instance: Instance) -> Case:
    """The instance as a case that runs."""
    inputs = [None if argument is None else _arg(argument) for argument in instance.inputs]
    opset = version if spec.domain or is_known("", operator) else NEWEST
    attributes = {
        name: _held(value) if isinstance(value, Held) else value for name, value in instance.attributes.items()
    }
    return Case(operator, inputs, attributes, instance.outputs, opset=opset, domain=spec.domain)


def _held(tensor: Held) -> TensorProto:
    return helper.make_tensor("held", DType[tensor.dtype.upper()].value, tensor.dims, tensor.numbers)


def _is_to_run(case: Case, meaning: Meaning, binding: Mapping[str, int]) -> bool:
    old = _is_old(case)
    return all((clause.strict if old else clause.formula).holds(binding) for clause in meaning.legal)


def _is_old(case: Case) -> bool:
    return not case.domain and (case.opset < OLDEST or case.op in LAX)


def _run(case: Case, binding: Mapping[str, int]) -> Outcome:
    if case.op in LAX or not _is_old(case):
        return execute(case, binding, 0)
    run = run_at(case, binding, 0)
    small = run.runtime in ("reference", "nothing") and min(binding.values(), default=3) < 3
    return (None, MISSING[0]) if small else (run.outputs and run.outputs[: case.outputs], run.failure)


def bindings(instance: Instance, meaning: Meaning) -> Sequence[Mapping[str, int]]:
    """Some sizes, the same at each call: half of them legal if there are as many, the others nearly. Where few of those
    drawn are, the solver finds others, with 0, 1 and 2 for each variable where that is legal.
    """
    clauses = [[clause.formula.smtlib() for clause in found] for found in (meaning.legal, meaning.limits)]
    key = f"{instance} {instance.variables} {bool(meaning.outputs)} {clauses}"
    if key not in _CHOSEN:  # most versions of an operator mean the same
        _CHOSEN[key] = _bindings(instance, meaning)
    return _CHOSEN[key]


_CHOSEN: dict[str, Sequence[Mapping[str, int]]] = {}


def _bindings(instance: Instance, meaning: Meaning) -> Sequence[Mapping[str, int]]:
    names = instance.variables
    rng = random.Random(str(instance))
    values = [SIGNED if name in instance.signed else SIZES for name in names]
    every = prod(map(len, values))
    numbers = range(every) if every <= 2000 else rng.sample(range(every), 2000)
    drawn = [_Drawn.of(dict(zip(names, _chosen(number, values), strict=True)), meaning) for number in numbers]
    rng.shuffle(drawn)
    legal = sorted([found for found in drawn if found.is_legal], key=lambda found: found.violated > 0)
    first = {id(found) for found in legal[:MOST]}
    others = sorted([found for found in drawn if id(found) not in first], key=lambda found: found.violated)
    known = [found.binding for found in legal]
    if names and meaning.outputs and sum(not found.violated for found in legal) < FEW:
        solved = list(_solved(names, meaning))
        known = [*solved, *[b for b in known if b not in solved]]
    chosen = known[: MOST // 2]
    return [*chosen, *[found.binding for found in others if found.binding not in chosen][: MOST - len(chosen)]]


class _Drawn(NamedTuple):
    binding: Mapping[str, int]
    is_legal: bool
    violated: int
    """How many clauses do not hold: sizes that are nearly legal say most of each."""

    @classmethod
    def of(cls, binding: Mapping[str, int], meaning: Meaning) -> _Drawn:
        legal, limits = (
            [clause.formula.holds(binding) for clause in clauses] for clauses in (meaning.legal, meaning.limits)
        )
        return cls(binding, all(legal), [*legal, *limits].count(False))


def is_legal(meaning: Meaning, binding: Mapping[str, int]) -> bool:
    """The node is legal at these sizes, by the documents or in onnxruntime."""
    return all(clause.formula.holds(binding) for clause in meaning.legal)


def _solved(names: Sequence[str], meaning: Meaning) -> Iterator[Mapping[str, int]]:
    """Legal sizes up to `GREATEST`, each different from those before."""
    clauses = [clause.formula for clause in (*meaning.legal, *meaning.limits)]
    sizes = [both(variable(name) >= 0, variable(name) <= GREATEST) for name in names]
    known: list[Mapping[str, int]] = []
    wishes = [[], *[[equal(variable(name), size)] for size in (1, 0, 2) for name in names]]
    for wish in wishes:
        formulas = [*sizes, *clauses, *wish]
        lines = [f"(declare-const {name} Int)" for name in names]
        lines += [f"(assert {formula.smtlib()})" for formula in formulas]
        answer = _backend().check("\n".join(lines), rlimit=1_000_000, seconds=10, core=False)
        if answer.verdict == "sat" and (found := {name: answer.model.get(name, 0) for name in names}) not in known:
            known.append(found)
            yield found


@cache
def _backend() -> Backend:
    return Backend()


def _chosen(number: int, values: Sequence[Sequence[int]]) -> Iterator[int]:
    for choices in values:
        number, digit = divmod(number, len(choices))
        yield choices[digit]


def _probabilities(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.random(shape)


def _arg(argument: Argument) -> Arg:
    dtype = DType[argument.dtype.upper()]
    if argument.fill is not None:
        return Arg(list(argument.dims), dtype, data=lambda shape, rng: np.full(shape, argument.fill))
    if argument.elements is None:
        data = _probabilities if dtype is DType.FLOAT else None
        return Arg(list(argument.dims), dtype, data=data, low=1)
    elements = [float(part) if isinstance(part, Fraction) else part for part in argument.elements]
    if argument.dims == ():
        return Arg([], dtype, elements=elements[0], fed=True)
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return Arg(list(argument.dims), dtype, elements=array.reshape([int(size) for size in argument.dims]), fed=True)
