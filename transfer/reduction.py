"""Reductions over axes; losses; an optimiser step, and gradients of a part of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import chain, pairwise
from math import prod
from typing import Final

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import MANTISSA_BITS, DType
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, YES, Relation, eq, ge, le
from absint.lattices.records import NamedTuple
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.shape_lattice import DIMS
from absint.lattices.starred import places, without
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, const, product
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real, maximum, minimum, truncdiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, is_empty, known_text, runs_as, vector
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.logic import conjoin, disjoin
from absint.transfer.elements.premises import fit, in_double, in_order, within
from absint.transfer.op import Op, constants_of
from absint.transfer.rule import Function, Outputs, Rule, rule


class Fold(NamedTuple):
    """The effect of a reduction on known elements: a list, or `count` equal ones. A single element is unchanged."""

    elements: Callable[[Op, DType, Sequence[Element]], Element]
    repeated: Callable[[Op, DType, Element, Dim], Element]


def by_attribute(fold: Fold | None) -> Function:
    """The rule of a reduction whose axes are an attribute."""

    def rule(op: Op) -> Tensor:
        """Reduce over the axes in an attribute, or over all of them without it."""
        return _reduced(op, fold, [const(axis) for axis in op.ints("axes") or ()])

    return rule


def by_input(fold: Fold | None) -> Function:
    """The rule of a reduction whose axes are an input."""

    def rule(op: Op) -> Tensor:
        """Reduce over the axes in an input; without any over all, or over none if `noop_with_empty_axes`."""
        axes: Sequence[Dim] | None = ()
        if op.has("axes"):
            vector(op, "axes")
            axes = op.integers("axes")
        return _reduced(op, fold, axes, noop=op.flag("noop_with_empty_axes"))

    return rule


def _reduced(op: Op, fold: Fold | None, given: Sequence[Dim] | None, noop: bool = False) -> Tensor:
    """The result over the given axes, each known or not; None if their number is unknown."""
    x, dtype = op.tensor("data"), op.dtype("data")
    identity = Tensor(dtype, x.shape, x.contents if fold is not None else None)
    if given is not None and not given and noop:
        return identity
    if x.shape.is_top:
        return Tensor(dtype, _of_any_rank(op, x, given))
    rank = len(x.shape)
    if rank == 0:
        reason = "onnxruntime accepts any axis of a scalar, ONNX's own inference none"
        if given is None or given:
            op.may_fail(reason, at_load=op.semantics == "onnxruntime")
        return _over(op, fold, x, frozenset())
    constants = [d.const for d in given or () if isinstance(d, Expr) and d.const is not None]
    known = frozenset(op.axis(axis, rank) for axis in constants)
    if given is None or len(constants) < len(given):
        op.may_fail("axes must be in range")
        return Tensor(dtype, _some_axes(op, x.shape, known, None if given is None else len(given)))
    return _over(op, fold, x, known if given else frozenset(range(rank)))


def _of_any_rank(op: Op, x: Tensor, given: Sequence[Dim] | None) -> Shape:
    """The shape if the rank is unknown. Axes among the known dims leave the others as they are."""
    keep = op.flag("keepdims", default=True)
    if given is not None and not given:
        if x.dtype is DType.BOOL:
            op.may_fail("onnxruntime does not reduce an empty axis of booleans", by="onnxruntime")
        return TOP_SHAPE if keep else SCALAR
    axes = constants_of(given)
    at = None if axes is None else places(x.shape, axes)
    if at is None:
        op.may_fail("axes must be in range")
        return TOP_SHAPE
    if x.dtype is DType.BOOL:
        count = product(x.shape.known[i] for i in at)
        op.may_fail("onnxruntime does not reduce an empty axis of booleans", unless=ge(count, 1), by="onnxruntime")
    return _without(x.shape, at, keep)


def _without(shape: Shape, axes: frozenset[int], keep: bool) -> Shape:
    """The shape without these axes of the known dims; with 1 there if it is to `keep` them."""
    if not keep:
        return without(shape, axes)
    return shape.around(tuple([ONE_EXPR if i in axes else d for i, d in enumerate(shape.known)]))


def _some_axes(op: Op, shape: Shape, known: frozenset[int], count: int | None) -> Shape:
    """The shape if some reduced axes are unknown: every other axis is kept or becomes 1."""
    if op.flag("keepdims", default=True):
        return shape_of(tuple(ONE_EXPR if i in known else DIMS.join(d, ONE_EXPR) for i, d in enumerate(shape)))
    if count == 1:
        return shape_of(tuple(DIMS.join(a, b) for a, b in pairwise(shape)))
    return TOP_SHAPE


def _over(op: Op, fold: Fold | None, x: Tensor, axes: frozenset[int]) -> Tensor:
    count = product(x.shape[axis] for axis in axes)
    if x.dtype is DType.BOOL:
        rest = product(size for axis, size in enumerate(x.shape) if axis not in axes)
        needed = ge(count, 1) | eq(rest, 0)
        op.require(needed, "onnxruntime does not reduce an empty axis of booleans", by="onnxruntime")
    shape = _without(x.shape, axes, op.flag("keepdims", default=True))
    if fold is None or x.contents is None:
        return Tensor(x.dtype, shape)
    return Tensor(x.dtype, shape, _contents(op, x, axes, shape, fold, count))


def _contents(op: Op, x: Tensor, axes: frozenset[int], shape: Shape, fold: Fold, count: Dim) -> Contents | None:
    if x.contents is not None and x.contents.is_fill:
        return Contents.fill(fold.repeated(op, x.dtype, x.contents.elements[0], count))
    elements, sizes = op.block("data"), shape.concrete
    if elements is None or sizes is None:
        return None
    order = [i for i in range(len(elements.shape)) if i not in axes] + sorted(axes)
    together, size = elements.transposed(order).elements, int(count)
    groups = (together[at * size : (at + 1) * size] for at in range(prod(sizes)))
    return Contents.of(sizes, [fold.elements(op, x.dtype, group) for group in groups])


def _sum(op: Op, dtype: DType, elements: Sequence[Element]) -> Element:
    dims = [e for e in elements if isinstance(e, Dim)]
    if len(dims) == len(elements) and dtype.is_integer:
        return _through_double(op, dtype, sum(dims, ZERO_EXPR), dims)
    if len(elements) == 1:
        return elements[0]
    return _sum_reals(op, dtype, [e for e in elements if isinstance(e, Real)], len(elements))


def _through_double(op: Op, dtype: DType, total: Dim, summands: Sequence[Dim] = ()) -> Dim:
    """A sum or product of integers, as onnxruntime computes it in double, in any order.

    Partial products are no larger than the product, and partial sums no larger than the sum if no summand is negative.
    """
    limit = (1 << MANTISSA_BITS[DType.DOUBLE]) // max(len(summands), 1)
    parts = [dim for dim in summands if dim.bounds.lo is None or dim.bounds.lo < 0]
    if parts and not all(within(op, dim, -limit, limit, f"{DType.DOUBLE} holds a sum of it") for dim in summands):
        return UNKNOWN_DIM
    return fit(op, dtype, total) if in_double(op, total) else UNKNOWN_DIM


def _sum_reals(op: Op, dtype: DType, reals: Sequence[Real], count: int) -> Element:
    """Exact in any order of summation: non-negative multiples of one power of two whose sum fits the mantissa."""
    if len(reals) < count or dtype not in MANTISSA_BITS or not all(r.is_dyadic for r in reals):
        return OPAQUE
    den = max((r.den for r in reals), default=1)
    scaled = [r.num * (den // r.den) for r in reals]
    if any(num.bounds.lo is None or num.bounds.lo < 0 for num in scaled):
        return OPAQUE
    return _in_mantissa(op, sum(scaled, ZERO_EXPR), den, dtype)


def _in_mantissa(op: Op, num: Dim, den: int, dtype: DType) -> Element:
    """num/den if it fits the mantissa; then every partial sum does, since none is larger."""
    limit = 1 << MANTISSA_BITS[dtype]
    if den > _FINEST or (dtype is DType.FLOAT16 and not num.bounds.leq(Interval(0, limit))):
        return OPAQUE
    return (Real.of(num, den) or OPAQUE) if within(op, num, 0, limit, f"{dtype} holds it exactly") else OPAQUE


_FINEST: Final = 1 << 10
"""The largest divisor of elements to follow: a half float rounds those with a larger one."""


def _product(op: Op, dtype: DType, elements: Sequence[Element]) -> Element:
    dims = [e for e in elements if isinstance(e, Dim)]
    if len(dims) < len(elements) or not dtype.is_integer:
        return OPAQUE
    if len(dims) > _MOST_FACTORS:  # a partial product may be infinite, which times 0 is NaN
        return UNKNOWN_DIM
    return _through_double(op, dtype, product(dims))


_MOST_FACTORS: Final = 15


def _extreme(
    combine: Callable[..., Dim], join: Callable[[Element, Element], Element], empty: Element
) -> Callable[[Op, DType, Sequence[Element]], Element]:
    def fold(op: Op, dtype: DType, elements: Sequence[Element]) -> Element:
        if dtype is DType.BOOL:
            return reduce(join, elements, empty)
        dims = [e for e in elements if isinstance(e, Dim)]
        if dims and len(dims) == len(elements):
            return combine(*dims) if len(dims) == 1 or in_order(op, dtype, *dims) else UNKNOWN_DIM
        if len(elements) == 1:
            return elements[0]
        reals = [e for e in elements if isinstance(e, Real) and e.is_dyadic]
        if not reals or len(reals) < len(elements):
            larger = combine is maximum
            return reduce(partial(ar.maximum if larger else ar.minimum, op, dtype), elements) if elements else OPAQUE
        den = max(r.den for r in reals)
        return Real.of(combine(*(r.num * (den // r.den) for r in reals)), den) or OPAQUE

    return fold


def _mean(op: Op, dtype: DType, elements: Sequence[Element]) -> Element:
    total = _sum(op, dtype, elements) if elements else OPAQUE
    if isinstance(total, Dim):
        if not isinstance(total, Expr):  # the mean may fit the type where the sum does not
            return UNKNOWN_DIM
        return truncdiv(total, len(elements)) if in_double(op, total * _FRACTIONS) else UNKNOWN_DIM
    count = len(elements)
    if count == 1:
        return total
    if isinstance(total, Real) and count & (count - 1) == 0:
        return Real.of(total.num, total.den * count) or OPAQUE
    return OPAQUE


def _same(op: Op, dtype: DType, element: Element, count: Dim) -> Element:
    """The element itself, if there is at least one."""
    return element if op.decide(ge(count, 1)) is YES else OPAQUE


def _same_integer(op: Op, dtype: DType, element: Element, count: Dim) -> Element:
    """The mean of equal integers; a mean of floats is rounded."""
    if not isinstance(element, Dim):
        return OPAQUE
    return _same(op, dtype, element, count) if in_double(op, element * count * _FRACTIONS) else UNKNOWN_DIM


_FRACTIONS: Final = 8
"""A numerator this many times below the limit of double has no quotient that rounds up to an integer."""


def _sum_repeated(op: Op, dtype: DType, element: Element, count: Dim) -> Element:
    if isinstance(element, Dim) and dtype.is_integer:
        return _through_double(op, dtype, element * count)
    if isinstance(element, Real) and element.is_dyadic and dtype in MANTISSA_BITS and element.num.bounds.lo is not None:
        return _in_mantissa(op, element.num * count, element.den, dtype) if element.num.bounds.lo >= 0 else OPAQUE
    return OPAQUE


def _product_repeated(op: Op, dtype: DType, element: Element, count: Dim) -> Element:
    if isinstance(element, Dim) and dtype.is_integer and isinstance(count, Expr):
        if element is ONE_EXPR:
            return element
        if count.const is not None and count.const <= _MOST_FACTORS:
            return _product(op, dtype, [element] * count.const)
    return OPAQUE


SUM: Final = Fold(_sum, _sum_repeated)
PROD: Final = Fold(_product, _product_repeated)
MAX: Final = Fold(_extreme(maximum, disjoin, FALSE), _same)
MIN: Final = Fold(_extreme(minimum, conjoin, TRUE), _same)
MEAN: Final = Fold(_mean, _same_integer)

_reduction = partial(rule, complete=True, starred=True)

_NORMS: Final = "ReduceL1 ReduceL2 ReduceLogSumExp ReduceSumSquare"
_FOLDS: Final = {"ReduceSum": SUM, "ReduceProd": PROD, "ReduceMax": MAX, "ReduceMin": MIN, "ReduceMean": MEAN}
_SINCE: Final = {"ReduceSum": 13}
"""The version that takes the axes as an input, unless it is 18."""

REDUCTIONS_BY_ATTRIBUTE = tuple(
    _reduction(name, inputs="data", until=_SINCE.get(name, 18) - 1, elements=True)(by_attribute(fold))
    for name, fold in _FOLDS.items()
)
REDUCTIONS = tuple(
    _reduction(name, inputs="data axes", since=_SINCE.get(name, 18), elements=True)(by_input(fold))
    for name, fold in _FOLDS.items()
)
_norm = by_input(None)
reduce_norm_7 = _reduction(f"{_NORMS} ReduceLogSum", inputs="data", until=17)(by_attribute(None))
reduce_norm = _reduction(_NORMS, inputs="data axes", since=18)(_norm)


@_reduction("ReduceLogSum", inputs="data axes", since=18)
def reduce_log_sum(op: Op) -> Outputs:
    """The logarithm of the sum along the axes."""
    if op.dtype("data") in (DType.UINT32, DType.UINT64):  # the function that defines the operator takes a Log of it
        op.reject(f"onnxruntime has no logarithm of {op.dtype('data')}", by="onnxruntime")
    return _norm(op)


# Losses of class scores; preview operators of training: an optimiser step, gradients of a part of the graph


@rule("NegativeLogLikelihoodLoss", "input target weight -> loss", complete=True)
def negative_log_likelihood_loss(op: Op) -> Tensor:
    """The loss of input (N, C, ...) at the classes target (N, ...): a number, or one for each target."""
    return Tensor(op.common_dtype("input", "weight"), _loss_shape(op, "input", "target", "weight"))


@rule("SoftmaxCrossEntropyLoss", "scores labels weights -> output log_prob", complete=True)
def softmax_cross_entropy_loss(op: Op) -> tuple[Tensor, Tensor]:
    """The cross entropy of scores (N, C, ...) and labels (N, ...), and the logarithm of the softmax of the scores."""
    dtype = op.common_dtype("scores", "weights")
    shape, x = _loss_shape(op, "scores", "labels", "weights"), op.tensor("scores").shape
    some = UNKNOWN_RELATION if x.is_top else filled((*x[:2], *x[3:]))
    reason = "onnxruntime cannot reshape scores with an empty axis, other than that after the classes"
    op.require(some, reason, by="onnxruntime")
    return Tensor(dtype, shape), Tensor(dtype, x)


def _loss_shape(op: Op, scores: str, labels: str, weights: str) -> Shape:
    """The scalar of a reduced loss, else the dims of the labels.

    onnxruntime gathers the scores at the labels, so labels smaller than the scores, and weights of any shape, may run.
    """
    x, target = op.tensor(scores).shape, op.tensor(labels).shape
    known_text(op, "reduction", ("none", "mean", "sum"))
    classes: Dim = UNKNOWN_SIZE
    if not x.is_top:
        op.reject(f"{scores} must have rank 2 or more", unless=len(x) >= 2, found=x)
        op.require_rank(target, len(x) - 1, labels)
        if target.is_top:
            target = Shape([None] * (len(x) - 1))
        classes = x[1]
        for axis, (size, wanted) in enumerate(zip(target, (x[0], *x[2:]), strict=True)):
            reason = f"dim {axis} of {labels} must be that of {scores}"
            runs_as(op, le(size, wanted), eq(size, wanted), reason)
            if op.semantics == "onnxruntime" and op.name == "SoftmaxCrossEntropyLoss" and eq(size, wanted) is FALSE:
                op.may_fail(f"{reason}, or the function that defines the operator may not load")
    else:
        op.may_fail(f"{labels} must have the dims of {scores} without the classes")
    empty = is_empty(target)
    op.require(ge(classes, 1) | empty, "every label must name a class")
    op.may_fail(f"{labels} must be classes", unless=empty)
    if op.has(weights):
        target = _weighted(op, weights, classes, empty, target)
    return SCALAR if op.string("reduction", "mean") != "none" else target


def _weighted(op: Op, name: str, classes: Dim, empty: Relation, target: Shape) -> Shape:
    """The dims of the loss of each target, with weights of the classes."""
    given = op.tensor(name).shape
    reason = f"{name} must have one value for each class"
    if given.rank == 0 or op.semantics == "onnx":
        op.require_rank(given, 1, name)
    if given.rank == 1:
        runs_as(op, ge(given[0], 1) | empty, eq(given[0], classes), reason)
        return target
    op.may_fail(reason)
    op.may_fail(f"{name} must have rank 1, found shape {given}", at_load=True)
    return target if op.semantics == "onnx" else TOP_SHAPE  # gathered at the labels, they broadcast against the loss


DOMAIN: Final = "ai.onnx.preview.training"


def _optimiser(name: str, says: str, states: int) -> Rule:
    """The rule of an optimiser that keeps `states` tensors for each trained tensor.

    The inputs after R (learning rate) and T (number of updates) are all trained tensors, all gradients, all first
    states, and so on. The outputs are the trained tensors, then the states.
    """

    def transfer(op: Op) -> tuple[Tensor, ...]:
        given = op.variadic()
        op.reject("an optimiser needs R, T and the tensors to train", unless=len(given) >= 3)
        rate, _, *tensors = given
        if len(tensors) % (2 + states):
            op.reject(f"each trained tensor must have {2 + states} inputs, found {len(tensors)} inputs after R and T")
        count = len(tensors) // (2 + states)
        trained, gradients, *kept = (tensors[at : at + count] for at in range(0, len(tensors), count or 1))
        steps = [op.broadcast(x.shape, g.shape) for x, g in zip(trained, gradients, strict=True)]
        moved = [[op.broadcast(s.shape, step) for s, step in zip(group, steps, strict=True)] for group in kept]
        news = [op.broadcast(rate.shape, *shapes) for shapes in zip(*moved, strict=True)]
        before, after = [*trained, *chain(*kept)], [*news, *chain(*moved)]
        return tuple(Tensor(old.dtype, shape) for old, shape in zip(before, after, strict=True))

    transfer.__doc__ = says
    return rule(name, "R T inputs* -> outputs*", domain=DOMAIN)(transfer)


adagrad = _optimiser("Adagrad", "A step of Adagrad: the trained tensors, then their accumulated squared gradients.", 1)
adam = _optimiser("Adam", "A step of Adam: the trained tensors, then their two averages of gradients.", 2)
momentum = _optimiser("Momentum", "A step with momentum: the trained tensors, then their momenta.", 1)


@rule("Gradient", "Inputs* -> Outputs*", domain=DOMAIN)
def gradient(op: Op) -> tuple[Tensor, ...]:
    """The derivatives of `y` with respect to `xs`, the first inputs: their shapes."""
    return tuple(Tensor(x.dtype, x.shape) for x in op.variadic()[: op.outputs])
