"""Models whose data decide sizes, each with relations between the sizes that hold in every run, and tempting ones that
do not. They were written down before absint could say anything of counts.

Relations are queries: `k[1] + d[1] == N`. Data are drawn from few numbers, NaN among them, so that masks differ.
"""

from __future__ import annotations

from typing import Final

MODELS: Final[dict[str, tuple[str, list[str], list[str]]]] = {
    "complement": (
        "(bool[N] m) => (k, d) { k = NonZero(m) n = Not(m) d = NonZero(n) }",
        ["k[1] + d[1] == N", "k[1] <= N"],
        ["k[1] == d[1]", "k[1] <= d[1]"],
    ),
    "not of not": (
        "(bool[N] m) => (k, d) { k = NonZero(m) n = Not(m) o = Not(n) p = Identity(o) d = NonZero(p) }",
        ["k[1] == d[1]"],
        ["2*k[1] == N"],
    ),
    "threshold of floats": (
        "(float[N] s, float t) => (k, d) { m = Greater(s, t) k = NonZero(m) n = LessOrEqual(s, t) d = NonZero(n) }",
        ["k[1] + d[1] <= N"],
        ["k[1] + d[1] == N"],
    ),
    "threshold of integers": (
        "(int64[N] s, int64 t) => (k, d) { m = Greater(s, t) k = NonZero(m) n = LessOrEqual(s, t) d = NonZero(n) }",
        ["k[1] + d[1] == N"],
        ["k[1] <= d[1]"],
    ),
    "not less is not at least": (
        "(float[N] a, float[N] b) => (k, d, e) { l = Less(a, b) m = Not(l) k = NonZero(m) n = GreaterOrEqual(a, b)"
        " d = NonZero(n) e = NonZero(l) }",
        ["k[1] >= d[1]", "k[1] + e[1] == N", "d[1] + e[1] <= N"],
        ["k[1] == d[1]", "d[1] + e[1] == N"],
    ),
    "nested thresholds": (
        "(float[N] s) => (k, d, e) { t = Constant<value = float {0.5}>() u = Constant<value = float {0.75}>()"
        " m = Greater(s, t) k = NonZero(m) n = Greater(s, u) d = NonZero(n) o = GreaterOrEqual(s, u) e = NonZero(o) }",
        ["d[1] <= e[1]", "e[1] <= k[1]"],
        ["d[1] == e[1]", "k[1] <= d[1]"],
    ),
    "an interval of scores": (
        "(float[N] s) => (k, d, e) { t = Constant<value = float {0.5}>() u = Constant<value = float {1.0}>()"
        " m = Greater(s, t) k = NonZero(m) n = Less(s, u) o = And(m, n) d = NonZero(o) p = GreaterOrEqual(s, u)"
        " e = NonZero(p) }",
        ["k[1] == d[1] + e[1]"],
        ["e[1] <= d[1]"],
    ),
    "detector": (
        "(float[N, 4] boxes, float[N] scores, int64[N] labels) => (b, s, l) { t = Constant<value = float {0.5}>()"
        " u = Constant<value = float {0.5}>() m = Greater(scores, t) n = Greater(scores, u) o = Less(t, scores)"
        " b = Compress<axis = 0>(boxes, m) s = Compress<axis = 0>(scores, n) l = Compress<axis = 0>(labels, o) }",
        ["b[0] == s[0]", "s[0] == l[0]", "b[0] <= N"],
        ["b[0] == N"],
    ),
    "detector by places": (
        "(float[N, 4] boxes, float[N] scores) => (b, s) { t = Constant<value = float {0.5}>() m = Greater(scores, t)"
        " k = NonZero(m) i = Transpose(k) b = GatherND(boxes, i) s = Compress<axis = 0>(scores, m) }",
        ["b[0] == s[0]"],
        ["b[0] == N"],
    ),
    "and": (
        "(bool[N] a, bool[N] b) => (k, d, e) { c = And(a, b) f = And(b, a) k = NonZero(a) d = NonZero(c)"
        " e = NonZero(f) }",
        ["d[1] <= k[1]", "d[1] == e[1]"],
        ["k[1] <= d[1]"],
    ),
    "or and and": (
        "(bool[N] a, bool[N] b) => (k, d, e, f) { c = And(a, b) o = Or(a, b) k = NonZero(a) d = NonZero(b)"
        " e = NonZero(c) f = NonZero(o) }",
        ["e[1] + f[1] == k[1] + d[1]", "k[1] <= f[1]", "e[1] <= d[1]", "f[1] <= k[1] + d[1]"],
        ["f[1] == k[1] + d[1]"],
    ),
    "union bound": (
        "(bool[N] a, bool[N] b) => (k, d, f) { o = Or(a, b) k = NonZero(a) d = NonZero(b) f = NonZero(o) }",
        ["f[1] <= k[1] + d[1]", "k[1] <= f[1]"],
        ["f[1] == k[1] + d[1]"],
    ),
    "xor": (
        "(bool[N] a, bool[N] b) => (k, d, e, f) { c = And(a, b) x = Xor(a, b) k = NonZero(a) d = NonZero(b)"
        " e = NonZero(c) f = NonZero(x) }",
        ["f[1] + 2*e[1] == k[1] + d[1]"],
        ["f[1] + e[1] == k[1] + d[1]"],
    ),
    "equal truth values": (
        "(bool[N] a, bool[N] b) => (k, d) { c = Equal(a, b) x = Xor(a, b) k = NonZero(c) d = NonZero(x) }",
        ["k[1] + d[1] == N"],
        ["k[1] <= d[1]"],
    ),
    "experts by number": (
        "(float[N, 8] x, int64[N] e) => (a, b, c) { p = Constant<value = int64 {0}>() q = Constant<value = int64 {1}>()"
        " r = Constant<value = int64 {2}>() l = Equal(e, p) m = Equal(e, q) n = Equal(e, r)"
        " a = Compress<axis = 0>(x, l) b = Compress<axis = 0>(x, m) c = Compress<axis = 0>(x, n) }",
        ["a[0] + b[0] + c[0] <= N", "a[0] + b[0] <= N"],
        ["a[0] + b[0] + c[0] == N"],
    ),
    "experts by the largest logit": (
        "(float[N, 3] x) => (y) { e = ArgMax<axis = 1, keepdims = 0>(x) p = Constant<value = int64 {0}>()"
        " q = Constant<value = int64 {1}>() r = Constant<value = int64 {2}>() l = Equal(e, p) m = Equal(e, q)"
        " n = Equal(e, r) a = Compress<axis = 0>(x, l) b = Compress<axis = 0>(x, m) c = Compress<axis = 0>(x, n)"
        " y = Concat<axis = 0>(a, b, c) }",
        ["y[0] == N"],
        ["y[0] <= 3"],
    ),
    "experts take two": (
        "(float[N, 4] x) => (a, b) { k = Constant<value = int64[1] {2}>() v, i = TopK<axis = 1>(x, k)"
        " p = Constant<value = int64 {0}>() q = Constant<value = int64 {1}>() l = Equal(i, p) m = Equal(i, q)"
        " a = NonZero(l) b = NonZero(m) }",
        ["a[1] + b[1] <= 2*N"],
        ["a[1] + b[1] <= N"],
    ),
    "partition and join": (
        "(float[N, 8] x, bool[N] m) => (y, z) { n = Not(m) a = Compress<axis = 0>(x, m) b = Compress<axis = 0>(x, n)"
        " y = Concat<axis = 0>(a, b) z = Add(y, x) }",
        ["y[0] == N", "z[0] == N"],
        ["y[0] == 2*N"],
    ),
    "masks joined": (
        "(bool[N] a, bool[M] b) => (k, d, e) { c = Concat<axis = 0>(a, b) k = NonZero(a) d = NonZero(b)"
        " e = NonZero(c) }",
        ["e[1] == k[1] + d[1]"],
        ["k[1] <= d[1]"],
    ),
    "mask split": (
        "(bool[6] m) => (k, d, e) { a, b = Split<axis = 0, num_outputs = 2>(m) k = NonZero(a) d = NonZero(b)"
        " e = NonZero(m) }",
        ["e[1] == k[1] + d[1]", "k[1] <= 3"],
        ["k[1] <= d[1]"],
    ),
    "mask cut": (
        "(bool[N] m) => (k, d) { f = Constant<value = int64[1] {1}>() t = Constant<value = int64[1] {4}>()"
        " a = Slice(m, f, t) k = NonZero(a) d = NonZero(m) }",
        ["k[1] <= d[1]", "k[1] <= 3"],
        ["d[1] <= k[1]"],
    ),
    "other forms of a mask": (
        "(bool[N, M] m) => (k, d, e, f) { i = Cast<to = 7>(m) k = NonZero(m) d = NonZero(i) t = Transpose(m)"
        " e = NonZero(t) s = Constant<value = int64[1] {-1}>() r = Reshape(i, s) f = NonZero(r) }",
        ["k[1] == d[1]", "k[1] == e[1]", "k[1] == f[1]", "k[1] <= N*M"],
        ["k[1] <= N"],
    ),
    "floats as truth values": (
        "(float[N] x) => (k, d, e) { b = Cast<to = 9>(x) i = Cast<to = 7>(x) k = NonZero(x) d = NonZero(b)"
        " e = NonZero(i) }",
        ["k[1] == d[1]"],
        ["k[1] == e[1]", "e[1] == d[1]"],
    ),
    "zeros of integers": (
        "(int64[B, S] mask) => (k, d) { z = Constant<value = int64 {0}>() p = Equal(mask, z) k = NonZero(mask)"
        " d = NonZero(p) }",
        ["k[1] + d[1] == B*S"],
        ["k[1] <= d[1]"],
    ),
    "packing": (
        "(float[B, S, 16] h, int64[B, S] mask) => (p, r) { b = Cast<to = 9>(mask) k = NonZero(b) i = Transpose(k)"
        " p = GatherND(h, i) n = Not(b) l = NonZero(n) j = Transpose(l) q = GatherND(h, j)"
        " r = Concat<axis = 0>(p, q) }",
        ["p[0] <= B*S", "r[0] == B*S"],
        ["p[0] == B*S"],
    ),
    "broadcast masks": (
        "(bool[N, 1] a, bool[1, M] b) => (k, d) { c = And(a, b) k = NonZero(c) d = NonZero(a) }",
        ["k[1] <= N*M", "k[1] <= d[1]*M"],
        ["k[1] <= d[1]"],
    ),
    "a mask repeated": (
        "(bool[N, 1] a) => (k, d) { s = Constant<value = int64[2] {1, 3}>() c = Expand(a, s) k = NonZero(c)"
        " d = NonZero(a) }",
        ["k[1] == 3*d[1]"],
        ["k[1] == d[1]"],
    ),
    "unique": (
        "(int64[N] x) => (a, b) { a = Unique(x) b, i, v, c = Unique(x) }",
        ["a[0] == b[0]", "a[0] <= N", "c[0] == a[0]", "v[0] == N"],
        ["a[0] == N"],
    ),
    "unique along axes": (
        "(int64[4, 2] x) => (a, b) { a = Unique<axis = 0>(x) b = Unique<axis = 1>(x) }",
        ["a[0] <= 4", "b[1] <= 2"],
        ["a[0] == b[1]"],
    ),
    "boxes that survive": (
        "(float[1, N, 4] boxes, float[1, C, N] scores) => (a, b) { t = Constant<value = int64[1] {5}>()"
        " a = NonMaxSuppression(boxes, scores, t) b = NonMaxSuppression(boxes, scores, t) }",
        ["a[0] == b[0]", "a[0] <= C*N", "a[0] <= 5*C"],
        ["a[0] == C*N"],
    ),
    "random masks": (
        "(float[N] x) => (k, d, e) { t = Constant<value = float {0.5}>() u = RandomUniformLike(x)"
        " v = RandomUniformLike(x) m = Greater(u, t) n = Greater(v, t) o = Greater(u, t) k = NonZero(m) d = NonZero(n)"
        " e = NonZero(o) }",
        ["k[1] == e[1]"],
        ["k[1] == d[1]"],
    ),
    "branches": (
        "(bool[N] m, bool c) => (y, k) { k = NonZero(m) y = If(c) <then_branch = t () => (float[A, B] p)"
        " { i = NonZero(m) p = Cast<to = 1>(i) }, else_branch = e () => (float[A, B] q) { n = Not(m) i = NonZero(n)"
        " q = Cast<to = 1>(i) }> }",
        ["y[1] <= N"],
        ["y[1] == k[1]", "y[1] + k[1] == N"],
    ),
    "one mask in a branch": (
        "(bool[N] m, bool c) => (y, k) { k = NonZero(m) y = If(c) <then_branch = t () => (int64[A, B] p)"
        " { p = NonZero(m) }, else_branch = e () => (int64[A, B] q) { q = Identity(k) }> }",
        ["y[1] == k[1]"],
        ["y[1] == N"],
    ),
    "trips of a loop": (
        "(int64[N] x, int64 trips) => (y, k) { z = Constant<value = int64 {0}>() m = Greater(x, z)"
        " k = Compress<axis = 0>(x, m) y = Loop(trips, , k) <body = b (int64 i, bool c, int64[A] v) =>"
        " (bool d, int64[B] w) { d = Identity(c) n = Greater(x, i) w = Compress<axis = 0>(x, n) }> }",
        ["y[0] <= N"],
        ["y[0] == k[0]"],
    ),
    "a choice of masks": (
        "(bool[N] c, bool[N] a, bool[N] b) => (k, d, e) { i = Cast<to = 7>(a) j = Cast<to = 7>(b) w = Where(c, i, j)"
        " p = And(c, a) n = Not(c) q = And(n, b)"
        " k = NonZero(w) d = NonZero(p) e = NonZero(q) }",
        ["k[1] == d[1] + e[1]"],
        ["d[1] == e[1]"],
    ),
    "a scalar": (
        "(bool m) => (k, d) { k = NonZero(m) n = Not(m) d = NonZero(n) }",
        ["k[1] + d[1] == 1"],
        ["k[1] == 1"],
    ),
    "conditions of another length": (
        "(float[N] x, bool[M] c) => (a, b, k) { a = Compress<axis = 0>(x, c) y = Neg(x) b = Compress<axis = 0>(y, c)"
        " k = NonZero(c) }",
        ["a[0] == b[0]", "a[0] <= N"],
        ["a[0] == k[1]", "k[1] <= N"],
    ),
    "a constant mask": (
        "(float[5] x, bool[5] m) => (y, k) { c = Constant<value = bool[5] {1, 0, 1, 1, 0}>()"
        " y = Compress<axis = 0>(x, c) o = And(m, c) k = NonZero(o) }",
        ["y[0] == 3", "k[1] <= 3"],
        ["k[1] == 3"],
    ),
    "a function for both": (
        "(float[N] a, float[N] s, float t) => (y, z) { y = my.kept(a, s, t) b = Neg(a) z = my.kept(b, s, t) }\n"
        '<domain: "my", opset_import: ["" : 18]> kept (a, s, t) => (y) { m = Greater(s, t)'
        " y = Compress<axis = 0>(a, m) }",
        ["y[0] == z[0]"],
        ["y[0] == N"],
    ),
    "three classes": (
        "(float[N] s) => (a, b, c, y) { t = Constant<value = float {0.0}>() l = Less(s, t) e = Equal(s, t)"
        " m = Or(l, e) n = Not(m) a = Compress<axis = 0>(s, l) b = Compress<axis = 0>(s, e)"
        " c = Compress<axis = 0>(s, n) y = Concat<axis = 0>(a, b, c) }",
        ["y[0] == N", "a[0] + b[0] <= N"],
        ["a[0] == b[0]"],
    ),
    "masks multiplied": (
        "(bool[N] a, bool[N] b) => (k, d, e) { p = Cast<to = 7>(a) q = Cast<to = 7>(b) r = Mul(p, q) c = And(a, b)"
        " k = NonZero(r) d = NonZero(c) e = NonZero(a) }",
        ["k[1] == d[1]", "k[1] <= e[1]"],
        ["k[1] == e[1]"],
    ),
    "products that wrap": (
        "(int8[N] a, int8[N] b) => (k, d) { s = Mul(a, b) r = Cast<to = 7>(s) p = Cast<to = 9>(a) q = Cast<to = 9>(b)"
        " c = And(p, q) k = NonZero(r) d = NonZero(c) }",
        ["k[1] <= N"],
        ["k[1] == d[1]"],
    ),
}
"""By name: the text, relations that hold in every run, and relations that some run refutes."""
