"""The axes of inputs that become symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from absint.errors import UsageError
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, symbol
from absint.lattices.text.dim_params import is_placeholder, read_dim_param
from absint.lattices.text.escapes import plain
from absint.lattices.text.tokens import reads_as_name
from absint.lattices.value import Tensor, Value

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

Axes = Mapping[str, Mapping[int, str]]
"""A symbol for each axis of each input that gets one."""


class Request:
    """The inputs with symbols in place of sizes, and the sizes."""

    def __init__(self, analysed: Analysed, axes: Axes) -> None:
        """Raises UsageError for an input or an axis that there is not, for an axis that is no fixed size, and for a
        symbol of two sizes.
        """
        self.sizes: dict[str, int] = {}
        """The old size of each new symbol."""
        self.inputs: dict[int, Value] = {}
        """The values of the inputs, by node."""
        self.axes: dict[str, dict[int, str]] = {}
        """The new symbols, by input and axis."""
        self.outputs: dict[str, dict[int, str]] = {}
        """The axes of outputs that are symbols, by name."""
        places: dict[str, str] = {}
        if not any(axes.values()):
            raise UsageError("nothing to make dynamic: name an axis of an input and a symbol, as input[0]=batch")
        of_outputs = {name: of for name, of in axes.items() if name not in analysed.inputs and name in analysed.outputs}
        for name, wanted in axes.items():
            if name in of_outputs:
                continue
            value = _input(analysed, name)
            dims: list[Dim] = list(value.shape.dims)
            for given, text in wanted.items():
                axis = given + len(dims) if given < 0 else given
                place = f"{name}[{given}]"
                size = _size(analysed, dims, axis, place, text)
                if self.sizes.setdefault(text, size) != size:
                    raise UsageError(
                        f"{place}={text}: it is {size}, and {places[text]}, which is {text} too, is {self.sizes[text]}"
                    )
                if self.axes.setdefault(name, {}).setdefault(axis, text) != text:
                    raise UsageError(f"{place}={text}: the axis is {self.axes[name][axis]} already")
                places.setdefault(text, place)
                dims[axis] = symbol(text)
            self.inputs[analysed.input_nodes[name]] = Tensor(value.dtype, Shape(dims))
        for name, wanted in of_outputs.items():
            self.outputs[name] = dict(_of_output(analysed, name, wanted, self.sizes))

    @property
    def texts(self) -> list[str]:
        """Each axis with its symbol and its old size: `input[0]=batch (4)`."""
        return [
            f"{name}[{axis}]={text} ({self.sizes[text]})"
            for name, found in self.axes.items()
            for axis, text in found.items()
        ]


def _of_output(
    analysed: Analysed, name: str, wanted: Mapping[int, str], sizes: Mapping[str, int]
) -> Iterator[tuple[int, str]]:
    """The axes of an output, which must have the old sizes of symbols that inputs have."""
    value = analysed.values.get(name)
    if not isinstance(value, Tensor) or value.shape.is_top:
        raise UsageError(f"the output {plain(name)!r} has no shape with axes")
    dims = value.shape.dims
    for given, text in wanted.items():
        axis = given + len(dims) if given < 0 else given
        if text not in sizes:
            raise UsageError(f"{name}[{given}]={text}: no axis of an input is {text}")
        if not 0 <= axis < len(dims):
            raise UsageError(f"{name}[{given}]: the output has {len(dims)} axes")
        dim = dims[axis]
        if not isinstance(dim, Expr) or dim.const != sizes[text]:
            raise UsageError(f"{name}[{given}]={text}: it is {dim}, and {text} is {sizes[text]}")
        yield axis, text


def _input(analysed: Analysed, name: str) -> Tensor:
    node = analysed.input_nodes.get(name)
    if node is None:
        known = ", ".join(analysed.inputs) or "none"
        producer = analysed.operands.get(name, (-1, 0))[0]
        item = analysed.nodes[producer] if producer >= 0 else None
        is_source = item is not None and item.operation is None and item.step is None
        why = "an initialiser, whose size a caller cannot choose" if is_source else "no input"
        raise UsageError(f"{plain(name)!r} is {why}; inputs are: {known}")
    value = analysed.base.states[node][0]
    if not isinstance(value, Tensor) or value.shape.is_top:
        raise UsageError(f"the input {plain(name)!r} has no shape with axes")
    return value


def _size(analysed: Analysed, dims: list[Dim], axis: int, place: str, text: str) -> int:
    rank = len(dims)
    if not 0 <= axis < rank:
        raise UsageError(f"{place}: the input has {rank} axes, 0 to {rank - 1}" if rank else f"{place}: a scalar")
    dim = dims[axis]
    if not isinstance(dim, Expr) or dim.const is None:
        raise UsageError(f"{place} is not a fixed size: it is {dim}")
    if not reads_as_name(text) or is_placeholder(text) or read_dim_param(text, ()).dim is not symbol(text):
        raise UsageError(f"{place}={text}: expected the name of a symbol, as batch")
    if text in analysed.parameters:
        raise UsageError(f"{place}={text}: the model has a symbol {text} already, of any size: take another name")
    return dim.const
