"""Operators that treat axes alike: their obligations at a rank are copies of those at a smaller one.

The axes of a node are written as letters, by kind; those of kind `a` may be any number. Sizes are named by input and
axis, those of kind `a` with their place (`A0_a3`), so that a formula shows which axes it speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from absint.lattices.logic.relation import Relation
from absint.lattices.value import Tensor
from absint.research.obligations.making import applied
from absint.research.specification.formulas import both
from absint.research.specification.node import Attribute
from absint.research.specification.specs import Argument, Instance, specification
from absint.research.specification.terms import variable
from absint.transfer.families import shipped
from absint.transfer.stated import Applied

BOUND: Final = 9
"""The greatest rank that is compared."""


class Family(NamedTuple):
    """Nodes of any rank: the kinds and types of the inputs that grow, inputs after them, and attributes."""

    kinds: Callable[[int], Sequence[str]] = lambda rank: ["a" * rank]
    """The axes of each input at a rank."""
    dtypes: tuple[str, ...] = ("float",)
    fixed: Callable[[int], tuple[Argument | None, ...]] = lambda _: ()
    attributes: Callable[[int], Mapping[str, Attribute]] = lambda _: {}
    least: int = 1
    """The rank at which every kind of axis is there."""

    def instance(self, rank: int) -> Instance:
        """The node of a rank. The axes of kind `a` of inputs are aligned at the last one."""
        kinds = self.kinds(rank)
        most = max(found.count("a") for found in kinds)
        grown = []
        for number, found in enumerate(kinds):
            places = iter(range(most - found.count("a"), most))
            names = [f"A{number}_{kind}{next(places) if kind == 'a' else ''}" for kind in found]
            grown.append(Argument(tuple(names), None, self.dtypes[min(number, len(self.dtypes) - 1)]))
        return Instance((*grown, *self.fixed(rank)), self.attributes(rank))


class Claims(NamedTuple):
    """The claims of rule and specification about the axes of a node, each axis renamed to its kind."""

    sizes: frozenset[tuple[str, str]]
    """A size of the rule, and the condition that defines it."""
    required: frozenset[str]
    """Requirements of the rule."""
    legal: frozenset[str]
    """Clauses of the specification."""
    across: tuple[str, ...]
    """Formulas that speak of several axes at once."""


def claims(operator: str, version: int, instance: Instance) -> Claims:
    """All claims about the first output of a node."""
    spec, rule = specification("", operator, version), shipped().lookup("", operator, version)
    assert spec is not None
    assert rule is not None
    meaning, found = spec.meaning(operator, version, instance), applied(rule, operator, version, instance)
    (output, *_), (value, *_) = meaning.outputs, found.outputs
    assert isinstance(value, Tensor)
    assert not value.shape.is_top
    pairs = [
        (str(dim), str(both(defined.condition(variable("q")), variable("q") >= defined.least)))
        for dim, defined in zip(value.shape.dims, output.dims, strict=True)
    ]
    required = [str(relation) for relation in _required(found)]
    legal = [str(clause.formula) for clause in (*meaning.legal, *meaning.limits)]
    texts = [*(f"{a} : {b}" for a, b in pairs), *required, *legal]
    return Claims(
        frozenset((renamed(a), renamed(b)) for a, b in pairs),
        frozenset(map(renamed, required)),
        frozenset(map(renamed, legal)),
        tuple(text for text in texts if len(axes(text)) > 1),
    )


def _required(found: Applied) -> Iterator[Relation]:
    assert found.rejected is None
    yield from (s.relation for s in found.statements if s.role == "required")


def axes(text: str) -> set[str]:
    """The axes of kind `a` that a formula speaks of."""
    return set(re.findall(r"A\d+_a(\d+)", text))


def renamed(text: str) -> str:
    """The formula without the places of axes."""
    return re.sub(r"(A\d+_a)\d+", r"\1", text)


def one_other(rank: int) -> list[str]:
    """The second axis is of another kind."""
    return ["ab" + "a" * (rank - 2)]


def integers(*elements: int) -> Argument:
    """A vector of known integers."""
    return Argument((len(elements),), elements, "int64")


UNARY: Final = Family()


def _pairs(dtype: str, shorter: int = 0) -> Family:
    return Family(lambda rank: ["a" * rank, "a" * (rank - shorter)], (dtype,), least=1 + shorter)


def _along(*fixed: Argument | None, least: int = 2, **attributes: int) -> Family:
    """The second axis is treated in another way."""
    return Family(one_other, fixed=lambda _: fixed, attributes=lambda _: attributes, least=least)


def _channels(parameters: int) -> Family:
    return Family(lambda rank: ["nc" + "a" * (rank - 2), *["c"] * parameters], least=3)


ALIKE: Final = """
Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity IsInf IsNaN
LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh
ThresholdedRelu Celu Gelu Shrink Dropout Bernoulli RandomNormalLike RandomUniformLike Clip DynamicQuantizeLinear
Softmax LogSoftmax Hardmax
"""

REDUCTIONS: Final = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)

FAMILIES: Final[Sequence[tuple[str, int, Family]]] = [
    (ALIKE, 22, UNARY),
    ("Cast", 22, UNARY._replace(attributes=lambda _: {"to": 7})),
    ("BitwiseNot", 22, UNARY._replace(dtypes=("int64",))),
    ("Not", 22, UNARY._replace(dtypes=("bool",))),
    *[
        (operators, 22, _pairs(dtype, shorter))
        for shorter in (0, 1)
        for operators, dtype in (
            ("Add Sub Mul Div Pow Less Greater LessOrEqual GreaterOrEqual Max Min Sum Mean PRelu", "float"),
            ("Equal Mod BitwiseAnd BitwiseOr BitwiseXor", "int64"),
            ("And Or Xor", "bool"),
        )
    ],
    ("BitShift", 22, _pairs("uint8")._replace(attributes=lambda _: {"direction": "LEFT"})),
    ("Where", 22, Family(lambda rank: ["a" * rank] * 3, ("bool", "float"))),
    (REDUCTIONS, 22, _along(integers(1))),
    (REDUCTIONS, 22, _along(integers(1), keepdims=0)),
    ("Squeeze", 22, _along(integers(1))),
    ("Slice", 22, _along(integers(1), integers(5), integers(1))),
    ("Pad", 22, _along(integers(1, -2), None, integers(1))),
    ("Split", 22, _along(integers(3), axis=1)),
    ("TopK", 22, _along(integers(3), axis=1)),
    ("Resize", 19, _along(None, None, integers(4))._replace(attributes=lambda _: {"axes": [1]})),
    ("Unsqueeze", 22, Family(fixed=lambda _: (integers(1),))),
    ("CumSum", 22, Family(fixed=lambda _: (Argument((), (0,), "int64"),))),
    ("Transpose", 22, Family(attributes=lambda rank: {"perm": [*range(1, rank), 0]})),
    ("Pad", 22, Family(fixed=lambda rank: (integers(*[1] * rank, *[2] * rank),))),
    ("Tile", 22, Family(fixed=lambda rank: (integers(*[3] * rank),))),
    ("Expand", 22, Family(fixed=lambda rank: (integers(*[4] * rank),))),
    ("QuantizeLinear", 21, Family(lambda rank: ["a" * rank, "", ""], ("float", "float", "uint8"))),
    ("DequantizeLinear", 21, Family(lambda rank: ["a" * rank, "", ""], ("uint8", "float", "uint8"))),
    ("MatMul", 22, Family(lambda rank: ["a" * (rank - 2) + "nk", "a" * (rank - 2) + "km"], least=3)),
    ("Det", 22, Family(lambda rank: ["a" * (rank - 2) + "nm"], least=3)),
    ("Trilu", 22, Family(lambda rank: ["a" * (rank - 2) + "nm"], least=3)),
    ("LayerNormalization", 22, Family(lambda rank: ["a" * (rank - 1) + "d", "d", "d"], least=2)),
    ("RMSNormalization", 23, Family(lambda rank: ["a" * (rank - 1) + "d", "d"], least=2)),
    ("BatchNormalization", 22, _channels(4)),
    ("InstanceNormalization", 22, _channels(2)),
    ("Conv", 22, Family(lambda rank: ["nc" + "a" * (rank - 2), "md" + "a" * (rank - 2)], least=3)),
]
"""Operators, the opset, and the nodes of every rank."""
