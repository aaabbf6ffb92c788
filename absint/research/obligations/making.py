"""The obligations of a rule at an instance of its operator."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation, ge
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, expr_of
from absint.lattices.terms.normal import Real
from absint.lattices.value import MapOf, OptionalOf, SequenceOf, Tensor, Value
from absint.research.obligations.solving import Decide, Decision, Gap, Kind, Obligation, Verdict
from absint.research.specification.contents import elements
from absint.research.specification.formulas import both, either, equal, negated
from absint.research.specification.node import Clause, Defined, Held, Meaning, Output
from absint.research.specification.specs import Argument, Instance, Specification, specification
from absint.research.specification.terms import Formula, Term, variable
from absint.solver.smtlib import Script
from absint.transfer.application import apply
from absint.transfer.op import Op
from absint.transfer.rule import Rule, Table
from absint.transfer.semantics import DOCUMENTED, EITHER, ONNX, Semantics
from absint.transfer.stated import Applied


def obligations(
    rule: Rule, spec: Specification, operator: str, version: int, instance: Instance, semantics: Semantics = EITHER
) -> Iterator[Obligation | Gap]:
    """All obligations of the rule at the instance, and what it leaves open.

    With the semantics `onnx` a node is legal if the documents alone say so.
    """
    return _Making(rule, spec, operator, version, instance, semantics).all()


class _Making:
    def __init__(
        self, rule: Rule, spec: Specification, operator: str, version: int, instance: Instance, semantics: Semantics
    ) -> None:
        self.semantics, self.documented = semantics, spec.domain in DOCUMENTED
        self.rule, self.operator, self.version, self.instance = rule, operator, version, instance
        self.meaning: Meaning = spec.meaning(operator, version, instance, documented=semantics == ONNX)
        self.elements = elements(instance.node(operator, version), spec.domain)
        self.applied: Applied = applied(rule, operator, version, instance, semantics)

    def all(self) -> Iterator[Obligation | Gap]:
        if not self.meaning.outputs:
            yield from self._illegal()
            return
        if self.applied.rejected is not None:
            yield self._made("rejected", f"no sizes are legal: {self.applied.rejected}", self._script([self.legal]))
            return
        for place, (output, value) in enumerate(zip(self.meaning.outputs, self.applied.outputs, strict=False)):
            yield from self._output(place, output, value)
        required = [s for s in self.applied.statements if s.role == "required"]
        for statement in required:
            if statement.relation is UNKNOWN_RELATION or self._is_fresh(statement.relation):
                yield self._gap(f"a requirement that it does not know: {statement.reason}")
                continue
            script = self._script([self.legal])
            script.command(f"(assert (not {script.relation(statement.relation)}))")
            yield self._made("necessary", f"{statement.relation}: {statement.reason}", script)
        yield from self._sufficient(self._premises())

    def _premises(self) -> list[Relation]:
        """The relations under which a complete rule says that the node runs."""
        stated = [s.relation for s in self.applied.statements if s.role == "required"]
        stated += [failure.unless for failure in self.applied.possible_failures if not failure.is_open]
        return [relation for relation in stated if relation is not UNKNOWN_RELATION]

    def _is_fresh(self, claim: Expr | Relation) -> bool:
        """The claim is about a number that the rule has named, and that the instance does not decide."""
        return bool(claim.free_symbols - set(self.instance.variables))

    @property
    def legal(self) -> Formula:
        """What runs, by the documents or in onnxruntime."""
        if self.semantics == ONNX:
            return both(*[clause.strict for clause in self.meaning.legal])
        clauses = (*self.meaning.legal, *self.meaning.limits)
        run = both(*[clause.formula for clause in clauses])
        if not self.documented or not self.meaning.limits:
            return run
        return either(run, both(*[clause.strict for clause in clauses]))

    def _illegal(self) -> Iterator[Obligation | Gap]:
        (clause,) = self.meaning.legal
        if self.applied.rejected is None and self.rule.complete and not self.applied.doubts:
            yield from self._entailed(self._premises(), clause)
        elif self.applied.rejected is None:
            yield self._gap(f"an illegal node is not rejected: {clause.reason}")

    def _output(self, place: int, output: Output, value: object) -> Iterator[Obligation | Gap]:
        if output.length is not None:
            yield from self._held(f"output {place}", output, output.length, value)
            return
        yield from self._sizes(f"output {place}", output, value)
        if not isinstance(value, Tensor) or value.contents is None or value.shape.rank != len(output.dims):
            return
        known = value.contents.block(value.shape.concrete)
        if known is not None:
            yield from self._elements(place, output, known.elements)

    def _sizes(self, where: str, output: Output, value: object) -> Iterator[Obligation | Gap]:
        if not isinstance(value, Tensor) or value.shape.is_top:
            yield self._gap(f"the rank of {where}")
            return
        dims = value.shape.dims
        if len(dims) != len(output.dims):
            claim = f"{where} has rank {len(dims)}, specified is {len(output.dims)}"
            yield self._made("exact", claim, self._script([self.legal]))
            return
        for axis, (defined, dim) in enumerate(zip(output.dims, dims, strict=True)):
            yield from self._size(f"{where}, axis {axis}", defined, dim)

    def _held(self, where: str, output: Output, length: Defined, value: object) -> Iterator[Obligation | Gap]:
        """The number of tensors in a sequence or an optional value, and their sizes."""
        if not isinstance(value, SequenceOf | OptionalOf):
            yield self._gap(f"what {where} holds")
            return
        if isinstance(value, SequenceOf):
            size = value.length
        else:
            size = Dim(None if value.present is None else int(value.present))
        yield from self._size(f"the length of {where}", length, size)
        if output.parts is None:
            if not isinstance(value.element, Tensor) or not value.element.shape.is_bottom:
                entry = value.element.element if isinstance(value.element, MapOf) else value.element
                yield from self._sizes(f"each tensor of {where}", output, entry)
            return
        each = (value.each if isinstance(value, SequenceOf) else None) or ()
        if len(each) != len(output.parts):
            yield self._gap(f"each tensor of {where}")
            return
        for place, (part, found) in enumerate(zip(output.parts, each, strict=True)):
            yield from self._sizes(f"tensor {place} of {where}", part, found)

    def _elements(self, place: int, output: Output, found: Sequence[Element]) -> Iterator[Obligation]:
        """Elements that the rule and the specification both know."""
        specified = output.elements or self.elements[place]
        for number, (element, wanted) in enumerate(zip(found, specified or (), strict=bool(specified))):
            script = self._script([self.legal])
            if isinstance(element, Expr) and isinstance(wanted, Term):
                text = script.dim(element)
            elif isinstance(element, Real) and isinstance(wanted, Term):
                text, wanted = script.dim(element.num), wanted * element.den
            elif isinstance(element, Relation) and element is not UNKNOWN_RELATION and isinstance(wanted, Formula):
                text = script.relation(element)
            else:
                continue
            script.command(f"(assert (not (= {text} {wanted.smtlib()})))")
            yield self._made("content", f"output {place}, element {number} is {element}", script)

    def _size(self, where: str, defined: Defined, dim: Dim) -> Iterator[Obligation | Gap]:
        if not isinstance(dim, Expr) or self._is_fresh(dim):
            yield self._gap(f"{where} is unknown")
            return
        script = self._script([self.legal])
        script.command(f"(define-fun |the size| () Int {script.dim(dim)})")
        size = variable("|the size|")
        wrong = negated(both(defined.condition(size), size >= defined.least))
        script.command(f"(assert {wrong.smtlib()})")
        yield self._made("exact", f"{where} is {dim}", script)
        one, other = variable("|one size|"), variable("|other size|")
        twice = self._script([self.legal], "(declare-const |one size| Int)", "(declare-const |other size| Int)")
        for each in (one, other):
            twice.command(f"(assert {both(defined.condition(each), each >= defined.least).smtlib()})")
        twice.command(f"(assert {negated(equal(one, other)).smtlib()})")
        yield self._made("unique", f"{where} is one size", twice)

    def _sufficient(self, required: Sequence[Relation]) -> Iterator[Obligation | Gap]:
        if not self.rule.complete:
            return
        if self.applied.doubts:
            yield from (self._gap(f"may fail: {doubt}") for doubt in self.applied.doubts)
            return
        for clause in self.meaning.legal:
            yield from self._entailed(required, clause)

    def _entailed(self, required: Sequence[Relation], clause: Clause) -> Iterator[Obligation | Gap]:
        script = self._script([])
        for relation in required:
            script.add(relation)
        premises = script.text if self.meaning.outputs else ""
        script.command(f"(assert {negated(clause.strict if self.semantics == ONNX else clause.formula).smtlib()})")
        yield self._made("sufficient", f"the requirements imply: {clause.reason}", script, premises)

    def _made(self, kind: Kind, claim: str, script: Script, premises: str | None = None) -> Obligation:
        if premises is None:
            premises = "" if kind == "rejected" else self._script([self.legal]).text
        return Obligation(self.operator, self.version, str(self.instance), kind, claim, script.text, premises)

    def _gap(self, reason: str) -> Gap:
        return Gap(self.operator, self.version, str(self.instance), reason)

    def _script(self, formulas: Sequence[Formula], *declarations: str) -> Script:
        """Over sizes, each from 0 to the greatest that ONNX's tools can hold, and over elements of any sign."""
        script = Script()
        for name in self.instance.variables:
            script.variable(_symbol(name, self.instance.signed))
        script.command(*declarations, *[f"(assert {formula.smtlib()})" for formula in formulas])
        return script


def applied(rule: Rule, operator: str, version: int, instance: Instance, semantics: Semantics = EITHER) -> Applied:
    """The claims of the rule about the instance."""
    inputs = [None if argument is None else _value(argument, instance) for argument in instance.inputs]
    attributes = {
        name: _held(value) if isinstance(value, Held) else value for name, value in instance.attributes.items()
    }
    outputs = instance.outputs
    op = Op(rule, inputs, attributes, version=version, outputs=outputs, name=operator, semantics=semantics)
    return apply(rule, op)


def _value(argument: Argument, instance: Instance) -> Value:
    if argument.holder is None:
        return _tensor(argument, instance)
    element, (kind, length, keys) = _tensor(argument, instance), argument.holder
    if kind == "map":
        return MapOf(DType[keys.upper()], element)
    return OptionalOf(element, bool(length)) if kind == "optional" else SequenceOf(element, Dim(length))


def _symbol(name: str, signed: Container[str]) -> Symbol:
    return Symbol(name, -MAX_DIM - 1) if name in signed else Symbol(name)


def _tensor(argument: Argument, instance: Instance) -> Tensor:
    dtype, shown = DType[argument.dtype.upper()], instance.shown
    shape = Shape(list(argument.dims))
    if shown == "fills" and argument.fill is not None:
        return Tensor(dtype, shape, Contents.fill(_element(dtype, argument.fill)))
    if argument.elements is None or shown == "sizes":
        return Tensor(dtype, shape)
    signed = instance.signed
    sizes = tuple(int(size) for size in argument.dims)
    found = Tensor(dtype, shape, Contents.of(sizes, [_element(dtype, part) for part in argument.elements]))
    return found.replace({Symbol(name): expr_of(_symbol(name, signed)) for name in signed})


def _held(tensor: Held) -> Tensor:
    dtype = DType[tensor.dtype.upper()]
    if tensor.numbers is None:
        return Tensor(dtype, Shape(tensor.dims))
    elements = [_element(dtype, Fraction(number)) for number in tensor.numbers]
    return Tensor(dtype, Shape(tensor.dims), Contents.of(tensor.dims, elements))


def _element(dtype: DType, part: int | str | Fraction) -> Element:
    if dtype is DType.BOOL:
        return ge(Dim(part) if isinstance(part, str) else Dim(int(part)), 1)
    if isinstance(part, str):
        return Dim(part)
    return Real.constant(part) if dtype.is_float else Dim(int(part))


# The record of a rule: which of its obligations are proved, refuted, undecided, and what it leaves open.


@dataclass(frozen=True)
class Decided:
    """An obligation with the verdicts of the solvers that were asked."""

    obligation: Obligation
    decisions: tuple[Decision, ...]

    @property
    def verdict(self) -> Verdict:
        """Refuted if one solver refutes it, else proved if one proves it."""
        return _worst({decision.verdict for decision in self.decisions}, "refuted", "proved")

    @property
    def sizes(self) -> str:
        """If refuted, sizes at which the claim is false."""
        return next((decision.sizes for decision in self.decisions if decision.sizes), "")


@dataclass(frozen=True)
class Record:
    """The obligations of one version of an operator, decided."""

    domain: str
    operator: str
    version: int
    decided: tuple[Decided, ...] = ()
    gaps: tuple[Gap, ...] = ()
    vacuous: tuple[Obligation, ...] = ()
    """Vacuous ones, whose assumptions never hold; the decided ones are counted without them."""


def status(records: Iterable[Record], *kinds: Kind) -> Verdict | None:
    """The verdict on all obligations of these kinds together; None if there are none."""
    found = {item.verdict for record in records for item in record.decided if item.obligation.kind in kinds}
    return _worst(found, "refuted", "undecided", "proved") if found else None


def counts(records: Iterable[Record]) -> Counter[Verdict]:
    """The number of obligations with each verdict."""
    return Counter(item.verdict for record in records for item in record.decided)


def distinct(records: Iterable[Record]) -> int:
    """The number of different scripts of the obligations."""
    return len({item.obligation.script for record in records for item in record.decided})


def vacuous(records: Iterable[Record]) -> int:
    """The number of different scripts that assume what never holds."""
    return len({item.script for record in records for item in record.vacuous})


def _worst(found: set[Verdict], *order: Verdict) -> Verdict:
    return next((verdict for verdict in order if verdict in found), "undecided")


def obligations_of(
    table: Table, domain: str, operator: str, version: int, semantics: Semantics = EITHER
) -> Iterator[Obligation | Gap]:
    """The obligations of the rule for a version of an operator, at every instance of its specification's grid, and
    where the rule sees no elements of the inputs, which leaves sizes open.

    With the semantics `onnx` those of operators that ONNX documents are about the documents alone.
    """
    spec, rule = specification(domain, operator, version), table.lookup(domain, operator, version)
    if spec is None or rule is None:
        return
    for instance in spec.instances(operator, version):
        chosen = semantics if domain in DOCUMENTED else EITHER
        for view in instance.views:
            found = obligations(rule, spec, operator, version, view, chosen)
            yield from (item for item in found if view.shown in ("elements", "fills") or isinstance(item, Obligation))


def recorded(domain: str, operator: str, version: int, found: Sequence[Obligation | Gap], decide: Decide) -> Record:
    """These obligations, decided."""
    gaps = tuple(item for item in found if isinstance(item, Gap))
    answers = [(item, decide(item)) for item in found if isinstance(item, Obligation)]
    decided = tuple(Decided(item, answer) for item, answer in answers if answer)
    return Record(domain, operator, version, decided, gaps, tuple(item for item, answer in answers if not answer))
