"""Sizes that data decide are the same where both models find them in the same values, whatever computes these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import absint
from tests.absint.jobs.diffing.models import model

HEAD = """(float[N, M] x, float[1] s) => (int64[] y)
    <int64[1] nil = {0}, int64[1] one = {1}, int64[1] flat = {-1}, bool yes = {1}, float[1] unit = {1}> {"""
FOUND = "f = NonZero(%s)  y = Transpose(f) }"
PLAIN = HEAD + FOUND % "x"


def branches(then: str) -> str:
    return f"""<then_branch = t () => (float[P, Q] a) {{ {then}  a = Neg(p) }},
        else_branch = e () => (float[P, Q] b) {{ b = Abs(x) }}>"""


SAME = {
    "reshaped there and back": (
        PLAIN,
        HEAD + "v = Reshape(x, flat)  shape = Shape(x)  w = Reshape<allowzero=1>(v, shape)" + FOUND % "w",
    ),
    "reshaped by two nodes": (
        HEAD + "v = Reshape(x, flat)" + FOUND % "v",
        HEAD + "u = Unsqueeze(x, nil)  v = Reshape(u, flat)" + FOUND % "v",
    ),
    "turned there and back": (PLAIN, HEAD + "t = Transpose(x)  u = Transpose(t)" + FOUND % "u"),
    "other sizes of an Expand": (
        HEAD + "shape = Shape(x)  e = Expand(s, shape)" + FOUND % "e",
        HEAD + "n = Shape<end=1>(x)  m = Shape<start=1>(x)  to = Concat<axis=0>(n, m)  e = Expand(s, to)" + FOUND % "e",
    ),
    "another end of a Slice": (
        HEAD + "n = Shape<end=1>(x)  e = Slice(x, one, n)" + FOUND % "e",
        HEAD + "r = Relu(x)  m = Shape<end=1>(r)  n = Add(m, nil)  e = Slice(x, one, n)" + FOUND % "e",
    ),
    "a decided branch": (
        HEAD + "p = Relu(x)  a = Neg(p)" + FOUND % "a",
        HEAD + f"a = If(yes) {branches('p = Relu(x)')}" + FOUND % "a",
    ),
    "a branch that calls what it takes by another name": (
        HEAD + f"m = Size(x)  c = Cast<to=9>(m)  a = If(c) {branches('p = Relu(x)')}" + FOUND % "a",
        HEAD + f"m = Size(x)  c = Cast<to=9>(m)  z = Identity(x)  a = If(c) {branches('p = Relu(z)')}" + FOUND % "a",
    ),
    "a factor of 1 behind arithmetic": (
        HEAD + "a = Sqrt(x)  t = Transpose(a)" + FOUND % "t",
        HEAD + "a = Sqrt(x)  t = Transpose(a)  b = Mul(unit, t)  c = Div(b, unit)" + FOUND % "c",
    ),
    "the same found twice": (
        HEAD + "f = NonZero(x)  g = NonZero(x)  h = Concat<axis=1>(f, g)  y = Transpose(h) }",
        HEAD + "f = NonZero(x)  h = Concat<axis=1>(f, f)  y = Transpose(h) }",
    ),
}

NOT_COMPARABLE = {
    "another value": (PLAIN, HEAD + "r = Neg(x)" + FOUND % "r"),
    "a factor of 1 that makes signalling NaNs quiet": (PLAIN, HEAD + "r = Mul(x, unit)" + FOUND % "r"),
    "parts of a Split in another order": (
        "(float[N, 6] x) => (int64[] y) { p, q = Split<axis=1, num_outputs=2>(x)  v = Concat<axis=1>(p, q)"
        + FOUND % "v",
        "(float[N, 6] x) => (int64[] y) { p, q = Split<axis=1, num_outputs=2>(x)  v = Concat<axis=1>(q, p)"
        + FOUND % "v",
    ),
    "parts of other sizes than those that were joined": (
        "(float[2] x, float[4] w) => (int64[] y) { v = Relu(x)" + FOUND % "v",
        "(float[2] x, float[4] w) => (int64[] y) { c = Concat<axis=0>(x, w)  p, q = Split<axis=0, num_outputs=2>(c)"
        "  v = Relu(p)" + FOUND % "v",
    ),
    "the other of two": tuple(
        f"(bool[N] c, float[N] a, float[N] b) => (int64[] y) {{ n = {c}  v = Where(n, a, b)  y = NonZero(v) }}"
        for c in ("Not(c)", "Identity(c)")
    ),
    "a Cast that rounds": (
        "(int64[N] x) => (int64[] y) { f = Relu(x)  y = NonZero(f) }",
        "(int64[N] x) => (int64[] y) { r = Relu(x)  s = Cast<to=1>(r)  f = Cast<to=7>(s)  y = NonZero(f) }",
    ),
    "a reduction of another axis": tuple(
        f"""(float[3, 3] x) => (int64[] y) <int64[1] one = {{1}}, int64[1] axis = {{{axis}}}> {{
            r = ReduceSum<keepdims=0>(x, axis)  u = Unsqueeze(r, one)  f = Sub(x, u)  y = NonZero(f) }}"""
        for axis in (0, 1)
    ),
    "merged axes that are parted in another way": tuple(
        f"""(float[B, 2, 4, 8] x) => (int64[] y) <int64[3] to = {{0, 8, 8}}, int64[4] back = {{0, 8, {back}}}> {{
            m = Reshape(x, to)  t = Transpose<perm=[0, 2, 1]>(m)  v = Reshape(t, back)  w = Reshape(v, to)
            f = Transpose<perm=[0, {perm}]>({read})  y = NonZero(f) }}"""
        for back, perm, read in (("2, 4", "2, 3, 1", "v"), ("4, 2", "2, 3, 1", "v"))
    ),
    "a negative zero": tuple(
        f"""(float[N] x) => (int64[] y) <float half = {{-0.5}}, int64 nil = {{0}}> {{
            c = Ceil(half)  d = Cast<to=1>(nil)  q = Div(x, {by})  r = Relu(q)  y = NonZero(r) }}"""
        for by in ("c", "d")
    ),
    "a part of a sequence": tuple(
        f"""(float[N, 7] x) => (int64[] y) <int64[3] parts = {{3, 0, 4}}, int64 at = {{{at}}}> {{
            s = SplitToSequence<axis=1>(x, parts)  p = SequenceAt(s, at)  y = NonZero(p) }}"""
        for at in (0, 2)
    ),
    "an element of a sequence": tuple(
        f"""(float[N] x, float[N] w) => (int64[] y) <int64 at = {{{at}}}> {{
            s = SequenceConstruct(x, w)  p = SequenceAt(s, at)  y = NonZero(p) }}"""
        for at in (0, 1)
    ),
    "a sequence in another order": tuple(
        f"""(float[N] x, float[M] w) => (int64[] y) <int64 at = {{{at}}}> {{ k = SequenceConstruct(x)
            s = SequenceInsert(k, w, at)  p = ConcatFromSequence<axis=0>(s)  y = NonZero(p) }}"""
        for at in (0, 1)
    ),
    "another part": (
        HEAD + "e = Slice(x, nil, one)" + FOUND % "e",
        HEAD + "n = Shape<end=1>(x)  m = Sub(n, one)  e = Slice(x, m, n)" + FOUND % "e",
    ),
    "another order of elements": (
        HEAD + "shape = Shape(x)  t = Transpose(x)  v = Reshape(t, shape)" + FOUND % "v",
        PLAIN,
    ),
    "drawn anew": (
        HEAD + "r = RandomNormalLike(x)  v = Relu(r)" + FOUND % "v",
        HEAD + "r = RandomNormalLike(x)  v = Relu(r)" + FOUND % "v",
    ),
    "drawn twice": (
        HEAD + "r = RandomNormalLike(x)  u = RandomNormalLike(x)  v = Add(r, u)" + FOUND % "v",
        HEAD + "r = RandomNormalLike(x)  v = Add(r, r)" + FOUND % "v",
    ),
    "other defaults of an input": tuple(
        f"(float[N] x, float[2] w) => (int64[] y) <float[2] w = {{{default}, 0}}> {{ y = NonZero(w) }}"
        for default in (0, 1)
    ),
    "another initialiser of a branch under the name of one outside": tuple(
        f"""(float[N] x, bool c) => (int64[] y) <float[1] w = {{5}}> {{
            z = If(c) <then_branch = t () => (float[P] a) <float[1] w = {{{inner}}}> {{ a = Mul(x, w) }},
                       else_branch = e () => (float[Q] b) {{ b = Abs(x) }}>  y = NonZero(z) }}"""
        for inner in (0, 1)
    ),
    "floats that a Where gives without the sign of their zeros": tuple(
        f"(float[2] x) => (int64[] y) <bool[2] yes = {{1, 1}}> {{ v = {v}  r = Reciprocal(v)  y = NonZero(r) }}"
        for v in ("Where(yes, x, x)", "Identity(x)")
    ),
    "another branch": (
        HEAD + "p = Relu(x)  a = Abs(x)" + FOUND % "a",
        HEAD + f"a = If(yes) {branches('p = Relu(x)')}" + FOUND % "a",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_value_has_the_same_sizes(name: str) -> None:
    first, second = map(model, SAME[name])
    assert absint.diff(first, second, evidence="none").verdict == "same"
    assert absint.diff(second, first, evidence="none").verdict == "same"


@pytest.mark.parametrize("name", NOT_COMPARABLE)
def test_another_value_may_have_others(name: str) -> None:
    first, second = map(model, NOT_COMPARABLE[name])
    assert absint.diff(first, second, evidence="none").outputs.items[0].status == "not comparable"
    assert absint.diff(second, first, evidence="none").outputs.items[0].status == "not comparable"


def test_names_are_no_numbers() -> None:
    """The parts have the names that the numbers of the inputs are, and other sizes."""
    first = model("(float[2] x, float[4] w) => (int64[] y) { v = Relu(w)" + FOUND % "v")
    second = model(
        """(float[2] x, float[4] w) => (int64[] y) <int64[2] parts = {4, 2}> {
        c = Concat<axis=0>(x, w)  p, q = Split<axis=0>(c, parts)  v = Relu(q)"""
        + FOUND % "v"
    )
    second.graph.node[1].output[:] = "0", "1"
    second.graph.node[2].input[:] = ["1"]
    assert absint.diff(first, second, evidence="none").outputs.items[0].status == "not comparable"


def test_versions_of_an_operator_are_told_apart_under_either_name_of_its_domain() -> None:
    """A Softmax of opset 11 divides by another sum."""
    models = []
    for opset in (11, 13):
        found = model("(float[N, M, K] x) => (int64[] y) { s = Softmax(x)  f = Floor(s)  y = NonZero(f) }", opset)
        found.opset_import[0].domain = "ai.onnx"
        models.append(found)
    assert absint.diff(*models, evidence="none").outputs.items[0].status == "not comparable"


def test_a_body_may_have_any_names() -> None:
    """Those under which it takes what stands outside are none of its own."""
    models = []
    for factor in ("w", "q"):
        found = model(f"""(float[N] x, float[N] w, int64 n) => (int64[] y) <bool yes = {{1}}> {{
            z = Loop(n, yes, x) <body = b (int64 i, bool c, float[P] s) => (bool d, float[R] o) {{
                d = Identity(c)  q = Neg(s)  o = Mul(s, {factor}) }}>  y = NonZero(z) }}""")
        for node in found.graph.node[0].attribute[0].g.node:
            for names in (node.input, node.output):
                names[:] = ["#1" if name == "q" else name for name in names]
        models.append(found)
    assert absint.diff(*models, evidence="none").outputs.items[0].status == "not comparable"


def test_a_function_that_has_the_name_of_an_operator_is_none() -> None:
    first = model("(float[N] x) => (int64[] y) { z = Identity(x)  y = NonZero(z) }")
    difference = helper.make_node("Sub", ["a", "a"], ["b"])
    body = helper.make_function("", "Identity", ["a"], ["b"], [difference], first.opset_import)
    second = onnx.ModelProto.FromString(first.SerializeToString())
    second.functions.append(body)
    assert absint.diff(first, second, evidence="none").outputs.items[0].status == "not comparable"


LOOP = """(float[N] x, int64 n) => (int64[] y) <bool yes = {1}> { z = Loop(n, yes, x) <
    body = b (int64 i, bool c, float[P] s) => (bool d, float[R] o) { d = Identity(c)  o = Mul(s, w) }>
    y = NonZero(z) }"""
CALL = "(float[N] x) => (int64[] y) { z = local.f(x)  y = NonZero(z) }"
PRODUCT = "(float[N] x) => (int64[] y) { z = Mul(x, w)  y = NonZero(z) }"


def external(folder: Path, kind: str, number: float) -> str:
    """A model with a weight in a file of one name, wherever it is."""
    folder.mkdir()
    np.array([number], np.float32).tofile(folder / "w.bin")
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    texts = {"body": LOOP, "function": CALL}
    found = model(texts.get(kind, PRODUCT), extra=" " if kind == "function" else "")
    if kind == "initialiser":
        found.graph.initializer.append(weight)
    elif kind == "sparse initialiser":
        sparse = found.graph.sparse_initializer.add(dims=[1], values=weight)
        sparse.indices.CopyFrom(helper.make_tensor("", TensorProto.INT64, [1], [0]))
    elif kind == "body":
        found.graph.node[0].attribute[0].g.initializer.append(weight)
    else:
        nodes = [helper.make_node("Constant", [], ["w"], value=weight), helper.make_node("Mul", ["a", "w"], ["b"])]
        found.functions.append(helper.make_function("local", "f", ["a"], ["b"], nodes, found.opset_import[:1]))
    (folder / "model.onnx").write_bytes(found.SerializeToString())
    return str(folder / "model.onnx")


@pytest.mark.parametrize("kind", ["initialiser", "sparse initialiser", "body", "function"])
def test_weights_in_other_folders_are_others(tmp_path: Path, kind: str) -> None:
    first, second = external(tmp_path / "a", kind, 0), external(tmp_path / "b", kind, 1)
    assert absint.diff(first, second, evidence="none").outputs.items[0].status == "not comparable"
    assert absint.diff(first, first, evidence="none").outputs.items[0].status == "same"


def test_the_answer_says_on_which_numeric_premises_it_rests() -> None:
    """float32 does not hold 2**24 + 1: the models differ there."""
    head = '<ir_version: 9, opset_import: ["": 18]> g (float[N] x) => (float[k] y) { s = Shape(x)'
    end = "e = Constant<value = float {1.0}>() y = Expand(e, t) }"
    first = onnx.parser.parse_model(f"{head} t = Identity(s) {end}")
    second = onnx.parser.parse_model(f"{head} f = Cast<to = 1>(s) t = Cast<to = 7>(f) {end}")
    assert "for all sizes with N <= 16777216 (proved)" in str(absint.diff(first, second))
