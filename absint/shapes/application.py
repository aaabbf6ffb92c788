"""Operators: the rule of an operation applied to the inputs of a node, and its outputs checked and named.

    computed ──> memo: what the rule gave to equal inputs ──> summary ──> outputs, holes filled with the node's symbols
             └─> ruled ─> _checked   each case of inputs whose shape sizes choose; both versions, if there are two
                            └─ _typed   the types that the schema takes and gives
                                 └─ _ruled   form, rule, evaluation, settled choices, readable sizes, names

Invariant: a summary holds of every node with this operation, these inputs and these facts. So it mentions no symbol but
those of the inputs and holes, which each node fills with symbols of its own. A summary that rests on facts which the
inputs do not show is `conditional`, and is found again only under the same facts. A rule that fails, is missing or is
stopped gives outputs of which only the types are known, and a node that may fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.contents import is_small
from absint.lattices.dtype import UNDEFINED, DType
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.shape import Shape
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.terms.intern import remembered
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.model import schemas
from absint.model.initialisers import oversize, too_many
from absint.packages import is_installed, missing
from absint.program.folded import Body
from absint.program.limits import RULE_FAILED, UNFINISHED, WITHOUT_RULE
from absint.program.nodes import Callee, Node, Operation
from absint.shapes.calls import summary_of
from absint.shapes.cases import by_cases, of_both
from absint.shapes.interpretation import Calls, Interpretation
from absint.shapes.readability import is_final, is_readable, readable
from absint.shapes.summaries import Inputs, RuleSummary, State, has_names, is_named, name_unknowns, refused
from absint.transfer.application import outcome
from absint.transfer.op import Op
from absint.transfer.stated import PossibleFailure, Within

Bounds = tuple[Within | None, ...]
"""Of the elements of the inputs of a node, as other analyses found them; empty if there are none."""


def computed(
    run: Interpretation,
    node: int,
    item: Node,
    operation: Operation,
    states: Sequence[State],
    inputs: Inputs | None = None,
    bounds: Bounds = (),
) -> State:
    """The state of an operator: a remembered result, or the one of its rule. `inputs` take the place of its own; what
    rests on `bounds` of them is not kept in the memo.
    """
    summary = None
    if inputs is None:
        if item.gate < 0 and run.first_round is not None and not bounds:
            summary = run.first_round.summary(node, item.operands)
        inputs = tuple([states[p][i] if p >= 0 else None for p, i in item.operands])
    if summary is None:
        facts, under, is_shut = run.under_gate(item.gate, states)
        if is_shut:
            summary = RuleSummary((BOTTOM,) * operation.outputs)
        else:
            known = None if bounds else run.recalled(operation, inputs, under)
            summary = ruled(run, node, operation, inputs, facts, under, bounds) if known is None else known
    run.applied[node] = summary
    return run.outputs(node, summary)


def tried(run: Interpretation, gate: int, operation: Operation, inputs: Inputs) -> RuleSummary:
    """The summary of an operator with these inputs, below a gate. It is recorded nowhere."""
    summary = _checked(run, -1, operation, inputs, run.facts_at(gate))
    run.crashes.pop(-1, None)
    return summary


def ruled(
    run: Interpretation, node: int, operation: Operation, inputs: Inputs, facts: Facts, under: object, bounds: Bounds
) -> RuleSummary:
    """The result of the rule, run now. `under` is what the facts add to the key of the memo."""
    if BOTTOM in inputs:
        return RuleSummary((BOTTOM,) * operation.outputs)
    run.applications += 1
    if run.timings is None:
        summary = _checked(run, node, operation, inputs, facts, bounds)
    else:
        with run.timings.rule(operation.operator):
            summary = _checked(run, node, operation, inputs, facts, bounds)
    if summary.possible_failures and PossibleFailure(UNFINISHED) in summary.possible_failures:
        run.cut[node] = None
    elif node not in run.crashes and not bounds:  # a failure may be due to the process: it is not kept
        run.remember(operation, inputs, under, summary)
    return summary


def _checked(
    run: Interpretation, node: int, operation: Operation, inputs: Inputs, facts: Facts, bounds: Bounds = ()
) -> RuleSummary:
    """Run the rules of the operation and of its other version, for each case of inputs whose shape sizes choose, and
    check their results against the types.
    """
    for value in inputs:
        if type(value) is Tensor and type(value.shape) is ShapeChoice:
            return by_cases(inputs, facts, lambda own, known: _checked(run, node, operation, own, known, bounds))
    summary = _typed(run, node, operation, inputs, facts, bounds)
    if operation.other is None:
        return summary
    other = _typed(run, node, operation.other, inputs, facts, bounds)
    return of_both(operation, summary, other, run.program.semantics)


def _typed(
    run: Interpretation, node: int, operation: Operation, inputs: Inputs, facts: Facts, bounds: Bounds
) -> RuleSummary:
    """Run the rule and check its result against the types of the operator."""
    types = operation.types
    if types is None:
        return _ruled(run, node, operation, inputs, facts, bounds, fits=False)
    dtypes = tuple([value.dtype if type(value) is Tensor else None for value in inputs])
    is_known = dtypes in operation.taken
    if not is_known:
        wrong = types.wrong_input(inputs)
        if wrong is not None:
            summary = _ruled(run, -1, operation, inputs, facts, (), fits=False)
            run.crashes.pop(-1, None)
            return _ill_typed(operation, summary, wrong)
        if None not in dtypes and operation.fits(inputs):
            operation.taken.add(dtypes)
    summary = _ruled(run, node, operation, inputs, facts, bounds, fits=is_known)
    if summary.refusal == "ill-formed":
        return summary
    wrong = summary.rejected if summary.refusal else types.wrong_output(summary.outputs)
    return summary if wrong is None else _ill_typed(operation, summary, wrong)


def _ill_typed(operation: Operation, summary: RuleSummary, wrong: str) -> RuleSummary:
    """The summary of a node that violates the types of its operator; the shapes of its rule are kept."""
    known = schemas.top_outputs(operation.domain, operation.op_type, operation.version, (), operation.outputs)
    outputs = tuple(map(_of_type, summary.outputs, known))
    return refused(outputs, wrong, "ill-typed", conditional=summary.conditional)


def _ruled(
    run: Interpretation, node: int, operation: Operation, inputs: Inputs, facts: Facts, bounds: Bounds, *, fits: bool
) -> RuleSummary:
    """Run the rule. A failure is recorded at the node. `fits`: the node is known to have the form of its operator."""
    # Form: a node that its schema does not allow.
    count, form, rule = operation.outputs, operation.form, operation.rule
    fits = fits or operation.fits(inputs)
    if form is not None and not fits:
        wrong = operation.malformed[0] if operation.malformed else form.refused_arity(inputs, count)
        if wrong is not None:  # no runtime loads the node, whatever its inputs
            return refused(_unknown(operation, inputs), wrong, "ill-formed")

    # The rule, unless the operation is a folded call or has none.
    if operation.body is not None:
        return _called(run, node, operation.body, inputs, facts, count)
    if rule is None:
        failed = (PossibleFailure(WITHOUT_RULE),)
        return name_unknowns(RuleSummary(_unknown(operation, inputs), possible_failures=failed))
    version, name, program = operation.version, operation.op_type, run.program
    if facts is run.facts and facts.narrows_only:  # the inputs show them, unlike those below a gate
        facts = NO_FACTS  # functions remember what they gave without facts
    op = Op(
        rule, inputs, operation.attributes, version, count, facts, name, run.policy, program.premises, bounds,
        program.semantics,
    )  # fmt: skip
    op.absent = operation.absent
    try:
        outputs, rejected, refusal = outcome(rule, op)
    except Exception as error:  # a faulty rule, perhaps a user's, must not end the analysis
        run.crashes[node] = rule.failure(error)
        failed = (PossibleFailure(RULE_FAILED),)
        return name_unknowns(RuleSummary(_unknown(operation, inputs), possible_failures=failed))

    # The outputs: elements that constants decide, choices that facts settle, the shortest of equal sizes.
    notes, possible_failures = tuple(op.notes), tuple(op.possible_failures)
    if operation.possible_failures:
        possible_failures += tuple(map(PossibleFailure, operation.possible_failures))
    if name in EXACT and rejected is None:
        outputs, lacking = evaluated(operation, inputs, typed(operation, inputs, outputs))
        notes += lacking
    conditional = op.rests_on_facts
    if run.simplify is not None:
        before = typed(operation, inputs, outputs)
        outputs = tuple(map(run.simplify, before))
        conditional |= outputs != before
    plain = is_plain(outputs[0]) if len(outputs) == 1 else all(map(is_plain, outputs))
    if not plain:
        before = typed(operation, inputs, outputs)
        outputs, unreadable = readable(before)
        conditional |= outputs != before  # under other facts they may be short before
        notes += unreadable
        too_large = None if rejected is not None else next(filter(None, map(oversize, outputs)), None)
        if too_large is not None:
            return refused(outputs, too_large, conditional=conditional)

    # The summary, with a hole for each unknown.
    if not fits and form is not None and rejected is None:
        wrong = form.excess(inputs)
        if wrong is not None:
            possible_failures, notes = (*possible_failures, PossibleFailure(wrong)), notes or (wrong,)
    statements = tuple(op.statements)
    summary = tuple.__new__(  # as RuleSummary(...), which would be a call of Python
        RuleSummary, (outputs, (), statements, possible_failures, notes, rejected, refusal, conditional)
    )
    return name_unknowns(summary) if op.has_fresh or not (plain or all(map(is_named, outputs))) else summary


def is_plain(output: Value) -> bool:
    """It can be the output of a node as it is: its type is known, its sizes are named, readable and not too large."""
    if type(output) is not Tensor or output.dtype is UNDEFINED:
        return False
    contents = output.contents
    if contents is None or not contents.open:
        return _fits(output.shape, output.dtype, contents is None)
    return _fits(output.shape, output.dtype, False) and is_named(output) and is_readable(output)


@remembered
def _fits(shape: Shape, dtype: DType, is_open: bool) -> bool:
    """A tensor of this shape and type is as `is_plain` wants it, its elements aside; `is_open`: they are unknown."""
    if not all(map(is_final, shape.open)) or (shape.rank and too_many(shape, dtype.bits) is not None):
        return False
    return is_named(Tensor(dtype, shape)) if is_open else has_names(shape)


def _unknown(operation: Operation, inputs: Inputs) -> State:
    """Outputs of which only the types are known."""
    return typed(operation, inputs, (TOP,) * operation.outputs)


def _called(run: Interpretation, node: int, body: Callee, inputs: Inputs, facts: Facts, outputs: int) -> RuleSummary:
    """The summary of a folded call. A failure of a rule in its body is recorded at the node."""
    assert isinstance(body, Body)
    calls = run.calls or Calls(run.goes_on)
    summary = summary_of(run, calls, body, inputs, facts, outputs)
    if calls.crash:
        run.crashes[node] = calls.crash
    return summary._replace(conditional=True)


def typed(operation: Operation, inputs: Inputs, outputs: State) -> State:
    """The outputs; unknown types are filled in from the schema."""
    for output in outputs:
        if output is TOP or (isinstance(output, Tensor) and output.dtype is UNDEFINED):
            break
    else:
        return outputs
    known = schemas.top_outputs(operation.domain, operation.op_type, operation.version, inputs, operation.outputs)
    return tuple(map(_with_type, outputs, known))


def _of_type(output: Value, known: Value) -> Value:
    """The known type, with the shape that a rule gave."""
    if isinstance(output, Tensor) and (known is TOP or isinstance(known, Tensor)):
        return Tensor(known.dtype if isinstance(known, Tensor) else DType.UNDEFINED, output.shape)
    return known


def _with_type(output: Value, known: Value) -> Value:
    """The output of a rule, its type filled in from the known one."""
    if output is TOP:
        return known
    if isinstance(output, Tensor) and isinstance(known, Tensor) and output.dtype is DType.UNDEFINED:
        return Tensor(known.dtype, output.shape, output.contents, output.ramps)
    return output


# Nodes whose inputs are all known: onnx.reference computes the elements that their rule leaves open.
#
# Only where it agrees with onnxruntime: operators that compare or move numbers, each tested on random and degenerate
# nodes. Rounding and overflow are left to the rules. Products of 8-bit integers are not evaluated: some processors
# saturate their sums.

COMPARING: Final = frozenset({"ArgMax", "ArgMin", "Compress", "GatherND", "TopK", "Unique"})
"""Operators that only compare or move floats."""

EXACT: Final = COMPARING | frozenset({"BitCast", "NonZero", "Pad"})
"""Operators that are evaluated; those that are not `COMPARING`, on integers and booleans alone."""

FLAGS: Final = frozenset({"keepdims", "largest", "select_last_index", "sorted"})
"""Attributes of these operators that must be 0 or 1: kernels and onnx.reference differ on other numbers."""

SELECTING: Final = frozenset({"Compress", "NonZero", "Unique"})
"""Operators whose output is never larger than rank times the input."""


def evaluated(
    operation: Operation, inputs: Sequence[Value | None], outputs: tuple[Value, ...]
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """The outputs of a rule, with the elements that the inputs decide; unchanged if there are none.

    Without onnx they are unchanged, and a note says so.
    """
    if not _is_decided(operation, inputs, outputs):
        return outputs, ()
    if not is_installed("onnx"):
        return outputs, (f"what its inputs decide stays unknown: {missing('onnx')}",)
    from absint.shapes import reference

    return reference.run(operation, inputs, outputs), ()


def _is_decided(operation: Operation, inputs: Sequence[Value | None], outputs: tuple[Value, ...]) -> bool:
    """The inputs decide elements that the rule leaves open, and onnx.reference computes them as onnxruntime does."""
    name = operation.op_type
    if not operation.is_standard or operation.domain or name not in EXACT or not any(map(_is_open, outputs)):
        return False
    constants = [v for v in inputs if isinstance(v, Tensor) and _is_known(v)]
    if len(constants) != sum(v is not None for v in inputs):
        return False
    # NonZero of a scalar: runtimes differ
    selects = name in SELECTING and all(v.shape.rank for v in constants)
    if not all(_is_small(v) or selects for v in outputs):
        return False
    if not all(map(_is_discrete, (*constants, *outputs))) and operation.op_type not in COMPARING:
        return False
    if operation.op_type == "TopK" and operation.attributes.get("sorted", 1) == 0:
        return False  # in an order that the runtime chooses
    return all(operation.attributes.get(name, 1) in (0, 1) for name in FLAGS)


def _is_open(value: Value) -> bool:
    return isinstance(value, Tensor) and (value.contents is None or value.shape.concrete is None)


def _is_small(value: Value) -> bool:
    sizes = value.shape.concrete if isinstance(value, Tensor) else None
    return sizes is not None and is_small(sizes)


def _is_discrete(value: Value) -> bool:
    return isinstance(value, Tensor) and (value.dtype is DType.BOOL or value.dtype.is_integer)


def _is_known(value: Tensor) -> bool:
    """Every element is a constant, and no axis is too long to go along it, as one of an empty tensor may be."""
    if value.contents is None or value.contents.open or not _is_small(value):
        return False
    return value.contents.block(value.shape.concrete) is not None
