"""Cases: a node with symbolic inputs, the sizes to try it at, and the answer that precision demands."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto, helper

from absint.lattices import ramp as ramps
from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor
from absint.model.initialisers import decode
from absint.model.protos import decode_attribute
from absint.transfer.op import AttributeValue

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


def decoded_attribute(name: str, value: object) -> AttributeValue:
    """An attribute as the loader hands it to rules."""
    if isinstance(value, (list, tuple)) and not value:
        return []
    proto = value if isinstance(value, AttributeProto) else helper.make_attribute(name, value)
    return decode_attribute(proto, decode)


def sizes(**choices: Sequence[int]) -> list[dict[str, int]]:
    """Every combination of the given sizes."""
    result: list[dict[str, int]] = [{}]
    for name, values in choices.items():
        result = [{**b, name: v} for b in result for v in values]
    return result
