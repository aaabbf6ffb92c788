"""The constants that hold an old size, and the requirements that no constant explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from absint.jobs.dynamizing.choosing import Settled
from absint.jobs.dynamizing.coinciding import coincident, silent
from absint.jobs.dynamizing.finding import Found
from absint.jobs.dynamizing.judging import Judging
from absint.jobs.dynamizing.resizing import Resizing
from absint.jobs.dynamizing.rewriting import Place, Rewriter
from absint.lattices.logic.relation import eq
from absint.lattices.terms.expr import Expr, symbol
from absint.lattices.text.escapes import plain
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract


@dataclass(frozen=True)
class Baked:
    """A number or a size of a constant that is an old size of an input."""

    node: str
    """The node that uses the constant."""
    operator: str
    constant: str
    """The value that the node reads."""
    operand: str
    """The input of the node, by its formal name."""
    place: str
    """`target[0]`, or an axis of a constant's shape, as `shape(table)[1]`."""
    old: str
    new: str
    """The expression that it should be; several with `or` if nothing decides."""
    written: str = ""
    """The way in which it was rewritten; empty if it was not."""
    problem: str = ""
    """The reason why it cannot be rewritten."""
    is_open: bool = False
    """It may mean several sizes, and nothing decides which."""

    def __str__(self) -> str:
        end = f"; {self.problem}" if self.problem else ""
        return f"{self.place} of {self.node}: {self.old}, should be {self.new}{end}"


class Cause(NamedTuple):
    """A requirement that the search could not lead back to a constant."""

    relation: str
    node: str
    """The node that imposes it."""
    at: str
    """The node at which the search ended."""
    reason: str

    def __str__(self) -> str:
        where = "" if self.at == self.node else f" (at {self.at})"
        return f"{self.relation} of {self.node}: {self.reason}{where}"


def causes(found: Found) -> Iterator[Cause]:
    """The requirements that are left, one for each reason."""
    seen: set[tuple[int, str]] = set()
    for constraint, fixed in found.left:
        if fixed is not None and tuple(fixed) not in seen:
            seen.add((fixed.node, fixed.reason))
            node = plain(str(constraint.origin))
            at = plain(str(found.setting.analysed.nodes[fixed.node])) if fixed.node >= 0 else node
            yield Cause(str(constraint.formula), node, at, fixed.reason)


def baked(settled: Settled, rewriter: Rewriter, legal: Contract, judge: Judging) -> Iterator[Baked]:
    """The constants that hold an old size, with what the rewriter makes of them. `legal` is the contract of its copy: a
    number that may be a size, of which the old one alone is legal, is this size and a number of its own.
    """
    found = settled.found
    analysed, resizing = found.setting.analysed, found.setting.resizing
    required = {clause.relation for clause in legal.clauses}
    held = {name for name, size in resizing.sizes.items() if eq(symbol(name), size) in required}
    places: dict[Place, None] = {(node, target.operand): None for node, target in found.targets.items()}
    places.update(dict.fromkeys(found.decided))
    for place in sorted(places):
        problem = rewriter.problems.get(place, "")
        how = rewriter.how.get(place, "")
        for where, old, new in _entries(found, place):
            yield _item(analysed, place, where, old, new, how, problem)
    yield from _undecided(settled)
    for item in (*silent(found), *coincident(found, judge)):
        if item.sizes & resizing.sizes.keys() <= held:
            continue
        place = item.node, item.operand
        told = _item(analysed, place, (item.place, item.is_size), str(item.old), item.new, "", item.problem)
        yield replace(told, is_open=True)


def _entries(found: Found, place: Place) -> Iterator[tuple[tuple[int, bool], str, str]]:
    """The places in a constant, each with its old and its new value."""
    node, operand = place
    resizing = found.setting.resizing
    numbers: dict[int, Expr] = {}
    target = found.targets.get(node)
    if target is not None and operand == target.operand:
        numbers.update(target.meant)
    decision = found.decided.get(place)
    if decision is not None:
        numbers.update(decision.elements)
    for at, number in sorted(numbers.items()):
        yield (at, False), _old(number, resizing), str(number)
    for at, size in sorted(decision.dims.items()) if decision is not None else ():
        yield (at, True), _old(size, resizing), str(size)


def _old(new: Expr, resizing: Resizing) -> str:
    """The old value, as the product that it stands for: `12 = 4*3`."""
    was = str(resizing.old(new))
    coefficient = new.terms[0][1] if len(new.terms) == 1 else 1
    if coefficient > 1 and len(new.terms[0][0]) == 1:
        size = int(was) // coefficient if was.isdigit() else None
        if size is not None and size * coefficient == int(was):
            return f"{was} = {size}*{coefficient}"
    return was


def _item(
    analysed: Analysed, place: Place, where: tuple[int, bool], old: str, new: str, how: str, problem: str
) -> Baked:
    node, operand = place
    item = analysed.nodes[node]
    rule = item.operation.rule if item.operation is not None else None
    formals = rule.inputs if rule is not None else ()
    formal = formals[min(operand, len(formals) - 1)] if formals else f"input {operand}"
    formal = {("Reshape", 1): "target", ("Loop", 0): "trips"}.get((item.operator, operand), formal)
    at, is_size = where
    constant = analysed.program.names.get(item.operands[operand], "")
    text = f"shape({formal})[{at}]" if is_size else f"{formal}[{at}]"
    return Baked(plain(str(item)), item.operator, plain(constant), formal, text, old, new, how, problem)


def _undecided(settled: Settled) -> Iterator[Baked]:
    analysed = settled.found.setting.analysed
    for key, readings in settled.open.items():
        for node in settled.found.run.left_open.get(key, ()):
            changed = sorted({at for reading in readings for at in reading})
            texts = []
            for reading in readings:
                parts = [f"target[{at}] = {reading[at]}" for at in changed if at in reading]
                texts.append(" and ".join(parts) or "none of it")
            item = analysed.nodes[node]
            constant = analysed.program.names.get(item.operands[1], "")
            yield Baked(
                plain(str(item)), item.operator, plain(constant), "target", "target", "",
                " or ".join(texts) or "one of many sizes",
                problem="not determined: nothing in the model tells which", is_open=True,
            )  # fmt: skip
