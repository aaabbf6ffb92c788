"""Strings, and counts of n-grams."""

from __future__ import annotations

from typing import Final

from absint.research.specification.formulas import TRUE
from absint.research.specification.node import Attribute, Node, Output, tensor
from absint.research.specification.specs import at, specifies


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
    ],
)
def counts(node: Node) -> Output:
    """A count for each index up to the greatest, of a row or of each row."""
    x, indexes = node.input(0), node.integers("ngram_indexes") or []
    if x.rank == 0:
        node.refuse("the input must be a row or a table", unless=TRUE)
    node.demand(x.rank <= 2, "the input must be a row or a table")
    if x.rank == 2:
        node.limits(x.dims[0] >= 1, "onnxruntime needs a row")
    return tensor([*x.dims[:-1], max(indexes) + 1])
