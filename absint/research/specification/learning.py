"""Classical machine learning, the domain ai.onnx.ml: a table with a row for each example, or one row of rank 1."""

from collections.abc import Sequence
from math import prod
from typing import Final

from absint.research.specification.formulas import FALSE, TRUE, equal
from absint.research.specification.node import Attribute, Held, Node, Output, tensor
from absint.research.specification.specs import instances, learned
from absint.research.specification.terms import Term, product, term


def _count(node: Node, *names: str) -> int:
    """The length of the list that is given."""
    for name in names:
        value = node.attributes.get(name)
        if isinstance(value, Held):
            return prod(value.dims)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return len(value)
    return 0


def _only(node: Node, *names: str) -> str:
    """The one list that is given."""
    held = [name for name in names if _count(node, name)]
    node.demand(len(held) == 1, "values of one type must be given")
    (name,) = held
    return name


def _features(node: Node) -> Term:
    """The axis of features: the second one, or that of a vector."""
    dims = node.input(0).dims
    node.demand(len(dims) >= 1, "there must be features")
    return dims[min(len(dims), 2) - 1]


def _rows(node: Node) -> Term:
    dims = node.input(0).dims
    node.demand(len(dims) in (1, 2), "the input must be a table or a row")
    return dims[0] if len(dims) == 2 else term(1)


@learned(
    "Scaler",
    "N F; scale=[2.0] offset=[1.0] | N F; scale=[1.0, 2.0, 3.0] offset=[0.0, 1.0, 2.0] | "
    "F; scale=[1.0, 2.0] offset=[0.0, 1.0] | N F H; scale=[1.0, 2.0] offset=[0.0, 1.0] | "
    "N F; scale=[1.0, 2.0] offset=[0.0]",
)
@learned(
    "Imputer",
    "N F; imputed_value_floats=[2.0] | N F; imputed_value_floats=[1.0, 2.0, 3.0] | "
    "F; imputed_value_floats=[1.0, 2.0] | int64: N F; imputed_value_int64s=[1, 2] replaced_value_int64=1",
)
def by_feature(node: Node) -> Output:
    """Each feature with a number of its own, or all with one."""
    names = ("scale",) if node.operator == "Scaler" else ("imputed_value_floats", "imputed_value_int64s")
    count = _count(node, *names)
    if node.operator == "Imputer":
        held = _only(node, *names)
        if node.input(0).dtype and held != names[node.input(0).dtype == "int64"]:
            node.refuse("values must have the type of X")
    if node.operator == "Scaler":
        node.demand(count == _count(node, "offset"), "there must be as many offsets as factors")
    features = _features(node)
    if count != 1:
        runs = TRUE if node.operator == "Imputer" else FALSE
        node.requires(equal(features, count), "there must be a number for each feature", unless=runs)
    return tensor(node.input(0).dims)


@learned("Normalizer", "N F | N F; norm=L1 | F; norm=L2 | N F H")
def normalizer(node: Node) -> Output:
    """The shape of a table or a row."""
    _rows(node)
    return tensor(node.input(0).dims)


@learned(
    "CategoryMapper",
    "string: N F; cats_strings=['a', 'b'] cats_int64s=[1, 2] default_int64=0 | "
    "int64: N; cats_strings=['a', 'b'] cats_int64s=[1, 2] default_string=- | "
    "int64:; cats_strings=['a'] cats_int64s=[1] default_string=-",
)
@learned("Binarizer", "N F; threshold=0.5 | N F H | []")
def element_wise(node: Node) -> Output:
    """The shape of the input."""
    return tensor(node.input(0).dims)


@learned(
    "LabelEncoder",
    "int64: N F; keys_int64s=[1, 2] values_floats=[1.0, 2.0] | "
    "int64: N F H; keys_int64s=[1, 2] values_int64s=[3, 4] | float:; keys_floats=[1.0] values_int64s=[3]",
    first=2,
)
def label_encoder(node: Node) -> Output:
    """The shape of the input, each element replaced by the value of its key."""
    for part in ("keys", "values"):
        given = [name for name in node.attributes if name.startswith(f"{part}_")]
        node.demand(len(given) == 1, f"there must be one list of {part}")
    kinds = {"strings": "string", "int64s": "int64", "floats": "float"}
    held = {name: value.dtype for name, value in node.attributes.items() if isinstance(value, Held)}
    names = (name for name in node.attributes if name.startswith(("keys_", "values_")))
    keys, values = (held.get(name, kinds.get(name.partition("_")[2])) for name in sorted(names))
    node.demand(node.input(0).dtype in ("", keys), "keys must have the type of the input")
    node.demand(held.get("default_tensor", values) == values, "the default must have the type of values")
    return tensor(node.input(0).dims)


@learned(
    "OneHotEncoder",
    "int64: N F; cats_int64s=[1, 2, 3] | int64: N; cats_int64s=[1] | N F; cats_int64s=[1, 2] | "
    "int64: N; cats_int64s=[1] cats_strings=['a']",
)
def one_hot(node: Node) -> Output:
    """A last axis with a column for each category."""
    return tensor([*node.input(0).dims, _count(node, _only(node, "cats_int64s", "cats_strings"))])


@learned(
    "LinearRegressor",
    "N F; coefficients=[1.0, 2.0, 3.0] | "
    "N F; coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0] intercepts=[1.0, 2.0] targets=2 | "
    "F; coefficients=[1.0, 2.0, 3.0, 4.0] targets=2 | N F G; coefficients=[1.0, 2.0, 3.0]",
)
def linear(node: Node) -> Output:
    """A column for each target."""
    targets, rows = node.integer("targets", 1), _rows(node)
    needed, count = _features(node) * targets, _count(node, "coefficients")
    node.requires(equal(needed, count), "each feature must have a coefficient for each target", unless=needed <= count)
    return tensor([rows, targets])


@learned("ArrayFeatureExtractor", "N F, int64=0: K | F, int64=0: K | N M F, int64=0: K | N F, int64=0: 1 K")
def columns(node: Node) -> Output:
    """The columns of the last axis that are named."""
    dims, chosen = node.input(0).dims, node.input(1).dims
    count = product(chosen)
    node.requires(count >= 1, "a column must be named")
    node.requires(dims[-1] >= 1, "every column must exist")
    return tensor([*(dims[:-1] or (1,)), count])


@learned(
    "FeatureVectorizer",
    "N F; inputdimensions=[3] | N F, M G; inputdimensions=[2, 3] | F, G; inputdimensions=[2, 1] | "
    "N 2, G; inputdimensions=[2, 1] | N F, M G, L H; inputdimensions=[2, 0, 1]",
)
def side_by_side(node: Node) -> Output:
    """The features of all inputs in one row, as many of each as the attribute says; a vector is one row."""
    first, sizes = node.input(0), node.integers("inputdimensions") or []
    rows = first.dims[0] if first.rank >= 2 else term(1)
    node.demand(len(sizes) == len(node.given()) and min(sizes) >= 0, "each input must have its number of features")
    for given, size in zip(node.given(), sizes, strict=True):
        node.demand(given.rank >= 1, "each input must be a table or a row")
        if given.rank > 2:
            node.refuse("each input must be a table or a row", unless=TRUE)
        node.requires(equal(given.dims[-1], size), "an input must have the features that are said", unless=TRUE)
        own = given.dims[0] if given.rank >= 2 else term(1)
        node.requires(equal(own, rows), "the inputs must have the same rows")
    if any(sizes[:-1]):
        node.limits(rows >= 1, "onnxruntime aborts")
    return tensor([rows, sum(sizes)])


CLASSES: Final[dict[str, Attribute]] = {"classlabels_ints": [1, 2, 3], "intercepts": [0.0, 1.0, 2.0]}


@learned(
    "LinearClassifier",
    [
        *instances("N F; outputs=2 coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]", **CLASSES),
        *instances("F; outputs=2 coefficients=[1.0, 2.0, 3.0]", **CLASSES),
        *instances(
            "N F; outputs=2 | N F G; outputs=2", coefficients=[1.0, 2.0], classlabels_ints=[0, 1], intercepts=[1.0]
        ),
    ],
)
def linear_classes(node: Node) -> list[Output]:
    """A label for each row, and a score for each class; one score of two classes is doubled."""
    classes, rows, count = _count(node, "intercepts"), _rows(node), _count(node, "coefficients")
    needed = _features(node) * classes
    node.requires(equal(needed, count), "each feature must have a coefficient for each class", unless=needed <= count)
    if classes == 1 and (labels := _count(node, "classlabels_strings", "classlabels_ints")):
        node.demand(labels == 2, "one score must be of two classes")
        classes = labels
    return [tensor([rows]), tensor([rows, classes])]


SUPPORT: Final[dict[str, Attribute]] = {
    "kernel_type": "LINEAR",
    "kernel_params": [0.5, 0.0, 3.0],
    "coefficients": [1.0, -1.0],
    "support_vectors": [1.0, 2.0, 3.0, 4.0],
    "n_supports": 2,
    "rho": [0.5],
}


@learned("SVMRegressor", instances("N F | F", **SUPPORT))
def support_vectors(node: Node) -> Output:
    """A number for each row, which has a feature for each of a support vector."""
    features = _count(node, "support_vectors") // node.integer("n_supports")
    node.requires(equal(_features(node), features), "a row must have the features of a support vector")
    return tensor([_rows(node), 1])


def votes(classes: int, **more: Attribute) -> dict[str, Attribute]:
    """Support vectors of three features, one for each class."""
    return {
        "kernel_type": "RBF",
        "kernel_params": [0.5, 0.0, 3.0],
        "support_vectors": [1.0] * 3 * classes,
        "vectors_per_class": [1] * classes,
        "coefficients": [1.0] * max(classes - 1, 1) * classes,
        "rho": _pairs(classes),
        "classlabels_ints": list(range(classes)),
        **more,
    }


def _separating(classes: int, **more: Attribute) -> dict[str, Attribute]:
    """A plane for each class instead."""
    return {
        "kernel_type": "LINEAR",
        "kernel_params": [0.5, 0.0, 3.0],
        "coefficients": [1.0] * 3 * classes,
        "rho": [0.5] * classes,
        "classlabels_ints": list(range(classes)),
        **more,
    }


def _pairs(classes: int) -> Attribute:
    return [1.0] * max(classes * (classes - 1) // 2, 1)


@learned(
    "SVMClassifier",
    [
        *[
            found
            for attributes in (
                *[votes(classes) for classes in (1, 2, 3, 4)],
                *[votes(classes, prob_a=_pairs(classes), prob_b=_pairs(classes)) for classes in (1, 2, 4)],
                *[_separating(classes) for classes in (1, 2, 4)],
                _separating(4, vectors_per_class=[0, 0, 0, 0]),
                _separating(3, prob_a=[1.0] * 3, prob_b=[1.0] * 3),
            )
            for found in instances("N F; outputs=2", **attributes)
        ],
        *instances("F; outputs=2 | N F H; outputs=2", **votes(2)),
    ],
)
def support_classes(node: Node) -> list[Output]:
    """A label for each row, and its scores: a probability or a plane for each class, else a vote for each pair, of
    which there are two at least.
    """
    rows, classes = _rows(node), _count(node, "classlabels_strings", "classlabels_ints")
    node.demand(classes >= 1, "each class must have a label")
    vectors = sum(node.integers("vectors_per_class") or ())
    if vectors:
        features, scores = _count(node, "support_vectors") // vectors, max(classes * (classes - 1) // 2, 2)
    else:
        features, scores = _count(node, "coefficients") // classes, classes
    node.requires(equal(_features(node), features), "a row must have the features of the classes")
    return [tensor([rows]), tensor([rows, classes if _count(node, "prob_a") else scores])]


TREE: Final[dict[str, Attribute]] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}


def _read(node: Node, read: Sequence[int]) -> None:
    """The features that trees read must be there; onnxruntime takes a vector for one feature."""
    if not read:
        raise LookupError("onnxruntime may read a feature at a leaf")
    needed = max(read) + 1
    seen = _features(node) if node.input(0).rank == 2 else term(1)
    node.requires(_features(node) >= needed, "every feature that a tree reads must be there", unless=seen >= needed)
    node.limits(seen >= needed, "onnxruntime may read beyond the features")


def _leaves(kind: str, ids: Sequence[int]) -> dict[str, Attribute]:
    return {f"{kind}_treeids": [0, 0], f"{kind}_nodeids": [1, 2], f"{kind}_ids": ids, f"{kind}_weights": [1.0, 2.0]}


@learned(
    "TreeEnsembleRegressor",
    [
        *instances("N F; n_targets=1", **TREE, **_leaves("target", [0, 0])),
        *instances("N F; n_targets=2", **TREE, **_leaves("target", [0, 1])),
    ],
)
@learned(
    "TreeEnsembleClassifier",
    instances("N F; outputs=2 classlabels_int64s=[0, 1, 2]", **TREE, **_leaves("class", [0, 2])),
)
def trees(node: Node) -> list[Output]:
    """A number for each row and target; or a label for each row, and a score for each class."""
    rows, modes, ids = _rows(node), node.attributes["nodes_modes"], node.integers("nodes_featureids") or []
    assert isinstance(modes, Sequence)
    _read(node, [feature for feature, mode in zip(ids, modes, strict=True) if mode != "LEAF"])
    labels = _count(node, "classlabels_int64s", "classlabels_strings")
    if node.operator == "TreeEnsembleClassifier":
        return [tensor([rows]), tensor([rows, labels])]
    return [tensor([rows, node.integer("n_targets")])]


LENGTHS: Final = {
    "nodes_featureids": "nodes_splits nodes_modes nodes_truenodeids nodes_falsenodeids nodes_trueleafs nodes_falseleafs"
    " nodes_hitrates nodes_missing_value_tracks_true",
    "leaf_targetids": "leaf_weights",
}
"""Lists that have as many entries as another."""


@learned(
    "TreeEnsemble",
    [
        found
        for dims, targets, feature in (("N F", 1, 0), ("N F", 3, 1), ("F", 2, 0))
        for found in instances(
            f"{dims}; n_targets={targets} tree_roots=[0] nodes_featureids=[{feature}]",
            nodes_splits=Held("float", (1,), (0.5,)),
            nodes_modes=Held("uint8", (1,), (0,)),
            nodes_truenodeids=[0],
            nodes_falsenodeids=[1],
            nodes_trueleafs=[1],
            nodes_falseleafs=[1],
            leaf_targetids=[0, targets - 1],
            leaf_weights=Held("float", (2,), (1.0, 2.0)),
        )
    ],
    first=5,
)
def leaves(node: Node) -> Output:
    """A number for each row and target."""
    rows = _rows(node)
    for name in ("nodes_splits", "leaf_weights"):
        table, dtype = node.attributes.get(name), node.input(0).dtype
        fits = not isinstance(table, Held) or dtype in ("", table.dtype)
        node.demand(fits, f"{name} must have the type of the input")
    for first, others in LENGTHS.items():
        for name in filter(node.attributes.__contains__, others.split()):
            node.demand(_count(node, name) == _count(node, first), f"{name} must have as many entries as {first}")
    _read(node, node.integers("nodes_featureids") or [])
    return tensor([rows, node.integer("n_targets")])
