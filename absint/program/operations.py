"""Operations: the common part of equal operator instances, interned, so that equal ones are one object.

An operation of a shipped rule depends on the operator, its version, its attributes and its arity alone: it serves all
models that a process reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.records import record
from absint.model.schemas import Form
from absint.model.signatures import Signature
from absint.transfer.rule import Rule
from absint.transfer.stating import AttributeValue

MAX_OPERATIONS: Final = 1 << 12
"""Most operations kept; then all are forgotten."""


class Callee:
    """The function that a folded call calls."""

    def __init__(self, name: str, nodes: int) -> None:
        """`nodes` are those that a call stands for."""
        self.name = name
        self.nodes = nodes


@record(eq=False, frozen=False)
class Operation:
    """The common part of equal operator instances: operator, version, rule, decoded attributes, arity."""

    domain: str
    op_type: str
    version: int
    rule: Rule | None
    attributes: Mapping[str, AttributeValue]
    outputs: int
    possible_failures: tuple[str, ...] = ()
    """The reason why a run may fail, as far as the attributes decide it."""
    malformed: tuple[str, ...] = ()
    """The reason why no runtime loads such a node."""
    is_standard: bool = False
    """The rule is a shipped one."""
    form: Form | None = None
    """The form that the schema of the operator demands of its nodes."""
    types: Signature | None = None
    """The types that the operator takes and gives; None for a rule of the user."""
    body: Callee | None = None
    """The function that a folded call calls; it has no rule."""
    other: Operation | None = None
    """The same node of another version: of two that a function and its model import, the one that is not here."""
    absent: frozenset[int] = frozenset()
    """The outputs that the node leaves out, by index."""

    def __post_init__(self) -> None:
        self.taken: set[tuple[DType | None, ...]] = set()
        """Types of inputs, all tensors, that it was found to take, in nodes of its form."""
        self.given: set[DType] = set()
        """Types of a single output, a tensor, that it was found to give."""
        self.is_interned = False
        """It is kept for later models."""

    def fits(self, inputs: Sequence[object]) -> bool:
        """Its schema finds no fault in a node with these inputs (None: left out)."""
        return self.form is None or (not self.malformed and self.form.fits(inputs, self.outputs))

    @property
    def has_rule(self) -> bool:
        """Something is known of the operator."""
        return self.rule is not None and not self.rule.is_missing

    @property
    def is_complete(self) -> bool:
        """Its rule promises to state all that a run needs."""
        return self.rule is not None and self.rule.complete and (self.other is None or self.other.is_complete)

    @property
    def operator(self) -> str:
        """Name with its domain, as users write it."""
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type


Versions = tuple[tuple[str, int], ...]
"""The versions of the domains that a graph imports; for a function with two readings, those of either one."""

NO_OTHERS: Final[Mapping[str, int]] = MappingProxyType({})
"""There is one reading."""


def versions_of(imports: Mapping[str, int], others: Mapping[str, int] = NO_OTHERS) -> Versions:
    """The versions of a graph in order, then those of its other reading."""
    return (*sorted(imports.items()), *sorted(others.items()))


_NONE: Final[Mapping[object, Operation]] = {}


class Operations:
    """Interned operations by key."""

    def __init__(self) -> None:
        self._operations: dict[object, Operation] = {}
        self._under: dict[Versions, dict[object, Operation]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._operations)

    def find(self, key: object) -> Operation | None:
        """The operation of this key, if there is one."""
        return self._operations.get(key)

    def under(self, versions: Versions) -> Mapping[object, Operation]:
        """The operations that were added under these versions, by their keys there."""
        return self._under.get(versions, _NONE)

    def add(self, versions: Versions, key: object, operation: Operation) -> None:
        """Keep an interned operation under versions, for models that import the same."""
        self._count += 1
        if self._count > MAX_OPERATIONS:
            self._under, self._count = {}, 1
        self._under.setdefault(versions, {})[key] = operation

    def intern(self, key: object, operation: Operation) -> None:
        """Keep an operation for later models."""
        if len(self._operations) >= MAX_OPERATIONS:
            self.purge()
        operation.is_interned = True
        self._operations[key] = operation

    def purge(self) -> None:
        """Forget all; programs keep theirs."""
        self._operations = {}
        self._under, self._count = {}, 0


INTERNED: Final = Operations()
