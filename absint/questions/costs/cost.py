"""Costs of a model: multiply-accumulates, FLOPs and bytes moved, per node and in total, and its parameters.

`operators` defines the arithmetic of each operator; a multiply-accumulate (MAC) is two FLOPs. A node moves the bytes of
its inputs, each value once, and of its outputs; Shape and Size read no data. `totals` says how nodes in loops and
branches count. If and Loop themselves cost nothing. What cannot be counted is listed and in no total: operators without
a rule, and nodes whose sizes are not known.

Parameters are initialisers and the outputs of Constant nodes, of any type, each counted once, whether read or not.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple

from absint.analyses.liveness import Regions, bytes_of, elements_of, is_parameter
from absint.lattices.dtype import DType
from absint.lattices.logic.piecewise import product_settled
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol
from absint.lattices.terms.normal import substitute
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.sheets import Line, Part, Sheet, Table, defined, plural, so_many
from absint.lattices.value import Tensor, Value
from absint.program.nodes import Node
from absint.questions.costs.bindings import Environment, shown, shown_names, symbols_of
from absint.questions.costs.operators.instance import Instance, UnsizedError, Work
from absint.questions.costs.operators.rules import RULES
from absint.questions.costs.totals import Amounts, Bill, Totals, amount, first, scaled, short, tried
from absint.questions.sizes.start import default_sizes
from absint.shapes.memo.gc_pause import uncollected
from absint.solution.analysed import Analysed
from absint.transfer.traits import SHAPE_ALONE

Quantity = Literal["macs", "flops", "bytes"]


class NodeCost(NamedTuple):
    """Costs of one run of a node, and the number of its runs. None: not counted."""

    node: int
    label: str
    macs: Dim | None
    flops: Dim | None
    bytes: Dim | None
    parameters: int
    """Elements of the parameters among its inputs."""
    runs: Dim
    """Runs of the node; a branch that data decide is taken each time."""


class Ranked(NamedTuple):
    """A node with the amount of a quantity over all its runs, and its share of that of the model, at some sizes."""

    node: NodeCost
    amount: int
    share: float


class Parameters(NamedTuple):
    """Elements and bytes of one element type; None if the type has no fixed size."""

    dtype: DType
    elements: int
    bytes: int | None


class Cost:
    """Costs of a model."""

    @uncollected
    def __init__(self, analysed: Analysed) -> None:
        analysed.require_sound("a cost")
        self._analysed = analysed
        self._regions = Regions(analysed)
        self.without_rule: Counter[str] = Counter()
        """Operators without a cost rule, and the number of their nodes: their arithmetic is in no total."""
        self._unsized: set[int] = set()
        self._unmoved: set[int] = set()
        self._fed = set(analysed.input_nodes.values())
        self._sizes: dict[Value, Expr | None] = {}
        self._works: dict[object, Work | None] = {}
        self._amounts = {
            number: self._counted(number, node)
            for number, node in enumerate(analysed.nodes)
            if node.operation is not None and self._regions.runs(number)
        }
        self._bill = Bill(self._regions, self._amounts)

    def __repr__(self) -> str:
        macs, flops = excerpt(str(self.macs)), excerpt(str(self.flops))
        return f"<Cost of {excerpt(self._analysed.origin)}: {macs} MACs, {flops} FLOPs>"

    def _repr_html_(self) -> str:
        texts = Names(Naming())
        at = format_sizes(self.default_sizes)
        sizes: list[Part] = [Line(f"numbers at {at}")] if at else []
        parts = [*sizes, *self.tables(texts), self.left_out(), defined(texts)]
        return Sheet(Line(f"cost of {self._analysed.origin}"), parts).html()

    def tables(self, texts: Names, top: int = 10, by: Quantity = "flops") -> list[Table]:
        """What a run costs, with numbers at the default sizes, the parameters, and the nodes that cost most."""
        numbers, why = tried(lambda: self.evaluate(self.default_sizes))
        totals: list[tuple[str, str]] = []
        for name, title in TITLES.items():
            total: Dim = getattr(self, name)
            totals.append((title, amount(total, texts, why)))
            if numbers is not None and not total.is_concrete:
                totals.append(("", scaled(getattr(numbers, name))))
        all_of_them = ("all", _parameters(self.parameter_elements, self.parameter_bytes))
        kinds = [(str(p.dtype), _parameters(p.elements, p.bytes)) for p in self.parameters]
        found = [
            Table("in a run", totals),
            Table("parameters", ([all_of_them, *kinds] if len(kinds) > 1 else kinds) or [("none",)]),
        ]
        if top:
            ranked, why = tried(lambda: self.heaviest(top, by))
            nodes = [("not known", why)] if ranked is None else [_ranked(each, texts, by) for each in ranked]
            found.append(Table(f"heaviest nodes by {TITLES[by]}", nodes or [("none",)]))
        return found

    def left_out(self, memory: Sequence[str] = (), by_data: Sequence[str] = ()) -> Table:
        """What is in no total, or not exactly; values in no sum of the memory, and sizes that data decide."""
        without = [f"{name} ({count:,})" for name, count in self.without_rule.most_common()]
        found = {
            "no cost rule": without,
            "arithmetic": self.unsized,
            "bytes moved": self.unmoved,
            "memory": memory,
            "larger branch": self.undecided,
            "sizes by data": by_data,
        }
        return Table("not counted, or not exactly", [(title, first(names)) for title, names in found.items() if names])

    # Totals

    @property
    def macs(self) -> Dim:
        """Multiply-accumulates of a run; unknown where the total is too large to write (`evaluate` gives it)."""
        return self._total.macs

    @property
    def flops(self) -> Dim:
        """FLOPs of a run: two for each MAC, and all other arithmetic."""
        return self._total.flops

    @property
    def bytes(self) -> Dim:
        """Bytes that nodes read and write in a run."""
        return self._total.bytes

    @cached_property
    def parameters(self) -> tuple[Parameters, ...]:
        """Initialisers and outputs of Constant nodes by element type, the most bytes first."""
        found: dict[DType, Parameters] = {}
        for number, node in enumerate(self._analysed.nodes):
            if is_parameter(node, number in self._fed):
                for value in self._analysed.states[number][:1]:
                    elements, size = elements_of(value), self._bytes(value)
                    if isinstance(value, Tensor) and elements is not None and elements.const is not None:
                        _, count, known = found.get(value.dtype, Parameters(value.dtype, 0, 0))
                        more = None if size is None or known is None else known + int(size)
                        found[value.dtype] = Parameters(value.dtype, count + elements.const, more)
        return tuple(sorted(found.values(), key=lambda p: (-(p.bytes or 0), p.dtype)))

    @property
    def parameter_elements(self) -> int:
        """Elements of all parameters."""
        return sum(p.elements for p in self.parameters)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters of fixed size."""
        return sum(p.bytes or 0 for p in self.parameters)

    def evaluate(self, binding: Mapping[str, int]) -> Totals:
        """The totals at these sizes: exact also where one has no expression.

        Invented symbols that matter (`_d0`) need a size too. Raises UsageError for one that is missing or makes no
        sense.
        """
        return self._bill.evaluate(self._environment(binding))

    # What is not exact

    @property
    def unsized(self) -> tuple[str, ...]:
        """Nodes whose arithmetic is not counted because a size that it depends on is not known."""
        return self._labels(self._unsized)

    @property
    def unmoved(self) -> tuple[str, ...]:
        """Nodes whose bytes are not counted because a value of theirs has no known or fixed size."""
        return self._labels(self._unmoved)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Data-dependent Ifs, of which the larger branch counts."""
        regions = self._regions.by_gate.values()
        return self._labels({r.close for r in regions if r.runs and r.trips is None and r.condition is None})

    # Nodes

    @cached_property
    def nodes(self) -> tuple[NodeCost, ...]:
        """Every operator that some run reaches, in execution order."""
        bodies = [body for body in self._regions.by_gate.values() if body.runs]
        runs = {body.gate: self._bill.over_visits(ONE_EXPR, body) for body in bodies}
        nodes = self._analysed.nodes
        return tuple(self._node(number, amounts, runs[nodes[number].gate]) for number, amounts in self._amounts.items())

    def heaviest(
        self, count: int = 10, by: Quantity = "flops", binding: Mapping[str, int] | None = None
    ) -> list[Ranked]:
        """The nodes with the largest amount of a quantity over all their runs, in descending order; none whose amount
        is 0.

        Sizes that are not given are `default_sizes`. Raises UsageError for one that makes no sense.
        """
        given = {**self.default_sizes, **(binding or {})}
        environment = self._environment(given)
        amounts = ((number, self._rank(environment, number, by)) for number in self._amounts)
        best = sorted((item for item in amounts if item[1] > 0), key=lambda item: (-item[1], item[0]))[:count]
        nodes = {node.node: node for node in self.nodes}
        whole = max(getattr(self.evaluate(given), by), 1) if best else 1
        return [Ranked(nodes[number], amount, amount / whole) for number, amount in best]

    @cached_property
    def default_sizes(self) -> Mapping[str, int]:
        """Sizes for `evaluate`: every symbol at 64, or as near to it as the model allows."""
        symbols = sorted(symbols_of(self._terms()) - self._bill.numbers, key=lambda symbol: symbol.key)
        return default_sizes(self._analysed, symbols, self._names, self._regions.facts, self.evaluate)

    def _rank(self, environment: Environment, number: int, by: Quantity) -> int:
        once = getattr(self._amounts[number], by)
        whole = self._bill.over_visits(once, self._regions.of(number))
        if not isinstance(whole, Expr):
            whole = substitute(once, dict.fromkeys(self._bill.numbers, ZERO_EXPR))
        return environment.value(whole, "the cost of a node")

    def _node(self, number: int, amounts: Amounts, runs: Dim) -> NodeCost:
        node = self._analysed.nodes[number]
        uncounted = number in self._unsized or (node.operation is not None and _key(node) not in RULES)
        macs, flops, moved = (shown(term, self._names) for term in amounts)
        weights = 0
        for producer, index in dict.fromkeys(node.operands):
            if producer >= 0 and is_parameter(self._analysed.nodes[producer], producer in self._fed):
                elements = elements_of(self._analysed.states[producer][index])
                weights += 0 if elements is None or elements.const is None else elements.const
        return NodeCost(
            number,
            str(node),
            None if uncounted else macs,
            None if uncounted else flops,
            None if number in self._unmoved else moved,
            weights,
            shown(runs, self._names),
        )

    def _labels(self, numbers: set[int]) -> tuple[str, ...]:
        return tuple(str(self._analysed.nodes[number]) for number in sorted(numbers))

    # Counting

    def _counted(self, number: int, node: Node) -> Amounts:
        """Costs of one run of an operator; what is not counted is 0 here, and listed."""
        assert node.operation is not None
        work = self._work(number, node)
        if work is None and _key(node) in RULES:
            self._unsized.add(number)
        elif work is None:
            self.without_rule[node.operation.operator] += 1
        work = work or Work()
        return Amounts(product_settled(work.macs), product_settled(work.flops), self._moved(number, node))

    def _work(self, number: int, node: Node) -> Work | None:
        """The arithmetic of an operator; None without a rule or a size."""
        operation, rule, states = node.operation, RULES.get(_key(node)), self._analysed.states
        if operation is None or rule is None:
            return None
        inputs = tuple([states[p][i] if p >= 0 else None for p, i in node.operands])
        key = (operation, inputs, states[number])
        if key not in self._works:
            try:
                work = rule.work(Instance(operation.op_type, operation.attributes, inputs, states[number]))
                known = isinstance(work.macs, Expr) and isinstance(work.flops, Expr)
            except (UnsizedError, IndexError, ValueError):
                known = False
            self._works[key] = work if known else None
        return self._works[key]

    def _moved(self, number: int, node: Node) -> Dim:
        """The bytes of the inputs, each value once, and of the outputs."""
        states = self._analysed.states
        reads = () if not _key(node)[0] and _key(node)[1] in SHAPE_ALONE else dict.fromkeys(node.operands)
        values = [states[p][i] for p, i in reads if p >= 0]
        if not is_parameter(node, False):
            values += [value for value, name in zip(states[number], node.outputs, strict=False) if name]
        total: Dim = ZERO_EXPR
        for value in values:
            size = self._bytes(value)
            if size is None:
                self._unmoved.add(number)
            else:
                total = total + size
        if not isinstance(total, Expr):
            self._unmoved.add(number)
            return ZERO_EXPR
        return total

    def _bytes(self, value: Value) -> Expr | None:
        if value not in self._sizes:
            self._sizes[value] = bytes_of(value)
        return self._sizes[value]

    # Names

    @cached_property
    def _total(self) -> Amounts:
        return Amounts(*(shown(term, self._names) for term in self._bill.total()))

    @cached_property
    def _names(self) -> Mapping[Symbol, Dim]:
        return shown_names(self._analysed, self._terms())

    def _terms(self) -> list[Dim | Relation | None]:
        return [*(term for amounts in set(self._amounts.values()) for term in amounts), *self._regions.terms]

    def _environment(self, binding: Mapping[str, int]) -> Environment:
        return Environment(self._analysed, binding, self._names)


TITLES: Final[Mapping[Quantity, str]] = {"macs": "MACs", "flops": "FLOPs", "bytes": "bytes moved"}


def _parameters(elements: int, size: int | None) -> str:
    return so_many(elements, "element") + ("" if size is None else f", {scaled(size)} {plural('byte', size)}")


def _ranked(ranked: Ranked, texts: Names, by: Quantity) -> tuple[str, str]:
    node, _, share = ranked
    runs = "" if node.runs.bounds.hi == 1 else f" in each of {short(node.runs, texts)} runs"
    return node.label, f"{share:6.1%}  {short(getattr(node, by), texts)}{runs}"


def _key(node: Node) -> tuple[str, str]:
    assert node.operation is not None
    return node.operation.domain, node.operation.op_type
