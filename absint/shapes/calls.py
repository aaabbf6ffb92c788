"""Folded calls: the body of a function analysed for the inputs of one call, as a summary of that call.

A summary is sound for every call with the same inputs. Symbols that nodes of the body invent become holes, which each
call fills on its own; symbols that reach the body from the caller stand for themselves, under names that no node of the
body can invent. Requirements of the body are stated by the call; where they hold on a path only, the call may fail.

Equal inputs are analysed once. After a few different ones, the body is analysed for any sizes, and sizes are put in; so
2**k calls take time in k.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from absint.engine import fixpoint
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import settled
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION
from absint.lattices.ramp import NO_RAMPS
from absint.lattices.shape import Shape
from absint.lattices.terms.atoms import HOLE_NAME, INTERNAL, SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.normal import substitute
from absint.lattices.value import TOP, AnyTensor, Tensor, Value, map_tensors
from absint.program.folded import Body
from absint.program.limits import TOO_MANY_CALLS, UNFINISHED
from absint.program.nodes import Node
from absint.shapes.interpretation import Calls, Interpretation
from absint.shapes.readability import all_symbols, readable, symbols_of, symbols_of_ramps
from absint.shapes.summaries import Inputs, RuleSummary, State, name_unknowns, refused
from absint.transfer.stated import PossibleFailure, Statement

MAX_PRECISE: Final = 4
"""Different inputs for which one body is analysed as they are."""

MAX_GENERAL: Final = 12
"""Most analyses of one body, those for any sizes included; further calls have unknown outputs."""

MAX_DEPTH: Final = 32
"""Folded calls in each other; the innermost are unknown. Each takes about ten frames of Python's stack."""

MAX_STATEMENTS: Final = 32
"""Most relations of one summary; of further ones it says that the call may fail."""


def summary_of(
    run: Interpretation, calls: Calls, body: Body, inputs: Inputs, facts: Facts, outputs: int
) -> RuleSummary:
    """The summary of a call of the body with these inputs."""
    assert body.program is not None
    facts = facts.about(lambda symbol: symbol.kind is SymbolKind.INPUT)
    arguments, actual = _renamed(inputs)
    key = (body, arguments, facts.key)
    if key not in calls.summaries and calls.analysed[body] >= MAX_PRECISE:
        arguments, actual = _any_sizes(arguments, actual)
        key = (body, arguments, facts.key)
    summary = calls.summaries.get(key)
    if summary is None:
        if calls.depth >= MAX_DEPTH or calls.analysed[body] >= MAX_GENERAL:
            return name_unknowns(RuleSummary((TOP,) * outputs, possible_failures=(PossibleFailure(TOO_MANY_CALLS),)))
        calls.analysed[body] += 1
        pairs = zip(body.inputs, arguments, strict=False)
        given = {node: value for node, value in pairs if node >= 0 and value is not None}
        inner = run.of_body(body.program, facts, given, calls)
        calls.depth += 1
        goes_on = calls.goes_on
        solution = fixpoint(body.program, inner, proceed=None if goes_on is None else lambda _: goes_on())
        calls.depth -= 1
        run.applications += inner.applications
        calls.crash = calls.crash or next(iter(inner.crashes.values()), "")
        if solution.unfinished or inner.cut:
            return name_unknowns(RuleSummary((TOP,) * outputs, possible_failures=(PossibleFailure(UNFINISHED),)))
        summary = calls.summaries[key] = _Summary(inner, body, solution.states).made()
    return _instance(summary, actual)


# Inputs


def _renamed(inputs: Inputs) -> tuple[Inputs, Mapping[Symbol, Dim]]:
    """The inputs, with names of their own for symbols that nodes of the caller invented; and what these stand for."""
    names: dict[Symbol, Dim] = {}
    actual: dict[Symbol, Dim] = {}
    for value in inputs:
        for symbol in () if value is None else all_symbols(value):
            if symbol.kind is not SymbolKind.INPUT and symbol not in names:
                own = symbol.named(f"{INTERNAL}argument{len(names)}")
                names[symbol], actual[own] = expr_of(own), expr_of(symbol)
    if not names:
        return inputs, {}
    return tuple(value if value is None else value.replace(names) for value in inputs), actual


def _any_sizes(inputs: Inputs, actual: Mapping[Symbol, Dim]) -> tuple[Inputs, Mapping[Symbol, Dim]]:
    """Inputs of the same types and ranks and of any sizes; and the sizes for which these stand."""
    sizes: dict[Symbol, Dim] = {}

    def any_size(dim: Dim) -> Dim:
        if dim.is_unknown:
            return dim
        own = Symbol.placeholder(f"size{len(sizes)}")
        sizes[own] = substitute(dim, actual) if isinstance(dim, Expr) else dim
        return expr_of(own)

    def general(tensor: AnyTensor) -> AnyTensor:
        if tensor.shape.is_top:
            return type(tensor)(tensor.dtype)
        return type(tensor)(tensor.dtype, Shape(tuple(map(any_size, tensor.shape.dims))))

    return tuple(value if value is None else map_tensors(value, general, any_size) for value in inputs), sizes


def _instance(summary: RuleSummary, actual: Mapping[Symbol, Dim]) -> RuleSummary:
    """The summary with the caller's dims in place of the names of the body."""
    if not actual:
        return summary
    texts = [(symbol.name, str(dim)) for symbol, dim in reversed(list(actual.items()))]

    def text(said: str) -> str:
        if INTERNAL in said:
            for name, shown in texts:
                said = said.replace(name, shown)
        return said

    statements = []
    for statement in summary.statements:
        relation = statement.relation.substitute(actual)
        if relation is not TRUE:
            statements.append(Statement(relation, text(statement.reason), statement.role))
    failures = [
        PossibleFailure(text(f.reason), f.unless.substitute(actual), f.at_load) for f in summary.possible_failures
    ]
    rejected = next((s.reason for s in statements if s.relation is FALSE and s.role == "required"), None)
    outputs, notes = readable(tuple(map_tensors(value.replace(actual), _settled) for value in summary.outputs))
    return name_unknowns(
        RuleSummary(
            outputs,
            (),
            tuple(statements),
            tuple(failures),
            (*map(text, summary.notes), *notes),
            text(summary.rejected) if summary.rejected is not None else rejected,
            summary.refusal,
        )
    )


def _settled(tensor: AnyTensor) -> AnyTensor:
    shape = tensor.shape.map(settled)
    if not isinstance(tensor, Tensor):
        return type(tensor)(tensor.dtype, shape)
    return Tensor(tensor.dtype, shape, tensor.contents, tensor.ramps)


# Results


class _Summary:
    """Collects what the nodes of a body state, over holes."""

    def __init__(self, run: Interpretation, body: Body, states: Sequence[State]) -> None:
        self._run = run
        self._body = body
        self._states = states
        self._holes: dict[Symbol, Dim] = {}
        self._statements, self._defined = dict[Statement, None](), dict[Statement, None]()
        self._failures, self._notes, self._risks = dict[str, None](), dict[str, None](), dict[str, None]()
        self._conditional: dict[PossibleFailure, None] = {}

    def made(self) -> RuleSummary:
        """The summary of the body."""
        run, body = self._run, self._body
        outputs = tuple([self._output(run.operand(operand, self._states)) for operand in body.outputs])
        assert body.program is not None
        refusal = body.refused
        for number, item in enumerate(body.program.nodes):
            summary = run.applied.get(number)
            if summary is not None:
                if summary.refusal:
                    refusal = refusal or self._place(item, summary.rejected or "")
                self._state(number, item, summary)
        if refusal:
            return refused(outputs, refusal, "ill-formed")
        mentioned = {s for value in outputs for s in symbols_of(value)}
        mentioned.update(
            *(s.relation.symbols for s in self._statements), *(f.unless.symbols for f in self._conditional)
        )
        statements = [*self._statements, *self._about(mentioned)]
        for lost in statements[MAX_STATEMENTS:]:
            if lost.role != "defined":
                self._failures["it has more requirements than are listed"] = None
        statements = statements[:MAX_STATEMENTS]
        rejected = next((s.reason for s in statements if s.relation is FALSE and s.role == "required"), None)
        listed = _listed(self._risks, "nodes in it that may keep the model from loading")
        risks = [PossibleFailure(risk, at_load=True) for risk in listed]
        return name_unknowns(
            RuleSummary(
                outputs,
                (),
                tuple(statements),
                (*map(PossibleFailure, self._failures), *self._conditional, *risks),
                _listed(self._notes, "notes on nodes in it"),
                rejected,
            )
        )

    def _about(self, mentioned: set[Symbol]) -> Iterator[Statement]:
        """The definitions of symbols that the caller sees, directly or through other definitions."""
        left = list(self._defined)
        while left:
            found = [s for s in left if any(x.kind is SymbolKind.HOLE and x in mentioned for x in s.relation.symbols)]
            if not found:
                return
            yield from found
            mentioned.update(*(s.relation.symbols for s in found))
            left = [s for s in left if s not in set(found)]

    def _state(self, number: int, item: Node, summary: RuleSummary) -> None:
        is_certain = item.gate < 0 and bool(self._body.needed[number])
        for statement in self._run.statements(number):
            reason = self._place(item, statement.reason)
            relation = statement.relation
            own = Statement(relation.substitute(self._mapping(relation.symbols)), reason, statement.role)
            if relation is TRUE or statement.role == "claimed":
                continue
            if statement.role == "defined":
                if is_certain and relation is not UNKNOWN_RELATION:
                    self._defined[own] = None
            elif relation is not UNKNOWN_RELATION and (is_certain or self._is_premise(statement)):
                self._statements[own] = None
            else:
                self._failures[reason] = None
        for failure in self._run.possible_failures(number):
            reason = self._place(item, failure.reason)
            if not failure.is_open and is_certain and len(self._conditional) < MAX_STATEMENTS:
                mapping = self._mapping(failure.unless.symbols)
                self._conditional[PossibleFailure(reason, failure.unless.substitute(mapping))] = None
            else:
                self._failures[reason] = None
        for note in summary.notes:
            self._notes[self._place(item, note)] = None
        for failure in summary.possible_failures:
            if failure.at_load:
                self._risks[self._place(item, failure.reason)] = None

    def _is_premise(self, statement: Statement) -> bool:
        """A numeric premise over the caller's sizes alone: it is stated for all paths, which is stronger."""
        return statement.role == "assumed" and all(s.origin_node is None for s in statement.relation.symbols)

    def _place(self, item: Node, text: str) -> str:
        """A message of a node of the body; one of a call in it says itself where it is from."""
        if item.operation is not None and item.operation.body is not None:
            return text
        return f"{item}: {text}"

    def _mapping(self, symbols: frozenset[Symbol]) -> Mapping[Symbol, Dim]:
        for symbol in symbols:
            if symbol.origin_node is not None and symbol not in self._holes:
                tag = symbol.name.removeprefix(INTERNAL)
                self._holes[symbol] = expr_of(symbol.named(f"{HOLE_NAME}{tag}"))
        return self._holes

    def _output(self, value: Value | None) -> Value:
        if value is None:
            return TOP
        plain = map_tensors(value, self._without_ramps)
        return plain.replace(self._mapping(frozenset(symbols_of(plain))))

    def _without_ramps(self, tensor: AnyTensor) -> AnyTensor:
        """Ramps over symbols that the body invents are forgotten."""
        if isinstance(tensor, Tensor) and any(s.origin_node is not None for s in symbols_of_ramps(tensor)):
            return Tensor(tensor.dtype, tensor.shape, tensor.contents, NO_RAMPS)
        return tensor


def _listed(texts: Collection[str], what: str) -> tuple[str, ...]:
    """The first texts, and the number of the others."""
    kept = tuple(texts)[:MAX_STATEMENTS]
    more = len(texts) - len(kept)
    return kept if not more else (*kept, f"{more:,} more {what} are not listed")
