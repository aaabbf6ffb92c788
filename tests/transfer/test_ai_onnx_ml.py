"""The ai.onnx.ml domain, executed by onnxruntime."""

from __future__ import annotations

from functools import partial
from time import process_time

import pytest
from onnx import TensorProto, helper

from absint.lattices.dtype import DType
from absint.lattices.shape import SCALAR, Shape
from absint.lattices.value import MapOf, Tensor
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.semantics import RUNTIME
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

ML = partial(Case, domain="ai.onnx.ml", opset=1)
I64, STRING, F64 = TensorProto.INT64, TensorProto.STRING, TensorProto.DOUBLE
X3, ROW, ROWS = Arg(["N", 3]), Arg([3]), sizes(N=[0, 1, 4])
TREE = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}
CLASSES = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1], "class_weights": [1.0, 1.0]}
TARGETS = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 1], "target_weights": [1.0, 1.0]}
SVM = {"support_vectors": [1.0] * 6, "kernel_type": "RBF", "kernel_params": [0.1, 0.1, 3.0], "coefficients": [1.0] * 2}


def linear(classes: int, **labels: object) -> dict[str, object]:
    return {"coefficients": [0.1] * 3 * classes, "intercepts": [0.5] * classes, **labels}


def svm(classes: int, **more: object) -> dict[str, object]:
    pairs = classes * (classes - 1) // 2
    return {
        **SVM,
        "support_vectors": [1.0] * 3 * classes,
        "coefficients": [1.0] * classes * (classes - 1),
        "vectors_per_class": [1] * classes,
        "rho": [1.0] * pairs,
        "classlabels_ints": list(range(classes)),
        **({"prob_a": [1.0] * pairs, "prob_b": [1.0] * pairs} if more.pop("prob", False) else {}),
    }


def planes(classes: int) -> dict[str, object]:
    """No support vectors, but a plane for each class."""
    labels = list(range(classes))
    return {**SVM, "coefficients": [1.0] * 3 * classes, "rho": [0.5] * classes, "classlabels_ints": labels}


def tree_ensemble() -> dict[str, object]:
    return {
        "n_targets": 2,
        "tree_roots": [0],
        "nodes_featureids": [0],
        "nodes_splits": helper.make_tensor("s", TensorProto.FLOAT, [1], [0.5]),
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [0]),
        "nodes_truenodeids": [0],
        "nodes_falsenodeids": [1],
        "nodes_trueleafs": [1],
        "nodes_falseleafs": [1],
        "leaf_targetids": [0, 1],
        "leaf_weights": helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
    }


CASES = [
    ML("Scaler", [X3], {"offset": [0.1] * 3, "scale": [0.1] * 3}, bindings=ROWS, expect=["[N, 3]"]),
    ML(
        "Scaler",
        [Arg(["N", "M"], I64)],
        {"offset": [0.1], "scale": [0.1]},
        bindings=sizes(N=[0, 2], M=[1, 3]),
        expect=["[N, M]"],
    ),
    ML("Normalizer", [X3], {"norm": "L2"}, bindings=ROWS, expect=["[N, 3]"]),
    ML("Normalizer", [Arg(["N"], I64)], {"norm": "L1"}, bindings=ROWS, expect=["[N]"]),
    ML("Imputer", [X3], {"imputed_value_floats": [0.1], "replaced_value_float": 1.0}, bindings=ROWS, expect=["[N, 3]"]),
    ML(
        "Imputer",
        [Arg(["N"], I64)],
        {"imputed_value_int64s": [1], "replaced_value_int64": 1},
        bindings=ROWS,
        expect=["[N]"],
    ),
    ML("Binarizer", [Arg([])], {"threshold": 0.5}, expect=["[]"]),
    ML(
        "OneHotEncoder",
        [Arg(["N", 2], I64)],
        {"cats_int64s": [1, 2, 3], "zeros": 1},
        bindings=ROWS,
        expect=["[N, 2, 3]"],
    ),
    ML(
        "OneHotEncoder",
        [Arg(["N"], STRING)],
        {"cats_strings": ["x", "ab"], "zeros": 0},
        bindings=ROWS,
        expect=["[N, 2]"],
    ),
    ML("OneHotEncoder", [Arg([], I64)], {"cats_int64s": [1]}, expect=["[1]"]),
    ML("LabelEncoder", [Arg(["N"], STRING)], {"classes_strings": ["x", "ab"]}, bindings=ROWS, expect=["[N]"]),
    ML(
        "LabelEncoder",
        [Arg(["N"], I64)],
        {"keys_int64s": [1], "values_strings": ["a"]},
        opset=2,
        bindings=ROWS,
        expect=["[N]"],
    ),
    ML(
        "LabelEncoder",
        [Arg(["N"], STRING)],
        {"keys_strings": ["a"], "values_floats": [1.0]},
        opset=2,
        bindings=ROWS,
        expect=["[N]"],
    ),
    ML(
        "LabelEncoder",
        [Arg(["N"], STRING)],
        {"keys_strings": ["a"], "values_tensor": helper.make_tensor("t", TensorProto.INT16, [1], [3])},
        opset=4,
        bindings=ROWS,
        expect=["[N]"],
    ),
    ML(
        "CategoryMapper",
        [Arg(["N"], STRING)],
        {"cats_strings": ["a"], "cats_int64s": [1]},
        bindings=ROWS,
        expect=["[N]"],
    ),
    ML("CategoryMapper", [Arg(["N"], I64)], {"cats_strings": ["a"], "cats_int64s": [1]}, bindings=ROWS, expect=["[N]"]),
    ML(
        "LinearClassifier",
        [X3],
        linear(3, classlabels_ints=[0, 1, 2]),
        outputs=2,
        bindings=ROWS,
        expect=["[N]", "[N, 3]"],
    ),
    ML(
        "LinearClassifier", [X3], linear(1, classlabels_ints=[0, 1]), outputs=2, bindings=ROWS, expect=["[N]", "[N, 2]"]
    ),
    ML("LinearClassifier", [X3], linear(1), outputs=2, bindings=ROWS, expect=["[N]", "[N, 1]"]),
    ML("LinearClassifier", [ROW], linear(2, classlabels_strings=["a", "b"]), outputs=2, expect=["[1]", "[1, 2]"]),
    ML(
        "LinearClassifier",
        [Arg(["N", 3], unknown_rank=True)],
        linear(2, classlabels_ints=[0, 1]),
        outputs=2,
        bindings=ROWS,
        expect=["[?]", "[?, 2]"],
    ),
    ML(
        "LinearRegressor",
        [X3],
        {"coefficients": [0.1] * 6, "intercepts": [0.1] * 2, "targets": 2},
        bindings=ROWS,
        expect=["[N, 2]"],
    ),
    ML("LinearRegressor", [ROW], {"coefficients": [0.1] * 3}, expect=["[1, 1]"]),
    ML(
        "TreeEnsembleClassifier",
        [X3],
        {**TREE, **CLASSES, "classlabels_int64s": [0, 1, 2]},
        outputs=2,
        bindings=ROWS,
        expect=["[N]", "[N, 3]"],
    ),
    ML(
        "TreeEnsembleClassifier",
        [ROW],
        {**TREE, **CLASSES, "class_ids": [0, 0], "classlabels_strings": ["a", "b"]},
        outputs=2,
        expect=["[1]", "[1, 2]"],
    ),
    ML(
        "TreeEnsembleClassifier",
        [X3],
        {**TREE, **CLASSES, "class_ids": [0, 0], "classlabels_int64s": [7]},
        outputs=2,
        bindings=ROWS,
        expect=["[N]", "[N, 1]"],
    ),
    ML(
        "TreeEnsembleClassifier",
        [Arg(["N", 3], F64)],
        {**TREE, **CLASSES, "classlabels_int64s": [0, 1, 2]},
        outputs=2,
        opset=3,
        bindings=ROWS,
        expect=["[N]", "[N, 3]"],
    ),
    *(
        ML("TreeEnsembleRegressor", [x], {**TREE, **TARGETS, "n_targets": 2}, bindings=ROWS, expect=["[N, 2]"])
        for x in (X3, Arg(["N", 1]))
    ),
    ML(
        "TreeEnsembleRegressor",
        [Arg(["N", 3], F64)],
        {**TREE, **TARGETS, "n_targets": 2},
        opset=3,
        bindings=ROWS,
        expect=["[N, 2]"],
    ),
    ML("TreeEnsemble", [X3], tree_ensemble(), opset=5, bindings=ROWS, expect=["[N, 2]"]),
    ML("SVMRegressor", [X3], {**SVM, "n_supports": 2, "rho": [1.0]}, bindings=ROWS, expect=["[N, 1]"]),
    *(
        ML("SVMClassifier", [X3], svm(classes, prob=prob), outputs=2, bindings=ROWS, expect=["[N]", f"[N, {scores}]"])
        for classes, prob, scores in [(2, False, 2), (2, True, 2), (3, False, 3), (4, False, 6), (4, True, 4)]
    ),
    *(
        ML("SVMClassifier", [X3], {**planes(4), **more}, outputs=2, bindings=ROWS, expect=["[N]", "[N, 4]"])
        for more in ({}, {"vectors_per_class": [0] * 4})
    ),
    ML("SVMClassifier", [X3], planes(1), outputs=2, bindings=ROWS, expect=["[N]", "[N, 1]"]),
    ML(
        "ArrayFeatureExtractor",
        [Arg(["N", 3]), Arg(["K"], I64, high=3)],
        bindings=sizes(N=[0, 2], K=[0, 1, 5]),
        expect=["[N, K]"],
    ),
    ML("ArrayFeatureExtractor", [ROW, Arg(["K", 2], I64, high=3)], bindings=sizes(K=[1, 5]), expect=["[1, 2*K]"]),
    ML(
        "FeatureVectorizer",
        [X3, Arg(["M", 1])],
        {"inputdimensions": [3, 1]},
        bindings=sizes(N=[1, 2], M=[1, 2]),
        expect=["[M, 4]"],
    ),
    ML("FeatureVectorizer", [ROW], {"inputdimensions": [3]}, expect=["[1, 3]"]),
    ML(
        "ZipMap",
        [X3],
        {"classlabels_int64s": [0, 1, 2]},
        bindings=ROWS,
        expect=["Sequence(Map(INT64 -> Tensor(FLOAT[])) x N)"],
    ),
    ML("ZipMap", [Arg(["N", "C"])], {"classlabels_strings": ["a", "b"]}, bindings=sizes(N=[1, 2], C=[1, 2])),
    ML("ZipMap", [ROW], {"classlabels_int64s": [0, 1, 2]}, expect=["Sequence(Map(INT64 -> Tensor(FLOAT[])) x 1)"]),
]


@pytest.mark.parametrize("case", [c for c in CASES if c.op != "ZipMap"], ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


@pytest.mark.parametrize("case", [c for c in CASES if c.op == "ZipMap"], ids=str)
def test_maps(case: Case) -> None:
    """The harness knows no maps: the length of the sequence is checked here."""
    from tests.transfer.harness import check_dim, execute

    applied = apply_case(case)
    (value,) = applied.outputs
    assert case.expect is None or str(value) == case.expect[0]
    for binding in case.bindings:
        outputs, _ = execute(case, binding, 0)
        broken = [s for s in applied.statements if not s.relation.evaluate(binding)]
        assert (outputs is None) == bool(broken)
        if outputs is not None:
            check_dim(str(case), value.length, len(outputs[0]), binding)  # type: ignore[attr-defined]


REJECTED = [
    ML("LinearClassifier", [Arg([2, 4, 3])], linear(2, classlabels_ints=[0, 1]), outputs=2),
    ML("LinearRegressor", [Arg([])], {"coefficients": [0.1] * 3}),
    ML("ArrayFeatureExtractor", [Arg([]), Arg([1], I64, high=1)]),
    ML("ArrayFeatureExtractor", [X3, Arg([0], I64, high=1)], bindings=ROWS),
    ML("ZipMap", [Arg(["N", 2])], {"classlabels_int64s": [0, 1, 2]}, bindings=ROWS),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


@pytest.mark.parametrize(
    ("name", "attributes", "expect"),
    [
        ("DictVectorizer", {"string_vocabulary": ["a", "b"]}, "Tensor(FLOAT[1, 2])"),
        ("CastMap", {"cast_to": "TO_INT64"}, "Tensor(INT64[1, ?])"),
        ("CastMap", {"map_form": "SPARSE", "max_map": 5}, "Tensor(FLOAT[1, 5])"),
    ],
)
def test_inputs_that_are_maps(name: str, attributes: dict[str, object], expect: str) -> None:
    rule = shipped().lookup("ai.onnx.ml", name, 1)
    assert rule is not None
    value = MapOf(DType.STRING, Tensor(DType.FLOAT, SCALAR))
    assert str(apply(rule, Op(rule, [value], attributes, version=1)).outputs[0]) == expect


@pytest.mark.parametrize(
    ("name", "attributes", "doubts", "rejected"),
    [
        ("DictVectorizer", {"string_vocabulary": ["a"]}, 0, False),
        ("DictVectorizer", {"int64_vocabulary": [1]}, 0, True),
        ("CastMap", {"cast_to": "TO_INT64"}, 0, False),
        ("CastMap", {"cast_to": "TO_BOOL"}, 0, True),
        ("CastMap", {"map_form": "SPARSE", "max_map": 0}, 0, True),
        ("CastMap", {"map_form": "SPARSE"}, 1, False),
    ],
)
def test_what_onnxruntime_needs_of_maps(name: str, attributes: dict[str, object], doubts: int, rejected: bool) -> None:
    rule = shipped().lookup("ai.onnx.ml", name, 1)
    assert rule is not None
    value = MapOf(DType.STRING, Tensor(DType.FLOAT, SCALAR))
    found = apply(rule, Op(rule, [value], attributes, version=1, semantics=RUNTIME))
    assert (len(found.doubts), found.rejected is not None) == (doubts, rejected)


def test_a_large_tree_takes_time_in_its_nodes() -> None:
    branches = 15_000
    modes = ["BRANCH_LEQ"] * branches + ["LEAF"] * (branches + 1)
    nodes = range(len(modes))
    leaves = [node for node in nodes if modes[node] == "LEAF"]
    tree = {
        "nodes_treeids": [0] * len(modes),
        "nodes_nodeids": list(nodes),
        "nodes_featureids": [2] * len(modes),
        "nodes_modes": modes,
        "nodes_values": [0.5] * len(modes),
        "nodes_truenodeids": [2 * node + 1 if node < branches else 0 for node in nodes],
        "nodes_falsenodeids": [2 * node + 2 if node < branches else 0 for node in nodes],
        "target_treeids": [0] * len(leaves),
        "target_nodeids": leaves,
        "target_ids": [0] * len(leaves),
        "target_weights": [1.0] * len(leaves),
        "n_targets": 1,
    }
    rule = shipped().lookup("ai.onnx.ml", "TreeEnsembleRegressor", 1)
    assert rule is not None
    start = process_time()
    result = apply(rule, Op(rule, [Tensor(DType.FLOAT, Shape(["N", "M"]))], tree, version=1))
    assert process_time() - start < 2
    assert [str(statement.relation) for statement in result.statements] == ["M >= 3"]
