"""The content of a page about a result, as plain data: what the browser shows, and evaluates at sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from absint.lattices.limits import Limits
from absint.lattices.logic.relation import FALSE, TRUE, Relation, disjunction, negation
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import MAX_DIM, Dim
from absint.lattices.text.escapes import Json, plain
from absint.lattices.value import BOTTOM, AnyTensor, Tensor, Value
from absint.program.steps import Operand
from absint.questions.claims.diagnostics import diagnostics
from absint.questions.costs.bindings import shown
from absint.questions.costs.cost import Cost
from absint.questions.costs.memory import Memory
from absint.questions.sizes.checking import left_open
from absint.questions.sizes.contracts import contract
from absint.show.page.derivations import Derivations
from absint.show.page.groups import Group, Named, folded, scopes_of
from absint.show.page.instructions import Instructions
from absint.show.summary import first_unknown
from absint.solution.constraints import recorded
from absint.solution.described import brief, described
from absint.solution.naming import where
from absint.solver.constraints import Origin, PossibleFailure
from absint.solver.contracts.contract import Clause
from absint.version import VERSION

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

SCHEMA: Final = "absint.report/1"

_CONTRACT: Final = 20.0
"""Seconds for the contract."""


class Content:
    """The data of one analysed. Sizes are numbers of `dims`: a text, and the instruction that gives it."""

    def __init__(self, analysed: Analysed, sizes: Mapping[str, int]) -> None:
        """`sizes` are those that the page begins with, as far as they are given."""
        self.analysed = analysed
        self._given = sizes
        self.instructions = Instructions()
        self._texts = where(analysed)
        self._dims: dict[Dim, int] = {}
        self._dim_rows: list[Json] = []
        self._values: dict[Operand, int] = {}
        self._value_rows: list[dict[str, Json]] = []
        self._first: dict[Dim, tuple[str, int]] = {}

    @cached_property
    def _starts(self) -> Mapping[str, int]:
        """Sizes to begin with."""
        return {**Cost(self.analysed).default_sizes, **self._given}

    def document(self) -> dict[str, Json]:
        """All of it."""
        analysed = self.analysed
        for name in analysed.symbols:
            self.instructions.dim(analysed.parameters[name])
        nodes = [self._node(number) for number in self._numbers()]
        memory = self._memory()
        costs = self._costs()
        for row in nodes:
            row.update(costs.get(row["number"], {}))  # type: ignore[arg-type]
        terms = contract(analysed, Limits(_CONTRACT))
        document: dict[str, Json] = {
            "schema": SCHEMA,
            "absint": VERSION,
            "model": plain(analysed.origin),
            "inputs": self._of_names(analysed.inputs),
            "outputs": self._of_names(analysed.outputs),
            "sizes": [self._size(name) for name in analysed.parameters],
            "nodes": nodes,  # type: ignore[dict-item]
            "groups": _tree(folded(list(self._named(nodes)), "model")),
            "requirements": [
                {
                    "node": c.origin.node,
                    "where": plain(str(c.origin)),
                    "text": self._relation(c.formula),
                    "reason": c.reason,
                    "holds": self._over_inputs(c.formula),
                }
                for c in recorded(analysed).base
                if c.role == "required"
            ],
            "contract": {
                "possible": terms.possible,
                "reason": terms.reason,
                "clauses": [
                    {"text": self._relation(clause.relation), "holds": self._over_inputs(clause.relation)}
                    | {"nodes": _origins(clause), "reasons": _reasons(clause)}
                    for clause in terms.clauses
                ],
                "premises": [self._relation(c.formula) for c in terms.premises],
                "beyond": [f"{self._relation(c.formula)}: {plain(str(c.origin))}" for c in terms.beyond],
                "doubts": [plain(str(d)) for d in terms.possible_failures],
                "open": self._unstated(),
            },
            "diagnostics": [
                {"severity": d.severity.value, "code": d.code, "where": plain(d.where), "message": plain(d.message)}
                for d in diagnostics(analysed)
            ],
            "memory": memory,
            "unknown": self._unknown(),
        }
        derivations = Derivations(analysed, self._values, frozenset(self._numbers()))
        outputs, left_out = derivations.of_outputs()
        sizes, sizes_left_out = derivations.of_sizes(self._first, self._dims)
        document |= {"explained": sizes, "explained_outputs": outputs, "not_explained": left_out + sizes_left_out}
        document["values"] = list(self._value_rows)
        document |= {
            "dims": self._dim_rows,
            "definitions": {plain(name): plain(text) for name, text in self._texts.definitions.items()},
        }
        document["program"] = {"symbols": list(self.instructions.symbols), "table": list(self.instructions.table)}
        return document

    # Sizes and values

    def _of_names(self, names: Iterable[str]) -> list[Json]:
        operands = self.analysed.operands
        return [self._value(operands[name], name) for name in names if name in operands]

    def _dim(self, dim: Dim) -> int:
        if dim not in self._dims:
            self._dims[dim] = len(self._dim_rows)
            self._dim_rows.append([plain(self._texts.dim(dim)), self.instructions.dim(dim)])
        return self._dims[dim]

    def _relation(self, relation: Relation) -> str:
        return plain(self._texts.relation(relation))

    def _amount(self, dim: Dim | None) -> Json:
        """The instruction of an amount, null if it is not known."""
        return None if dim is None else self.instructions.dim(dim)

    def _over_inputs(self, relation: Relation) -> Json:
        """The instruction of a relation over sizes of the inputs, null for others."""
        if not relation.free_symbols <= self.analysed.parameters.keys():
            return None
        return self.instructions.relation(relation)

    def _value(self, operand: Operand, name: str) -> int:
        if operand not in self._values:
            value = self.analysed.value_of(operand)
            self._values[operand] = len(self._value_rows)
            self._value_rows.append({"name": plain(name), "by": operand[0], **self._described(name, value)})
        return self._values[operand]

    def _open(self, shape: Shape) -> dict[str, Json]:
        """The dims of an unknown rank that has a name, and the name at its place; the shapes of which sizes choose."""
        if shape.cases:
            return {"cases": [[self.instructions.relation(c), [self._dim(d) for d in s.dims]] for c, s in shape.cases]}
        return {} if shape.variable is None else {"open": list(shape.listed(self._dim, plain))}

    def _described(self, name: str, value: Value) -> dict[str, Json]:
        if not isinstance(value, AnyTensor):
            return {"type": "never computed" if value is BOTTOM else plain(described(value, self._texts)), "dims": None}
        if value.shape.rank is None:
            words = f" {brief(value.shape, self._texts)}" if value.shape.cases else ""
            return {"type": plain(f"{value.dtype}{words}"), "dims": None, **self._open(value.shape)}
        if name in self.analysed.operands:
            for axis, dim in enumerate(value.shape.dims):
                if not dim.is_concrete:
                    self._first.setdefault(dim, (name, axis))
        found: dict[str, Json] = {"type": str(value.dtype), "dims": [self._dim(dim) for dim in value.shape.dims]}
        if isinstance(value, Tensor) and value.contents is not None and value.contents.shape is not None:
            elements = value.contents.elements
            if 0 < len(elements) <= _MOST_ELEMENTS:
                found["elements"] = [plain(self._texts.element(element)) for element in elements]
        return found

    def _size(self, name: str) -> dict[str, Json]:
        """A symbol of the inputs with its bounds, and a size to begin with."""
        symbol = next(iter(self.analysed.parameters[name].symbols))
        lo, hi = symbol.bounds
        start = self._starts.get(name)
        return {
            "name": name,
            "text": plain(name),
            "lo": lo or 0,
            "hi": hi if hi is not None else MAX_DIM,
            "start": start,
        }

    def _unstated(self) -> list[Json]:
        """The conditions under which nodes may refuse sizes that meet all that the page evaluates; null for others."""
        names = self.analysed.parameters.keys()
        found: dict[tuple[Origin, Relation], Json] = {}
        for item in left_open(self.analysed):
            if isinstance(item, PossibleFailure):
                found[item.origin, item.guard] = None if item.guard is TRUE else self._over_inputs(item.guard)
            elif not item.formula.free_symbols <= names:
                parts = item.formula.parts if item.formula.op == "or" else ()
                met = disjunction(*(part for part in parts if part.free_symbols <= names))
                found[item.origin, item.formula] = None if met is FALSE else self._over_inputs(negation(met))
        return list(found.values())

    # Nodes

    def _numbers(self) -> Iterable[int]:
        """The nodes that a run executes, without constants."""
        for number, node in enumerate(self.analysed.nodes):
            if node.value is None and node.operator != "Constant" and (node.operation or node.step) is not None:
                yield number

    def _node(self, number: int) -> dict[str, Json]:
        node = self.analysed.nodes[number]
        names = self.analysed.program.names
        inputs: list[Json] = [
            self._value(operand, names.get(operand, ""))
            for operand in node.operands
            if operand[0] >= 0 and operand in names
        ]
        outputs: list[Json] = [self._value((number, at), name) for at, name in enumerate(node.outputs) if name]
        row: dict[str, Json] = {
            "number": number,
            "name": plain(node.name),
            "operator": plain(node.operator),
            "path": plain(str(node.path)),
            "in": inputs,
            "out": outputs,
        }
        return row

    def _named(self, rows: Iterable[dict[str, Json]]) -> Iterator[Named]:
        """The nodes with their scopes; those that compute the same in every run have one of their own."""
        fed = self._fed()
        for row in rows:
            number, path, name = row["number"], str(row["path"]), str(row["name"])
            assert isinstance(number, int)
            scopes = scopes_of(path, name) if number in fed else ("constants",)
            yield Named(number, str(row["operator"]), scopes)

    def _fed(self) -> set[int]:
        """The nodes that an input reaches, and all nodes of bodies."""
        fed = set(self.analysed.input_nodes.values())
        for number, node in enumerate(self.analysed.nodes):
            if node.gate >= 0 or node.step is not None or any(operand[0] in fed for operand in node.operands):
                fed.add(number)
        return fed

    def _costs(self) -> dict[int, dict[str, Json]]:
        cost = Cost(self.analysed)
        return {
            node.node: {
                "flops": self._amount(node.flops),
                "bytes": self._amount(node.bytes),
                "parameters": node.parameters,
                "runs": self._amount(node.runs),
            }
            for node in cost.nodes
        }

    def _memory(self) -> dict[str, Json]:
        """Values that take memory, each with its bytes and the nodes between which it lives."""
        memory = Memory(self.analysed)
        rows: list[Json] = [
            [plain(value.name), value.first, value.last, self._amount(shown(value.size, memory.names))]
            for value in memory.lifetimes
            if value.size is not None
        ]
        return {
            "values": rows,
            "exact": not memory.varies,
            "peak": self._amount(memory.peak),
            "uncounted": list(memory.uncounted),
        }

    def _unknown(self) -> list[Json]:
        """Sizes that only a run tells, with the value and the node that first have them."""
        operands = self.analysed.operands
        return [
            {
                "size": plain(name),
                "name": plain(row.place),
                "operator": plain(row.operator),
                "value": None if row.path else self._values.get(operands[row.name]),
            }
            for name, row in first_unknown(self.analysed).items()
        ]


def _origins(clause: Clause) -> list[Json]:
    return [c.origin.node for c in clause.because]


def _reasons(clause: Clause) -> list[Json]:
    return [[plain(str(c.origin)), c.reason] for c in clause.because]


def _tree(group: Group) -> dict[str, Json]:
    members: list[Json] = [member if isinstance(member, int) else _tree(member) for member in group.members]
    return {"label": plain(group.label), "alike": group.alike, "members": members}


_MOST_ELEMENTS: Final = 16
