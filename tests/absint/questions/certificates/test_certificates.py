"""Certificates of small models follow, for z3 and for cvc5, and say what they rest on."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from absint.errors import UsageError
from absint.lattices.value import Tensor
from absint.questions.certificates import check
from absint.questions.certificates.single import single
from absint.solver.backend import Backend
from absint.transfer.op import Op
from tests.absint.questions.certificates.checking import certificate_of, checked, manifest_of, model_of

ROOT = Path(__file__).parents[4]

MODELS = {
    "product": "(float[N, K] x, float[K, 8] w, float[M] b) => (float[N, 8] y) { z = MatMul(x, w)  y = Add(z, b) }",
    "shapes": """(float[batch, seq, 64] x) => (float[A, B, 4, 16] y, float[C] z) <int64[1] two = {2},
        int64[1] zero = {0}, int64[1] one = {1}, int64[2] heads = {4, 16}, int64[1] left = {-1}> {
        s = Shape(x)  a = Slice(s, zero, two)  t = Concat<axis=0>(a, heads)  y = Reshape(x, t)
        n = Gather<axis=0>(s, one)  m = Mul(n, two)  z = ConstantOfShape(m) }""",
    "facts": """(float[N, D] x, float[64, 8] w, float[D] g) => (float[N, 8] y, float[N, D] u) {
        y = MatMul(x, w)  h = Relu(x)  u = Mul(h, g) }""",
    "masked": """(float[N, 1] x) => (float[A, B] y) <int64[2] want = {-1, 5}, int64[2] ones = {1, 1},
        int64 minus = {-1}> {
        c = Equal(want, minus)  t = Where(c, ones, want)  y = Expand(x, t) }""",
    "window": """(float[N, 3, H, W] x, float[8, 3, 3, 3] w) => (float[A, B, C, D] y) {
        c = Conv<strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)  y = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(c) }""",
    "counted": """(float[N] x) => (int64[A, B] y, int64[C, D] t) { y = NonZero(x)  t = Transpose(y) }""",
    "casts": """(float[N, M] x) => (float[A] y) <int64 three = {3}, int64[1] shape = {1}> {
        s = Size(x)  i = Cast<to=6>(s)  j = Cast<to=7>(i)  q = Div(j, three)  v = Reshape(q, shape)
        y = ConstantOfShape(v) }""",
    "chosen": """(float[N, 4] x, bool c) => (float[A, B] y) {
        y = If (c) <then_branch = t () => (float[P, 4] a) {a = Relu(x)},
                    else_branch = e () => (float[Q, 4] b) {b = Abs(x)}> }""",
    "floats": """(float[N] x) => (float[A] y) <float half = {0.5}, int64[1] shape = {1}> {
        s = Size(x)  f = Cast<to=1>(s)  g = Mul(f, half)  h = Cast<to=7>(g)  v = Reshape(h, shape)
        y = ConstantOfShape(v) }""",
    "one branch": """(float[N, 4] x) => (float[A, B] y) <bool c = {1}> {
        y = If (c) <then_branch = t () => (float[P, 4] a) {a = Relu(x)},
                    else_branch = e () => (float[Q, 4] b) {b = Abs(x)}> }""",
    "sizes of branches": """(float[N, M] x) => (float[A, B] y, float[C] z) <int64 four = {4}, int64 zero = {0},
        int64[1] all = {-1}, int64[4] pads = {-4, 0, 0, 0}> {
        s = Shape(x)  n = Gather(s, zero)  c = Less(n, four)
        y = If (c) <then_branch = t () => (float[P, Q] a) {a = Transpose(x)},
                    else_branch = e () => (float[R, S] b) {b = Pad(x, pads)}>
        z = If (c) <then_branch = u () => (float[T] d) {d = ReduceSum<keepdims=0>(x)},
                    else_branch = v () => (float[U] f) {f = Reshape(x, all)}> }""",
    "looped": """(float[N, 3] x, int64 trips, bool go) => (float[A, B] y) {
        y = Loop(trips, go, x) <body = b (int64 i, bool c, float[R, 3] a) => (bool d, float[S, 3] z)
            {d = Identity(c)  z = Relu(a)}> }""",
    "growing": """(float[N, 3] x, int64 trips, bool go) => (float[A, B] y) {
        y = Loop(trips, go, x) <body = b (int64 i, bool c, float[R, 3] a) => (bool d, float[S, 3] z)
            {d = Identity(c)  z = Concat<axis=0>(a, x)}> }""",
    "counting": """(float[N, 3] x, int64 trips) => (float[A, B] y, int64 t) <int64 two = {2}, int64 start = {1}> {
        y, t = Loop(trips, , x, start) <body = b (int64 i, bool c, float[R, 3] a, int64 n)
            => (bool d, float[S, 3] z, int64 m) {d = Identity(c)  z = Relu(a)  m = Add(n, two)}> }""",
    "stopping": """(float[N, 3] x, int64 trips, bool go) => (float[A, 3] y, float[C, D, 3] s) {
        y, s = Loop(trips, go, x) <body = b (int64 i, bool c, float[R, 3] a) => (bool d, float[S, 3] z, float[T, 3] w)
            {k = ReduceSum<keepdims=0>(a)  d = Cast<to=9>(k)  z = Relu(a)  w = Abs(a)}> }""",
    "nested": """(float[N, 3] x, int64 trips, bool go) => (float[A, B] y) {
        y = Loop(trips, go, x) <body = b (int64 i, bool c, float[R, 3] a) => (bool d, float[S, 3] z) {
            d = Identity(c)
            z = Loop(trips, go, a) <body = e (int64 j, bool f, float[T, 3] h) => (bool g, float[U, 3] k)
                {g = Identity(f)  k = Relu(h)}> }> }""",
    "divided": """(float[N, 3] x) => (float[A, B] y) <float[3] parts = {1.5, 2.0, 0.0}> { y = Div(x, parts) }""",
    "scaled": """(float[N, C, H, W] x) => (float[A, B, D, E] y) <float[4] scales = {1.0, 1.0, 2.0, 1.5}> {
        y = Resize(x, , scales) }""",
    "halved": """(float[N, 4, H, W] x, float[4, 4, 3, 3] w) => (float[A, 8, B, C] y, float[D, E] z)
        <float[4] twice = {1.0, 1.0, 2.0, 2.0}, int64[2] rows = {0, -1}> {
        h = Conv<strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)  z = Reshape(h, rows)  u = Resize(h, , twice)
        y = Concat<axis=1>(u, x) }""",
    "symbols": """(float[s0, s1] x, float[s1, odd] w) => (float[A, B] y) { y = MatMul(x, w) }""",
}


@pytest.mark.share(6)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_every_certificate_checks_without_absint(name: str, solver: str, tmp_path: Path) -> None:
    found = certificate_of(MODELS[name])
    found.write(tmp_path)
    code, said = checked(tmp_path, "--solver", solver)
    assert (code, said.splitlines()[-1]) == (0, "fine"), said
    assert found.sizes.total()
    counts = (found.sizes["certified"], found.sizes["resting"], found.sizes["trusted"])
    assert f"sizes: {counts[0]} certified, {counts[1]} rest on what is on trust, {counts[2]} on trust" in said


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("stopping", "floats")])
def test_nothing_is_on_trust_where_all_is_specified(name: str) -> None:
    found = certificate_of(MODELS[name])
    assert not found.on_trust
    assert not any(counts[kind] for counts in (found.sizes, found.requirements) for kind in ("resting", "trusted"))  # type: ignore[index]


def test_what_a_loop_carries_is_certified_by_induction() -> None:
    found = certificate_of(MODELS["growing"])
    (head,) = [at for at, step in enumerate(found.steps) if step.introduces == {"_d0": "out0@e0"}]
    (after,) = [step for step in found.steps if step.closes == head]
    assert found.steps[head].claims[2].dims == ("(+ (* N _d0) N)", "3")
    assert after.lemma is not None
    assert "(define-fun next@0 () Int (+ in0@e0 1))" in after.lemma.script
    assert "(define-fun start@0 () Int 0)" in (found.steps[head].lemma or after.lemma).script


def test_a_claim_of_a_loop_rests_on_what_its_body_rests_on(tmp_path: Path) -> None:
    text = MODELS["looped"].replace("z = Relu(a)", "z = my.Thing(a)")
    found = absint.analyze(model_of(text), table=absint.TABLE.extended([thing])).certify()
    (head,) = [at for at, step in enumerate(found.steps) if "_d0" in step.introduces]
    (body,) = [at for at, step in enumerate(found.steps) if step.by == "rule"]
    assert found.rests_on[head] == {body}
    found.write(tmp_path)
    code, said = checked(tmp_path)
    counts = (found.sizes["certified"], found.sizes["resting"], found.sizes["trusted"])
    assert (code, said.splitlines()[1]) == (
        0,
        f"sizes: {counts[0]} certified, {counts[1]} rest on what is on trust, {counts[2]} on trust",
    )


ODD_NAMES = ["in0@1", "out0@rank", "$0", "domain@0", "a|b", "past seq", "div", "claim0", "; comment", "(x", "\\", "ß"]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_symbols_of_models_may_have_any_name(name: str, solver: str, tmp_path: Path) -> None:
    model = model_of(MODELS["symbols"])
    model.graph.input[1].type.tensor_type.shape.dim[1].dim_param = name
    found = absint.analyze(model).certify()
    assert not found.on_trust
    found.write(tmp_path)
    assert checked(tmp_path, "--solver", solver)[0] == 0


def test_a_requirement_is_certified_and_a_fact_for_later_rounds() -> None:
    found = certificate_of(MODELS["facts"])
    (step,) = [step for step in found.steps if any(given.role == "required" for given in step.relations)][:1]
    assert step.node.startswith("MatMul")
    assert step.relations[0].formula == "(= D 64)"
    later = [step for step in found.steps if step.facts]
    assert later
    assert all(step.round == 1 for step in later)


def test_a_remainder_is_derived_for_later_rounds() -> None:
    """The Concat requires 2*((H + 1)//2) == H unless N or W is 0; rows of H*W elements need it in a short form."""
    made = certificate_of(MODELS["halved"], "z[1] == H*W")
    derived = [given.formula for step in made.steps for given in step.relations if given.role == "derived"]
    assert sorted(derived) == ["(= H (* 2 (div H 2)))", "(= W (* 2 (div W 2)))"]
    assert not any(step.has_word_of_rule for step in made.steps)


@absint.rule("Thing", domain="my", inputs="x", outputs="y")
def thing(op: Op) -> Tensor:
    """The shape of the input."""
    return op.tensor("x")


def test_what_has_no_specification_is_told_and_spreads(tmp_path: Path) -> None:
    model = model_of("(float[N] x) => (float[A] y, float[M] z) { u = my.Thing(x)  y = Relu(u)  z = Relu(x) }")
    found = absint.analyze(model, table=absint.TABLE.extended([thing])).certify(["y[0] == z[0]"])
    assert found.on_trust == Counter({("my::Thing-1", "no specification"): 1})
    assert found.sizes == Counter({"certified": 1, "resting": 1, "trusted": 1})
    assert found.queries == Counter({"resting": 1})
    found.write(tmp_path)
    code, said = checked(tmp_path)
    assert (code, said.splitlines()[1]) == (0, "sizes: 1 certified, 1 rest on what is on trust, 1 on trust")


def test_checking_needs_nothing_but_python_and_a_solver() -> None:
    tree = ast.parse(Path(check.__file__).read_text("utf-8"))
    names = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert "json" in names
    assert not names - sys.stdlib_module_names


def test_equal_nodes_share_a_lemma() -> None:
    chain = "".join(f"x{at + 1} = MatMul(x{at}, w)  " for at in range(20))
    found = certificate_of(f"(float[N, K] x0, float[8, 8] w) => (float[A, B] x20) {{ {chain} }}")
    assert len(found.steps) > 20
    assert len(found.lemmas) <= 3


def test_a_query_is_certified_from_the_claims_of_the_values_in_it(tmp_path: Path) -> None:
    found = certificate_of(MODELS["product"], "y[0] == x[0]", "y[1] == 8", "shape(z) == [N, 8]", "y[0] == 3")
    assert found.unproved == ("y[0] == 3",)
    assert found.queries == Counter({"certified": 3})
    found.write(tmp_path)
    code, said = checked(tmp_path)
    assert code == 0
    assert "queries: 3 certified, 0 rest on what is on trust, 0 on trust" in said


def test_a_query_may_rest_on_a_requirement_an_assumption_and_that_sizes_are_natural() -> None:
    found = certificate_of(MODELS["facts"], "D % 64 == 0", "N*D == 64*N", "N >= 2", assume=("N >= 2",))
    assert not found.unproved
    assert found.premises == ("(>= N 2)",)
    cropped = """(float[N] x) => (float[A] y) <int64[2] pads = {-3, 0}> { y = Pad(x, pads) }"""
    found = certificate_of(cropped, "N >= 3")
    assert not found.unproved
    assert [step.by for step in found.steps[-1:]] == ["lemma"]


def test_one_answer_is_one_file() -> None:
    text = single(certificate_of(MODELS["shapes"], "y[0] == x[0]"))
    scripts = text.split("(reset)\n")
    assert len(scripts) > 3
    assert "; step " in text
    with Backend() as backend:
        for script in scripts:
            answer = backend.check(script.replace("(check-sat)", ""), rlimit=0, seconds=60, core=False)
            assert answer.verdict == "unsat"
    assert "Gather" not in text  # it is not on the way


@pytest.mark.parametrize(
    ("name", "query"), [("tiny_decoder", "logits[1] == input_ids[1]"), ("tiny_detector", "boxes[1] == 4")]
)
def test_the_examples_are_certified_whole(name: str, query: str, tmp_path: Path) -> None:
    model = ROOT / "examples" / f"{name}.onnx"
    found = absint.analyze(model).certify([query])
    assert not found.on_trust
    assert found.queries == Counter({"certified": 1})
    found.write(tmp_path)
    assert checked(tmp_path, "--model", str(model))[0] == 0
    other = tmp_path / "other.onnx"
    onnx.save(model_of(MODELS["product"]), other)
    code, said = checked(tmp_path, "--model", str(other))
    assert code == 1
    assert "not the model that was certified: its hash differs" in said


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model_of(MODELS["counted"]), "m.onnx")
    assert run(["certify", "m.onnx", "-o", "out", "--prove", "t[1] == 1", "--prove", "t[1] <= 2"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^out: m.onnx$", said, re.MULTILINE)
    assert checked(tmp_path / "out")[0] == 0
    assert run(["certify", "m.onnx", "-o", "out", "--prove", "N == 2"]) == 3
    assert "not certified: N == 2" in capsys.readouterr().out
    assert run(["certify", "m.onnx", "-o", "out", "--prove", "Q == 2"]) == 2
    assert "'Q'" in capsys.readouterr().err
    assert run(["certify", "m.onnx", "-o", "m.onnx"]) == 2
    assert capsys.readouterr().err == "absint: error: 'm.onnx' is a file: name a folder\n"
    assert run(["certify", "m.onnx", "-o", "."]) == 2
    assert "'.' is not empty and holds no certificate: name another folder" in capsys.readouterr().err


def test_a_proof_with_its_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model_of(MODELS["shapes"]), "m.onnx")
    assert run(["prove", "m.onnx", "y[0] == x[0]", "--certificate", "y.smt2"]) == 0
    assert "\n(reset)\n" in Path("y.smt2").read_text("utf-8")
    assert run(["prove", "m.onnx", "y[0] == 3", "--certificate", "no.smt2"]) == 1
    assert not Path("no.smt2").exists()
    capsys.readouterr()
    for arguments, told in (
        (["N == N", "1 == 1"], "--certificate holds one answer: give one RELATION; absint certify takes several"),
        (
            ["batch >= 0", "--assume", "batch >= 1"],
            "--certificate is about every run that succeeds: leave out --given and --assume",
        ),
    ):
        assert run(["prove", "m.onnx", *arguments, "--certificate", "y.smt2"]) == 2
        assert capsys.readouterr().err == f"absint: error: {told}\n"


def test_a_folder_is_renewed_without_what_is_old(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    certificate_of(MODELS["window"]).write(folder)
    found = certificate_of(MODELS["product"])
    found.write(folder)
    assert {path.stem for path in (folder / "lemmas").iterdir()} == set(manifest_of(folder)["lemmas"])
    assert json.loads(found.manifest()) == manifest_of(folder)


def test_claims_of_an_unsound_policy_are_not_certified() -> None:
    result = absint.analyze(model_of(MODELS["product"]), policy="max")
    with pytest.raises(UsageError, match="a certificate needs the sound analysis"):
        result.certify()
