"""The findings of an analysis, without questions about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

from absint.errors import UsageError
from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.value import TOP, Tensor, Value
from absint.program.graph import Scope
from absint.program.steps import Operand
from absint.shapes.readability import dims_of, display_names, invented
from absint.shapes.summaries import State, value_in
from absint.solution.described import Shapes, View

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

    from absint.diagnostics import Diagnostic
    from absint.model.load import Loaded
    from absint.program.digraph import ProgramGraph
    from absint.program.lowered import Lowered
    from absint.shapes.inputs import InputElement, Inputs
    from absint.shapes.refinement import Cooperation
    from absint.shapes.rounds import Round, Rounds

T = TypeVar("T")

_MISSING: Final = object()


class Analysed:
    """A model, its lowered program, and the states of all nodes. Indexing gives the value of a name of the main graph.

    A question is a function of an `Analysed`. `once` keeps what several questions derive from it.
    """

    def __init__(
        self, loaded: Loaded, lowered: Lowered, inputs: Inputs, rounds: Rounds, assumptions: Sequence[Relation]
    ) -> None:
        self.loaded = loaded
        """The model as it was read."""
        self.origin = loaded.origin
        """The origin of the model: its path, or a word for it."""
        self.analyze: Callable[[Loaded, Mapping[str, int]], Analysed] | None = None
        """The analysis of another model as this one was analysed, with symbols bound to sizes."""
        self.reanalyse: Callable[..., Analysed] | None = None
        """The analysis of this model as it was analysed, but for the options that are given as keywords."""

        program, signature = lowered.program, lowered.signature
        self.lowered = lowered
        """The program, with what the model declares beside it."""
        self.trusted = lowered.trusted
        """The declarations that the caller takes on trust, and that say more than the analysis knows."""
        self.program = program
        """The lowered model."""
        self.nodes = program.nodes
        """The nodes of the lowered graph by id."""
        self.scopes: Mapping[str, Scope] = program.scopes
        """The names of each graph by its path; the main graph has the empty path."""
        self.paths = tuple(path for path in program.scopes if path)
        """Paths of all subgraphs and inlined functions."""
        self.operands: Mapping[str, Operand] = program.main.names
        """For each name of the main graph the node that computes the value, and the index among its outputs."""
        self.semantics = program.semantics
        """The runs that every claim is about: those of ONNX's documents, of onnxruntime, or of either."""
        self.declared_inputs = inputs
        """The inputs as abstract values, their premises, and hints on texts of dims."""
        self.declared_premises = tuple(r for r in inputs.premises if r is not TRUE)
        """Premises of the declared dims of the inputs: sizes are defined and not negative."""
        self.symbols = tuple(inputs.symbols)
        """The sizes that the inputs name, in order of appearance."""
        self.parameters: Mapping[str, Expr] = inputs.parameters
        """All that a caller may choose a number for, by name: `symbols`, then all elements of small inputs."""
        self.assumptions = tuple(assumptions)
        """Assumptions of the caller about the input symbols."""
        self.inputs = tuple(signature.inputs)
        """Names of the graph inputs that a caller must feed."""
        self.input_nodes: Mapping[str, int] = signature.inputs
        """The node of each graph input that a caller must feed."""
        self.defaults: Mapping[int, Tensor] = signature.defaults
        """The file's values of initialisers that are graph inputs too, by node."""
        self.outputs = tuple(signature.outputs)
        """Names of the graph outputs."""

        self.rounds = rounds
        """The runs of the analysis: on the declarations alone, then with facts from requirements."""
        self.base = rounds.rounds[0]
        """The round that rests on declarations and assumptions alone."""
        self.last = rounds.rounds[-1]
        """The most exact round."""
        self.analysis = self.last.analysis
        """The analysis of the last round."""
        self.policy = self.base.analysis.policy
        """The choice between two dims. Under an unsound policy all shapes are claims."""
        self.cooperation: Cooperation | None = None
        """The analyses that were given to `absint.analyze`, and what they told that of shapes."""
        self._renamed: dict[Value, Value] = {}
        self._made: dict[Callable[[Analysed], object], object] = {}

    def once(self, make: Callable[[Analysed], T]) -> T:
        """`make(self)`, computed at the first call and kept. An error is not kept."""
        found = self._made.get(make, _MISSING)
        if found is _MISSING:
            found = self._made[make] = make(self)
        return cast("T", found)

    def continued(self, rounds: Sequence[Round]) -> Self:
        """The analysis after further rounds."""
        if not rounds:
            return self
        every = self.rounds._replace(rounds=(*self.rounds.rounds, *rounds))
        found = type(self)(self.loaded, self.lowered, self.declared_inputs, every, self.assumptions)
        found.cooperation = self.cooperation
        return found

    def again(self, loaded: Loaded, sizes: Mapping[str, int]) -> Analysed:
        """A variant of the model, analysed in the same way, with symbols bound to sizes.

        Raises UsageError for a result that was not made by `absint.analyze`.
        """
        if self.analyze is None:
            raise UsageError("a variant of the model cannot be analysed: begin with absint.analyze")
        return self.analyze(loaded, sizes)

    def under(self, **options: object) -> Self:
        """This model, analysed as it was but for these options of `absint.analyze`.

        Raises UsageError for a result that was not made by `absint.analyze`.
        """
        if self.reanalyse is None:
            raise UsageError("the model cannot be analysed again: begin with absint.analyze")
        return cast("Self", self.reanalyse(**options))

    # The model and its program

    @property
    def model(self) -> onnx.ModelProto:
        """The model that was analysed; not to be changed."""
        return self.loaded.proto

    @property
    def folder(self) -> Path | None:
        """The folder of the model's file, if it was read from one."""
        from pathlib import Path

        return None if self.loaded.folder is None else Path(self.loaded.folder)

    @cached_property
    def graph(self) -> ProgramGraph:
        """The lowered model, for NetworkX and for `absint.fixpoint`.

        Nodes have a `name`, an `operator`, a `path` and `outputs`; edges a `role`, and the `values` that flow along
        them.
        """
        return self.program.graph

    @property
    def needed(self) -> Sequence[int]:
        """A flag for each node that some output depends on. A run executes the others too."""
        return self.lowered.needed

    # The runs of the analysis

    def require_sound(self, what: str) -> None:
        """Raises UsageError if the policy is unsound: `what` needs a result that holds in every run."""
        if not self.policy.sound:
            raise UsageError(
                f"{what} needs the sound analysis, and this result is of the {self.policy.label}: what it claims may "
                f"be false; analyse the model without a policy"
            )

    @cached_property
    def is_complete(self) -> bool:
        """Every operator's rule promises to state all that a run needs."""
        return all(k is None or k.is_complete for k in set(self.nodes.operations))

    @cached_property
    def unruled(self) -> Counter[str]:
        """Operators without a rule, and the number of their nodes."""
        operations = (node.operation for node in self.nodes)
        return Counter(k.operator for k in operations if k is not None and not k.has_rule and k.body is None)

    @cached_property
    def inferred(self) -> Counter[str]:
        """Operators without a rule that use the inference function of an onnx schema, and the number of their nodes."""
        operations = (node.operation for node in self.nodes)
        return Counter(k.operator for k in operations if k is not None and k.rule is not None and k.rule.inferred)

    @property
    def limits(self) -> Sequence[Diagnostic]:
        """A diagnostic for each limit that cut the analysis short."""
        return () if self.lowered.watch is None else self.lowered.watch.diagnostics

    @property
    def limits_reached(self) -> tuple[str, ...]:
        """The limits that cut the analysis short, with what is missing; empty for a complete result."""
        return tuple(d.message for d in self.limits)

    # Values

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
        for node in self.input_nodes.values():
            states[node] = self.base.states[node]
        return states

    @property
    def values(self) -> View:
        """Every value of the main graph."""
        return View(self.value_of, self.program.main)

    @property
    def shapes(self) -> Shapes:
        """Every tensor of the main graph: name -> shape. Where the rank is unknown, `is_top` of the shape is True."""
        return self.values.shapes

    def __getitem__(self, name: str) -> Value:
        return self.value_of(self.producer(name))

    def producer(self, name: str) -> Operand:
        """The id of the node that computes a value of the main graph, and the index among its outputs.

        Raises UsageError for an unknown name.
        """
        return self.values.operand(name)

    def tensor(self, name: str) -> Tensor:
        """A value of the main graph that is a tensor: its `dtype`, `shape` and known `contents`.

        Raises UsageError for an unknown name, and for a value of another kind or of which nothing is known.
        """
        return self.values.tensor(name)

    def at(self, path: str) -> View:
        """The values of a subgraph or inlined function by its path (`loop1/body`).

        Raises UsageError if there is none.
        """
        scope = self.scopes.get(path)
        if scope is None:
            known = ", ".join(repr(p) for p in self.paths) or "none"
            raise UsageError(f"no subgraph at {path!r}; there are: {known}")
        return View(self.value_of, scope, path)

    def value_of(self, operand: Operand) -> Value:
        """The value of an output of a node, with printed names for invented symbols."""
        if operand[0] < 0:
            return TOP
        value = value_in(self.states, operand)
        renamed = self._renamed.get(value)
        if renamed is None:
            names = self.names
            renamed = self._renamed[value] = value.replace(names) if names else value
        return renamed

    @cached_property
    def names(self) -> Mapping[Symbol, Dim]:
        """Invented symbols -> the symbols they are shown as: the author's names where these say nothing false, else
        `_d0`, `_d1`, ...
        """
        symbols = invented(self.states)
        if not symbols:
            return {}
        from absint.solution.author_names import author_names

        taken = self.taken
        given = author_names(self.lowered, self.states, taken) if self.policy.sound else {}
        return display_names(symbols, given, taken)

    @cached_property
    def elements(self) -> Mapping[str, InputElement]:
        """The elements of small inputs that some size depends on, by name: `use_cache_branch`, `sizes_0`."""
        found = self.declared_inputs.elements
        if not found:
            return {}
        dims = {dim for state in self.states for value in state for dim in dims_of(value)}
        used: set[str] = set().union(*(dim.free_symbols for dim in dims))
        return {name: element for name, element in found.items() if name in used}

    @property
    def taken(self) -> set[str]:
        """Names that the model has, which no invented symbol may be shown as."""
        variables = (variable.name for variable in self.declared_inputs.variables)
        return set(self.parameters).union(variables, *(dim.free_symbols for dim in self.rounds.adopted))

    def __repr__(self) -> str:
        label = "" if self.policy.sound else f", {self.policy.label}"
        symbols = ", ".join(self.symbols) or "none"
        return f"<{type(self).__name__} of {self.origin}: {len(self.nodes)} nodes, symbols {symbols}{label}>"


def once(question: Callable[[Analysed], T]) -> Callable[[Analysed], T]:
    """The question as one that a result keeps the answer to. An error is not kept."""

    @wraps(question)
    def kept(analysed: Analysed) -> T:
        return analysed.once(question)

    return kept
