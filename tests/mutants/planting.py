"""A fault put into a process: the module is compiled from changed text as it is imported, so every importer sees it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutants.mutant import Change, Mutant

VARIABLE = "ABSINT_MUTANT"
"""The environment variable that names the mutant."""

ROOT = Path(__file__).resolve().parents[2]


class _Loader(SourceFileLoader):
    """Compiles the changed text; neither reads nor writes bytecode files."""

    def __init__(self, fullname: str, path: str, changes: Sequence[Change]) -> None:
        super().__init__(fullname, path)
        self.changes = changes

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        for change in self.changes:
            source = change.applied(source)
        return compile(source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        changes = [change for change in self.mutant.changes if change.module == fullname]
        spec = PathFinder.find_spec(fullname, path, target) if changes else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, changes)
        return spec


def plant(mutant: Mutant) -> None:
    """Put the fault into this process. Raises RuntimeError if a module that it changes is already imported."""
    if early := [change.module for change in mutant.changes if change.module in sys.modules]:
        raise RuntimeError(f"{mutant.name}: {', '.join(early)} is already imported, so the fault would not be seen")
    sys.meta_path.insert(0, _Finder(mutant))


def environment(mutant: Mutant | None) -> dict[str, str]:
    """The environment of a process in which, and in all that it starts, the fault is planted; of none, without one."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    if mutant is None:
        return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    path.insert(0, str(Path(__file__).parent / "startup"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), VARIABLE: mutant.name}
