"""The list of families says which module has the rules of an operator; only that one is imported."""

import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import absint.transfer
from absint.transfer.families import FAMILIES, shipped
from absint.transfer.rule import NEWEST, Table, rules_of

FOLDER = Path(absint.transfer.__file__).parent
MODULES = {
    name: import_module(f"absint.transfer.{name}")
    for path in sorted(FOLDER.rglob("*.py"))
    if (name := path.relative_to(FOLDER).with_suffix("").as_posix().replace("/", ".")) and path.stem != "__init__"
}
EVERY_RULE = Table.of(MODULES.values())
OPERATORS = sorted({(rule.domain, name) for rule in EVERY_RULE for name in rule.names})


def test_a_rule_of_any_module_is_found() -> None:
    assert len(OPERATORS) > 300
    for domain, name in OPERATORS:
        for version in range(1, NEWEST.get(domain, 1) + 2):
            assert shipped().lookup(domain, name, version) is EVERY_RULE.lookup(domain, name, version), (name, version)


def test_the_table_holds_each_rule_once() -> None:
    assert set(map(id, shipped())) == set(map(id, EVERY_RULE))
    assert len(shipped()) == len(set(map(id, shipped())))


@pytest.mark.parametrize("domain", FAMILIES)
def test_each_line_names_operators_of_its_family(domain: str) -> None:
    words = FAMILIES[domain].split()
    assert all(not (a.endswith(":") and b.endswith(":")) for a, b in pairwise(words))
    module = ""
    for word in words:
        if word.endswith(":"):
            module = word[:-1]
            continue
        rules = rules_of(MODULES[module])
        assert any(rule.domain == domain and word in rule.names for rule in rules), (module, word)
    assert len(words) == len(set(words)), "an operator has one family"


def test_a_lookup_imports_one_family() -> None:
    code = """
import sys
from absint.transfer.families import shipped
assert shipped().lookup("", "Concat", 13) is not None
print(*sorted(name for name in sys.modules if name.startswith("absint.transfer.") and name.count(".") == 2))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = set(done.stdout.split())
    assert "absint.transfer.concat" in loaded
    assert not loaded & {"absint.transfer.gather", "absint.transfer.attention", "absint.transfer.contrib"}
