"""The shape analysis: abstract values of every node by the transfer table, as an `Analysis` for the engine.

What one application of a rule gives is kept as a template (`absint.shapes.summaries`), memoised on the operator, its
attributes and its interned inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.engine import Analysis
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import FALSE, Relation
from absint.lattices.rows import Rows
from absint.lattices.terms.expr import Dim, Expr, Symbol, substitute
from absint.lattices.unify import SOUND, Policy
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.lattices.value_lattice import VALUES
from absint.model import schemas
from absint.model.largest import oversize
from absint.program.graph import ABSENT, Kernel, Node, Operand, Program
from absint.program.limits import UNFINISHED
from absint.shapes.folding import EXACT, evaluated
from absint.shapes.memo.cache import SHARED
from absint.shapes.memo.reuse import Renewal
from absint.shapes.summaries import State, Template, is_named, name_unknowns, own_symbols
from absint.transfer.application import apply
from absint.transfer.op import Caveat, Op, Statement

if TYPE_CHECKING:
    from absint.shapes.loops.loop import Carried

Trace = Callable[[int, State], None]

STATES: Final = Rows(VALUES)
"""States are rows of values."""


class Renewed:
    """What a further round takes from the first one."""

    def __init__(self, facts: Facts, first: ShapeAnalysis, shared: bool) -> None:
        """`facts` do no more than replace symbols. `shared` work is remembered for later analyses."""
        self._renewal = SHARED.renewal(facts) if shared else Renewal(facts)
        self._applied = first.applied

    def template(self, node: int) -> Template | None:
        """What the rule of a node would give again; None if it has to run."""
        first = self._applied.get(node)
        return None if first is None else self._renewal.template(first)


class ShapeAnalysis(Analysis[State]):
    """Forward shape analysis of a lowered program."""

    lattice = STATES
    direction = "forward"

    def __init__(
        self,
        program: Program,
        facts: Facts = NO_FACTS,
        *,
        inputs: Mapping[int, Value] | None = None,
        simplify: Callable[[Value], Value] | None = None,
        memoise: bool = True,
        trace: Trace | None = None,
        renewed: Renewed | None = None,
        policy: Policy = SOUND,
    ) -> None:
        """`inputs` are values that stand for those of input nodes. `simplify` is applied to what a rule gives; what
        equal ones did is remembered.

        `policy` says which of two dims is shown where a rule has to decide.
        """
        self.program = program
        self._simplify = simplify
        self.inputs = inputs or {}
        self._context: object = None if facts.narrows_only else frozenset(facts.relations)
        if simplify is not None:
            self._context = (simplify, self._context)
        if not policy.sound:
            self._context = (policy, self._context)
        if not program.premises:
            self._context = ("no premises", self._context)
        self.policy = policy
        self.nodes = program.nodes
        self.facts = facts
        self.memoise = memoise
        self.trace = trace
        self._renewed = renewed
        self.applied: dict[int, Template] = {}
        """What each node's rule said at its last visit."""
        self.crashes: dict[int, str] = {}
        self.unfinished = False
        """A limit kept nodes from being analysed."""
        self._gate_facts: dict[int, Facts] = {}
        self.trips: dict[int, Dim] = {}
        """Number of trips of each loop, by its head."""
        self.carried: dict[int, Carried] = {}
        """What is claimed of the values that each loop carries, by its head."""
        self.applications = 0
        """Rules actually run, memo hits not counted."""

    def transfer(self, node: int, states: Sequence[State]) -> State:
        item = self.nodes[node]
        kernel = item.kernel
        state = self._other(node, item, states) if kernel is None else self._computed(node, item, kernel, states)
        if self.trace is not None:
            self.trace(node, state)
        return state

    def sweep(self, order: Sequence[int], states: list[State]) -> None:
        if self.trace is not None or type(self).transfer is not ShapeAnalysis.transfer:
            super().sweep(order, states)
            return
        nodes, applied = self.nodes, self.applied
        renewed = None if self._renewed is None else self._renewed.template
        remembers = self.memoise and self._context is None and renewed is None
        for node in order:
            item = nodes[node]
            kernel = item.kernel
            if kernel is None:
                states[node] = self._other(node, item, states)
                continue
            template = None
            if item.gate < 0 and renewed is not None:
                template = renewed(node)
            elif item.gate < 0 and remembers:
                try:
                    template = kernel.memo.get(tuple([states[p][i] if p >= 0 else None for p, i in item.operands]))
                except IndexError:  # a control node that has not computed all of its outputs
                    template = None
            if template is None or template.holes:
                states[node] = self._computed(node, item, kernel, states)
            else:
                applied[node] = template
                states[node] = template.outputs

    def _computed(self, node: int, item: Node, kernel: Kernel, states: Sequence[State]) -> State:
        """The state of an operator: what is remembered of equal ones, or what its rule gives."""
        template = None
        if item.gate < 0:
            template = self._renewed.template(node) if self._renewed is not None else None
        if template is None:
            try:
                inputs = tuple([states[p][i] if p >= 0 else None for p, i in item.operands])
            except IndexError:
                inputs = tuple(self.operand(o, states) for o in item.operands)
            if item.gate < 0 and self.memoise:
                template = kernel.memo.get(inputs if self._context is None else (inputs, self._context))
            if template is None:
                template = self._apply(node, item, kernel, inputs, states)
        self.applied[node] = template
        return self._filled(node, template) if template.holes else template.outputs

    def abandon(self, nodes: Iterable[int], states: list[State]) -> None:
        """Let nothing be known of nodes that were not analysed to the end, and each of them may fail."""
        self.unfinished = True
        known: dict[Kernel, Template] = {}
        for node in nodes:
            item = self.nodes[node]
            for found in (self.applied, self.trips, self.carried, self._gate_facts):
                found.pop(node, None)
            if item.value is not None:
                states[node] = self.transfer(node, states)
                continue
            if item.kernel is None:
                assert item.control is not None
                width = max(1, len(item.outputs) or item.control.width)
                template = Template((TOP,) * width, (), (), (UNFINISHED,))
            elif item.kernel in known:
                template = known[item.kernel]
            else:
                top = (TOP,) * item.kernel.outputs
                outputs = self._typed(item.kernel, (TOP,) * len(item.operands), top)
                template = known[item.kernel] = Template(outputs, (), (), (UNFINISHED,))
            self.applied[node], states[node] = template, template.outputs

    def merge(self, node: int, old: State, new: State, widen: bool) -> State:
        """Loop heads accelerate by themselves, in finitely many steps; see `absint.shapes.loops.loop`."""
        return new

    def operand(self, operand: Operand, states: Sequence[State]) -> Value | None:
        """The value of an operand: None if it is left out, bottom if nothing has been computed yet."""
        if operand == ABSENT:
            return None
        state = states[operand[0]]
        return state[operand[1]] if operand[1] < len(state) else BOTTOM

    def _other(self, node: int, item: Node, states: Sequence[State]) -> State:
        if item.value is not None:
            return (simplified(self.inputs.get(node, item.value), self.facts),)
        assert item.control is not None
        if item.gate >= 0 and states[item.gate][0] is BOTTOM:
            return (BOTTOM,) * max(1, len(item.outputs) or item.control.width)
        state = item.control.transfer(self, node, item, states)
        if item.control.types is not None:
            from absint.shapes.body_types import check_types

            check_types(self, node, item, states)
        return state

    def _apply(
        self, node: int, item: Node, kernel: Kernel, inputs: tuple[Value | None, ...], states: Sequence[State]
    ) -> Template:
        if BOTTOM in inputs or (item.gate >= 0 and states[item.gate][0] is BOTTOM):
            return Template((BOTTOM,) * kernel.outputs, ())
        facts = self.facts_at(item.gate)
        key: object = inputs if self._context is None else (inputs, self._context)
        if facts is not self.facts:
            key = (inputs, self._context, frozenset(facts.relations))
        template = kernel.memo.get(key) if self.memoise else None
        if template is None:
            template = self._run_rule(node, kernel, inputs, facts)
            if self.memoise and node not in self.crashes:  # a failure may lie in the process: it is met anew
                SHARED.remember(kernel, key, template)
        return template

    def _run_rule(self, node: int, kernel: Kernel, inputs: tuple[Value | None, ...], facts: Facts) -> Template:
        self.applications += 1
        types = kernel.types
        if types is None:
            return self._ruled(node, kernel, inputs, facts)
        wrong = types.wrong_input(inputs)
        if wrong is not None:
            return self._ill_typed(kernel, self._ruled(-1, kernel, inputs, facts), wrong)
        template = self._ruled(node, kernel, inputs, facts)
        if template.refusal == "ill-formed":
            return template
        wrong = template.rejected if template.refusal else types.wrong_output(template.outputs)
        return template if wrong is None else self._ill_typed(kernel, template, wrong)

    def _ill_typed(self, kernel: Kernel, template: Template, wrong: str) -> Template:
        """A node that breaks the types of its operator: what its rule says of shapes is kept."""
        self.crashes.pop(-1, None)
        known = schemas.top_outputs(kernel.domain, kernel.op_type, kernel.version, (), kernel.outputs)
        outputs = tuple(map(_of_type, template.outputs, known))
        refused = Statement(FALSE, wrong, "required")
        return name_unknowns(outputs, (refused,), rejected=wrong, refusal="ill-typed")

    def _ill_formed(self, kernel: Kernel, inputs: tuple[Value | None, ...], wrong: str) -> Template:
        """A node that no runtime loads, whatever its inputs are."""
        outputs = self._typed(kernel, inputs, (TOP,) * kernel.outputs)
        return name_unknowns(outputs, (Statement(FALSE, wrong, "required"),), rejected=wrong, refusal="ill-formed")

    def _ruled(self, node: int, kernel: Kernel, inputs: tuple[Value | None, ...], facts: Facts) -> Template:
        if kernel.form is not None:
            wrong = next(iter(kernel.malformed), None) or kernel.form.refused_arity(inputs, kernel.outputs)
            if wrong is not None:
                return self._ill_formed(kernel, inputs, wrong)
        if kernel.rule is None:
            return name_unknowns(
                self._typed(kernel, inputs, (TOP,) * kernel.outputs), may_fails=("no rule for the operator",)
            )
        version, count, name = kernel.version, kernel.outputs, kernel.op_type
        premises = self.program.premises
        op = Op(kernel.rule, inputs, kernel.attributes, version, count, facts, name, self.policy, premises)
        try:
            result = apply(kernel.rule, op)
        except Exception as error:  # a rule, perhaps a user's, must not take the analysis down with it
            self.crashes[node] = kernel.rule.failure(error)
            return name_unknowns(self._typed(kernel, inputs, (TOP,) * kernel.outputs), may_fails=("its rule failed",))
        outputs = self._typed(kernel, inputs, result.outputs)
        if kernel.op_type in EXACT and result.rejected is None:
            outputs = evaluated(kernel, inputs, outputs)
        if self._simplify is not None:
            outputs = tuple(map(self._simplify, outputs))
        for output in outputs:
            too_large = oversize(output) if isinstance(output, Tensor) else None
            if too_large is not None and result.rejected is None:
                return name_unknowns(outputs, (Statement(FALSE, too_large, "required"),), rejected=too_large)
        doubts, notes = result.may_fails + kernel.doubts, result.notes
        if kernel.form is not None and result.rejected is None:
            wrong = kernel.form.wrong_arity(inputs, kernel.outputs)
            doubts, notes = ((*doubts, wrong), notes or (wrong,)) if wrong else (doubts, notes)
        if not op.has_fresh and all(map(is_named, outputs)):
            return Template(outputs, (), result.statements, doubts, notes, *result[4:])
        return name_unknowns(outputs, result.statements, doubts, notes, *result[4:])

    def _typed(self, kernel: Kernel, inputs: tuple[Value | None, ...], outputs: State) -> State:
        """Outputs of unknown type take what the schema says of it."""
        for output in outputs:
            if output is TOP or (isinstance(output, Tensor) and output.dtype is DType.UNDEFINED):
                break
        else:
            return outputs
        known = schemas.top_outputs(kernel.domain, kernel.op_type, kernel.version, inputs, kernel.outputs)
        return tuple(map(_with_type, outputs, known))

    def own(self, node: int, template: Template) -> Mapping[Symbol, Dim]:
        """What stands for each hole of a template at a node: a symbol of its own, or what the facts say of it."""
        mapping = own_symbols(node, template)
        known = self.facts.mapping
        if not known:
            return mapping
        return {hole: substitute(e, known) if isinstance(e, Expr) else e for hole, e in mapping.items()}

    def _filled(self, node: int, template: Template) -> State:
        mapping = self.own(node, template)
        return tuple(value.replace(mapping) for value in template.outputs)

    def filled(self, node: int, dim: Dim) -> Dim:
        """A dim of the node's last template with its holes filled."""
        return substitute(dim, self.own(node, self.applied[node])) if isinstance(dim, Expr) else dim

    def statements(self, node: int) -> list[Statement]:
        """What the node stated at its last visit, over symbols of the result."""
        template = self.applied.get(node)
        if template is None:
            return []
        if not template.holes:
            return list(template.statements)
        mapping = self.own(node, template)
        return [s._replace(relation=s.relation.substitute(mapping)) for s in template.statements]

    def caveats(self, node: int) -> list[Caveat]:
        """Where the node may fail, as it was told at its last visit, over symbols of the result."""
        template = self.applied.get(node)
        if template is None or not template.caveats:
            return []
        mapping = self.own(node, template)
        return [c._replace(relation=c.relation.substitute(mapping)) for c in template.caveats]

    def record(
        self, node: int, outputs: State, statements: Sequence[Statement] = (), may_fails: Sequence[str] = ()
    ) -> State:
        """Keep what a control-flow node said, and name its unknown dims."""
        if self._simplify is not None:
            outputs = tuple(map(self._simplify, outputs))
        rejected = next((s.reason for s in statements if s.relation is FALSE and s.role == "required"), None)
        template = name_unknowns(outputs, tuple(statements), tuple(may_fails), rejected=rejected)
        self.applied[node] = template
        return self._filled(node, template) if template.holes else template.outputs

    # Guards

    def guard(self, gate: int, relation: Relation) -> None:
        """What holds below a gate, beside what holds outside it."""
        self._gate_facts[gate] = self.facts_at(self.nodes[gate].gate).assume(relation)

    def facts_at(self, gate: int) -> Facts:
        """The facts that hold below a gate."""
        while gate >= 0:
            found = self._gate_facts.get(gate)
            if found is not None:
                return found
            gate = self.nodes[gate].gate
        return self.facts


def _of_type(output: Value, known: Value) -> Value:
    """The type that is known, with the shape that a rule gave."""
    if isinstance(output, Tensor) and (known is TOP or isinstance(known, Tensor)):
        return Tensor(known.dtype if isinstance(known, Tensor) else DType.UNDEFINED, output.shape)
    return known


def _with_type(output: Value, known: Value) -> Value:
    """What a rule gave, its type filled in from what is known of it."""
    if output is TOP:
        return known
    if isinstance(output, Tensor) and isinstance(known, Tensor) and output.dtype is DType.UNDEFINED:
        return Tensor(known.dtype, output.shape, output.contents, output.ramps)
    return output


def is_constant(value: Tensor) -> bool:
    """No symbol occurs in it, and no size is unknown."""
    return value.shape.concrete is not None and not value.ramps and not (value.contents and value.contents.open)


def simplified(value: Value, facts: Facts) -> Value:
    """The value of an input under the facts."""
    if not facts or not isinstance(value, Tensor) or is_constant(value):
        return value
    replaced = value.replace(facts.mapping) if facts.mapping else value
    assert isinstance(replaced, Tensor)
    return Tensor(value.dtype, replaced.shape.map(facts.simplify), replaced.contents)
