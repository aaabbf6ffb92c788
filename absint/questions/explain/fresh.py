"""The fresh symbols of a result: what each stands for, where it begins, and its bounds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from absint.lattices.contents import Element, element_symbols
from absint.lattices.logic.formula import Comparison
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, add, const, expr_of, sole_atom, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import maximum, minimum, substitute
from absint.program.nodes import Node
from absint.questions.explain.derived import BY_CALLEE, BY_DATA, Coordinate, count_of, numbers_of, why_open
from absint.solution.analysed import Analysed, once

Cause = Literal["data", "no rule", "schema", "call", "branch", "loop", "declaration", "open"]
"""Why a number has no expression. `data`: the operator decides it by the elements of its inputs. `no rule`, `schema`:
the operator has no rule, or one made from its schema. `call`: a folded call decides it. `branch`, `loop`: an If or a
loop does. `declaration`: an input leaves it open. `open`: the rule knows no more, for the reason that is given.
"""


@dataclass(frozen=True)
class FreshSymbol:
    """A symbol that stands for a number which has no expression over the symbols of the inputs."""

    name: str
    """Its name in this result."""
    cause: Cause
    why: str
    """The cause in words, as `count(mask)`, `data-dependent`, `the operator has no rule`, `after 3 trips`."""
    node: str
    """The name of the node that introduces it."""
    operator: str
    path: str
    """The subgraph or inlined function of the node, as `loop1/body`; empty for the main graph."""
    least: Dim | None
    """A number or an expression that it is never below in a run; None without any."""
    most: Dim | None
    """A number or an expression that it never exceeds in a run; None without any."""

    @property
    def is_count(self) -> bool:
        """It counts the places where something holds, as `why` says."""
        return self.cause == "data" and self.why.startswith("count(")

    @property
    def label(self) -> str:
        """The node, in words of the model."""
        where = f"{self.path}/" if self.path else ""
        return f"{self.operator} {where}{self.node}".rstrip()

    @property
    def bounds(self) -> str:
        """As `0 <= _d0 <= 4*N`; the name alone without bounds."""
        least = "" if self.least is None else f"{self.least} <= "
        most = "" if self.most is None else f" <= {self.most}"
        return f"{least}{self.name}{most}"

    def __str__(self) -> str:
        return f"{self.bounds}: {self.why}, {self.label}"


@once
def fresh_symbols(analysed: Analysed) -> tuple[FreshSymbol, ...]:
    """The fresh symbols of all values, in order of appearance; those that differ in bounds alone are one."""
    return tuple(_Finder(analysed).found())


class _Finder:
    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._births = {str(shown): born.origin_node for born, shown in analysed.names.items()}
        self._numbers: dict[int, Mapping[str, Sequence[tuple[Element, int, Coordinate]]]] = {}
        self._defined: dict[int, Mapping[str, Sequence[Relation]]] = {}

    def found(self) -> Iterator[FreshSymbol]:
        seen: set[str] = set()
        for symbol, shown in self._analysed.names.items():
            name, node = _name_of(shown), symbol.origin_node
            if name in seen or node is None:
                continue
            seen.add(name)
            item = self._analysed.nodes[node]
            yield FreshSymbol(
                name,
                *self._cause(symbol, node, item),
                item.name,
                item.operator,
                str(item.path),
                *(self._bounds(symbol, node) if symbol.is_number else (None, None)),
            )

    def _cause(self, symbol: Symbol, node: int, item: Node) -> tuple[Cause, str]:
        if item.value is not None:
            return "declaration", "the declaration of the input leaves it open"
        if not symbol.is_number:
            operation = item.operation
            missing = operation is not None and not operation.has_rule
            return ("no rule", _NO_RULE) if missing else ("open", _NO_RANK)
        slot = self._slot(symbol, node)
        if item.step is not None:
            does = "" if slot is None else self._does(node, *slot)
            if item.operator == "If":
                return "branch", does or "the branch that is taken"
            return "loop", does or ("the number of trips" if symbol.kind is SymbolKind.FRESH else "carried by the loop")
        last = self._analysed.last
        counted = count_of(last.analysis, node)
        why = BY_DATA if slot is None else why_open(last.analysis, last.states, node, *slot)
        operation = item.operation
        if why == BY_CALLEE:
            return "call", why
        if operation is not None and not operation.has_rule:
            return "no rule", why
        if operation is not None and operation.rule is not None and operation.rule.inferred:
            return "schema", why
        if counted and why.endswith(counted):
            return "data", counted
        return ("data", "data-dependent") if why == BY_DATA else ("open", why)

    def _slot(self, symbol: Symbol, node: int) -> tuple[int, Coordinate] | None:
        """The first number of the node that has the symbol; one that is the symbol before others."""
        numbers = self._numbers.get(node)
        if numbers is None:
            numbers = self._numbers[node] = self._numbers_of(node)
        places = numbers.get(symbol.name, ())
        found = [(number is not expr_of(symbol), (output, place)) for number, output, place in places]
        return min(found, key=lambda entry: entry[0])[1] if found else None

    def _numbers_of(self, node: int) -> Mapping[str, Sequence[tuple[Element, int, Coordinate]]]:
        """The numbers of the node's values, by the names of the symbols that they have."""
        found: dict[str, list[tuple[Element, int, Coordinate]]] = {}
        for output, value in enumerate(self._analysed.states[node]):
            for place, number in numbers_of(value):
                for name in {symbol.name for symbol in element_symbols(number)}:
                    found.setdefault(name, []).append((number, output, place))
        return found

    def _does(self, node: int, output: int, place: Coordinate) -> str:
        from absint.questions.explain.derivation import FlowSources
        from absint.solution.constraints import all_names

        analysed = self._analysed
        flow = FlowSources(analysed.last.analysis, analysed.last.states).of(node, output, place)
        names = all_names(analysed)
        terms = (substitute(term, names) if isinstance(term, Expr) else term for term in flow.terms)
        return flow.does.format(*terms)

    # Bounds

    def _statements(self, symbol: Symbol, node: int) -> list[Relation]:
        """The statements of a symbol by the node that introduces it, over symbols that have names."""
        analysed = self._analysed
        if not analysed.policy.sound:
            return []
        defined = self._defined.get(node)
        if defined is None:
            defined = self._defined[node] = self._defined_by(node)
        names = analysed.names
        about = defined.get(symbol.name, ())
        return [r.substitute(names) for r in about if all(s.origin_node is None or s in names for s in r.symbols)]

    def _defined_by(self, node: int) -> Mapping[str, Sequence[Relation]]:
        """The definitions that the node states, by the names of the symbols."""
        found: dict[str, list[Relation]] = {}
        for statement in self._analysed.last.analysis.statements(node):
            if statement.role == "defined":
                relation = statement.relation.substitute(self._analysed.rounds.originals)
                for name in {symbol.name for symbol in relation.symbols}:
                    found.setdefault(name, []).append(relation)
        return found

    def _bounds(self, symbol: Symbol, node: int) -> tuple[Dim | None, Dim | None]:
        name = str(self._analysed.names[symbol])
        lo, hi = self._range(symbol)
        least: list[Dim] = [] if lo is None or lo <= -_OPEN else [const(lo)]
        most: list[Dim] = [] if hi is None or hi >= _OPEN else [const(hi)]
        stated = self._statements(symbol, node)
        for relation in stated:
            low, high = _solved(relation, name)
            least += [] if low is None else [low]
            most += [] if high is None else [high]
        if self._analysed.nodes[node].operator == "If":
            both = _of_branches(stated, name)
            if len(both) == _BRANCHES:
                least, most = [*least, minimum(*both)], [*most, maximum(*both)]
        given = self._analysed.parameters.keys()
        least, most = self._in_reach(least, node), self._in_reach(most, node)
        return _joined(least, maximum, given), _joined(most, minimum, given)

    def _range(self, symbol: Symbol) -> Interval:
        """The numbers that the symbol may be, as requirements narrowed them."""
        known = self._analysed.last.analysis.facts.mapping.get(symbol)
        return symbol.bounds if known is None else symbol.bounds.meet(known.bounds)

    def _in_reach(self, bounds: Iterable[Dim], node: int) -> list[Dim]:
        """The bounds over symbols that have a value wherever this node runs."""
        nodes = self._analysed.nodes
        gates = {-1, *nodes.around(nodes[node].gate)}
        found = []
        for bound in bounds:
            places = [self._births.get(name) for name in (bound.free_symbols if isinstance(bound, Expr) else ())]
            if all(place is None or nodes[place].gate in gates for place in places):
                found.append(bound)
        return found


def _name_of(shown: Dim) -> str:
    """The name of a symbol in a result; of a list of sizes as it stands in shapes, `*_s0`."""
    atom = sole_atom(shown) if isinstance(shown, Expr) else None
    return atom.name if isinstance(atom, Symbol) and not atom.is_number else str(shown)


def _solved(relation: Relation, name: str) -> tuple[Dim | None, Dim | None]:
    """The bounds that a comparison gives a symbol, where it stands alone."""
    found = _alone(relation.expr, name) if isinstance(relation, Comparison) and relation.op != "!=" else None
    if found is None:
        return None, None
    bound, is_least = found
    is_equal = relation.op == "=="
    return (bound if is_equal or is_least else None), (bound if is_equal or not is_least else None)


def _of_branches(relations: Iterable[Relation], name: str) -> list[Dim]:
    """The terms that a symbol equals, each under a condition of its own."""
    equal = (p.expr for r in relations if r.op == "or" for p in r.parts if isinstance(p, Comparison) and p.op == "==")
    found = (_alone(expr, name) for expr in equal)
    return [term for term, _ in filter(None, found)]


def _alone(expr: Expr, name: str) -> tuple[Dim, bool] | None:
    """The term that a symbol is compared with in `expr >= 0`, and True if the symbol is not below it."""
    alone = [
        (mono[0], factor) for mono, factor in expr.terms if len(mono) == 1 and getattr(mono[0], "name", "") == name
    ]
    if len(alone) != 1 or abs(alone[0][1]) != 1:
        return None
    atom, factor = alone[0]
    rest = sub(expr, expr_of(atom)) if factor == 1 else add(expr, expr_of(atom))
    if not isinstance(rest, Expr) or name in rest.free_symbols:
        return None
    return (sub(const(0), rest), True) if factor == 1 else (rest, False)


def _joined(bounds: Iterable[Dim], extreme: Callable[..., Dim], given: AbstractSet[str]) -> Dim | None:
    """The sharpest of the bounds, or the extreme of a few; those over sizes that the inputs give come first."""
    found = [bound for bound in dict.fromkeys(bounds) if isinstance(bound, Expr)]
    if not found:
        return None
    own = [bound for bound in found if bound.free_symbols <= given] or found
    joined = extreme(*own) if len(own) > 1 else own[0]
    if isinstance(joined, Expr) and joined.size <= _LONGEST:
        return joined
    return min(own, key=lambda bound: bound.size)


_NO_RULE: Final = "the operator has no rule"
_NO_RANK: Final = "sizes whose number is unknown"

_BRANCHES: Final = 2
_OPEN: Final = 1 << 30
"""A number of this size bounds a type, or whatever a run can hold: it is not told."""

_LONGEST: Final = 12
"""Size of the largest bound that several make together."""
