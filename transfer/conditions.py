"""What the inputs of an operator must be, in relations and words that rules share; how they must agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from absint.lattices.logic.formula import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, disjunction
from absint.lattices.logic.relation import divisible, eq, ge, le
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_DIM, UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor
from absint.transfer.forms import same_shape
from absint.transfer.op import Op, as_size, of_dims
from absint.transfer.semantics import Asker


def not_empty(op: Op, reason: str, *shapes: Shape) -> None:
    """The node may fail for the reason unless every one of these tensors has elements."""
    positive(op, reason, (size for shape in shapes for size in ((UNKNOWN_SIZE,) if shape.is_top else shape)))


def positive(op: Op, reason: str, sizes: Iterable[Dim]) -> None:
    """The node may fail for the reason unless all of these sizes are at least 1."""
    dims = tuple(dict.fromkeys(sizes))
    all_positive = FALSE if any(d.is_unknown for d in dims) else filled(dims)
    op.may_fail(reason, unless=all_positive, by="onnxruntime")


def vector(op: Op, name: str) -> None:
    """onnxruntime needs an input, if it is given, as a vector."""
    if op.has(name):
        op.require(has_rank(op.tensor(name).shape, 1), f"onnxruntime needs {name} as a vector", by="undocumented")


def require_one_value(
    op: Op, *names: str, each: Dim | None = None, unless: Relation = FALSE, what: str = "channel", by: Asker = "either"
) -> None:
    """Require a scalar or a vector of one element for each of these inputs that is given.

    With `each`, vectors of this length do too, such as one value for each channel; vectors are free where `unless`
    holds.
    """
    must = "be one value" if each is None else f"have one value, or one for each {what}"
    for name in filter(op.has, names):
        shape = op.tensor(name).shape
        others = (eq(shape[0], each), unless) if each is not None and shape.rank == 1 else ()
        op.require(one_value(shape, *others), f"{name} must {must}", found=shape, by=by)


def require_scalar(op: Op, name: str) -> None:
    """Require a scalar; a vector of one element passes for one in onnxruntime."""
    shape = op.tensor(name).shape
    op.require(one_value(shape), f"{name} must be a scalar", found=shape)


def is_empty(sizes: Shape | Iterable[Dim]) -> Relation:
    """A tensor of these sizes has no elements."""
    if isinstance(sizes, Shape) and sizes.is_top:
        return UNKNOWN_RELATION
    return disjunction(*(eq(size, 0) for size in sizes))


def filled(sizes: Iterable[Dim]) -> Relation:
    """All of these sizes are at least 1."""
    return conjunction(*(ge(size, 1) for size in sizes))


def one_value(shape: Shape, *instead: Relation) -> Relation:
    """The shape is that of a scalar or of a vector of one element, or one of the other relations holds."""
    if shape.is_top:
        return UNKNOWN_RELATION
    return disjunction(TRUE if not len(shape) else eq(shape[0], 1) if len(shape) == 1 else FALSE, *instead)


def same_dims(found: Shape | Sequence[Dim], wanted: Shape | Sequence[Dim | int]) -> Relation:
    """The dims are the wanted ones, one by one."""
    if any(isinstance(shape, Shape) and shape.is_top for shape in (found, wanted)):
        return UNKNOWN_RELATION
    return conjunction(*map(eq, found, wanted)) if len(found) == len(wanted) else FALSE


def require_one_way(op: Op, name: str, target: Shape, whose: str, *, instead: Relation = FALSE) -> None:
    """Require that an input broadcasts to the shape of something else, which it never enlarges."""
    shape = op.tensor(name).shape
    if shape.is_top or target.is_top:
        op.may_fail(f"{name} must broadcast to {whose}")
        return
    if len(shape) > len(target):
        op.require(instead, f"{name} must not have more axes than {whose}", found=shape)
    for axis, (dim, size) in enumerate(zip(reversed(shape.dims), reversed(target.dims), strict=False), start=1):
        fits = disjunction(eq(dim, size), eq(dim, 1), instead)
        op.require(fits, f"dim {-axis} of {name} must be 1 or that of {whose}")


def has_rank(shape: Shape, *ranks: int) -> Relation:
    """The shape has one of these ranks."""
    return UNKNOWN_RELATION if shape.rank is None else TRUE if shape.rank in ranks else FALSE


def runs_as(op: Op, runs: Relation, documented: Relation, reason: str) -> None:
    """onnxruntime fails wherever `runs` does not hold; the documents exclude all but `documented`, which implies it.

    Type inference refuses what it can see that they exclude.
    """
    op.require(documented if op.semantics == "onnx" else runs, reason)
    if op.semantics == "either":
        op.may_fail(reason, unless=documented)
    elif op.semantics == "onnxruntime" and documented is FALSE and not op.rule.domain:
        op.may_fail(reason, at_load=True)


def documents_exclude(op: Op, reason: str) -> None:
    """onnxruntime runs the node, unless type inference refuses it."""
    if op.semantics == "onnxruntime":
        op.may_fail(reason, at_load=True)
    else:
        op.reject(reason, by="onnx")


def known_text(op: Op, name: str, known: Collection[str]) -> None:
    """The node may fail unless a text attribute is left out or one of these."""
    value = op.string(name)
    op.may_fail(f"{name} must be known, found {value!r}", unless=value is None or value in known)


def required_text(op: Op, name: str, known: Collection[str]) -> None:
    """onnxruntime refuses a text attribute that is none of these."""
    value = op.string(name)
    if value is not None and value not in known:
        op.reject(f"{name} must be one of {', '.join(known)}, found {value!r}", by="undocumented")


# Agreement of inputs


def require_like(op: Op, name: str, other: str) -> None:
    """Require the shape of the other input, if this one is given."""
    if op.has(name):
        same_shape(op, other, op.tensor(other).shape, name, op.tensor(name).shape)


def require_form(op: Op, name: str, reason: str, *forms: Sequence[Dim | int]) -> None:
    """Require one of these shapes of the input, if it is given."""
    if op.has(name):
        shape = op.tensor(name).shape
        op.require(disjunction(*(same_dims(shape, form) for form in forms)), reason, found=shape)


def require_scores(op: Op, batch: Dim, heads: Dim | int, length: Dim, total: Dim) -> None:
    """Require that a bias, if it is given, broadcasts to the scores of attention along batches and heads."""
    forms = [(rows, each, length, total) for rows in (batch, 1) for each in (heads, 1)]
    require_form(op, "attention_bias", "attention_bias must broadcast to the scores", *forms)


def require_together(op: Op, *names: str) -> bool:
    """All of these inputs are given, or none of them; True if they are."""
    missing = [name for name in names if not op.has(name)]
    if missing and len(missing) < len(names):
        op.reject(f"{' and '.join(names)} must be given together, but {missing[0]} is missing")
    return not missing


def require_offsets(op: Op, name: str, tokens: Dim, *, least: int = 0) -> Dim:
    """Require offsets that split the tokens into rows, each of `least` tokens or more; the number of rows."""
    (bounds,) = op.sizes(name, 1)
    op.require(ge(bounds, 2), f"{name} must have 2 elements or more")
    offsets, reason = op.integers(name), f"the rows of {name} must cover the tokens"
    if not offsets:
        op.may_fail(reason)
    else:
        steps = [ge(b, a + least) for a, b in pairwise(offsets)]
        op.require(conjunction(eq(offsets[0], 0), eq(offsets[-1], tokens), *steps), reason)
    return as_size(bounds - 1)


def require_captures(op: Op, batch: Dim) -> int:
    """Require counts of captured states exactly if there is room for them; the room."""
    capacity = op.integer("state_update_capacity", 0)
    if capacity < 0 or bool(capacity) != op.has("capture_count"):
        op.reject("capture_count must be given exactly if state_update_capacity is positive")
    op.require_dims("capture_count", batch)
    return capacity


def first_known(*dims: Dim) -> Dim:
    """The first of several equal dims that is known; the first one if none is."""
    return next((dim for dim in dims if not dim.is_unknown), dims[0])


def require_from_zero(op: Op, name: str, most: Dim | None, reason: str, *, by: Asker = "undocumented") -> None:
    """Require every element of an input from 0 to `most`."""

    def inside(least: Dim, greatest: Dim) -> Relation:
        return ge(least, 0) if most is None else ge(least, 0) & le(greatest, most)

    x, bounds = op.tensor(name), op.within(name)
    elements = dict.fromkeys(x.contents.elements) if x.contents is not None else {UNKNOWN_DIM: None}
    known = conjunction(*(inside(e, e) if isinstance(e, Dim) else UNKNOWN_RELATION for e in elements))
    none = eq(x.shape.size, 0)
    if known is not UNKNOWN_RELATION:
        op.require(none | known, reason, by=by)
    elif bounds is None or bounds.least is None or (bounds.most is None and most is not None):
        op.may_fail(reason, unless=none, by=by)
    else:
        op.may_fail(reason, unless=none | inside(bounds.least, bounds.most or UNKNOWN_DIM), by=by)


def scalar_size(op: Op, name: str) -> Dim:
    """The number in a scalar input, as a size."""
    require_scalar(op, name)
    return one_integer(op, name)


def one_integer(op: Op, name: str) -> Dim:
    """The only element of an input, as a size."""
    found = op.integers(name)
    return as_size(found[0]) if found is not None and len(found) == 1 else UNKNOWN_SIZE


def head_size(op: Op, hidden: Dim, heads: int, *rows: Dim) -> Dim:
    """The size of each head of a hidden size, which kernels do not split if one of the sizes `rows` is 0."""
    no_rows = [eq(size, 0) for size in rows]
    splits = disjunction(divisible(hidden, heads), *no_rows)
    op.require(splits, f"the hidden size must divide into {heads} heads", found=hidden)
    return hidden // heads


def require_heads(op: Op, name: str, width: Dim, heads: int, *rows: Dim) -> None:
    """Require an input to split into heads that are not empty, unless one of the sizes `rows` is 0."""
    splits = divisible(width, heads) & ge(width, 1)
    no_rows = [eq(size, 0) for size in rows]
    op.require(disjunction(splits, *no_rows), f"{name} must divide into {heads} heads that are not empty")


def packed_head_size(op: Op, hidden: Dim, heads: int, groups: int) -> Dim:
    """The size of a head of the query, which also holds keys and values if no key is given."""
    return head_size(op, hidden, heads if op.has("key") else heads + 2 * groups)


def of_attribute(op: Op, name: str, choices: Sequence[str], default: str) -> str:
    """A string attribute that must be one of these."""
    value = op.string(name, default)
    op.reject(f"{name} must be one of {', '.join(choices)}", unless=value in choices, found=repr(value))
    return value


def kept(op: Op, name: str, rank: int) -> Tensor:
    """A state of this rank that the operator updates and returns with the same shape and type."""
    return of_dims(op.dtype(name), *op.sizes(name, rank))
