"""Einsum: Einstein summation over subscript labels."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.logic.relation import eq
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.caveats import not_empty
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX

ELLIPSIS = "…"
"""The one label for the axes of an ellipsis."""


@rule("Einsum", "Inputs* -> Output", complete=True)
def einsum(op: Op) -> Tensor:
    """numpy.einsum with letters, ellipses and an implicit or explicit output."""
    tensors = op.variadic()
    dtype = op.same_dtype(*(t.dtype for t in tensors))
    equation = op.string("equation")
    if equation is None:
        op.reject("attribute equation must be given")
    terms, output = parse_equation(op, equation)
    if len(terms) != len(tensors):
        op.reject(f"equation {equation!r} needs {len(terms)} inputs, found {len(tensors)}")
    if any(t.shape.is_top for t in tensors):
        op.may_fail("subscripts and dims of the inputs must agree")
    shapes = [t.shape for t in tensors]
    not_empty(op, "onnxruntime may fail on an empty input", *shapes)
    widths = {len(s) - len(term) for term, s in zip(terms, shapes, strict=True) if ELLIPSIS in term and not s.is_top}
    if len(widths) > 1:
        op.may_fail("onnxruntime needs an ellipsis to stand for as many axes in each input")
    sizes = _label_sizes(op, terms, shapes)
    for label in output:
        if label != ELLIPSIS and not any(label in term for term in terms):
            op.reject(f"label {label!r} of the output must occur in an input")
    if any(label not in sizes for label in output):
        return Tensor(dtype, _of_unknown_inputs(terms, output, sizes))
    return Tensor(dtype, shape_of(tuple(dim for label in output for dim in sizes[label])))


def _of_unknown_inputs(terms: Sequence[str], output: str, sizes: dict[str, tuple[Dim, ...]]) -> Shape:
    """Labels of an input of unknown rank have unknown size; an ellipsis leaves the rank unknown."""
    if ELLIPSIS in output:
        return TOP_SHAPE
    return Shape([sizes[label][0] if label in sizes else None for label in output])


def parse_equation(op: Op, equation: str) -> tuple[list[str], str]:
    """Labels of each input and of the output; an ellipsis is one label."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [_labels(op, term) for term in left.split(",")]
    if not arrow:
        return terms, _implicit_output(terms)
    output = _labels(op, right)
    if len(set(output)) != len(output):
        op.reject(f"the output must not repeat a label, found {right!r}")
    if ELLIPSIS not in output and any(ELLIPSIS in term for term in terms):
        op.may_fail("onnxruntime needs the ellipsis of the inputs in the output too")
    return terms, output


def _labels(op: Op, term: str) -> str:
    labels = term.replace("...", ELLIPSIS)
    if labels.count(ELLIPSIS) > 1 or not all(c == ELLIPSIS or (c.isascii() and c.isalpha()) for c in labels):
        op.reject(f"subscripts must be letters and at most one ellipsis, found {term!r}")
    if any(c.isupper() for c in labels):
        op.runtime_may_fail("onnxruntime may refuse upper-case labels")
    return labels


def _implicit_output(terms: Sequence[str]) -> str:
    """The ellipsis, then every letter that occurs exactly once, in alphabetical order."""
    text = "".join(terms)
    once = sorted(c for c in set(text) if c != ELLIPSIS and text.count(c) == 1)
    return (ELLIPSIS if ELLIPSIS in text else "") + "".join(once)


def _label_sizes(op: Op, terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, tuple[Dim, ...]]:
    """The sizes of each label; a label of an input of unknown rank is left out."""
    found: dict[str, list[tuple[Dim, ...]]] = {}
    hidden: set[str] = set()
    for term, shape in zip(terms, shapes, strict=True):
        if shape.is_top:
            hidden.update(term)
            continue
        for label, dims in _split(op, term, shape).items():
            found.setdefault(label, []).append(dims)
    _require_one_width(op, found.get(ELLIPSIS, ()))
    if op.semantics == ONNX:
        for label, (first, *others) in found.items():
            for (size,) in others if label != ELLIPSIS else ():
                op.may_fail(f"dims of label {label!r} must agree", unless=eq(size, first[0]))
    return {label: op.broadcast_dims(*dims) for label, dims in found.items() if label not in hidden}


def _require_one_width(op: Op, ellipses: Sequence[Sequence[Dim]]) -> None:
    """Require one number of axes for all ellipses. Kernels also accept one that stands for none."""
    widths = {len(dims) for dims in ellipses}
    if len(widths - {0}) > 1:
        op.reject(f"the ellipses must stand for the same number of axes, found {', '.join(map(str, sorted(widths)))}")
    if len(widths) > 1:
        op.load_risk(f"the ellipses must stand for the same number of axes, found 0 and {max(widths)}")


def _split(op: Op, term: str, shape: Shape) -> dict[str, tuple[Dim, ...]]:
    """The dims of one input by label. A letter that occurs twice in it takes a diagonal, whose dims must be equal."""
    letters = len(term.replace(ELLIPSIS, ""))
    extra = len(shape) - letters
    if extra < 0 or (extra and ELLIPSIS not in term):
        op.reject(f"subscripts {term.replace(ELLIPSIS, '...')!r} must fit their input, found shape {shape}")
    sizes: dict[str, tuple[Dim, ...]] = {}
    axis = 0
    for label in term:
        width = extra if label == ELLIPSIS else 1
        dims = shape[axis : axis + width]
        axis += width
        if label in sizes:
            op.require_equal(sizes[label][0], dims[0], f"dims of repeated label {label!r} must agree")
        else:
            sizes[label] = dims
    return sizes
