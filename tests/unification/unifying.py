"""The RFC's unification table, where a run needs the two sizes to be equal, and where nothing does."""

from __future__ import annotations

from typing import Final

from tests.unification.row import Row, Section


def needed(rule: str, target: str, source: str, claim: str, sizes: str = "", **more: str) -> Row:
    """The target is the last dim of x, the source the first of y; their product needs them equal."""
    model = f'(float[1, "{target}"] x, float["{source}", 1] y) => (p, z) {{p = MatMul(x, y) z = Relu(x)}}'
    return Row(
        rule,
        "0008",
        claim,
        sizes,
        model=model.replace('"?"', '"H"'),
        out={"z1": (target.replace("?", "H"), "z[1]")},
        runs=f"{target} == {source}".replace("?", "H"),
        **more,
    )


NEEDED: Final = Section(
    "Two sizes that a run needs to be equal",
    """\
`unifyDim` in an operator that asserts equality: here the inner dims of a product, `z1` being the size that stays on the
target side. A run that succeeds has equal sizes, so whatever is shown is true; what the table loses is the equality
itself, and that no run exists. `H` stands for a dim of which nothing is known.""",
    [
        needed("3 with 3: equal values are accepted", "3", "3", "z1 == 3"),
        needed("3 with 4: inference fails", "3", "4", "z1 == 3", note="true that it must fail: no size runs"),
        needed("source 3, target N: the target becomes 3", "N", "3", "z1 == 3", "N"),
        needed(
            "what is lost: N is 3 everywhere, not only here",
            "N",
            "3",
            "N == 3",
            "N",
            note="elsewhere the name N stays open",
        ),
        needed("source 3, unknown target: the target becomes 3", "?", "3", "z1 == 3", "H"),
        needed("source N, target 3: the target stays", "3", "N", "z1 == 3", "N"),
        needed("source N + 2, target N + 2: the target stays", "N + 2", "N + 2", "z1 == N + 2", "N"),
        needed("source M + 2, target N + 2: the target stays", "N + 2", "M + 2", "z1 == N + 2", "N M"),
        needed(
            "what is lost: N and M are one size",
            "N + 2",
            "M + 2",
            "N == M",
            "N M",
            note="`absint` records it with its node",
        ),
        needed(
            "source N, target N + 2 - 2: the target stays",
            "N + 2 - 2",
            "N",
            "z1 == N",
            "N",
            note="one term here; two strings there",
        ),
        needed(
            "source N + 1, target N: the target stays, silently",
            "N",
            "N + 1",
            "z1 == N",
            "N",
            note="a contradiction that the table does not report",
        ),
        needed("source N, unknown target: the target becomes N", "?", "N", "z1 == N", "N H"),
        needed("unknown source: the target stays", "N", "?", "z1 == N", "N H"),
        Row(
            "Concat: another axis has the target's size",
            "0008",
            "z0 == N",
            "N M",
            model="(float[N, 1] x, float[M, 1] y) => (z) {z = Concat<axis = 1>(x, y)}",
            out={"z0": ("M if N == 0 else N", "z[0]")},
            runs="N == M or N == 0 or M == 0",
            instead="z0 == N or N == 0",
            note="the specification wants equal sizes; onnxruntime lets an input without elements differ",
        ),
        Row(
            "2*N with 2*M: their leaves N and M are equal",
            "0009",
            "N == M",
            "N M",
            model='(float[1, "2*N"] x, float["2*M", 1] y) => (p, z) {p = MatMul(x, y) z = Relu(x)}',
            out={"z1": ("2 * N", "z[1]")},
            runs="2 * N == 2 * M",
        ),
        Row(
            "N*M with N*K: their leaves M and K are equal",
            "tools",
            "M == K",
            "N M K",
            model='(float[1, "N*M"] x, float["N*K", 1] y) => (p, z) {p = MatMul(x, y) z = Relu(x)}',
            out={"z1": ("N * M", "z[1]")},
            runs="N * M == N * K",
            instead="M == K or N == 0",
            note="a factor that may be 0 does not cancel",
        ),
    ],
)


def declared(rule: str, output: str, claim: str, sizes: str, model: str = "", **more: str) -> Row:
    """z is inferred, and the author declared `output`."""
    kept = model or f'(float[N] x) => (float["{output}"] z) {{z = Relu(x)}}'
    return Row(rule, "0008", claim, sizes, model=kept, out={"z0": (more.pop("z", "N"), "z[0]")}, **more)


THREE: Final = "(float[3] x) => (float[$] z) {z = Relu(x)}"

MERGED: Final = Section(
    "A declared size that meets an inferred one",
    """\
`mergeInDimensionInfo` when `value_info` or an output is already annotated: the declaration is the target, what was
inferred is the source. No run fails because a declaration is false, so each row is a claim about every run.""",
    [
        declared("inferred 3, declared K: becomes 3", "K", "z0 == 3", "", THREE.replace("$", "K"), z="3"),
        declared(
            "inferred 3, declared 4: inference fails, as if no run were there",
            "4",
            "3 == 4",
            "",
            THREE.replace("$", "4"),
            z="3",
            instead="z0 == 3",
            note="the model runs; a warning is all a runtime gives",
        ),
        declared("inferred N, declared 3: 3 stays", "3", "z0 == 3", "N", instead="z0 == N"),
        declared("inferred N, declared N + 1: the declaration stays", "N + 1", "z0 == N + 1", "N", instead="z0 == N"),
        declared(
            "inferred N, declared M, an input's name: M stays",
            "M",
            "z0 == M",
            "N M",
            "(float[N] x, float[M] y) => (float[M] z, w) {z = Relu(x) w = Relu(y)}",
            instead="z0 == N",
        ),
        Row(
            "one declared name K on two outputs: both keep it",
            "0008",
            "z0 == w0",
            "N M",
            model="(float[N] x, float[M] y) => (float[K] z, float[K] w) {z = Relu(x) w = Relu(y)}",
            out={"z0": ("N", "z[0]"), "w0": ("M", "w[0]")},
            note="a shared name is a claim",
        ),
        declared("inferred 3, declared nothing: becomes 3", "?", "z0 == 3", "", THREE.replace("$", "?"), z="3"),
        declared(
            "inferred N, declared nothing: becomes N", "?", "z0 == N", "N", THREE.replace("3", "N").replace("$", "?")
        ),
        Row(
            "inferred nothing, declared N: N stays",
            "0008",
            "z0 == N",
            "N",
            "m",
            model="""(float[N] x, int64 m) => (float[N] y, int64[N] z) {a = Constant<value_int = 0>()
                     d = Constant<value_int = 1>() y = Relu(x) z = Range(a, m, d)}""",
            out={"z0": ("max(m, 0)", "z[0]")},
            instead="z0 >= 0",
        ),
    ],
)
