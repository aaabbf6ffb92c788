"""What a round left open, and whether facts would settle any of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from absint.lattices.contents import Element, element_symbols
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import choices
from absint.lattices.logic.relation import Comparison, Relation, negation
from absint.lattices.logic.truth import UNKNOWN
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Atom, Expr, Symbol, expr_of
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.normal import sole_atom
from absint.lattices.value import Tensor
from absint.shapes.names import distinct_values
from absint.shapes.summaries import State


class Open(NamedTuple):
    """Open items in the values of a round, each once: sizes and elements over symbols, and truths."""

    numbers: Mapping[Expr, None]
    truths: Mapping[Relation, None]
    """Elements that are relations, such as the condition of an If."""
    elements: Mapping[Element, None]
    """All elements that are no constants."""

    @staticmethod
    def of(states: Iterable[State]) -> Open:
        """The open items of these states."""
        tensors = [value for value in distinct_values(states) if isinstance(value, Tensor)]
        numbers = dict.fromkeys(chain.from_iterable([tensor.shape.open for tensor in tensors]))
        told = dict.fromkeys([tensor.contents for tensor in tensors])
        contents = [c for c in told if c is not None and c.open]
        elements = dict.fromkeys(chain.from_iterable([c.open for c in contents]))
        listed = chain.from_iterable([c.open for c in contents if not c.is_fill])
        numbers.update(dict.fromkeys([e for e in listed if isinstance(e, Expr)]))
        truths = dict.fromkeys(e for e in elements if isinstance(e, Relation) and e.symbols)
        return Open(numbers, truths, elements)

    def conditions(self) -> set[Relation]:
        """The conditions of choices in the values, truths among their elements, and the negations of both."""
        found = set(self.truths)
        for number in self.numbers:
            found.update(choices(number))
        return found | set(map(negation, found))

    def choices(self, facts: Facts) -> tuple[Relation, ...]:
        """The conditions of choices in the sizes, in order of appearance, that a proof may decide under these facts.
        Without any, that an input size is 0 is left out: rounds learn where it is not, proofs hardly ever more.
        """
        found = dict.fromkeys(chain.from_iterable(map(choices, self.numbers)))
        return tuple(condition for condition in found if facts or not _is_of_an_empty_axis(condition))

    def symbols(self) -> set[Symbol]:
        """All symbols that occur."""
        return set().union(*(e.symbols for e in self.numbers), *map(element_symbols, self.elements))

    def gain_from(self, facts: Facts) -> bool:
        """The facts change some value, or another run may settle an open size."""
        if any(symbol.origin_node is not None for symbol in self.symbols()):
            return True
        if facts.remainders:
            return not all(_stays(number, facts) for number in self.numbers)
        # A sum stays if its atoms do, except for congruences.
        seen: set[Atom] = set()
        for number in self.numbers:
            for atom in number.atoms():
                if atom not in seen:
                    seen.add(atom)
                    if not _stays(expr_of(atom), facts):
                        return True
        return False

    def decided_by(self, facts: Facts) -> bool:
        """The facts decide an open condition."""
        return any(facts.decide(truth.substitute(facts.mapping)) is not UNKNOWN for truth in self.truths)


def _is_of_an_empty_axis(condition: Relation) -> bool:
    atom = sole_atom(condition.expr) if isinstance(condition, Comparison) and condition.op == "==" else None
    return isinstance(atom, Symbol) and atom.kind is SymbolKind.INPUT


def _stays(dim: Expr, facts: Facts) -> bool:
    """The facts do no more than narrow the symbols of the dim."""
    after = facts.simplify(dim)
    return after is dim or (isinstance(after, Expr) and facts.restored(after) is facts.restored(dim))
