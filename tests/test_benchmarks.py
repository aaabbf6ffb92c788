"""The benchmarks run: their figures are looked at by people, not by tests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import absint
from absint.research.study.solvers import by_z3
from tests.absint.shapes.flows import FLOWS

ROOT = Path(__file__).parents[1]
MODEL = "examples/tiny_decoder.onnx"


def output(script: str, *arguments: str) -> str:
    command = [sys.executable, f"benchmarks/{script}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_compare_measures_every_form_and_way(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    told = output("compare.py", MODEL, "--engines", "absint", "onnx", "--runs", "1", "--json", str(figures))
    found = json.loads(figures.read_text())
    assert set(found) == {f"{f} {w}" for f in ("exported", "stripped") for w in ("memory", "file", "process")}
    for setting, rows in found.items():
        replies = rows["tiny_decoder"]["engines"]
        assert set(replies) == {"absint", "onnx"}
        assert all(reply["median"] > 0 for reply in replies.values()), replies
        assert f"{', from '.join(setting.split())}: times of onnx" in told


def test_big_files_are_measured(tmp_path: Path) -> None:
    told = output("big_files.py", "--mb", "1", "--sparse-mb", "2", "--runs", "1", "--folder", str(tmp_path))
    assert told.count("absint analyze") == 3
    assert "exit" not in told


@pytest.mark.parametrize(
    ("script", "arguments", "told"),
    [
        ("floor.py", [MODEL], "absint, remembered"),
        ("checkouts.py", [".", ".", "--models", MODEL, "--rounds", "1"], "all remembered"),
        ("readability.py", [MODEL], "tiny_decoder"),
        ("queries.py", ["--queries", "3", "--layers", "1"], "queries"),
    ],
)
def test_others_run(script: str, arguments: list[str], told: str) -> None:
    assert told in output(script, *arguments)


QUERIES = {
    "unsat-halves": """
        (declare-const x0 Int) (declare-const x1 Int)
        (assert (<= 0 x0 2147483647)) (assert (<= 0 x1 2147483647))
        (define-fun $1 () Int (+ (div x0 2) (div (+ x0 1) 2)))
        (assert (= x1 (* 2 x0)))
        (assert (not (and (= $1 x0) (>= x1 x0))))""",
    "unsat-broadcast": """
        (declare-const x0 Int) (declare-const x1 Int)
        (assert (<= 1 x0 2147483647)) (assert (<= 1 x1 2147483647))
        (assert (or (= x0 x1) (= x0 1)))
        (assert (not (= (ite (= x0 1) x1 x0) x1)))""",
    "unknown-twice": """
        (declare-const x0 Int)
        (assert (<= 0 x0 2147483647))
        (assert (not (= (div (* 2 x0) 2) x0)))""",
    "sat-halves": """
        (declare-const x0 Int)
        (assert (<= 0 x0 2147483647))
        (assert (not (= (* 2 (div x0 2)) x0)))""",
    "sat-strict": """
        (declare-const x0 Int) (declare-const x1 Int)
        (assert (<= 0 x0 2147483647)) (assert (<= 0 x1 2147483647)) (assert (< x0 x1))
        (assert (>= x0 (- x1 1)))""",
}


def test_provers_are_asked_the_same(tmp_path: Path) -> None:
    (tmp_path / "QF_LIA").mkdir()
    for name, text in QUERIES.items():
        script = f'(set-info :notes "a ""text"" (assert")\n(set-logic QF_LIA){text}\n(check-sat)\n(exit)\n'
        (tmp_path / "QF_LIA" / f"{name}.smt2").write_text(script)
    told = output("provers.py", str(tmp_path)).splitlines()
    heads = (
        "| prover | of 2 that hold | of 1 that runs agree with | of 2 that do not hold | no form | no time | failed |"
    )
    assert told[0].startswith(heads)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told[2:5]]
    assert [row[:7] for row in rows] == [[name, "2", "1", "0", "0", "0", "0"] for name in ("absint", "z3", "cvc5")]
    assert told[-1] == "settled: 1 of 1"


def test_queries_are_drawn_from_runs(tmp_path: Path) -> None:
    """A pair that differs in a run follows from nothing; some that agree in all runs do."""
    (tmp_path / "models").mkdir()
    shutil.copy(ROOT / MODEL, tmp_path / "models")
    told = output("drawn.py", str(tmp_path / "models"), "--output", str(tmp_path / "queries"), "--pairs", "4")
    files = sorted((tmp_path / "queries").glob("*/*.smt2"))
    verdicts = {(file.name.partition("-")[0], by_z3(file.read_text(), 10.0)[0]) for file in files}
    assert len(files) > 4
    assert ("unknown", "unsat") in verdicts
    assert {verdict for status, verdict in verdicts if status == "sat"} == {"sat"}
    assert told.startswith("1 models, ")


def test_what_jax_can_be_told() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import asking
    finally:
        sys.path.pop(0)
    query = asking.Query(QUERIES["unsat-halves"])
    assert query.names == ["x0", "x1"]
    parts = [asking.comparison(part) for part in asking.conjuncts(asking.negation_of(query))]
    assert parts == [("=", "$1", "x0"), (">=", "x1", "x0")]
    plain = {"x0": 7, "x1": 14}
    assert asking.Language(plain, query.defined).read("$1") == 7
    broadcast = asking.Query(QUERIES["unsat-broadcast"])
    with pytest.raises(asking.NoFormError):
        asking.Language(plain, {}).read(asking.negation_of(broadcast))
    strict = asking.Query(QUERIES["sat-strict"])
    assert asking.comparison(asking.negation_of(strict)) == ("<", "x0", ["-", "x1", "1"])


def test_parts_of_the_analysis_are_worth_something(tmp_path: Path) -> None:
    onnx.save(FLOWS["loop_counts_down"]().model, tmp_path / "loop.onnx")
    told = output("ablations.py", f"one={tmp_path}", "--runs", "1")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines() if line.startswith("| ")
    ]
    known = {row[0]: int(row[1].replace(",", "")) for row in rows[2:]}
    assert known["everything"] == known["without the memo"] > known["without closed forms of loops"]
    assert known["everything"] >= known["without rewrites of operations"] >= known["without the normal form"]


TERMS = [
    "a + b", "b + a", "2 * a // 2", "(a + 1) // 2 + a // 2", "max(a, b + 1) - b", "min(a, 3) * (a - b)", "a % 3",
    "max(b, a)", "(a * b + 6) // 3 // 2", "ite(a >= b, a, b)", "ite(a == 2, 2, a)", "a - a", "a * 0 + 1 * b",
]  # fmt: skip
SIZES = [{"a": a, "b": b} for a in range(5) for b in range(4)]
PLAIN = """
import json, sys
sys.path.insert(0, "benchmarks")
import plain_terms
from absint import Dim
getattr(plain_terms, sys.argv[1])()
found = list(map(Dim, json.loads(sys.argv[2])))
print(json.dumps([[dim.evaluate(sizes) for sizes in json.loads(sys.argv[3])] for dim in found]))
print(json.dumps([dim is found[0] for dim in found]))
print(json.dumps([dim is Dim("a") for dim in found]))
"""


@pytest.mark.parametrize(("way", "commutes"), [("without_rewrites", True), ("structural", False)])
def test_plain_terms_have_the_values_of_normal_forms(way: str, commutes: bool) -> None:
    command = [sys.executable, "-c", PLAIN, way, json.dumps(TERMS), json.dumps(SIZES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, like_the_first, like_a = map(json.loads, done.stdout.splitlines())
    assert values == [[absint.Dim(text).evaluate(sizes) for sizes in SIZES] for text in TERMS]
    assert like_the_first[:2] == [True, commutes]
    assert not any(like_a)
    assert absint.Dim(TERMS[2]) is absint.Dim("a")


def test_studies_of_a_set_for_least_sizes(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    shutil.copy(ROOT / MODEL, models)
    out = tmp_path / "out"
    told = output("studies.py", str(out), "--set", f"tiny={models}", "--no-adversarial", "--jobs", "1",
                  "--source", "sound", "--source", "declared")  # fmt: skip
    assert "### tiny: 1 models" in told
    lines = [line for line in told.splitlines() if line.startswith("| policy sound")]
    assert [line.split(" | ")[-3:] for line in lines] == [["0", "0", "0 |"]]
    assert json.loads((out / "refuted.json").read_text()) == []
    assert {path.name for path in out.iterdir()} == {"refuted.json", "tiny-0", "tiny-1", "tiny-2"}


def test_windows_larger_than_the_axis_are_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from windows import by_a_large_window

    pool = "MaxPool <kernel_shape = [3], strides = [2], pads = [1, 0]>"
    head = '<ir_version: 10, opset_import: ["": 18]> graph (float[1, 1, L] x) => (float[1, 1, M] y)'
    text = f"{head} {{[p] y = {pool} (x)}}"
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    claim = {"operator": "MaxPool", "cause": "MaxPool p"}
    found = [by_a_large_window(tmp_path / "m.onnx", {**claim, "counterexample": {"L": size}}) for size in (0, 1, 2, 3)]
    assert found == [True, True, False, False]
    assert not by_a_large_window(tmp_path / "m.onnx", {**claim, "operator": "Slice", "counterexample": {"L": 1}})


def test_jobs_beside_other_tools_names_every_job() -> None:
    told = output("jobs.py", "--help")
    assert "{legal,illegal,misspelt,check,dynamize,profile,diff,lint,infer}" in told
