"""Op: one operator instance with its inputs as abstract values, and all that a transfer function sees.

A rule sees neither the graph nor the solver nor other nodes. It reads inputs and attributes, states requirements, and
returns one abstract value for each output. The engine names unknown dims; a rule calls `fresh` only for a symbol that
a requirement or a second output mentions too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import CONFLICT, DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.piecewise import given
from absint.lattices.logic.relation import FALSE, TRUE, YES, Relation
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import aligned, place
from absint.lattices.terms.expr import NATURAL, ONE_EXPR, UNKNOWN_DIM, UNKNOWN_SIZE, Dim, Expr, Unknown, as_dim
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import broadcast
from absint.lattices.unify import SOUND, UnificationPolicy
from absint.lattices.value import Tensor, Value
from absint.transfer.semantics import DOCUMENTED, EITHER, RUNTIME, Semantics
from absint.transfer.stated import BadNodeError, RuleError, Signature, Within, listed
from absint.transfer.stating import AttributeValue, Stating

if TYPE_CHECKING:
    from absint.lattices.contents import ObjectArray


class Op(Stating):
    """One operator instance during one application of its rule."""

    __slots__ = ("absent", "bounds", "inputs", "name", "outputs", "policy", "version")

    def __init__(
        self,
        rule: Signature,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, AttributeValue] | None = None,
        version: int = 0,
        outputs: int = 1,
        facts: Facts = NO_FACTS,
        name: str = "",
        policy: UnificationPolicy = SOUND,
        premises: bool | Callable[[Relation], bool] = True,
        bounds: Sequence[Within | None] = (),
        semantics: Semantics = EITHER,
    ) -> None:
        """`premises`: numeric premises may be assumed; see `assume`. `bounds`: what other analyses know of inputs."""
        self.rule = rule
        self.inputs = inputs
        """The abstract value of each input; None for one that is left out."""
        self.attributes = attributes or {}
        self.version = version
        """The version of the operator's domain that the model imports."""
        self.outputs = outputs
        """The number of outputs of the node."""
        self.absent: frozenset[int] = frozenset()
        """Indices of the outputs that the node leaves out."""
        self._facts = facts
        self.name = name or rule.names[0]
        """The operator."""
        self.policy = policy
        self.premises = premises
        self.bounds = bounds
        self.semantics = semantics if semantics == EITHER or rule.domain in DOCUMENTED else RUNTIME
        self.statements = {}
        self.possible_failures = {}
        self.is_inferred = not rule.domain
        self.notes = []
        self.has_fresh = self.rests_on_facts = False

    # Inputs

    def value(self, name: str) -> Value | None:
        """The input with this formal name, or None if it is left out."""
        index = self.rule.places.get(name)
        if index is None:
            raise RuleError(f"asks for an input {name!r}, but its `inputs` are {listed(self.rule.inputs)}")
        return self.inputs[index] if index < len(self.inputs) else None

    def has(self, name: str) -> bool:
        """The input is given."""
        return self.value(name) is not None

    def tensor(self, name: str) -> Tensor:
        """The input as a tensor, of unknown type and rank unless it is known to be one.

        Raises BadNodeError if a required input is left out.
        """
        try:
            value = self.inputs[self.rule.places[name]]
        except LookupError:
            value = self.value(name)
        if isinstance(value, Tensor):
            return value
        if value is None:
            raise BadNodeError(f"required input {name} is missing")
        return ANY_TENSOR

    def optional(self, name: str) -> Tensor | None:
        """The input as a tensor, or None if it is left out."""
        value = self.value(name)
        return value if value is None or isinstance(value, Tensor) else ANY_TENSOR

    def not_empty(self, name: str) -> None:
        """Say that onnxruntime runs a node without the input, and not one that gives it an empty name."""
        is_shorter = self.rule.places[name] >= len(self.inputs)
        self.reject(f"onnxruntime needs {name} to be left out, not to be ''", unless=is_shorter, by="onnxruntime")

    def require_given(self, *names: str) -> None:
        """Raise BadNodeError if one of these inputs is left out."""
        for name in names:
            self.tensor(name)

    def variadic(self) -> list[Tensor]:
        """All inputs as tensors, for an operator whose inputs are interchangeable."""
        if None in self.inputs:
            self.may_fail("every input must be given")
        return [v if isinstance(v, Tensor) else ANY_TENSOR for v in self.inputs if v is not None]

    def wants(self, index: int) -> bool:
        """The node has an output with this index, and gives it a name."""
        return index < self.outputs and index not in self.absent

    def flag(self, name: str, *, default: bool = False) -> bool:
        """An integer attribute that is 0 or 1. Runtimes refuse other numbers, or read them as 0."""
        value = self.integer(name, int(default))
        if value not in (0, 1):
            self.may_fail(f"attribute {name} must be 0 or 1, found {value}")
        return value == 1

    # Element types

    def dtype(self, name: str) -> DType:
        """The element type of an input; UNDEFINED if it is left out or unknown."""
        value = self.value(name)
        return value.dtype if isinstance(value, Tensor) else DType.UNDEFINED

    def common_dtype(self, *names: str) -> DType:
        """The element type that these inputs share, known if one of them has a known type."""
        return self.same_dtype(*[self.dtype(name) for name in names])

    def same_dtype(self, *dtypes: DType) -> DType:
        """The element type that all of these must be; a conflict is noted and gives UNDEFINED."""
        if dtypes and dtypes.count(dtypes[0]) == len(dtypes) and dtypes[0] is not CONFLICT:
            return dtypes[0]
        known = {*dtypes}
        known.discard(DType.UNDEFINED)
        if len(known) > 1 or DType.CONFLICT in known:
            self.note(f"inputs must share one element type, found {', '.join(sorted({str(d) for d in dtypes}))}")
            return DType.UNDEFINED
        return known.pop() if known else DType.UNDEFINED

    # Contents

    def block(self, name: str) -> Block[Element] | None:
        """The elements of an input (dims, relations or reals), or None if they are unknown."""
        value = self.value(name)
        if not isinstance(value, Tensor) or value.contents is None:
            return None
        return value.contents.block(value.shape.concrete)

    def elements(self, name: str) -> ObjectArray | None:
        """As `block`, as a numpy array of objects."""
        value = self.value(name)
        if not isinstance(value, Tensor) or value.contents is None:
            return None
        return value.contents.array(value.shape.concrete)

    def only(self, name: str) -> Element:
        """The element of an input that holds one; OPAQUE if it holds another number, or if it is unknown."""
        found = self.block(name)
        return found.elements[0] if found is not None and len(found.elements) == 1 else OPAQUE

    def integers(self, name: str) -> list[Dim] | None:
        """The elements of an integer vector (or scalar), or None if the input is left out or its length is unknown.

        A vector of known length and unknown elements gives unknown dims.
        """
        value = self.value(name)
        if not isinstance(value, Tensor):
            return None
        sizes, contents = value.shape.concrete, value.contents
        if value.shape.rank is not None and value.shape.rank > 1:
            self.may_fail(f"{name} must have rank 0 or 1")
        if contents is not None and not contents.is_fill:
            return [e if isinstance(e, Dim) else UNKNOWN_DIM for e in contents.elements]
        found = self.block(name)
        if found is not None:
            return [e if isinstance(e, Dim) else UNKNOWN_DIM for e in found.elements]
        if sizes is None or len(sizes) > 1 or (sizes and sizes[0] > _LONGEST_VECTOR):
            return None
        return [UNKNOWN_DIM] * (sizes[0] if sizes else 1)

    def constants(self, name: str) -> list[int] | None:
        """The elements of an integer vector if every one is a constant, else None."""
        return constants_of(self.integers(name))

    def within(self, name: str) -> Within | None:
        """Bounds of all elements of an input that another analysis found; None if none did."""
        index = self.rule.places.get(name, len(self.bounds))
        return self.bounds[index] if index < len(self.bounds) else None

    # Shapes

    def axis(self, axis: int, rank: int, name: str = "axis") -> int:
        """The axis, counted from the front. Rejects the node if it is outside [-rank, rank - 1]."""
        if not -rank <= axis < rank:
            self.reject(f"{name} {axis} is out of range for rank {rank}")
        return axis + rank if axis < 0 else axis

    def place(self, shape: Shape, axis: int, name: str = "axis") -> int | None:
        """The index of an axis among the known dims; None where that is unknown. Rejects the node as `axis` does."""
        return place(shape, axis) if shape.rank is None else self.axis(axis, shape.rank, name)

    def require_rank(self, shape: Shape, rank: int, what: str) -> None:
        """Reject the node if the shape is known to have another rank."""
        if shape.rank is not None and shape.rank != rank:
            self.reject(f"{what} must have rank {rank}, found shape {shape}")

    def ranked(self, name: str, least: int) -> Shape:
        """The shape of an input of this rank or more; the node may fail if its rank is unknown."""
        shape = self.tensor(name).shape
        if shape.rank is None:
            self.may_fail(f"{name} must have rank {least} or more")
        else:
            self.reject(f"{name} must have rank {least} or more", unless=shape.rank >= least, found=shape)
        return shape

    def sizes(self, name: str, rank: int) -> tuple[Dim, ...]:
        """The dims of an input that must have this rank; unknown if it is left out or of unknown rank."""
        value = self.optional(name)
        if value is None or value.shape.is_top:
            if value is not None:
                self.may_fail(f"{name} must have rank {rank}")
            return (UNKNOWN_SIZE,) * rank
        self.require_rank(value.shape, rank, name)
        return value.shape.dims

    def require_dims(self, name: str, *dims: Dim | int) -> None:
        """Require these dims of an input, if it is given."""
        if self.has(name):
            for axis, (found, wanted) in enumerate(zip(self.sizes(name, len(dims)), dims, strict=True)):
                self.require_equal(found, wanted, f"dim {axis} of {name} must fit the other inputs")

    def broadcast(self, *shapes: Shape) -> Shape:
        """The shape after numpy broadcasting, of unknown rank if one of the shapes is. States the requirements."""
        first = shapes[0]
        if len(shapes) == 1 or (all(s is first for s in shapes) and not first.has_unknown):
            return first
        ranked = [s for s in shapes if s is not SCALAR]
        if len(ranked) == 1:
            return ranked[0]
        if any(s.is_top for s in ranked):
            return self._broadcast_starred(ranked)
        return shape_of(self.broadcast_dims(*[s.dims for s in ranked]))

    def _broadcast_starred(self, shapes: Sequence[Shape]) -> Shape:
        """The shape after broadcasting where a rank is unknown: with the dims that lie along the last axes."""
        heads, variable, tails = aligned(shapes)
        head = [self._broadcast_axis(sizes, at) for at, sizes in enumerate(zip(*heads, strict=True))]
        tail = self.broadcast_dims(*tails)
        if variable is not None:
            return Shape.starred(variable, tuple(head), tail)
        self.may_fail("shapes of unknown rank must broadcast")
        if not tail or any(s is TOP_SHAPE or any(d.is_unknown for d in s.known) for s in shapes):
            return TOP_SHAPE
        return self.fresh_shape(f"broadcast({', '.join(map(str, shapes))})*", (), tail)

    def broadcast_dims(self, *dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """The dims after numpy broadcasting, aligned at the last axis."""
        first = dims[0]
        if all(d == first for d in dims[1:]) and not any(d.is_unknown for d in first):
            return tuple(first)
        axes = range(-max(map(len, dims)), 0)
        return tuple([self._broadcast_axis([d[axis] for d in dims if len(d) >= -axis], axis) for axis in axes])

    def unified(self, *dims: Dim) -> Dim:
        """One dim for several that must be equal; the requirement is stated elsewhere."""
        return reduce(lambda target, source: self.policy.unify(target, source, _unknown_size), dims)

    def _broadcast_axis(self, sizes: Iterable[Dim], axis: int) -> Dim:
        result, *rest = sizes
        for size in rest:
            if size is result and isinstance(size, Expr):
                continue
            if (size is ONE_EXPR or result is ONE_EXPR) and self.policy.broadcasting is None:
                other = size if result is ONE_EXPR else result
                if isinstance(other, Expr):
                    result = given(TRUE, other)
                    continue
            reason = f"dims of axis {axis} must broadcast"
            relation = rel.broadcastable(result, size)
            self.require(relation, reason, found=f"{result} and {size}" if relation is FALSE else "")
            if self.policy.broadcasting is not None:
                result = self._broadcast_by_policy(result, size, reason)
            else:
                result = _wider(result, size, self.facts)
        return result

    def _broadcast_by_policy(self, a: Dim, b: Dim, reason: str) -> Dim:
        """The result of two dims that broadcast under an unsound policy; its assumptions are stated as claims."""
        result = self.policy.broadcast(a, b, _unknown_size)
        for relation in (rel.eq(result, broadcast(a, b)), self.policy.claim(a, b)):
            self.state(relation, reason, "claimed")
        return result


def of_dims(dtype: DType, *dims: Dim | int) -> Tensor:
    """A tensor of these dims."""
    return Tensor(dtype, shape_of(tuple(map(as_dim, dims))))


def as_size(dim: Dim) -> Dim:
    """The dim as the size of an axis: a natural number."""
    if isinstance(dim, Expr) or dim.bounds.leq(NATURAL):
        return dim
    return Unknown(dim.bounds.meet(NATURAL), dim.congruence)


def constants_of(dims: Sequence[Dim] | None) -> list[int] | None:
    """The numbers that the dims are, if all are constants."""
    if dims is None:
        return None
    found = [d.const for d in dims if isinstance(d, Expr) and d.const is not None]
    return found if len(found) == len(dims) else None


@remembered
def _wider(a: Dim, b: Dim, facts: Facts) -> Dim:
    """The result of two sizes that broadcast."""
    if facts.decide(rel.ne(a, 1)) is YES:
        wider = a
    else:
        wider = b if facts.decide(rel.ne(b, 1)) is YES else broadcast(a, b)
    return given(rel.broadcastable(a, b), wider)


def _unknown_size() -> Dim:
    return UNKNOWN_SIZE


_LONGEST_VECTOR: Final = 64

ANY_TENSOR: Final = Tensor(DType.UNDEFINED)
"""A tensor of unknown type and rank."""
