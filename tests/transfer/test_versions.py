"""Every version of every operator that the `onnx` package knows: its rule, runs that agree, what changed in it."""

from __future__ import annotations

import os
from typing import Final

import numpy as np
import onnx
import pytest

from absint.lattices.value import Tensor
from absint.transfer.families import shipped
from absint.transfer.reduction import DOMAIN as TRAINING
from tests.transfer.harness import Arg, Case, apply_case
from tests.transfer.old_versions import definition_of, run_at, run_in_runtimes, run_version
from tests.transfer.versions import later, old_forms
from tests.transfer.versions.boundaries import ELEMENTS, LEGACY, SAME, shared_boundaries, unexplained
from tests.transfer.versions.converted import run_converted
from tests.transfer.versions.definitions import DEFINITIONS
from tests.transfer.versions.evidence import ENOUGH, cases_in, cases_of, runs_of
from tests.transfer.versions.history import Version, every_version, histories
from tests.transfer.versions.schemas import changes

THOROUGH = bool(os.environ.get("SOUNDNESS_THOROUGH"))

UNEXECUTED: Final[dict[str, tuple[Case, str]]] = {
    "ai.onnx.preview.training::Gradient-1": (
        Case("Gradient", [Arg([2]), Arg([2])], {"xs": ["a", "b"], "y": "c"}, 2, opset=1, domain=TRAINING),
        "it names tensors of the graph around it, and no runtime here differentiates",
    )
}
"""Versions that nothing here can execute: a node of each, and why."""

DEPRECATED: Final = {
    "GroupNormalization-18",
    "Scatter-11",
    "Upsample-10",
    "ai.onnx.ml::TreeEnsembleClassifier-5",
    "ai.onnx.ml::TreeEnsembleRegressor-5",
}
"""Versions in which a node of the operator is no longer legal: there is nothing to run."""


@pytest.mark.parametrize("case", list(cases_in([*vars(old_forms).values(), *vars(later).values()])), ids=str)
def test_claims_hold_in_every_run(case: Case) -> None:
    assert run_version(case) > 0


@pytest.mark.parametrize("version", [v for v in every_version() if not v.is_lowered], ids=str)
def test_every_version_has_a_rule(version: Version) -> None:
    for opset in (version.since, version.last):
        assert shipped().lookup(version.domain, version.name, opset) is not None


@pytest.mark.share(2)
@pytest.mark.parametrize("version", [v for v in every_version() if str(v) not in UNEXECUTED], ids=str)
def test_every_version_runs(version: Version) -> None:
    assert runs_of(version, every=THOROUGH) >= ENOUGH


@pytest.mark.parametrize("name", UNEXECUTED)
def test_what_cannot_be_executed_has_no_implementation(name: str) -> None:
    case, _ = UNEXECUTED[name]
    run = run_in_runtimes(case, {}, 0)
    assert run.runtime == "nothing", run
    assert all(isinstance(value, Tensor) for value in apply_case(case).outputs)


def test_deprecated_versions_are_these() -> None:
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.deprecated]
    assert {f"{s.domain}::{s.name}-{s.since_version}".removeprefix("::") for s in schemas} == DEPRECATED


@pytest.mark.parametrize(("name", "since"), DEFINITIONS, ids=str)
def test_definitions_stand_for_what_no_runtime_has(name: str, since: int) -> None:
    """onnxruntime has no kernel; onnx.reference may have one that does not know the old attributes."""
    cases = [case for case in cases_of("", name) if definition_of(case) is DEFINITIONS[name, since]]
    assert cases
    for case in cases[:3]:
        run = run_in_runtimes(case, case.bindings[-1], 0)
        assert run.outputs is None or run.runtime == "reference"


NOT_CONVERTED: Final = frozenset(
    """
    And-1 Cast-1 Dropout-1 Dropout-6 Equal-1 GlobalLpPool-1 Greater-1 ImageDecoder-20 Less-1 LpPool-1 Optional-28 Or-1
    Pad-1 RNN-1 Split-1 Tile-1 Xor-1
    """.split()  # noqa: SIM905
)
"""Forms that onnx's version converter does not turn into one that onnxruntime runs: no adapter, or a wrong one."""


@pytest.mark.parametrize(("name", "since"), DEFINITIONS, ids=str)
def test_definitions_agree_with_the_version_converter(name: str, since: int) -> None:
    confirmed = 0
    for case in cases_of("", name):
        if definition_of(case) is not DEFINITIONS[name, since] or case.opset != since:
            continue
        outputs = run_at(case, case.bindings[-1], 0).outputs
        found = None if outputs is None else run_converted(case, case.bindings[-1], outputs)
        for want, got in zip(outputs or (), found or (), strict=False):
            assert (np.shape(want), np.asarray(want).dtype) == (got.shape, got.dtype), case
            confirmed += 1
    assert (confirmed == 0) == (f"{name}-{since}" in NOT_CONVERTED)


BOUNDARIES = list(shared_boundaries())


@pytest.mark.parametrize(("old", "new"), BOUNDARIES, ids=str)
def test_a_rule_that_serves_two_forms_knows_what_changed(old: Version, new: Version) -> None:
    """Element types may change, and attributes and inputs that the rule asks for; the rest is listed with a reason."""
    assert unexplained(old, new) == []


def test_no_reason_is_idle() -> None:
    found = {f"{new}: {change}" for old, new in BOUNDARIES for change in changes(old.schema, new.schema)}
    assert SAME.keys() <= found
    named = {text.split()[2] for text in found if text.split()[1] == "attribute"}
    assert ELEMENTS | LEGACY.keys() <= named


def test_rules_begin_and_end_at_versions_of_a_schema() -> None:
    ends = {key: {v.since for v in versions} | {v.last + 1 for v in versions} for key, versions in histories().items()}
    for rule in shipped():
        for key in ((rule.domain, name) for name in rule.names if (rule.domain, name) in ends):
            assert rule.since == 1 or rule.since in ends[key], rule
            assert rule.until is None or rule.until + 1 in ends[key], rule
