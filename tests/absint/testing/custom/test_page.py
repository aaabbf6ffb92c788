"""docs/custom-operators.md: a package made from its blocks ships the rule. tests/test_docs.py runs its code."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from absint.program.rules.plugins import GROUP, installed

PAGE = Path(__file__).parents[4] / "docs" / "custom-operators.md"


def test_the_package_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = dict(reversed(re.findall(r"^```(python run|toml)\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)))
    project = tomllib.loads(blocks["toml"])["project"]
    ((entry, module),) = project["entry-points"][GROUP].items()
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{entry} = {module}\n")
    (tmp_path / f"{module}.py").write_text(blocks["python run"])
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        found = installed()
    finally:
        sys.modules.pop(module, None)
    assert [rule.operator for rule in found.table] == ["acme::Fold"]
    assert [rule.origin for rule in found.table] == ["acme-ops 1.2"]
