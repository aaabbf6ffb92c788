"""Each row of docs/findings.md: the tool still says it, and a run shows another shape."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from absint.lattices.terms.expr import Expr, UndefinedError
from absint.lattices.text import read_dim_param
from tests.findings import PAGE, Finding, by_reference, findings, parsed, ran, said

FINDINGS = list(findings())


def test_every_section_has_rows() -> None:
    titles = re.findall(r"\n## (.+)\n", PAGE.read_text("utf-8"))
    assert list(dict.fromkeys(found.title for found in FINDINGS)) == titles
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
