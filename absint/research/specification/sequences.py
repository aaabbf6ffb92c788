"""Sequences and optional values: how many tensors they hold, and the sizes of these; maps; strings."""

from collections.abc import Mapping, Sequence
from typing import Final

from absint.research.specification.formulas import FALSE, TRUE, both, equal
from absint.research.specification.layout import number
from absint.research.specification.node import Attribute, Input, Node, Output, held, listed, tensor
from absint.research.specification.specs import instances, learned, specifies
from absint.research.specification.terms import Term, total


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


@specifies("SequenceLength", "sequence K: N C | sequence K int64: | sequence 0: N")
def length(node: Node) -> Output:
    """The number of tensors, in a scalar."""
    return tensor([], [_holder(node, "sequence")[1]])


@specifies("SequenceAt", "sequence K: N C, . p | sequence K: N, . p-3 | sequence K int64:, . -1 | sequence 2: N, . 2")
def taken(node: Node) -> Output:
    """The sizes of a tensor of the sequence."""
    given, count = _holder(node, "sequence")
    _position(node, 1, count)
    return tensor(given.dims)


@specifies("SequenceConstruct", "N C | N C, N C | N, M C, [] | int64: N, int64: M")
def constructed(node: Node) -> Output:
    """The inputs."""
    if None in node.inputs:
        node.limits(FALSE, "onnxruntime needs every input")
    return listed([given.dims for given in node.given()])


@specifies("SequenceEmpty", " | ; dtype=7")
def empty(_: Node) -> Output:
    """Nothing."""
    return listed([])


@specifies(
    "SequenceInsert",
    "sequence K: N C, N C | sequence K: N C, N C, . p | sequence K int64: N, int64: N, . p-3 | sequence K:, [], . 0 | "
    "sequence 2: N, M C, - | sequence 2: N, M C, . 0 | sequence 2: N, M C, . 1 | sequence 2: N, M C, . 2 | "
    "sequence 2: N, M C, . -1 | sequence 2: N, M C, . -2 | sequence 2: N, M C, . 3",
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
    "sequence K: N C | sequence K: N C, . p | sequence K int64: N, . p-3 | sequence K:, . -1 | sequence 2: N, . 2",
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
    "sequence K: N C; axis=0 | sequence K: N C; axis=1 | sequence K: N C; axis=-1 | sequence K: N C; axis=-2 | "
    "sequence K: N; axis=0 | sequence 3: N C; axis=1 | sequence K: N C; axis=0 new_axis=1 | "
    "sequence K: N C; axis=1 new_axis=1 | sequence K: N C; axis=2 new_axis=1 | "
    "sequence K: N C; axis=-1 new_axis=1 | sequence K: N C; axis=-3 new_axis=1 | sequence K:; axis=0 new_axis=1",
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
    "N C; axis=0 keepdims=0 | N C; axis=0 keepdims=1 | N C; axis=-1 keepdims=0 | N C; axis=-1 keepdims=1 | N | "
    "N C, = a b; axis=0 | N C, = a b; axis=1 | N, = a 3 b | 5 C, . 2 | 4 C, . 2 | 1 C, . 2 | 0 C, . 2 | "
    "N 6, . 3; axis=1",
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
    if not given:
        raise LookupError("onnxruntime takes an empty list as left out")
    if sizes.rank == 0:
        size, most = number(given[0]), number(extent)
        if size is None or most is None:
            raise LookupError("the last chunk may be smaller")
        node.demand(size >= 1, "a chunk must not be empty")
        return listed([[*before, min(size, most - start), *after] for start in range(0, most, size)])
    node.requires(both(*[size >= 0 for size in given]), "a chunk must not have a negative size")
    node.requires(equal(total(given), extent), "the chunks must cover the axis")
    return listed([[*before, size, *after] for size in given])


@specifies("Optional", "N C | int64:")
def wrapped(node: Node) -> Output:
    """The input, if there is one."""
    given = node.input(0)
    if given.length is not None:
        raise LookupError("the optional value holds a sequence")
    return held(1, given.dims)


@specifies("OptionalHasElement", " | N C | sequence K: N", first=18)
@specifies("OptionalHasElement", "optional 1: N C | optional 0: N C")
def has(node: Node) -> Output:
    """A truth in a scalar: a tensor and a sequence are there, no input is not."""
    given = node.optional(0)
    if given is None:
        return Output((), (FALSE,))
    return Output((), (given.length >= 1 if given.length is not None and given.holder == "optional" else TRUE,))


@specifies("OptionalGetElement", "N C | sequence K: N", first=18)
@specifies("OptionalGetElement", "optional 1: N C | optional 0: N C")
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


@learned(
    "ZipMap",
    "N C; classlabels_int64s=[4, 2, 7] | C; classlabels_int64s=[4, 2, 7] | N C; classlabels_strings=['a', 'b'] | "
    "N 1; classlabels_strings=['a'] | N 4; classlabels_int64s=[4, 2, 7]",
)
def mapped(node: Node) -> Output:
    """For each row a map from labels to the numbers of its columns, which are scalars."""
    x, labels = node.input(0), _labels(node, "classlabels_int64s", "classlabels_strings")
    node.demand(x.rank in (1, 2), "the input must be a table or a row")
    node.requires(equal(x.dims[-1], labels), "there must be a column for each label")
    return held(x.dims[0] if x.rank == 2 else 1, [])


@learned(
    "DictVectorizer",
    "map K int64:; int64_vocabulary=[4, 3, 0, 1, 2, 9] | "
    "map K string:; string_vocabulary=['k1', 'k0', 'k2', 'k3', 'k4', 'k5', 'k6']",
)
def vectorised(node: Node) -> Output:
    """A number for each word of the vocabulary, in a row: the documents say 1-D, onnxruntime gives a table of one row,
    as every operator of the domain does.
    """
    _holder(node, "map")
    return tensor([1, _labels(node, "int64_vocabulary", "string_vocabulary")])


@learned("CastMap", "map K int64: | map K int64:; map_form=SPARSE max_map=3")
def cast(node: Node) -> Output:
    """The numbers of the map in a row, or with a place for each key below `max_map`, which is above all keys."""
    _, count = _holder(node, "map")
    if node.text("map_form", "DENSE") == "DENSE":
        return tensor([1, count])
    most = node.integer("max_map", 1)
    node.requires(count <= most, "the keys must be below max_map", unless=TRUE)
    return tensor([1, most])


# Strings


@specifies("RegexFullMatch", "string: N C; pattern=a.* | string:; pattern='[0-9]+'")
def matches(node: Node) -> Output:
    """The shape of the strings."""
    return tensor(node.input(0).dims)


GRAMS: Final[Mapping[str, Attribute]] = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 1,
    "ngram_counts": [0, 2],
    "ngram_indexes": [4, 0, 2],
}
POOL: Final = "pool_int64s=[2, 3, 5, 4]"


@specifies(
    "TfIdfVectorizer",
    instances(
        f"int64: C; {POOL} | int64: N C; {POOL} | int64:; {POOL} | int64: N M C; {POOL} | "
        f"string: C; pool_strings=['a', 'b', 'c', 'd'] | int64: C; {POOL} weights=[0.5, 2.0, 1.0] | "
        f"int64: N C; {POOL} weights=[0.5, 2.0, 1.0] | string: N C; pool_strings=['a', 'b', 'a', 'a']",
        **GRAMS,
    ),
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
