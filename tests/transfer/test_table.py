"""The table: lookup by version, extension, and that no rule goes without a test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import onnx
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from absint.lattices.value import Tensor
from absint.program.steps import LOWERED
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import NEWEST, Rule, Table, rule
from tests.transfer.harness import Arg, Case, run_case, sizes

NEIGHBOURS = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))


def cases(item: object) -> Iterator[Case]:
    """The cases in nested containers."""
    if isinstance(item, Case):
        yield item
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from cases(part)


@cache
def covered() -> frozenset[str]:
    """The operators of module-level cases, and those that a test of rules names."""
    modules = [import_module(f"tests.transfer.{name}") for name in NEIGHBOURS if name != "test_table"]
    run = {case.op for module in modules for item in vars(module).values() for case in cases(item)}
    text = "\n".join((Path(__file__).parent / f"{name}.py").read_text("utf-8") for name in NEIGHBOURS)
    return frozenset(run | set(re.findall(r"\w+", text)))


def passing(name: str, **settings: int) -> Rule:
    @rule(name, inputs="X", **settings)  # type: ignore[arg-type]
    def same(op: Op) -> Tensor:
        """X itself."""
        return op.tensor("X")

    return same


@pytest.mark.parametrize("name", sorted({name for rule in shipped() for name in rule.names}))
def test_every_operator_with_a_rule_is_tested(name: str) -> None:
    assert name in covered()


def test_a_closed_range_wins_then_the_highest_since() -> None:
    always, since, closed = passing("Op"), passing("Op", since=7), passing("Op", since=5, until=13)
    table = Table([always, since, closed])
    found = [table.lookup("", "Op", version) for version in (1, 4, 5, 9, 13, 14, 20)]
    assert found == [always, always, closed, closed, closed, since, since]


def test_lookup_is_by_domain_name_and_version() -> None:
    table = shipped()
    assert table.lookup("my.domain", "Shape", 1) is None
    assert table.lookup("", "NoSuchOperator", 17) is None
    squeeze = {version: table.lookup("", "Squeeze", version) for version in (12, 13)}
    assert None not in squeeze.values()
    assert squeeze[12] is not squeeze[13]


def test_an_extension_wins_and_says_what_it_replaces() -> None:
    mine = passing("Relu")
    table = shipped().extended([mine])
    assert table.lookup("", "Relu", 17) is mine
    assert table.overridden("", "Relu", 17) is shipped().lookup("", "Relu", 17)
    assert table.overridden("", "Tanh", 17) is None
    assert shipped().overridden("", "Relu", 17) is None


def test_an_extension_wins_for_the_versions_that_it_is_for() -> None:
    """Whatever the ranges of what it extends."""
    shipped_ones = [passing("Op"), passing("Op", since=5, until=13), passing("Op", since=20)]
    table = Table(shipped_ones)
    always, range_ = passing("Op"), passing("Op", since=7, until=9)
    versions = (0, 1, 6, 7, 9, 10, 20)
    everywhere = table.extended([always])
    assert [everywhere.lookup("", "Op", v) for v in versions] == [always] * len(versions)
    partly = table.extended([range_])
    found = [partly.lookup("", "Op", v) for v in versions]
    first, closed, last = shipped_ones
    assert found == [first, first, closed, range_, range_, closed, last]
    assert [partly.overridden("", "Op", v) for v in (6, 7, 9, 10)] == [None, closed, closed, None]
    again = partly.extended([always])
    assert again.lookup("", "Op", 8) is always
    assert again.overridden("", "Op", 8) is range_
    assert (len(again), list(again)) == (5, [*shipped_ones, range_, always])
    assert table.lookup("", "Op", 8) is closed


def test_bit_cast_keeps_the_shape() -> None:
    sizes_tried = sizes(N=[0, 1, 3], M=[2])
    assert run_case(Case("BitCast", [Arg(["N", "M"])], {"to": 6}, bindings=sizes_tried, opset=26, expect=["[N, M]"]))


def test_the_newest_versions_are_those_of_the_schemas() -> None:
    newest: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        newest[schema.domain] = max(newest.get(schema.domain, 0), schema.since_version)
    assert {domain: newest[domain] for domain in NEWEST} == dict(NEWEST) or onnx.defs.onnx_opset_version() != NEWEST[""]


def test_every_operator_of_onnx_has_a_rule_in_every_version() -> None:
    for schema in onnx.defs.get_all_schemas_with_history():
        rule = shipped().lookup(schema.domain, schema.name, schema.since_version)
        assert rule is not None or (schema.domain == "" and schema.name in LOWERED), schema.name


def test_every_operator_of_onnxruntime_has_a_rule() -> None:
    names = {(s.domain, s.name) for s in get_all_operator_schema() if s.domain.startswith("com.")}
    ruled = {(rule.domain, name) for rule in shipped() for name in rule.names}
    assert names <= ruled, sorted(names - ruled)
    assert sum(domain == "com.microsoft" for domain, _ in ruled) >= 110
