"""Operators of com.microsoft on tokens: mixtures of experts, hashes of n-grams, vectors of words; a product with packed
weights of stated sizes: onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.research.specification.formulas import Formula, Int, both, either, equal, product
from absint.research.specification.node import Input, Node, Output, tensor
from absint.research.specification.products import multiplied
from absint.research.specification.specs import MICROSOFT, at, specifies


@specifies(
    "MatMulFpQ4",
    domain=MICROSOFT,
    grid=[
        at("M K", "uint8: 100", "= 32 5", blk_quant_type=0),
        at("B M K", "uint8: 100", "= 32 5", blk_quant_type=0),
        at("K", "uint8: 100", "= 32 5", blk_quant_type=0),
    ],
)
def packed(node: Node) -> Output:
    """A times a packed matrix, whose sizes are input 2."""
    sizes = node.elements(2)
    if sizes is None:
        raise LookupError("the sizes of B must be known")
    node.demand(len(sizes) == 2, "B must be a matrix")
    return tensor(multiplied(node, node.input(0), Input((sizes[0], sizes[1]))))


@specifies(
    "MoE",
    domain=MICROSOFT,
    grid=[
        at("T H", "R E", "4 16 8", None, "F 8 16", k=2),
        at("T H", "R 4", "4 16 8", None, "4 G 16", k=2),
        at("B L H", "R E", "4 I 8", "4 I", "4 8 J", "4 8", k=1),
    ],
)
def experts(node: Node) -> Output:
    """The shape of the input: tokens with H features. The router has a row for each token and a column for each
    expert, of which every one has weights (I, H) and then (H, I), or both transposed.
    """
    x, router, first, second = (node.input(place) for place in (0, 1, 2, 4))
    if node.text("activation_type", "relu") == "swiglu" or any(node.optional(place) is not None for place in (6, 7)):
        raise LookupError("a form with gates")
    node.demand(x.rank in (2, 3) and router.rank == 2, "the input must be tokens, and the router a matrix")
    node.demand(first.rank == second.rank == 3, "each expert must have two matrices")
    rows, count = router.dims
    hidden = x.dims[-1]
    node.requires(equal(rows, product(x.dims[:-1])), "the router must have a row for each token")
    node.requires(count >= node.integer("k", 1), "there must be k experts")
    forms = []
    for inner, turn in ((second.dims[2], 1), (second.dims[1], -1)):
        wanted = {2: (count, *(inner, hidden)[::turn]), 3: (count, inner), 4: (count, *(hidden, inner)[::turn])}
        forms.append(_of_sizes(node, {**wanted, 5: (count, hidden)}))
    node.requires(either(*forms), "weights must fit the experts and the tokens")
    for size in second.dims[1:]:
        node.limits(size >= 1, "onnxruntime needs features", is_required=True)
    return tensor(x.dims)


def _of_sizes(node: Node, wanted: Mapping[int, Sequence[Int]]) -> Formula:
    """The inputs that are given have these sizes."""
    given = [(node.input(place), sizes) for place, sizes in wanted.items() if node.optional(place) is not None]
    node.demand(all(one.rank == len(sizes) for one, sizes in given), "weights must have the axes of experts")
    return both(*(equal(size, fit) for one, sizes in given for size, fit in zip(one.dims, sizes, strict=True)))


@specifies(
    "QMoE",
    domain=MICROSOFT,
    grid=[
        at("T H", "R E", "uint8: 4 16 4", "4 16", None, "uint8: 4 8 8", "4 8", k=2),
        at("B L 8", "R 4", "uint8: 4 16 8", "4 16", None, "uint8: 4 8 16", "4 8", k=2, expert_weight_bits=8),
    ],
)
def quantised_experts(node: Node) -> Output:
    """As MoE, with packed weights: a byte of the last axis holds 8 / bits features."""
    if any(x is not None for x in (node.optional(4), node.optional(7), *node.inputs[8:])):
        raise LookupError("experts with two matrices and their scales are specified")
    each = 8 // node.integer("expert_weight_bits", 4)
    packed = [node.input(place) for place in (2, 5)]
    node.demand(all(x.rank == 3 for x in packed), "each expert must have two matrices")
    first, second = (Input((x.dims[0], x.dims[1], x.dims[2] * each)) for x in packed)
    (found,) = node.through(experts, "MoE", 1, [node.input(0), node.input(1), first, None, second])
    for place, matrix in ((3, first), (6, second)):
        scales = node.input(place)
        node.demand(scales.rank == 2, "each row of a matrix must have a scale")
        node.agree(scales.dims, matrix.dims, "each row of a matrix must have a scale", strict=False)
    return found


@specifies(
    "NGramHashMapping",
    domain=MICROSOFT,
    grid=[
        at("int64=0: B S", "int64=1: M", "int64=1: V", outputs=2, max_ngram_size=3, n_head_per_ngram=2, pad_id=0),
        at(
            "int64=0: B S",
            "int64=1: 3",
            "int64=1: 2",
            "int64=0: C P",
            outputs=2,
            max_ngram_size=2,
            n_head_per_ngram=2,
            pad_id=0,
        ),
        at(
            "int64=0: B S",
            "int64=1: 3",
            "int64=1: 4",
            None,
            "int64=0: W",
            "int64=0:",
            max_ngram_size=3,
            n_head_per_ngram=2,
            pad_id=0,
        ),
        at("int64=0: B", "int64=1: 3", "int64=1: 4", max_ngram_size=3, n_head_per_ngram=2, pad_id=0),
    ],
)
def hashes(node: Node) -> list[Output]:
    """A hash for each token, length of an n-gram and head; then the last tokens, which the next call needs."""
    tokens, longest = node.input(0).dims, node.integer("max_ngram_size")
    node.demand(len(tokens) == 2 and longest >= 2, "tokens must be a matrix, and an n-gram at least a pair")
    batch, count = tokens[0], (longest - 1) * node.integer("n_head_per_ngram")
    (factors,) = node.input(1).dims
    node.requires(factors >= longest, "each position of an n-gram must have a multiplier")
    wanted = {2: (count,), 3: (batch, longest - 1), 4: (count,), 5: (), 6: tokens}
    node.fit(wanted, "the inputs must fit the tokens")
    return [tensor([*tokens, count]), tensor([batch, longest - 1])][: node.outputs]


@specifies(
    "VarlenNGramHashMapping",
    domain=MICROSOFT,
    grid=[
        at(
            "int64=0: N",
            "int64=1: M",
            "int64=1: 4",
            "int32: = 0 n",
            outputs=2,
            max_ngram_size=3,
            n_head_per_ngram=2,
            pad_id=0,
        ),
    ],
)
def hashes_of_rows(node: Node) -> list[Output]:
    """As NGramHashMapping, of rows one after the other; input 3 has the beginning of each, and the end."""
    tokens, bounds = node.input(0).dims, node.input(3).dims
    if node.integer("state_update_capacity") or any(x is not None for x in node.inputs[4:]) or node.outputs > 2:
        raise LookupError("a first call is specified")
    longest = node.integer("max_ngram_size")
    node.demand(len(tokens) == len(bounds) == 1 and longest >= 2, "tokens and rows must be vectors")
    node.requires(bounds[0] >= 2, "there must be a row")
    node.requires(tokens[0] >= bounds[0] - 1, "every row must have a token")
    places = node.elements(3)
    if places is not None:
        node.requires(equal(places[0], 0), "the first row begins at the first token")
        node.requires(equal(places[-1], tokens[0]), "the rows must cover the tokens")
    (factors,), (ranges,) = node.input(1).dims, node.input(2).dims
    count = (longest - 1) * node.integer("n_head_per_ngram")
    node.requires(factors >= longest, "each position of an n-gram must have a multiplier")
    node.requires(equal(ranges, count), "each hash must have a range")
    return [tensor([tokens[0], count]), tensor([bounds[0] - 1, longest - 1])][: node.outputs]


@specifies(
    "WordConvEmbedding",
    domain=MICROSOFT,
    grid=[at("int32=0: N M", "F 1 K 4", "B", "10 D"), at("int32=0: N 5", "6 1 K D", "6", "10 D")],
)
def words(node: Node) -> Output:
    """A vector for each word, a row of characters, with a feature for each filter."""
    text, filters, bias, vectors = (node.input(place) for place in range(4))
    if (text.rank, filters.rank, bias.rank, vectors.rank) != (2, 4, 1, 2):
        raise LookupError("onnxruntime takes some other ranks")
    node.requires(equal(bias.dims[0], filters.dims[0]), "each filter must have a bias")
    node.requires(equal(vectors.dims[1], filters.dims[3]), "filters must be as wide as the vectors of characters")
    long = text.dims[1] >= filters.dims[2]
    node.requires(either(equal(text.dims[0], 0), long), "a word must be at least as long as a filter")
    return tensor([text.dims[0], filters.dims[0]])
