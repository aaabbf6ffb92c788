"""Heads and exits of an ONNX Scan: a loop over the slices of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lattices.expr import UNKNOWN_SIZE, Dim, Expr
from lattices.relation import FALSE, TRUE, eq, ge
from lattices.shape import shape_of
from lattices.tensor import BOTTOM, TOP, Tensor, Value
from lattices.truth import YES
from transfer.op import AttributeValue, Statement

if TYPE_CHECKING:
    from absint.graph import Node
    from absint.shapes import ShapeAnalysis, State

from absint.control import Control
from absint.loops import Carried, LoopBody, stacked


@dataclass(frozen=True)
class ScanSettings:
    """The attributes of a Scan. `batched` is the form of opset 8, in which every input has a leading batch axis."""

    states: int
    scans: int
    input_axes: tuple[int, ...]
    output_axes: tuple[int, ...]
    batched: bool

    @staticmethod
    def read(attributes: Mapping[str, AttributeValue], operands: int, batched: bool) -> ScanSettings | None:
        """From the attributes; None if they contradict the number of operands, or a direction is neither 0 nor 1."""
        scans = attributes.get("num_scan_inputs")
        if not isinstance(scans, int) or not 0 < scans <= operands:
            return None
        axes = attributes.get("scan_input_axes") or [0] * scans
        out = attributes.get("scan_output_axes") or []
        if not isinstance(axes, list) or not isinstance(out, list) or len(axes) != scans:
            return None
        for name in ("directions", "scan_input_directions", "scan_output_directions"):
            ways = attributes.get(name) or []
            if not isinstance(ways, list) or any(way not in (0, 1) for way in ways):
                return None
            if ways and name != "scan_output_directions" and len(ways) != scans:
                return None
        return ScanSettings(operands - scans, scans, tuple(axes), tuple(out), batched)


class ScanHead(LoopBody):
    """Head of an ONNX Scan: state variables and one slice of each scan input."""

    operator = "Scan"

    def __init__(self, settings: ScanSettings) -> None:
        super().__init__(settings.states + settings.scans)
        self.settings = settings

    def transfer(self, run: ShapeAnalysis, node: int, item: Node, states: Sequence[State]) -> State:
        self.first = node
        values = [run.operand(o, states) for o in item.operands]
        if BOTTOM in values:
            return (BOTTOM,) * self.width
        count = self.settings.states
        backs = self.backs(run, states, self.back)
        starts = [drop_axis(v, 0) if self.settings.batched else v or TOP for v in values[:count]]
        claims = run.carried.setdefault(node, Carried())
        carried = [claims.value(self, k, s, b) for k, (s, b) in enumerate(zip(starts, backs, strict=True))]
        return (*carried, *self._slices(values[count:]))

    def _slices(self, values: Sequence[Value | None]) -> Iterator[Value]:
        for value, axis in zip(values, self.settings.input_axes, strict=True):
            if self.settings.batched:
                yield drop_axis(drop_axis(value, 0), 0)
            else:
                yield drop_axis(value, axis)


def drop_axis(value: Value | None, axis: int) -> Value:
    """A slice along an axis."""
    if not isinstance(value, Tensor):
        return TOP
    if value.shape.is_top or not -len(value.shape) <= axis < len(value.shape):
        return Tensor(value.dtype)
    dims = list(value.shape.dims)
    del dims[axis]
    return Tensor(value.dtype, shape_of(tuple(dims)))


def axis_size(value: Value | None, axis: int) -> Dim:
    """The size of an axis, unknown if it is not there."""
    if not isinstance(value, Tensor) or value.shape.is_top or not -len(value.shape) <= axis < len(value.shape):
        return UNKNOWN_SIZE
    return value.shape[axis]


@dataclass
class ScanExit(Control):
    """After an ONNX Scan: final states and stacked outputs."""

    head: int
    settings: ScanSettings
    operator: str = "Scan"
    width: int = 1

    def transfer(self, run: ShapeAnalysis, node: int, item: Node, states: Sequence[State]) -> State:
        loop = run.nodes[self.head].control
        assert isinstance(loop, ScanHead)
        s = self.settings
        values = [run.operand(o, states) for o in item.operands]
        inputs, finals = values[: s.states + s.scans], values[s.states + s.scans : 2 * s.states + s.scans]
        results = values[2 * s.states + s.scans :][s.states :]
        statements: list[Statement] = []
        sizes = [axis_size(v, 1 if s.batched else a) for v, a in zip(inputs[s.states :], s.input_axes, strict=True)]
        trips = next((d for d in sizes if isinstance(d, Expr)), sizes[0])
        for size in sizes:
            relation = eq(size, trips)
            if not s.batched and relation is not TRUE and relation.op != "open":
                statements.append(Statement(relation, _ONE_LENGTH, "required"))
        # In the form of opset 8, sequence_lens may end a batch early, but outputs have the length of the inputs.
        outputs = [loop.final(v or TOP, UNKNOWN_SIZE if s.batched else trips) for v in finals]
        certain = not s.batched or run.facts_at(item.gate).decide(ge(trips, 1)) is YES
        for k, result in enumerate(results):
            axis = s.output_axes[k] if k < len(s.output_axes) else 0
            # No runtime runs an unbatched scan over nothing, so there has been a trip.
            value = stacked(loop, str(s.states + k), loop.leave(result or TOP), trips, certain, axis, statements)
            outputs.append(value)
        if s.batched:
            outputs = [_batched(inputs, v) for v in outputs]
        run.trips[self.head] = UNKNOWN_SIZE if s.batched else trips
        state = run.record(node, tuple(outputs), statements)
        problem = self._problem(inputs[s.states :], results, statements)
        if problem:
            refused = Statement(FALSE, problem, "required")
            kept = run.applied[node]
            run.applied[node] = kept._replace(rejected=problem, statements=(*kept.statements, refused))
        return state

    def _problem(
        self, scanned: Sequence[Value | None], results: Sequence[Value | None], statements: Sequence[Statement]
    ) -> str | None:
        """Why the node can never run."""
        if any(statement.relation is FALSE for statement in statements):
            return _ONE_LENGTH
        if self.settings.batched:
            return None
        for value, axis in zip(scanned, self.settings.input_axes, strict=True):
            rank = value.shape.rank if isinstance(value, Tensor) else None
            if rank is not None and not -rank <= axis < rank:
                return f"scan input axis {axis} is outside rank {rank}"
        for value, axis in zip(results, self.settings.output_axes, strict=False):
            rank = value.shape.rank if isinstance(value, Tensor) else None
            if rank is not None and not -rank - 1 <= axis <= rank:
                return f"scan output axis {axis} is outside rank {rank + 1}"
        return None


_ONE_LENGTH: Final = "scan inputs have one length"


def _batched(inputs: Sequence[Value | None], value: Value) -> Value:
    """The value with the batch axis in front again."""
    if not isinstance(value, Tensor) or value.shape.is_top:
        return value
    batch = next((axis_size(v, 0) for v in inputs if isinstance(v, Tensor) and v.shape.rank), UNKNOWN_SIZE)
    return Tensor(value.dtype, shape_of((batch, *value.shape.dims)))
