"""Each rule finds what it is for, and nothing where it is not."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import onnx
import pytest

import absint
from absint.diagnostics import Diagnostic, Severity
from absint.jobs.linting.finding import OF_DIAGNOSTICS, RULES, SILENT, Finding, fingerprints
from absint.jobs.linting.model import findings
from absint.jobs.linting.weights import _grouped
from absint.lattices.logic.relation import TRUE, disjunction, eq, ge
from absint.lattices.terms.expr import symbol
from absint.solver.constraints import Constraint, Origin
from absint.solver.contracts.contract import by_cause
from tests.absint.jobs.auditing.models import model
from tests.absint.jobs.linting.models import BUILT, PAIRS, Pair, external
from tests.absint.model.test_opening import POINTER

ROOT = Path(__file__).parents[4]
CASES = [pytest.param(code, pair, id=f"{code}-{n}") for code, pairs in PAIRS.items() for n, pair in enumerate(pairs)]


def found(text: str, opset: int = 18) -> list[Finding]:
    return list(findings(absint.analyze(model(text, opset)), run=True))


@pytest.mark.parametrize(("code", "pair"), CASES)
def test_a_rule_finds_its_fault(code: str, pair: Pair) -> None:
    mine = [str(item) for item in found(pair.bad, pair.opset) if item.code == code]
    assert len(mine) == 1, found(pair.bad, pair.opset)
    assert pair.text in mine[0]


@pytest.mark.parametrize(("code", "pair"), CASES)
def test_a_rule_finds_nothing_without_it(code: str, pair: Pair) -> None:
    assert [str(item) for item in found(pair.good, pair.opset) if item.code == code] == []


@pytest.mark.parametrize("code", BUILT)
def test_models_that_no_text_expresses(code: str) -> None:
    (item,) = (item for item in findings(absint.analyze(BUILT[code]())) if item.code == code)
    assert item.severity is RULES[code].severity
    assert code not in {item.code for item in found("(float[N] x) => (z) {z = Relu(x)}")}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (32, None),
        (31, "ABS006 weights in 'w.bin': the file is too short: it has 31 bytes, and is to hold tensor 'w'"),
        (None, "ABS006 weights in 'w.bin': the file does not exist, and is to hold tensor 'w'"),
    ],
)
def test_weights_beside_the_model(tmp_path: Path, written: int | None, text: str | None) -> None:
    path = external(tmp_path, written=32 if written is None else written)
    if written is None:
        (tmp_path / "w.bin").unlink()
    texts = [str(item) for item in findings(absint.analyze(path)) if item.code == "ABS006"]
    assert texts == ([] if text is None else [text])


def outside(name: str, location: str) -> onnx.TensorProto:
    """64 x 64 floats in another file."""
    tensor = onnx.TensorProto(name=name, dims=[64, 64], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\0" * 16384, None),
        (b"\0" * 16383, "the file is too short: it has 16,383 bytes"),
        (None, "the file does not exist"),
        (POINTER, "the file is a pointer of Git LFS ('git lfs pull' fetches the file)"),
    ],
)
def test_large_weights_of_graphs_bodies_and_attributes(tmp_path: Path, content: bytes | None, text: str | None) -> None:
    body = (
        """then_branch = a () => (float[64, 64] p) {p = Neg(x)}, else_branch = b () => (float[64, 64] q) {q = Abs(x)}"""
    )
    proto = model(
        f"(float[64, 64] x, bool c) => (z) {{h = If(c) <{body}> k = Constant<value_int = 1>() z = MatMul(h, w)}}"
    )
    proto.graph.initializer.append(outside("w", "w.bin"))
    proto.graph.node[0].attribute[0].g.initializer.append(outside("inner", "w.bin"))
    proto.graph.node[1].attribute[0].CopyFrom(onnx.helper.make_attribute("value", outside("kept", "w.bin")))
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    if content is not None:
        (tmp_path / "w.bin").write_bytes(content)
    found = [item for item in findings(absint.analyze(tmp_path / "m.onnx")) if item.code == "ABS006"]
    assert [item.message for item in found] == ([] if text is None else [f"{text}, and is to hold tensor 'w'"])
    assert [item.count for item in found] == ([] if text is None else [3])


def test_every_rule_is_tested() -> None:
    """Those about files, processes and plugins have tests of their own."""
    others = {
        "ABS001",
        "ABS002",
        "ABS003",
        "ABS004",
        "ABS005",
        "ABS006",
        "ABS402",
        "ABS403",
        "ABS404",
        "ABS502",
        "ABS505",
    }
    assert {*PAIRS, *BUILT, *others} == set(RULES)


@pytest.mark.parametrize(
    ("kind", "severity", "code", "expected"),
    [
        ("limit", Severity.WARNING, "ABS004", Severity.WARNING),
        ("schema-inference", Severity.WARNING, "ABS402", Severity.INFO),
        ("rule-failed", Severity.WARNING, "ABS403", Severity.WARNING),
        ("plugin", Severity.WARNING, "ABS404", Severity.WARNING),
        ("node-form", Severity.INFO, "ABS502", Severity.INFO),
        ("something new", Severity.WARNING, "ABS505", Severity.WARNING),
        ("cannot-run", Severity.WARNING, "ABS106", Severity.WARNING),
    ],
)
def test_diagnostics_have_rules(kind: str, severity: Severity, code: str, expected: Severity) -> None:
    (item,) = _grouped([Diagnostic(severity, kind, "Relu a", "text")])
    assert (item.code, item.severity, str(item)) == (code, expected, f"{code} Relu a: text")


def test_every_kind_of_diagnostic_has_a_rule() -> None:
    """Codes stand in calls of a report or of Diagnostic, as texts with a hyphen, or as constants."""
    calls = re.compile(
        r'(?:\.error|\.warn|\.note|_note|Diagnostic|LoadError)\([^()]*?"([a-z]+(?:-[a-z]+)+)"', re.DOTALL
    )
    constants = re.compile(r'^(?:CODE|[A-Z_]+): Final = "([a-z]+(?:-[a-z]+)+)"', re.MULTILINE)
    kinds: set[str] = set()
    for folder in ("program", "shapes", "solution", "questions/claims"):
        for file in (ROOT / "absint" / folder).rglob("*.py"):
            text = file.read_text("utf-8")
            kinds.update(calls.findall(text))
            if "Diagnostic" in text:
                kinds.update(constants.findall(text))
    assert {"undefined-input", "cannot-run", "no-rule", "overridable-initialisers", "plugin-rule"} <= kinds
    assert kinds - OF_DIAGNOSTICS.keys() - SILENT == {"false-declaration"}


def test_silent_diagnostics_are_no_findings() -> None:
    assert list(_grouped([Diagnostic(Severity.INFO, kind, "Relu a", "text") for kind in SILENT])) == []


def test_nodes_with_one_message_are_one_finding() -> None:
    layers = " ".join(f"y{n} = my.Nothing(x) z{n} = Add(x, i)" for n in range(12))
    items = found(f"(float[N] x, int32[N] i) => (z0) {{{layers}}}")
    assert [(item.code, item.count, len(item.others)) for item in items if item.code == "ABS102"] == [
        ("ABS102", 12, 11)
    ]
    assert str(items[0]).endswith("found FLOAT and INT32 (and 11 more nodes)")


CHAIN = "(float[N] x) => (float[8] z) <{declared}> {{a0 = Concat<axis = 0>(x, x) {nodes} z = Abs(a{last})}}"


def test_200_false_declarations_from_one_node_are_one_finding() -> None:
    """The first node in execution order is the cause, outputs come first among the others, and all are counted."""
    nodes = " ".join(f"a{n} = Relu(a{n - 1})" for n in range(1, 200))
    declared = ", ".join(f"float[N] a{n}" for n in range(200))
    items = found(CHAIN.format(declared=declared, nodes=nodes, last=199))
    (item,) = (item for item in items if item.code == "ABS202")
    assert str(item) == (
        "ABS202 value_info 'a0': declared [N], but it is [2*N]: false at N=1 "
        "(and 200 more declarations that follow from it)"
    )
    assert (item.count, item.others[0], len(item.others)) == (201, "output 'z'", 50)


def test_false_declarations_of_two_causes_are_two_findings() -> None:
    items = found(
        """(float[N] x, float[M] y) => (z, w) <float[N] a, float[N] b, float[M] c> {
            a = Concat<axis = 0>(x, x) b = Relu(a) z = Abs(b) c = Concat<axis = 0>(y, y) w = Abs(c)}"""
    )
    assert [(item.where, item.count) for item in items if item.code == "ABS202"] == [
        ("value_info 'a'", 2),
        ("value_info 'c'", 1),
    ]


def test_a_case_of_size_0_hides_no_narrow_symbol() -> None:
    """`seq == 8 or batch == 0`: a kernel skips an empty input."""
    items = found("(float[batch, seq] x, float[2, 8] y) => (z) {z = Concat<axis = 0>(x, y)}")
    assert [str(item) for item in items if item.code == "ABS301"] == [
        "ABS301 symbol 'seq' (x[1]): only size 8 is legal where no size is 0 "
        "(Concat #0: the inputs must agree on axis 1)"
    ]


def test_a_contract_without_legal_sizes() -> None:
    items = found("(float[N, 3] x, float[N] y, float[M] w) => (z, v) {z = Add(x, y) v = Relu(w)}")
    assert {item.code for item in items} >= {"ABS302"}


def test_an_unsound_policy_is_refused() -> None:
    result = absint.analyze(model("(float[N] x) => (z) {z = Relu(x)}"), policy="rename")
    with pytest.raises(absint.UsageError, match="lint needs the sound analysis"):
        findings(result)


def test_findings_come_whole_from_another_process() -> None:
    item = Finding("ABS202", Severity.WARNING, "output 'z'", "text", 3, ("a", "b"), {"N": 1}, {"k": [1]})
    found = pickle.loads(pickle.dumps(item))
    assert (found, found.sizes, found.data) == (item, item.sizes, item.data)


def test_names_cannot_break_lines() -> None:
    item = Finding("ABS101", Severity.ERROR, "a\nb", "c\x1b[31md", others=("e\rf",))
    assert str(item) == "ABS101 a\\nb: c\\x1b[31md"
    assert item.others == ("e\\rf",)


def test_fingerprints_stay_while_rule_and_place_do() -> None:
    one = Finding("ABS202", Severity.WARNING, "output 'z'", "false at N=1")
    same = Finding("ABS202", Severity.WARNING, "output 'z'", "false at N=7", 5)
    other = Finding("ABS201", Severity.WARNING, "output 'z'", "false at N=1")
    assert fingerprints([one]) == fingerprints([same])
    assert len(set(fingerprints([one, same, other]))) == 3
    assert fingerprints([one, other])[1] == fingerprints([other])[0]


def test_codes_are_well_formed() -> None:
    assert list(RULES) == sorted(RULES)
    for code, rule in RULES.items():
        assert re.fullmatch(r"ABS\d{3}", code) is not None
        assert rule.code == code
        assert rule.summary.endswith(".")
        assert rule.why.endswith(".")
    names = [rule.name for rule in RULES.values()]
    assert len(set(names)) == len(names)


def test_a_stopped_analysis_says_so(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model("(float[N] x) => (z) {a = Relu(x) b = Abs(a) z = Neg(b)}"), path)
    codes = [item.code for item in findings(absint.analyze(path, max_nodes=1))]
    assert "ABS004" in codes


def test_the_node_that_excludes_the_most_is_the_cause() -> None:
    """A window demands a size of at least 1 first; that branches meet again makes it a multiple of 4."""
    window, branches = (Origin(n, "", name, name, name) for n, name in enumerate(("Conv", "Concat")))
    H, B = symbol("H"), symbol("B")
    stated = [(ge(H, 1), window), (disjunction(eq(H % 2, 0), eq(B, 0)), branches)]
    stated += [(disjunction(eq(H % 4, 0), eq(B, 0)), branches._replace(name="deeper"))]
    because = tuple(Constraint(relation, TRUE, origin, "required", "") for relation, origin in stated)
    assert by_cause(eq(H % 4, 0), because)[0].origin.name == "deeper"
    assert by_cause(ge(H, 1), because)[0].origin.name == "Conv"


def test_models_are_run_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model("(float[batch, 4] x) => (float[batch, 4] z) {z = Softmax<axis = 0>(x)}"), path)
    assert [item.code for item in absint.lint(path).findings] == ["ABS310"]
    assert [item.code for item in absint.lint(path, run=True).findings] == ["ABS309"]
    assert [item.code for item in absint.lint(onnx.load(path), run=True).findings] == ["ABS309"]
