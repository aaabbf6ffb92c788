"""Runs that show two rows in one place: it changes with the one row, and with the other one alone."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from absint.errors import AbsintError
from absint.questions.rows.evidence import InputAxis, Witness
from absint.questions.sizes.start import Starts
from absint.runs.pool import ask_once
from absint.runs.process import ProcessError
from absint.runs.run import SECONDS, feeds_for, with_outputs
from absint.solution.analysed import Analysed

Array = npt.NDArray[np.generic]
Feeds = dict[str, Array]

_SIZES: Final = ((3, 4), (2, 4), (3, 16), (2, 64))
"""Wanted numbers of rows, and sizes of the other symbols; legal ones near them are taken."""
_SEEDS: Final = 2
_MOST: Final = 16
"""Most rows of a run."""

_RELATIVE, _ABSOLUTE = 1e-3, 1e-4
"""Floats that differ by less count as rounded."""


def witnesses(
    analysed: Analysed, symbol: str, axes: Sequence[InputAxis], outputs: Sequence[str], seconds: float | None
) -> Mapping[str, Witness]:
    """A witness for each of the outputs for which one is found, in one process that runs the model."""
    plans = list(_plans(analysed, symbol, axes))
    if not plans:
        return {}
    requests = [feeds for plan in plans for feeds in plan.feeds]
    try:
        request = (with_outputs(analysed, []), list(analysed.outputs), requests)
        answer = ask_once("absint.runs.session:all_outputs", request, seconds or SECONDS, subject="onnxruntime")
    except (ProcessError, AbsintError):
        return {}
    runs = iter(cast("list[Mapping[str, object] | str]", answer))
    found: dict[str, Witness] = {}
    for plan in plans:
        results = [next(runs) for _ in plan.feeds]
        for name in outputs:
            if name not in found and (witness := _shown(plan, [_array(one, name) for one in results])) is not None:
                found[name] = witness
    return found


class _Plan(NamedTuple):
    sizes: Mapping[str, int]
    feeds: Sequence[Feeds]
    """A run, and one with each row changed."""


def _plans(analysed: Analysed, symbol: str, axes: Sequence[InputAxis]) -> Iterator[_Plan]:
    done = []
    for rows, size in _SIZES:
        sizes = analysed.once(Starts).near({**dict.fromkeys(analysed.parameters, size), symbol: rows})
        if sizes is None or sizes in done or not 2 <= sizes[symbol] <= _MOST:
            continue
        done.append(sizes)
        for seed in range(_SEEDS):
            with suppress(AbsintError, MemoryError):
                first = feeds_for(analysed, sizes, seed=seed)
                other = feeds_for(analysed, sizes, seed=seed + 100, values="random")
                yield _Plan(sizes, [first, *(_changed(first, other, axes, row) for row in range(sizes[symbol]))])


def _changed(feeds: Feeds, other: Feeds, axes: Sequence[InputAxis], row: int) -> Feeds:
    """The feeds with one row of the other ones."""
    found = dict(feeds)
    for name, axis in axes:
        array = found[name].copy()
        at = (slice(None),) * axis + (row,)
        array[at] = other[name][at]
        found[name] = array
    return found


def _array(result: Mapping[str, object] | str, name: str) -> Array | None:
    found = None if isinstance(result, str) else result.get(name)
    return found if isinstance(found, np.ndarray) else None


def _shown(plan: _Plan, arrays: Sequence[Array | None]) -> Witness | None:
    base, *others = arrays
    if base is None:
        return None
    changes = [
        (row, _unlike(base, one)) for row, one in enumerate(others) if one is not None and one.shape == base.shape
    ]
    for (i, one), (j, other) in combinations(changes, 2):
        if (one & other).any():
            return Witness(plan.sizes, (i, j), tuple(map(int, np.argwhere(one & other)[0])))
    last = next(((row, one) for row, one in reversed(changes) if one.any()), None)
    if last is None or len(changes) < len(others):
        return None
    if any(_is_along(changes, *way) for way in _ways(base.shape, len(others))):
        return None
    return Witness(plan.sizes, (last[0],), tuple(map(int, np.argwhere(last[1])[0])))


def _ways(shape: Sequence[int], rows: int) -> Iterator[tuple[int, int, int]]:
    """Each axis as outer x rows x inner."""
    for axis, size in enumerate(shape):
        for outer in range(1, size // rows + 1) if size % rows == 0 else ():
            if size // rows % outer == 0:
                yield axis, outer, size // rows // outer


def _is_along(changes: Sequence[tuple[int, npt.NDArray[np.bool_]]], axis: int, outer: int, inner: int) -> bool:
    """Each row changes nothing but its own part of the axis."""
    for row, one in changes:
        apart = one.reshape(*one.shape[:axis], outer, len(changes), inner, *one.shape[axis + 1 :])
        if np.delete(apart, row, axis + 1).any():
            return False
    return True


def _unlike(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    if a.dtype.kind not in "fc":
        return np.asarray(a != b)
    with np.errstate(all="ignore"):
        near = np.isclose(a, b, _RELATIVE, _ABSOLUTE, equal_nan=True)
        return ~near & np.isfinite(a) & np.isfinite(b)
