"""Sequences and optional values: how many tensors they hold, and the sizes of these; maps; strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.research.specification.formulas import FALSE, TRUE, Term, both, equal, total
from absint.research.specification.layout import number
from absint.research.specification.learning import ML
from absint.research.specification.node import Attribute, Input, Node, Output, held, listed, tensor
from absint.research.specification.specs import at, specifies


def _holder(node: Node, kind: str) -> tuple[Input, Term]:
    """The first input, which holds tensors, and how many."""
    given = node.input(0)
    if given.length is None or given.holder != kind:
        raise LookupError(f"the input is no {kind}")
    return given, given.length


def _position(node: Node, index: int, count: Term, *, at_end: bool = False) -> Term:
    """A position, from the end if it is negative; of an insertion it may be the end."""
    (position,) = node.elements(index) or ()
    below = position <= count if at_end else position < count
    node.requires(both(position >= -count, below), "the position must lie within the sequence")
    return position


def _is_filled(node: Node, count: Term) -> None:
    node.requires(count >= 1, "the sequence must not be empty")


@specifies("SequenceLength", grid=[at("sequence K: N C"), at("sequence K int64:"), at("sequence 0: N")])
def length(node: Node) -> Output:
    """The number of tensors, in a scalar."""
    return tensor([], [_holder(node, "sequence")[1]])


@specifies(
    "SequenceAt",
    grid=[
        at("sequence K: N C", ". p"),
        at("sequence K: N", ". p-3"),
        at("sequence K int64:", ". -1"),
        at("sequence 2: N", ". 2"),
    ],
)
def taken(node: Node) -> Output:
    """The sizes of a tensor of the sequence."""
    given, count = _holder(node, "sequence")
    _position(node, 1, count)
    return tensor(given.dims)


@specifies("SequenceConstruct", grid=[at("N C"), at("N C", "N C"), at("N", "M C", ""), at("int64: N", "int64: M")])
def constructed(node: Node) -> Output:
    """The inputs."""
    return listed([given.dims for given in node.given()])


@specifies("SequenceEmpty", grid=[at(), at(dtype=7)])
def empty(_: Node) -> Output:
    """Nothing."""
    return listed([])


@specifies(
    "SequenceInsert",
    grid=[
        at("sequence K: N C", "N C"),
        at("sequence K: N C", "N C", ". p"),
        at("sequence K int64: N", "int64: N", ". p-3"),
        at("sequence K:", "", ". 0"),
        *[at("sequence 2: N", "M C", position) for position in (None, ". 0", ". 1", ". 2", ". -1", ". -2", ". 3")],
    ],
)
def inserted(node: Node) -> Output:
    """One tensor more: before the one at the position, by default at the end."""
    given, count = _holder(node, "sequence")
    tensor = node.input(1)
    position = count if node.optional(2) is None else _position(node, 2, count, at_end=True)
    if list(map(str, given.dims)) == list(map(str, tensor.dims)):
        return held(count + 1, given.dims)
    known, place = number(count), number(position) if position is not count else number(count)
    if known is None or place is None:
        raise LookupError("the tensors differ in their sizes")
    parts = [given.dims] * known
    parts.insert(place, tensor.dims)
    return listed(parts)


@specifies(
    "SequenceErase",
    grid=[
        at("sequence K: N C"),
        at("sequence K: N C", ". p"),
        at("sequence K int64: N", ". p-3"),
        at("sequence K:", ". -1"),
        at("sequence 2: N", ". 2"),
    ],
)
def erased(node: Node) -> Output:
    """One tensor less: without the one at the position, by default the last."""
    given, count = _holder(node, "sequence")
    _is_filled(node, count)
    if node.optional(1) is not None:
        _position(node, 1, count)
    return held(count - 1, given.dims)


@specifies(
    "ConcatFromSequence",
    grid=[
        *[at("sequence K: N C", axis=axis) for axis in (0, 1, -1, -2)],
        at("sequence K: N", axis=0),
        at("sequence 3: N C", axis=1),
        *[at("sequence K: N C", axis=axis, new_axis=1) for axis in (0, 1, 2, -1, -3)],
        at("sequence K:", axis=0, new_axis=1),
    ],
)
def joined(node: Node) -> Output:
    """The tensors one after the other along an axis, or along a new one."""
    (dims, *_), count = _holder(node, "sequence")
    _is_filled(node, count)
    if node.integer("new_axis"):
        axis = node.axis(node.integer("axis"), len(dims) + 1)
        return tensor([*dims[:axis], count, *dims[axis:]])
    axis = node.axis(node.integer("axis"), len(dims))
    return tensor([*dims[:axis], dims[axis] * count, *dims[axis + 1 :]])


@specifies(
    "SplitToSequence",
    grid=[
        *[at("N C", axis=axis, keepdims=keepdims) for axis in (0, -1) for keepdims in (0, 1)],
        at("N"),
        *[at("N C", "= a b", axis=axis) for axis in (0, 1)],
        at("N", "= a 3 b"),
        *[at(dims, ". 2") for dims in ("5 C", "4 C", "1 C", "0 C")],
        at("N 6", ". 3", axis=1),
    ],
)
def split(node: Node) -> Output:
    """Chunks along an axis: of size 1, of a given size but for the last, or of given sizes."""
    x, sizes = node.input(0), node.optional(1)
    axis = node.axis(node.integer("axis"), x.rank)
    before, extent, after = x.dims[:axis], x.dims[axis], x.dims[axis + 1 :]
    if sizes is None:
        return held(extent, [*before, *[1] * (node.integer("keepdims", 1) != 0), *after])
    if not node.integer("keepdims", 1):
        raise LookupError("runtimes differ on keepdims beside a split")
    given = node.elements(1) or ()
    if sizes.rank == 0:
        size, most = number(given[0]), number(extent)
        if size is None or most is None:
            raise LookupError("the last chunk may be smaller")
        node.demand(size >= 1, "a chunk must not be empty")
        return listed([[*before, min(size, most - start), *after] for start in range(0, most, size)])
    node.requires(both(*[size >= 0 for size in given]), "a chunk must not have a negative size")
    node.requires(equal(total(given), extent), "the chunks must cover the axis")
    return listed([[*before, size, *after] for size in given])


@specifies("Optional", grid=[at("N C"), at("int64:")])
def wrapped(node: Node) -> Output:
    """The input, if there is one."""
    given = node.input(0)
    if given.length is not None:
        raise LookupError("the optional value holds a sequence")
    return held(1, given.dims)


@specifies("OptionalHasElement", first=18, grid=[at(), at("N C"), at("sequence K: N")])
@specifies("OptionalHasElement", grid=[at("optional 1: N C"), at("optional 0: N C")])
def has(node: Node) -> Output:
    """A truth in a scalar: a tensor and a sequence are there, no input is not."""
    given = node.optional(0)
    if given is None:
        return Output((), (FALSE,))
    return Output((), (given.length >= 1 if given.length is not None and given.holder == "optional" else TRUE,))


@specifies("OptionalGetElement", first=18, grid=[at("N C"), at("sequence K: N")])
@specifies("OptionalGetElement", grid=[at("optional 1: N C"), at("optional 0: N C")])
def got(node: Node) -> Output:
    """The content of an optional value; a tensor or a sequence as it is."""
    given = node.input(0)
    if given.length is None:
        return tensor(given.dims)
    if given.holder == "sequence":
        return held(given.length, given.dims)
    node.requires(given.length >= 1, "the optional value must hold something")
    return tensor(given.dims)


# Maps


def _labels(node: Node, *names: str) -> int:
    """The length of the list in one of two attributes."""
    found = [value for name in names if (value := node.attributes.get(name))]
    node.demand(len(found) == 1, "one of two lists must be given")
    (value,) = found
    assert isinstance(value, Sequence)
    return len(value)


@specifies(
    "ZipMap",
    domain=ML,
    grid=[
        *[at(dims, classlabels_int64s=[4, 2, 7]) for dims in ("N C", "C")],
        at("N C", classlabels_strings=["a", "b"]),
        at("N 1", classlabels_strings=["a"]),
        at("N 4", classlabels_int64s=[4, 2, 7]),
    ],
)
def mapped(node: Node) -> Output:
    """For each row a map from labels to the numbers of its columns, which are scalars."""
    x, labels = node.input(0), _labels(node, "classlabels_int64s", "classlabels_strings")
    node.demand(x.rank in (1, 2), "the input must be a table or a row")
    node.requires(equal(x.dims[-1], labels), "there must be a column for each label")
    return held(x.dims[0] if x.rank == 2 else 1, [])


@specifies(
    "DictVectorizer",
    domain=ML,
    grid=[
        at("map K int64:", int64_vocabulary=[4, 3, 0, 1, 2, 9]),
        at("map K string:", string_vocabulary=["k1", "k0", "k2", "k3", "k4", "k5", "k6"]),
    ],
)
def vectorised(node: Node) -> Output:
    """A number for each word of the vocabulary, in a row: the documents say 1-D, onnxruntime gives a table of one row,
    as every operator of the domain does.
    """
    _holder(node, "map")
    return tensor([1, _labels(node, "int64_vocabulary", "string_vocabulary")])


@specifies("CastMap", domain=ML, grid=[at("map K int64:"), at("map K int64:", map_form="SPARSE", max_map=3)])
def cast(node: Node) -> Output:
    """The numbers of the map in a row, or with a place for each key below `max_map`, which is above all keys."""
    _, count = _holder(node, "map")
    if node.text("map_form", "DENSE") == "DENSE":
        return tensor([1, count])
    most = node.integer("max_map", 1)
    node.requires(count <= most, "the keys must be below max_map", unless=TRUE)
    return tensor([1, most])


# Strings


@specifies("RegexFullMatch", grid=[at("string: N C", pattern="a.*"), at("string:", pattern="[0-9]+")])
def matches(node: Node) -> Output:
    """The shape of the strings."""
    return tensor(node.input(0).dims)


GRAMS: Final[dict[str, Attribute]] = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 1,
    "ngram_counts": [0, 2],
    "ngram_indexes": [4, 0, 2],
    "pool_int64s": [2, 3, 5, 4],
}
WEIGHTS: Final = [0.5, 2.0, 1.0]


@specifies(
    "TfIdfVectorizer",
    grid=[
        *[at(dims)._replace(attributes=GRAMS) for dims in ("int64: C", "int64: N C", "int64:", "int64: N M C")],
        at("string: C")._replace(
            attributes={
                **{name: value for name, value in GRAMS.items() if name != "pool_int64s"},
                "pool_strings": ["a", "b", "c", "d"],
            }
        ),
        *[at(dims)._replace(attributes={**GRAMS, "weights": WEIGHTS}) for dims in ("int64: C", "int64: N C")],
        at("string: N C")._replace(
            attributes={
                **{name: value for name, value in GRAMS.items() if name != "pool_int64s"},
                "pool_strings": ["a", "b", "a", "a"],
            }
        ),
    ],
)
def counts(node: Node) -> Output:
    """A count for each index up to the greatest, of a row or of each row."""
    x, indexes = node.input(0), node.integers("ngram_indexes") or []
    least, most = node.integer("min_gram_length"), node.integer("max_gram_length")
    node.demand(1 <= least <= most, "n-grams must have an element, and the longest be as long as the shortest")
    if x.rank == 0:
        node.refuse("the input must be a row or a table", unless=TRUE)
    node.demand(x.rank <= 2, "the input must be a row or a table")
    if x.rank == 2:
        node.limits(x.dims[0] >= 1, "onnxruntime needs a row")
    return tensor([*x.dims[:-1], max(indexes) + 1])
