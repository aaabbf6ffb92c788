"""Statements about a node: requirements, definitions, premises, possible failures, rejections; its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar, overload

from absint.lattices.logic import relation as rel
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, UNKNOWN, UNKNOWN_RELATION, YES, Relation, Truth
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, as_dim, expr_of
from absint.lattices.value import Tensor
from absint.transfer.ordinary import is_ordinary
from absint.transfer.semantics import ASKED, EITHER, ONNX, RUNTIME, Asker, Semantics
from absint.transfer.stated import BadNodeError, PossibleFailure, RejectedError, RuleError, Signature, Statement

AttributeValue = int | float | str | bytes | Tensor | list[int] | list[float] | list[str] | object

_INTEGERS: Final = frozenset({int, bool})
_ALLOWED: Final = ((RUNTIME, ONNX), (ONNX, RUNTIME))
"""Who asks, of runs that do not."""

T = TypeVar("T")


class Attributes:
    """Attributes by name, with defaults. Raises BadNodeError for an attribute of another type."""

    __slots__ = ("attributes",)

    attributes: Mapping[str, AttributeValue]

    @overload
    def integer(self, name: str) -> int | None: ...
    @overload
    def integer(self, name: str, default: int) -> int: ...
    def integer(self, name: str, default: int | None = None) -> int | None:
        """An integer attribute."""
        return self._typed(name, int, "an integer", default)

    @overload
    def number(self, name: str) -> float | None: ...
    @overload
    def number(self, name: str, default: float) -> float: ...
    def number(self, name: str, default: float | None = None) -> float | None:
        """A float attribute."""
        return self._typed(name, (float, int), "a float", default)

    @overload
    def string(self, name: str) -> str | None: ...
    @overload
    def string(self, name: str, default: str) -> str: ...
    def string(self, name: str, default: str | None = None) -> str | None:
        """A string attribute."""
        return self._typed(name, str, "a string", default)

    def attribute_tensor(self, name: str) -> Tensor | None:
        """A tensor attribute, as an abstract value."""
        return self._typed(name, Tensor, "a tensor", None)

    def _typed(self, name: str, kind: type[T] | tuple[type[T], ...], what: str, default: T | None) -> T | None:
        value = self.attributes.get(name)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise BadNodeError(f"attribute {name} must be {what}")
        return value

    def ints(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers, or None if it is absent."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or not _INTEGERS.issuperset(map(type, value)):
            raise BadNodeError(f"attribute {name} must be a list of integers")
        return [*value]


class Stating(Attributes):
    """One operator instance, and the statements of its rule about it."""

    __slots__ = (
        "_facts", "has_fresh", "is_inferred", "notes", "possible_failures", "premises", "rests_on_facts", "rule",
        "semantics", "statements",
    )  # fmt: skip

    rule: Signature
    _facts: Facts
    rests_on_facts: bool
    """The rule has looked at the facts: under others it may say something else of the same inputs."""
    premises: bool | Callable[[Relation], bool]
    """Numeric premises may be assumed, or those of which this is true; see `assume`."""
    semantics: Semantics
    """The runs that the analysis is about, where onnxruntime differs from the documents of ONNX."""
    statements: dict[Statement, None]
    possible_failures: dict[PossibleFailure, None]
    is_inferred: bool
    """`absint.model.inference` tells whether type inference refuses the node: it is one of ai.onnx."""
    notes: list[str]
    has_fresh: bool
    """The rule has named a data-dependent number or condition."""

    @property
    def facts(self) -> Facts:
        """Facts about the symbols in all runs, beside their bounds."""
        self.rests_on_facts = True
        return self._facts

    def fresh(self, tag: str, lo: int | None = 0, hi: int | None = MAX_DIM) -> Expr:
        """A symbol for a data-dependent number, by default a size; one for each tag of the node.

        A tag denotes one quantity of the node, whatever its inputs: later rounds take it as the same number.
        """
        self.has_fresh = True
        return expr_of(Symbol.hole(tag, lo, hi))

    def fresh_shape(self, tag: str, head: tuple[Dim, ...] = (), tail: tuple[Dim, ...] = ()) -> Shape:
        """A shape of unknown rank: known sizes around a variable; one for each tag of the node."""
        self.has_fresh = True
        return Shape.hole(tag, head, tail)

    def require(self, relation: Relation, reason: str, *, found: object = "", by: Asker = EITHER) -> None:
        """The node fails in every run where the relation does not hold; over an unknown dim it may fail.

        `reason` says what must hold: "K must hold one element". `found` adds the sizes, or a shape, to the message
        about a node that can never run. `by` says who asks for it: see `absint.transfer.semantics`.
        """
        if by != EITHER and self.semantics != ASKED[by]:
            if by != RUNTIME or self.semantics == EITHER:
                self.may_fail(reason, unless=relation)
            return
        if relation is TRUE:
            return
        if relation is UNKNOWN_RELATION:
            self.may_fail(reason)
            return
        if relation is FALSE:
            raise RejectedError(_with(reason, found))
        self.state(relation, reason, "required")

    def require_equal(self, a: Dim | int, b: Dim | int, reason: str) -> None:
        """Two dims must be equal; if one is unknown, the node may fail."""
        if a is not b or not isinstance(a, Expr):
            relation = rel.eq(a, b)
            self.require(relation, reason, found=f"{a} and {b}" if relation is FALSE else "")

    def define(self, relation: Relation, reason: str) -> None:
        """The relation holds of the values that the node computes, whenever it runs."""
        self.state(relation, reason, "defined")

    def assume(self, relation: Relation, reason: str, *, products: bool = False) -> bool:
        """Assume a numeric premise: sizes stay exact in the arithmetic of the model. True if the rule may rely on it.

        A premise that facts do not imply is recorded if it holds for all sizes up to `ordinary.ORDINARY`. Fewer sizes
        count where integers are `products` of them: see `absint.transfer.ordinary`. The answer is False if it does not
        hold, or if premises are switched off.
        """
        if relation is TRUE:
            return True
        if relation is FALSE or relation is UNKNOWN_RELATION:
            return False
        if self.facts and self.decide(relation) is YES:
            return True
        if callable(self.premises):
            return self.premises(relation)
        if not self.premises or not is_ordinary(relation, self.facts, products=products):
            return False
        self.state(relation, reason, "assumed")
        return True

    def state(self, relation: object, reason: str, role: str) -> None:
        """Add a statement with this role, unless it says nothing; see `Statement`."""
        if not isinstance(relation, Relation):
            raise RuleError(
                f"states {relation!r}, which is not a relation: write eq(a, b) or ne(a, b), since a == b compares the "
                "terms themselves"
            )
        if relation is not TRUE and relation is not UNKNOWN_RELATION:
            self.statements[Statement(relation, reason, role)] = None

    def may_fail(
        self, reason: str, *, unless: Relation | bool = FALSE, by: Asker = EITHER, at_load: bool = False
    ) -> None:
        """The node may fail on some data at legal sizes, or for a reason that no relation expresses.

        Where `unless` holds, a relation or a truth, it does not fail for this reason. `by`: the documents of ONNX allow
        the node, or onnxruntime does if it is "onnx". `at_load`: kernels run it, but type inference refuses it if it
        sees the shapes.
        """
        if unless is True or (by, self.semantics) in _ALLOWED:
            return
        if unless is False or unless is UNKNOWN_RELATION:
            unless = FALSE
        if unless is FALSE or self.decide(unless) is not YES:
            self.possible_failures[PossibleFailure(reason, unless, at_load and self.is_inferred)] = None

    def note(self, text: str) -> None:
        """Add a diagnostic about the node, which changes no answer."""
        if text not in self.notes:
            self.notes.append(text)

    @overload
    def reject(self, reason: str, code: str = "") -> NoReturn: ...
    @overload
    def reject(self, reason: str, *, by: Asker) -> None: ...
    @overload
    def reject(self, reason: str, code: str = "", *, unless: bool, found: object = "", by: Asker = EITHER) -> None: ...
    def reject(
        self, reason: str, code: str = "", *, unless: bool = False, found: object = "", by: Asker = EITHER
    ) -> None:
        """The node cannot run with these inputs, whatever the sizes, `unless` its form allows it: ranks, attributes.

        With a `code`, no runtime loads it: it breaks the types of its operator, "ill-typed", or its attributes and
        arity break the form, "ill-formed". `found` and `by` are as in `require`, which is for conditions on sizes.
        """
        if unless is True:
            return
        if unless is not False:
            raise RuleError(f"rejects unless {unless}, which is no truth: write op.require(relation, reason)")
        text = _with(reason, found)
        if by == EITHER:
            raise RejectedError(text, code)
        self.require(FALSE, text, by=by)

    def positive(self, name: str) -> int:
        """An integer attribute that must be given, and 1 or more."""
        value = self.integer(name)
        if value is None or value < 1:
            self.reject(f"attribute {name} must be positive, found {'none' if value is None else value}")
        return value

    def decide(self, relation: Relation) -> Truth:
        """The truth of the relation, from cheap exact facts alone."""
        if relation is TRUE:
            return YES
        return NO if relation is FALSE else self.facts.decide(relation)

    def never_empty(self, size: Dim) -> bool:
        """The bounds or the facts show that the size is at least 1."""
        lo = size.bounds.lo
        return (isinstance(size, Expr) and lo is not None and lo >= 1) or self.decide(rel.ge(size, 1)) is YES

    def is_equal(self, a: Dim | int, b: Dim | int) -> Truth:
        """YES if two dims are equal in every run, NO if in none."""
        a, b = as_dim(a), as_dim(b)
        if a is b and isinstance(a, Expr):
            return YES
        if not (isinstance(a, Expr) and isinstance(b, Expr)):
            return NO if a.bounds.meet(b.bounds).is_empty else UNKNOWN
        return self.decide(rel.eq(a, b))


def _with(reason: str, found: object) -> str:
    shown = f"shape {found}" if isinstance(found, Shape) else str(found)
    return f"{reason}, found {shown}" if shown else reason
