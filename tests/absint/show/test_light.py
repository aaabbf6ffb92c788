"""Without onnx, numpy, Z3 and whatever else a browser lacks: an answer equals that of a full installation, or what is
lacking leaves it open, and it says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import onnx
import pytest
from onnx import TensorProto, helper

from absint.lattices.logic.relation import Relation
from absint.lattices.text import parse, parse_relation
from absint.solver.constraints import ConstraintSet, meets
from absint.solver.prove import Prover
from tests.real_models import EXAMPLES, PATHS, ROOT

FORBIDDEN: Final = ("onnx", "numpy", "z3", "google", "ml_dtypes", "networkx", "onnx_ir", "onnxruntime", "rich", "cvc5")

PROGRAM: Final = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import PathFinder

forbidden, lines = json.load(sys.stdin)
found = PathFinder.find_spec

def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in forbidden else found(name, path, target)

class Telling:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in forbidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

PathFinder.find_spec = find_spec
sys.meta_path.append(Telling())  # as Pyodide's, which tells how to install a package
from absint.cli import run
for line in lines:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = run(line)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""

Z3: Final = "z3-solver is not installed: pip install z3-solver"
ONNX: Final = "onnx is not installed: pip install onnx"


class Said(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


def said(lines: Sequence[Sequence[str]], forbidden: Sequence[str] = ()) -> list[Said]:
    """The answers of a fresh process to command lines."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        input=json.dumps([forbidden, lines]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Said(*json.loads(line)) for line in done.stdout.splitlines()]


def light(*lines: Sequence[str]) -> list[Said]:
    return said(lines, FORBIDDEN)


def ranges(path: Path, sizes: str) -> list[str]:
    """Sizes of all symbols of a model, as arguments."""
    return [f"{name}={sizes}" for name in symbols(path)]


@cache
def symbols(path: Path) -> tuple[str, ...]:
    model = onnx.load(path, load_external_data=False)
    fed = {tensor.name for tensor in model.graph.initializer}
    dims = (d for i in model.graph.input if i.name not in fed for d in i.type.tensor_type.shape.dim)
    return tuple(dict.fromkeys(d.dim_param for d in dims if d.dim_param.isidentifier()))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_answers_about_the_examples(path: Path) -> None:
    hold_together(path)


@pytest.mark.share(8)
@pytest.mark.parametrize("path", PATHS[len(EXAMPLES) :], ids=lambda path: path.stem)
def test_answers_about_real_models(path: Path) -> None:
    hold_together(path)


def hold_together(path: Path) -> None:
    """Each answer about the model without the packages equals the full one, or says that it is open for lack of one."""
    model, name = str(path), next(iter(symbols(path)), "1")
    relations = [f"{name} >= 0", f"{name} * {name} >= {name}", f"{name} == 5"]
    same = [
        ["analyze", model],
        ["analyze", model, "--values", "--format", "json"],
        ["cost", model],
        ["cost", model, "--format", "json"],
        ["devices", model],
        ["lint", model, "--format", "json"],
        ["check", model, *ranges(path, "3"), "--format", "json"],
        ["contract", model, "--role", "all"],
    ]
    solved = [
        ["contract", model, "--format", "json"],
        ["check", model, *ranges(path, "1..64"), "--format", "json"],
        ["prove", model, *relations, "--evidence", "none", "--format", "json"],
    ]
    with_all, without = said([*same, *solved]), light(*same, *solved)
    for line, full, less in zip(same, with_all, without, strict=False):
        if line[0] == "check" and full.code and less != full:  # without Z3 fewer legal sizes are known to be near
            full, less = (item._replace(out=json.dumps({**item.record, "nearest": None})) for item in (full, less))
        assert less == full or says_what_onnx_lacks(full, less), line
    compare_contracts(*(item[-3].record for item in (with_all, without)))
    compare_ranges(*(item[-2].record for item in (with_all, without)))
    for full, less in zip(*(item[-1].record["proofs"] for item in (with_all, without)), strict=True):
        assert less["verdict"] == full["verdict"] or (less["verdict"] == "unknown" and less["reason"] == Z3)


def says_what_onnx_lacks(full: Said, less: Said) -> bool:
    return ONNX in less.out and ONNX not in full.out


def compare_contracts(full: Mapping[str, Any], less: Mapping[str, Any]) -> None:
    if less != full:
        assert less["reason"] == Z3
        assert less["possible"] in (None, full["possible"])
        assert len(less["doubts"]) >= len(full["doubts"])
        if full["possible"] is not False:
            assert equivalent(*(clauses(item) for item in (full, less)))


def clauses(record: Mapping[str, Any]) -> list[Relation]:
    found = [parse_relation(clause["relation"]) for clause in record["clauses"]]
    for name, text in reversed(record["definitions"].items()):  # each is over those before it
        meant = parse(text)
        found = [each.substitute({s: meant for s in each.symbols if s.name == name}) for each in found]
    return found


def equivalent(first: Sequence[Relation], second: Sequence[Relation]) -> bool:
    """Z3 finds no size that tells them apart, nor is there one among a thousand."""
    prover = Prover(ConstraintSet())
    pairs = [(first, clause) for clause in second] + [(second, clause) for clause in first]
    names = sorted({name for clause in (*first, *second) for name in clause.free_symbols})
    draw = Random(0)
    tried = [
        {name: draw.choice((draw.randint(0, 40), 32 * draw.randint(0, 20))) for name in names} for _ in range(1000)
    ]
    return all(prover.entails(known, clause).entailed is not False for known, clause in pairs) and all(
        meets(first, sizes) == meets(second, sizes) for sizes in tried
    )


def compare_ranges(full: Mapping[str, Any], less: Mapping[str, Any]) -> None:
    order = ["undecided", "legal", "runs"]
    if less["outcome"] != full["outcome"]:
        assert less["outcome"] in order
        assert full["outcome"] == "illegal" or order.index(less["outcome"]) < order.index(full["outcome"])
        assert less["reason"] == Z3 or len(less["doubts"]) > len(full["doubts"])


COMMANDS: Final = {
    "annotate": (["-o", "-"], "onnx"),
    "audit": ([], "onnx"),
    "certify": (["-o", "out"], "numpy"),
    "diff": (["examples/tiny_decoder.onnx"], "onnx"),
    "dynamize": (["-o", "-", "batch"], "onnx"),
    "export-queries": (["-o", "out"], "numpy"),
    "freeze": (["-o", "-"], "numpy"),
    "ranges": ([], "numpy"),
    "rules": ([], "numpy"),
    "study": ([], "numpy"),
}
"""Commands that need more than a browser has: their arguments after the model, and what they need first."""


def test_each_other_command_says_what_it_needs() -> None:
    answers = light(*([name, "examples/tiny_decoder.onnx", *more] for name, (more, _) in COMMANDS.items()))
    for (name, (_, package)), answer in zip(COMMANDS.items(), answers, strict=True):
        assert answer == (2, "", f"absint: error: absint {name} needs {package}: pip install {package}\n")


def test_commands_that_need_z3_alone_say_so(tmp_path: Path) -> None:
    lines = [["certify", "examples/tiny_decoder.onnx", "-o", str(tmp_path)], ["rules", "Conv", "--prove"]]
    certify, rules = said(lines, ["z3"])
    assert certify == (2, "", f"absint: error: absint certify needs Z3: {Z3}\n")
    assert rules == (2, "", f"absint: error: --prove needs Z3: {Z3}\n")


def test_a_report_is_written(tmp_path: Path) -> None:
    (answer,) = light(["report", "examples/tiny_detector.onnx", "-o", str(tmp_path / "report.html")])
    assert answer.code == 0
    assert "height, width &gt;= 1" in (tmp_path / "report.html").read_text()


def test_equal_says_why_pairs_are_undecided() -> None:
    (answer,) = light(["equal", "examples/tiny_detector.onnx"])
    assert f"not all were compared: {Z3}" in answer.out


def saved(path: Path, nodes: Sequence[onnx.NodeProto], inputs: Sequence[str], outputs: Sequence[str]) -> str:
    def info(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", "M"])

    outs = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(nodes, "g", [info(name) for name in inputs], outs)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return str(path)


def test_operators_without_a_rule_are_unknown_as_ever(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Own", ["y"], ["a"], domain="my.domain"),
        helper.make_node("NoSuch", ["y"], ["b"]),
    ]
    line = ["analyze", saved(tmp_path / "own.onnx", nodes, ["x"], ["a", "b"]), "--values"]
    assert light(line) == said([line])


def test_what_onnx_would_compute_is_unknown_and_told(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.INT64, [3], [0, 5, 7])),
        helper.make_node("ArgMax", ["c"], ["sizes"]),
        helper.make_node("ConstantOfShape", ["sizes"], ["y"]),
    ]
    line = ["analyze", saved(tmp_path / "known.onnx", nodes, ["x"], ["y"]), "--format", "json"]
    (full,), (less,) = said([line]), light(line)
    assert full.record["outputs"][0]["shape"] == [2]
    assert less.record["outputs"][0]["shape"] not in ([], [2])
    assert f"what its inputs decide stays unknown: {ONNX}" in less.out
    assert ONNX not in full.out


def test_a_table_without_a_rule_leaves_what_the_schema_knows_unknown(tmp_path: Path) -> None:
    path = saved(tmp_path / "gelu.onnx", [helper.make_node("HardSwish", ["x"], ["y"])], ["x"], ["y"])
    code = f"""
import sys
sys.modules["onnx"] = None
import absint
from absint.transfer.families import shipped
rest = absint.Table([rule for rule in shipped().rules if "HardSwish" not in rule.names])
result = absint.analyze({path!r}, table=rest)
print(result.values["y"], *(item for item in result.diagnostics))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "no transfer rule (1 node); outputs are unknown" in done.stdout
    assert f"its schema is not asked: {ONNX}" in done.stdout
