"""Forms: the inputs and outputs of an operator in one line, with their dims where the operator only moves dims.

    query[B, S, H] key[B, L, H] bias[3 * H]? -> output[B, S, H] weights:float[B, num_heads, S, L]

A capital letter begins a dim: equal names are equal dims, and one of outputs alone is new, decided by data. A small
letter begins an attribute, an integer that must be positive. `?` after an input says that it may be left out, in place
of a dim that it is unknown; `...` stands for any number of axes, the same wherever it stands, and `*` after a name for
all inputs or outputs that remain. An output has the type after its colon: `float`, or that of inputs, as `query&key`;
without one it has the type of the first input.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from operator import add, floordiv, itemgetter, mod, mul, sub
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.records import record
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import last_dims, spliced
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.value import Tensor
from absint.transfer.op import Op, as_size
from absint.transfer.stated import RuleError

Dims = dict[str, Dim]
Size = Callable[[Mapping[str, Dim]], Dim]


@record()
class Axis:
    """The size of one axis: a `name`, or what `size` makes of names; `text` is as written."""

    text: str
    name: str
    size: Size


@record()
class Formal:
    """An input or output; `head` and `tail` are its axes before and after `...`, `head` all of them without it."""

    name: str
    dtype: str
    optional: bool
    has_dims: bool
    starred: bool
    head: tuple[Axis, ...]
    tail: tuple[Axis, ...]


@record()
class Form:
    """The form of an operator."""

    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    dims: tuple[str, ...]
    """Dims of inputs."""
    attributes: tuple[str, ...]
    fresh: tuple[str, ...]
    """Dims of outputs alone."""

    @property
    def has_shapes(self) -> bool:
        """The form says more than names."""
        return any(formal.has_dims or formal.dtype for formal in (*self.inputs, *self.outputs))

    def bound(self, op: Op) -> tuple[Dims, Shape]:
        """The dims by name, and the axes that `...` stands for. States that inputs agree."""
        dims: Dims = {name: const(op.positive(name)) for name in self.attributes}
        later: list[tuple[Formal, int, Dim, Axis]] = []
        rest: tuple[str, Shape] | None = None
        for formal in self.inputs:
            x = op.optional(formal.name) if formal.optional or not formal.has_dims else op.tensor(formal.name)
            if x is None or not formal.has_dims:
                continue
            shape, axes = x.shape, formal.head + formal.tail
            if formal.starred:
                found, sizes = _parted(op, formal, shape)
                rest = (formal.name, found) if rest is None else _alike(op, rest, (formal.name, found))
            else:
                sizes = op.sizes(formal.name, len(axes))
            for at, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
                if axis.name and axis.name in dims:
                    known = dims[axis.name]
                    op.require_equal(size, known, f"dim {at} of {formal.name} must fit the other inputs")
                    dims[axis.name] = size if known.is_unknown else known
                elif axis.name:
                    dims[axis.name] = size
                elif axis.text != "?":
                    later.append((formal, at, size, axis))
        for name in self.dims:
            dims.setdefault(name, UNKNOWN_SIZE)
        for formal, at, size, axis in later:
            wanted = "fit the other inputs" if not axis.text.isdigit() else f"be {axis.text}"
            op.require_equal(size, axis.size(dims), f"dim {at} of {formal.name} must {wanted}")
        return dims, TOP_SHAPE if rest is None else rest[1]

    def results(self, op: Op, dims: Dims, rest: Shape) -> list[Tensor]:
        """The outputs."""
        dims |= {name: op.fresh(name.lower()) for name in self.fresh}
        return [Tensor(self._dtype(op, formal), _shape(formal, dims, rest)) for formal in self.outputs]

    def _dtype(self, op: Op, formal: Formal) -> DType:
        names = formal.dtype.split("&") if formal.dtype else [self.inputs[0].name] if self.inputs else ["?"]
        if names == ["?"]:
            return DType.UNDEFINED
        return op.common_dtype(*names) if names[0] in op.rule.places else _TYPES[names[0]]


def _shape(formal: Formal, dims: Dims, rest: Shape) -> Shape:
    if not formal.has_dims:
        return TOP_SHAPE
    head, tail = (tuple([as_size(axis.size(dims)) for axis in axes]) for axes in (formal.head, formal.tail))
    return spliced(head, rest, tail) if formal.starred else shape_of(head)


def _parted(op: Op, formal: Formal, shape: Shape) -> tuple[Shape, tuple[Dim, ...]]:
    """The axes of an input that `...` stands for, and the sizes of the others."""
    before, after = len(formal.head), len(formal.tail)
    if shape.rank is not None:
        if shape.rank < before + after:
            op.reject(f"{formal.name} must have rank {before + after} or more, found shape {shape}")
        end = shape.rank - after
        return shape_of(shape[before:end]) if before + after else shape, (*shape[:before], *shape[end:])
    if not before + after:
        return shape, ()
    tail = last_dims(shape)[-after:] if after else ()
    op.may_fail(f"{formal.name} must have rank {before + after} or more")
    return TOP_SHAPE, (*[UNKNOWN_SIZE] * (before + after - len(tail)), *tail)


def _alike(op: Op, one: tuple[str, Shape], other: tuple[str, Shape]) -> tuple[str, Shape]:
    """Require that `...` stands for the same axes in two inputs; the ones that are known."""
    (first, known), (name, shape) = one, other
    if known.rank is None or shape.rank is None:
        if known is not shape or known is TOP_SHAPE or any(dim.is_unknown for dim in known.known):
            op.may_fail(f"{name} must have the shape of {first}")
        return other if known is TOP_SHAPE else one
    if known.rank != shape.rank:
        found = f"{op.tensor(name).shape} and {op.tensor(first).shape}"
        op.reject(f"{name} must have the rank of {first}, found shapes {found}")
    for at, (size, wanted) in enumerate(zip(shape, known, strict=True)):
        op.require_equal(size, wanted, f"dim {at} of {name} must equal that of {first}")
    return first, shape_of(tuple([b if a.is_unknown else a for a, b in zip(known, shape, strict=True)]))


# Reading


@record()
class _Text:
    """A formal as it is written."""

    name: str
    dtype: str
    dims: str | None
    mark: str


_FORMAL: Final = re.compile(r"\s*([^\W\d]\w*)(?::([\w&?]+))?(?:\[([^\]]*)\])?([*?]?)(?=\s|$)")
_TYPES: Final = {dtype.name.lower(): dtype for dtype in DType}
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[Dim, Dim], Dim]]] = {
    ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.FloorDiv: floordiv, ast.Mod: mod,
}  # fmt: skip


def form_of(text: str) -> Form:
    """Read a form. Raises RuleError for a text that is none."""
    before, arrow, after = text.partition("->")
    names: dict[str, None] = {}
    inputs = tuple(_formal(each, text, names) for each in _formals(before, text))
    known = [*names]
    outputs = tuple(_formal(each, text, names) for each in _formals(after, text))
    if not arrow or not outputs:
        raise RuleError(f"form {text!r}: write inputs and outputs, as X[N, M] W[M]? -> Y[N]")
    for formal in outputs:
        if not {*formal.dtype.split("&")} <= {"", "?", *(i.name for i in inputs)} and formal.dtype not in _TYPES:
            raise RuleError(f"form {text!r}: {formal.dtype!r} must be a type, or inputs joined by &")
    dims = tuple(name for name in known if name[0].isupper())
    attributes = tuple(name for name in names if not name[0].isupper())
    return Form(inputs, outputs, dims, attributes, tuple(n for n in names if n[0].isupper() and n not in known))


def _formals(text: str, form: str) -> Sequence[_Text]:
    found, at = [], 0
    while text[at:].strip():
        match = _FORMAL.match(text, at)
        if match is None:
            raise RuleError(f"form {form!r}: {text[at:].strip()!r} must begin with an input or output, as X[N, M]")
        found.append(_Text(match[1], match[2] or "", match[3], match[4]))
        at = match.end()
    return found


def _formal(found: _Text, form: str, names: dict[str, None]) -> Formal:
    texts = [part.strip() for part in (found.dims or "").split(",")] if (found.dims or "").strip() else []
    starred = "..." in texts
    split = texts.index("...") if starred else len(texts)
    head, tail = (tuple([_axis(t, form, names) for t in part]) for part in (texts[:split], texts[split + 1 :]))
    name = found.name + found.mark * (found.mark == "*")
    return Formal(name, found.dtype, found.mark == "?", found.dims is not None, starred, head, tail)


def _axis(text: str, form: str, names: dict[str, None]) -> Axis:
    if text == "?":
        return Axis(text, "", lambda dims: UNKNOWN_SIZE)
    try:
        size = _size(ast.parse(text, mode="eval").body, names)
    except (SyntaxError, LookupError):
        raise RuleError(f"form {form!r}: {text!r} must be a dim, as N, 2 * N or num_heads * N") from None
    return Axis(text, text if text.isidentifier() else "", size)


def _size(node: ast.expr, names: dict[str, None]) -> Size:
    match node:
        case ast.Name(name):
            names[name] = None
            return itemgetter(name)
        case ast.Constant(int(value)):
            return lambda dims: const(value)
        case ast.BinOp(left, operator, right):
            combine, a, b = _OPERATIONS[type(operator)], _size(left, names), _size(right, names)
            return lambda dims: combine(a(dims), b(dims))
    raise LookupError


def applied(form: Form, function: Callable[..., object]) -> Callable[[Op], object]:
    """The function of an Op that binds the dims, passes those that the function has a parameter for, and gives the
    outputs of the form unless the function returns some.
    """
    _, *wanted = signature(function).parameters
    if unknown := {*wanted} - {*form.dims}:
        raise RuleError(f"parameters after the first must be dims of inputs, found {', '.join(sorted(unknown))}")

    @wraps(function)
    def transfer(op: Op) -> object:
        dims, rest = form.bound(op)
        found = function(op, **{name: dims[name] for name in wanted})
        return form.results(op, dims, rest) if found is None else found

    transfer.form = form  # type: ignore[attr-defined]
    return transfer
