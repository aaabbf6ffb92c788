"""Shapes of unknown rank with a variable: texts, meets, axes, and what replaces a variable."""

from __future__ import annotations

import copy
import pickle

import pytest

from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape, StarredShape, read_variable
from absint.lattices.shape_lattice import SHAPES
from absint.lattices.starred import (
    aligned,
    dims_of_rank,
    place,
    places,
    read_shape,
    spliced,
    with_axes,
    with_size,
    without,
)
from absint.lattices.terms.expr import UNKNOWN_SIZE, Symbol, const, expr_of, symbol
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.text.tokens import TextError
from absint.lattices.value import Tensor
from absint.transfer.op import DType

S, T = ShapeVariable("*s"), ShapeVariable("*t")
X = Shape(["N", "*s", 64])


@pytest.mark.parametrize("text", ["[N, *s, 64]", "[*s]", "[]", "?", "[2, N + 1]", "[*`in:0`, max(M, N), `a,b`]"])
def test_texts_read_back(text: str) -> None:
    assert str(read_shape(text)) == text
    assert read_shape(str(read_shape(text))) is read_shape(text)


@pytest.mark.parametrize("shape", [X, Shape(["*s"]), Shape([1, "*s"])], ids=str)
def test_json_reads_back(shape: Shape) -> None:
    """The list of a document: numbers, texts of dims, and the variable."""
    assert Shape(list(shape.listed(str, str))) is shape


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[*s, *t]", "one variable at most"),
        ("*s", "expected a shape in brackets"),
        ("[*1]", "the name of a shape variable"),
        ("[N,", "expected a shape in brackets"),
        ("[*s, N +]", "expected a number"),
    ],
)
def test_texts_that_are_no_shape(text: str, why: str) -> None:
    with pytest.raises(TextError, match=why):
        read_shape(text)


def test_a_starred_shape_has_no_rank_and_no_dims() -> None:
    assert (X.rank, X.is_top, X.concrete, X.variable) == (None, True, None, S)
    assert (X.head, X.tail, X.known) == ((symbol("N"),), (const(64),), (symbol("N"), const(64)))
    assert X.free_symbols == {"N"}
    with pytest.raises(ValueError, match="ask is_top first"):
        _ = X.dims
    assert Shape(["N", "*s", 64]) is X
    assert pickle.loads(pickle.dumps(S)) is S is copy.deepcopy(S)


def test_a_variable_is_no_size() -> None:
    """Names alone do not make a variable a size, nor a size a variable."""
    assert Symbol("*s") is not S
    assert expr_of(S) is not expr_of(Symbol("*s"))
    assert read_variable("*s") is S
    assert S.within(0, 3) is S
    assert Tensor(DType.FLOAT, X).shape is X


def test_bounds_of_the_lattice() -> None:
    assert Shape.starred(S, (const(1),) * 65) is TOP_SHAPE
    assert SHAPES.meet(Shape(["*s", 64]), Shape([2, 3])) is BOTTOM_SHAPE
    assert SHAPES.meet(Shape([1, "*s", 64]), Shape([64])) is BOTTOM_SHAPE
    assert SHAPES.meet(Shape(["*s", 64]), Shape([2, 64])) is Shape([2, 64])
    assert SHAPES.meet(Shape(["*s", 64]), Shape(["*t"])) is Shape(["*s", 64])
    assert SHAPES.join(Shape(["*s", 64]), Shape(["*t", 64])) is TOP_SHAPE
    assert str(SHAPES.join(Shape(["*s", 64]), Shape(["*s", 32]))) == "[*s, ?]"
    assert SHAPES.why_not_leq(X, Shape(["*t"])) == "must be [*t], found [N, *s, 64]"
    assert SHAPES.why_not_leq(TOP_SHAPE, X) == "must be [N, *s, 64], found unknown rank"
    assert SHAPES.why_not_leq(X, Shape(["N", "*s", 32])) == "known dim 1 must be 32, found 64"
    assert SHAPES.why_not_leq(X, Shape([2])) == "must be [2], found [N, *s, 64]"


def test_what_replaces_a_variable() -> None:
    """Only another variable does; any other change forgets the shape."""
    assert X.replace({S: expr_of(T), Symbol("N"): const(2)}) is Shape([2, "*t", 64])
    assert X.replace({S: const(3)}) is TOP_SHAPE
    assert X.map(lambda dim: dim) is X
    assert X.map(lambda dim: dim + 1) is TOP_SHAPE
    assert X.map(lambda dim: UNKNOWN_SIZE) is TOP_SHAPE
    assert X.substitute({"N": 7}) is Shape([7, "*s", 64])
    assert TOP_SHAPE.around((const(1),)) is TOP_SHAPE


def test_axes() -> None:
    assert [place(X, axis) for axis in (-2, -1, 0, 1)] == [None, 1, 0, None]
    assert (places(X, [0, -1]), places(X, [1])) == (frozenset({0, 1}), None)
    assert with_size(X, 1, const(1)) is Shape(["N", "*s", 1])
    assert without(X, [0]) is Shape(["*s", 64])
    assert with_axes(X, [0, -1], const(1)) is Shape([1, "N", "*s", 64, 1])
    assert with_axes(X, [2], const(1)) is None
    assert with_axes(TOP_SHAPE, [0], const(1)) is None
    assert dims_of_rank(X, 4) == Shape(["N", None, None, 64]).dims
    assert dims_of_rank(X, 1) is None
    assert len(dims_of_rank(X, 65) or ()) == 65
    assert spliced((const(2),), X, ()) is Shape([2, "N", "*s", 64])
    assert spliced((const(2),), Shape([3]), (const(4),)) is Shape([2, 3, 4])
    assert spliced((const(2),), TOP_SHAPE, ()) is TOP_SHAPE


def test_shapes_that_broadcast() -> None:
    assert aligned([X, X, Shape([64])]).variable is S
    assert aligned([X, Shape([2, 64])]).variable is None
    assert aligned([X, Shape(["*t", 64])]).tails == ((const(64),), (const(64),))
    assert isinstance(X, StarredShape)
