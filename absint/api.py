"""`analyze` and its result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal

from absint.errors import UsageError
from absint.lattices.limits import LONG, MEMORY, RLIMIT, SECONDS, Limits
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.unify import SOUND, UnificationPolicy
from absint.model.load import Loaded, ModelLike, load
from absint.program.limits import Progress, Watch
from absint.program.lowering import Lowerer
from absint.rules.lookup import Lookup
from absint.shapes.analysis import Trace
from absint.shapes.assumptions import Assumption, facts_of, read_assumptions
from absint.shapes.inputs import read_inputs
from absint.shapes.memo.gc_pause import uncollected
from absint.shapes.refinement import Rounds, run_rounds
from absint.solution.analysed import Analysed
from absint.transfer.families import shipped
from absint.transfer.table import Table

if TYPE_CHECKING:
    import onnx

    from absint.analyses.liveness import InputPolicy, ViewPolicy
    from absint.costs.cost import Cost
    from absint.costs.memory import Memory
    from absint.declared.annotate import Annotated, MergePolicy
    from absint.declared.saving import AnnotatedFile
    from absint.diagnostics import Diagnostic
    from absint.explain.explanation import Explanation
    from absint.queries.contracts import SymbolFacts
    from absint.queries.equivalence import Equalities, Place
    from absint.queries.evidence import Evidence
    from absint.queries.outcomes import Check, RangeCheck
    from absint.queries.provers import Given
    from absint.queries.size_boxes import Box
    from absint.runs.comparison import Comparison
    from absint.shapes.profiling import Profile
    from absint.solution.claimed import Claimed
    from absint.solution.constraints import Recorded
    from absint.solver.constraints import Constraint, ConstraintSet
    from absint.solver.contracts.contract import Contract
    from absint.solver.prove import Proof

Refine = bool | Literal["smt"]


@uncollected
def analyze(
    model: ModelLike | Loaded,
    *,
    assume: Sequence[Assumption] = (),
    bind: Mapping[str, int] | None = None,
    table: Table | None = None,
    memoise: bool = True,
    trace: Trace | None = None,
    strict: bool = False,
    refine: Refine = True,
    plugins: bool = True,
    schema_inference: bool = True,
    policy: str | UnificationPolicy = SOUND,
    profile: Profile | None = None,
    defaults: bool = False,
    premises: bool = True,
    max_seconds: float | None = None,
    max_nodes: int | None = None,
    on_progress: Progress | None = None,
) -> Result:
    """Run the shape analysis of a model to its fixpoint.

    `model` is a path, bytes, an `onnx.ModelProto` or an `onnx_ir.Model`. `assume` lists relations over the input
    symbols that every run meets (`"seq % 8 == 0"`); `bind` fixes symbols to sizes. `table` replaces the shipped
    transfer rules (`absint.TABLE.extended([...])`). With `strict` an error raises, and so do a false declaration of the
    author and a limit that is reached. `refine` feeds requirements that solve or bound a symbol (`d_model == 64`) back
    as facts of further rounds, and asks Z3 about choices between sizes that seem to have one side only; `"smt"` asks it
    about every choice, broadcast and extreme that is left in dims.

    An operator without a rule gets one that an installed package ships (`plugins`), and else one made from the
    inference function of its onnx schema (`schema_inference`), which is unchecked: `diagnostics` and proofs name it.

    `policy` says which of two dims is shown where a rule has to decide: by default what every run shows, by another
    name of `absint.POLICIES` what a tool of the field would show. An unsound one is run once, without refinement; its
    result makes claims, which nothing may be proved from.

    An initialiser that is a graph input too may be replaced by a caller, so its value is not used. With `defaults` it
    is: every answer then rests on no caller replacing one.

    A kernel computes the size that an expression states, unless an integer overflows or a float is rounded. With
    `premises` the analysis assumes that neither happens where this is true of all sizes up to 65,536, records the
    assumption, and shows it with every answer that rests on it; without, whatever needs a premise is unknown.

    `profile` (an `absint.Profile()`) collects where the time goes.

    After `max_seconds`, and beyond the first `max_nodes` operators, the analysis stops between two nodes: what was not
    reached is unknown, a diagnostic `limit` says so, and all other claims hold. `on_progress(done, total, phase)` is
    called while nodes are lowered, analysed and refined; if it returns False the analysis stops in the same way, and an
    exception it raises ends the analysis. A single rule application is never interrupted.

    Raises ModelError if the model cannot be read, UsageError for an assumption that does not parse or names no symbol,
    LimitError if the analysis is stopped before the model is lowered.
    """
    given = Watch(max_seconds, max_nodes, on_progress)
    watch = None if given.is_off else given
    if policy is not SOUND:
        from absint.shapes.policies import policy_of, run_policy

        policy = policy_of(policy)
    if refine == "smt" and not policy.sound:
        raise UsageError(f"refine='smt' needs the sound policy: claims of the {policy.label} prove nothing")
    phase = profile.phase if profile is not None else nullcontext
    with phase("load"):
        loaded = load(model)
    lookup = Lookup(table if table is not None else shipped(), plugins=plugins, schema_inference=schema_inference)
    with phase("lower"):
        lowered = Lowerer(loaded, lookup, defaults=defaults, premises=premises, watch=watch).run()
    inputs = read_inputs(lowered)
    symbols = tuple(inputs.parameters)
    assumptions = read_assumptions(assume, bind or {}, inputs)
    facts = facts_of(assumptions, inputs.premises)
    for node, value in inputs.values.items():
        lowered.program.nodes[node].value = value
    with phase("rounds"):
        if policy.sound:
            rounds = run_rounds(
                lowered,
                facts,
                symbols,
                memoise=memoise,
                trace=trace,
                refine=bool(refine),
                profile=profile,
            )
        else:
            rounds = run_policy(lowered, facts, policy, memoise=memoise, trace=trace)
    result = Result(loaded, lowered, inputs, rounds, assumptions)
    if (refine == "smt" or rounds.choices) and not rounds.conflict and not given.reached:
        from absint.queries.smt_refinement import settle, settle_choices

        more = settle(result) if refine == "smt" else settle_choices(result)
        if more:
            result = Result(loaded, lowered, inputs, Rounds((*rounds.rounds, *more)), assumptions)
    if strict:
        from absint.declared.diagnostics import refused

        wrong = refused(result.diagnostics)
        if wrong:
            others = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise UsageError(f"{wrong[0]}{others}")
    return result


class Result(Analysed):
    """The findings of an analysis, and the questions about them.

    Indexing gives the abstract value of a name of the main graph.
    """

    def __str__(self) -> str:
        """The table of `absint analyze`: inputs, outputs, totals and diagnostics."""
        from absint.report.text import table

        return table(self)

    # What was derived

    @property
    def recorded(self) -> Recorded:
        """The constraints over internal symbols: of the first round, and of all rounds."""
        from absint.solution.constraints import recorded

        return recorded(self)

    @property
    def all_names(self) -> Mapping[Symbol, Dim]:
        """Printed names of the symbols of values and constraints."""
        from absint.solution.constraints import all_names

        return all_names(self)

    @property
    def constraints(self) -> ConstraintSet:
        """Requirements of a run, and facts about computed values, under printed names."""
        from absint.solution.constraints import constraints

        return constraints(self)

    @property
    def claims(self) -> tuple[Claimed, ...]:
        """Relations that an unsound policy took for granted where dims broadcast."""
        from absint.solution.claimed import claims

        return claims(self)

    @property
    def premises(self) -> tuple[Constraint, ...]:
        """Numeric premises: no run requires them, and some claims rest on them."""
        from absint.queries.premises import all_premises

        return all_premises(self)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Nodes that cannot run, declarations that are false, operators without a rule, and what else is wrong."""
        from absint.declared.diagnostics import diagnostics

        return diagnostics(self)

    @property
    def can_run(self) -> bool:
        """No node has been shown to fail in every run. A run executes every node, needed or not."""
        from absint.solution.node_diagnostics import can_run

        return can_run(self)

    # Questions

    def prove(
        self,
        query: str | Relation,
        *,
        given: Given = "run",
        assume: Sequence[Assumption] = (),
        confirm: bool = False,
        evidence: Evidence | None = None,
        seconds: float = SECONDS,
        rlimit: int = RLIMIT,
        memory: int = MEMORY,
    ) -> Proof:
        """Decide a relation: `logits[1] == input_ids[1]`, `H % 32 == 0`, `shape(X) == shape(Z)`.

        It may name dims of values of the main graph, symbols of the inputs and invented ones as they are printed.
        `given` says what is taken for granted: that the `run` succeeds; the declarations of the `inputs` alone (a dim
        of a computed value then stands for its expression); or what the author `declared` of other values too. `assume`
        adds premises. With `confirm` a counterexample is run (this needs onnxruntime).

        The answer takes `seconds` at most, all work included. Z3 gets `rlimit` steps for a question, the same on every
        machine (0: no limit), and `memory` bytes. At a limit the verdict is unknown, with the reason.

        Where the rules do not show that the sizes of a counterexample run, `evidence="run"` runs the model there, in a
        process of its own; `"none"` never does. Without a choice, it is run if onnxruntime is installed. The `evidence`
        of the answer says which it was.

        *Proved*: the premises entail it. *Refuted*: sizes of the inputs for which there is a run make it false.
        *Not entailed*: the premises allow it to be false, but that may never happen in a run. *Contradiction*: the
        premises cannot hold together. *Unknown*: with the reason.

        Raises UsageError for a text that does not parse and for unknown names.
        """
        from absint.queries.prove import prove

        return prove(
            self,
            query,
            given=given,
            assume=assume,
            confirm=confirm,
            evidence=evidence,
            limits=Limits(seconds, rlimit, memory),
        )

    def equal_dims(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[Place]:
        """Every axis of every value of the main graph, in classes of equal size in all runs that succeed.

        Limits are as for `prove`; what was not compared in time is listed apart, and `reason` says so.
        """
        from absint.queries.equivalence import equal_dims

        return equal_dims(self, Limits(seconds, rlimit, memory))

    def equal_shapes(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[str]:
        """The values of the main graph in classes of equal shape in all runs that succeed."""
        from absint.queries.equivalence import equal_shapes

        return equal_shapes(self, Limits(seconds, rlimit, memory))

    def equal_buffers(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[str]:
        """The values of the main graph in classes of equal size in bytes: those that can share a buffer."""
        from absint.queries.equivalence import equal_buffers

        return equal_buffers(self, Limits(seconds, rlimit, memory))

    def contract(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Contract:
        """The legal sizes of the inputs: the fewest clauses over input symbols, each with the nodes behind it.

        The clauses are necessary for every run. What they cannot say is listed beside them: requirements over
        data-dependent sizes, nodes that may fail on data, and the premises. Limits are as for `prove`: past
        `seconds` the clauses are those of the nodes as they stand, and `reason` says so.
        """
        from absint.queries.contracts import contract

        return contract(self, Limits(seconds, rlimit, memory))

    def symbol(self, name: str, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> SymbolFacts:
        """Facts about an input symbol in every run that succeeds: range, congruence, finite set, solved value, origins.

        Limits are as for `prove`. Raises UsageError if no input has the symbol.
        """
        from absint.queries.contracts import symbol_facts

        return symbol_facts(self, name, Limits(seconds, rlimit, memory))

    def check(self, binding: Mapping[str, int]) -> Check:
        """The run at these sizes: the shape of everything, or the first node that fails and why.

        Raises UsageError if a symbol of the inputs has no size, or for a name or size that makes no sense.
        """
        from absint.queries.size_checks import check

        return check(self, binding)

    def check_range(self, box: Box, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> RangeCheck:
        """Check that every size in a box is legal: `{"batch": (1, 64), "seq": (1, 2048)}`, both ends included.

        Symbols that are left out may have any size; assumptions narrow the box. Limits are as for `prove`. Raises
        UsageError for an unknown name and an empty or negative range.
        """
        from absint.queries.size_boxes import check_range

        return check_range(self, box, Limits(seconds, rlimit, memory))

    def compare(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> Comparison:
        """Hold the claims against real tensors: for each dim the expression, the size it predicts, and the actual one.

        `inputs` and `outputs` map names to arrays (anything with a shape) or shapes; outputs may be any value of the
        main graph. Raises UsageError for unknown names.
        """
        from absint.runs.comparison import compare

        return compare(self, inputs, outputs)

    def explain(self, value: str, axis: int | None = None) -> Explanation:
        """Trace a dim back to its origin, node by node; without `axis`, all dims of the value.

        Raises UsageError for an unknown name, an axis out of range, a value of unknown rank.
        """
        from absint.explain.question import explain

        return explain(self, value, axis)

    def cost(self) -> Cost:
        """Multiply-accumulates, FLOPs and bytes moved, per node and in total, and the parameters."""
        from absint.costs.cost import Cost

        return Cost(self)

    def memory(self, *, inputs: InputPolicy = "freed", views: ViewPolicy = "copied") -> Memory:
        """When each value dies if nodes run in the order of the file, and the peak memory of activations.

        Inputs are live to their last use (`freed`) or to the end (`kept`), or do not count (`apart`). The output of
        Reshape and the like is a value like others (`copied`), or shares the memory of its input (`shared`).
        """
        from absint.costs.memory import Memory

        return Memory(self, inputs, views)

    def verify(self) -> None:
        """Apply every rule again, without the memo, and check that the stored states are a post-fixpoint.

        Raises AssertionError naming the first node that is not.
        """
        from absint.solution.verify import verify

        verify(self)

    def annotate(self, merge: MergePolicy = "refine", *, outputs: bool = False) -> onnx.ModelProto:
        """A copy of the model with what was inferred written into `value_info`, bodies of subgraphs included.

        `merge` says what happens to existing annotations: `skip` keeps them, `override` replaces them, `refine` takes
        per dim the more exact of the two, `strict` does so unless one is false, which raises UsageError. With
        `outputs` the types of graph outputs are written too.

        A type is left out if the copy would not load with it, though the model does; `annotated` lists these.
        """
        return self.annotated(merge, outputs=outputs).model

    def annotated(self, merge: MergePolicy = "refine", *, outputs: bool = False) -> Annotated:
        """As `annotate`: the copy, with the types that are left out of it and why."""
        from absint.declared.annotate import annotated

        return annotated(self, merge, outputs=outputs)

    def save_annotated(
        self, path: str | os.PathLike[str], merge: MergePolicy = "refine", *, outputs: bool = False
    ) -> AnnotatedFile:
        """Write the copy that `annotate` makes to a file, which is complete or not written at all.

        Bytes are copied from the model's file to the new one, and only declarations and metadata change: weights never
        come into memory, files of over 2 GB work, and references to external data stay. Raises UsageError as `annotate`
        does, for a path that cannot be written or holds weights, and if the model's file has changed since.
        """
        from absint.declared.saving import save_annotated

        return save_annotated(self, os.fspath(path), merge, outputs=outputs)
