"""The questions about one result. Each is answered by a function of the room that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from absint import homes
from absint.lattices.limits import LONG, MEMORY, RLIMIT, SECONDS, Limits
from absint.lattices.logic.relation import Relation
from absint.program.limits import checked
from absint.shapes.sizes import Assumption
from absint.solution.analysed import Analysed
from absint.transfer.semantics import EITHER

if TYPE_CHECKING:
    from absint.analyses.devices import Devices
    from absint.analyses.liveness import InputPolicy, ViewPolicy
    from absint.analyses.ranges import ValueRanges
    from absint.analyses.values import ValueAnalysis
    from absint.jobs.auditing import Audit
    from absint.jobs.profiles.making import WantedSizes
    from absint.jobs.profiles.profile import Profile
    from absint.questions.certificates.certificate import Certificate
    from absint.questions.costs.cost import Cost
    from absint.questions.costs.memory import Memory
    from absint.questions.explain.explanation import Explanation
    from absint.questions.proofs.equivalence import AxisPlace, Equalities
    from absint.questions.proofs.evidence import Evidence
    from absint.questions.proofs.proof import Given, Proof
    from absint.questions.rows.answer import Rows
    from absint.questions.sizes.contracts import LegalSamples, SymbolFacts
    from absint.questions.sizes.neighbours import Nearest
    from absint.questions.sizes.outcomes import Check, RangeCheck
    from absint.runs.comparison import Comparison
    from absint.shapes.sizes import Sizes
    from absint.solver.contracts.contract import Contract

T = TypeVar("T")
A = TypeVar("A", "Check", "RangeCheck", "Contract", "Proof")


class Questions(Analysed):
    """An analysis that can be asked. Limits of time, of Z3's steps and of its memory are keywords."""

    def _about(self, answer: A) -> A:
        """The answer, with the runs that it is about."""
        from dataclasses import replace

        return answer if self.semantics == EITHER else replace(answer, semantics=self.semantics)

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
        proof = homes.proofs.prove(
            self,
            query,
            given=given,
            assume=assume,
            confirm=confirm,
            evidence=evidence,
            limits=Limits(seconds, rlimit, memory),
            declared=lambda: homes.proving.declared_premises(self),
        )
        return self._about(proof)

    def certify(self, prove: Sequence[str] = (), *, seconds: float = SECONDS) -> Certificate:
        """Lemmas from which the shapes follow, one for each kind of node, that any solver of SMT-LIB can check.

        The relations of `prove`, as texts, are certified too, if they follow. `seconds` is for each lemma, which Z3
        proves first. Write the answer with `Certificate.write(folder)`; see docs/certificates.md. Raises UsageError for
        a relation that cannot be read, and for the result of an unsound policy.
        """
        return homes.certificate.certify(self, prove, seconds=seconds)

    def equal_dims(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[AxisPlace]:
        """Every axis of every value of the main graph, in classes of equal size in all runs that succeed.

        Limits are as for `prove`; what was not compared in time is listed apart, and `reason` says so.
        """
        return homes.equivalence.equal_dims(self, Limits(seconds, rlimit, memory))

    def equal_shapes(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[str]:
        """The values of the main graph in classes of equal shape in all runs that succeed."""
        return homes.equivalence.equal_shapes(self, Limits(seconds, rlimit, memory))

    def equal_buffers(self, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> Equalities[str]:
        """The values of the main graph in classes of equal size in bytes: those that can share a buffer."""
        return homes.equivalence.equal_buffers(self, Limits(seconds, rlimit, memory))

    def contract(
        self, *, samples: int = 0, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY
    ) -> Contract:
        """The legal sizes of the inputs: the fewest clauses over input symbols, each with the nodes behind it.

        The clauses are necessary for every run. What they cannot say is listed beside them: requirements over
        data-dependent sizes, nodes that may fail on data, and the premises. Limits are as for `prove`: past
        `seconds` the clauses are those of the nodes as they stand, and `reason` says so. `samples` is a number of legal
        sizes to add, as the method of that name finds them.
        """
        return self._about(homes.contracts.contract(self, Limits(seconds, rlimit, memory), samples))

    def symbol(self, name: str, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> SymbolFacts:
        """Facts about an input symbol in every run that succeeds: range, congruence, finite set, solved value, origins.

        Limits are as for `prove`. Raises UsageError if no input has the symbol.
        """
        return homes.contracts.symbol_facts(self, name, Limits(seconds, rlimit, memory))

    def check(self, binding: Sizes) -> Check:
        """The run at these sizes: the shape of everything, or the first node that fails and why.

        `{"batch": 4}` gives a symbol its size, `{"image": [1, 3, 224, 224]}` the symbols of an input theirs.

        Raises UsageError if a symbol of the inputs has no size, or for a name or size that makes no sense.
        """
        return self._about(homes.checking.check(self, binding))

    def nearest(self, sizes: Sizes, *, seconds: float = SECONDS, rlimit: int = RLIMIT, memory: int = MEMORY) -> Nearest:
        """The legal sizes nearest to given ones: of all symbols together, and of each alone, above and below.

        Each answer is confirmed by `check`. Limits are as for `prove`: what was found in time is shown, and `proved`
        says if nothing nearer can be legal. Raises UsageError as `check` does.
        """
        return homes.nearest.nearest(self, sizes, Limits(seconds, rlimit, memory))

    def samples(self, count: int, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY) -> LegalSamples:
        """So many legal sizes, no two alike and the same in every run: small and large ones, ends of ranges.

        `check` confirms each. Limits are as for `prove`: there are fewer if time runs out, or if no others are legal.
        Raises UsageError for a count below 1.
        """
        return homes.contracts.legal_samples(self, count, Limits(seconds, rlimit, memory))

    def check_range(
        self, box: Sizes, *, seconds: float = LONG, rlimit: int = RLIMIT, memory: int = MEMORY
    ) -> RangeCheck:
        """Check that every size in a box is legal: `{"batch": (1, 64), "seq": (1, 2048)}`, both ends included.

        Symbols that are left out may have any size; assumptions narrow the box. Limits are as for `prove`. Raises
        UsageError for an unknown name and an empty or negative range.
        """
        return self._about(homes.boxes.check_range(self, box, Limits(seconds, rlimit, memory)))

    def profile(
        self,
        sizes: WantedSizes,
        *,
        corners: bool = False,
        seconds: float = LONG,
        rlimit: int = RLIMIT,
        memory: int = MEMORY,
    ) -> Profile:
        """The least, best and greatest shape of every input, for engines that are built for ranges of sizes.

        `{"batch": (1, 4, 32), "seq": (1, 512), "heads": 8}`; a pair is the least and the greatest, which is the best
        too. All sizes between are proved legal, or the profile is refused and false, with the nearest legal box. With
        `corners` it is enough that the least, best and greatest are legal; they are moved to legal sizes if need be.

        Limits are as for `prove`. Raises UsageError for a symbol without sizes, for an input of unknown rank, and as
        `check_range` does.
        """
        return homes.making.profile(self, sizes, corners=corners, limits=Limits(seconds, rlimit, memory))

    def compare(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> Comparison:
        """Hold the claims against real tensors: for each dim the expression, the size it predicts, and the actual one.

        `inputs` and `outputs` map names to arrays (anything with a shape) or shapes; outputs may be any value of the
        main graph. Raises UsageError for unknown names.
        """
        return homes.comparison.compare(self, inputs, outputs)

    def explain(self, value: str, axis: int | None = None) -> Explanation:
        """Trace a dim back to its origin, node by node; without `axis`, all dims of the value.

        Raises UsageError for an unknown name, an axis out of range, a value of unknown rank.
        """
        return homes.question.explain(self, value, axis)

    def audit(
        self,
        *,
        tools: Sequence[str] = (),
        policies: Sequence[str] = (),
        author: bool | None = None,
        confirm: bool = True,
        seconds: float = 120.0,
        rlimit: int = RLIMIT,
    ) -> tuple[Audit, ...]:
        """What others claim about the shapes, judged: an answer for the author, each tool and each policy.

        `tools` are some of `absint.auditing.TOOLS`, each run in a process of its own; `policies` of `absint.POLICIES`.
        The author's declarations are judged if `author` says so, or if nothing else is asked for. With `confirm` the
        model is run, and only a run refutes. `seconds` are for a tool, and for the runs and proofs of one source.

        Raises UsageError for an unknown tool or policy, a tool that is not installed, the result of an unsound policy.
        """
        sources = homes.sources
        sources.check_names(tools, policies)
        checked(Limits(seconds, rlimit))
        self.require_sound("an audit")
        chosen = not (tools or policies) if author is None else author
        asked = sources.asked(self, tools, policies, author=chosen, seconds=seconds)
        return tuple(sources.judge(self, ask(), confirm=confirm, seconds=seconds, rlimit=rlimit) for _, ask in asked)

    def ranges(self, inputs: Mapping[str, tuple[float, float]] | None = None, *, weights: bool = True) -> ValueRanges:
        """Ranges of the elements of every value, for inputs in these ranges, and what can go wrong with them.

        `{"image": (0, 1)}`; other inputs may be any number of their types. The model is analysed again beside the
        ranges; with `weights` initialisers are read from its file. The answer is false if a node surely overflows,
        divides by 0, or leaves a domain or an axis. See docs/ranges.md. Raises UsageError for an unknown input, a range
        whose ends are in no order, and the result of an unsound policy.
        """
        return homes.analysis.value_ranges(self, inputs or {}, weights=weights)

    def found_by(self, analysis: ValueAnalysis[T]) -> dict[str, T]:
        """The findings of an analysis that ran in `absint.analyze(model, with_=[analysis])`: its element of each value.

        Names are as in the model; in a body or an inlined function, path and name (`loop1/body/x`). Raises UsageError
        for an analysis that did not run.
        """
        return homes.exchange.found_by(self, analysis)

    def rows(self, axes: Sequence[str] = (), *others: Sequence[str], run: bool = True) -> Rows:
        """For each output whether its row i depends on row i of the inputs alone, so that requests may be stacked.

        Rows are counted by one symbol: that of the axes (`["x[0]", "mask[0]"]`), else the one that most inputs have.
        Rows of other symbols, as queries beside images, are followed for themselves: `rows(["a[0]"], ["b[0]"])`.
        Where this is not proved, runs may show that rows mix, if onnxruntime is installed and `run` is true.

        Raises UsageError for an axis that is none, and if no size of an input has a name.
        """
        return homes.answer.rows(self, axes, *others, run=run)

    def devices(self) -> Devices:
        """The places of nodes if an accelerator takes all that it can, and the copies between it and the host.

        This follows onnxruntime with its CUDA provider, as its sources say; see docs/devices.md.
        """
        return homes.devices.devices(self)

    def cost(self) -> Cost:
        """Multiply-accumulates, FLOPs and bytes moved, per node and in total, and the parameters."""
        return homes.cost.Cost(self)

    def memory(self, *, inputs: InputPolicy = "freed", views: ViewPolicy = "copied") -> Memory:
        """When each value dies if nodes run in the order of the file, and the peak memory of activations.

        Inputs are live to their last use (`freed`) or to the end (`kept`), or do not count (`apart`). The output of
        Reshape and the like is a value like others (`copied`), or shares the memory of its input (`shared`).
        """
        return homes.memory.Memory(self, inputs, views)
