"""The text of a query: check.py compiles it, and refuses a pair of a text and a formula that do not belong together."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest

import absint
from absint.lattices.terms.expr import Dim, const
from absint.lattices.text import parse_relation
from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import checked, manifest_of, model_of, put
from tests.absint.questions.certificates.test_forgeries import ATTEND, copied, rehash

RANKS = {"X": 3, "Z": 3, "s": 0, "a/b": 1, "/l.0/Add_output_0": 2, "b": 2, "odd [1]": 1}
BOUNDS = {"N": check.within("N", check.SIZE), "M": check.within("M", check.SIZE), "c": check.within("c", check.TRUTH)}
TEXTS = [
    "X[0] == 3*N - 1", "X[-1] != Z[2]", "rank(X) == 3", "size(X) == X[0]*X[1]*X[2]", "shape(X) == shape(Z)",
    "shape(X) == [N, 3, M // 2]", "shape(X) != shape(b)", "shape(s) == []", "N % 4 == 0 and not M % 3 != 1",
    "c -> N < M", "N in {1, 2*M, 5} or M not in [2, 3]", "0 <= N - M <= 7", "N // 2 + M // (N + 1) <= M",
    "(3 - N) / 2 >= -M / (M + 1)",
    "(3 - N) // (M + 1) > N % (M + 2) - 9", "max(N, M, 3) == min(N, M)", "abs(N - M) <= 3", "ceildiv(N, 4) >= M",
    "truncdiv(N - 9, 4) == mod(N, 4) - 2", "floordiv(N - 9, 4) < 1", "ite(c, N, M) >= 2", "N**2 + M**3 > 9",
    "a/b[0] == 1", "N / /l.0/Add_output_0[1] == 2", "`a/b`[0] <= N /b[1] + 1", "`odd [1]`[0] == N", "c -> M == 2 -> c",
    "symbol(N) >= -(-3)", "+N <= - -M", "c or c and not c", "true", "false implies N == 1", "size(s) == 1", "c == 1",
]  # fmt: skip


class Values(dict[str, tuple[Dim, ...]]):
    """Values with these sizes."""

    def shape(self, name: str) -> tuple[Dim, ...]:
        return self[name]


def value_of(tree: check.Tree, names: Mapping[str, int]) -> int:
    """The value of a formula."""
    if isinstance(tree, str):
        return names[tree] if tree in names else int({"true": "1", "false": "0"}.get(tree, tree))
    head, *parts = tree
    if head == "ite":
        return value_of(parts[1] if value_of(parts[0], names) else parts[2], names)
    found = [value_of(part, names) for part in parts]
    match head:
        case "+" | "*":
            return sum(found) if head == "+" else math.prod(found)
        case "-":
            return -found[0] if len(found) == 1 else found[0] - found[1]
        case "div":
            quotient = found[0] // abs(found[1])
            return quotient if found[1] > 0 else -quotient
        case "and" | "or":
            return all(found) if head == "and" else any(found)
        case "=>":
            return not found[0] or found[1]
        case "not":
            return not found[0]
    return found[0] <= found[1] if head == "<=" else found[0] == found[1]


def asked(text: str) -> check.Asked:
    place = {name: (at, rank) for at, (name, rank) in enumerate(RANKS.items())}
    return check.Asked(text, place, place.__getitem__, BOUNDS.get)


@pytest.mark.parametrize("text", TEXTS)
def test_a_formula_says_what_absint_reads_in_the_text(text: str) -> None:
    formula, dice = asked(text).formula, random.Random(text)
    assert check.sort_of(formula, lambda name: "Int") == "Bool"
    for _ in range(200):
        names = {"N": dice.randrange(12), "M": dice.randrange(12), "c": dice.randrange(2)}
        sizes = {name: [dice.randrange(1, 9) for _ in range(rank)] for name, rank in RANKS.items()}
        values = Values({name: tuple(map(const, found)) for name, found in sizes.items()})
        places = {f"in{at}@{axis}": size for at, found in enumerate(sizes.values()) for axis, size in enumerate(found)}
        expected = parse_relation(text, ["N", "M", "c"], values).evaluate(names)
        assert bool(value_of(formula, names | places)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "N", "N = 1", "01 == N", "\u0661 == N", "1_0 == N", "2N == 1", "N == 0.5", "Q == 1", "X == 3", "X[3] == 1",
        "X[-4] == 1", "X[+1] == 1", "X[01] == 1", "floor(N / 2) == 1", "N == 1 # or", "N == 1)", "(N == 1",
        "N == 1 N == 2",
        "N ^ 2 == 1", "N == 1 | c", "float32(N) == 1", "max(N) == 1", "ite(N, 1, 2) == 1", "N == (M == 1)", "N in {}",
        "`a\\`b`[0] == 1", "rank(Q) == 1", "shape(X) < shape(Z)", "shape(X)[0] == 1", "N ** M == 1", "N == 1 and",
        "a / b[2] == 1", "N -> M == 2",
        "(" * 100 + "c" + ")" * 100, "not " * 100 + "c", " + ".join(["N"] * 500) + " == 1",
        "abs(" * 30 + "N" + ")" * 30 + " == 1",
        "N == 1; M == 2", "N == 1\x00", "N\u2024M == 1",
    ],
)  # fmt: skip
def test_what_is_not_of_the_grammar_is_not_read(text: str) -> None:
    with pytest.raises(check.OpenError):
        asked(text)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A model, and the files of its certificate."""
    folder = tmp_path_factory.mktemp("certificate")
    onnx.save(model_of(ATTEND), folder / "m.onnx")
    queries = ["4*y[3] == w[1]", "y[1] == x[1]", "floor(D/4) == y[3]"]
    absint.analyze(folder / "m.onnx").certify(queries).write(folder / "c")
    return folder / "m.onnx", {
        str(path.relative_to(folder / "c")): path.read_bytes() for path in (folder / "c").rglob("*") if path.is_file()
    }


def test_the_text_is_printed_only_if_it_is_read(written: tuple[Path, dict[str, bytes]], tmp_path: Path) -> None:
    model, files = written
    copied(tmp_path, files)
    code, said = checked(tmp_path, "--model", str(model))
    assert code == 0
    assert [line for line in said.splitlines() if line.startswith("query")] == [
        "query: 4*y[3] == w[1]",
        "query: y[1] == x[1]",
        "query: (= y[3] (div D 4)) (the text floor(D/4) == y[3] is not of the grammar of check.py)",
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("4*y[3] == w[1]", "5*y[3] == w[1]", "says (= (* 5 in0@3) in1@1), its lemma shows (= (* 4 in0@3) in1@1)"),
        ("4*y[3] == w[1]", "4*y[2] == w[1]", "says (= (* 4 in0@2) in1@1)"),
        ("4*y[3] == w[1]", "4*h[2] == w[1]", "it takes no size of h, its text does"),
        ("4*y[3] == w[1]", "4*y[3] == w[1] and D == 8", "says (and (= (* 4 in0@3) in1@1) (= D 8))"),
        ("y[1] == x[1]", "y[1] <= x[1]", "says (<= in0@1 in1@1)"),
    ],
)
@pytest.mark.parametrize("has_model", [True, False])
def test_a_text_that_belongs_to_another_formula_is_refused(
    written: tuple[Path, dict[str, bytes]], old: str, new: str, told: str, has_model: bool, tmp_path: Path
) -> None:
    model, files = written
    manifest = copied(tmp_path, files)
    (step,) = [step for step in manifest["steps"] if step["node"] == old]
    step["relations"][0]["reason"] = step["node"] = new
    put(tmp_path, manifest)
    (problem,) = check.found_wrong(tmp_path, manifest, check.Model(model) if has_model else None)[1]
    assert told in problem


def test_a_text_about_values_that_a_function_gives_is_read_with_the_model(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[N, 4] x) => (float[A, B] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 18]> f (a) => (b) { b = Relu(a) }""")
    onnx.save(model, tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify(["y[0] == x[0]"]).write(tmp_path / "c")
    manifest = manifest_of(tmp_path / "c")
    with_model, problems = check.found_wrong(tmp_path / "c", manifest, check.Model(tmp_path / "m.onnx"))
    assert problems == []
    assert [text for _, text, _ in with_model.asked] == ["y[0] == x[0]"]
    alone, problems = check.found_wrong(tmp_path / "c", manifest)
    assert problems == []
    assert [symbols for _, _, symbols in alone.asked] == [None]


def test_a_value_of_a_branch_has_no_natural_sizes_in_a_query(tmp_path: Path) -> None:
    """Every run has x, and only some the value of a branch, whose size would be N - 3."""
    text = """(float[N] x, bool c) => (z) <int64[2] pads = {-3, 0}> {
        z = If(c) <then_branch = t () => (u) { u = Pad(x, pads) }, else_branch = e () => (v) { v = Relu(x) }> }"""
    onnx.save(model_of(text), tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify(["N >= 0"]).write(tmp_path / "c")
    manifest = manifest_of(tmp_path / "c")
    steps = manifest["steps"]
    (cropped,) = [at for at, step in enumerate(steps) if step["node"].startswith("Pad")]
    lemma = """; query, for any numbers $0, $1, ...
(set-logic ALL)
(declare-const $0 Int)
(define-fun in0@rank () Int 1)
(define-fun in0@0 () Int (- $0 3))
(assert (<= 0 in0@0))
(define-fun claim0 () Bool (>= $0 3))
(assert (not (and claim0)))
(check-sat)
"""
    size = steps[cropped]["gives"][0]["dims"][0]
    lemma = lemma.replace("(- $0 3)", size.replace("N", "$0"))
    steps[-1] |= {"takes": [[cropped, 0]], "names": {"$0": "N"}, "lemma": "forged", "facts": []}
    steps[-1]["relations"][0] |= {"formula": "(>= N 3)", "reason": "N  >= 3"}
    (tmp_path / "c" / "lemmas" / "forged.smt2").write_text(lemma, "utf-8")
    rehash(tmp_path / "c", manifest)
    (problem,) = check.found_wrong(tmp_path / "c", manifest_of(tmp_path / "c"))[1]
    assert f"not every run computes step {cropped}" in problem
    assert hashlib.sha256(lemma.encode()).hexdigest() == manifest["lemmas"]["forged"]
