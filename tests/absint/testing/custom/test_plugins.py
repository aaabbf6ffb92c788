"""Rules of installed packages: found when they are needed, named in diagnostics, unable to break an analysis."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from absint.program.rules.plugins import installed
from tests.absint.testing.custom.graphs import around

RULES = '''
from absint import Op, Tensor, rule

@rule("Scale", domain="my", inputs="X")
def scale(op: Op) -> Tensor:
    """The shape of X."""
    return op.tensor("X")

@rule("Relu", inputs="X")
def relu(op: Op) -> Tensor:
    """Nothing: it must not replace the shipped rule."""
    return Tensor(op.dtype("X"))

several = [scale, relu]
'''


class Site:
    """A folder on sys.path with distributions in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, distribution: str, *entries: str, **modules: str) -> None:
        """Install a distribution: entry points of the group, and the sources of its modules."""
        info = self.folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n", "utf-8")
        (info / "entry_points.txt").write_text("\n".join(["[absint.rules]", *entries]), "utf-8")
        for name, source in modules.items():
            (self.folder / f"{name}.py").write_text(source, "utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


def lines(result: absint.Result) -> list[str]:
    return [str(d) for d in result.diagnostics]


@pytest.mark.parametrize("entry", ["acme_rules", "acme_rules:scale", "acme_rules:several"])
def test_a_rule_is_found_and_its_distribution_is_told(site: Site, entry: str) -> None:
    site.add("acme-ops", f"ops = {entry}", acme_rules=RULES)
    result = absint.analyze(around("Scale", ["N", 3]))
    assert str(result.shapes["Y0"]) == "[N, 3]"
    assert str(result.shapes["Z"]) == "[N, 3]"
    file = site.folder / "acme_rules.py"
    assert lines(result) == [f"info: my::Scale: rule 'scale' of acme-ops 1.2 ({file}:4) is used for it [plugin-rule]"]
    assert {rule.origin for rule in installed().table} == {"acme-ops 1.2"}
    assert not result.unruled


def test_it_is_not_looked_for_where_every_operator_has_a_rule(site: Site) -> None:
    site.add("acme-ops", "ops = acme_rules", acme_rules=RULES)
    assert lines(absint.analyze(around("Relu", ["N", 3], domain="", version=18))) == []
    assert "acme_rules" not in sys.modules


def test_nothing_is_loaded_for_it_before() -> None:
    code = """
import sys, absint
result = absint.analyze("examples/tiny_decoder.onnx")
assert result.shapes and not result.diagnostics
print(sorted({"absint.program.rules.plugins", "absint.program.rules.schema_rules"} & set(sys.modules)))
"""
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_rule_that_is_handed_over_wins(site: Site) -> None:
    site.add("acme-ops", "ops = acme_rules", acme_rules=RULES)

    @absint.rule("Scale", domain="my", inputs="X")
    def mine(op: absint.Op) -> absint.Tensor:
        """A vector."""
        return absint.Tensor(op.dtype("X"), absint.Shape([7]))

    result = absint.analyze(around("Scale", ["N", 3]), table=absint.TABLE.extended([mine]))
    assert str(result.shapes["Y0"]) == "[7]"
    assert "acme_rules" not in sys.modules


def test_it_can_be_switched_off(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.add("acme-ops", "ops = acme_rules", acme_rules=RULES)
    result = absint.analyze(around("Scale", ["N", 3]), plugins=False)
    assert lines(result) == ["warning: my::Scale: no transfer rule (1 node); outputs are unknown [no-rule]"]
    path = site.folder / "m.onnx"
    onnx.save(around("Scale", ["N", 3]), path)
    assert run(["analyze", str(path), "--no-plugins", "--require", "rules"]) == 1
    assert "acme_rules" not in sys.modules
    assert run(["analyze", str(path), "--require", "rules"]) == 0
    assert "acme-ops 1.2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "entry", "message"),
    [
        ("1/0", "acme_bad", "acme_bad cannot be loaded (ZeroDivisionError: division by zero)"),
        ("exit('no licence\\nat all')", "acme_bad", "acme_bad cannot be loaded (SystemExit: no licence)"),
        ("", "acme_bad:rule", "acme_bad:rule cannot be loaded (AttributeError: "),
        ("", "acme_missing", "acme_missing cannot be loaded (ModuleNotFoundError: No module named 'acme_missing')"),
        ("rule = 3", "acme_bad:rule", "(TypeError: it is no rule, no list of rules and no module with rules)"),
        ("rule = []", "acme_bad:rule", "(TypeError: it is no rule, no list of rules and no module with rules)"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_one_diagnostic(site: Site, source: str, entry: str, message: str) -> None:
    site.add("acme-bad", f"bad = {entry}", acme_bad=source)
    site.add("acme-ops", "ops = acme_rules", acme_rules=RULES)
    result = absint.analyze(around("Scale", ["N", 3]))
    assert str(result.shapes["Y0"]) == "[N, 3]"
    broken, used = lines(result)
    assert broken.startswith("warning: plugin 'bad' of acme-bad 1.2: ")
    assert broken.endswith("[plugin]")
    assert message in broken
    assert "[plugin-rule]" in used


def test_two_distributions_for_one_operator_are_told(site: Site) -> None:
    site.add("acme-a", "ops = acme_first:scale", acme_first=RULES)
    site.add("acme-b", "ops = acme_second:scale", acme_second=RULES)
    found = lines(absint.analyze(around("Scale", ["N", 3])))
    assert found[0] == (
        "warning: plugin 'ops' of acme-b 1.2: it has a rule for Scale, and so has acme-a 1.2: uninstall one, or extend "
        "the table yourself [plugin]"
    )
    assert "of acme-b 1.2" in found[1]


def test_what_is_on_the_path_now_counts(site: Site) -> None:
    assert absint.analyze(around("Scale", ["N", 3])).unruled
    inner = site.folder / "later"
    inner.mkdir()
    Site(inner).add("acme-later", "ops = acme_later", acme_later=RULES)
    sys.path.insert(0, str(inner))
    try:
        assert not absint.analyze(around("Scale", ["N", 3])).unruled
    finally:
        sys.path.remove(str(inner))
