"""The sources of claims that a study judges: the models' authors, unification policies, installed tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal

from absint.errors import UsageError
from absint.jobs.auditing.peers import TOOLS, is_installed
from absint.lattices.unify import POLICIES, UnificationPolicy
from absint.runs.build import build

Kind = Literal["declared", "policy", "tool"]

_SHOWN: Final = 60


@dataclass(frozen=True)
class Source:
    """A maker of claims."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        if self.kind != "policy":
            return self.name
        return f"policy {self.name}" if policies()[self.name].sound else f"unsound policy {self.name}"


DECLARED: Final = Source("declared", "declared")


def available() -> list[Source]:
    """All sources: the authors, each policy, each installed tool."""
    return [DECLARED, *(Source("policy", name) for name in policies()), *(Source("tool", t) for t in installed())]


def installed() -> list[str]:
    """The tools that can be imported here."""
    return [tool for tool in TOOLS if is_installed(tool)]


def read_sources(names: Sequence[str]) -> list[Source]:
    """The sources of these names, each once; without names, all that are available. Raises UsageError for an unknown
    name, and for a tool that is not installed.
    """
    if not names:
        return available()
    return list(dict.fromkeys(_read(name) for name in names))


def _read(name: str) -> Source:
    if name == "declared":
        return DECLARED
    if name in policies():
        return Source("policy", name)
    if name in TOOLS:
        if name not in installed():
            raise UsageError(f"--source {name}: not installed: pip install {TOOLS[name].package}")
        return Source("tool", name)
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    known = ", ".join(("declared", *policies(), *TOOLS))
    raise UsageError(f"--source {shown}: no such source; there are: {known}")


def policies() -> Mapping[str, UnificationPolicy]:
    """The names of all policies."""
    return POLICIES


def versions(source: Source) -> str:
    """Versions that a result for this source depends on; with other versions it is computed again."""
    found = [build(), _version("onnx"), _version("onnxruntime")]
    if source.kind == "tool":
        found.append(_version(TOOLS[source.name].package))
    return ", ".join(dict.fromkeys(filter(None, found)))


@cache
def _version(distribution: str) -> str:
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return ""
