"""Schema changes without a change of the rule: evidence, or a reason, that one rule serves both forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import Rule
from tests.transfer.harness import Case
from tests.transfer.versions.evidence import cases_of
from tests.transfer.versions.history import Version, histories
from tests.transfer.versions.schemas import changes

ELEMENTS: Final = frozenset(
    """
    antialias base_values_as_tensor class_weights_as_tensor coordinate_transformation_mode count_include_pad
    default_tensor is_test keys_tensor largest left_window_size linear_before_reset nodes_hitrates_as_tensor
    nodes_values_as_tensor precision reduction right_window_size round_mode saturate select_last_index sorted
    stash_type storage_order target_weights_as_tensor
    """.split()  # noqa: SIM905
)
"""Attributes that change elements, never a type or a shape."""

LEGACY: Final = {
    "consumed_inputs": "inputs that may be overwritten",
    "output_sequence": "Y exists if the node names it",
}
"""Attributes of old forms that mean nothing for what is computed, and why."""

SAME: Final[Mapping[str, str]] = {
    "Cast-6: attribute to": "the type as a number, no longer by name: read both ways",
    "Clip-6: attribute max": "default written out",
    "Clip-6: attribute min": "default written out",
    "Concat-4: attribute axis": "default 1 gone: the rule asks for the version",
    "Constant-11: attribute value": "no longer required, as others may be given",
    "GRU-3: attribute direction": "default spelt rightly",
    "GRU-3: output 1": "optional",
    "Gemm-11: input 2": "optional",
    "GlobalLpPool-2: attribute p": "the norm, now an integer",
    "GridSample-20: attribute mode": "names of modes",
    "Hardmax-13: attribute axis": "default: the rule asks for the version",
    "LogSoftmax-13: attribute axis": "default: the rule asks for the version",
    "LpPool-2: attribute kernel_shape": "required, as in the rule",
    "LpPool-2: attribute p": "the norm, now an integer",
    "OptionalHasElement-18: input 0": "optional",
    "Resize-13: input 1": "optional",
    "Resize-13: input 2": "optional",
    "Selu-6: attribute alpha": "default",
    "Selu-6: attribute gamma": "default",
    "Softmax-13: attribute axis": "default: the rule asks for the version",
    "SpaceToDepth-28: attribute mode added": "order of the channels",
}
"""Other changes, and why they change no shape or type."""


class Asked(dict[str, object]):
    """Attributes that remember which of them a rule asked for."""

    def __init__(self, given: Mapping[str, object]) -> None:
        super().__init__(given)
        self.names: set[str] = set()

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        self.names.add(name)
        return super().get(name, default)


def shared_boundaries() -> Iterator[tuple[Version, Version]]:
    """Pairs of versions with one rule, though more than element types changed between them."""
    for versions in histories().values():
        for old, new in pairwise(versions):
            if not old.is_lowered and rule_of(old) is rule_of(new) and changes(old.schema, new.schema):
                yield old, new


def rule_of(version: Version) -> Rule:
    rule = shipped().lookup(version.domain, version.name, version.since)
    assert rule is not None
    return rule


def unexplained(old: Version, new: Version) -> list[str]:
    """The changes that neither the rule takes note of nor a list here explains."""
    asked = asked_for(old) | asked_for(new)
    return [c for c in sorted(changes(old.schema, new.schema)) if not _is_explained(new, c, asked)]


def _is_explained(new: Version, change: str, asked: set[str]) -> bool:
    kind, name, *what = change.split()
    if f"{new}: {change}" in SAME or not what:
        return f"{new}: {change}" in SAME
    if kind == "attribute":
        return name in asked or name in ELEMENTS or name in LEGACY
    formals = rule_of(new).inputs if kind == "input" else rule_of(new).outputs
    return int(name) < len(formals)


def asked_for(version: Version) -> set[str]:
    """The attributes that the rule asks for in some case of a version."""
    names: set[str] = set()
    for case in cases_of(version.domain, version.name):
        moved = version.retargeted(case)
        if moved is not None:
            names |= _asked(moved, rule_of(version))
    return names


def _asked(case: Case, rule: Rule) -> set[str]:
    attributes = Asked(case.decoded())
    inputs = [None if arg is None else arg.value() for arg in case.inputs]
    apply(rule, Op(rule, inputs, attributes, version=case.opset, outputs=case.outputs, name=case.op))
    return attributes.names
