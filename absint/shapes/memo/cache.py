"""Rule results that are kept: for the layers of a model, its further analyses, and the next model of its family.

A rule's result depends on the operation, the interned inputs and the facts. Facts that the bounds of symbols show are
in the inputs; all others are part of the key. All programs share the results of interned operations; those of other
operations last as long as their program. The number of results is bounded.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from absint.lattices.limits import takes_shortcuts
from absint.lattices.terms import intern
from absint.lattices.terms.intern import release
from absint.lattices.terms.normal import Substitution
from absint.lattices.text import notation
from absint.program import shared_prefix
from absint.program.graph import Program
from absint.program.operations import INTERNED, Operation
from absint.shapes.memo import known_facts
from absint.shapes.memo.reuse import Reuse
from absint.shapes.summaries import RuleSummary

MAX_MEMO: Final = 1024
"""Most results of one operation; a model that is checked at many sizes would make ever more."""

MAX_SUMMARIES: Final = 1 << 14
"""Most results of all interned operations; then all are forgotten."""

MAX_REUSES: Final = 32

Results = dict[object, RuleSummary]
"""Results of the rule of one operation, by inputs and facts."""


class Cache:
    """Results of interned operations, and first-round results by the replacements of symbols."""

    def __init__(self) -> None:
        self._results: dict[Operation, Results] = {}
        self._reuses: dict[object, Reuse] = {}
        self._count = 0

    def results(self, operation: Operation) -> Results:
        """The remembered results of an interned operation."""
        found = self._results.get(operation)
        return {} if found is None else found

    def keep(self, operation: Operation, results: Results) -> None:
        """Count a result that was added to those of an interned operation, and keep them from the first on."""
        self._count += 1
        if self._count > MAX_SUMMARIES:
            self.purge()
        if len(results) == 1:  # those of a program from before a purge stay its own
            self._results[operation] = results

    def reuse(self, replaced: Substitution) -> Reuse:
        """First-round results under facts that do no more than replace symbols."""
        key = frozenset(replaced.mapping.items())
        found = self._reuses.get(key)
        if found is None or len(found) > MAX_SUMMARIES:
            if len(self._reuses) >= MAX_REUSES:
                self._reuses = {}
            found = self._reuses[key] = Reuse(replaced)
        return found

    def purge(self) -> None:
        """Forget all; programs keep what they have."""
        self._results = {}
        self._reuses = {}
        self._count = 0


SHARED: Final = Cache()


class Memo(dict[Operation, Results]):
    """The results that serve one program."""

    def __missing__(self, operation: Operation) -> Results:
        found = self[operation] = SHARED.results(operation) if operation.is_interned else {}
        return found

    def remember(self, operation: Operation, key: object, summary: RuleSummary) -> None:
        """Keep the result of an operation's rule."""
        results = self[operation]
        if len(results) >= MAX_MEMO:
            results.clear()
        results[key] = summary
        if operation.is_interned:
            SHARED.keep(operation, results)


_MEMOS: Final[WeakKeyDictionary[Program, Memo]] = WeakKeyDictionary()


def memo_of(program: Program) -> Memo | None:
    """The results that serve the program; None while the room is switched off."""
    if not takes_shortcuts():
        return None
    found = _MEMOS.get(program)
    return _MEMOS.setdefault(program, Memo()) if found is None else found


def purge() -> None:
    """Forget the results of earlier analyses, texts and types, and drop the entries of terms that nobody holds.
    It costs nothing but the time to compute them again.
    """
    INTERNED.purge()
    SHARED.purge()
    shared_prefix.purge()
    notation.forget()
    intern.forget()
    known_facts.forget()
    release()
