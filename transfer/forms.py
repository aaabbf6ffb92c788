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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, update_wrapper
from inspect import signature
from keyword import iskeyword
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
    """The size of one axis: a `name`, or what `size` makes of names; `text` is as written, `reason` why it fits."""

    text: str
    name: str
    size: Size
    reason: str


@record()
class Formal:
    """An input or output, with `before` axes in front of `...` if it is `starred`."""

    name: str
    optional: bool
    has_dims: bool
    starred: bool
    before: int
    axes: tuple[Axis, ...]
    dtype: DType | None
    """The type of an output; None for that of the inputs `typed`."""
    typed: tuple[str, ...]
    key: tuple[str, ...]
    """The axes as they are written."""
    is_named: bool
    """Each of its axes has a name."""

    def shape(self, dims: Dims, rest: Shape) -> Shape:
        """The shape of an output."""
        if self.starred and not self.axes:
            return rest
        if not self.has_dims:
            return TOP_SHAPE
        sizes = tuple([as_size(dims[axis.name] if axis.name else axis.size(dims)) for axis in self.axes])
        return spliced(sizes[: self.before], rest, sizes[self.before :]) if self.starred else shape_of(sizes)

    def parted(self, op: Op, shape: Shape) -> tuple[Shape, tuple[Dim, ...]]:
        """The axes of an input that `...` stands for, and the sizes of the others."""
        least = len(self.axes)
        if not least:
            return shape, ()
        after = least - self.before
        if shape.rank is None:
            tail = last_dims(shape)[-after:] if after else ()
            op.may_fail(f"{self.name} must have rank {least} or more")
            return TOP_SHAPE, (*[UNKNOWN_SIZE] * (least - len(tail)), *tail)
        op.reject(f"{self.name} must have rank {least} or more", unless=shape.rank >= least, found=shape)
        end = shape.rank - after
        return shape_of(shape.dims[self.before : end]), (*shape.dims[: self.before], *shape.dims[end:])


@record()
class Form:
    """The form of an operator: the inputs of which it gives dims are `given`."""

    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    given: tuple[Formal, ...]
    dims: tuple[str, ...]
    """Dims of inputs."""
    attributes: tuple[str, ...]
    fresh: tuple[str, ...]
    """Dims of outputs alone."""

    def bound(self, op: Op) -> tuple[Dims, Shape]:
        """The dims by name, and the axes that `...` stands for. States that inputs agree."""
        dims: Dims = {name: const(op.positive(name)) for name in self.attributes} if self.attributes else {}
        later: list[tuple[Axis, Dim]] = []
        rest: tuple[str, Shape] | None = None
        seen: tuple[tuple[str, ...], Shape] | None = None
        for formal in self.given:
            x = op.optional(formal.name) if formal.optional else op.tensor(formal.name)
            if x is None or (seen is not None and x.shape is seen[1] and formal.key == seen[0]):
                continue
            if not x.shape.has_unknown and formal.is_named:
                seen = formal.key, x.shape  # another of this shape agrees
            if formal.starred:
                found, sizes = formal.parted(op, x.shape)
                rest = (formal.name, found) if rest is None else same_shape(op, *rest, formal.name, found)
            else:
                sizes = op.sizes(formal.name, len(formal.axes))
            for axis, size in zip(formal.axes, sizes, strict=True):
                known = dims.get(axis.name)
                if not axis.name:
                    later.append((axis, size))
                elif known is None or known.is_unknown or size is not known:
                    if known is not None:
                        op.require_equal(size, known, axis.reason)
                    dims[axis.name] = size if known is None or known.is_unknown else known
        if len(dims) < len(self.dims) + len(self.attributes):
            for name in self.dims:
                dims.setdefault(name, UNKNOWN_SIZE)
        for axis, size in later:
            if axis.text != "?":
                op.require_equal(size, axis.size(dims), axis.reason)
        return dims, TOP_SHAPE if rest is None else rest[1]

    def results(self, op: Op, dims: Dims, rest: Shape) -> Tensor | list[Tensor]:
        """The outputs."""
        for name in self.fresh:
            dims[name] = op.fresh(name.lower())
        found = [Tensor(_dtype(op, f) if f.dtype is None else f.dtype, f.shape(dims, rest)) for f in self.outputs]
        return found[0] if len(found) == 1 else found


def _dtype(op: Op, formal: Formal) -> DType:
    return op.common_dtype(*formal.typed) if len(formal.typed) > 1 else op.dtype(formal.typed[0])


def same_shape(op: Op, first: str, known: Shape, name: str, shape: Shape) -> tuple[str, Shape]:
    """Require that two inputs, or axes of them, have one shape; the one of which more is known, and its input."""
    if known is shape and not known.has_unknown:
        return first, known
    if known.rank is None or shape.rank is None:
        if known is not shape or known is TOP_SHAPE or any(dim.is_unknown for dim in known.known):
            op.may_fail(f"{name} must have the shape of {first}")
        return (name, shape) if known is TOP_SHAPE else (first, known)
    if known.rank != shape.rank:
        found = f"{op.tensor(name).shape} and {op.tensor(first).shape}"
        op.reject(f"{name} must have the rank of {first}, found shapes {found}")
    for at, (size, wanted) in enumerate(zip(shape, known, strict=True)):
        op.require_equal(size, wanted, f"dim {at} of {name} must equal that of {first}")
    return first, shape_of(tuple([b if a.is_unknown else a for a, b in zip(known, shape, strict=True)]))


# Reading


_FORMAL: Final = re.compile(r"\s*([^\W\d]\w*)(?::([\w&?]+))?(?:\[([^\]]*)\])?([*?]?)(?=\s|$)")
_TYPES: Final = {dtype.name.lower(): dtype for dtype in DType} | {"?": DType.UNDEFINED, "": DType.UNDEFINED}
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[Dim, Dim], Dim]]] = {
    ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.FloorDiv: floordiv, ast.Mod: mod,
}  # fmt: skip


def names_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of inputs and outputs. Raises RuleError where the text gives none."""
    inputs, outputs = (tuple(each[1] + "*" * (each[4] == "*") for each in side) for side in _sides(text))
    return inputs, outputs


def form_of(text: str) -> Form:
    """Read a form. Raises RuleError for a text that is none."""
    before, after = _sides(text)
    names: dict[str, None] = {}
    inputs = tuple(_formal(each, text, names, ()) for each in before)
    known = [*names]
    outputs = tuple(_formal(each, text, names, inputs) for each in after)
    dims = tuple(name for name in known if name[0].isupper())
    attributes = tuple(name for name in names if not name[0].isupper())
    fresh = tuple(name for name in names if name[0].isupper() and name not in known)
    given = tuple(formal for formal in inputs if formal.has_dims)
    return Form(inputs, outputs, given, dims, attributes, fresh)


def _sides(text: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """The inputs and outputs as they are written."""
    before, _, after = text.partition("->")
    inputs, outputs = [*_formals(before, text)], [*_formals(after, text)]
    if not outputs:
        raise RuleError(f"form {text!r}: write inputs and outputs, as X[N, M] W[M]? -> Y[N]")
    return inputs, outputs


def _formals(text: str, form: str) -> Iterator[re.Match[str]]:
    """The formals of one side as they are written: name, type, dims and mark."""
    at = 0
    while text[at:].strip():
        match = _FORMAL.match(text, at)
        if match is None:
            raise RuleError(f"form {form!r}: {text[at:].strip()!r} must begin with an input or output, as X[N, M]")
        yield match
        at = match.end()


def _formal(written: re.Match[str], form: str, names: dict[str, None], inputs: Sequence[Formal]) -> Formal:
    name, kind, dims, mark = written.groups()
    texts = [part.strip() for part in dims.split(",")] if dims and dims.strip() else []
    starred = "..." in texts
    before = texts.index("...") if starred else len(texts)
    texts = texts[:before] + texts[before + 1 :]
    name += mark * (mark == "*")
    axes = tuple([_axis(part, f"dim {at} of {name}", form, names) for at, part in enumerate(texts)])
    key, is_named = (*texts[:before], *["..."] * starred, *texts[before:]), all(axis.name for axis in axes)
    typed = tuple(kind.split("&")) if kind else tuple(formal.name for formal in inputs[:1])
    dtype = None if {*typed} <= {formal.name for formal in inputs} and typed else _TYPES.get(kind or "")
    if kind and dtype is None and not {*typed} <= {formal.name for formal in inputs}:
        raise RuleError(f"form {form!r}: {kind!r} must be a type, or inputs joined by &")
    return Formal(name, mark == "?", dims is not None, starred, before, axes, dtype, typed, key, is_named)


def _axis(text: str, where: str, form: str, names: dict[str, None]) -> Axis:
    if text == "?":
        return Axis(text, "", lambda dims: UNKNOWN_SIZE, "")
    try:
        node = ast.Name(text) if text.isidentifier() and not iskeyword(text) else ast.parse(text, mode="eval").body
        size = _size(node, names)
    except (SyntaxError, LookupError):
        raise RuleError(f"form {form!r}: {text!r} must be a dim, as N, 2 * N or num_heads * N") from None
    reason = f"{where} must {f'be {text}' if text.isdigit() else 'fit the other inputs'}"
    return Axis(text, text if text.isidentifier() else "", size, reason)


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


class Formed:
    """The function of an Op that binds the dims of a form, passes those that `function` has a parameter for, and gives
    the outputs of the form unless it returns some.

    A family has many more rules than a model needs, so a form of absint's own is read when it is first used. Any other
    is read at once: its mistakes are reported where it is written.
    """

    def __init__(self, text: str, function: Callable[..., object]) -> None:
        update_wrapper(self, function)
        self._text, self._function = text, function
        if not str(getattr(function, "__module__", "")).startswith("absint."):
            self._read  # noqa: B018

    def __call__(self, op: Op) -> object:
        form, wanted = self._read
        dims, rest = form.bound(op)
        found = self._function(op, **{name: dims[name] for name in wanted}) if wanted else self._function(op)
        return form.results(op, dims, rest) if found is None else found

    @property
    def form(self) -> Form:
        """The form. Raises RuleError where it is none, or the function has other parameters."""
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[Form, list[str]]:
        form = form_of(self._text)
        _, *wanted = signature(self._function).parameters
        if unknown := {*wanted} - {*form.dims}:
            raise RuleError(f"parameters after the first must be dims of inputs, found {', '.join(sorted(unknown))}")
        return form, wanted
