"""Readings judged by more than shapes: by axes of outputs that the caller or the author names, by proofs about rows,
and by runs on stacked rows.

Rows are counted by the symbols of `--rows`; without it by those that are called a batch, as the name promises; else by
that of the first axis of an input, unless its old size is 1. Of copies that nothing refutes, those count in which
every output is proved to keep the rows apart; among them, if the rows of inputs are on first axes, those count in which
they have an axis for themselves: blocks of a batch of 1 beside an axis of 1 are rare. The proof speaks of the model
too: at the old sizes both give the same. An old size of 1 says nothing of rows, so the first axis is believed only if
it is called a batch.

Of other symbols neither proofs nor runs decide. Rows of a sequence depend on each other in the author's model, and a
reading that keeps them apart may then be the wrong one.

A copy is run on two or three rows stacked, and on each of them alone. Every output whose axis grows with the rows must
hold the outputs of the single ones: along that axis, each row in a block of its own, or in equal parts that alternate
with those of the others, as where an axis of time stands before the batch (`T*batch`). A reading that takes numbers of
one row for those of another does not pass. Floats may differ by a thousandth of the largest one of the output: kernels
add in another order for another number of rows, which changes a sum of n terms of 32 bits by about sqrt(n) * 1e-7 of
it, while an exchanged element is another number altogether. Elements of 16 bits get a fiftieth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

import numpy as np

from absint.errors import UsageError
from absint.jobs.dynamizing import preparing, resizing
from absint.jobs.dynamizing.finding import Found
from absint.lattices.terms.expr import Symbol, const, symbol
from absint.lattices.value import Tensor
from absint.model.wire.graphs import GraphMessage, ValueInfoMessage
from absint.packages import is_installed
from absint.questions.rows import OutputRows, proved
from absint.questions.rows.answer import QUANTISERS
from absint.runs import pool, process, session
from absint.runs.run import SECONDS, beside, feeds_for, in_one_line
from absint.solution.analysed import Analysed

Outputs = Mapping[str, object]

_ROWS: Final = 3
_TOLERANCE, _OF_HALVES = 1e-3, 2e-2
_OTHER_SIZES: Final = (4, 12, 1)
"""Sizes that symbols of the model have in the runs."""


@dataclass(frozen=True)
class Compared:
    """The outcome of runs on stacked rows."""

    reason: str = ""
    """Why nothing was compared; empty if something was."""
    fails: bool = False
    """It loads, and not every number of rows runs."""
    differing: tuple[str, ...] = ()
    """Outputs that hold other rows than the single runs."""
    without_rows: tuple[str, ...] = ()
    """Outputs that were not compared: no axis grows with the rows, or equal runs differ."""
    stacked: Sequence[Outputs] = ()
    """The outputs of two and of three rows."""

    def is_like(self, other: Compared) -> bool:
        """The outputs are the same."""
        pairs = list(zip(self.stacked, other.stacked, strict=False))
        return bool(pairs) and all(
            isinstance(a := one.get(name), np.ndarray) and isinstance(b := two.get(name), np.ndarray) and _close(a, b)
            for one, two in pairs
            for name in {**one, **two}
        )


class Stacking:
    """Runs of copies of a model in which a symbol is the number of rows."""

    def __init__(self, analysed: Analysed, axes: Mapping[str, Mapping[int, str]], symbol: str) -> None:
        self._analysed = analysed
        self._axes = {name: [at for at, text in of.items() if text == symbol] for name, of in axes.items()}
        self._several: list[dict[str, resizing.Array]] | None = None
        self._why_not = self._problem()

    def _problem(self) -> str:
        if not is_installed("onnxruntime"):
            return "onnxruntime is not installed"
        if any(len(places) > 1 for places in self._axes.values()):
            return "an input has it twice"
        operators = {item.operation.op_type for item in self._analysed.nodes if item.operation is not None}
        whole = sorted(operators & set(QUANTISERS))
        return f"{whole[0]} rounds each row by the range of all" if whole else ""

    def compared(self, copy: bytes) -> Compared:
        """The outputs of a copy for stacked rows and for single ones."""
        if self._why_not:
            return Compared(self._why_not)
        try:
            if self._several is None:
                self._several = self._feeds()
            handed = session.Handed(None, copy, beside(self._analysed))
            request = handed, list(self._analysed.outputs), self._several
            found = cast("list[Outputs | str]", pool.kept("absint.runs.session:all_outputs").ask(request, SECONDS))
        except UsageError as error:
            return Compared(str(error))
        except process.ProcessError as error:
            return Compared(in_one_line(error.failure.text if error.failure is not None else str(error)))
        failed = next((outputs for outputs in found if isinstance(outputs, str)), None)
        if failed is not None:
            return Compared(in_one_line(failed), fails=True)
        first, *single = cast("list[Outputs]", found[: _ROWS + 1])
        return _judged(first, single, cast("list[Outputs]", found[_ROWS + 1 :]))

    def _feeds(self) -> list[dict[str, resizing.Array]]:
        """Feeds of the first row, again, of the others, and of the first two and of all stacked."""
        several = [self._drawn(seed) for seed in range(_ROWS)]
        held = [name for name in several[0] if self._axes.get(name)]
        rows = [{**several[0], **{name: self._along(name, [drawn[name]], 1) for name in held}} for drawn in several]
        stacks = [
            {**rows[0], **{name: self._along(name, [row[name] for row in rows[:count]], None) for name in held}}
            for count in range(2, _ROWS + 1)
        ]
        return [rows[0], *rows, *stacks]

    def _along(self, name: str, arrays: Sequence[resizing.Array], end: int | None) -> resizing.Array:
        """The first places of the arrays, side by side on the axis of the rows."""
        (axis,) = self._axes[name]
        return np.concatenate([array.take(range(array.shape[axis])[:end], axis) for array in arrays], axis)

    def _drawn(self, seed: int) -> dict[str, resizing.Array]:
        names = {name: _OTHER_SIZES[at % len(_OTHER_SIZES)] for at, name in enumerate(sorted(self._analysed.symbols))}
        return cast("dict[str, resizing.Array]", feeds_for(self._analysed, names, seed=seed))


def _judged(first: Outputs, single: Sequence[Outputs], stacked: Sequence[Outputs]) -> Compared:
    differing: list[str] = []
    without: list[str] = []
    for name, array in first.items():
        singles = [outputs[name] for outputs in single]
        whole = [outputs[name] for outputs in stacked]
        if not all(isinstance(each, np.ndarray) for each in (array, *singles, *whole)):
            without.append(name)
            continue
        parts, stacks = cast("list[resizing.Array]", singles), cast("list[resizing.Array]", whole)
        axis = _axis(parts, stacks)
        if axis is None or not _close(cast("resizing.Array", array), parts[0]):
            without.append(name)
        elif not all(
            any(_close(stack, other) for other in _stacks(parts[:count], axis)) for count, stack in enumerate(stacks, 2)
        ):
            differing.append(name)
    reason = "" if len(without) < len(first) else "no output has an axis that grows with the rows, or equal runs differ"
    return Compared(reason, False, tuple(differing), tuple(without), stacked)


def _axis(parts: Sequence[resizing.Array], stacks: Sequence[resizing.Array]) -> int | None:
    """The axis that grows with the rows; None if there is none, or if several change."""
    shape = parts[0].shape
    if any(part.shape != shape for part in parts) or any(stack.ndim != len(shape) for stack in stacks):
        return None
    for axis, size in enumerate(shape):
        if size and all(
            stack.shape == (*shape[:axis], size * count, *shape[axis + 1 :]) for count, stack in enumerate(stacks, 2)
        ):
            return axis
    return None


def _stacks(parts: Sequence[resizing.Array], axis: int) -> Iterator[resizing.Array]:
    """The rows along an axis, in one block each or in parts that alternate."""
    shape = parts[0].shape
    size = shape[axis]
    for outer in range(1, size + 1):
        if size % outer == 0:
            split = (*shape[:axis], outer, 1, size // outer, *shape[axis + 1 :])
            joined = np.concatenate([part.reshape(split) for part in parts], axis + 1)
            yield joined.reshape(*shape[:axis], size * len(parts), *shape[axis + 1 :])


def _close(one: resizing.Array, other: resizing.Array) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    if not one.size:
        return True
    wide = other.astype(np.complex128 if one.dtype.kind == "c" else np.float64)
    largest = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)
    share = _OF_HALVES if one.dtype.itemsize < 4 else _TOLERANCE
    return bool(np.allclose(one.astype(wide.dtype), wide, rtol=0, atol=share * largest, equal_nan=True))


class Judging:
    """The judge of copies of one model."""

    def __init__(
        self,
        analysed: Analysed,
        request: preparing.Request,
        graph: GraphMessage,
        written: Callable[[Found], bytes | None],
        mended: Callable[[Found], Analysed],
        *,
        runs: bool,
    ) -> None:
        """`graph` is that of the author; `written` is the copy with the decisions, or None if it is not written to be
        run; `mended` is its analysis. `runs` allows runs.
        """
        self.copy = cache(mended)
        """The analysis of the copy."""
        self._declared = _declared(graph, request)
        self._analysed, self._outputs, self._promised = analysed, request.outputs, request.promised
        self._is_sole = len(request.sizes) == 1
        self._written = written
        self._rows = [Symbol(name) for name in request.sizes if name in request.promised | request.assumed]
        rows = {one.name for one in self._rows}
        self._are_first = all(not at for of in request.axes.values() for at, text in of.items() if text in rows)
        batches = [name for name in request.sizes if name in request.promised] if runs else []
        self._stackings = {name: Stacking(analysed, request.axes, name) for name in batches}
        self.proved = cache(self._of_rows)
        """What is proved of the outputs of the copy, for each symbol that counts rows."""
        self.compared = cache(self._beside_single)
        """The comparison of rows for each batch."""

    def _of_rows(self, found: Found) -> Mapping[str, tuple[OutputRows, ...]]:
        return {one.name: tuple(proved(self.copy(found), one)) for one in self._rows}

    def _beside_single(self, found: Found) -> Mapping[str, Compared]:
        copy = self._written(found) if self._stackings else b""
        reason = Compared("the copy is too large, or cannot be written")
        return {name: reason if copy is None else each.compared(copy) for name, each in self._stackings.items()}

    def standing(self, found: Found) -> int:
        """0 unless every output of the copy is proved to keep rows apart; more where outputs have the axes that the
        author declares, then where rows have an axis for themselves, as the first one of inputs.
        """
        names = {one.name for one in self._rows}
        if not names or any(found.run.resizing.narrows_rows(c.formula) for c, _ in found.left):
            return 0
        outputs = [output for of in self.proved(found).values() for output in of]
        if not all(output.verdict in ("independent", "shared") for output in outputs):
            return 0
        is_plain = self._are_first and all(output.is_plain or output.verdict == "shared" for output in outputs)
        return 1 + 2 * self.is_as_declared(found) + is_plain

    def refutes(self, found: Found) -> bool:
        """An output lacks an axis that the caller has named, or holds other rows than single runs."""
        if self.lacking(found):
            return True
        return any(each.differing for each in self.compared(found).values())

    def fails(self, found: Found) -> bool:
        """The copy does not run on one, two or three rows of a batch."""
        return any(each.fails for each in self.compared(found).values())

    def are_alike(self, one: Found, other: Found) -> bool:
        """The only symbol is a batch, and the outputs for two and three rows are the same."""
        if not self._is_sole:
            return False
        first, second = self.compared(one), self.compared(other)
        return bool(first) and all(each.is_like(second[name]) for name, each in first.items())

    def tells(self, other: Found, found: Found, names: frozenset[str], *, by_rows: bool) -> bool:
        """It is not the other one that the model means, as axes of outputs show that the caller has named. If it
        differs in sizes of these names, and they count rows, shapes may show it, and `by_rows` runs and proofs too.
        """
        if self.lacking(other):
            return True
        if not names or not names <= self._promised:
            return False
        # Shapes first; then runs; then a proof that this one has and the other lacks.
        if self.mixes(other, names):
            return True
        if not by_rows:
            return False
        if self.refutes(other) or (self.fails(other) and not self.fails(found)):
            return True
        return self.standing(found) > 0 and not self.standing(other)

    def mixes(self, other: Found, names: frozenset[str]) -> bool:
        """An axis of an output has a function of a number of rows for its size, beside another one that counts them:
        one row would give another shape beside further rows.
        """
        ends = [self._analysed.operands[name] for name in self._analysed.outputs if name in self._analysed.operands]
        shapes = (resizing.dims_in(other.states[node][index]) for node, index in ends)
        return any(sum(not names.isdisjoint(dim.free_symbols) for dim in dims) > 1 for dims in shapes)

    def is_as_declared(self, found: Found) -> bool:
        """Outputs have the symbols that the author declares, and there are such outputs."""
        return bool(self._declared) and not self._lacking(found, self._declared)

    def lacking(self, found: Found) -> list[str]:
        """The axes of outputs that are not as the caller has named them."""
        return self._lacking(found, self._outputs)

    def _lacking(self, found: Found, outputs: preparing.Axes) -> list[str]:
        missing = []
        for name, axes in outputs.items():
            node, index = self._analysed.operands[name]
            value = found.states[node][index]
            for axis, text in axes.items():
                wanted = const(int(text)) if text.isdecimal() else symbol(text)
                dim = value.shape[axis] if isinstance(value, Tensor) and not value.shape.is_top else "of unknown size"
                missing += [] if dim is wanted else [f"{name}[{axis}] is {dim}, not {text},"]
        return missing


def _declared(graph: GraphMessage, request: preparing.Request) -> dict[str, dict[int, str]]:
    """The axes of outputs that the author declares to be one of the new symbols: by its name, or by that which the axis
    of an input had before.
    """
    # A symbol that the author named otherwise has the new name wherever the old one stands.
    names = {text: text for text in request.sizes}
    inputs = {info.name: _params(info) for info in graph.input[:]}
    for name, axes in request.axes.items():
        names.update((old, text) for axis, text in axes.items() if (old := inputs.get(name, {}).get(axis)))
    found = {
        info.name: {axis: names[text] for axis, text in _params(info).items() if text in names}
        for info in graph.output[:]
        if info.name not in request.outputs
    }
    return {name: axes for name, axes in found.items() if axes}


def _params(info: ValueInfoMessage) -> dict[int, str]:
    return {axis: dim.dim_param for axis, dim in enumerate(info.type.tensor_type.shape.dim[:]) if dim.dim_param}
