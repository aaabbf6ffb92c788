"""The content of a page about a result, as plain data: what the browser shows, and evaluates at sizes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.limits import Limits
from absint.lattices.logic.relation import FALSE, TRUE, Relation, conjunction, disjunction, negation
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import MAX_DIM, Dim
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import Json, plain
from absint.lattices.text.forms import ANYTHING, TEXT, Key, Kind, Object, by_name, keys_of, kind_of, many, maybe, one_of
from absint.lattices.value import BOTTOM, AnyTensor, Tensor, Value
from absint.program.steps import Operand
from absint.questions.claims.judging import diagnostics
from absint.questions.costs.bindings import shown
from absint.questions.costs.cost import Cost
from absint.questions.costs.memory import Memory
from absint.questions.proofs.clauses import Row, rows as clause_rows, written
from absint.questions.rows import OutputRows, RowPath, row_path
from absint.questions.sizes.checking import left_open
from absint.questions.sizes.contracts import contract
from absint.show.page.derivations import Derivations
from absint.show.page.groups import DEEPEST, Construct, Group, Named, Scopes, attributes, elements, folded
from absint.show.page.instructions import Instructions
from absint.show.summary import first_unknown
from absint.solution.analysed import Analysed
from absint.solution.constraints import recorded
from absint.solution.described import brief, described
from absint.solution.naming import names_of
from absint.solver.constraints import Constraint, Origin, PossibleFailure

_CONTRACT: Final = 20.0
"""Seconds for the contract."""


class _Size(NamedTuple):
    name: str
    text: str
    lo: int
    hi: int
    start: int | None


class _Cost(NamedTuple):
    flops: int | None
    bytes: int | None
    parameters: int
    runs: int | None


class _Node(NamedTuple):
    number: int
    name: str
    operator: str
    path: str
    inputs: list[int]
    outputs: list[int]
    attributes: Mapping[str, str]
    cost: _Cost | None = None


class _Memory(NamedTuple):
    values: list[Json]
    exact: bool
    peak: int | None
    uncounted: Sequence[str]


class _Unknown(NamedTuple):
    size: str
    name: str
    operator: str
    value: int | None


class _Explained(NamedTuple):
    sizes: Json
    outputs: Json
    left_out: int


class Content:
    """The data of one analysed. Sizes are numbers of `dims`: a text, and the instruction that gives it."""

    def __init__(self, analysed: Analysed, sizes: Mapping[str, int]) -> None:
        """`sizes` are those that the page begins with, as far as they are given."""
        self.analysed = analysed
        self._given = sizes
        self.instructions = Instructions()
        self.texts = names_of(analysed)
        self._dims: dict[Dim, int] = {}
        self.dim_rows: list[Json] = []
        self._values: dict[Operand, int] = {}
        self.value_rows: list[dict[str, Json]] = []
        self._first: dict[Dim, tuple[str, int]] = {}
        # Numbers begin with the symbols, and follow the nodes.
        for name in analysed.symbols:
            self.instructions.dim(analysed.parameters[name])
        rows = [self._node(number) for number in self._numbers()]
        self.memory, costs = self._memory(), self._costs()
        self.nodes = [row._replace(cost=costs.get(row.number)) for row in rows]
        self.terms = contract(analysed, Limits(_CONTRACT))

    @cached_property
    def _cost(self) -> Cost:
        return Cost(self.analysed)

    @cached_property
    def _starts(self) -> Mapping[str, int]:
        """Sizes to begin with."""
        return {**self._cost.default_sizes, **self._given}

    @property
    def flops(self) -> int | None:
        """The instruction of the arithmetic of a run, null where it has no expression."""
        return self._amount(self._cost.flops)

    def document(self) -> dict[str, Json]:
        """All of it."""
        return REPORT.record(self, self.texts, Head(plain(re.split(r"[/\\]", self.analysed.origin)[-1])))

    @cached_property
    def explained(self) -> _Explained:
        derivations = Derivations(self.analysed, self._values, frozenset(self._numbers()))
        outputs, left_out = derivations.of_outputs()
        sizes, sizes_left_out = derivations.of_sizes(self._first, self._dims)
        return _Explained(sizes, outputs, left_out + sizes_left_out)

    @property
    def definitions(self) -> dict[str, str]:
        return {plain(name): plain(text) for name, text in self.texts.definitions.items()}

    @property
    def program(self) -> dict[str, Json]:
        return {"symbols": list(self.instructions.symbols), "table": list(self.instructions.table)}

    # Sizes and values

    def of_names(self, names: Iterable[str]) -> list[int]:
        operands = self.analysed.operands
        return [self._value(operands[name], name) for name in names if name in operands]

    def _dim(self, dim: Dim) -> int:
        if dim not in self._dims:
            self._dims[dim] = len(self.dim_rows)
            self.dim_rows.append([plain(self.texts.dim(dim)), self.instructions.dim(dim)])
        return self._dims[dim]

    def _amount(self, dim: Dim | None) -> int | None:
        """The instruction of an amount, null if it is not known."""
        return None if dim is None else self.instructions.dim(dim)

    def over_inputs(self, relation: Relation) -> int | None:
        """The instruction of a relation over sizes of the inputs, null for others."""
        if not relation.free_symbols <= self.analysed.parameters.keys():
            return None
        return self.instructions.relation(relation)

    def _value(self, operand: Operand, name: str) -> int:
        if operand not in self._values:
            value = self.analysed.value_of(operand)
            self._values[operand] = len(self.value_rows)
            self.value_rows.append({"name": plain(name), "by": operand[0], **self._described(name, value)})
        return self._values[operand]

    def _open(self, shape: Shape) -> dict[str, Json]:
        """The dims of an unknown rank that has a name, and the name at its place; the shapes of which sizes choose."""
        if shape.cases:
            return {"cases": [[self.instructions.relation(c), [self._dim(d) for d in s.dims]] for c, s in shape.cases]}
        return {} if shape.variable is None else {"open": list(shape.listed(self._dim, plain))}

    def _described(self, name: str, value: Value) -> dict[str, Json]:
        if not isinstance(value, AnyTensor):
            return {"type": "never computed" if value is BOTTOM else plain(described(value, self.texts)), "dims": None}
        if value.shape.rank is None:
            words = f" {brief(value.shape, self.texts)}" if value.shape.cases else ""
            return {"type": plain(f"{value.dtype}{words}"), "dims": None, **self._open(value.shape)}
        if name in self.analysed.operands:
            for axis, dim in enumerate(value.shape.dims):
                if not dim.is_concrete:
                    self._first.setdefault(dim, (name, axis))
        found: dict[str, Json] = {"type": str(value.dtype), "dims": [self._dim(dim) for dim in value.shape.dims]}
        if isinstance(value, Tensor) and (shown := elements(value, self.texts.element)):
            found["elements"] = list(map(plain, shown))
        return found

    def size(self, name: str) -> _Size:
        """A symbol of the inputs with its bounds, and a size to begin with."""
        symbol = next(iter(self.analysed.parameters[name].symbols))
        lo, hi = symbol.bounds
        return _Size(name, plain(name), lo or 0, hi if hi is not None else MAX_DIM, self._starts.get(name))

    def unstated(self) -> list[int | None]:
        """The conditions under which nodes may refuse sizes that meet all that the page evaluates; null for others."""
        names = self.analysed.parameters.keys()
        found: dict[tuple[Origin, Relation], int | None] = {}
        for item in left_open(self.analysed):
            if isinstance(item, PossibleFailure):
                found[item.origin, item.guard] = None if item.guard is TRUE else self.over_inputs(item.guard)
            elif not item.formula.free_symbols <= names:
                parts = item.formula.parts if item.formula.op == "or" else ()
                met = disjunction(*(part for part in parts if part.free_symbols <= names))
                found[item.origin, item.formula] = None if met is FALSE else self.over_inputs(negation(met))
        return list(found.values())

    def clauses(self) -> Iterator[tuple[Row, str, int | None]]:
        for row in clause_rows(self.terms):
            relation = conjunction(*(clause.relation for clause in row.clauses))
            yield row, written(self.terms, row, self.texts), self.over_inputs(relation)

    def required(self) -> list[tuple[Constraint, int | None]]:
        base = recorded(self.analysed).base
        return [(c, self.over_inputs(c.formula)) for c in base if c.role == "required"]

    # Nodes

    def _numbers(self) -> Iterable[int]:
        """The nodes that a run executes, without constants."""
        for number, node in enumerate(self.analysed.nodes):
            if node.value is None and node.operator != "Constant" and (node.operation or node.step) is not None:
                yield number

    def _node(self, number: int) -> _Node:
        node = self.analysed.nodes[number]
        names = self.analysed.program.names
        inputs = [
            self._value(operand, names.get(operand, ""))
            for operand in node.operands
            if operand[0] >= 0 and operand in names
        ]
        outputs = [self._value((number, at), name) for at, name in enumerate(node.outputs) if name]
        said = attributes(node, self.texts.element)
        return _Node(number, plain(node.name), plain(node.operator), plain(str(node.path)), inputs, outputs, said)

    def named(self, rows: Iterable[_Node]) -> Iterator[Named]:
        """The nodes with their scopes; those that compute the same in every run have one of their own."""
        fed = self._fed()
        nodes = self.analysed.nodes
        scopes = Scopes(nodes)
        for row in rows:
            found = scopes.of(row.number, nodes[row.number])[:DEEPEST] if row.number in fed else ("constants",)
            yield Named(row.number, row.operator, found)

    def _fed(self) -> set[int]:
        """The nodes that an input reaches, and all nodes of bodies."""
        fed = set(self.analysed.input_nodes.values())
        for number, node in enumerate(self.analysed.nodes):
            if node.gate >= 0 or node.step is not None or any(operand[0] in fed for operand in node.operands):
                fed.add(number)
        return fed

    def _costs(self) -> dict[int, _Cost]:
        amount = self._amount
        return {
            node.node: _Cost(amount(node.flops), amount(node.bytes), node.parameters, amount(node.runs))
            for node in self._cost.nodes
        }

    def _memory(self) -> _Memory:
        """Values that take memory, each with its bytes and the nodes between which it lives."""
        memory = Memory(self.analysed)
        rows: list[Json] = [
            [plain(value.name), value.first, value.last, self._amount(shown(value.size, memory.names))]
            for value in memory.lifetimes
            if value.size is not None
        ]
        return _Memory(rows, not memory.varies, self._amount(memory.peak), memory.uncounted)

    def unknown(self) -> Iterator[_Unknown]:
        """Sizes that only a run tells, with the value and the node that first have them."""
        operands = self.analysed.operands
        for name, row in first_unknown(self.analysed).items():
            value = None if row.path else self._values.get(operands[row.name])
            yield _Unknown(plain(name), plain(row.place), plain(row.operator), value)


def _tree(group: Group) -> dict[str, Json]:
    members: list[Json] = [member if isinstance(member, int) else _tree(member) for member in group.members]
    inside = {"inside": True} if isinstance(group.label, Construct) else {}
    return {"label": plain(group.label), "alike": group.alike, "members": members, **inside}


_PLAIN: Final = Kind[object](TEXT.schema, lambda value, names: plain(str(value)))
_RELATION: Final = Kind[Relation](TEXT.schema, lambda relation, names: plain(names.relation(relation)))
_BEYOND: Final = Kind[Constraint](TEXT.schema, lambda c, names: plain(f"{names.relation(c.formula)}: {c.origin}"))
_VALUES: Final = many(int)
_ROWS: Final = Object[RowPath](
    Key("symbol", TEXT),
    Key(
        "outputs",
        many(
            Object[OutputRows](
                Key("name", TEXT),
                Key("verdict", str),
                Key("where", TEXT, "the axis of the rows"),
                Key("meeting", maybe(int), "the node where rows meet", lambda o: o.meeting and o.meeting.number),
                Key("why", _PLAIN, "what happens there", lambda o: o.meeting or ""),
            )
        ),
    ),
    Key(
        "nodes",
        ANYTHING,
        "numbers of nodes, and what they hold",
        lambda path: {str(n): k for n, k in path.nodes.items()},
    ),
)
_HOLDS: Final = Key[tuple[object, int | None]](
    "holds", maybe(int), "the instruction, over sizes of the inputs", itemgetter(1)
)
_REQUIREMENT: Final = Object[tuple[Constraint, int | None]](
    Key("node", int, of=lambda pair: pair[0].origin.node),
    Key("where", _PLAIN, of=lambda pair: pair[0].origin),
    Key("text", _RELATION, of=lambda pair: pair[0].formula),
    Key("reason", str, of=lambda pair: pair[0].reason),
    _HOLDS,
)
_CLAUSE: Final = Object[tuple[Row, str, int | None]](
    Key("text", _PLAIN, "as `absint contract` writes it", itemgetter(1)),
    Key("exactly", _RELATION, of=lambda row: conjunction(*(clause.relation for clause in row[0].clauses))),
    Key("holds", maybe(int), "the instruction, over sizes of the inputs", itemgetter(2)),
    Key("nodes", _VALUES, of=lambda row: [c.origin.node for c in row[0].because]),
    Key("reasons", many(many(_PLAIN)), of=lambda row: [(c.origin, c.reason) for c in row[0].because]),
)
_TERMS: Final = Object[Content](
    Key("possible", maybe(bool), of=lambda content: content.terms.possible),
    Key("reason", str, of=lambda content: content.terms.reason),
    Key("clauses", many(_CLAUSE), of=lambda content: content.clauses()),
    Key("premises", many(_RELATION), of=lambda content: [c.formula for c in content.terms.premises]),
    Key("beyond", many(_BEYOND), of=lambda content: content.terms.beyond),
    Key("doubts", many(_PLAIN), of=lambda content: content.terms.possible_failures),
    Key("open", many(maybe(int)), of=lambda content: content.unstated()),
)
_DIAGNOSTIC: Final = Object[Diagnostic](
    Key("severity", one_of(Severity)), Key("code", str), Key("where", _PLAIN), Key("message", _PLAIN)
)
_NODE: Final = Object[_Node](
    *keys_of(_Node)[:4],
    Key("in", _VALUES, of=lambda node: node.inputs),
    Key("out", _VALUES, of=lambda node: node.outputs),
    Object(Key[_Node]("attributes", by_name(str))).spread(lambda node: node, lambda node: bool(node.attributes)),
    Object(*keys_of(_Cost)).spread(attrgetter("cost"), lambda node: node.cost is not None),
)
_LIVES: Final = Key[_Memory]("values", many(ANYTHING), "name, first and last node, and the number of its bytes")
REPORT: Final = Document[Content](
    "report",
    1,
    "what the page about a result shows (absint report); sizes and truths are numbers of instructions",
    Key("inputs", _VALUES, "numbers in `values`", lambda content: content.of_names(content.analysed.inputs)),
    Key("outputs", _VALUES, of=lambda content: content.of_names(content.analysed.outputs)),
    Key("sizes", many(kind_of(_Size)), of=lambda content: map(content.size, content.analysed.parameters)),
    Key("nodes", many(_NODE)),
    Key("groups", ANYTHING, of=lambda content: _tree(folded(list(content.named(content.nodes)), "model"))),
    Key("requirements", many(_REQUIREMENT), of=lambda content: content.required()),
    Key("contract", _TERMS, of=lambda content: content),
    Key("diagnostics", many(_DIAGNOSTIC), of=lambda content: diagnostics(content.analysed)),
    Key("rows", maybe(_ROWS), "the way of the rows of a batch", lambda content: row_path(content.analysed)),
    Key("flops", maybe(int), "the number of the arithmetic of a run"),
    Key("memory", Object[_Memory](_LIVES, Key("exact", bool), Key("peak", maybe(int)), Key("uncounted", many(str)))),
    Key("unknown", many(kind_of(_Unknown)), of=lambda content: content.unknown()),
    Key("explained", ANYTHING, of=lambda content: content.explained.sizes),
    Key("explained_outputs", ANYTHING, of=lambda content: content.explained.outputs),
    Key("not_explained", int, of=lambda content: content.explained.left_out),
    Key("values", many(ANYTHING), of=lambda content: content.value_rows),
    Key("dims", many(ANYTHING), "a text, and the instruction that gives it", lambda content: content.dim_rows),
    Key("definitions", by_name(str)),
    Key("program", ANYTHING),
    head=("model",),
    defines=False,
)
