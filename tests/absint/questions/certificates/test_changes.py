"""A certificate that was changed in one place does not check: the files, the chain, or the solver tell."""

from __future__ import annotations

import hashlib
import json
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
DEEP = """(float[N, D] x, float[64, 8] w, float[D] g, float[K] p) => (float[A, 8] y, float[B, D] u, float[E] q) <
    int64[2] pads = {-3, 0}> { y = MatMul(x, w)  h = Relu(x)  u = Mul(h, g)  q = Pad(p, pads) }"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate with facts of an earlier round, a new name, and queries."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate_of(DEEP, "y[0] == x[0]", "K >= 3").write(folder)
    assert checked(folder) == (0, checked(folder)[1])
    return folder


def problem(folder: Path, manifest: Manifest) -> str:
    """The first error of the chain; empty if it holds."""
    try:
        return "".join(check.found_wrong(folder, manifest)[1])
    except check.WrongError as error:
        return str(error)


def numbers(manifest: Manifest) -> list[tuple[int, int, int]]:
    """The places of all sizes: step, output, axis."""
    return [
        (number, output, axis)
        for number, step in enumerate(manifest["steps"])
        for output, claim in enumerate(step.get("gives", ()))
        for axis in range(len(claim["dims"] or ()))
    ]


@pytest.mark.parametrize("name", ["product", "shapes", "facts", "window", "casts", "counted"])
def test_each_size_that_is_changed_in_the_manifest_is_found(name: str, tmp_path: Path) -> None:
    certificate_of(MODELS[name]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    assert problem(tmp_path, manifest) == ""
    changed = 0
    for step, output, axis in numbers(manifest):
        takers = [taker for taker in manifest["steps"] if [step, output] in taker["takes"]]
        if manifest["steps"][step]["by"] != "lemma" and not any(taker.get("lemma") for taker in takers):
            continue  # nothing rests on it
        other = deepcopy(manifest)
        dims = other["steps"][step]["gives"][output]["dims"]
        dims[axis] = str(int(dims[axis]) + 1) if dims[axis].isdecimal() else f"(+ {dims[axis]} 1)"
        assert re.search("claim|in its lemma|does not stand at|has not", problem(tmp_path, other))
        changed += 1
    assert changed >= 2


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_claim_that_is_changed_with_its_lemma_and_hash_has_a_model(solver: str, tmp_path: Path) -> None:
    certificate_of(MODELS["shapes"]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    number = next(at for at, step in enumerate(manifest["steps"]) if step.get("operator") == "Reshape-18")
    step = manifest["steps"][number]
    old, name = step["gives"][0]["dims"][3], step["lemma"]
    step["gives"][0]["dims"][3] = str(int(old) + 1)
    path = tmp_path / "lemmas" / f"{name}.smt2"
    text = re.sub(r"\(= out0@3 [^)]*\)\)\n", f"(= out0@3 {int(old) + 1}))\n", path.read_text("utf-8"))
    assert text != path.read_text("utf-8")
    path.write_text(text, "utf-8")
    put(tmp_path, manifest)
    code, said = checked(tmp_path, "--solver", solver)
    assert (code, said.splitlines()[-1]) == (1, "wrong")
    assert f"lemmas/{name}.smt2: the file is not the one that was certified: its hash differs" in said
    manifest["lemmas"][name] = hashlib.sha256(text.encode()).hexdigest()
    put(tmp_path, manifest)
    code, said = checked(tmp_path, "--solver", solver)
    assert code == 1
    assert said.splitlines()[0] == f"lemmas/{name}.smt2: sat, must be unsat"


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_lemma_whose_hypotheses_have_no_model_shows_nothing(solver: str, tmp_path: Path) -> None:
    """Also where its hash is made to fit."""
    certificate_of(MODELS["product"]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    path = next((tmp_path / "lemmas").glob("MatMul-*.smt2"))
    lines = path.read_text("utf-8").splitlines()
    lines.insert(-2, "(assert false)")
    path.write_text("\n".join([*lines, ""]), "utf-8")
    manifest["lemmas"][path.stem] = hashlib.sha256(path.read_bytes()).hexdigest()
    put(tmp_path, manifest)
    code, said = checked(tmp_path, "--solver", solver)
    assert (code, said.splitlines()[-1]) == (1, "wrong")
    assert said.splitlines()[0] == f"lemmas/{path.name}: it shows nothing: its hypotheses have no model"


def find(manifest: Manifest, matches: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    found: dict[str, Any] = next(step for step in manifest["steps"] if matches(step))
    return found


def by_lemma(manifest: Manifest) -> dict[str, Any]:
    return find(manifest, lambda step: step["by"] == "lemma" and step["node"].startswith("MatMul"))


def taken_later(manifest: Manifest) -> None:
    by_lemma(manifest)["takes"][0] = [len(manifest["steps"]) - 1, 0]


def left_out(manifest: Manifest) -> None:
    by_lemma(manifest)["takes"][0] = None


def one_input(manifest: Manifest) -> None:
    by_lemma(manifest)["takes"].pop()


def another_input(manifest: Manifest) -> None:
    by_lemma(manifest)["takes"][1] = by_lemma(manifest)["takes"][0]


def another_rank(manifest: Manifest) -> None:
    step, output = by_lemma(manifest)["takes"][0]
    manifest["steps"][step]["gives"][output]["dims"].append("4")


def another_lemma(manifest: Manifest) -> None:
    by_lemma(manifest)["lemma"] = find(manifest, lambda step: step["node"].startswith("Relu"))["lemma"]


def another_term(manifest: Manifest) -> None:
    names = by_lemma(manifest)["names"]
    names["$0"] = names["$1"]


def no_term(manifest: Manifest) -> None:
    by_lemma(manifest)["names"].popitem()


def unknown_term(manifest: Manifest) -> None:
    by_lemma(manifest)["names"]["$0"] = "Q"


def unknown_symbol(manifest: Manifest) -> None:
    find(manifest, lambda step: step["by"] == "model")["gives"][0]["dims"][0] = "Q"


def introduced_twice(manifest: Manifest) -> None:
    by_lemma(manifest)["introduces"] = {"N": ""}


def more_claimed(manifest: Manifest) -> None:
    by_lemma(manifest).setdefault("relations", []).append(
        {"formula": "(= N 3)", "role": "required", "reason": "", "by": "lemma"}
    )


def fewer_facts(manifest: Manifest) -> None:
    find(manifest, lambda step: step.get("facts"))["facts"].pop()


def facts_of_later(manifest: Manifest) -> None:
    find(manifest, lambda step: step.get("facts"))["facts"][0] = [len(manifest["steps"]) - 1, 0]


def by_nobody(manifest: Manifest) -> None:
    by_lemma(manifest)["by"] = "me"


def closer_bound(manifest: Manifest) -> None:
    manifest["symbols"]["K"] = "(<= 0 K 4)"


def closer_bound_of_a_premise(manifest: Manifest) -> None:
    manifest["inputs"] = ["Q"]
    manifest["symbols"]["Q"] = "(<= 1 Q 2147483647)"


CHANGES: list[tuple[Callable[[Manifest], None], str]] = [
    (taken_later, "it rests on a later step"),
    (left_out, "input 0 is left out"),
    (one_input, "it has no input in1@"),
    (another_input, "in its lemma, claimed is"),
    (another_rank, "input 0 has another form in its lemma"),
    (another_lemma, ""),
    (another_term, "in its lemma, claimed is"),
    (no_term, "stands for nothing"),
    (unknown_term, "stands for what nobody has introduced"),
    (unknown_symbol, "N does not stand at out0@0"),
    (introduced_twice, "it introduces N again"),
    (more_claimed, "more than its lemma proves"),
    (fewer_facts, "its facts are not those of the steps it names"),
    (facts_of_later, "it rests on a later step"),
    (by_nobody, "nobody is called 'me'"),
    (closer_bound, "nothing bounds K by (<= 0 K 4)"),
    (closer_bound_of_a_premise, "no premise is about Q"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=lambda item: getattr(item, "__name__", ""))
def test_a_chain_that_is_changed_breaks(written: Path, change: Callable[[Manifest], None], told: str) -> None:
    manifest = manifest_of(written)
    change(manifest)
    assert told in problem(written, manifest)
    assert problem(written, manifest)


def never_closed(manifest: Manifest) -> None:
    manifest["steps"] = [step for step in manifest["steps"] if "closes" not in step]


def closes_another(manifest: Manifest) -> None:
    find(manifest, lambda step: "closes" in step)["closes"] = [0]


def of_this_trip(manifest: Manifest) -> None:
    names = find(manifest, lambda step: "closes" in step)["names"]
    term = next(name for name, term in names.items() if term == "N")
    names[term] = "_d0"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (never_closed, "it must take the number of the last trip from the head of its loop"),
        (closes_another, "it closes no loop"),
        (of_this_trip, "its claims must be about _d0 of the next trip"),
    ],
)
def test_an_induction_that_is_changed_breaks(change: Callable[[Manifest], None], told: str, tmp_path: Path) -> None:
    certificate_of(MODELS["growing"]).write(tmp_path)
    manifest = manifest_of(tmp_path)
    assert problem(tmp_path, manifest) == ""
    change(manifest)
    assert told in problem(tmp_path, manifest)


LEMMA = """; Relu-14, for any numbers $0, $1, ...
(set-logic ALL)
(declare-const $0 Int)
(define-fun in0@0 () Int $0)
(declare-const out0@0 Int)
(assert (= out0@0 in0@0))
(define-fun claim0 () Bool (= out0@0 $0))
(assert (not (and claim0)))
(check-sat)
"""

ODD_LEMMAS = [
    ("(set-logic ALL)\n", "", "it must begin with set-logic and end with check-sat"),
    ("(check-sat)\n", "", "it must begin with set-logic and end with check-sat"),
    ("(declare-const out0@0 Int)", "(push 1)", "odd command: (push 1)"),
    ("(declare-const out0@0 Int)", "(declare-const $0 Int)", "$0 has two meanings"),
    ("(assert (not (and claim0)))", "(assert (not claim0))", "its last assertion must be that some claim is false"),
    ("(assert (= out0@0 in0@0))", "(assert (= out0@0 $0))", "its specification must speak of the node alone"),
    ("(declare-const out0@0 Int)", "(define-fun out0@0 () Int $0)", "its specification must speak of the node alone"),
]


@pytest.mark.parametrize(("old", "new", "told"), ODD_LEMMAS)
def test_a_lemma_of_another_form_is_refused(old: str, new: str, told: str) -> None:
    assert check.Lemma(LEMMA).claims == [("=", "out0@0", "$0")]
    with pytest.raises(check.WrongError, match=re.escape(told)):
        check.Lemma(LEMMA.replace(old, new))


def test_bounds_must_be_those_of_the_manifest(written: Path) -> None:
    manifest = manifest_of(written)
    manifest["symbols"] |= {name: f"(<= 1 {name})" for name in manifest["symbols"]}
    assert "nothing bounds " in problem(written, manifest)


def test_a_name_of_a_size_may_have_no_closer_bounds(written: Path) -> None:
    chain = check.Chain(
        manifest_of(written) | {"symbols": {"s": "(<= 0 s 2147483647)", "t": "(<= 1 t 5)"}, "inputs": []}, {}
    )
    lemma = check.Lemma(LEMMA)
    lemma.defined["$0"] = "out0@0"
    assert chain.may_name("s", "$0", lemma)
    assert not chain.may_name("t", "$0", lemma)
    lemma.defined["$0"] = "out0@e1"
    lemma.sorts["out0@e1"] = "Int"
    assert not chain.may_name("s", "$0", lemma)


def test_a_solver_that_is_not_there_is_told(written: Path) -> None:
    assert checked(written, "--solver", "nobody") == (
        2,
        "nobody is neither a program nor one of the modules cvc5 and z3\n",
    )


def test_any_program_that_prints_unsat_is_a_solver(written: Path, tmp_path: Path) -> None:
    program = tmp_path / "solver"
    for answer, code in (("unsat", 0), ("unknown", 1)):
        program.write_text(f"#!/bin/sh\ngrep -q '(not (and claim' $2 && echo {answer}\n")
        program.chmod(0o755)
        assert checked(written, "--solver", f"{program} --quiet")[0] == code


def test_another_document_is_no_manifest(written: Path, tmp_path: Path) -> None:
    (tmp_path / "check.py").write_bytes((written / "check.py").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": "absint.check/2"}), "utf-8")
    assert checked(tmp_path) == (2, "manifest.json: not of absint.certificate/1\n")
