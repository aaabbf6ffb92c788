"""Kernels that analyses share, with what their rules gave.

A kernel of a shipped rule depends on the operator, its version, its attributes and its arity alone, and what the rule
gives on the interned inputs and the facts: those that the bounds of the symbols show are in the inputs, and all others
are part of the key. So equal work is done once in a process: in the layers of a model, in another analysis of it, and
in the next model of its family. What is kept is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint.lattices.logic.facts import Facts
from absint.shapes.memo.reuse import Renewal

if TYPE_CHECKING:
    from absint.program.graph import Kernel
    from absint.shapes.summaries import Template

MAX_MEMO: Final = 1024
"""Results that are kept for one kernel; a model that is checked at many sizes makes ever more."""

MAX_KERNELS: Final = 1 << 12
MAX_TEMPLATES: Final = 1 << 14
"""Of all shared kernels; then all are forgotten."""

MAX_RENEWALS: Final = 32


class Kernels:
    """Shared kernels by all that tells them apart, and renewals by what stands for the symbols."""

    def __init__(self) -> None:
        self._kernels: dict[object, Kernel] = {}
        self._renewals: dict[object, Renewal] = {}
        self._templates = 0

    def __len__(self) -> int:
        return len(self._kernels)

    def find(self, key: object) -> Kernel | None:
        """The kernel of this key, if there is one."""
        return self._kernels.get(key)

    def share(self, key: object, kernel: Kernel) -> None:
        """Keep a kernel for later analyses."""
        if len(self._kernels) >= MAX_KERNELS:
            self.purge()
        kernel.is_shared = True
        self._kernels[key] = kernel

    def remember(self, kernel: Kernel, inputs: object, template: Template) -> None:
        """Keep what the rule of a kernel gave."""
        if len(kernel.memo) >= MAX_MEMO:
            kernel.memo.clear()
        kernel.memo[inputs] = template
        if kernel.is_shared:
            self._templates += 1
            if self._templates > MAX_TEMPLATES:
                self.purge()

    def renewal(self, facts: Facts) -> Renewal:
        """The renewal under facts that do no more than replace symbols."""
        key = frozenset(facts.mapping.items())
        found = self._renewals.get(key)
        if found is None or len(found) > MAX_TEMPLATES:
            if len(self._renewals) >= MAX_RENEWALS:
                self._renewals = {}
            found = self._renewals[key] = Renewal(facts)
        return found

    def purge(self) -> None:
        """Forget all; analyses that are under way keep what they have."""
        self._kernels = {}
        self._renewals = {}
        self._templates = 0


SHARED: Final = Kernels()


def purge() -> None:
    """Forget what rules gave in earlier analyses. It costs nothing but time to have it computed again."""
    SHARED.purge()


__all__ = ["MAX_MEMO", "SHARED", "Kernels", "purge"]
