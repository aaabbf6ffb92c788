"""A forged certificate, whose hashes fit and whose lemmas hold, does not check."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import certificate_of, checked, manifest_of, put
from tests.absint.questions.certificates.test_certificates import MODELS

Manifest = dict[str, Any]
ATTEND = """(float[batch, seq, 64] x, float[64, D] w) => (float[batch, seq, 4, E] y) <
    int64[1] zero = {0}, int64[1] two = {2}, int64[2] heads = {4, -1}> {
    h = MatMul(x, w)  s = Shape(x)  rows = Slice(s, zero, two)
    target = Concat<axis=0>(rows, heads)  y = Reshape(h, target) }"""
TRUE = "(= (* 4 in0@3) in1@1)"
FALSE = "(= (* 5 in0@3) in1@1)"


def step_of(manifest: Manifest, node: str) -> dict[str, Any]:
    found: dict[str, Any] = next(step for step in manifest["steps"] if step["node"].startswith(node))
    return found


def edit(folder: Path, step: dict[str, Any], *changes: tuple[str, str]) -> None:
    """Change the lemma of a step."""
    path = folder / "lemmas" / f"{step['lemma']}.smt2"
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def hypothesis(folder: Path, manifest: Manifest, *commands: str) -> None:
    """Prove a false answer with one more hypothesis."""
    query = manifest["steps"][-1]
    edit(folder, query, (TRUE, FALSE), ("; the claims\n", "".join(f"{text}\n" for text in (*commands, "; the claims"))))
    query["relations"][0]["formula"] = FALSE


def asserted_helper(folder: Path, manifest: Manifest) -> None:
    hypothesis(folder, manifest, "(define-fun helper () Bool (= $2 0))", "(assert helper)")


def helper_that_is_a_number(folder: Path, manifest: Manifest) -> None:
    hypothesis(folder, manifest, "(define-fun helper () Int $2)", "(assert (= helper 0))")


def helper_by_the_name_of_a_node(folder: Path, manifest: Manifest) -> None:
    hypothesis(folder, manifest, "(define-fun helper@0 () Int in1@1)", "(assert (= helper@0 0))")


def bare_assertion(folder: Path, manifest: Manifest) -> None:
    hypothesis(folder, manifest, "(assert (= in1@1 0))")


def size_that_is_less(folder: Path, manifest: Manifest) -> None:
    hypothesis(folder, manifest, "(assert (<= in1@1 0))")


def two_commands_on_a_line(folder: Path, manifest: Manifest) -> None:
    hypothesis(folder, manifest, "(assert (<= 0 in1@1)) (assert (= in1@1 0))")


def another_title(folder: Path, manifest: Manifest) -> None:
    """The answer to a query as if it were about a node."""
    hypothesis(folder, manifest, "(declare-const out0@0 Int)", "(assert (= in1@1 0))")
    edit(folder, manifest["steps"][-1], ("; query,", "; Relu-14,"))


def helper_of_a_node(folder: Path, manifest: Manifest) -> None:
    step = step_of(manifest, "MatMul")
    helper = "(define-fun helper () Bool (= $3 7))\n(assert helper)\n; the claims\n"
    edit(folder, step, ("; the claims\n", helper), ("(= out0@2 $3)", "(= out0@2 7)"))
    cut_to(manifest, step, "7")


def cut_to(manifest: Manifest, step: dict[str, Any], size: str) -> None:
    """Claim another last size of a step, and drop the later ones."""
    step["gives"][0]["dims"][-1] = size
    manifest["steps"] = manifest["steps"][: manifest["steps"].index(step) + 1]


def by_model(folder: Path, manifest: Manifest) -> None:
    step = step_of(manifest, "Reshape")
    step.update(by="model", takes=[])
    del step["relations"]
    cut_to(manifest, step, "(* 2 D)")


def relation_by_model(folder: Path, manifest: Manifest) -> None:
    given = {"formula": "(= D 0)", "role": "required", "reason": "", "by": "lemma"}
    step_of(manifest, "input w")["relations"] = [given]


def relation_by_rule(folder: Path, manifest: Manifest) -> None:
    step = step_of(manifest, "Reshape")
    step["by"] = "rule"
    manifest["steps"].pop()


IDENTITY = """; MatMul-13, for any numbers $0, $1, ...
(set-logic ALL)
(declare-const $0 Int)
(define-fun in0@rank () Int 1)
(define-fun in0@0 () Int $0)
(define-fun out0@rank () Int 1)
(define-fun out0@0 () Int in0@0)
(define-fun claim0 () Bool (= out0@rank 1))
(define-fun claim1 () Bool (= out0@0 $0))
(assert (not (and claim0 claim1)))
(check-sat)
"""


def circle(folder: Path, manifest: Manifest) -> None:
    """The last step rests on itself: its claim is that of the step at -1."""
    step = step_of(manifest, "MatMul")
    (folder / "lemmas" / f"{step['lemma']}.smt2").write_text(IDENTITY, "utf-8")
    step.update(takes=[[-1, 0]], names={"$0": "7"})
    step["gives"][0]["dims"] = ["7"]
    cut_to(manifest, step, "7")


def name_of_another_lemma(folder: Path, manifest: Manifest) -> None:
    """A size of an input, which is another one in the next lemma."""
    step = step_of(manifest, "MatMul")
    edit(folder, step, ("(= out0@0 $0)", "(= out0@0 in0@0)"))
    step["gives"][0]["dims"][0] = "in0@0"
    cut_to(manifest, step, "D")


def term_for_an_output(folder: Path, manifest: Manifest) -> None:
    """A size that the lemma only declares stands for a term."""
    step = step_of(manifest, "MatMul")
    unknown = ("(define-fun in1@1 () Int $3)", "(declare-const in1@1 Int)")
    edit(folder, step, ("(declare-const $3 Int)\n", ""), unknown, ("(= out0@2 $3)", "(= out0@2 in1@1)"))
    del step["names"]["$3"]
    step["names"]["in1@1"] = "batch"
    cut_to(manifest, step, "batch")


def terms_in_one(folder: Path, manifest: Manifest) -> None:
    """A symbol of the lemma stands for two words."""
    step = step_of(manifest, "MatMul")
    step_of(manifest, "input w")["gives"][0]["dims"][1] = "D D"
    step["names"]["$3"] = "D D"
    cut_to(manifest, step, "D D")


def elements_without_sizes(folder: Path, manifest: Manifest) -> None:
    """No lemma shows the elements of a value whose number of axes is unknown."""
    step = step_of(manifest, "Shape")
    step["gives"][0] = {"value": "s", "dims": None, "elements": ["7"]}
    manifest["steps"] = manifest["steps"][: manifest["steps"].index(step) + 1]


def bound_of_another(folder: Path, manifest: Manifest) -> None:
    """The bound of a symbol that a rule introduces says something of another one."""
    bound = "(and (<= 0 Q) (= {} 0))"
    manifest["symbols"]["Q"] = bound.format("D")
    rule = {"node": "Thing q", "by": "rule", "takes": [], "introduces": {"Q": ""}, "gives": []}
    manifest["steps"].insert(-1, rule)
    manifest["steps"][-1]["names"]["$9"] = "Q"
    commands = f"(declare-const $9 Int)\n(define-fun bound3 () Bool {bound.replace('Q', '$9').format('$2')})"
    hypothesis(folder, manifest, commands, "(assert bound3)")


def answer_as_a_fact(folder: Path, manifest: Manifest) -> None:
    """An answer is about values, which are others in the next lemma."""
    other = deepcopy(manifest["steps"][-1])
    other["facts"][0] = [len(manifest["steps"]) - 1, 0]
    manifest["steps"].append(other)


FORGERIES: list[tuple[Callable[[Path, Manifest], None], str]] = [
    (asserted_helper, "a lemma defines no helper: (define-fun helper () Bool (= $2 0))"),
    (helper_that_is_a_number, "a lemma defines no helper: (define-fun helper () Int $2)"),
    (helper_by_the_name_of_a_node, "a lemma defines no helper@0: (define-fun helper@0 () Int in1@1)"),
    (bare_assertion, "a query has no specification: (assert (= in1@1 0))"),
    (size_that_is_less, "a query has no specification: (assert (<= in1@1 0))"),
    (two_commands_on_a_line, "(assert (<= 0 in1@1)) (assert (= in1@1 0)) is not one term"),
    (another_title, "4*y[3] == w[1]: a query needs a lemma without a node"),
    (helper_of_a_node, "a lemma defines no helper: (define-fun helper () Bool (= $3 7))"),
    (by_model, "step 9, Reshape #4: only inputs and constants are read from the model, not Reshape"),
    (relation_by_model, "input w: what is read from the model is one value: it takes nothing and states nothing"),
    (relation_by_rule, "step 9, Reshape #4: no lemma shows its relations"),
    (circle, "step 5, MatMul #0: it rests on a later step"),
    (name_of_another_lemma, "step 5, MatMul #0: nobody has introduced in0@0"),
    (term_for_an_output, "step 5, MatMul #0: in1@1 is no word for this place"),
    (terms_in_one, "step 1, input w: D D is not one term"),
    (elements_without_sizes, "step 6, Shape #1: s has not 1 elements"),
    (bound_of_another, "(and (<= 0 Q) (= D 0)) does not bound Q alone"),
    (answer_as_a_fact, "step 11, 4*y[3] == w[1]: nobody has introduced in0@3"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("certificate")
    certificate_of(ATTEND, "4*y[3] == w[1]").write(folder)
    assert checked(folder)[0] == 0
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copied(folder: Path, files: dict[str, bytes]) -> Manifest:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return manifest_of(folder)


def rehash(folder: Path, manifest: Manifest) -> None:
    """Make the hashes fit, and leave out lemmas of no step."""
    names = {step["lemma"] for step in manifest["steps"] if "lemma" in step}
    files = {name: (folder / "lemmas" / f"{name}.smt2").read_bytes() for name in names}
    manifest["lemmas"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    put(folder, manifest)


def problems(folder: Path) -> list[str]:
    """The lines of check.py, without those of the solver."""
    try:
        return check.found_wrong(folder, manifest_of(folder))[1]
    except check.WrongError as error:
        return [f"manifest.json: {error}"]


@pytest.mark.parametrize(("forge", "told"), FORGERIES, ids=lambda item: getattr(item, "__name__", ""))
def test_a_forgery_is_told_in_one_line(
    written: dict[str, bytes], forge: Callable[[Path, Manifest], None], told: str, tmp_path: Path
) -> None:
    manifest = copied(tmp_path, written)
    assert problems(tmp_path) == []
    forge(tmp_path, manifest)
    rehash(tmp_path, manifest)
    (line,) = problems(tmp_path)
    assert told in line


@pytest.mark.parametrize("forge", [asserted_helper, helper_that_is_a_number, bare_assertion, by_model])
def test_the_script_refuses_a_forgery(
    written: dict[str, bytes], forge: Callable[[Path, Manifest], None], tmp_path: Path
) -> None:
    manifest = copied(tmp_path, written)
    forge(tmp_path, manifest)
    rehash(tmp_path, manifest)
    code, said = checked(tmp_path)
    assert (code, said.splitlines()[0], said.splitlines()[-1]) == (1, *problems(tmp_path), "wrong")


def test_a_next_trip_with_the_claims_of_this_one_is_found(tmp_path: Path) -> None:
    """The body gives what it takes: no induction shows that a size grows with each trip."""
    certificate_of(MODELS["looped"]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    head = next(step for step in manifest["steps"] if "_d0" in step.get("introduces", ()))
    after = next(step for step in manifest["steps"] if "closes" in step)
    manifest["steps"] = manifest["steps"][: manifest["steps"].index(after) + 1]
    size, trip = (next(name for name, term in head["names"].items() if term == of) for of in ("N", "_d0"))
    edit(tmp_path, head, (f"(= out2@0 {size})", f"(= out2@0 (+ {size} {trip}))"))
    head["gives"][2]["dims"][0] = "(+ N _d0)"
    for step in (after, step_of(manifest, "Relu")):
        step["names"] = {name: "(+ N _d0)" if term == "N" else term for name, term in step["names"].items()}
        for claim in step.get("gives", ()):
            claim["dims"][0] = "(+ N _d0)"
    rehash(tmp_path, manifest)
    number = len(manifest["steps"]) - 1
    told = f"step {number}, Loop #0, next trip: its claims must be about _d0 of the next trip"
    assert problems(tmp_path) == [told]


def test_the_step_of_a_next_trip_states_nothing_itself(tmp_path: Path) -> None:
    certificate_of(MODELS["looped"]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    after = next(step for step in manifest["steps"] if "closes" in step)
    for key, stated in (
        ("gives", {"value": "y", "dims": ["7"]}),
        ("relations", {"formula": "(= N 7)", "role": "required", "by": "rule"}),
    ):
        put(
            tmp_path,
            manifest | {"steps": [step | ({key: [stated]} if step is after else {}) for step in manifest["steps"]]},
        )
        (line,) = problems(tmp_path)
        assert line.endswith("Loop #0, next trip: it shows the claims of the head of a loop, and states none")


def test_a_relation_of_the_head_of_a_loop_must_hold_in_the_next_trip(tmp_path: Path) -> None:
    certificate_of(MODELS["looped"]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    head = next(step for step in manifest["steps"] if "_d0" in step.get("introduces", ()))
    trip = next(name for name, term in head["names"].items() if term == "_d0")
    last = re.findall(r"claim\d+", (tmp_path / "lemmas" / f"{head['lemma']}.smt2").read_text("utf-8"))[-1]
    more = f"claim{int(last.removeprefix('claim')) + 1}"
    claim = f"(define-fun {more} () Bool (= {trip} 0))\n(assert (not"
    edit(tmp_path, head, ("(assert (not", claim), (f"{last})))", f"{last} {more})))"))
    head["relations"] = [{"formula": "(= _d0 0)", "role": "required", "reason": "", "by": "lemma"}]
    rehash(tmp_path, manifest)
    (line,) = problems(tmp_path)
    assert "Loop #0, next trip: it claims " in line


def test_what_a_certificate_takes_for_granted_is_printed(tmp_path: Path) -> None:
    certificate_of(ATTEND, assume=("D == 8",)).write(tmp_path)
    manifest = manifest_of(tmp_path)
    manifest["semantics"] = "onnx"
    put(tmp_path, manifest)
    code, said = checked(tmp_path)
    assert code == 0
    assert said.splitlines()[0].endswith("read from the model: inputs and initialisers 5, constants 0")
    assert said.splitlines()[-3:] == ["premise: (= D 8)", "semantics: onnx", "fine"]


def test_a_solver_that_reports_an_error_shows_nothing(written: dict[str, bytes], tmp_path: Path) -> None:
    copied(tmp_path, written)
    program = tmp_path / "solver"
    program.write_text("#!/bin/sh\necho '(error \"odd\")'\necho unsat\n", "utf-8")
    program.chmod(0o755)
    code, said = checked(tmp_path, "--solver", str(program))
    assert code == 1
    assert '.smt2: the solver does not read it: (error "odd")' in said.splitlines()[0]


@pytest.mark.parametrize("name", ["z3", "cvc5"])
def test_what_a_solver_does_not_read_is_told(name: str, written: dict[str, bytes], tmp_path: Path) -> None:
    manifest = copied(tmp_path, written)
    lemma = next(iter(check.read(tmp_path, manifest["lemmas"], []).values()))
    lemma.script = "(assert (= x 1))\n(check-sat)\n"
    assert check.Solver(name, 10).problem("odd", lemma).startswith("the solver does not read it: ")


def test_a_query_asserts_of_sizes_alone_that_they_are_natural() -> None:
    lemma = """; query, for any numbers $0, $1, ...
(set-logic ALL)
(declare-const $0 Int)
(define-fun in0@0 () Int $0)
(assert (<= 0 in0@0))
(define-fun in0@e0 () Int $0)
(define-fun claim0 () Bool (<= 0 in0@0))
(assert (not (and claim0)))
(check-sat)
"""
    assert check.Lemma(lemma).claims == [("<=", "0", "in0@0")]
    for old, new, told in (
        ("(define-fun claim0", "(assert (<= 0 in0@e0))\n(define-fun claim0", "a query has no specification"),
        ("(define-fun claim0", "(assert claim0)\n(define-fun claim0", "a query has no specification"),
        ("(define-fun in0@e0 () Int $0)", "(define-fun in0@e0 () Int in0@0)", "it must speak of declared numbers"),
        ("query,", "qu\x0bery,", "it has odd characters"),
        ("(define-fun claim0", "(declare-const claim1 Bool)\n(define-fun claim0", "a lemma declares no claim1"),
        ("claim0", "claim1", "its claims must be numbered from 0"),
    ):
        with pytest.raises(check.WrongError, match=told):
            check.Lemma(lemma.replace(old, new))


def test_one_term() -> None:
    for text in ("a", "(a b)", "|a b|", "(a (b) c)"):
        assert check.printed(check.parsed(text)) == text
    for text in ("", "a b", "(a", "a) (b", "(a) (b)", "( a)", "(a  b)", "a ; b", '"a"', "(" * 3000):
        with pytest.raises(check.WrongError):
            check.parsed(text)
