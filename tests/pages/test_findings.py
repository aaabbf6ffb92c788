"""Each row of docs/findings.md: the tool still says it, and a run shows another shape."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import pytest

from absint.lattices.terms.expr import Expr, UndefinedError
from absint.lattices.text import read_dim_param
from tests.pages import finding_reports
from tests.pages.findings import PAGE, Ending, Finding, by_reference, endings, findings, parsed, ran, said
from tests.soundness.runs import OnnxRuntime

FINDINGS = list(findings())
ENDINGS = list(endings())


def test_every_section_has_rows() -> None:
    titles = re.findall(r"\n## (.+)\n", PAGE.read_text("utf-8"))
    assert list(dict.fromkeys(found.title for found in (*FINDINGS, *ENDINGS))) == titles
    assert len(titles) >= 15


def test_versions_are_those_of_the_page() -> None:
    page = " ".join(PAGE.read_text("utf-8").split())
    for tool in {found.tool for found in FINDINGS}:
        assert re.search(rf"\b{tool} {re.escape(version(tool))} \(", page), tool


@pytest.mark.parametrize("found", FINDINGS, ids=str)
def test_the_tool_says_what_a_run_refutes(found: Finding) -> None:
    model = parsed(found.model)
    assert said(found.tool, model, found.value) == found.says
    assert ran(model, found.value, found.at) == found.run == by_reference(model, found.value, found.at)
    claimed, seen = found.says[1:-1].split(", "), [int(size) for size in found.run[1:-1].split(", ") if size]
    assert len(claimed) != len(seen) or any(
        value is not None and value != size for value, size in zip(at_sizes(claimed, found), seen, strict=True)
    )


@pytest.mark.parametrize("found", FINDINGS, ids=str)
def test_the_script_of_a_report_shows_both(found: Finding) -> None:
    with redirect_stdout(StringIO()) as shown:
        exec(finding_reports.script(found), {})
    assert shown.getvalue() == f"a run gives {found.run}\ninferred {found.says}\n"


@pytest.mark.parametrize("found", ENDINGS, ids=str)
def test_a_run_ends_the_process(found: Ending) -> None:
    made = parsed(found.model).SerializeToString()
    for optimised in (False, True):
        engine = OnnxRuntime(optimised=optimised)
        try:
            ok, given = engine.run(made, found.feeds)
        finally:
            engine.close()
        if optimised or found.sessions == "all":
            assert not ok
            assert given == "onnxruntime ended the process"
        else:
            assert ok
            assert str(list(given[0].shape)) == found.instead


@pytest.mark.parametrize("found", ENDINGS[:1], ids=str)
def test_the_script_of_a_report_dies(found: Ending) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", finding_reports.ending_script(found)], capture_output=True, timeout=60
    )
    assert ended.returncode < 0
    assert ended.stdout == b""


def test_reports_can_be_filed(tmp_path: Path) -> None:
    assert finding_reports.main([str(tmp_path / "reports")]) == 0
    reports = [path.read_text("utf-8") for path in (tmp_path / "reports").iterdir()]
    assert len(reports) == len(FINDINGS) + len(ENDINGS)
    versions = r"# .+\n\n(?:`[a-z-]+` [\d.]+ \(onnx [\d.]+, onnxruntime [\d.]+\) infers the shape `\["
    for text in reports:
        assert re.match(rf"{versions}|onnxruntime [\d.]+ \(onnx [\d.]+\) ends the process)", text)
        assert "{" not in text.split("```python", 1)[0]


def at_sizes(claimed: list[str], found: Finding) -> list[float | None]:
    """The claimed dims at the sizes; None for one with a name of the tool's own."""
    values: list[float | None] = []
    for text in claimed:
        dim = read_dim_param(text, found.at.keys()).dim
        if re.fullmatch(r"N/2|0\.5\*N", text):  # a fraction is no dim
            values.append(found.at["N"] / 2)
        elif isinstance(dim, Expr) and dim.free_symbols <= found.at.keys():
            try:
                values.append(dim.evaluate(found.at))
            except UndefinedError:  # a division by 0
                values.append(None)
        else:
            values.append(None)
    return values
