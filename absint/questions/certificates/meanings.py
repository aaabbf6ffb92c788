"""The specification of one node, over names for the sizes of its inputs and outputs: `in0@1`, `out0@2`, `in1@e0`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from absint.model.schemas import since
from absint.program.nodes import Operation
from absint.questions.certificates.terms import NOTHING, Claim, Sort, number_of, ratio_of
from absint.research.specification.arrays import Elements
from absint.research.specification.contents import elements
from absint.research.specification.data_dependent import bounded
from absint.research.specification.node import Attribute, IllegalError, Input, Node, Output
from absint.research.specification.specs import specification
from absint.research.specification.terms import Formula, Term, term, variable
from absint.transfer.semantics import DOCUMENTED, EITHER, ONNX, Semantics
from absint.transfer.stating import AttributeValue

# The legality of a node that has run, under the semantics of an analysis.
#
# It is no more than what the obligations of a rule assume (`absint.research.obligations.making`): limits that
# onnxruntime may not mind are left out.


def documented(domain: str, semantics: Semantics) -> bool | None:
    """The sizes that runs have are those of the documents, or of onnxruntime; None: a lemma may take what both give."""
    if domain not in DOCUMENTED:
        return False
    return None if semantics == EITHER else semantics == ONNX


def legality(node: Node, domain: str, semantics: Semantics) -> Iterator[tuple[str, str]]:
    """The formulas that hold in each run of the node, with reasons, once a specification has read it.

    By the documents alone: their conditions, and no limit of onnxruntime. In onnxruntime: also what it runs besides is
    legal, and the limits that are certain hold. By either: what one of them runs is legal, and of the limits those hold
    that rules require. Limits of operators that ONNX does not document are about crashes, and never assumed.
    """
    if documented(domain, semantics):
        yield from ((clause.strict.smtlib(), clause.reason) for clause in node.legal)
        return
    limits = [limit for limit in node.limited if limit.is_certain and domain in DOCUMENTED]
    if semantics == EITHER:
        limits = [limit for limit in limits if limit.strict is limit.formula]
    yield from ((clause.formula.smtlib(), clause.reason) for clause in (*node.legal, *limits))


SIGNED: Final = frozenset({"Slice", "Pad", "Range", "ConstantOfShape", "OneHot", "CenterCropPad", "AffineGrid"})
"""Operators whose specification covers numbers of any sign; those of others read each as a size, unless it is -1."""


class Meaning(NamedTuple):
    """The meaning of a node as text of SMT-LIB."""

    title: str
    """The operator with the opset that introduced or last changed it."""
    domain: tuple[str, ...]
    """Conditions on the inputs under which the specification speaks of them."""
    declared: tuple[str, ...]
    """Commands that declare or define the names of the outputs."""
    specified: tuple[tuple[str, str], ...]
    """Formulas that hold of each run of the node, with the reason."""
    are_computed: bool = True
    """Every run computes all inputs, so that their sizes are natural numbers."""
    node: str = ""
    """What it hangs on besides: which inputs there are, the number of outputs, and attributes, as JSON."""

    @property
    def places(self) -> frozenset[str]:
        """The names of the outputs' sizes and elements."""
        return frozenset(command.split()[1] for command in self.declared)


class Outputs:
    """Declares the names of a node's outputs, and states what a run makes of them."""

    def __init__(self) -> None:
        self.declared: list[str] = []
        self.specified: list[tuple[str, str]] = []

    def declare(self, name: str, sort: str = "Int") -> None:
        self.declared.append(f"(declare-const {name} {sort})")

    def define(self, name: str, term: object, sort: str = "Int") -> None:
        self.declared.append(f"(define-fun {name} () {sort} {term})")

    def size(self, name: str) -> None:
        """A natural number."""
        self.declare(name)
        self.state(f"(<= 0 {name})", "a size")

    def state(self, formula: str, reason: str) -> None:
        self.specified.append((formula, reason))


class NotSpecifiedError(Exception):
    """Nothing is specified of a node; the text says why."""


class Attributes(Mapping[str, Attribute]):
    """Attributes that note which of them a specification reads."""

    def __init__(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._attributes, self._every = attributes_of(attributes), attributes
        self._read: set[str] = set()
        self._counts = False

    def __getitem__(self, name: str) -> Attribute:
        self._read.add(name)
        return self._attributes[name]

    def __iter__(self) -> Iterator[str]:
        self._counts = True
        return iter(self._attributes)

    def __len__(self) -> int:
        self._counts = True
        return len(self._attributes)

    def noted(self) -> dict[str, object]:
        """Those that were read: null for one that is left out, `{}` for one of no numbers and no text. `*` stands for
        all others where it matters that there are none.
        """
        found: dict[str, object] = {"*": None} if self._counts else {}
        for name in sorted(self._read.union(self._every if self._counts else ())):
            found[name] = self._attributes.get(name, {} if name in self._every else None)
        return found


class Reading(Node):
    """A node that notes which inputs its specification reads elements of."""

    @cached_property
    def read(self) -> set[int]:
        return set()

    def elements(self, index: int, *ranks: int) -> tuple[Term, ...] | None:
        self.read.add(index)
        return super().elements(index, *ranks)


def meaning(
    operation: Operation,
    inputs: Sequence[Claim | None],
    outputs: Sequence[Claim],
    semantics: Semantics,
    names: Mapping[str, str],
) -> Meaning:
    """The meaning of a node in a run by the semantics, its inputs as claimed; `names` says which terms stand for any
    number.

    Elements of the outputs that are claimed and not specified are any integers. Raises NotSpecifiedError.
    """
    version = since(operation.domain, operation.op_type, operation.version) or operation.version
    spec = specification(operation.domain, operation.op_type, version)
    function = bounded(operation.domain, operation.op_type) if spec is None else spec.function
    if function is None:
        raise NotSpecifiedError("no specification")
    given = [None if claim is None else _input(place, claim, names) for place, claim in enumerate(inputs)]
    attributes = Attributes(operation.attributes)
    node = Reading(operation.op_type, version, given, attributes, operation.outputs)
    node.documented = documented(operation.domain, semantics)
    try:
        found = function(node)
    except IllegalError as error:
        raise NotSpecifiedError(f"the specification allows no run: {error}") from None
    except LookupError:
        raise NotSpecifiedError("it hangs on elements that are not known") from None
    except (AssertionError, TypeError, ValueError):
        raise NotSpecifiedError("the specification does not cover this form") from None
    results = (found,) if isinstance(found, Output) else tuple(found)
    if any(output.length is not None for output in results):
        raise NotSpecifiedError("it gives no tensor")
    contents = _contents(operation, inputs, node)
    made = Outputs()
    made.specified += legality(node, operation.domain, semantics)
    for place, output in enumerate(results):
        known = output.elements or (contents[place] if place < len(contents) else None)
        _output(place, output, known, made)
        claim = outputs[place] if place < len(outputs) else NOTHING
        for at in range(len(claim.elements or ()) if known is None and not claim.truths else 0):
            made.declare(f"out{place}@e{at}")
    present = "".join("0" if claim is None else "1" for claim in inputs)
    said = {"inputs": present, "outputs": operation.outputs, "attributes": attributes.noted()}
    name = f"{operation.domain}::{operation.op_type}" if operation.domain else operation.op_type
    domain, declared, specified = tuple(_domain(node)), tuple(made.declared), tuple(made.specified)
    return Meaning(f"{name}-{version}", domain, declared, specified, node=json.dumps(said, allow_nan=False))


def _contents(operation: Operation, inputs: Sequence[Claim | None], node: Node) -> tuple[Elements | None, ...]:
    """The elements of the outputs; none where an input has floats."""
    if operation.domain or any(claim is not None and claim.sort == "Real" for claim in inputs):
        return (None,) * node.outputs
    return elements(node)


def _domain(node: Reading) -> list[str]:
    if node.operator in SIGNED:
        return []
    read = [node.optional(place) for place in sorted(node.read)]
    items = [element for given in read if given is not None for element in given.elements or ()]
    return [(element >= 0).smtlib() for element in items if element.op not in ("number", "fraction")]


def _output(place: int, output: Output, known: Elements | None, made: Outputs) -> None:
    made.define(f"out{place}@rank", len(output.dims))
    for axis, defined in enumerate(output.dims):
        size = variable(f"out{place}@{axis}")
        made.declare(f"out{place}@{axis}")
        made.state((size >= defined.least).smtlib(), "a size")
        made.state(defined.condition(size).smtlib(), f"the size of axis {axis}")
    for at, element in enumerate(known or ()):
        made.define(f"out{place}@e{at}", element.smtlib(), "Bool" if isinstance(element, Formula) else "Int")


def _input(place: int, claim: Claim, names: Mapping[str, str]) -> Input:
    if claim.dims is None:
        raise NotSpecifiedError(f"the rank of input {place} is not known")
    keeps = claim.elements is not None  # the places of elements hang on the sizes
    dims = [_part(f"in{place}@{axis}", dim, {} if keeps else names) for axis, dim in enumerate(claim.dims)]
    found: list[Term] | None = None
    if claim.elements is not None:
        found = [_element(f"in{place}@e{at}", part, names, claim.sort) for at, part in enumerate(claim.elements)]
    return Input(tuple(dims), None if found is None else tuple(found))


def _part(name: str, text: str | None, names: Mapping[str, str]) -> Term:
    """The number, or the name of one that is not known or may be any."""
    number = None if text is None or text in names else number_of(text)
    return variable(name) if number is None else term(number)


def _element(name: str, text: str | None, names: Mapping[str, str], sort: Sort) -> Term:
    if sort == "Real" and text is not None:
        ratio = ratio_of(text)
        return Term("fraction", (ratio.numerator, ratio.denominator))
    return Formula("variable", (name,)) if sort == "Bool" else _part(name, text, names)  # type: ignore[return-value]


def attributes_of(attributes: Mapping[str, AttributeValue]) -> Mapping[str, Attribute]:
    found: dict[str, Attribute] = {}
    for name, value in attributes.items():
        if isinstance(value, bytes):
            found[name] = value.decode("utf-8", "replace")
        elif isinstance(value, int | float | str | list):
            found[name] = value
        elif isinstance(value, Tensor):
            numbers = _numbers(value)
            if numbers is not None:
                found[name] = numbers
    return found


def _numbers(value: Tensor) -> list[int] | None:
    """The integers or truths in a tensor."""
    block = None if value.contents is None else value.contents.block(value.shape.concrete)
    if block is None:
        return None
    found = [e.const if isinstance(e, Expr) else e is TRUE if e in (TRUE, FALSE) else None for e in block.elements]
    known = [number for number in found if number is not None]
    return known if len(known) == len(found) else None
