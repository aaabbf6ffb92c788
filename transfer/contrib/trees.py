"""Ensembles of decision trees in attributes: forms that onnxruntime accepts, and the features that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.logic.relation import FALSE, ge
from absint.transfer.caveats import known_text
from absint.transfer.op import Op

_MODES: Final = frozenset({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"})
_NODES: Final = (
    "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids",
    "nodes_falsenodeids",
)  # fmt: skip
_OPTIONAL: Final = ("nodes_hitrates", "nodes_missing_value_tracks_true")

Key = tuple[object, object]
"""The ids of a tree and of a node in it."""


def may_refuse_trees(op: Op, leaves: str, results: int) -> None:
    """State when onnxruntime may refuse the ensemble.

    Its leaves, in the attributes that begin with `leaves`, each give one or more of `results` results.
    """
    known_text(op, "post_transform", ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"))
    known_text(op, "aggregate_function", ("SUM", "AVERAGE", "MIN", "MAX"))
    if any(name.endswith("_as_tensor") for name in op.attributes):
        op.may_fail("the tensors of the ensemble must fit its nodes")
    if len(_list(op, "base_values")) not in (0, results):
        op.may_fail("each result must have a base value")
    last = _last_feature(op, leaves, results)
    if last is None:
        op.may_fail("the nodes of the ensemble must form trees, and each leaf must have a result")
        return
    shape = op.tensor("X").shape
    if shape.rank != 2:
        op.may_fail("onnxruntime needs rows of features")
    fits = FALSE if shape.rank != 2 else ge(shape[1], last + 1)
    op.may_fail(f"X must have the feature {last} that a tree reads", unless=fits)


def _list(op: Op, name: str) -> Sequence[object]:
    value = op.attributes.get(name)
    return value if isinstance(value, (list, tuple)) else ()


def _last_feature(op: Op, leaves: str, results: int) -> int | None:
    """The highest feature that a branch reads, -1 without any; None if the nodes form no trees or a leaf is wrong."""
    trees, ids, features, values, modes, yes, no = (_list(op, name) for name in _NODES)
    count = len(trees)
    optional = (len(_list(op, name)) for name in _OPTIONAL)
    if not count or any(len(part) != count for part in (ids, features, values, modes, yes, no)):
        return None
    if any(size not in (0, count) for size in optional) or not _MODES.issuperset(modes):
        return None
    keys: list[Key] = list(zip(trees, ids, strict=True))
    children = {
        key: () if mode == "LEAF" else ((key[0], left), (key[0], right))
        for key, mode, left, right in zip(keys, modes, yes, no, strict=True)
    }
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
    trees, nodes, ids, weights = (_list(op, f"{leaves}_{part}") for part in ("treeids", "nodeids", "ids", "weights"))
    if not len(trees) == len(nodes) == len(ids) == len(weights):
        return False
    in_range = all(isinstance(number, int) and 0 <= number < results for number in {*ids})
    return in_range and set(zip(trees, nodes, strict=True)) == known


__all__ = ["may_refuse_trees"]
