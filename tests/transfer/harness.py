"""Soundness of one rule: apply it once to symbolic inputs, then hold every claim against real runs at many sizes.

A `Case` is a single node. `run_case` applies the rule symbolically, and for each binding executes the node (onnxruntime
without optimisations, else onnx.reference) and checks:
- if the run succeeds: dtype, rank, every dim, every known element, every stated requirement;
- if the run fails: a rule declared complete must have stated a requirement that this binding breaks.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from lattices import ramp as ramps
from lattices.contents import OPAQUE, Contents, Element
from lattices.dtype import DType
from lattices.expr import Dim, Expr, Symbol, UndefinedError, symbol
from lattices.normal import sole_atom
from lattices.real import Real
from lattices.relation import Relation
from lattices.shape import Shape
from lattices.tensor import Optional, Tensor, Top, Value
from lattices.tensor import Sequence as SequenceValue
from transfer.op import HOLE, Applied, Op, apply
from transfer.table import Table, shipped

ort.set_default_logger_severity(4)

Size = int | str | None
Binding = Mapping[str, int]


@dataclass(frozen=True)
class Arg:
    """An input: a tensor of symbolic dims with random data, or one whose elements are known.

    `dims`: ints, or texts over symbols ("N", "2*N + 1"). `elements`: a nested list or array of ints, texts, floats or
    bools. `data` makes the array for a concrete shape; `low` and `high` bound random integers. `hidden` keeps the
    elements from the rule while the run still gets them; `fed` shows them to the rule, but the run gets them as an
    input, as it gets what a model computed (else they are an initializer, which onnxruntime checks when it loads it).
    """

    dims: Sequence[Size] | None = None
    dtype: int = TensorProto.FLOAT
    elements: Any = None
    data: Callable[[tuple[int, ...], np.random.Generator], np.ndarray] | None = None
    low: int = 0
    high: int = 10
    hidden: bool = False
    fed: bool = False
    unknown_rank: bool = False
    ramp: Sequence[str] | None = None
    """The first element, and how much the elements grow along each axis."""

    def value(self) -> Tensor:
        """What the rule sees."""
        dtype = DType(self.dtype)
        if self.ramp is not None:
            assert self.dims is not None
            first, *steps = map(Dim, self.ramp)
            return Tensor(dtype, Shape(self.dims), ramps=ramps.ramp(first, steps))
        if self.elements is None:
            assert self.dims is not None
            return Tensor(dtype) if self.unknown_rank else Tensor(dtype, Shape(self.dims))
        array = np.asarray(self.elements, dtype=object)
        shape = Shape(array.shape)
        if self.hidden:
            return Tensor(dtype) if self.unknown_rank else Tensor(dtype, shape)
        return Tensor(dtype, shape, Contents.of(array.shape, [abstract(dtype, e) for e in array.ravel().tolist()]))

    def array(self, binding: Binding, rng: np.random.Generator) -> np.ndarray:
        """What the run gets."""
        numpy_dtype = helper.tensor_dtype_to_np_dtype(self.dtype)
        if self.elements is not None:
            array = np.asarray(self.elements, dtype=object)
            flat = [
                Dim(e).evaluate(binding) if isinstance(e, str) and self.dtype != TensorProto.STRING else e
                for e in array.ravel().tolist()
            ]
            return np.array(flat, dtype=numpy_dtype).reshape(array.shape)
        assert self.dims is not None
        shape = tuple(Dim(d).evaluate(binding) if isinstance(d, str) else int(d or 0) for d in self.dims)
        if self.ramp is not None:
            first, *steps = (Dim(text).evaluate(binding) for text in self.ramp)
            return np.fromfunction(lambda *at: first + sum(map(operator.mul, steps, at)), shape).astype(numpy_dtype)
        if self.data is not None:
            return np.asarray(self.data(shape, rng)).astype(numpy_dtype)
        if self.dtype == TensorProto.STRING:
            return np.array(["ab"] * int(np.prod(shape)), dtype=object).reshape(shape)
        if self.dtype == TensorProto.BOOL:
            return rng.integers(0, 2, shape).astype(bool)
        if DType(self.dtype).is_integer:
            return rng.integers(self.low, self.high, shape).astype(numpy_dtype)
        return rng.standard_normal(shape).astype(numpy_dtype)


def abstract(dtype: DType, element: object) -> Element:
    """A concrete or textual element as the domain sees it."""
    if dtype is DType.BOOL:
        from lattices.relation import FALSE, TRUE

        return TRUE if element else FALSE
    if dtype.is_integer:
        return Dim(element)  # type: ignore[arg-type]
    if dtype.is_float and isinstance(element, (int, float)) and np.isfinite(element):
        return Real.constant(float(np.asarray(element, helper.tensor_dtype_to_np_dtype(dtype))))
    return OPAQUE


@dataclass(frozen=True)
class Case:
    """A node, the sizes to try it at, and optionally the answer that precision demands."""

    op: str
    inputs: Sequence[Arg | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    bindings: Sequence[Binding] = ({},)
    opset: int = 20
    domain: str = ""
    expect: Sequence[str | None] | None = None
    """Text of each output's shape, e.g. "[N, 2*M]" ("?" for unknown rank), None to leave one out."""
    contents: str | None = None
    """Text of the first output's contents."""
    may_differ: bool = False
    """The runtime is known to reject (or accept) what the spec does not: failures are not held against completeness."""

    def __str__(self) -> str:
        inputs = [i and (i.dims if i.elements is None else i.elements) for i in self.inputs]
        return f"{self.op}-{self.opset} {inputs} {dict(self.attributes)}"


def sizes(**choices: Sequence[int]) -> list[dict[str, int]]:
    """Every combination of the given sizes."""
    result: list[dict[str, int]] = [{}]
    for name, values in choices.items():
        result = [{**b, name: v} for b in result for v in values]
    return result


def apply_case(case: Case, table: Table | None = None) -> Applied:
    """Apply the rule symbolically."""
    rule = (table or shipped()).lookup(case.domain, case.op, case.opset)
    assert rule is not None, f"no rule for {case.domain or 'ai.onnx'}::{case.op}-{case.opset}"
    attributes = {name: decode_attribute(value) for name, value in case.attributes.items()}
    inputs = [None if arg is None else arg.value() for arg in case.inputs]
    return apply(rule, Op(rule, inputs, attributes, version=case.opset, outputs=case.outputs, name=case.op))


def decode_attribute(value: Any) -> Any:
    """An attribute as the loader hands it to rules."""
    if isinstance(value, onnx.TensorProto):
        array = numpy_helper.to_array(value)
        dtype = DType(value.data_type)
        elements = [abstract(dtype, e) for e in array.ravel().tolist()]
        return Tensor(dtype, Shape(array.shape), Contents.of(array.shape, elements))
    return value.decode() if isinstance(value, bytes) else value


def run_case(case: Case, table: Table | None = None) -> int:
    """Check a case at every binding; the number of bindings that ran. Raises AssertionError for a wrong claim."""
    applied = apply_case(case, table)
    rule = (table or shipped()).lookup(case.domain, case.op, case.opset)
    assert rule is not None
    if case.expect is not None:
        for want, got in zip(case.expect, applied.outputs, strict=True):
            assert want is None or shape_text(got) == want, f"{case}: shape {shape_text(got)}, expected {want}"
    if case.contents is not None:
        first = applied.outputs[0]
        assert isinstance(first, Tensor)
        assert hole_free(str(first.contents)) == case.contents, (
            f"{case}: contents {first.contents}, expected {case.contents}"
        )
    ran = 0
    for number, binding in enumerate(case.bindings):
        outputs, failure = execute(case, binding, seed=number)
        if outputs is None:
            if rule.complete and not case.may_differ:
                broken = [
                    s for s in applied.statements if s.role == "required" and truth(s.relation, binding) is not True
                ]
                assert broken or applied.may_fails, (
                    f"{case} at {binding}: fails ({failure}) but every requirement holds"
                )
            continue
        ran += 1
        check_outputs(case, applied, binding, outputs)
    return ran


def check_outputs(case: Case, applied: Applied, binding: Binding, outputs: Sequence[Any]) -> None:
    """Hold every claim against the outputs of a run."""
    where = f"{case} at {binding}"
    assert applied.rejected is None, f"{where}: rejected ({applied.rejected}) but it runs"
    known: dict[str, int] = dict(binding)
    for value, actual in zip(applied.outputs, outputs, strict=False):
        if isinstance(value, Tensor) and isinstance(actual, np.ndarray) and value.shape.rank == actual.ndim:
            learn(known, zip(value.shape, actual.shape, strict=True))
            if (
                value.contents is not None
                and not value.contents.is_fill
                and actual.size == len(value.contents.elements)
            ):
                pairs = zip(value.contents.elements, actual.ravel().tolist(), strict=True)
                learn(known, ((e, v) for e, v in pairs if isinstance(e, Dim)))
    for index, (value, actual) in enumerate(zip(applied.outputs, outputs, strict=False)):
        check_value(f"{where}, output {index}", value, actual, known)
    for statement in applied.statements:
        holds = truth(statement.relation, known)
        assert holds is not False, (
            f"{where}: runs, but {statement.role} {statement.relation} ({statement.reason}) is false"
        )


def learn(known: dict[str, int], pairs: Any) -> None:
    """Bind each symbol that the node invented to the number that the run showed."""
    for claim, actual in pairs:
        node = sole_atom(claim) if isinstance(claim, Expr) else None
        if isinstance(node, Symbol) and node.name.startswith(HOLE):
            assert known.setdefault(node.name, actual) == actual, f"{node.name} is both {known[node.name]} and {actual}"


def check_value(where: str, value: Value, actual: Any, known: Binding) -> None:
    """Hold one abstract value against one concrete value."""
    if isinstance(value, Top) or actual is None:
        return
    if isinstance(value, SequenceValue):
        assert isinstance(actual, list), f"{where}: claimed a sequence"
        check_dim(f"{where}, length", value.length, len(actual), known)
        for item in actual:
            check_value(where, value.element, item, known)
        return
    if isinstance(value, Optional):
        check_value(where, value.element, actual, known)
        return
    assert isinstance(value, Tensor), f"{where}: cannot check {value}"
    actual = np.asarray(actual)
    if value.dtype is not DType.UNDEFINED:
        ran = DType.STRING if actual.dtype.kind in "OUS" else DType(helper.np_dtype_to_tensor_dtype(actual.dtype))
        assert value.dtype is ran, f"{where}: dtype {value.dtype}, ran {ran}"
    if value.shape.rank is not None:
        assert value.shape.rank == actual.ndim, f"{where}: rank {value.shape.rank} ({value.shape}), ran {actual.shape}"
        for axis, (claim, size) in enumerate(zip(value.shape, actual.shape, strict=True)):
            check_dim(f"{where}, dim {axis}", claim, size, known)
    if value.contents is not None:
        claims = value.contents.elements
        flat = actual.ravel().tolist()
        if value.contents.is_fill:
            claims = claims * len(flat)
        assert len(claims) == len(flat), f"{where}: {len(claims)} elements claimed, ran {len(flat)}"
        for at, (element, number) in enumerate(zip(claims, flat, strict=True)):
            check_element(f"{where}, element {at}", element, number, known)
    for index in np.ndindex(actual.shape if value.ramps else (0,)):
        check_dim(f"{where}, element {list(index)}", ramps.element(value.ramps, index), int(actual[index]), known)


def check_dim(where: str, claim: Dim, actual: int, known: Binding) -> None:
    if isinstance(claim, Expr):
        try:
            value = evaluate(claim, known)
        except KeyError:
            return
        assert value == actual, f"{where}: {claim} is {value}, ran {actual}"
    else:
        assert actual in claim.bounds, f"{where}: bounds {claim.bounds}, ran {actual}"
        assert actual in claim.congruence, f"{where}: congruence {claim.congruence}, ran {actual}"


def check_element(where: str, claim: Element, actual: Any, known: Binding) -> None:
    if isinstance(claim, Dim):
        check_dim(where, claim, int(actual), known)
    elif isinstance(claim, Relation):
        holds = truth(claim, known)
        assert holds is None or holds == bool(actual), f"{where}: {claim} is {holds}, ran {actual}"
    elif isinstance(claim, Real) and claim.is_dyadic:
        try:
            value = Fraction(evaluate(claim.num, known), claim.den)
        except (KeyError, UndefinedError):
            return
        assert np.isfinite(actual), f"{where}: {claim} is {value}, ran {actual}"
        assert value == Fraction(actual), f"{where}: {claim} is {value}, ran {actual}"


def evaluate(claim: Expr, known: Binding) -> int:
    """The value of a claim; symbols that the run did not show raise KeyError."""
    missing = [s.name for s in claim.symbols if s.name not in known]
    if missing:
        raise KeyError(missing[0])
    return claim.evaluate(known)


def truth(relation: Relation, known: Binding) -> bool | None:
    """The truth under a binding, or None if a symbol has no value or a division is undefined."""
    try:
        return relation.evaluate(known)
    except (KeyError, UndefinedError):
        return None


def execute(case: Case, binding: Binding, seed: int) -> tuple[list[Any] | None, str]:
    """Run the node; (None, reason) if it fails."""
    rng = np.random.default_rng(seed)
    arrays = [None if arg is None else arg.array(binding, rng) for arg in case.inputs]
    feeds = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    model = build_model(case, arrays)
    try:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if not re.search(
            "NOT_IMPLEMENTED|Could not find an implementation|is not a registered|opset|Unrecognized|under development",
            str(error),
        ):
            return None, str(error)
        return reference(model, feeds)
    try:
        return session.run(
            None, {name: a for name, a in feeds.items() if name in {i.name for i in session.get_inputs()}}
        ), ""
    except Exception as error:
        return None, str(error)


def reference(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> tuple[list[Any] | None, str]:
    """Run in onnx.reference."""
    try:
        names = {i.name for i in model.graph.input}
        outputs = ReferenceEvaluator(model).run(None, {n: a for n, a in feeds.items() if n in names})
        return [np.asarray(o) if np.isscalar(o) else o for o in outputs], ""
    except Exception as error:
        return None, str(error)


def build_model(case: Case, arrays: Sequence[np.ndarray | None]) -> onnx.ModelProto:
    """A model of the one node; inputs with known elements are initialisers, the others inputs of unknown shape."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    out = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, out, domain=case.domain, name="node", **case.attributes)
    inputs, initializers = [], []
    for arg, name, array in zip(case.inputs, names, arrays, strict=True):
        if arg is None or array is None:
            continue
        if arg.elements is not None and not arg.hidden and not arg.fed:
            initializers.append(numpy_helper.from_array(array, name))
        else:
            inputs.append(helper.make_tensor_value_info(name, arg.dtype, None))
    outputs = [onnx.ValueInfoProto(name=name) for name in out]
    graph = helper.make_graph([node], "case", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", case.opset if not case.domain else 20)]
    if case.domain:
        imports.append(helper.make_opsetid(case.domain, case.opset))
    return helper.make_model(graph, opset_imports=imports, ir_version=min(onnx.IR_VERSION, 10))


def shape_text(value: Value) -> str:
    """The shape as text, symbols of the node shown by their tag."""
    return hole_free(str(value.shape)) if isinstance(value, Tensor) else str(value)


def hole_free(text: str) -> str:
    """`%hole:nonzero` as `_nonzero`."""
    return text.replace(HOLE, "_").replace('"', "").replace("`", "")


__all__ = ["Arg", "Case", "apply_case", "run_case", "sizes", "symbol"]
