"""Normalisations and the softmax family: the shape of the input, with statistics of the reduced axes."""

from __future__ import annotations

from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, YES, divisible, eq, ge, ite, le
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import place, with_size
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, has_rank, is_empty, not_empty, require_one_way, runs_as, same_dims
from absint.transfer.elements.conversion import element_type
from absint.transfer.op import Op
from absint.transfer.rule import overlay, rule


@overlay
def empty_before_axis(op: Op) -> Tensor | None:
    """An empty input is returned before the axis is looked at."""
    x = op.tensor("input")
    axis = op.integer("axis", -1 if op.version >= 13 else 1)
    if not x.shape.rank or -len(x.shape) <= axis < len(x.shape):
        return None
    op.require(is_empty(x.shape), f"axis {axis} must be in range for rank {len(x.shape)} unless the input is empty")
    op.may_fail(f"axis {axis} is out of range for rank {len(x.shape)}", at_load=True)
    return Tensor(x.dtype, x.shape)


@rule("Softmax LogSoftmax Hardmax", "input -> output", complete=True, starred=True)
@empty_before_axis
def softmax(op: Op) -> Tensor:
    """The shape of the input, normalised over `axis` (-1); before opset 13 over all axes from `axis` (1) on."""
    x = op.tensor("input")
    axis = op.integer("axis", -1 if op.version >= 13 else 1)
    if x.shape.is_top:
        op.may_fail("axis must be in range", unless=place(x.shape, axis) is not None)
    elif len(x.shape) == 0:
        reason = f"{op.name} needs an axis, found a scalar"
        op.reject(reason, unless=op.version >= 13 and op.dtype("input") not in (DType.FLOAT, DType.DOUBLE))
        op.may_fail(reason)  # onnxruntime runs the function body of the operator
        op.may_fail(reason, at_load=True)
    else:
        op.axis(axis, len(x.shape))
    return Tensor(x.dtype, x.shape)


@rule("LpNormalization", "input -> output", complete=True, starred=True)
def lp_normalization(op: Op) -> Tensor:
    """Each slice along `axis` divided by its p-norm: the shape of the input."""
    x = op.tensor("input")
    op.reject("p must be 1 or 2", unless=op.integer("p", 2) in (1, 2), found=op.integer("p"))
    if x.shape.is_top:
        op.may_fail("axis must be in range")
    elif len(x.shape) == 0:
        op.reject("the input must have an axis, found a scalar", by="undocumented")
    else:
        op.axis(op.integer("axis", -1), len(x.shape))
    return Tensor(x.dtype, x.shape)


@overlay
def images_alone(op: Op) -> None:
    """It normalises float32 images, over the batch and all spatial axes."""
    axes = op.ints("axes") if op.version >= 9 else None
    if op.tensor("X").shape.rank != 4 or op.dtype("X") is not DType.FLOAT:
        op.may_fail("onnxruntime normalises only float32 images")
    elif axes is not None and sorted(axis % 4 for axis in axes) not in ([0, 2, 3], [0, 1, 2, 3]):
        op.may_fail("onnxruntime normalises over the batch and all spatial axes")


@rule("MeanVarianceNormalization", "X[...] -> Y[...]", complete=True, starred=True)
@images_alone
def mean_variance_normalization(op: Op) -> None:
    """(X - mean) / deviation: the shape of X."""


@rule("LRN", "X[...] -> Y[...]", complete=True, starred=True)
def lrn(op: Op) -> None:
    """Local response normalisation across channels: the shape of X, of rank 4 in onnxruntime."""
    op.require(has_rank(op.tensor("X").shape, 4), "onnxruntime needs X of rank 4", by="onnxruntime")
    size = op.integer("size")
    if size is None or size <= 0 or size % 2 == 0:
        op.reject("onnxruntime needs a size that is odd and positive", by="undocumented")
    if op.number("alpha", 1.0) <= 0 or op.number("beta", 1.0) <= 0:
        op.reject("onnxruntime needs alpha and beta to be positive", by="undocumented")


@rule("InstanceNormalization", "input scale B -> output", complete=True, starred=True)
def instance_normalization(op: Op) -> Tensor:
    """Each channel of each instance normalised: the shape of the input (N, C, ...)."""
    x = op.tensor("input")
    if x.shape.is_top:
        op.may_fail("the input must have rank 3 or more")
    elif len(x.shape) < 2:
        op.reject(f"the input must have rank 3 or more, found shape {x.shape}")
    elif len(x.shape) == 2:
        op.reject("the input must have a spatial axis", by="undocumented")
    if x.dtype in (DType.FLOAT16, DType.UNDEFINED):
        not_empty(op, "onnxruntime may crash on empty FLOAT16 images", x.shape)
    _require_vectors(op, _channels(x.shape), "scale", "B")
    return Tensor(op.common_dtype("input", "scale", "B"), x.shape)


@overlay
def groups_of_a_function(op: Op) -> Tensor:
    """The function that defines it runs: it reshapes X to groups, and broadcasts scale and bias."""
    shape, groups, channels, size = _grouped(op)
    _reshape_to_groups(op, shape, groups)
    empty = is_empty(shape)
    op.require(divisible(channels, groups) | empty, "channels must be a multiple of num_groups")
    for name in ("scale", "bias"):
        given = op.tensor(name).shape
        runs = eq(given.size, size) | eq(given.size, 1) | empty
        runs_as(op, runs, same_dims(given, [size]), f"{name} must have one value for each channel")
    if (shape.rank or 0) > 1 and op.decide(ge(channels, 1)) is not YES:
        # 0 channels may broadcast with scale and bias
        named = ite(ge(channels, 1), channels, op.fresh("channels")) if isinstance(channels, Expr) else UNKNOWN_SIZE
        shape = shape_of((shape[0], named, *shape[2:]))
    return Tensor(op.common_dtype("X", "scale", "bias"), shape)


@rule("GroupNormalization", "X scale bias -> Y", complete=True)
@groups_of_a_function
def group_normalization(op: Op) -> Tensor:
    """Groups of channels normalised: the shape of X; scale and bias are per group before opset 21."""
    shape, groups, channels, size = _grouped(op)
    op.require(divisible(channels, groups), "channels must be a multiple of num_groups")
    for name in ("scale", "bias"):
        op.require(same_dims(op.tensor(name).shape, [size]), f"{name} must have one value for each channel")
    return Tensor(op.common_dtype("X", "scale", "bias"), shape)


def _grouped(op: Op) -> tuple[Shape, int, Dim, Dim]:
    """The shape of X, the number of groups, that of channels, and that of values of scale and of bias."""
    shape, groups = op.tensor("X").shape, op.positive("num_groups")
    op.may_fail("X must have a batch and channels", unless=not shape.is_top and len(shape) >= 2)
    channels = _channels(shape)
    return shape, groups, channels, channels if op.version >= 21 else Dim(groups)


def _reshape_to_groups(op: Op, shape: Shape, groups: int) -> None:
    """A size 0 stands for that of the input on that axis."""
    reason = "onnxruntime cannot reshape an empty X"
    if shape.is_top or len(shape) < 2:
        not_empty(op, reason, shape)
        return
    some = filled(shape)
    if len(shape) < 4:
        op.require(some, reason, by="onnxruntime")
        return
    batch, channels, first, *rest = shape
    kept = eq(first, 0) & le(channels, groups - 1) & filled((batch, *rest))
    op.require(some | kept, reason, by="onnxruntime")
    op.may_fail(reason, unless=some, by="onnxruntime")


@rule(
    "BatchNormalization", "X scale B mean var -> Y mean var saved_mean saved_var", until=13, complete=True, starred=True
)
def batch_normalization_7(op: Op) -> tuple[Tensor, ...]:
    """Normalised by channel: the shape of X; the optional outputs are statistics in the shape of mean."""
    x = op.tensor("X")
    op.may_fail("onnxruntime computes no statistics", unless=op.outputs <= 1, by="onnxruntime")
    _need_channels(op, x.shape)
    names = ("scale", "B", "mean", "var")
    if op.integer("spatial", 1) == 1:  # onnxruntime takes any other number for 0
        statistics = _statistics_of_channels(op, x.shape, *names)
    else:
        _require_planes(op, x.shape, *names)
        statistics = op.tensor("mean").shape
    dtype = op.common_dtype("X", *names)
    return Tensor(dtype, x.shape), *(Tensor(dtype, statistics) for _ in range(4))


@rule(
    "BatchNormalization",
    "X scale B input_mean input_var -> Y running_mean running_var",
    since=14,
    complete=True,
    starred=True,
)
def batch_normalization(op: Op) -> tuple[Tensor, ...]:
    """Normalised by channel: the shape of X; in training mode also the running mean and variance of each channel."""
    x = op.tensor("X")
    _need_channels(op, x.shape)
    if op.outputs > 1 and not op.integer("training_mode", 0):
        op.may_fail("running statistics are outputs in training mode only")
    if op.integer("training_mode", 0):
        op.may_fail("onnxruntime trains only in some builds", by="onnxruntime")
    statistics = _statistics_of_channels(op, x.shape, "scale", "B", "input_mean", "input_var")
    normalised = op.common_dtype("X", "scale", "B") if op.version < 15 else op.dtype("X")
    moving = op.common_dtype("input_mean", "input_var")
    return Tensor(normalised, x.shape), Tensor(moving, statistics), Tensor(moving, statistics)


def _need_channels(op: Op, shape: Shape) -> None:
    has_axis = UNKNOWN_RELATION if shape.is_top else TRUE if len(shape) else FALSE
    op.require(has_axis, "X must have channels", found=shape, by="undocumented")


def _require_planes(op: Op, shape: Shape, *names: str) -> None:
    """Require one value for each place of an image in these inputs."""
    if shape.is_top or op.version < 7:
        op.may_fail("the parameters must have the shape of X without its batch")
    else:
        dims = (_channels(shape), *shape[2:])
        for name in names:
            op.require(same_dims(op.tensor(name).shape, dims), f"{name} must have the shape of X without its batch")


def _channels(shape: Shape) -> Dim:
    """The size of axis 1; 1 for a vector, unknown for an unknown rank."""
    if shape.is_top:
        return UNKNOWN_SIZE
    return shape[1] if len(shape) > 1 else Dim(1)


def _require_vectors(op: Op, size: Dim, *names: str) -> None:
    for name in names:
        op.require_equal(op.sizes(name, 1)[0], size, f"{name} must have one value for each channel")


def _statistics_of_channels(op: Op, x: Shape, *names: str) -> Shape:
    """One value for each channel, which these inputs must have too; their number from X or the first known of them."""
    _require_vectors(op, _channels(x), *names)
    shapes = [op.tensor(name).shape for name in names]
    known = [d for d in (_channels(x), *(s[0] for s in shapes if s.rank == 1)) if not d.is_unknown]
    return shape_of((min(known, key=lambda d: not d.is_concrete, default=UNKNOWN_SIZE),))


@rule("LayerNormalization", "X Scale B -> Y Mean InvStdDev", complete=True, starred=True)
def layer_normalization(op: Op) -> tuple[Tensor, Tensor, Tensor]:
    """Normalised over the axes from `axis` on: the shape of X; Mean and InvStdDev have 1 there, and the stash type.

    Before opset 17 it is onnxruntime's own, and Y has the type of Scale.
    """
    x = op.tensor("X")
    number = op.integer("stash_type", int(DType.FLOAT)) if op.outputs > 1 else int(DType.FLOAT)
    stash = element_type(number)
    if stash is DType.UNDEFINED:  # outputs without names have none
        op.may_fail(f"attribute stash_type must be an element type, found {number}")
    dtype = _normalised(op, "Scale", "B")
    statistics = Tensor(stash, _statistics(op, x.shape))
    return Tensor(dtype if op.version >= 17 else op.dtype("Scale"), x.shape), statistics, statistics


_FLOATS: Final = (1, 10, 11, 16)
"""Numbers of FLOAT, FLOAT16, DOUBLE and BFLOAT16."""


@rule("RMSNormalization", "X scale -> Y", complete=True, starred=True)
def rms_normalization(op: Op) -> Tensor:
    """Divided by the root mean square over the axes from `axis` on: the shape of X, the type of scale."""
    x, scale = op.tensor("X"), op.tensor("scale")
    _normalised(op, "scale")
    if DType.UNDEFINED not in (x.dtype, scale.dtype) and x.dtype is not scale.dtype:
        reason = "onnxruntime runs a function that multiplies X and scale, of one type"
        if op.integer("stash_type", 1) in _FLOATS:
            op.reject(reason, by="onnxruntime")
        else:
            op.may_fail(reason, by="onnxruntime")
    return Tensor(scale.dtype, x.shape)


def _normalised(op: Op, *parameters: str) -> DType:
    """The type of X; states the requirements that both operators share."""
    x = op.tensor("X")
    scale = op.tensor(parameters[0])
    if scale.dtype is DType.FLOAT16 and 0 in (scale.shape.concrete or ()):
        op.may_fail("onnxruntime does not find a constant scale without elements in this type", by="onnxruntime")
    if x.shape.is_top:
        op.may_fail("axis must be in range, and the parameters must broadcast to X")
        return op.dtype("X")
    if len(x.shape) == 0:
        op.may_fail("X must have an axis, found a scalar")
        return op.dtype("X")
    axis = op.axis(op.integer("axis", -1), len(x.shape))
    op.require(filled(x.shape[axis:]), "onnxruntime does not normalise over an empty axis", by="onnxruntime")
    for name in filter(op.has, parameters):
        _require_broadcast_to(op, x.shape, name)
    return op.dtype("X")


def _require_broadcast_to(op: Op, target: Shape, name: str) -> None:
    """Require that the parameter broadcasts to the target; a constant B without elements is as one that is left out."""
    shape, empty = op.tensor(name).shape, FALSE
    of_inputs = any(s.kind is SymbolKind.INPUT for dim in shape.known if isinstance(dim, Expr) for s in dim.symbols)
    if name == "B" and op.semantics != "onnx" and not of_inputs and not shape.is_top:
        empty = is_empty(shape)
        if empty is not FALSE:
            op.may_fail("B must have elements unless it is a constant", unless=filled(shape))
    require_one_way(op, name, target, "X", instead=empty)


def _statistics(op: Op, shape: Shape) -> Shape:
    if shape.is_top and op.integer("axis", -1) == -1 and shape.tail:
        return with_size(shape, len(shape.known) - 1, Dim(1))
    if shape.is_top or len(shape) == 0:
        return TOP_SHAPE
    axis = op.axis(op.integer("axis", -1), len(shape))
    return shape_of((*shape[:axis], *(Dim(1) for _ in shape[axis:])))
