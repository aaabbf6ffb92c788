"""Cases: a node with symbolic inputs, the sizes to try it at, and the answer that precision demands."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from absint.lattices import ramp as ramps
from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, NO, TRUE
from absint.lattices.shape import Shape
from absint.lattices.terms.atoms import HOLE_NAME
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.normal import Real
from absint.lattices.value import OptionalOf, Tensor, Top, Value
from absint.model.initialisers import decode
from absint.model.protos import decode_attribute
from absint.runs.comparison import ShownSizes
from absint.runs.run import typed
from absint.runs.session import execute as execute_model
from absint.runs.statements import Actual, Statement, Statements, read_actual
from absint.transfer.stated import Applied
from absint.transfer.stating import AttributeValue

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun


Size = int | str | None
Binding = Mapping[str, int]
Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Arg:
    """An input: a tensor of symbolic dims with random data, or one whose elements are known.

    `dims`: ints, or texts over symbols ("N", "2*N + 1"). `elements`: a nested list or array of ints, texts, floats or
    bools. `data` makes the array for a concrete shape; `low` and `high` bound random integers. `hidden` keeps the
    elements from the rule while the run still gets them; `fed` shows them to the rule, but the run gets them as an
    input, as it gets what a model computed (else they are an initializer, which onnxruntime checks when it loads it).
    """

    dims: Sequence[Size] | None = None
    dtype: int | DType = TensorProto.FLOAT
    elements: object = None
    data: Callable[[tuple[int, ...], np.random.Generator], npt.ArrayLike] | None = None
    low: int = 0
    high: int = 10
    hidden: bool = False
    fed: bool = False
    unknown_rank: bool = False
    ramp: Sequence[str] | None = None
    """The first element, and the growth along each axis."""

    def __post_init__(self) -> None:
        if self.dims is None and self.elements is None:
            raise ValueError("Arg: give dims, as in Arg(['N', 3]), or elements, as in Arg(elements=[1, 'N'])")
        if self.ramp is not None and self.dims is None:
            raise ValueError("Arg: a ramp needs dims, as in Arg(['N'], ramp=['0', '1'])")

    def value(self) -> Tensor:
        """The abstract value that the rule sees."""
        dtype = DType(self.dtype)
        if self.ramp is not None:
            first, *steps = map(Dim, self.ramp)
            return Tensor(dtype, Shape(self.dims), ramps=ramps.ramp(first, steps))
        if self.elements is None:
            return Tensor(dtype) if self.unknown_rank else Tensor(dtype, Shape(self.dims))
        array = np.asarray(self.elements, dtype=object)
        shape = Shape(array.shape)
        if self.hidden:
            return Tensor(dtype) if self.unknown_rank else Tensor(dtype, shape)
        return Tensor(dtype, shape, Contents.of(array.shape, [abstract(dtype, e) for e in array.ravel().tolist()]))

    def array(self, binding: Binding, rng: np.random.Generator) -> Array:
        """The array that the run gets."""
        dtype = DType(self.dtype)
        numpy_dtype = helper.tensor_dtype_to_np_dtype(dtype.value)
        if self.elements is not None:
            array = np.asarray(self.elements, dtype=object)
            is_text = dtype is DType.STRING
            flat = [_size(e, binding) if isinstance(e, str) and not is_text else e for e in array.ravel().tolist()]
            return np.array(flat, dtype=numpy_dtype).reshape(array.shape)
        shape = tuple(_size(d or 0, binding) for d in self.dims or ())
        if self.ramp is not None:
            first, *steps = (_size(text, binding) for text in self.ramp)
            return np.asarray(first + sum(map(operator.mul, steps, np.indices(shape)))).astype(numpy_dtype)
        if self.data is not None:
            return np.asarray(self.data(shape, rng)).astype(numpy_dtype)
        if dtype is DType.STRING:
            return np.full(shape, "ab", dtype=object)
        if dtype is DType.BOOL:
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.is_integer:
            return rng.integers(self.low, self.high, shape).astype(numpy_dtype)
        return rng.standard_normal(shape).astype(numpy_dtype)


def _size(size: Size, binding: Binding) -> int:
    if not isinstance(size, str):
        return int(size or 0)
    try:
        return Dim(size).evaluate(binding)
    except KeyError:
        missing = ", ".join(sorted(Dim(size).free_symbols - binding.keys()))
        raise ValueError(f"no size for {missing}: give one in each binding, as in sizes({missing}=[0, 1, 3])") from None


def abstract(dtype: DType, element: object) -> Element:
    """A concrete or textual element as the domain sees it."""
    if dtype is DType.BOOL:
        return TRUE if element else FALSE
    if dtype.is_integer:
        return Dim(element)  # type: ignore[arg-type]
    if dtype.is_float and isinstance(element, (int, float)) and np.isfinite(element):
        return Real.constant(float(np.asarray(element, helper.tensor_dtype_to_np_dtype(dtype.value))))
    return OPAQUE


@dataclass(frozen=True)
class Case:
    """A node, the sizes to try it at, and optionally the answer that precision demands."""

    op: str
    inputs: Sequence[Arg | None]
    attributes: Mapping[str, object] = field(default_factory=dict)
    outputs: int = 1
    bindings: Sequence[Binding] = ({},)
    opset: int = 20
    domain: str = ""
    expect: Sequence[str | None] | None = None
    """Text of each output's shape, e.g. "[N, 2*M]" ("?" for unknown rank), None to leave one out."""
    contents: str | None = None
    """Text of the first output's contents."""
    may_differ: bool = False
    """The runtime rejects (or accepts) what the spec does not: failures do not count against completeness."""
    ranked: bool = False
    """The model of a run declares the ranks of its inputs: onnxruntime needs them inside some function bodies."""

    def __str__(self) -> str:
        inputs = [i and (i.dims if i.elements is None else i.elements) for i in self.inputs]
        return f"{self.op}-{self.opset} {inputs} {dict(self.attributes)}"

    def decoded(self) -> dict[str, AttributeValue]:
        """The attributes as rules see them."""
        return {name: decoded_attribute(name, value) for name, value in self.attributes.items() if value is not None}

    def check_expected(self, applied: Applied) -> None:
        """Raise AssertionError unless an application has the precision that the case demands."""
        if self.expect is not None:
            if len(self.expect) != len(applied.outputs):
                raise AssertionError(f"{self}: {len(applied.outputs)} outputs, {len(self.expect)} expected")
            for want, got in zip(self.expect, applied.outputs, strict=True):
                if want is not None and shape_text(got) != want:
                    raise AssertionError(f"{self}: shape {shape_text(got)}, expected {want}")
        if self.contents is not None:
            first = applied.outputs[0]
            found = hole_free(str(first.contents)) if isinstance(first, Tensor) else str(first)
            if found != self.contents:
                raise AssertionError(f"{self}: contents {found}, expected {self.contents}")


def decoded_attribute(name: str, value: object) -> AttributeValue:
    """An attribute as the loader hands it to rules."""
    if isinstance(value, (list, tuple)) and not value:
        return []
    proto = value if isinstance(value, AttributeProto) else helper.make_attribute(name, value)
    return decode_attribute(proto, decode)


def sizes(**choices: Sequence[int]) -> list[dict[str, int]]:
    """Every combination of the given sizes."""
    return [dict(zip(choices, chosen, strict=True)) for chosen in product(*choices.values())]


# Statements compared with the values of one run. A wrong one raises AssertionError, with the claim and the actual
# value.


def check_outputs(case: Case, applied: Applied, binding: Binding, outputs: Sequence[object], given: str = "") -> None:
    """Compare all claims of an application of a rule with the outputs of a run. `given` goes into messages."""
    where = f"{case} at {dict(binding)}{given}"
    if applied.rejected is not None:
        raise AssertionError(f"{where}: rejected ({applied.rejected}) but it runs")
    pairs = zip(applied.outputs, outputs, strict=False)
    found = [
        claim for index, (value, actual) in enumerate(pairs) for claim in claims_of(f"output {index}", value, actual)
    ]
    known = judge(where, found, binding)
    for statement in applied.statements:
        if statement.relation.at(known) is NO:
            raise AssertionError(
                f"{where}: runs, but {statement.role} {statement.relation} ({statement.reason}) is false"
            )


def claims_of(name: str, value: Value, actual: object) -> Iterator[Statement]:
    """Statements of an abstract value about a real one; none if the run did not give it."""
    if isinstance(value, Top) or (actual is None and not isinstance(value, OptionalOf)):
        return
    yield from Statements().of(name, value, _read(name, actual))


def _read(name: str, actual: object) -> Actual:
    if isinstance(actual, list):
        return [_read(f"{name}, item {number}", item) for number, item in enumerate(actual)]
    if isinstance(actual, (str, bytes)):
        actual = np.array(actual, dtype=object)
    return read_actual(name, actual)


def judge(where: str, claims: Sequence[Statement], binding: Binding) -> Mapping[str, int]:
    """The sizes of all symbols, those that the run shows included. Raises AssertionError for the first wrong claim."""
    found = ShownSizes()
    found.known.update(binding)
    found.places.update(dict.fromkeys(binding, "the binding"))
    found.learn(claims)
    for claim in claims:
        row = found.judge(claim)
        if not row.ok:
            raise AssertionError(hole_free(f"{where}, {row}"))
    return found.known


def shape_text(value: Value) -> str:
    """The shape as text, symbols of the node shown by their tag."""
    return hole_free(str(value.shape)) if isinstance(value, Tensor) else str(value)


def hole_free(text: str) -> str:
    """`%hole:nonzero` as `_nonzero`."""
    return text.replace(HOLE_NAME, "_").replace('"', "").replace("`", "")


# Running a case: in onnxruntime, in onnx.reference, or by a function on arrays.

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
    given = cast("dict[str, Any]", {name: value for name, value in case.attributes.items() if value != []})
    node = helper.make_node(case.op, names, out, domain=case.domain, name="node", **given)
    for name in case.attributes.keys() - given.keys():  # an empty list does not say its type
        kind = onnx.defs.get_schema(case.op, case.opset, case.domain).attributes[name].type
        node.attribute.append(helper.make_attribute(name, [], attr_type=cast("Any", kind).value))
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


def runner_of(
    function: Callable[..., object] | None = None, kernels: Sequence[type[OpRun]] = (), run: Runner | None = None
) -> Runner:
    """The way to run cases: what is given, or `execute`. Raises ValueError if more than one is given."""
    if sum(way is not None for way in (function, kernels or None, run)) > 1:
        raise ValueError("check_rule: give one of reference, kernels and run")
    return run or (by_function(function) if function else in_reference(kernels) if kernels else execute)
