"""More models whose data decide sizes, as applications have them: detectors, experts, NMS, beam search, packing, loops.

Their relations were written down before absint was asked; see `models`.
"""

from __future__ import annotations

from typing import Final

_HALF: Final = "t = Constant<value = float {0.5}>()"
_ZERO: Final = "zero = Constant<value = int64[1] {0}>()"
_NUMBERS: Final = "".join(f"n{n} = Constant<value = int64 {{{n}}}>() " for n in range(4))
_STEP: Final = "(int64 i, bool go, float[A, 4] v) => (bool on, float[C, 4] w)"

APPLICATIONS: Final[dict[str, tuple[str, list[str], list[str]]]] = {
    "boxes and scores after NMS": (
        "(float[1, N, 4] boxes, float[1, 1, N] scores) => (n, b, s) { m = Constant<value = int64[1] {5}>()"
        " n = NonMaxSuppression(boxes, scores, m) c = Constant<value = int64 {2}>() i = Gather<axis = 1>(n, c)"
        f" {_ZERO} p = Squeeze(boxes, zero) b = Gather<axis = 0>(p, i) o = Constant<value = int64[2] {{0, 1}}>()"
        " q = Squeeze(scores, o) s = Gather<axis = 0>(q, i) }",
        ["b[0] == s[0]", "b[0] == n[0]", "b[0] <= 5", "b[0] <= N"],
        ["b[0] == 5", "b[0] == N"],
    ),
    "a threshold before NMS": (
        f"(float[N, 4] boxes, float[N] scores) => (b, s, n) {{ {_HALF} {_ZERO} k = Greater(scores, t)"
        " b = Compress<axis = 0>(boxes, k) s = Compress<axis = 0>(scores, k) p = Unsqueeze(b, zero)"
        " o = Constant<value = int64[2] {0, 1}>() q = Unsqueeze(s, o) m = Constant<value = int64[1] {100}>()"
        " n = NonMaxSuppression(p, q, m) }",
        ["b[0] == s[0]", "n[0] <= b[0]", "n[0] <= N"],
        ["n[0] == b[0]"],
    ),
    "two classes": (
        f"(float[N, 2] scores) => (a, b, u, y) {{ {_HALF} p, q = Split<axis = 1, num_outputs = 2>(scores)"
        " l = Greater(p, t) m = Greater(q, t) o = Or(l, m) a = NonZero(l) b = NonZero(m) u = NonZero(o)"
        " y = Concat<axis = 1>(a, b) }",
        ["y[1] == a[1] + b[1]", "y[1] <= 2*N", "u[1] <= y[1]", "a[1] <= u[1]"],
        ["y[1] <= N", "u[1] == y[1]"],
    ),
    "levels of a pyramid": (
        f"(float[N] x, float[M] y, float[L] z) => (a, b, c, d) {{ {_HALF} s = Concat<axis = 0>(x, y, z)"
        " m = Greater(s, t) d = NonZero(m) p = Greater(x, t) a = NonZero(p) q = Greater(y, t) b = NonZero(q)"
        " r = Greater(z, t) c = NonZero(r) }",
        ["d[1] == a[1] + b[1] + c[1]", "a[1] <= d[1]", "d[1] <= N + M + L"],
        ["d[1] <= N"],
    ),
    "at most so many": (
        "(float[N] s) => (v) { n = Shape(s) m = Constant<value = int64[1] {5}>() k = Min(n, m) v, i = TopK(s, k) }",
        ["v[0] <= N", "v[0] <= 5"],
        ["v[0] == 5", "v[0] == N"],
    ),
    "survivors by image": (
        "(float[B, 6, 4] boxes, float[B, 1, 6] scores) => (n, a, b) { m = Constant<value = int64[1] {3}>()"
        " n = NonMaxSuppression(boxes, scores, m) z = Constant<value = int64 {0}>() i = Gather<axis = 1>(n, z)"
        " e = Equal(i, z) o = Not(e) a = NonZero(e) b = NonZero(o) }",
        ["a[1] + b[1] == n[0]", "n[0] <= 3*B"],
        ["a[1] == b[1]"],
    ),
    "points in a box": (
        "(float[N, 3] points, float[N] x, float[N] y) => (p, q, k) { l = Constant<value = float {0.0}>()"
        " h = Constant<value = float {1.0}>() a = Greater(x, l) b = Less(x, h) c = And(a, b) d = Greater(y, l)"
        " e = Less(y, h) f = And(d, e) m = And(c, f) p = Compress<axis = 0>(points, m) q = Compress<axis = 0>(x, m)"
        " k = NonZero(c) }",
        ["p[0] == q[0]", "p[0] <= k[1]", "k[1] <= N"],
        ["p[0] == k[1]"],
    ),
    "edges of a graph": (
        f"(int64[2, E] edges, float[E, 8] attributes, float[E] weights) => (e, a) {{ {_HALF} m = Greater(weights, t)"
        " e = Compress<axis = 1>(edges, m) a = Compress<axis = 0>(attributes, m) }",
        ["e[1] == a[0]", "a[0] <= E"],
        ["a[0] == E"],
    ),
    "packed and put back": (
        "(float[B, S, 16] h, bool[B, S] m) => (p, r) { k = NonZero(m) i = Transpose(k) p = GatherND(h, i)"
        " z = Constant<value = float {0.0}>() e = Mul(h, z) r = ScatterND(e, i, p) }",
        ["p[0] <= B*S", "r[0] == B", "r[1] == S"],
        ["p[0] == B*S", "p[0] <= B"],
    ),
    "tokens without padding": (
        "(int64[B, S] ids) => (k, d, f) { z = Constant<value = int64 {0}>() e = Equal(ids, z) m = Not(e) k = NonZero(m)"
        " d = NonZero(ids) l = Constant<value = int64[1] {-1}>() r = Reshape(ids, l) c = Reshape(m, l)"
        " f = Compress<axis = 0>(r, c) }",
        ["k[1] == d[1]", "f[0] == k[1]", "f[0] <= B*S"],
        ["f[0] == B*S"],
    ),
    "lengths of rows": (
        "(int64[B] lengths, float[B, S] x) => (k, d) { s = Shape<start = 1, end = 2>(x)"
        " e = Constant<value = int64[0] {}>() n = Reshape(s, e) z = Constant<value = int64 {0}>()"
        " o = Constant<value = int64 {1}>() r = Range(z, n, o) a = Constant<value = int64[1] {1}>()"
        " l = Unsqueeze(lengths, a) m = Less(r, l) k = NonZero(m) p = Not(m) d = NonZero(p) }",
        ["k[1] + d[1] == B*S", "k[1] <= B*S"],
        ["k[1] == d[1]", "k[1] <= S"],
    ),
    "numbers that occur again": (
        "(int64[N] labels) => (u, k, d) { u, i, v, c = Unique(labels) o = Constant<value = int64 {1}>()"
        " m = Greater(c, o) k = NonZero(m) p = Not(m) d = NonZero(p) }",
        ["k[1] + d[1] == u[0]", "k[1] <= N"],
        ["k[1] == u[0]"],
    ),
    "a router of two": (
        f"(float[N, 4] x) => (a, b, c, d) {{ {_NUMBERS} k = Constant<value = int64[1] {{2}}>()"
        " v, i = TopK<axis = 1>(x, k) e0 = Equal(i, n0) e1 = Equal(i, n1) e2 = Equal(i, n2) e3 = Equal(i, n3)"
        " a = NonZero(e0) b = NonZero(e1) c = NonZero(e2) d = NonZero(e3) }",
        ["a[1] + b[1] + c[1] + d[1] == 2*N", "a[1] + b[1] <= 2*N", "a[1] <= N"],
        ["a[1] == b[1]", "a[1] + b[1] + c[1] + d[1] == N"],
    ),
    "experts with a capacity": (
        f"(float[N, 8] x, int64[N] e) => (a, k) {{ {_NUMBERS} {_ZERO} m = Equal(e, n1) a = Compress<axis = 0>(x, m)"
        " c = Constant<value = int64[1] {1}>() k = Slice(a, zero, c) }",
        ["k[0] <= 1", "k[0] <= a[0]", "a[0] <= N"],
        ["k[0] == 1", "k[0] == a[0]"],
    ),
    "experts put back": (
        "(float[N, 8] x, bool[N] m) => (a, b, y) { n = Not(m) k = NonZero(m) i = Transpose(k) l = NonZero(n)"
        " j = Transpose(l) a = GatherND(x, i) b = GatherND(x, j) p = ScatterND(x, i, a) y = ScatterND(p, j, b) }",
        ["a[0] + b[0] == N", "y[0] == N", "a[0] <= N"],
        ["a[0] == b[0]"],
    ),
    "beams that end": (
        "(float[B, 4, 8] scores) => (f, a, y) { s = Constant<value = int64[2] {-1, 32}>() r = Reshape(scores, s)"
        " k = Constant<value = int64[1] {4}>() v, i = TopK<axis = 1>(r, k) z = Constant<value = int64 {0}>()"
        " e = Equal(i, z) g = Not(e) f = NonZero(e) a = NonZero(g) y = Concat<axis = 1>(f, a) }",
        ["f[1] + a[1] == 4*B", "y[1] == 4*B", "f[1] <= 4*B"],
        ["f[1] <= B - 1", "f[1] == a[1]"],
    ),
    "a beam that grows": (
        "(int64[B, L] tokens, int64[B, 1] next) => (y) { m = Constant<value = int64 {5}>() y = Loop(m, , tokens)"
        " <body = b (int64 i, bool go, int64[B, A] v) => (bool on, int64[B, C] w) { w = Concat<axis = 1>(v, next)"
        " s = ReduceSum<keepdims = 0>(next) on = Greater(s, i) }> }",
        ["y[1] >= L", "y[1] <= L + 5"],
        ["y[1] == L + 5", "y[1] == L"],
    ),
    "a row or none": (
        "(float[N, 4] x, float[6] s) => (y) { m = Constant<value = int64 {6}>() z = Constant<value = float {0.5}>()"
        " f = Constant<value = int64[2] {1, 4}>() h = Constant<value = float {0.0}>() row = Expand(h, f)"
        f" y = Loop(m, , x) <body = b {_STEP} {{ on = Identity(go) q = Gather(s, i) c = Greater(q, z)"
        " w = If(c) <then_branch = p () => (float[D, 4] u) { u = Concat<axis = 0>(v, row) },"
        " else_branch = e () => (float[E, 4] g) { g = Identity(v) }> }> }",
        ["y[0] >= N", "y[0] <= N + 6"],
        ["y[0] == N", "y[0] == N + 6"],
    ),
    "parts of a sequence": (
        "(float[L, 4] x, float[1, 4] row) => (y) { k = Constant<value = int64 {4}>() a = Concat<axis = 0>(x, row)"
        " s = SplitToSequence<axis = 0>(a, k) y = ConcatFromSequence<axis = 0>(s) }",
        ["y[0] == L + 1"],
        ["y[0] <= 4"],
    ),
    "drafts that are taken": (
        "(int64[K] draft, int64[K] target) => (a, r, y) { e = Equal(draft, target) n = Equal(target, draft) o = Not(n)"
        " a = Compress<axis = 0>(draft, e) r = Compress<axis = 0>(draft, o) y = Concat<axis = 0>(a, r) }",
        ["a[0] + r[0] == K", "y[0] == K"],
        ["a[0] == r[0]"],
    ),
}
"""As `MODELS`."""
