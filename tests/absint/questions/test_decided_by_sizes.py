"""Sizes alone decide: onnxruntime runs a node at some, and refuses it at others, which a check calls illegal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import absint
from absint.questions.sizes.outcomes import Outcome
from tests.models import parsed


class Decided(NamedTuple):
    """A node with sizes at which it runs, and at which it never does."""

    inputs: str
    node: str
    runs: Mapping[str, int]
    fails: Mapping[str, int]
    ends: bool = False
    """It ends the process."""
    data: bool = False
    """Where it runs, data decide too."""


SUPPORT = (
    'kernel_type = "RBF", kernel_params = [0.1, 0.1, 3.0], coefficients = [1.0, 1.0], n_supports = 2, rho = [1.0], '
    "support_vectors = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]"
)
CLASSES = (
    'kernel_type = "LINEAR", kernel_params = [0.1, 0.1, 3.0], coefficients = [1.0, 1.0, 1.0, 1.0], rho = [1.0], '
    "classlabels_ints = [3, 4]"
)
TREE = (
    "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [2, 0, 0], "
    'nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], '
    "nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], "
    "target_weights = [1.0, 2.0], n_targets = 1"
)
FLAT = (
    "n_targets = 1, tree_roots = [0], nodes_featureids = [2], nodes_splits = float[1] {0.5}, "
    "nodes_modes = uint8[1] {0}, nodes_truenodeids = [0], nodes_falsenodeids = [1], nodes_trueleafs = [1], "
    "nodes_falseleafs = [1], leaf_targetids = [0, 0], leaf_weights = float[2] {1.0, 2.0}"
)
ROWS = "float[N, F] x"
ML = "y = ai.onnx.ml."

CASES = {
    "a vector joined with an empty matrix": Decided(
        "float[N] x, float[M, 3] z",
        "q = SequenceConstruct (x, z) y = ConcatFromSequence <axis = 0> (q)",
        {"N": 2, "M": 0},
        {"N": 2, "M": 1},
    ),
    "an empty matrix joined with a vector": Decided(
        "float[M, 3] z, float[N] x",
        "q = SequenceConstruct (z, x) y = ConcatFromSequence <axis = 0> (q)",
        {"N": 2, "M": 0},
        {"N": 0, "M": 0},
    ),
    "Squeeze of an unknown axis": Decided(
        "float[N, 3] x, int64[1] a", "y = Squeeze (x, a)", {"N": 1}, {"N": 2}, data=True
    ),
    "a pool over one axis that would crop": Decided(
        "float[1, 1, H] x",
        'y = MaxPool <kernel_shape = [1], strides = [3], auto_pad = "SAME_UPPER"> (x)',
        {"H": 4},
        {"H": 3},
    ),
    "an index tuple as long as the ranks leave": Decided(
        "float[N, M] x, int64[B, K] i, float[B, D] u",
        "y = ScatterND (x, i, u)",
        {"N": 3, "M": 4, "B": 2, "K": 1, "D": 4},
        {"N": 3, "M": 4, "B": 2, "K": 2, "D": 4},
        data=True,
    ),
    "a bias without elements": Decided(
        "float[N, 4] x, float[4] s, float[B] b", "y = LayerNormalization (x, s, b)", {"N": 2, "B": 4}, {"N": 2, "B": 0}
    ),
    "a mean of nothing": Decided(
        "float[N, D] x, float[1] s", "y = RMSNormalization (x, s)", {"N": 0, "D": 3}, {"N": 2, "D": 0}
    ),
    "CumSum along several axes": Decided(
        "float[N] x, int64[A] a", "y = CumSum (x, a)", {"N": 0, "A": 2}, {"N": 2, "A": 2}, data=True
    ),
    "Trilu at several diagonals": Decided("float[2, 2] x, int64[A] a", "y = Trilu (x, a)", {"A": 1}, {"A": 2}),
    "sums of nothing": Decided(
        "uint32[N, K] x, uint32[K, M] z", "y = MatMul (x, z)", {"N": 0, "K": 0, "M": 2}, {"N": 1, "K": 0, "M": 2}
    ),
    "Mod of nothing": Decided(
        "int64[M] x, float[N] z", "s = Shape (z) y = Mod (x, s)", {"M": 0, "N": 1}, {"M": 0, "N": 0}
    ),
    "ReduceMax of booleans": Decided(
        "bool[N, M] x", "a = Constant <value_ints = [1]> () y = ReduceMax (x, a)", {"N": 0, "M": 0}, {"N": 2, "M": 0}
    ),
    "Unique rows of no elements": Decided(
        "float[N, M] x", "y = Unique <axis = 0> (x)", {"N": 0, "M": 0}, {"N": 2, "M": 0}, ends=True
    ),
    "features of a support vector": Decided(
        ROWS, f"{ML}SVMRegressor <{SUPPORT}> (x)", {"N": 0, "F": 3}, {"N": 0, "F": 4}
    ),
    "features of a plane": Decided(
        ROWS, f"y, s = ai.onnx.ml.SVMClassifier <{CLASSES}> (x)", {"N": 1, "F": 2}, {"N": 1, "F": 3}
    ),
    "a coefficient for each feature": Decided(
        ROWS, f"{ML}LinearRegressor <coefficients = [1.0, 1.0], targets = 1> (x)", {"N": 1, "F": 1}, {"N": 1, "F": 3}
    ),
    "the feature that a tree reads": Decided(
        ROWS, f"{ML}TreeEnsembleRegressor <{TREE}> (x)", {"N": 0, "F": 3}, {"N": 0, "F": 2}
    ),
    "the feature that a flat tree reads": Decided(
        ROWS, f"{ML}TreeEnsemble <{FLAT}> (x)", {"N": 0, "F": 3}, {"N": 0, "F": 2}, data=True
    ),
    "categories of another type": Decided(
        ROWS, f'{ML}OneHotEncoder <cats_strings = ["a"], zeros = 0> (x)', {"N": 1, "F": 0}, {"N": 1, "F": 1}
    ),
    "rows of two vectors of features": Decided(
        f"{ROWS}, float[N, F] z",
        f"{ML}FeatureVectorizer <inputdimensions = [1, 1]> (x, z)",
        {"N": 1, "F": 1},
        {"N": 0, "F": 1},
        ends=True,
    ),
}
TYPES = {1: np.float32, 7: np.int64, 9: np.bool_, 12: np.uint32}


@pytest.mark.parametrize("name", CASES)
def test_sizes_decide(name: str) -> None:
    case = CASES[name]
    version = 5 if case.node.startswith(f"{ML}TreeEnsemble <") else 3
    opset = 23 if "RMSNormalization" in case.node else 20
    model = parsed(f"({case.inputs}) => (float y) {{ {case.node} }}", opset, domains={"ai.onnx.ml": version})
    del model.graph.output[:]
    model.graph.output.add(name="y")
    result = absint.analyze(model, semantics="onnxruntime")
    assert result.check(case.runs).outcome is (Outcome.LEGAL if case.data else Outcome.RUNS)
    assert result.check(case.fails).outcome is Outcome.ILLEGAL
    assert run(model, case.runs) is not None
    if not case.ends:
        with pytest.raises(Exception, match="Non-zero status code"):
            run(model, case.fails)


def run(model: onnx.ModelProto, at: Mapping[str, int]) -> Any:
    """The outputs of a run of the model, whose inputs declare no shape, on zeros."""
    bare, feeds = onnx.ModelProto(), {}
    bare.CopyFrom(model)
    for value in bare.graph.input:
        tensor = value.type.tensor_type
        dims = [at[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        feeds[value.name] = np.zeros(dims, TYPES[tensor.elem_type])
        tensor.ClearField("shape")
    session = ort.InferenceSession(bare.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_a_pool_over_two_axes_behind_a_convolution_may_crop(op: str) -> None:
    """onnxruntime's kernels for channels in blocks take what the plain kernel refuses, so nothing calls it illegal."""
    model = parsed(
        "(float[N, 16, H, H] x) => (float[A, B, C, D] y)"
        "{c = Conv (x, w)"
        f'y = {op} <kernel_shape = [1, 1], strides = [3, 3], auto_pad = "SAME_UPPER"> (c)}}'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((16, 16, 1, 1), np.float32), "w"))
    result = absint.analyze(model, semantics="onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for size in (1, 2, 3, 4):
        session.run(None, {"x": np.ones((1, 16, size, size), np.float32)})
        assert result.check({"N": 1, "H": size}).ok, size
    assert result.check({"N": 1, "H": 3}).outcome is Outcome.LEGAL
    assert result.check({"N": 1, "H": 4}).outcome is Outcome.RUNS
