"""Stacked rows beside single ones: whether each row of a batch is computed from that row alone.

A model of two or three rows is run on them stacked, and on each of them alone. Every output whose axis grows with the
rows must hold the outputs of the single ones: along that axis, each row in a block of its own, or in equal parts that
alternate with those of the others, as where an axis of time stands before the batch (`T*batch`). A reading that takes
numbers of one row for those of another does not pass. Floats may differ by a thousandth of the largest one of the
output: kernels add in another order for another number of rows, which changes a sum of n terms of 32 bits by about
sqrt(n) * 1e-7 of it, while an exchanged element is another number altogether. Elements of 16 bits get a fiftieth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from absint.errors import UsageError
from absint.packages import is_installed
from absint.questions.rows.answer import QUANTISERS
from absint.runs.pool import kept
from absint.runs.process import ProcessError
from absint.runs.run import SECONDS, beside, feeds_for, in_one_line
from absint.runs.session import Handed
from absint.solution.analysed import Analysed

Array = npt.NDArray[Any]
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
        self._several: list[dict[str, Array]] | None = None
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
            handed = Handed(None, copy, beside(self._analysed))
            request = handed, list(self._analysed.outputs), self._several
            found = cast("list[Outputs | str]", kept("absint.runs.session:all_outputs").ask(request, SECONDS))
        except UsageError as error:
            return Compared(str(error))
        except ProcessError as error:
            return Compared(in_one_line(error.failure.text if error.failure is not None else str(error)))
        failed = next((outputs for outputs in found if isinstance(outputs, str)), None)
        if failed is not None:
            return Compared(in_one_line(failed), fails=True)
        first, *single = cast("list[Outputs]", found[: _ROWS + 1])
        return _judged(first, single, cast("list[Outputs]", found[_ROWS + 1 :]))

    def _feeds(self) -> list[dict[str, Array]]:
        """Feeds of the first row, again, of the others, and of the first two and of all stacked."""
        several = [self._drawn(seed) for seed in range(_ROWS)]
        rows = [
            {
                name: self._along(name, [array], 1) if self._axes.get(name) else several[0][name]
                for name, array in drawn.items()
            }
            for drawn in several
        ]
        stacks = [
            {
                name: self._along(name, [row[name] for row in rows[:count]], None) if self._axes.get(name) else array
                for name, array in rows[0].items()
            }
            for count in range(2, _ROWS + 1)
        ]
        return [rows[0], *rows, *stacks]

    def _along(self, name: str, arrays: Sequence[Array], end: int | None) -> Array:
        """The first places of the arrays, side by side on the axis of the rows."""
        (axis,) = self._axes[name]
        return np.concatenate([array.take(range(array.shape[axis])[:end], axis) for array in arrays], axis)

    def _drawn(self, seed: int) -> dict[str, Array]:
        names = {name: _OTHER_SIZES[at % len(_OTHER_SIZES)] for at, name in enumerate(sorted(self._analysed.symbols))}
        return cast("dict[str, Array]", feeds_for(self._analysed, names, seed=seed))


def _judged(first: Outputs, single: Sequence[Outputs], stacked: Sequence[Outputs]) -> Compared:
    differing: list[str] = []
    without: list[str] = []
    for name, array in first.items():
        singles = [outputs[name] for outputs in single]
        whole = [outputs[name] for outputs in stacked]
        if not all(isinstance(each, np.ndarray) for each in (array, *singles, *whole)):
            without.append(name)
            continue
        parts, stacks = cast("list[Array]", singles), cast("list[Array]", whole)
        axis = _axis(parts, stacks)
        if axis is None or not _close(cast("Array", array), parts[0]):
            without.append(name)
        elif not all(
            any(_close(stack, other) for other in _stacks(parts[:count], axis)) for count, stack in enumerate(stacks, 2)
        ):
            differing.append(name)
    reason = "" if len(without) < len(first) else "no output has an axis that grows with the rows, or equal runs differ"
    return Compared(reason, False, tuple(differing), tuple(without), stacked)


def _axis(parts: Sequence[Array], stacks: Sequence[Array]) -> int | None:
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


def _stacks(parts: Sequence[Array], axis: int) -> Iterator[Array]:
    """The rows along an axis, in one block each or in parts that alternate."""
    shape = parts[0].shape
    size = shape[axis]
    for outer in range(1, size + 1):
        if size % outer == 0:
            split = (*shape[:axis], outer, 1, size // outer, *shape[axis + 1 :])
            joined = np.concatenate([part.reshape(split) for part in parts], axis + 1)
            yield joined.reshape(*shape[:axis], size * len(parts), *shape[axis + 1 :])


def _close(one: Array, other: Array) -> bool:
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
