"""Ranges of what classical models compute (domain ai.onnx.ml): trees, linear models, encoders, scalers.

Source: the documents of the operators, and onnxruntime/core/providers/cpu/ml for what they leave open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, isinf, isnan
from typing import Final

from absint.analyses.ranges.rules import LARGEST, ONE, ZERO, computed, join, same, truth, weighed
from absint.analyses.ranges.seen import ANY, FLOATS, At, Rule, upper
from absint.lattices.domains import Span
from absint.lattices.dtype import DType

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
        found = join(found, scores, FORM.neg(scores), FORM.sub(ONE, scores))
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


def regressed_by_trees(at: At) -> Span:
    return transformed(at, scores_of_trees(at, "target")[0], is_single=False)


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


def regressed(at: At) -> Span:
    return transformed(at, linear(at, at.attribute("targets", 1)), is_single=False)


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
        "TreeEnsembleRegressor": regressed_by_trees, "LinearRegressor": regressed, "Scaler": scaled,
        "Normalizer": normalised, "Imputer": imputed, "OneHotEncoder": truth, "Binarizer": truth,
        "LabelEncoder": encoded, "CategoryMapper": encoded, "ArrayFeatureExtractor": same,
    }.items()
}  # fmt: skip

SCORES: Final[Mapping[str, Rule]] = {
    "ai.onnx.ml::TreeEnsembleClassifier": classified_by_trees, "ai.onnx.ml::LinearClassifier": classified,
}  # fmt: skip
"""Of the second output."""
