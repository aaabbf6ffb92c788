"""What `analyze` shows as required says the same as all requirements of the nodes together, in short relations."""

from __future__ import annotations

from itertools import product

import pytest
from onnx import parser

import absint
from absint import Result
from absint.lattices.logic.relation import Relation, conjunction
from absint.questions.proofs.requirements import required

WINDOWS = """<ir_version: 9, opset_import: ["": 18]> g (float[B, S] x) => (float[] y, float[] z)
    <int64[3] rows = {0, -1, 4}, int64[3] pairs = {0, -1, 2}, int64[1] third = {3}> {
    one = Reshape(x, rows)  two = Reshape(x, pairs)  y = Relu(one)  z = Gather<axis = 1>(x, third)
}"""
ONE_OF = """<ir_version: 9, opset_import: ["": 18]> g (float[N] x, float[7] b) => (float[] y, float[] z)
    <int64[1] last = {6}> { y = Add(x, b)  z = Gather(x, last) }"""
PYRAMID = """<ir_version: 9, opset_import: ["": 18]> g (float[1, 1, T] x, float[1, 1, 1] w) => (float[] y)
    <float[0] none = {}, float[3] scales = {1.0, 1.0, 2.0}> {
    fine = Conv<strides = [2]>(x, w)  coarse = Conv<strides = [2]>(fine, w)
    larger = Resize<mode = "nearest">(coarse, none, scales)  y = Concat<axis = 1>(fine, larger)
}"""
EMPTY = """<ir_version: 10, opset_import: ["": 18]> g (float[N, M] x, float[N, M] z) => (float[] y) {
    n = Shape<start = 0, end = 1>(x)  m = Shape<start = 1, end = 2>(x)  minus = Constant<value_ints = [-1]>()
    to = Concat<axis = 0>(minus, m)  r = Reshape<allowzero = 1>(x, to)  y = Add(r, z)
}"""

JOINED = """<ir_version: 10, opset_import: ["": 18]> g (float[N, 2, A] x, float[N, 2, B] z) => (float[] y, float[] v)
    <int64[1] first = {0}, int64[1] two = {2}> {
    c = Concat<axis = 2>(x, z)  y = Gather<axis = 2>(c, first)  n = Shape<end = 1>(c)  m = Shape<start = 2>(c)
    to = Concat<axis = 0>(n, m, two)  v = Reshape(c, to)
}"""


def as_stated(result: Result) -> Relation:
    analysis = result.rounds.rounds[0].analysis
    stated = [s.relation for node in analysis.applied for s in analysis.statements(node) if s.role == "required"]
    return conjunction(*[r.map(analysis.facts.restored) for r in stated if r.free_symbols <= {*result.symbols}])


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (WINDOWS, ["B >= 1", "S >= 4", "S % 4 == 0"]),
        (ONE_OF, ["N == 7"]),
        (PYRAMID, ["T >= 1", "(T + 1)//2 == 2*((T + 3)//4)"]),
        (EMPTY, []),
        (JOINED, ["A + B >= 1"]),  # the Reshape alone needs this or N == 0
    ],
)
def test_required(model: str, shown: list[str]) -> None:
    result = absint.analyze(parser.parse_model(model))
    found = required(result)
    assert [str(needed.relation) for needed in found] == shown
    stated, together = as_stated(result), conjunction(*[needed.relation for needed in found])
    for sizes in product(range(18), repeat=len(result.symbols)):
        binding = dict(zip(result.symbols, sizes, strict=True))
        assert together.evaluate(binding) == stated.evaluate(binding), binding
