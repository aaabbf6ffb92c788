"""Sizes that data decide are the same where both models find them in the same values, whatever computes these."""

from __future__ import annotations

import pytest

import absint
from tests.absint.jobs.diffing.models import model

HEAD = """(float[N, M] x, float[1] s) => (int64[] y)
    <int64[1] nil = {0}, int64[1] one = {1}, int64[1] flat = {-1}, bool yes = {1}> {"""
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
    "the same found twice": (
        HEAD + "f = NonZero(x)  g = NonZero(x)  h = Concat<axis=1>(f, g)  y = Transpose(h) }",
        HEAD + "f = NonZero(x)  h = Concat<axis=1>(f, f)  y = Transpose(h) }",
    ),
}

NOT_COMPARABLE = {
    "another value": (PLAIN, HEAD + "r = Neg(x)" + FOUND % "r"),
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
