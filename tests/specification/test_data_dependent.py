"""Sizes that hang on data are within the bounds that are specified, in runs on random data."""

from __future__ import annotations

import numpy as np
import onnx.helper
import onnxruntime as ort
import pytest

from absint.research.specification.data_dependent import bounded, operators
from absint.research.specification.node import Input, Node, Output
from absint.research.specification.specs import specification
from absint.research.specification.terms import term

CASES: list[tuple[str, list[tuple[tuple[int, ...], type]], dict[str, int]]] = [
    *[("NonZero", [(shape, np.int64)], {}) for shape in ((3,), (2, 3), (0, 2), (2, 1, 4))],
    *[("Compress", [(shape, np.int64), ((2,), bool)], {"axis": 1}) for shape in ((3, 2), (3, 4), (0, 3))],
    *[("Compress", [(shape, np.int64), ((3,), bool)], {}) for shape in ((3, 2), (3,), (1, 1, 3))],
    ("Compress", [((4, 3), np.int64), ((2,), bool)], {"axis": -2}),
    *[
        ("NonMaxSuppression", [((b, n, 4), np.float32), ((b, c, n), np.float32), ((1,), np.int64)], {})
        for b, c, n in ((1, 1, 3), (2, 3, 5), (1, 2, 1))
    ],
]


def test_every_operator_has_a_case_and_no_exact_specification() -> None:
    assert {case[0] for case in CASES} == set(operators())
    assert all(specification("", operator, 18) is None for operator in operators())
    assert bounded("my", "NonZero") is None


@pytest.mark.parametrize(("operator", "inputs", "attributes"), CASES)
def test_runs_are_within_the_bounds(
    operator: str, inputs: list[tuple[tuple[int, ...], type]], attributes: dict[str, int]
) -> None:
    function = bounded("", operator)
    assert function is not None
    given = [Input(tuple(map(term, shape))) for shape, _ in inputs]
    found = function(Node(operator, 13, given, attributes))
    assert isinstance(found, Output)
    sizes = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        feeds = {f"x{at}": rng.integers(0, 3, shape).astype(dtype) for at, (shape, dtype) in enumerate(inputs)}
        shape = run(operator, feeds, attributes).shape
        assert len(shape) == len(found.dims)
        assert all(dim.condition(term(size)).holds({}) for dim, size in zip(found.dims, shape, strict=True))
        sizes.add(shape)
    assert len(sizes) > 1 or any(0 in shape for shape, _ in inputs)


def test_nothing_is_said_of_a_scalar() -> None:
    function = bounded("", "NonZero")
    assert function is not None
    with pytest.raises(LookupError, match="runtimes differ on a scalar"):
        function(Node("NonZero", 13, [Input(())]))


def run(operator: str, feeds: dict[str, np.ndarray], attributes: dict[str, int]) -> np.ndarray:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(operator, list(feeds), ["y"], **attributes)],
        "g",
        [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in feeds.items()
        ],
        [onnx.helper.make_empty_tensor_value_info("y")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, feeds)
    assert isinstance(found, np.ndarray)
    return found
