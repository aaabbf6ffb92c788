"""`analyze` and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from absint.diagnostics import Diagnostic, Severity
from absint.errors import UsageError
from absint.lattices.limits import LONG, MEMORY, RLIMIT, SECONDS, Limits
from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.text.nearest import did_you_mean
from absint.lattices.unify import SOUND, Policy
from absint.lattices.value import BOTTOM, TOP, Value
from absint.model.load import Loaded, ModelLike, load
from absint.program.graph import Node, Operand
from absint.program.limits import Progress, Watch
from absint.program.lowered import Lowered
from absint.program.lowering import Lowerer
from absint.rules.lookup import Lookup
from absint.shapes.analysis import ShapeAnalysis, Trace
from absint.shapes.assumptions import Assumption, facts_of, known_symbols, read_assumptions
from absint.shapes.inputs import Inputs, read_inputs
from absint.shapes.memo.gc_pause import uncollected
from absint.shapes.names import display_names, more_names
from absint.shapes.profiling import Profile
from absint.shapes.refinement import Round, Rounds, run_rounds
from absint.shapes.summaries import State
from absint.solution.by_name import Shapes, View
from absint.transfer.table import Table, shipped

if TYPE_CHECKING:
    import networkx as nx
    import onnx

    from absint.analyses.liveness import InputPolicy, ViewPolicy
    from absint.costs.cost import Cost
    from absint.costs.memory import Memory
    from absint.declared.annotate import Annotated
    from absint.explain import Explanation
    from absint.queries.contracts import SymbolFacts
    from absint.queries.equivalence import Equalities, Place
    from absint.queries.evidence import Evidence
    from absint.queries.outcomes import Check, RangeCheck
    from absint.queries.proofs import Given, Proving
    from absint.queries.size_boxes import Box
    from absint.runs.comparison import Comparison
    from absint.solution.constraints import Recorded
    from absint.solution.load_errors import LoadError
    from absint.solution.policies import Claimed
    from absint.solver.constraints import Constraint, ConstraintSet
    from absint.solver.contracts.contract import Contract
    from absint.solver.prove import Proof

MergePolicy = Literal["skip", "override", "refine", "strict"]
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
    policy: str | Policy = SOUND,
    profile: Profile | None = None,
    defaults: bool = False,
    premises: bool = True,
    max_seconds: float | None = None,
    max_nodes: int | None = None,
    on_progress: Progress | None = None,
) -> Result:
    """Run the shape analysis of a model to its fixpoint.

    `model` is a path, bytes, an `onnx.ModelProto` or an `onnx_ir.Model`. `assume` are relations over the input symbols
    that every run is taken to meet (`"seq % 8 == 0"`); `bind` fixes symbols to sizes. `table` replaces the shipped
    transfer rules (`absint.TABLE.extended([...])`). With `strict` an error raises, and so do a false
    declaration of the author and a limit that is reached. `refine` feeds requirements that solve or bound a symbol
    (`d_model == 64`) back as facts of further rounds; `"smt"` also what Z3 proves about choices that are left in dims.

    An operator without a rule gets one that an installed package ships (`plugins`), and at last what the inference
    function of its onnx schema says (`schema_inference`), which nobody has checked: `diagnostics` and proofs name it.

    `policy` says which of two dims is shown where a rule has to decide: by default what every run shows, by another
    name of `absint.POLICIES` what a tool of the field would show. An unsound one is run once, without refinement; its
    result makes claims, which nothing may be proved from.

    An initialiser that is a graph input too may be replaced by a caller, so its value is not used. With `defaults` it
    is: every answer then rests on no caller replacing one.

    A kernel computes on sizes what an expression says as long as no integer overflows and no float is rounded. With
    `premises` this is taken for granted where it holds for all sizes up to 65,536, is recorded, and is shown with every
    answer that rests on it; without, what would need a premise is unknown.

    `profile` (an `absint.Profile()`) is told where the time goes.

    After `max_seconds`, and beyond the first `max_nodes` operators, the analysis stops between two nodes: what was not
    reached is unknown, a diagnostic `limit` says so, and all other claims hold. `on_progress(done, total, phase)` hears
    of nodes that are lowered, analysed or refined; where it returns False the analysis stops in the same way, and what
    it raises ends the analysis. One application of a rule is not interrupted.

    Raises ModelError if the model cannot be read, UsageError for an assumption that does not parse or names no symbol,
    LimitError if the analysis is stopped before the model is lowered.
    """
    from absint.solution.policies import policy_of, run_policy

    given = Watch(max_seconds, max_nodes, on_progress)
    watch = None if given.is_off else given
    policy = policy_of(policy)
    if refine == "smt" and not policy.sound:
        raise UsageError(f"{policy.label}: there is no round with Z3, which proves nothing from claims")
    phase = profile.phase if profile is not None else nullcontext
    with phase("load"):
        loaded = load(model)
    lookup = Lookup(table if table is not None else shipped(), plugins=plugins, schema_inference=schema_inference)
    with phase("lower"):
        lowered = Lowerer(loaded, lookup, defaults=defaults, watch=watch).run()
    lowered.watch = watch
    lowered.program.premises = premises
    inputs = read_inputs(lowered)
    symbols = tuple(inputs.symbols)
    assumptions = read_assumptions(assume, bind or {}, symbols)
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
    if refine == "smt" and not rounds.conflict and not given.reached:
        from absint.queries.smt_refinement import settle

        more = settle(result)
        if more:
            result = Result(loaded, lowered, inputs, Rounds((*rounds.rounds, *more)), assumptions)
    if strict:
        from absint.solution.verify import refused

        wrong = refused(result.diagnostics)
        if wrong:
            others = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise UsageError(f"{wrong[0]}{others}")
    return result


class Result:
    """What the analysis found. Indexing gives the abstract value of a name of the main graph."""

    def __init__(
        self,
        loaded: Loaded,
        lowered: Lowered,
        inputs: Inputs,
        rounds: Rounds,
        assumptions: Sequence[Relation],
    ) -> None:
        self.assumptions = tuple(assumptions)
        """What the caller assumes of the input symbols."""
        self.symbols = tuple(inputs.symbols)
        """The symbols of the inputs, in order of appearance."""
        self.rounds = rounds
        """The runs of the analysis: on the declarations alone, then with what the requirements teach."""
        self._loaded = loaded
        self._lowered = lowered
        self._declared = inputs
        self._renamed: dict[Value, Value] = {}
        self._main = View(self, lowered.program.main)

    @cached_property
    def graph(self) -> nx.DiGraph[int]:
        """The lowered model: one node per operator instance, input and initialiser."""
        return self._lowered.program.networkx()

    @property
    def base(self) -> Round:
        """The round that rests on declarations and assumptions alone."""
        return self.rounds.rounds[0]

    @property
    def last(self) -> Round:
        """The most exact round."""
        return self.rounds.rounds[-1]

    @property
    def analysis(self) -> ShapeAnalysis:
        """The analysis of the last round."""
        return self.last.analysis

    @cached_property
    def states(self) -> list[State]:
        """The state of each node after the last round, over the symbols of round 0; inputs as they are declared."""
        if len(self.rounds.rounds) == 1:
            return self.last.states
        back = self.rounds.originals
        restored: dict[State, State] = {}
        states = []
        for state in self.last.states:
            found = restored.get(state)
            if found is None:
                found = restored[state] = tuple([value.replace(back) for value in state]) if back else state
            states.append(found)
        for node in self._lowered.signature.inputs.values():
            states[node] = self.base.states[node]
        return states

    @property
    def policy(self) -> Policy:
        """How it was decided between two dims; what is shown under an unsound one are claims."""
        return self.base.analysis.policy

    @cached_property
    def claims(self) -> tuple[Claimed, ...]:
        """What an unsound policy took for granted where dims broadcast."""
        from absint.solution.policies import claims

        return () if self.policy.sound else tuple(claims(self))

    def require_sound(self, what: str) -> None:
        """Raises UsageError if the policy is unsound: `what` needs a result that holds in every run."""
        if not self.policy.sound:
            raise UsageError(
                f"{what} needs the sound analysis, and this result is of the {self.policy.label}: what it claims may "
                f"be false; analyse the model without a policy"
            )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the graph inputs that a caller must feed."""
        return tuple(self._lowered.signature.inputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the graph outputs."""
        return tuple(self._lowered.signature.outputs)

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the lowered graph by id."""
        return self._lowered.program.nodes

    @property
    def model(self) -> onnx.ModelProto:
        """The model that was analysed; not to be changed."""
        return self._loaded.proto

    @property
    def origin(self) -> str:
        """Where the model came from."""
        return self._loaded.origin

    @property
    def shapes(self) -> Shapes:
        """Every tensor of the main graph: name -> shape, or None where the rank is unknown."""
        return self._main.shapes

    @property
    def values(self) -> View:
        """Every value of the main graph."""
        return self._main

    def __getitem__(self, name: str) -> Value:
        return self.value_of(self.producer(name))

    def producer(self, name: str) -> Operand:
        """The id of the node that computes a value of the main graph, and which of its outputs the value is.

        Raises UsageError for a name that is not there.
        """
        found = self._lowered.program.main.names.get(name)
        if found is None:
            hint = did_you_mean(name, list(self._main))
            raise UsageError(f"the main graph has no value {name!r}" + (f"; {hint}" if hint else ""))
        return found

    def at(self, path: str) -> View:
        """The values of a subgraph or inlined function by its path (`loop1/body`).

        Raises UsageError if there is none.
        """
        scope = self._lowered.program.scopes.get(path)
        if scope is None:
            known = ", ".join(repr(p) for p in self.paths) or "none"
            raise UsageError(f"no subgraph at {path!r}; there are: {known}")
        return View(self, scope)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all subgraphs and inlined functions."""
        return tuple(path for path in self._lowered.program.scopes if path)

    def value_of(self, operand: Operand) -> Value:
        """The value of an output of a node, with printed names for invented symbols."""
        if operand[0] < 0:
            return TOP
        state = self.states[operand[0]]
        value = state[operand[1]] if operand[1] < len(state) else BOTTOM
        renamed = self._renamed.get(value)
        if renamed is None:
            names = self.names
            renamed = self._renamed[value] = value.replace(names) if names else value
        return renamed

    @cached_property
    def names(self) -> Mapping[Symbol, Dim]:
        """Invented symbols -> the symbols they are shown as (`_d0`, `_d1`, ...)."""
        return display_names(self.nodes, self.states, self.taken)

    @property
    def taken(self) -> set[str]:
        """Names that the model has, which no invented symbol may be shown as."""
        return set(self.symbols).union(*(dim.free_symbols for dim in self.rounds.adopted))

    @cached_property
    def recorded(self) -> Recorded:
        """The constraints over internal symbols: of the first round, and of all rounds."""
        from absint.solution.constraints import record

        return record(self._lowered, self._declared, self.assumptions, self.rounds, self._load_errors)

    @cached_property
    def _load_errors(self) -> tuple[LoadError, ...]:
        """Errors that keep runtimes from loading the model, though no run meets them: types of unreached code, say."""
        from absint.solution.load_errors import load_errors

        return load_errors(self)

    @cached_property
    def constraints(self) -> ConstraintSet:
        """What must hold for the model to run, and what holds of what it computes, under printed names."""
        self.require_sound("the constraint set")
        return self.recorded.every.renamed(self.all_names)

    @cached_property
    def all_names(self) -> Mapping[Symbol, Dim]:
        """Printed names of the symbols of values and constraints."""
        from absint.solution.constraints import symbols_in

        return more_names(symbols_in(self.recorded.every), self.names, self.taken)

    @cached_property
    def premises(self) -> tuple[Constraint, ...]:
        """Numeric premises: no run requires them, and some claims rest on them."""
        from absint.queries.premises import all_premises

        return all_premises(self) if self.policy.sound else ()

    @property
    def declared_premises(self) -> tuple[Relation, ...]:
        """What the declared dims of the inputs take for granted."""
        return tuple(r for r in self._declared.premises if r is not TRUE)

    @cached_property
    def is_complete(self) -> bool:
        """Every operator's rule promises to state all that a run needs."""
        kernels = {node.kernel for node in self.nodes}
        return all(k is None or (k.rule is not None and k.rule.complete) for k in kernels)

    @cached_property
    def unruled(self) -> Counter[str]:
        """Operators without a rule, and how many nodes have one."""
        kernels = (node.kernel for node in self.nodes)
        return Counter(k.operator for k in kernels if k is not None and k.rule is None)

    @cached_property
    def inferred(self) -> Counter[str]:
        """Operators without a rule of which the inference function of an onnx schema is asked, and how many nodes."""
        kernels = (node.kernel for node in self.nodes)
        return Counter(k.operator for k in kernels if k is not None and k.rule is not None and k.rule.inferred)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Nodes that cannot run, declarations that are false, operators without a rule, and what else is wrong."""
        from absint.solution.verify import declared_diagnostics, default_diagnostics

        found = self._beside_declarations
        return (*found, *default_diagnostics(self), *declared_diagnostics(self)) if self.policy.sound else found

    @cached_property
    def _beside_declarations(self) -> tuple[Diagnostic, ...]:
        """All diagnostics but false declarations, which no error is among."""
        from absint.solution.verify import node_diagnostics

        return (*self._lowered.diagnostics, *self._declared.diagnostics, *node_diagnostics(self))

    @property
    def limits_reached(self) -> tuple[str, ...]:
        """The limits that cut the analysis short, with what is missing; empty for a complete result."""
        from absint.solution.verify import LIMIT_REACHED

        return tuple(d.message for d in self._lowered.diagnostics if d.code == LIMIT_REACHED)

    @property
    def can_run(self) -> bool:
        """No node has been shown to fail in every run. A run executes every node, needed or not."""
        return not any(d.severity is Severity.ERROR for d in self._beside_declarations)

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
        """Whether a relation holds: `logits[1] == input_ids[1]`, `H % 32 == 0`, `shape(X) == shape(Z)`.

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

        Raises UsageError for a text that does not parse and for names that are not there.
        """
        self.require_sound("a proof")
        from absint.queries.premises import with_premises

        limits = Limits(seconds, rlimit, memory)
        proof = self._proving.prove(
            query, given=given, assume=assume, confirm=confirm, evidence=evidence, limits=limits
        )
        return with_premises(self, query, proof)

    def equal_dims(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[Place]:
        """Every axis of every value of the main graph, in classes of equal size in all runs that succeed.

        Limits are as for `prove`; what was not compared in time stands apart, and `reason` says so.
        """
        self.require_sound("a class of equal dims")
        from absint.queries.equivalence import equal_dims
        from absint.queries.proofs import checked

        return equal_dims(self, self._proving.prover(checked(Limits(seconds, rlimit, memory))))

    def equal_shapes(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[str]:
        """The values of the main graph in classes of equal shape in all runs that succeed."""
        self.require_sound("a class of equal shapes")
        from absint.queries.equivalence import equal_shapes
        from absint.queries.proofs import checked

        return equal_shapes(self, self._proving.prover(checked(Limits(seconds, rlimit, memory))))

    def equal_buffers(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[str]:
        """The values of the main graph in classes of equal size in bytes: those that can share a buffer."""
        self.require_sound("a class of equal buffers")
        from absint.queries.equivalence import equal_buffers
        from absint.queries.proofs import checked

        return equal_buffers(self, self._proving.prover(checked(Limits(seconds, rlimit, memory))))

    def contract(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Contract:
        """Which sizes of the inputs are legal: the fewest clauses over input symbols, each with the nodes behind it.

        The clauses are necessary for every run. What they cannot say is listed beside them: requirements over sizes
        that only data decide, nodes that may fail on data, and the premises. Limits are as for `prove`: past
        `seconds` the clauses are those of the nodes as they stand, and `reason` says so.
        """
        self.require_sound("a contract")
        from absint.queries.contracts import contract

        return contract(self, Limits(seconds, rlimit, memory))

    def symbol(self, name: str, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> SymbolFacts:
        """What every run that succeeds says of an input symbol: range, congruence, finite set, solved value, origins.

        Limits are as for `prove`. Raises UsageError if no input has the symbol.
        """
        self.require_sound("what is known of a symbol")
        from absint.queries.contracts import symbol_facts

        known_symbols([name], self.symbols, f"symbol {name!r}")
        return symbol_facts(self, name, Limits(seconds, rlimit, memory))

    def compare(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> Comparison:
        """Hold the claims against real tensors: for each dim the expression, the size it predicts, and the actual one.

        `inputs` and `outputs` map names to arrays (anything with a shape) or shapes; outputs may be any value of the
        main graph. Raises UsageError for names that are not there.
        """
        from absint.runs.comparison import compare

        return compare(self, inputs, outputs)

    def explain(self, value: str, axis: int | None = None) -> Explanation:
        """Where a dim comes from, node by node; all dims of the value without `axis`.

        Raises UsageError for a name that is not there, an axis out of range, a value of unknown rank.
        """
        from absint.explain import explain

        return explain(self, value, axis)

    @cached_property
    def _proving(self) -> Proving:
        from absint.queries.proofs import Proving

        return Proving(self)

    def check(self, binding: Mapping[str, int]) -> Check:
        """What happens when the inputs have these sizes: the shape of everything, or the first node that fails and why.

        Raises UsageError if a symbol of the inputs has no size, or for a name or size that makes no sense.
        """
        self.require_sound("a check of sizes")
        from absint.queries.size_checks import check

        return check(self, binding)

    def check_range(self, box: Box, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> RangeCheck:
        """Whether every size in a box is legal: `{"batch": (1, 64), "seq": (1, 2048)}`, both ends included.

        Symbols that are left out have any size; what is assumed narrows the box. Limits are as for `prove`. Raises
        UsageError for an unknown name and an empty or negative range.
        """
        self.require_sound("a check of sizes")
        from absint.queries.proofs import checked
        from absint.queries.size_boxes import check_range

        return check_range(self, box, checked(Limits(seconds, rlimit, memory)))

    def cost(self) -> Cost:
        """Multiply-accumulates, FLOPs and bytes moved, per node and in total, and the parameters."""
        self.require_sound("a cost")
        from absint.costs.cost import Cost

        return Cost(self)

    def memory(self, *, inputs: InputPolicy = "freed", views: ViewPolicy = "copied") -> Memory:
        """When each value dies if nodes run in the order of the file, and the peak memory of activations.

        Inputs are live to their last use (`freed`) or to the end (`kept`), or do not count (`apart`). The output of
        Reshape and the like is a value like others (`copied`), or shares the memory of its input (`shared`).
        """
        self.require_sound("the memory")
        from absint.costs.memory import Memory

        return Memory(self, inputs, views)

    def verify(self) -> None:
        """Apply every rule again, without the memo, and check that the stored states are a post-fixpoint.

        Raises AssertionError naming the first node that is not.
        """
        self.require_sound("verification")
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

    def __repr__(self) -> str:
        label = "" if self.policy.sound else f", {self.policy.label}"
        return f"<Result of {self.origin}: {len(self.nodes)} nodes, symbols {', '.join(self.symbols) or 'none'}{label}>"
