"""Declared shapes that are taken on trust: premises where the analysis knows less.

The operator of a trusted value gets a rule of its own: the one that it has, and where that leaves a dim open, the dim
that the author declares, stated as a premise of the node. So every answer about the value, and about those computed
from it, names what it rests on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from absint.errors import ModelError, UsageError
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import TRUE, eq, negation
from absint.lattices.records import changed
from absint.lattices.shape import Shape
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.normal import substitute
from absint.lattices.text.escapes import did_you_mean, excerpt
from absint.lattices.value import TOP, Tensor, Value
from absint.model.declared_types import read_type
from absint.program.limits import WITHOUT_RULE
from absint.program.lowered import Declaration, Lowered, Trusted, declarations
from absint.program.nodes import Operation
from absint.questions.claims.judging import false_declarations
from absint.questions.proofs.proof import prover
from absint.solution.analysed import Analysed
from absint.solution.naming import names_of
from absint.transfer.application import outputs_of
from absint.transfer.op import Op
from absint.transfer.rule import Function, Rule

Trust = str | Sequence[str]
"""`all`, `custom` (outputs of operators without a rule), or names of values and nodes."""

ALL: Final = "all"
CUSTOM: Final = "custom"

_REASON: Final = "{}[{}] is declared so, and taken on trust"


def trusting(analysed: Analysed, trust: Trust, again: Lowered) -> tuple[Trusted, ...]:
    """Make the rules of `again`, which is the same model, take declarations on trust; those that add something.

    Raises UsageError for claims of an unsound policy, for a name that no value or node with a declaration has, and for
    a declaration that is false.
    """
    analysed.require_sound("trust")
    chosen = list(_chosen(analysed, trust))
    useful: dict[int, dict[int, tuple[Declaration, Tensor]]] = {}
    for item, declared in chosen:
        node, output = item.operand
        if analysed.nodes[node].operation is not None and _adds(declared, analysed.states[node][output]):
            useful.setdefault(node, {}).setdefault(output, (item, declared))
    places = {item.where for outputs in useful.values() for item, _ in outputs.values()}
    _refuse_false(analysed, places, "it cannot be taken on trust")
    for outputs in useful.values():
        for item, declared in outputs.values():
            _refuse_impossible(analysed, item, declared)
    for node, outputs in useful.items():
        operation = again.program.nodes[node].operation
        assert operation is not None
        again.program.nodes.replace_operation(node, _with_rule(operation, outputs))
    found = (pair for outputs in useful.values() for pair in outputs.values())
    again.trusted = tuple(Trusted(item.where, declared.shape) for item, declared in found)
    return again.trusted


def check_trust(analysed: Analysed) -> None:
    """Raises UsageError for a trusted declaration that is false where the others hold."""
    places = {item.where for item in analysed.trusted}
    _refuse_false(analysed, places, "it cannot be taken on trust together with the others")


def _refuse_false(analysed: Analysed, places: Collection[str], verdict: str) -> None:
    for false in false_declarations(analysed):
        if false.where in places:
            raise UsageError(f"{false.where}: {false.message}: {verdict}")


def _refuse_impossible(analysed: Analysed, item: Declaration, declared: Tensor) -> None:
    """Raises UsageError for a declared dim that no run has, as the statements of the nodes prove."""
    inferred = analysed.states[item.operand[0]][item.operand[1]]
    if not isinstance(inferred, Tensor) or inferred.shape.rank is None:
        return
    for axis, (stated, dim) in enumerate(zip(declared.shape, inferred.shape, strict=True)):
        relation = eq(dim, stated) if isinstance(stated, Expr) and isinstance(dim, Expr) else TRUE
        if relation is not TRUE and prover(analysed).decide(negation(relation)).entailed:
            shown = analysed.value_of(item.operand)
            assert isinstance(shown, Tensor)
            found = names_of(analysed).amount(shown.shape[axis])
            raise UsageError(
                f"{item.where}: axis {axis} is declared as {stated}, but no run has {found} == {stated}: it cannot be "
                f"taken on trust"
            )


# What is chosen


def _chosen(analysed: Analysed, trust: Trust) -> Iterator[tuple[Declaration, Tensor]]:
    """The declarations of tensors of known rank that are asked for, over the symbols of the inputs."""
    found = [pair for item in declarations(analysed.lowered) for pair in _read(analysed, item)]
    nodes = analysed.nodes
    for name in dict.fromkeys((trust,) if isinstance(trust, str) else trust):
        if name == ALL:
            yield from found
            continue
        if name == CUSTOM:
            custom = (nodes[pair[0].operand[0]].operation for pair in found)
            yield from (pair for pair, k in zip(found, custom, strict=True) if k is not None and not k.has_rule)
            continue
        of_name = [pair for pair in found if name in (pair[0].key, nodes[pair[0].operand[0]].name)]
        if not of_name:
            known = [pair[0].key for pair in found]
            hint = did_you_mean(name, known) or "of such values, 'all' takes each"
            raise UsageError(f"trust {excerpt(name)}: no value or node of this name has a declared shape; {hint}")
        yield from of_name


def _read(analysed: Analysed, item: Declaration) -> Iterator[tuple[Declaration, Tensor]]:
    try:
        declared = read_type(item.type)
    except ModelError:
        return
    if isinstance(declared, Tensor) and declared.shape.rank is not None:
        defined = declared.replace(analysed.lowered.definitions)
        assert isinstance(defined, Tensor)
        yield item, Tensor(defined.dtype, defined.shape.map(lambda dim: _over_inputs(analysed, dim)))


def _over_inputs(analysed: Analysed, dim: Dim) -> Dim:
    """A declared dim over the symbols of the inputs; unknown if it has names of the author's own."""
    sizes = analysed.declared_inputs.symbols
    if not isinstance(dim, Expr) or not dim.free_symbols <= set(sizes):
        return UNKNOWN_SIZE
    known = analysed.parameters
    return substitute(dim, {s: known[s.name] for s in dim.symbols})


def _adds(declared: Tensor, inferred: Value) -> bool:
    """The declaration says more than is known of the value."""
    if inferred is TOP:
        return True
    if not isinstance(inferred, Tensor):
        return False
    if inferred.shape.rank is None:
        return True
    if inferred.shape.rank != declared.shape.rank:
        return False
    pairs = zip(declared.shape, inferred.shape, strict=True)
    return any(isinstance(stated, Expr) and _is_open(dim) for stated, dim in pairs)


def _is_open(dim: Dim) -> bool:
    """It is unknown, or a node invented one of its symbols."""
    if not isinstance(dim, Expr):
        return True
    return any(s.origin_node is not None or s.kind is SymbolKind.HOLE for s in dim.symbols)


# What the rules give


_Outputs = Mapping[int, tuple[Declaration, Tensor]]
"""The declarations of a node by output, and what they say."""


def _with_rule(operation: Operation, declared: _Outputs) -> Operation:
    rule, name = operation.rule, operation.op_type
    if rule is None:
        nothing = Rule(_unknown, (name,), operation.domain, 1, None, (), ("Y*",), False)
        given = changed(nothing, function=_trusting(nothing, declared), is_missing=True)
    else:
        given = changed(rule, function=_trusting(rule, declared))
    return changed(operation, rule=given, is_standard=False)


def _unknown(op: Op) -> Sequence[Value]:
    op.may_fail(WITHOUT_RULE)
    return [TOP] * op.outputs


def _trusting(rule: Rule, declared: _Outputs) -> Function:
    def given(op: Op) -> Sequence[Value]:
        outputs = outputs_of(rule, rule.function(op), op)
        return [_refined(op, at, value, *declared[at]) if at in declared else value for at, value in enumerate(outputs)]

    given.__doc__ = rule.function.__doc__
    return given


def _refined(op: Op, output: int, value: Value, item: Declaration, declared: Tensor) -> Value:
    """The value with the declared dims in the place of open ones, and a premise for each."""
    if value is not TOP and not isinstance(value, Tensor):
        return value
    known = value if isinstance(value, Tensor) else Tensor(DType.UNDEFINED)
    dtype = declared.dtype if known.dtype is DType.UNDEFINED else known.dtype
    rank = declared.shape.rank
    if known.shape.rank not in (None, rank):
        return value
    inferred = [UNKNOWN_SIZE] * (rank or 0) if known.shape.rank is None else list(known.shape)
    dims: list[Dim] = []
    for axis, (stated, dim) in enumerate(zip(declared.shape, inferred, strict=True)):
        if not isinstance(stated, Expr) or not _is_open(dim):
            dims.append(dim)
            continue
        actual = dim if isinstance(dim, Expr) else op.fresh(f"{output}.{axis}")
        op.state(eq(actual, stated), _REASON.format(item.key, axis), "assumed")
        dims.append(op.facts.simplify(stated))
    contents = known.contents if known.contents is not None and known.contents.is_fill else None
    return Tensor(dtype, Shape(dims), known.contents if tuple(dims) == tuple(inferred) else contents)
