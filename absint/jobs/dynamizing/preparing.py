"""The first step: symbols that have one legal size count as fixed, and initialisers that are inputs too as constants.

An axis that the model calls `batch` and that only one size fits is an axis of this size: exporters write a name where
they have traced 1. An initialiser that is an input too has the value of the file where all its elements say is a
shape: whoever feeds another one feeds the wrong one, once sizes are symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from onnx import ModelProto, ValueInfoProto

from absint.errors import UsageError
from absint.jobs.dynamizing.resizing import dims_in
from absint.lattices.limits import Limits
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom, symbol
from absint.lattices.text.dim_params import is_placeholder, read_dim_param
from absint.lattices.text.escapes import plain
from absint.lattices.text.tokens import reads_as_name
from absint.lattices.value import Tensor, Value
from absint.model.protos import remove
from absint.program.steps import Operand
from absint.questions.rows import answer, evidence
from absint.questions.sizes.contracts import contract
from absint.solution.analysed import Analysed
from absint.solver.constraints import meets

_SHAPES: Final[Mapping[str, tuple[int, ...]]] = {
    "Reshape": (1,), "Expand": (1,), "ConstantOfShape": (0,), "Tile": (1,), "Resize": (2, 3), "Slice": (1, 2, 3, 4),
    "Squeeze": (1,), "Unsqueeze": (1,), "Split": (1,),
}  # fmt: skip
"""Operands that say shapes, and nothing else."""
_ARITHMETIC: Final = (
    "Add", "Cast", "Concat", "Div", "Gather", "Identity", "Mul", "Slice", "Squeeze", "Sub", "Unsqueeze",
)  # fmt: skip
"""Operators that make one shape of another."""
_LARGEST: Final = 1024
"""The largest size that is tried as the only legal one."""


def prepared(
    analysed: Analysed, axes: Axes, model: ModelProto, again: Callable[[], Analysed], limits: Limits
) -> tuple[Analysed, Axes, tuple[str, ...]]:
    """Settle both in an outline of the model, which `again` analyses: the model in which all is settled, the axes that
    become symbols, and initialisers that are inputs no more.
    """
    shapes = [name for name, node in overridable(analysed).items() if _is_shape(analysed, (node, 0))]
    if shapes:
        remove(model.graph.input, lambda info: info.name in shapes)
        analysed = again()
    named = _named(analysed, axes)
    sizes = _only_sizes(analysed, named, limits) if named else {}
    if sizes:
        wanted = {name: dict(of) for name, of in axes.items()}
        infos = {info.name: info for info in model.graph.input}
        for name in analysed.inputs:
            for axis, symbol in _symbols(analysed, name).items():
                if symbol in sizes:
                    dims, given = infos[name].type.tensor_type.shape.dim, wanted.setdefault(name, {})
                    dims[axis].dim_value = sizes[symbol]
                    given.setdefault(axis - len(dims) if axis - len(dims) in given else axis, named[symbol])
        for info in (*model.graph.input, *model.graph.output, *model.graph.value_info):
            _fix(info, sizes)
        analysed, axes = again(), wanted
    return analysed, axes, tuple(shapes)


def _fix(info: ValueInfoProto, sizes: Mapping[str, int]) -> None:
    """Declare sizes in place of symbols."""
    for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
        found = read_dim_param(dim.dim_param, ()).dim if dim.dim_param else None
        names = found.free_symbols if isinstance(found, Expr) else frozenset()
        if names & sizes.keys():
            size = found.substitute(dict(sizes)) if isinstance(found, Expr) else None
            dim.Clear()
            if isinstance(size, Expr) and size.const is not None:
                dim.dim_value = size.const


def refuse_overridable(analysed: Analysed, nodes: Sequence[int]) -> None:
    """Raises UsageError if one of the nodes, which have an old size, is an initialiser that a caller may replace."""
    for name, node in overridable(analysed).items():
        if node in nodes:
            raise UsageError(
                f"{plain(name)!r} holds an old size, and a caller may replace it, since it is an input too: "
                "--defaults (defaults=True) takes the value of the file"
            )


def sized(analysed: Analysed) -> list[int]:
    """The initialisers that are inputs too, and that say a shape among other things."""
    found = []
    for node in overridable(analysed).values():
        uses = _uses(analysed, (node, 0))
        if any(operand in _SHAPES.get(analysed.nodes[user].operator, ()) for user, operand in uses):
            found.append(node)
    return found


def overridable(analysed: Analysed) -> Mapping[str, int]:
    """The initialisers whose values a caller may replace, by name; none if those of the file count."""
    signature = analysed.lowered.signature
    return {
        name: node
        for name, node in signature.overridable.items()
        if analysed.base.states[node][0] is not signature.defaults[node]
    }


def _is_shape(analysed: Analysed, operand: Operand, depth: int = 0) -> bool:
    """All that is made of a value is a shape."""
    uses = _uses(analysed, operand)
    value = analysed.base.states[operand[0]][operand[1]]
    is_integer = isinstance(value, Tensor) and value.dtype.is_integer
    is_output = any(analysed.operands.get(name) == operand for name in analysed.outputs)
    if not uses or not is_integer or is_output or depth > 8:
        return False
    for user, place in uses:
        operator = analysed.nodes[user].operator
        if place in _SHAPES.get(operator, ()):
            continue
        if operator not in _ARITHMETIC or not _is_shape(analysed, (user, 0), depth + 1):
            return False
    return True


def _uses(analysed: Analysed, operand: Operand) -> list[tuple[int, int]]:
    return [
        (user, place)
        for user, item in enumerate(analysed.nodes)
        for place, read in enumerate(item.operands)
        if read == operand
    ]


def _symbols(analysed: Analysed, name: str) -> dict[int, str]:
    """The axes of an input that are symbols of the model."""
    dims = enumerate(dims_in(analysed.values.get(name)))
    atoms = {axis: sole_atom(dim) for axis, dim in dims if isinstance(dim, Expr)}
    return {axis: atom.name for axis, atom in atoms.items() if isinstance(atom, Symbol)}


def _named(analysed: Analysed, axes: Axes) -> dict[str, str]:
    """The symbols of the model on the axes that shall become symbols, with the new names."""
    found: dict[str, str] = {}
    for name, wanted in axes.items():
        if name not in analysed.inputs:
            continue
        symbols = _symbols(analysed, name)
        value = analysed.values[name]
        rank = value.shape.rank if isinstance(value, Tensor) else None
        for given, text in wanted.items():
            symbol = symbols.get(given + (rank or 0) if given < 0 else given)
            if symbol is not None and symbol in analysed.parameters:
                found.setdefault(symbol, text)
    return found


def _only_sizes(analysed: Analysed, named: Mapping[str, str], limits: Limits) -> dict[str, int]:
    """The only legal size of each symbol that has one."""
    clauses = contract(analysed, limits).clauses
    found: dict[str, int] = {}
    for name in named:
        alone = [clause.relation for clause in clauses if set(clause.relation.free_symbols) == {name}]
        legal = [size for size in range(_LARGEST + 1) if meets(alone, {name: size})] if alone else []
        if len(legal) == 1:
            found[name] = legal[0]
    return found


# The axes of inputs that become symbols.

Axes = Mapping[str, Mapping[int, str]]
"""A symbol for each axis of each input that gets one."""


class Request:
    """The inputs with symbols in place of sizes, and the sizes."""

    def __init__(self, analysed: Analysed, axes: Axes, rows: Sequence[str] = ()) -> None:
        """`rows` are the axes of inputs that hold rows, as `x[0]`.

        Raises UsageError for an input or an axis that there is not, for an axis that is no fixed size, and for a
        symbol of two sizes.
        """
        self.sizes: dict[str, int] = {}
        """The old size of each new symbol."""
        self.inputs: dict[int, Value] = {}
        """The values of the inputs, by node."""
        self.axes: dict[str, dict[int, str]] = {}
        """The new symbols, by input and axis."""
        self.outputs: dict[str, dict[int, str]] = {}
        """The axes of outputs that are symbols, or numbers that stay, by name."""
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
        at = {
            name: [axis for of in self.axes.values() for axis, text in of.items() if text == name]
            for name in self.sizes
        }
        self.promised = {name for name, axes in at.items() if answer.is_called_batch(name, axes)}
        """The symbols that count rows: as the caller says, else as their names do."""
        self.assumed: set[str] = set()
        """The symbols that may count rows where nobody names one."""
        if rows:
            self.promised = {self._symbol_at(answer.place_of(analysed, text, "--rows")) for text in rows}
        elif not self.promised:
            self.assumed = {text for of in self.axes.values() for at, text in of.items() if not at} & {
                text for text, size in self.sizes.items() if size > 1
            }
        for name, wanted in of_outputs.items():
            self.outputs[name] = dict(_of_output(analysed, name, wanted, self.sizes))

    def _symbol_at(self, place: evidence.InputAxis) -> str:
        found = self.axes.get(place.input, {}).get(place.axis)
        if found is None:
            raise UsageError(f"--rows {place}: the axis gets no symbol; name one, as {place}=batch")
        return found


def _of_output(
    analysed: Analysed, name: str, wanted: Mapping[int, str], sizes: Mapping[str, int]
) -> Iterator[tuple[int, str]]:
    """The axes of an output, which must have the old sizes of symbols that inputs have, or be a number that stays."""
    value = analysed.values.get(name)
    if not isinstance(value, Tensor) or value.shape.is_top:
        raise UsageError(f"the output {plain(name)!r} has no shape with axes")
    dims = value.shape.dims
    for given, text in wanted.items():
        axis = given + len(dims) if given < 0 else given
        if text not in sizes and not text.isdecimal():
            raise UsageError(f"{name}[{given}]={text}: no axis of an input is {text}")
        if not 0 <= axis < len(dims):
            raise UsageError(f"{name}[{given}]: the output has {len(dims)} axes")
        dim = dims[axis]
        size = int(text) if text.isdecimal() else sizes[text]
        if not isinstance(dim, Expr) or dim.const != size:
            raise UsageError(
                f"{name}[{given}]={text}: it is {dim}" + (f", and {text} is {size}" if text in sizes else "")
            )
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
