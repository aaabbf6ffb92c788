"""Ranges of what operators on whole tensors compute: parts, indices, types, quantised numbers; of classical models."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, isinf, isnan, trunc
from typing import Final

from absint.analyses.queries import bounds_of
from absint.analyses.ranges.rules import LARGEST, ZERO, computed, fitted, interval, join, same, span_of, truth, weighed
from absint.analyses.ranges.seen import ANY, FLOATS, TRUTHS, At, Rule, any_of, upper
from absint.lattices.domains import INTERVALS as INTS, Interval, Span
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.value import Tensor


def joined(at: At) -> Span:
    return join(*(ANY if one is None else one for one in at.ranges))


def with_zero(at: At) -> Span:
    return join(at.input(0), Span(0, 0))


def padded(at: At) -> Span:
    value = at.attribute("value", 0.0) if len(at.ranges) == 1 else 0
    return join(at.input(0), at.input(2, Span(value, value)))


def constant(at: At) -> Span:
    """Few elements; what the analysis of shapes knows of others is met with this."""
    found = at.attribute("value", _NOTHING)
    least, most = bounds_of(found).numbers
    known = at.any if found is _NOTHING else Span(least, most, (least, most) == (-inf, inf))
    read = at.ends()
    return known if read is None else Span(*read)


_NOTHING: Final = Tensor(DType.UNDEFINED)


def scattered(at: At) -> Span:
    """Data with updates in their places; one place may get all of them."""
    _index(at, 1, at.attribute("axis", 0))
    data, updates = at.input(0), at.input(2)
    reduction = at.attribute("reduction", "none")
    if reduction in ("none", "min", "max"):
        return join(data, updates)
    most = min(upper(at.shape(2)), LARGEST)
    if reduction != "add" or not at.is_float or ANY in (data, updates) or updates.is_empty or data.is_empty:
        return at.any
    exact = Span(data.lo + min(0.0, updates.lo * most), data.hi + max(0.0, updates.hi * most))
    size = data.magnitude + updates.magnitude * most
    return ANY if data.nan or updates.nan else computed(at, exact, size, most)


def scattered_parts(at: At) -> Span:
    """ScatterND, whose indices speak of several axes."""
    if at.attribute("reduction", "none") not in ("none", "min", "max"):
        return at.any
    return join(at.input(0), at.input(2))


def gathered(at: At) -> Span:
    _index(at, 1, at.attribute("axis", 0))
    return at.input(0)


def _index(at: At, index: int, axis: int) -> None:
    """Indices must lie within the axis; its least size counts."""
    shape = at.shape(0)
    known = shape.rank is not None and -shape.rank <= axis < shape.rank
    least = (shape[axis].bounds.lo or 0) if known else 0
    is_fixed = known and shape[axis].bounds.lo == shape[axis].bounds.hi
    at.note("index out of range", at.input(index), Span(-least, least - 1), is_fixed=is_fixed)


def position(axis: int) -> Rule:
    """An index of the axis, which is this one if the node does not say it."""
    return lambda at: Span(0, max(0, at.size(0, at.attribute("axis", axis)) - 1))


def places(at: At) -> Span:
    """Indices of any axis."""
    shape = at.shape(0)
    sizes = [inf] if shape.rank is None else [at.size(0, axis) for axis in range(shape.rank)]
    return Span(0, max([1, *sizes]) - 1)


def shape_of(at: At) -> Span:
    shape = at.shape(0)
    if not shape.rank:
        return Span(0, any_of(DType.INT64).hi)
    found = join(*(span_of(Interval(shape[axis].bounds.lo, shape[axis].bounds.hi)) for axis in range(shape.rank)))
    return Span(max(found.lo, 0), found.hi)


def counted(at: At) -> Span:
    """The numbers of a Range of integers, between its start and its limit."""
    if at.dtype not in INTEGER_RANGES:
        return ANY
    start, limit = at.input(0), at.input(1)
    return start.join(limit)


# Types


def cast(at: At) -> Span:
    x = at.input(0)
    source = at.type(0)
    if source in (DType.UNDEFINED, DType.STRING):
        return at.any
    if at.dtype is DType.BOOL:
        return Span(1, 1) if (x.lo > 0 or x.hi < 0) and not x.nan else Span(0, 0) if x == Span(0, 0) else TRUTHS
    if at.is_float:
        return at.form.rounded(x) if source in FLOATS or source in INTEGER_RANGES or source is DType.BOOL else ANY
    if at.dtype not in INTEGER_RANGES or source not in (*FLOATS, *INTEGER_RANGES, DType.BOOL):
        return at.any
    if not x.is_finite:
        at.note("overflow", x, at.any)
        return at.any
    return fitted(at, Interval(trunc(x.lo), trunc(x.hi)))


def quantized(at: At) -> Span:
    """A quotient that is rounded, shifted and cut to the type."""
    x, scale, zero = at.input(0), at.input(1), at.input(2, Span(0, 0))
    limits = at.any
    if at.dtype not in INTEGER_RANGES or at.type(0) not in FLOATS:
        return limits
    form = FLOATS[at.type(0)]
    found = form.increasing(lambda end: end, form.div(x, scale))
    if found.nan or found.is_empty:
        at.note("saturation", found, limits)
        return limits
    exact = FLOATS[DType.DOUBLE].round(found)
    exact = Span(exact.lo + zero.lo, exact.hi + zero.hi)
    at.note("saturation", exact, limits)
    low, high = (int(min(max(end, limits.lo), limits.hi)) for end in (exact.lo, exact.hi))
    return Span(low, high)


def dequantized(at: At) -> Span:
    x, scale, zero = at.input(0), at.input(1), at.input(2, Span(0, 0))
    if not at.is_float or at.type(0) not in INTEGER_RANGES:
        return at.any
    form = at.form
    return form.mul(form.rounded(span_of(INTS.sub(interval(x), interval(zero)))), scale)


def selected(at: At) -> Span:
    """NonMaxSuppression: numbers of a batch, a class and a box."""
    boxes, scores = at.shape(0), at.shape(1)
    sizes = [upper(s, [axis]) for s in (boxes, scores) for axis in range(min(s.rank or 0, 3))]
    return Span(0, max([1, *sizes]) - 1) if boxes.rank and scores.rank else at.any


def step(at: At) -> Span:
    """The scale of DynamicQuantizeLinear: the range of the input and 0, by 255 steps; of zeros, a runtime says 1."""
    x = join(at.input(0), ZERO)
    form = at.form
    if x.nan or x.is_empty:
        return ANY
    found = form.div(form.sub(Span(x.hi, x.hi), Span(x.lo, x.lo)), Span(255.0, 255.0))
    return Span(0.0, max(1.0, found.hi), found.nan)


_SAME: Final = (
    "Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand", "Tile", "Slice", "Split",
    "DepthToSpace", "SpaceToDepth", "ReverseSequence", "GatherND", "Compress", "SequenceAt", "SplitToSequence",
    "ConcatFromSequence", "SequenceErase", "Unique",
)  # fmt: skip

PARTS: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(_SAME, same), "Concat": joined, "SequenceConstruct": joined, "Trilu": with_zero, "Pad": padded,
    "Constant": constant, "ConstantOfShape": lambda at: constant(at) if at.has("value") else ZERO, "Gather": gathered,
    "GatherElements": gathered, "ScatterElements": scattered, "ScatterND": scattered_parts, "ArgMax": position(0),
    "ArgMin": position(0), "EyeLike": truth, "Hardmax": truth, "NonZero": places, "NonMaxSuppression": selected,
    "OneHot": lambda at: at.input(2), "Shape": shape_of, "Size": lambda at: Span(0, upper(at.shape(0))),
    "Range": counted, "Cast": cast, "QuantizeLinear": quantized, "DequantizeLinear": dequantized,
}  # fmt: skip


# Classical models (domain ai.onnx.ml): trees, linear models, encoders, scalers.
#
# Source: the documents of the operators, and onnxruntime/core/providers/cpu/ml for what they leave open.


FORM: Final = FLOATS[DType.FLOAT]
UNIT: Final = Span(0.0, 1.0001)


def as_float(at: At, index: int = 0) -> Span:
    """An input, read as float."""
    x = at.input(index)
    return x if x.is_empty else FORM.rounded(x)


def transformed(at: At, scores: Span, *, is_single: bool) -> Span:
    """Scores after the transform. A single score of two classes is written beside its opposite, or 1 less it."""
    transform = at.attribute("post_transform", "NONE")
    if transform not in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO") or scores == ANY:
        return ANY
    found = scores if transform == "NONE" else UNIT
    if is_single:
        found = join(found, scores, FORM.neg(scores), FORM.sub(Span(1.0, 1.0), scores))
    return found


# Trees


def leaves(at: At, prefix: str) -> Mapping[int, Mapping[int, tuple[float, float]]] | None:
    """For each target the least and the greatest number that each tree may add; None for trees of another form."""
    trees, nodes = at.attribute("nodes_treeids", [0]), at.attribute("nodes_nodeids", [0])
    modes = at.attribute("nodes_modes", [""])
    true, false = at.attribute("nodes_truenodeids", [0]), at.attribute("nodes_falsenodeids", [0])
    columns: Sequence[Sequence[object]] = (trees, nodes, modes, true, false)
    if any(len(column) != len(nodes) for column in columns) or len({*zip(trees, nodes, strict=True)}) < len(nodes):
        return None
    rows = list(zip(trees, nodes, modes, true, false, strict=True))
    inner = {(tree, child) for tree, _, mode, a, b in rows if mode != "LEAF" for child in (a, b)}
    roots = [tree for tree, node, *_ in rows if (tree, node) not in inner]
    if len(roots) != len({*trees}) or len({*roots}) != len(roots):
        return None
    ends = {(tree, node) for tree, node, mode, *_ in rows if mode == "LEAF"}
    given = [at.attribute(f"{prefix}_{name}", [0]) for name in ("treeids", "nodeids", "ids")]
    weights = at.attribute(f"{prefix}_weights", [0.0])
    if any(len(column) != len(weights) for column in given):
        return None
    found: dict[int, dict[tuple[int, int], float]] = defaultdict(dict)
    for tree, node, target, weight in zip(*given, weights, strict=True):
        if (tree, node) not in ends or (tree, node) in found[target]:
            return None
        found[target][tree, node] = weight
    result: dict[int, dict[int, tuple[float, float]]] = {}
    for target, by_leaf in found.items():
        sides: dict[int, list[float]] = defaultdict(list)
        for leaf in ends:
            sides[leaf[0]].append(by_leaf.get(leaf, 0.0))
        result[target] = {tree: (min(numbers), max(numbers)) for tree, numbers in sides.items()}
    return result


def scores_of_trees(at: At, prefix: str) -> tuple[Span, int]:
    """The scores, and the number of targets that have any."""
    tensors = (f"{prefix}_weights_as_tensor", "base_values_as_tensor", "nodes_values_as_tensor")
    aggregate = at.attribute("aggregate_function", "SUM")
    known = None if not at.is_float or any(map(at.has, tensors)) else leaves(at, prefix)
    if not known or aggregate not in ("SUM", "AVERAGE"):
        return ANY, 0
    base = at.attribute("base_values", [0.0]) or [0.0]
    is_one = prefix == "target" and at.attribute("n_targets", 1) == len(known) == len(base) == 1
    start = Span(base[0], base[0]) if is_one else Span(min(0.0, *base), max(0.0, *base))
    found = Span(inf, -inf) if is_one else start
    for by_tree in known.values():
        share = 1 / len(by_tree) if aggregate == "AVERAGE" else 1.0
        low, high = (sum(ends[side] for ends in by_tree.values()) * share for side in (0, 1))
        size = sum(max(map(abs, ends)) for ends in by_tree.values()) + start.magnitude
        found = join(found, computed(at, Span(low + start.lo, high + start.hi), size, len(by_tree) + 2))
    return found, len(known)


def classified_by_trees(at: At) -> Span:
    scores, count = scores_of_trees(at, "class")
    return transformed(at, join(scores, ZERO), is_single=count < 2)


# Linear models


def linear(at: At, rows: int) -> Span:
    """Products with rows of coefficients, and an intercept for each. A run may have fewer numbers than coefficients."""
    coefficients, x, shape = at.attribute("coefficients", [0.0]), as_float(at), at.shape(0)
    intercepts = at.attribute("intercepts", [0.0]) if at.has("intercepts") else [0.0] * rows
    if not at.is_float or rows < 1 or len(coefficients) % rows or len(intercepts) != rows:
        return ANY
    if x.nan or x.is_empty or isinf(x.lo) or isinf(x.hi):
        return ANY
    width = len(coefficients) // rows
    parts = [coefficients[row * width : (row + 1) * width] for row in range(rows)]
    biases = [Span(bias, bias) for bias in intercepts]
    if not shape.rank or {shape[-1].bounds.lo, shape[-1].bounds.hi} != {width}:
        x, parts, biases = join(x, ZERO), [coefficients], [Span(min(intercepts), max(intercepts))]
    found = Span(inf, -inf)
    for part, bias in zip(parts, biases, strict=True):
        exact, size = weighed(x, [(sum(c for c in part if c > 0), sum(c for c in part if c < 0))])
        size += bias.magnitude
        found = join(found, computed(at, Span(exact.lo + bias.lo, exact.hi + bias.hi), size, len(part) + 1))
    return found


def classified(at: At) -> Span:
    """LinearClassifier, which has a row for each intercept."""
    rows = len(at.attribute("intercepts", [0.0]))
    scores = linear(at, rows) if at.has("intercepts") else ANY
    return transformed(at, scores, is_single=rows < 2)


# Numbers


def scaled(at: At) -> Span:
    """A number less an offset, times a scale."""
    x, found = as_float(at), Span(inf, -inf)
    offsets, scales = at.attribute("offset", [0.0]), at.attribute("scale", [1.0])
    most = max(len(offsets), len(scales))
    if at.dtype is not DType.FLOAT or any(len(column) not in (1, most) for column in (offsets, scales)):
        return ANY
    for index in range(most):
        offset, scale = (column[index % len(column)] for column in (offsets, scales))
        found = join(found, FORM.mul(FORM.sub(x, Span(offset, offset)), Span(scale, scale)))
    return found


def normalised(at: At) -> Span:
    """Numbers by the sum of their absolute values, by the root of the sum of squares, or by the greatest.

    Squares that are too small for the format are rounded to steps of it, so that a quotient may be 1.3. onnxruntime
    squares integers, and takes their absolute values, in their own type: the least has none, large squares wrap.
    """
    x, norm = as_float(at), at.attribute("norm", "MAX")
    if at.dtype is not DType.FLOAT or x.is_empty or (norm == "MAX" and x.lo < 0):
        return ANY
    if at.type(0).is_integer:
        narrow = at.type(0) is not DType.INT64 or norm == "L2"
        if x.magnitude >= 2.0 ** (31 if narrow else 63):
            return ANY
    most = 1.3 if norm == "L2" else 1.0001
    size = x.magnitude
    is_finite = min(upper(at.shape(0)), LARGEST) * size ** (2 if norm == "L2" else 1) < FORM.greatest / 8
    return Span(0.0 if x.lo >= 0 else -most, most, x.nan or not is_finite)


def imputed(at: At) -> Span:
    """Numbers in place of those that are missing, which are NaN or one number."""
    x, kind = at.input(0), "float" if at.is_float else "int64"
    numbers: Sequence[float] = at.attribute(f"imputed_value_{kind}s", [0.0 if kind == "float" else 0])
    if not at.has(f"imputed_value_{kind}s") or not numbers or at.dtype not in (DType.FLOAT, DType.INT64):
        return at.any
    missing = isnan(at.attribute("replaced_value_float", 0.0))
    return join(Span(x.lo, x.hi, x.nan and not missing), Span(min(numbers), max(numbers)))


def encoded(at: At) -> Span:
    """LabelEncoder and CategoryMapper: one of the values that are listed, or the default."""
    if at.dtype is DType.INT64:
        names, default = ("values_int64s", "cats_int64s"), at.attribute("default_int64", -1)
        if at.has("default_tensor"):
            return at.any
        if at.has("classes_strings"):
            return join(Span(0, len(at.attribute("classes_strings", [""]))), Span(default, default))
        numbers = [number for name in names if at.has(name) for number in at.attribute(name, [0])]
        return join(Span(min(numbers), max(numbers)), Span(default, default)) if numbers else at.any
    if at.dtype is not DType.FLOAT or not at.has("values_floats") or at.has("default_tensor"):
        return at.any
    floats, other = at.attribute("values_floats", [0.0]), at.attribute("default_float", -0.0)
    rest = [number for number in (*floats, other) if not isnan(number)]
    return Span(min(rest, default=inf), max(rest, default=-inf), len(rest) < len(floats) + 1)


ML: Final[Mapping[str, Rule]] = {
    f"ai.onnx.ml::{name}": rule
    for name, rule in {
        "TreeEnsembleRegressor": lambda at: transformed(at, scores_of_trees(at, "target")[0], is_single=False),
        "LinearRegressor": lambda at: transformed(at, linear(at, at.attribute("targets", 1)), is_single=False),
        "Scaler": scaled,
        "Normalizer": normalised, "Imputer": imputed, "OneHotEncoder": truth, "Binarizer": truth,
        "LabelEncoder": encoded, "CategoryMapper": encoded, "ArrayFeatureExtractor": same,
    }.items()
}  # fmt: skip

_CLASSIFIERS: Final = {"TreeEnsembleClassifier": classified_by_trees, "LinearClassifier": classified}
SCORES: Final[Mapping[str, Rule]] = {f"ai.onnx.ml::{name}": rule for name, rule in _CLASSIFIERS.items()}
"""Of the second output."""
