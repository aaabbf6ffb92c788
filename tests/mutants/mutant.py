"""A deliberate fault, as data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Change:
    """A text of a module's source, which occurs there once, and the text that stands there instead."""

    module: str
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The changed source. Raises ValueError unless `before` occurs exactly once in it."""
        if (count := source.count(self.before)) != 1:
            raise ValueError(f"{self.before!r} occurs {count} times in {self.module}, not once")
        return source.replace(self.before, self.after)


@dataclass(frozen=True)
class Mutant:
    """A fault, and what must notice it.

    `witness` is an expression over the names of `tests.mutants.witnesses` whose value the fault changes. An oracle is a
    command line: `pytest ...` (run without precision expectations), or a module of the tests with its arguments. The
    first oracle that fails catches the mutant.
    """

    name: str
    breaks: str
    changes: tuple[Change, ...]
    witness: str
    oracles: tuple[str, ...]


def mutant(name: str, breaks: str, module: str, before: str, after: str, witness: str, *oracles: str) -> Mutant:
    """A mutant of one change."""
    return Mutant(name, breaks, (Change(module, before, after),), witness, oracles)


def source_of(module: str) -> str:
    """The source of a module as it is on disk, which is not imported for it."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"no module {module}")
    return Path(spec.origin).read_text(encoding="utf-8")
