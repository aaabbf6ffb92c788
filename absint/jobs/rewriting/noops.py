"""Nodes that give back what they take, by proof, and pairs of nodes of which one does the work.

Each function is sound wherever the node runs: the shapes before and after are one list of expressions, equal at all
legal sizes, while the order of the elements stays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.terms.expr import Expr, const
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value, elements_of
from absint.model.protos import NodeMessage, domain_of
from absint.transfer.traits import RESHAPING

MOST_NUMBERS: Final = 64
"""Most elements of a tensor that counts as small."""


def dims_of(value: Value | None) -> tuple[Expr, ...] | None:
    """The sizes of a tensor, if all of them are expressions."""
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return None
    dims = [dim for dim in value.shape.dims if isinstance(dim, Expr)]
    return tuple(dims) if len(dims) == value.shape.rank else None


def numbers_of(value: Value | None) -> tuple[Expr, ...] | None:
    """The elements of a short vector or a scalar of integers, if all of them are expressions."""
    if not isinstance(value, Tensor) or value.dtype not in (DType.INT64, DType.INT32) or (value.shape.rank or 0) > 1:
        return None
    elements = elements_of(value)
    found = tuple(element for element in elements or () if isinstance(element, Expr))
    return found if elements is not None and len(found) == len(elements) <= MOST_NUMBERS else None


@dataclass(frozen=True)
class Operands:
    """A node with what is known of its operands and of its output."""

    node: NodeMessage
    values: Sequence[Tensor | None]
    output: Tensor | None
    opset: int

    def attribute(self, name: str, default: int) -> int:
        """An attribute that is an integer."""
        return next((attribute.i for attribute in self.node.attribute if attribute.name == name), default)

    def has(self, at: int) -> bool:
        """There is such an operand."""
        return at < len(self.values) and bool(self.node.input[at])

    def numbers(self, at: int) -> tuple[Expr, ...] | None:
        """The elements of an operand."""
        return numbers_of(self.values[at]) if at < len(self.values) else None


def passed_on(operands: Operands, is_quiet: Callable[[str], bool]) -> int | None:
    """The number of the operand that a node gives back as it is, wherever it runs. `is_quiet` knows names: see
    `quiets`.
    """
    node = operands.node
    test = _NOOPS.get(node.op_type)
    if test is None or domain_of(node.domain) or not operands.values or not node.output[0]:
        return None
    at = beside_neutral(operands) if node.op_type in _FACTORS else None
    return at if at is not None and is_quiet(node.input[at]) else test(operands)


def quiets(node: NodeMessage, is_quiet: Callable[[str], bool]) -> bool:
    """It gives floats that arithmetic computed: no NaN among them signals, so that 1 times each is the same bits."""
    moves = node.op_type in _MOVING and bool(node.input) and is_quiet(node.input[0])
    return (moves or node.op_type in _ARITHMETIC) and not domain_of(node.domain)


def _is_same(operands: Operands, at: int = 0) -> bool:
    """Type and shape of an operand are those of the output."""
    before, after = operands.values[at], operands.output
    if before is None or after is None or before.dtype is not after.dtype:
        return False
    dims = dims_of(before)
    return dims is not None and dims == dims_of(after)


def _first(operands: Operands) -> int | None:
    """Whatever the other operands: the order of the elements stays, and so does the shape."""
    return 0 if _is_same(operands) else None


def _alone(operands: Operands) -> int | None:
    """It is the only operand, and the only output."""
    is_alone = len(operands.values) == 1 and len(operands.node.output) == 1
    return 0 if is_alone and operands.values[0] is not None else None


def _cast(operands: Operands) -> int | None:
    """To the type that the elements have. A string is cast to another spelling of itself, perhaps."""
    value = operands.values[0]
    return 0 if value is not None and value.dtype is not DType.STRING and _is_same(operands) else None


def _slice(operands: Operands) -> int | None:
    """As many elements as before, in steps forward: all of them, in order."""
    if not _is_same(operands) or len(operands.values) < 3:
        return None
    steps = operands.numbers(4) if operands.has(4) else ()
    return 0 if steps is not None and all((step.const or 0) >= 1 for step in steps) else None


def _pad(operands: Operands) -> int | None:
    """It adds nothing on either side: the same size could be a shift."""
    pads = operands.numbers(1)
    return 0 if _is_same(operands) and pads is not None and all(pad.const == 0 for pad in pads) else None


def _transpose(operands: Operands) -> int | None:
    """Axes of a size other than 1 stay in order."""
    dims = dims_of(operands.values[0])
    if dims is None or not _is_same(operands):
        return None
    moved = [axis for axis in permutation(operands.node, len(dims)) if dims[axis].const != 1]
    return 0 if moved == sorted(moved) else None


def _dropout(operands: Operands) -> int | None:
    """Outside of training, and without a mask that somebody may read. Before opset 7 an attribute says which."""
    if operands.opset < _DROPS_IN_TRAINING_ONLY:
        return 0 if operands.attribute("is_test", 0) == 1 and len(operands.node.output) == 1 else None
    mode = operands.values[2] if operands.has(2) else None
    is_known = mode is not None and mode.contents is not None and set(mode.contents.elements) == {FALSE}
    is_off = not operands.has(2) or is_known
    return 0 if is_off and len([name for name in operands.node.output if name]) == 1 else None


def _where(operands: Operands) -> int | None:
    """The condition is the same everywhere and in every run. Floats may change: onnxruntime makes 0.0 of -0.0."""
    chosen, output = operands.values[0], operands.output
    if chosen is None or chosen.contents is None or len(operands.values) < 3:
        return None
    if output is None or not (output.dtype.is_integer or output.dtype in (DType.BOOL, DType.STRING)):
        return None
    elements = set(chosen.contents.elements)
    at = 1 if elements == {TRUE} else 2 if elements == {FALSE} else 0
    return at if at and _is_same(operands, at) else None


def _rounded(operands: Operands) -> int | None:
    """Known numbers that are integers. (A 0 keeps its sign.)"""
    before, after = operands.values[0], operands.output
    if not _is_same(operands) or not _are_known(before) or before is None or after is None:
        return None
    return 0 if before.contents == after.contents else None


def _neutral(operands: Operands) -> int | None:
    """The other operand is 0 or 1 everywhere. Floats have to be known: a NaN or a -0.0 may change."""
    at = beside_neutral(operands)
    value = None if at is None else operands.values[at]
    if value is None or value.dtype.is_integer or value.dtype is DType.BOOL:
        return at
    return at if operands.node.op_type in _FACTORS and _are_known(value) else None


def beside_neutral(operands: Operands) -> int | None:
    """The operand of which a node computes the same number, since the other one is 0 or 1 everywhere, or a truth."""
    commutes, neutral = _NEUTRAL.get(operands.node.op_type, (False, frozenset[Element]()))
    for at in (0, 1) if commutes else (0,):
        other = operands.values[1 - at]
        elements = other.contents.elements if other is not None and other.contents is not None else (OPAQUE,)
        if neutral.issuperset(elements) and _is_same(operands, at):
            return at
    return None


def _are_known(value: Tensor | None) -> bool:
    """The elements of the tensor are numbers that are known."""
    return value is not None and value.contents is not None and OPAQUE not in value.contents.elements


def _split(operands: Operands) -> int | None:
    """There is one part."""
    return 0 if len(operands.node.output) == 1 and _is_same(operands) else None


_NOOPS: Final[Mapping[str, Callable[[Operands], int | None]]] = {
    **dict.fromkeys(("Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten", "Tile"), _first),
    "Identity": lambda _: 0,
    **dict.fromkeys(("Concat", "Sum", "Max", "Min", "Mean"), _alone),
    "Cast": _cast,
    "CastLike": _cast,
    "Slice": _slice,
    "Pad": _pad,
    "Transpose": _transpose,
    "Dropout": _dropout,
    "Where": _where,
    "Split": _split,
    **dict.fromkeys(("Ceil", "Floor", "Round"), _rounded),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "And", "Or"), _neutral),
}
_MOVING: Final = RESHAPING | {"Transpose", "Expand", "Slice"}
"""Operators whose output has elements of the first input."""
_ARITHMETIC: Final = frozenset(
    {"Add", "Sub", "Mul", "Div", "Sqrt", "MatMul", "Gemm", "Conv", "LayerNormalization", "InstanceNormalization"}
)
_FACTORS: Final = frozenset({"Mul", "Div"})
_ZEROS: Final[frozenset[Element]] = frozenset((const(0), Real.constant(0)))
_ONES: Final[frozenset[Element]] = frozenset((const(1), Real.constant(1)))
_NEUTRAL: Final[Mapping[str, tuple[bool, frozenset[Element]]]] = {
    "Add": (True, _ZEROS),
    "Sub": (False, _ZEROS),
    "Mul": (True, _ONES),
    "Div": (False, _ONES),
    "And": (True, frozenset((TRUE,))),
    "Or": (True, frozenset((FALSE,))),
}
"""For each operator: do its operands commute, and which elements are neutral."""

_DROPS_IN_TRAINING_ONLY: Final = 7


def permutation(node: NodeMessage, rank: int) -> list[int]:
    """The axes of the input of a Transpose in the order of its output."""
    given = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "perm"), None)
    return given if given is not None else list(range(rank))[::-1]


_EXACT: Final[Mapping[DType, frozenset[DType]]] = {
    DType.INT32: frozenset({DType.INT64, DType.DOUBLE}),
    DType.BOOL: frozenset({DType.INT32, DType.INT64, DType.FLOAT, DType.DOUBLE, DType.FLOAT16}),
    DType.FLOAT16: frozenset({DType.FLOAT, DType.DOUBLE}),
    DType.FLOAT: frozenset({DType.DOUBLE}),
}
"""The types that hold each number of a type, and give it back when they are cast back. (A NaN may lose its payload: so
floats are used for integers only.)"""


def there_and_back(first: Tensor | None, between: Tensor | None, last: Tensor | None) -> bool:
    """Two Casts give back what they take."""
    if first is None or between is None or last is None or first.dtype is not last.dtype or first.dtype.is_float:
        return False
    return between.dtype in _EXACT.get(first.dtype, ())


def added_ones(before: Sequence[object], after: Sequence[object]) -> list[int] | None:
    """The axes of `after` that are 1 and that `before` lacks, if nothing else tells the two apart."""
    found: list[int] = []
    at = 0
    left = len(after) - len(before)
    for axis, dim in enumerate(after):
        if at < len(before) and dim is before[at]:
            at += 1
        elif dim == 1 and len(found) < left:
            found.append(axis)
        else:
            return None
    return found if at == len(before) and len(found) == left > 0 else None
