"""Operators of com.microsoft on tokens: mixtures of experts, hashes of n-grams, vectors of words, packed weights; and
those that read a memory: attention over one, a matrix that is updated, a packed table.
"""

from collections.abc import Mapping, Sequence

from absint.research.specification.elementwise import multiplied
from absint.research.specification.formulas import both, either, equal
from absint.research.specification.node import Input, Node, Output, tensor
from absint.research.specification.specs import contributed, instances
from absint.research.specification.terms import Formula, Int, product, term


@contributed(
    "MatMulFpQ4",
    "M K, uint8: 100, = 32 5; blk_quant_type=0 | B M K, uint8: 100, = 32 5; blk_quant_type=0 | "
    "K, uint8: 100, = 32 5; blk_quant_type=0",
)
def packed(node: Node) -> Output:
    """A times a packed matrix, whose sizes are input 2."""
    sizes = node.elements(2)
    if sizes is None:
        raise LookupError("the sizes of B must be known")
    node.demand(len(sizes) == 2, "B must be a matrix")
    return tensor(multiplied(node, node.input(0), Input((sizes[0], sizes[1]))))


@contributed(
    "MoE",
    "T H, R E, 4 16 8, -, F 8 16; k=2 | T H, R 4, 4 16 8, -, 4 G 16; k=2 | T H, R, 4 16 8, -, 4 G 16; k=2 | "
    "B L H, R E, 4 I 8, 4 I, 4 8 J, 4 8; k=1 | B L H, R E, 4 I 8, I, 4 8 J, 4 8; k=1",
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


@contributed(
    "QMoE",
    "T H, R E, uint8: 4 16 4, 4 16, -, uint8: 4 8 8, 4 8; k=2 | "
    "B L 8, R 4, uint8: 4 16 8, 4 16, -, uint8: 4 8 16, 4 8; k=2 expert_weight_bits=8",
)
def quantised_experts(node: Node) -> Output:
    """As MoE, with packed weights: a byte of the last axis holds 8 / bits features."""
    if any(x is not None for x in (node.optional(4), node.optional(7), *node.inputs[8:])):
        raise LookupError("experts with two matrices and their scales are specified")
    each = 8 // node.integer("expert_weight_bits", 4)
    packed = [node.input(place) for place in (2, 5)]
    node.demand(all(x.rank == 3 for x in packed), "each expert must have two matrices")
    first, second = (Input((x.dims[0], x.dims[1], x.dims[2] * each)) for x in packed)
    (found,) = node.through(experts, [node.input(0), node.input(1), first, None, second])
    for place, matrix in ((3, first), (6, second)):
        scales = node.input(place)
        node.demand(scales.rank == 2, "each row of a matrix must have a scale")
        node.agree(scales.dims, matrix.dims, "each row of a matrix must have a scale", strict=False)
    return found


@contributed(
    "NGramHashMapping",
    "int64=0: B S, int64=1: M, int64=1: V; outputs=2 max_ngram_size=3 n_head_per_ngram=2 pad_id=0 | "
    "int64=0: B S, int64=1: 3, int64=1: 2, int64=0: C P; outputs=2 max_ngram_size=2 n_head_per_ngram=2 pad_id=0 | "
    "int64=0: B S, int64=1: 3, int64=1: 4, -, int64=0: W, int64=0:; max_ngram_size=3 n_head_per_ngram=2 pad_id=0 | "
    "int64=0: B, int64=1: 3, int64=1: 4; max_ngram_size=3 n_head_per_ngram=2 pad_id=0",
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


@contributed(
    "VarlenNGramHashMapping",
    "int64=0: N, int64=1: M, int64=1: 4, int32: = 0 n; outputs=2 max_ngram_size=3 n_head_per_ngram=2 pad_id=0",
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


@contributed("WordConvEmbedding", "int32=0: N M, F 1 K 4, B, 10 D | int32=0: N 5, 6 1 K D, 6, 10 D")
def words(node: Node) -> Output:
    """A vector for each word, a row of characters, with a feature for each filter."""
    text, filters, bias, vectors = (node.input(place) for place in range(4))
    if (text.rank, filters.rank, bias.rank, vectors.rank) != (2, 4, 1, 2):
        raise LookupError("onnxruntime takes some other ranks")
    node.requires(equal(bias.dims[0], filters.dims[0]), "each filter must have a bias")
    node.requires(equal(vectors.dims[1], filters.dims[3]), "filters must be as wide as the vectors of characters")
    node.requires(text.dims[1] >= filters.dims[2], "a word must be at least as long as a filter")
    return tensor([text.dims[0], filters.dims[0]])


# Operators that read a memory


@contributed(  # the memory has 6 features, the input 4, a state 5
    "AttnLSTM",
    instances(
        "T B 4, 1 20 10, 1 20 5, 1 40, int32=1: B, -, -, -, 1 5 A, 1 6 A, 1 A, B M 6, int32=1: B | "
        "T B 4, 1 20 12, 1 20 5, 1 40, int32=1: B, -, -, -, 1 5 A, 1 6 A, 1 A, B M 6, int32=1: B, 1 11 8; "
        "direction=reverse | "
        "T B 4, 2 20 12, 2 20 5, 2 40, int32=1: B, -, -, -, 2 5 A, 2 6 A, 2 A, B M 6, int32=1: B, 2 D 8; "
        "direction=bidirectional | "
        "T B I, 1 20 W, 1 20 5, 1 C, int32=1: S, -, -, -, 1 5 A, 1 6 E, 1 F, G M 6, int32=1: L",
        outputs=3,
        hidden_size=5,
    ),
)
def attentive(node: Node) -> list[Output]:
    """As LSTM, whose input is joined with what the state attends to in a memory (batch, places, features)."""
    steps, batch, width = node.input(0).dims
    hidden, count = node.integer("hidden_size"), 2 if node.text("direction") == "bidirectional" else 1
    node.demand(node.input(9).rank == 3 and node.input(11).rank == 3, "the memory and its weights must have three axes")
    features, depth = node.input(9).dims[1:]
    memory, joint = node.input(11), node.optional(13)
    node.demand(joint is None or joint.rank == 3, "the weights of attention must have three axes")
    context = features if joint is None else joint.dims[2]
    node.fit(
        {
            1: (count, 4 * hidden, width + context),
            2: (count, 4 * hidden, hidden),
            3: (count, 8 * hidden),
            4: (batch,),
            5: (count, batch, hidden),
            6: (count, batch, hidden),
            7: (count, 3 * hidden),
            8: (count, hidden, depth),
            9: (count, features, depth),
            10: (count, depth),
            11: (batch, memory.dims[1], features),
            12: (batch,),
            13: (count, features + hidden, context),
        }
    )
    node.needs_elements(
        (steps, batch, width, memory.dims[1], features, depth), "onnxruntime may fail over what is empty"
    )
    state = tensor([count, batch, hidden])
    return [tensor([steps, count, batch, hidden]), state, state][: node.outputs]


@contributed(
    "DecoderMaskedMultiHeadAttention",
    "B 1 8, B 1 8, B 1 8; num_heads=2 | B 1 8, C 1 8, D 1 8; num_heads=2 | B 1 8, B 2 L 4, C 2 M 4; num_heads=2 | "
    "B 2 8, B 2 8, B 2 8; num_heads=2",
)
def decoded(node: Node) -> list[Output]:
    """The shape of the queries, which are one step of each row."""
    q, k, v = (node.input(place) for place in range(3))
    if any(x is not None for x in node.inputs[3:]) or node.outputs > 1:
        raise LookupError("a call without a buffer is specified")
    node.demand(q.rank == 3 and k.rank == v.rank and k.rank in (3, 4), "queries must be (batch, 1, hidden)")
    node.requires(equal(q.dims[1], 1), "there must be one step")
    heads = node.integer("num_heads")
    node.requires(equal(q.dims[2] % heads, 0), "the heads must share the last axis")
    if k.rank == 3:
        node.fit({1: q.dims, 2: (q.dims[0], 1, v.dims[2])})
    else:
        keys = (q.dims[0], heads, k.dims[2], q.dims[2] // heads)
        node.fit({1: keys, 2: keys})
    node.needs_elements((*q.dims, *k.dims, *v.dims), "onnxruntime needs axes that are not empty")
    return [tensor(q.dims)]


@contributed(
    "GatedDeltaNet",
    "B S 2 8, B S 2 8, B S 4 6, -, B S 4, B S 4, B 4 6 8; outputs=2 | "
    "B S 2 8, B S 2 8, B S 4 6, -, B S 4, B S 4, C H V K; outputs=2",
)
def updated(node: Node) -> list[Output]:
    """(batch, steps, heads, size of a value); a matrix (size of a value, of a key) for each head."""
    packed = node.optional(1) is None or node.optional(3) is not None
    if packed or any(x is not None for x in node.inputs[7:]) or node.outputs > 2:
        raise LookupError("rows of one length, in tensors of their own, are specified")
    q, k, v = (node.input(place) for place in range(3))
    if not q.rank == k.rank == v.rank == 4:
        raise LookupError("tokens are specified as (batch, steps, heads, features)")
    batch, steps, _, key = q.dims
    heads, value = v.dims[2:]
    node.fit({1: q.dims, 2: (batch, steps, heads, value), 4: (batch, steps, heads), 5: (batch, steps, heads)})
    node.fit({6: (batch, heads, value, key)})
    node.needs_elements((*q.dims, *v.dims), "onnxruntime needs axes that are not empty")
    return [tensor([batch, steps, heads, value]), tensor([batch, heads, value, key])][: node.outputs]


@contributed("GatherPacked", "uint8: 9 36, int64=0: B L; K=64 packed_type=2")
def unpacked(node: Node) -> Output:
    """The axes of the indices, and the K features of a row."""
    return tensor([*node.input(1).dims, term(node.integer("K"))])
