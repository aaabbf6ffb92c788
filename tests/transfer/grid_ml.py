"""Grids of the ai.onnx.ml operators that scikit-learn's converters write."""

from __future__ import annotations

import random

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import dims, near
from tests.transfer.harness import Arg, Case

F, D, I64, I32, TEXT = (
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.STRING
)  # fmt: skip
POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", "odd")


def case(op: str, x: Arg, attributes: dict[str, object], outputs: int = 1, opset: int = 1) -> Case:
    kept = {name: value for name, value in attributes.items() if value != []}
    return Case(op, [x], kept, outputs, domain="ai.onnx.ml", opset=opset)


def rows(rng: random.Random, features: int) -> list[int]:
    rank = rng.choice((0, 1, 2, 2, 2, 2, 2, 3))
    return [*dims(rng, rank - 1), features] if rank else []


def scaler(rng: random.Random) -> Case:
    x = rows(rng, rng.choice((0, 1, 2, 3)))
    count = rng.choice((1, near(rng, x[-1] if x else 1, 0.2)))
    other = near(rng, count)
    return case("Scaler", Arg(x, rng.choice((F, D, I64, I32))), {"offset": [0.5] * count, "scale": [2.0] * other})


def normalizer(rng: random.Random) -> Case:
    attributes = subset(rng, {"norm": ["MAX", "L1", "L2", "odd"]}, 0.8)
    return case("Normalizer", Arg(rows(rng, rng.choice((0, 1, 3))), rng.choice((F, D, I64, I32))), attributes)


def imputer(rng: random.Random) -> Case:
    x = rows(rng, rng.choice((0, 1, 2, 3)))
    count = rng.choice((0, 1, 1, near(rng, x[-1] if x else 1, 0.2)))
    real = rng.random() < 0.6
    attributes: dict[str, object] = {"imputed_value_floats" if real else "imputed_value_int64s": [1] * count}
    if real:
        attributes = {"imputed_value_floats": [1.5] * count}
    name = "replaced_value_float" if real == (rng.random() < 0.9) else "replaced_value_int64"
    attributes[name] = 0.0 if name.endswith("float") else 0
    dtype = (F if real else I64) if rng.random() < 0.9 else rng.choice((F, I64))
    return case("Imputer", Arg(x, dtype), attributes)


def binarizer(rng: random.Random) -> Case:
    return case("Binarizer", Arg(dims(rng, rng.choice((0, 1, 2, 3)))), subset(rng, {"threshold": [0.5]}, 0.7))


def one_hot(rng: random.Random) -> Case:
    texts = rng.random() < 0.4
    attributes: dict[str, object] = {"cats_strings": ["ab", "c"]} if texts else {"cats_int64s": [0, 1, 2]}
    attributes |= subset(rng, {"zeros": [1, 1, 1, 0]}, 0.5)
    dtype = (TEXT if texts else rng.choice((I64, I32, F, D))) if rng.random() < 0.9 else rng.choice((TEXT, I64))
    return case("OneHotEncoder", Arg(dims(rng, rng.choice((0, 1, 2, 2, 3))), dtype), attributes)


def linear_classifier(rng: random.Random) -> Case:
    features, classes = rng.choice((0, 1, 2, 3)), rng.choice((1, 1, 2, 3))
    labels = near(rng, classes if classes > 1 else rng.choice((1, 2)))
    attributes: dict[str, object] = {
        "coefficients": [0.5] * near(rng, features * classes),
        "intercepts": [0.1] * near(rng, classes),
        "classlabels_ints" if rng.random() < 0.6 else "classlabels_strings": list(range(labels)),
    }
    if "classlabels_strings" in attributes:
        attributes["classlabels_strings"] = [f"c{i}" for i in range(labels)]
    attributes |= subset(rng, {"post_transform": POSTS, "multi_class": [0, 1]})
    return case("LinearClassifier", Arg(rows(rng, features), rng.choice((F, D, I64, I32))), attributes, 2)


def linear_regressor(rng: random.Random) -> Case:
    features, targets = rng.choice((0, 1, 2, 3)), rng.choice((1, 1, 2, 3))
    attributes: dict[str, object] = {
        "coefficients": [0.5] * near(rng, features * targets),
        "intercepts": [0.1] * (near(rng, targets) if rng.random() < 0.7 else 0),
    }
    if targets > 1 or rng.random() < 0.5:
        attributes["targets"] = targets
    attributes |= subset(rng, {"post_transform": POSTS}, 0.2)
    return case("LinearRegressor", Arg(rows(rng, features)), attributes)


def zip_map(rng: random.Random) -> Case:
    x = rows(rng, rng.choice((1, 2, 3)))
    count = near(rng, x[-1] if x else 1)
    if rng.random() < 0.5:
        return case("ZipMap", Arg(x), {"classlabels_int64s": list(range(count))})
    return case("ZipMap", Arg(x), {"classlabels_strings": [f"c{i}" for i in range(count)]})


GRIDS = {
    "Scaler": scaler,
    "Normalizer": normalizer,
    "Imputer": imputer,
    "Binarizer": binarizer,
    "OneHotEncoder": one_hot,
    "LinearClassifier": linear_classifier,
    "LinearRegressor": linear_regressor,
    "ZipMap": zip_map,
}


def trees(rng: random.Random) -> Case:
    classify = rng.random() < 0.5
    results = rng.choice((1, 2, 3))
    nodes: list[tuple[int, int, str, int, int]] = []
    for tree in range(rng.choice((1, 1, 2))):
        grow(rng, nodes, tree)
    leaves = [(tree, node) for tree, node, mode, _, _ in nodes if mode == "LEAF"]
    given = [(leaf, rng.randrange(results)) for leaf in leaves for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.1:
        given = broken(rng, given, results)
    if rng.random() < 0.1:
        at = rng.randrange(len(nodes))
        tree, node, mode, left, right = nodes[at]
        nodes[at] = rng.choice([(tree, node, "ODD", left, right), (tree, node + 1, mode, left, right)])
    features = [rng.choice((0, 1, 2)) for _ in nodes]
    prefix = "class" if classify else "target"
    attributes: dict[str, object] = {
        "nodes_treeids": [n[0] for n in nodes],
        "nodes_nodeids": [n[1] for n in nodes],
        "nodes_featureids": features,
        "nodes_modes": [n[2] for n in nodes],
        "nodes_values": [0.5] * near(rng, len(nodes), 0.03),
        "nodes_truenodeids": [n[3] for n in nodes],
        "nodes_falsenodeids": [n[4] for n in nodes],
        f"{prefix}_treeids": [leaf[0] for leaf, _ in given],
        f"{prefix}_nodeids": [leaf[1] for leaf, _ in given],
        f"{prefix}_ids": [number for _, number in given],
        f"{prefix}_weights": [0.5] * len(given),
    }
    attributes |= subset(
        rng,
        {
            "post_transform": (*POSTS, "NONE", "NONE", "SOFTMAX"),
            "base_values": [[0.5] * results, [0.5] * results, [0.5] * (results + 1)],
            "nodes_missing_value_tracks_true": [[0] * len(nodes), [0] * len(nodes), [1]],
        },
        0.25,
    )
    if classify:
        if rng.random() < 0.6:
            attributes["classlabels_int64s"] = list(range(results))
        else:
            attributes["classlabels_strings"] = [f"c{i}" for i in range(results)]
    else:
        attributes["n_targets"] = results
        attributes |= subset(rng, {"aggregate_function": ["SUM", "AVERAGE", "MIN", "MAX", "odd"]}, 0.3)
    x = Arg(rows(rng, rng.choice((3, 3, 3, 4, max(features) + 1, 1))), rng.choice((F, D, I64) if classify else (F, D)))
    name = "TreeEnsembleClassifier" if classify else "TreeEnsembleRegressor"
    return case(name, x, attributes, 2 if classify else 1, opset=rng.choice((1, 3)))


def grow(rng: random.Random, nodes: list[tuple[int, int, str, int, int]], tree: int) -> None:
    """Add a random tree: ids of tree and node, mode, ids of both children."""
    waiting, used = [0], 1
    while waiting:
        node = waiting.pop(0)
        if rng.random() < 0.45 and used < 12:
            mode = rng.choice(("BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_EQ"))
            nodes.append((tree, node, mode, used, used + 1))
            waiting += [used, used + 1]
            used += 2
        else:
            nodes.append((tree, node, "LEAF", 0, 0))


def broken(
    rng: random.Random, given: list[tuple[tuple[int, int], int]], results: int
) -> list[tuple[tuple[int, int], int]]:
    """Results of leaves of which something is wrong."""
    return rng.choice(([], given[:-1], [*given, ((0, 77), 0)], [(given[0][0], results), *given[1:]]))


GRIDS["TreeEnsembleClassifier, TreeEnsembleRegressor"] = trees
