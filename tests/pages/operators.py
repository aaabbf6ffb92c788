"""docs/operators.md, written from the table of rules, what the rules state in the tests, and the runtimes' kernels.

python -m tests.pages.operators [--check]
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Final

import onnx
import onnxruntime
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

import absint
from absint.lattices.value import Tensor
from absint.research.specification.specs import specification
from absint.transfer.families import shipped
from absint.transfer.reduction import DOMAIN as TRAINING
from absint.transfer.rule import MICROSOFT, Rule
from tests.pages import settle
from tests.soundness.models import Variant, node_tests
from tests.transfer.harness import Case, apply_case

PAGE: Final = Path(__file__).parents[2] / "docs" / "operators.md"

INTRODUCTION: Final = """\
Written by `python -m tests.pages.operators`, from the table of rules, what the rules stated in the tests, and what the
runtimes have. *Versions* are those in which the schema changed; they lead to the operator's document. Where an older
version has a rule of its own, its words follow after the versions that it serves; what onnxruntime computes otherwise
stands last. *Requires* lists what a node states as necessary for a run, n for a number.
*Contents* says whether elements are followed through the operator when those of the inputs are known in part;
constants are followed besides where no runtime can differ (`absint/shapes/application.py`). *Run by* says which
runtimes the tests can execute it with. *Rule* says what the rule rests on, with the versions where these differ:
*proved* against a specification for all sizes (tests/specification; [rules.md](rules.md) says what that means),
*tested* against runs at some sizes, or *assumed*: neither."""

NOT_EXECUTED: Final = """\
What the rules of these say is held against what onnxruntime infers when it loads a model with them, where it infers
anything, and otherwise against the sizes that its documentation gives. Some are proved all the same."""

NEVER_RUN: Final = {
    ("com.microsoft", "WhisperBeamSearch"): "it takes a model of sounds in several graphs, which the tests do not have"
}
"""Operators that onnxruntime has and no test runs."""

NHWC: Final = "com.ms.internal.nhwc"

CONTRIB: Final = "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md"

Operator = tuple[str, str]
"""Domain and name."""

LOWERED: Final = {
    "If": "Outputs of the branch that is taken: equal dims stay, different ones are a choice by the condition.",
    "Loop": "Carried values joined to a fixpoint over the trips; scan outputs get a first axis, a row for each trip.",
    "Scan": "As a Loop over the slices of the scanned axes; the axes of the outputs as the attributes say.",
    "SequenceMap": "The body once for each element: sequences of the same length.",
}
"""Operators that have no rule, since they become plain nodes."""


@dataclass
class Facts:
    """Observations of an operator's rules in the tests."""

    requirements: dict[str, None] = field(default_factory=dict)
    contents: bool = False


def test_cases(item: object) -> Iterator[Case]:
    """The cases in nested containers."""
    if isinstance(item, Case):
        yield item
    elif isinstance(item, (list, tuple, dict)):
        for part in item.values() if isinstance(item, dict) else item:
            yield from test_cases(part)


def all_cases() -> Iterator[Case]:
    """Every case of tests/transfer."""
    for path in sorted((Path(__file__).parents[1] / "transfer").glob("test_*.py")):
        for item in vars(import_module(f"tests.transfer.{path.stem}")).values():
            yield from test_cases(item)


def general(reason: str) -> str:
    """A reason without the numbers of one case."""
    text = re.sub(r", found .*", "", reason)
    text = re.sub(r"'[^']*'", "...", text)
    text = re.sub(r"\[[^\]]*\]", "[...]", re.sub(r"-?\d+(\.\d+)?(?!-?D)", "n", text))
    return text.replace("|", "\\|")


def observed() -> Mapping[Operator, Facts]:
    """Statements of the rules over the case tables and the symbolic node tests."""
    facts: dict[Operator, Facts] = defaultdict(Facts)
    for case in all_cases():
        applied = apply_case(case)
        found = facts[case.domain, case.op]
        found.requirements |= dict.fromkeys(general(s.reason) for s in applied.statements if s.role == "required")
        found.contents |= any(isinstance(v, Tensor) and v.contents is not None for v in applied.outputs)
    for test in node_tests().values():
        result = absint.analyze(Variant(test, "constant", "distinct").model, refine=False)
        for number, node in enumerate(result.nodes):
            if node.operation is not None:
                found = facts[node.operation.domain, node.operation.op_type]
                stated = result.analysis.statements(number)
                found.requirements |= dict.fromkeys(general(s.reason) for s in stated if s.role == "required")
    return facts


def versions(operator: Operator) -> list[int]:
    """The versions of an operator's schema that the installed `onnx` knows; [1] for a domain that it does not know."""
    return _history().get(operator, [1])


@cache
def _history() -> Mapping[Operator, list[int]]:
    history: dict[Operator, list[int]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        history[schema.domain, schema.name].append(schema.since_version)
    return {operator: sorted(found) for operator, found in history.items()}


def rules_of(operator: Operator) -> Iterator[tuple[str, Rule]]:
    """The rules that serve an operator with the versions of each, as text, the newest first."""
    spans: list[tuple[Rule, int, int]] = []
    known = versions(operator)
    ends = [*(v - 1 for v in known[1:]), 0]
    for first, last in zip(known, ends, strict=True):
        rule = shipped().lookup(*operator, first)
        if rule is None:
            continue
        if spans and spans[-1][0] is rule:
            spans[-1] = (rule, spans[-1][1], last)
        else:
            spans.append((rule, first, last))
    for rule, first, last in reversed(spans):
        yield f"{first}-{last}" if last > first else f"{first}" if last else f"{first}+", rule


def words(operator: Operator) -> str:
    """The shape rule in words, for each range of versions that has one of its own."""
    if operator[0] == "" and operator[1] in LOWERED:
        return LOWERED[operator[1]]
    texts = [(span, rule.summary.replace("|", "\\|")) for span, rule in rules_of(operator)]
    texts += [("onnxruntime", text) for text in dict.fromkeys(rule.deviation for _, rule in rules_of(operator)) if text]
    return "<br>".join(text if number == 0 else f"{span}: {text}" for number, (span, text) in enumerate(texts))


@cache
def kernels() -> frozenset[Operator]:
    """The operators that the CPU build of onnxruntime can run in some version."""
    found = (kernel for kernel in get_all_opkernel_def() if kernel.provider == "CPUExecutionProvider")
    return frozenset(("" if kernel.domain == "ai.onnx" else kernel.domain, kernel.op_name) for kernel in found)


def has_reference(operator: Operator) -> bool:
    """onnx.reference implements the operator, or runs the function body of its schema."""
    domain, name = operator
    if not defs.has(name, domain):
        return False
    schema = defs.get_schema(name, domain=domain)
    names = [f"i{at}" for at in range(schema.min_input)]
    node = helper.make_node(name, names, ["o"], domain=domain)
    inputs = [onnx.ValueInfoProto(name=name) for name in names]
    graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name="o")])
    imports = [helper.make_opsetid(domain, schema.since_version)]
    try:
        ReferenceEvaluator(helper.make_model(graph, opset_imports=imports))
    except NotImplementedError:
        return False
    except Exception:  # it has the operator, and wants attributes that are not here
        return True
    return True


def run_by(operator: Operator) -> str:
    """The runtimes that the tests can execute the operator with."""
    if operator in NEVER_RUN:
        return "none"
    runtimes = ["onnxruntime"] * (operator in kernels()) + ["onnx.reference"] * has_reference(operator)
    return "both" if len(runtimes) == 2 else runtimes[0] if runtimes else "none"


def operators() -> list[Operator]:
    """Every operator that has a rule or is lowered, by domain and name."""
    ruled = {(rule.domain, name) for rule in shipped() for name in rule.names}
    return sorted(ruled | {("", name) for name in LOWERED})


def evidence(operator: Operator) -> str:
    """What the rule rests on: *proved* of the versions that have a specification; of others *tested* or *assumed*."""
    known = versions(operator)
    found = [version for version in known if specification(*operator, version) is not None]
    other = "assumed" if run_by(operator) == "none" else "tested"
    if not found or found == known:
        return "proved" if found else other
    left = (version for version in known if version not in found)
    return f"proved {', '.join(map(str, found))}; {other} {', '.join(map(str, left))}"


def document(operator: Operator) -> str:
    """The page of an operator in ONNX's documents or in those of onnxruntime; empty if neither has one."""
    domain, name = operator
    if operator in _history():
        return f"https://onnx.ai/onnx/operators/onnx_{'_' if not domain else domain.replace('.', '') + '_'}{name}.html"
    return f"{CONTRIB}#{domain}.{name}" if domain == MICROSOFT else ""


def row(operator: Operator, facts: Facts) -> str:
    """One line of the page."""
    known = ", ".join(map(str, versions(operator)))
    requirements = "; ".join(facts.requirements)
    contents = "yes" if facts.contents else ""
    if link := document(operator):
        known = f"[{known}]({link})"
    cells = (f"`{operator[1]}`", known, words(operator), requirements, contents, run_by(operator), evidence(operator))
    return f"| {' | '.join(cells)} |"


def page(facts: Mapping[Operator, Facts]) -> str:
    """The whole page."""
    lines = ["# Operators", "", INTRODUCTION]
    count = len(operators())
    lines += ["", f"{count} operators; with onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}."]
    found = Counter(evidence(operator) for operator in operators())
    parts = sum(found.values()) - sum(found[word] for word in ("proved", "tested", "assumed"))
    lines[-1] += f" {found['proved']} are proved in all versions, {parts} in some; {found['tested']} are tested,"
    lines[-1] += f" {found['assumed']} assumed."
    for domain in dict.fromkeys(domain for domain, _ in operators()):
        chosen = [operator for operator in operators() if operator[0] == domain]
        lines += ["", f"## {domain or 'ai.onnx'} ({len(chosen)})", ""]
        lines += [
            "| operator | versions | shapes | requires | contents | run by | rule |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [row(operator, facts.get(operator, Facts())) for operator in chosen]
    lines += ["", "## Not executed", "", NOT_EXECUTED, ""]
    left = [operator for operator in operators() if run_by(operator) == "none"]
    for reason, chosen in groupby(sorted(left, key=why_not_run), key=why_not_run):
        names = (f"`{domain}::{name}`" if domain else f"`{name}`" for domain, name in chosen)
        lines.append(f"- {reason}: {', '.join(names)}")
    return "\n".join(lines) + "\n"


def why_not_run(operator: Operator) -> str:
    """Why no runtime here can execute an operator."""
    domain, name = operator
    if operator in NEVER_RUN:
        return NEVER_RUN[operator]
    if domain == TRAINING:
        return "it names tensors of the graph around it, and neither runtime differentiates"
    if name.endswith("_TRT"):
        return "it is run by TensorRT alone"
    if name in ("EPContext", "Snpe"):
        return "it holds a model that was compiled for a device"
    if domain == NHWC:
        return "its kernels are for other devices; onnxruntime writes it into the models that it optimises for them"
    return "its kernels are for other devices than the CPU"


def main() -> int:
    """Write the page; with --check, 1 if it is not up to date."""
    warnings.simplefilter("ignore")
    return settle(PAGE, page(observed()), check="--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
