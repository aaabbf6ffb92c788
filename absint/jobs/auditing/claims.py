"""What a source claims of the values that the analysis knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from absint.jobs.auditing.bodies import bodies
from absint.lattices.value import BOTTOM
from absint.program.steps import Operand
from absint.questions.claims.claims import Claim, ClaimedShape, Place
from absint.questions.claims.reading import Reader, held

if TYPE_CHECKING:
    from absint.jobs.auditing.audit import Claims
    from absint.result import Result


class Reading(NamedTuple):
    """Everything that a source says."""

    claims: list[Claim]
    dims: int
    """Of the values that nodes of the main graph compute: not every source speaks of bodies."""
    resolved: frozenset[Place]
    """Of these dims, those that the source gives a size, or a text without names of its own invention."""


def read_claims(result: Result, claims: Claims) -> Reading:
    """The claims that a source makes of the values that the analysis knows."""
    operands, main, reader = operands_of(result), result.operands, Reader(result)
    gates = {graph.path: graph.gate for graph in result.lowered.declaring}
    shapes: list[ClaimedShape] = []
    dims = 0
    resolved: set[Place] = set()
    for name, shape in claims.shapes.items():
        if shape is None or name not in operands:
            continue
        (node, at), path = operands[name]
        computed = result.nodes[node].value is None
        if computed and name in main:
            dims += len(shape)
            said = enumerate(map(reader.expression, shape))
            own = (axis for axis, dim in said if dim is not None and dim.free_symbols.isdisjoint(claims.anonymous))
            resolved.update(Place(name, axis) for axis in own)
        state = result.states[node]
        known, rank = held(state[at] if at < len(state) else BOTTOM, len(shape))
        shapes.append(ClaimedShape(name, path, gates.get(path), computed, shape, known, rank))
    return Reading(reader.read(shapes, proved=True), dims, frozenset(resolved))


def operands_of(result: Result) -> dict[str, tuple[Operand, str]]:
    """The values that claims are about, with the paths of their graphs, by the names that sources use."""
    scopes = result.scopes
    found: dict[str, tuple[Operand, str]] = {}
    for body in bodies(result.loaded.outline()):
        scope = scopes.get(body.path)
        for name, operand in scope.names.items() if scope is not None else ():
            if operand[0] >= 0:
                found.setdefault(body.key(name), (operand, body.path))
    return found
