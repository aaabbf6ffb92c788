"""Trees, support vector machines and maps of ai.onnx.ml, and what its rules share: rows of features, lists.

Ensembles of trees are lists in attributes. The rules say which of them onnxruntime accepts, and the features they read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE, ge
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim, Unknown, const
from absint.lattices.terms.interval import Interval
from absint.lattices.value import MapOf, Tensor
from absint.transfer.conditions import has_rank, required_text
from absint.transfer.op import Op, of_dims
from absint.transfer.rule import ML, rule

POST_TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def listed(op: Op, name: str) -> Sequence[object]:
    """The list attribute; empty if it is left out."""
    value = op.attributes.get(name)
    return value if isinstance(value, (list, tuple)) else ()


def counted(op: Op, *names: str) -> int:
    """The length of the first of these list attributes that holds anything."""
    return next((length for name in names if (length := len(listed(op, name)))), 0)


def rows_of(op: Op, features: int | None = None) -> Dim:
    """The number of rows of X, which has rank 1 (one row) or 2; each must have so many features, if they are known."""
    shape = op.tensor("X").shape
    op.require(has_rank(shape, 1, 2), "X must have rank 1 or 2", found=shape)
    if shape.is_top:
        return UNKNOWN_SIZE
    if features is not None:
        op.require_equal(shape[-1], features, f"a row must have {features} features")
    return shape[0] if len(shape) == 2 else ONE_EXPR


_MODES: Final = frozenset({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"})
_NODES: Final = (
    "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids",
    "nodes_falsenodeids",
)  # fmt: skip
_OPTIONAL: Final = ("nodes_hitrates", "nodes_missing_value_tracks_true")

Key = tuple[object, object]
"""The ids of a tree and of a node in it."""


def require_trees(op: Op, leaves: str, results: int) -> None:
    """State what onnxruntime needs of the ensemble.

    Its leaves, in the attributes that begin with `leaves`, each give one or more of `results` results.
    """
    required_text(op, "post_transform", POST_TRANSFORMS)
    required_text(op, "aggregate_function", ("SUM", "AVERAGE", "MIN", "MAX"))
    if any(name.endswith("_as_tensor") for name in op.attributes):
        op.may_fail("the tensors of the ensemble must fit its nodes")
    elif not _is_read(op, leaves, results):
        op.reject("the nodes of the ensemble must form trees, and each leaf must have a result", by="undocumented")
    count = len(listed(op, "base_values"))
    op.may_fail("each result must have a base value", unless=count in (0, results), by="onnx")
    if count > 2 if leaves == "class" and results <= 2 else count not in (0, results):
        op.reject("each result must have a base value", by="undocumented")
    last = _last_feature(op, leaves, results)
    if last is None:
        op.may_fail("the nodes of the ensemble must form trees, and each leaf must have a result")
    else:
        _require_feature(op, last)


def _require_feature(op: Op, last: int) -> None:
    """X must have the last feature that a tree reads; onnxruntime takes a vector for rows of one feature."""
    shape, reason = op.tensor("X").shape, f"X must have the feature {last} that a tree reads"
    if shape.rank == 2:
        op.require(ge(shape[1], last + 1), reason)
        return
    if shape.rank == 1 and op.semantics == "onnxruntime":
        op.require(TRUE if last < 1 else FALSE, reason)
        op.may_fail("X must have rows of features, found a vector", at_load=True)
    else:
        op.may_fail("onnxruntime needs rows of features")
    op.may_fail(reason, unless=ge(shape[0], last + 1) if shape.rank == 1 else FALSE)


def require_read_features(op: Op) -> None:
    """X must have the features that the trees of a TreeEnsemble read, as far as its nodes are in range."""
    roots, features, yes, no, yes_leaves, no_leaves = lists = [op.ints(name) or [] for name in _FLAT]
    if len({*map(len, lists[1:])}) > 1:
        return
    places, waiting, read = range(len(features)), [*roots], set[int]()
    while waiting:
        node = waiting.pop()
        if node not in places:
            return
        if node in read:
            continue
        if node in roots and yes_leaves[node] and no_leaves[node] and yes[node] == no[node]:
            continue  # a tree of one leaf
        read.add(node)
        waiting += [yes[node]] * (not yes_leaves[node]) + [no[node]] * (not no_leaves[node])
    if read:
        _require_feature(op, max(features[node] for node in read))


_FLAT: Final = (
    "tree_roots", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs",
)  # fmt: skip


def _is_read(op: Op, leaves: str, results: int) -> bool:
    """onnxruntime reads the lists: they have the lengths, ids and modes that it checks."""
    trees, ids, _, _, modes, _, _ = parts = [listed(op, name) for name in _NODES]
    targets = [listed(op, f"{leaves}_{part}") for part in ("treeids", "nodeids", "ids", "weights")]
    keys = set(zip(trees, ids, strict=False))
    return (
        results > 0
        and len({*map(len, parts)}) == len({*map(len, targets)}) == 1
        and len(keys) == len(trees)
        and keys.issuperset(zip(targets[0], targets[1], strict=True))
        and {*_MODES, "BRANCH_MEMBER"}.issuperset(modes)
        and all(isinstance(number, int) and 0 <= number < results for number in targets[2])
    )


def _last_feature(op: Op, leaves: str, results: int) -> int | None:
    """The highest feature that a branch reads, -1 without any; None if the nodes form no trees or a leaf is wrong."""
    trees, ids, features, values, modes, yes, no = (listed(op, name) for name in _NODES)
    count = len(trees)
    optional = (len(listed(op, name)) for name in _OPTIONAL if op.semantics != "onnxruntime")
    if not count or any(len(part) != count for part in (ids, features, values, modes, yes, no)):
        return None
    if any(size not in (0, count) for size in optional) or not _MODES.issuperset(modes):
        return None
    keys: list[Key] = list(zip(trees, ids, strict=True))
    rows = zip(keys, modes, yes, no, strict=True)
    children = {key: () if mode == "LEAF" else ((key[0], a), (key[0], b)) for key, mode, a, b in rows}
    if len(children) != count or not _are_trees(children):
        return None
    if not _have_results(op, leaves, results, {key for key, below in children.items() if not below}):
        return None
    read = [f for f, mode in zip(features, modes, strict=True) if mode != "LEAF" and isinstance(f, int)]
    return max(read, default=-1) if min(read, default=0) >= 0 else None


def _are_trees(children: Mapping[Key, Sequence[Key]]) -> bool:
    """Each tree has one root, from which every node of it is reached once."""
    below = [child for pair in children.values() for child in pair]
    inner = set(below)
    roots = [key for key in children if key not in inner]
    if len(inner) != len(below) or len({tree for tree, _ in roots}) != len(roots) or not inner <= children.keys():
        return False
    reached, level = 0, roots
    while level:
        reached += len(level)
        level = [child for key in level for child in children[key]]
    return reached == len(children)


def _have_results(op: Op, leaves: str, results: int, known: set[Key]) -> bool:
    trees, nodes, ids, weights = (listed(op, f"{leaves}_{part}") for part in ("treeids", "nodeids", "ids", "weights"))
    if not len(trees) == len(nodes) == len(ids) == len(weights):
        return False
    in_range = all(isinstance(number, int) and 0 <= number < results for number in {*ids})
    return in_range and set(zip(trees, nodes, strict=True)) == known


@rule("SVMClassifier", "X -> Y Z", domain=ML, complete=True)
def svm_classifier(op: Op) -> Sequence[Tensor]:
    """Label and scores: a probability or a plane for each class, else a vote for each pair."""
    is_text = "classlabels_strings" in op.attributes
    labels = counted(op, "classlabels_strings" if is_text else "classlabels_ints")
    of_classes, chances = op.ints("vectors_per_class") or [], counted(op, "prob_a")
    vectors, pairs, scores = sum(of_classes), labels * (labels - 1) // 2, labels
    fits = labels > 0 and min(of_classes, default=0) >= 0 and chances == counted(op, "prob_b")
    if vectors > 0:
        fits = fits and len(of_classes) == labels and (not chances or chances >= pairs)
        fits = fits and counted(op, "coefficients") >= (labels - 1) * vectors
        if len(of_classes) != labels:
            scores = 0  # runtimes differ on which of the two counts
        elif not chances:
            scores = max(pairs, 2)
    rows = rows_of(op, _features(op, vectors, labels, pairs if vectors > 0 else 1, fits))
    table = of_dims(DType.FLOAT, rows, scores if scores else UNKNOWN_SIZE)
    return of_dims(DType.STRING if is_text else DType.INT64, rows), table


@rule("SVMRegressor", "X -> Y", domain=ML, complete=True)
def svm_regressor(op: Op) -> Tensor:
    """One number for each row."""
    vectors = op.integer("n_supports", 0)
    fits = vectors <= 0 or (counted(op, "coefficients") >= vectors and counted(op, "support_vectors") > 0)
    return Tensor(DType.FLOAT, shape_of((rows_of(op, _features(op, vectors, 1, 1, fits)), ONE_EXPR)))


def _features(op: Op, vectors: int, classes: int, offsets: int, fits: bool) -> int | None:
    """The features of a support vector, or without any of a plane for each class; None if the attributes do not fit."""
    required_text(op, "kernel_type", ("LINEAR", "POLY", "RBF", "SIGMOID"))
    required_text(op, "post_transform", POST_TRANSFORMS)
    fits = fits and counted(op, "coefficients") > 0 and "rho" in op.attributes and counted(op, "rho") >= offsets
    fits = fits and "kernel_params" in op.attributes and counted(op, "kernel_params") in (0, 3)
    numbers, each = (counted(op, "support_vectors"), vectors) if vectors > 0 else (counted(op, "coefficients"), classes)
    if not fits or (vectors > 0 and numbers % vectors):
        op.reject("the attributes must fit each other", by="undocumented")
        return None
    return numbers // each


@rule("DictVectorizer", "X -> Y", domain=ML, complete=True)
def dict_vectorizer(op: Op) -> Tensor:
    """The values of a map, in the order of the vocabulary for its type of keys."""
    key, dtype = _types(op)
    vocabularies = {DType.STRING: "string_vocabulary", DType.INT64: "int64_vocabulary"}
    if key not in vocabularies:
        op.may_fail("there must be a vocabulary of the keys")
    elif vocabularies[key] not in op.attributes:
        op.reject("there must be a vocabulary of the keys", by="undocumented")
    names = [vocabularies[key]] if key in vocabularies else vocabularies.values()
    words = next((value for name in names if (value := op.attributes.get(name))), None)
    size = const(len(words)) if isinstance(words, (list, tuple)) else UNKNOWN_SIZE
    return Tensor(dtype, shape_of((ONE_EXPR, size)))


@rule("CastMap", "X -> Y", domain=ML, complete=True)
def cast_map(op: Op) -> Tensor:
    """The values of a map in the order of the keys; a sparse one has `max_map` columns."""
    casts = {"TO_FLOAT": DType.FLOAT, "TO_STRING": DType.STRING, "TO_INT64": DType.INT64}
    required_text(op, "cast_to", tuple(casts))
    required_text(op, "map_form", ("DENSE", "SPARSE"))
    dtype = casts.get(op.string("cast_to", "TO_FLOAT"), DType.UNDEFINED)
    columns: Dim = Unknown(Interval(0, None))
    if op.string("map_form", "DENSE") == "SPARSE":
        largest = op.integer("max_map", 1)
        columns = const(max(largest, 0))
        op.reject("max_map must be positive", unless=largest >= 1, found=largest, by="undocumented")
        op.may_fail("no key must be negative")
    op.may_fail("the values must be castable", unless=dtype is DType.STRING or _types(op)[1] is DType.FLOAT)
    return Tensor(dtype, shape_of((ONE_EXPR, columns)))


def _types(op: Op) -> tuple[DType, DType]:
    """The types of the keys and of the values."""
    value = op.value("X")
    if not isinstance(value, MapOf):
        return DType.UNDEFINED, DType.UNDEFINED
    return value.key, value.element.dtype if isinstance(value.element, Tensor) else DType.UNDEFINED
