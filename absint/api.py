"""`analyze` and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from absint.diagnostics import Diagnostic, Severity
from absint.errors import UsageError
from absint.fixpoint import fixpoint
from absint.graph import Node, Operand, Scope
from absint.inputs import read_inputs
from absint.load import Loaded, ModelLike, load
from absint.lower import Lowered, Lowerer
from absint.names import display_names
from absint.shapes import ShapeAnalysis, State, Trace
from lattices.expr import Dim, Symbol, symbol
from lattices.facts import Facts
from lattices.relation import TRUE, Relation, eq
from lattices.shape import Shape
from lattices.tensor import BOTTOM, TOP, Tensor, Value
from lattices.text import TextError, parse_relation
from transfer.table import Table, shipped

if TYPE_CHECKING:
    import networkx as nx
    import onnx

MergePolicy = Literal["skip", "override", "refine", "strict"]
Assumption = str | Relation


def analyze(
    model: ModelLike | Loaded,
    *,
    assume: Sequence[Assumption] = (),
    bind: Mapping[str, int] | None = None,
    table: Table | None = None,
    memoise: bool = True,
    trace: Trace | None = None,
    strict: bool = False,
) -> Result:
    """Run the shape analysis of a model to its fixpoint.

    `model` is a path, bytes, an `onnx.ModelProto` or an `onnx_ir.Model`. `assume` are relations over the input symbols
    that every run is taken to meet (`"seq % 8 == 0"`); `bind` fixes symbols to sizes. `table` replaces the shipped
    transfer rules (`absint.TABLE.extended([...])`). With `strict` a diagnostic of severity error raises.

    Raises ModelError if the model cannot be read, UsageError for an assumption that does not parse or names no symbol.
    """
    loaded = load(model)
    lowered = Lowerer(loaded, table if table is not None else shipped()).run()
    inputs = read_inputs(lowered)
    symbols = tuple(inputs.symbols)
    facts = _facts(assume, bind or {}, symbols, inputs.premises)
    for node, value in inputs.values.items():
        lowered.program.nodes[node].value = simplified(value, facts)
    analysis = ShapeAnalysis(lowered.program, facts, memoise=memoise, trace=trace)
    graph = lowered.program.networkx()
    solution = fixpoint(graph, analysis)
    early = [*lowered.diagnostics, *inputs.diagnostics]
    result = Result(loaded, lowered, analysis, solution.states, graph, symbols, early)
    if strict:
        errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
        if errors:
            raise UsageError(str(errors[0]))
    return result


def _facts(
    assume: Sequence[Assumption], bind: Mapping[str, int], symbols: Sequence[str], premises: Sequence[Relation]
) -> Facts:
    """What the inputs' declarations and the user's assumptions say together."""
    relations = list(premises)
    for item in assume:
        try:
            relation = parse_relation(item) if isinstance(item, str) else item
        except TextError as error:
            raise UsageError(
                f"assumption {item!r} does not parse: {error.reason}, at column {error.column + 1}"
            ) from None
        _known(relation.free_symbols, symbols, f"assumption {item!s}")
        relations.append(relation)
    for name, size in bind.items():
        _known([name], symbols, f"{name}={size}")
        if size < 0:
            raise UsageError(f"{name}={size}: a size cannot be negative")
        relations.append(eq(symbol(name), size))
    facts = Facts(relations)
    if facts.contradiction:
        stated = ", ".join(str(relation) for relation in relations if relation is not TRUE)
        raise UsageError(f"the assumptions contradict each other: {stated}")
    return facts


def _known(names: Sequence[str] | frozenset[str], symbols: Sequence[str], what: str) -> None:
    import difflib

    for name in names:
        if name not in symbols:
            near = difflib.get_close_matches(name, symbols, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the input symbols are: {', '.join(symbols) or 'none'}"
            raise UsageError(f"{what}: no input has a symbol {name!r}; {hint}")


def simplified(value: Value, facts: Facts) -> Value:
    """An input's value under the facts."""
    if not facts or not isinstance(value, Tensor):
        return value
    return Tensor(value.dtype, value.shape.map(facts.simplify), value.contents)


class Shapes(Mapping[str, Shape | None]):
    """Tensor values of one graph body by name; None where the rank is unknown. Computed on access."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __getitem__(self, name: str) -> Shape | None:
        value = self._view[name]
        if isinstance(value, Tensor):
            return None if value.shape.rank is None else value.shape
        if value is TOP or value is BOTTOM:
            return None
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._view.items() if isinstance(value, Tensor) or value in (TOP, BOTTOM))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Shapes({dict(self)!r})"


class View(Mapping[str, Value]):
    """Abstract values of one graph body by name."""

    def __init__(self, result: Result, scope: Scope) -> None:
        self._result = result
        self._scope = scope

    def __getitem__(self, name: str) -> Value:
        return self._result.value_of(self._scope.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names)

    def __len__(self) -> int:
        return len(self._scope.names)

    @property
    def shapes(self) -> Shapes:
        """The tensors among them."""
        return Shapes(self)


class Result:
    """What the analysis found. Indexing gives the abstract value of a name of the main graph."""

    def __init__(
        self,
        loaded: Loaded,
        lowered: Lowered,
        analysis: ShapeAnalysis,
        states: list[State],
        graph: nx.DiGraph[int],
        symbols: tuple[str, ...],
        diagnostics: list[Diagnostic],
    ) -> None:
        self.graph = graph
        """The lowered model: one node per operator instance, input and initialiser."""
        self.symbols = symbols
        """The symbols of the inputs, in order of appearance."""
        self.analysis = analysis
        self.states = states
        self._loaded = loaded
        self._lowered = lowered
        self._early = diagnostics
        self._renamed: dict[Value, Value] = {}
        self._main = View(self, lowered.program.main)

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
        if name not in self._main:
            import difflib

            near = difflib.get_close_matches(name, list(self._main), 3)
            hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
            raise UsageError(f"the main graph has no value {name!r}{hint}")
        return self._main[name]

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
        return display_names(self.nodes, self.states, set(self.symbols))

    @cached_property
    def unruled(self) -> Counter[str]:
        """Operators without a rule, and how many nodes have one."""
        kernels = (node.kernel for node in self.nodes)
        return Counter(k.operator for k in kernels if k is not None and k.rule is None)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Nodes that cannot run, declarations that are false, operators without a rule, and what else is wrong."""
        from absint.verify import declared_diagnostics, node_diagnostics

        return (
            *self._early,
            *node_diagnostics(self),
            *declared_diagnostics(self, self._lowered.declared),
        )

    @property
    def can_run(self) -> bool:
        """No node that an output needs has been shown to fail in every run."""
        return not any(d.severity is Severity.ERROR for d in self.diagnostics)

    def verify(self) -> None:
        """Apply every rule again, without the memo, and check that the stored states are a post-fixpoint.

        Raises AssertionError naming the first node that is not.
        """
        from absint.verify import verify

        verify(self)

    def annotate(self, merge: MergePolicy = "refine", *, outputs: bool = False) -> onnx.ModelProto:
        """A copy of the model with what was inferred written into `value_info`, bodies of subgraphs included.

        `merge` says what happens to existing annotations: `skip` keeps them, `override` replaces them, `refine` takes
        per dim the more exact of the two, `strict` raises UsageError where they contradict each other. With
        `outputs` the types of graph outputs are written too.
        """
        from absint.annotate import annotate

        return annotate(self, merge, outputs=outputs)

    def __repr__(self) -> str:
        return f"<Result of {self.origin}: {len(self.nodes)} nodes, symbols {', '.join(self.symbols) or 'none'}>"
