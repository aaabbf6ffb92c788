"""Claims about rows held against runs: on n rows, on each of them alone, and on n rows of which one is the same.

Every value of the main graph is compared, not only the outputs: an intermediate claim that is false is a fault too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

import absint
from absint.analyses.independence import COUNTED, SHARED, Along, Claims, Independence
from absint.engine import fixpoint
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.runs.pool import kept
from absint.runs.process import ProcessError
from absint.runs.session import Handed, all_outputs
from tests.soundness.models import NEWEST_RUN
from tests.soundness.node_runs import NOT_THERE

Feeds = Mapping[str, Any]
Run = Mapping[str, Any] | str
RUNTIME: Final = "tests.soundness.row_runs:outputs"
SECONDS: Final = 60.0
_NO_WAY: Final = re.compile("can be fetched|can't be converted to MLDataType|Exception during initialization")
"""What is said of types that do not pass in or out, and of attributes without a kernel."""


@dataclass
class Tally:
    """Claims that runs could contradict, and claims that none could."""

    models: int = 0
    claims: int = 0
    compared: int = 0
    proved: int = 0
    """Outputs whose rows are independent."""
    ran: int = 0
    """Models that ran on several rows, and on one of them."""
    failure: str = field(default="", repr=False)
    """Why the last one that did not run gave nothing."""


def outputs(request: object) -> list[Run]:
    """The outputs for each of several feeds, of onnxruntime; of onnx.reference, which accepts more, only where it has
    no kernel or leaves outputs out.
    """
    model, names, several = cast("tuple[bytes, Sequence[str], Sequence[Feeds]]", request)
    older = ModelProto.FromString(model)
    for entry in older.opset_import:
        if entry.domain == "":
            entry.version = min(entry.version, NEWEST_RUN)
    try:
        found = all_outputs((Handed(None, older.SerializeToString()), names, several))
    except Exception as error:
        found = [str(error)] * len(several)
    is_missing = all(isinstance(run, str) and (NOT_THERE.search(run) or _NO_WAY.search(run)) for run in found)
    if not is_missing and all(isinstance(run, str) or len(run) == len(names) for run in found):
        return found
    others = _of_reference(ModelProto.FromString(model), names, several) or found
    return others if is_missing else [run if isinstance(run, str) else other
                                      for run, other in zip(found, others, strict=True)]  # fmt: skip


def _of_reference(model: ModelProto, names: Sequence[str], several: Sequence[Feeds]) -> list[Run]:
    """Empty if no run succeeds."""
    found: list[Run] = []
    with suppress(Exception), np.errstate(all="ignore"):
        evaluator = ReferenceEvaluator(model)
        for feeds in several:
            try:
                values = evaluator.run(list(names), dict(feeds))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
            else:
                found.append({n: np.asarray(v) if np.isscalar(v) else v for n, v in zip(names, values, strict=True)})
    return found if any(not isinstance(run, str) for run in found) else []


class Rows:
    """A model whose rows lie along these axes of its inputs, all of which are called `rows`."""

    def __init__(self, model: ModelProto, axes: Mapping[str, int], rows: str = "rows") -> None:
        self.model = model
        self.axes = axes
        self.result = absint.analyze(model)
        analysis = Independence(self.result, Symbol(rows))
        self.claims: dict[str, Claims] = {
            name: claims
            for name, claims in analysis.by_name(fixpoint(self.result.graph, analysis)).items()
            if claims and name in self.result.operands
        }
        self.names = [name for name in self.claims if name not in self.result.inputs]
        """The values with claims that runs are held against."""

    def alone(self, feeds: Feeds, row: int) -> Feeds:
        """The feeds of one row."""
        return {name: np.take(a, [row], self.axes[name]) if name in self.axes else a for name, a in feeds.items()}

    def with_row_of(self, feeds: Feeds, other: Feeds, row: int) -> Feeds:
        """The other feeds, with one row of the first ones."""
        found = dict(feeds)
        for name, axis in self.axes.items():
            array = np.array(other[name])
            at = (slice(None),) * axis + (row,)
            array[at] = feeds[name][at]
            found[name] = array
        return found

    def wrong(self, several: Sequence[tuple[Feeds, Feeds]], sizes: Mapping[str, int], tally: Tally) -> Iterator[str]:
        """Claims that runs contradict: each pair of feeds has as many rows; the second is for run C."""
        names = self.names
        requests, plan = [], []
        for feeds, other in several:
            count = _rows_of(feeds, self.axes)
            start = len(requests)
            requests.append(feeds)
            requests += [self.alone(feeds, row) for row in range(count)]
            requests += [self.with_row_of(feeds, other, row) for row in range(count)]
            plan.append((start, count))
        outputs = [info.name for info in self.model.graph.output]
        request = (self.model.SerializeToString(), outputs, [dict(feeds) for feeds in requests])
        try:
            runs = cast("list[Run]", kept(RUNTIME).ask(request, SECONDS))
        except ProcessError as error:
            tally.failure = str(error)
            return
        tally.models += 1
        succeeded = [any(not isinstance(runs[at + 1 + row], str) for row in range(n))
                     for at, n in plan if not isinstance(runs[at], str)]  # fmt: skip
        tally.ran += any(succeeded)
        if not any(succeeded):
            tally.failure = next(run for run in runs if isinstance(run, str))
        tally.claims += sum(name in outputs for name in names)
        for start, count in plan:
            first = runs[start]
            for row in range(count) if not isinstance(first, str) else ():
                alone, changed = runs[start + 1 + row], runs[start + 1 + count + row]
                if isinstance(alone, str) or isinstance(changed, str) or isinstance(first, str):
                    continue
                for name in names:
                    if name in first:
                        values = first[name], alone[name], changed[name]
                        tally.compared += 1
                        for text in _contradicted(self.claims[name], values, row, count, sizes):
                            yield f"{name}: {text} (row {row} of {count}, {dict(sizes)})"


def _rows_of(feeds: Feeds, axes: Mapping[str, int]) -> int:
    name, axis = next(iter(axes.items()))
    return int(feeds[name].shape[axis])


def _contradicted(
    claims: Claims, values: tuple[Any, Any, Any], row: int, count: int, sizes: Mapping[str, int]
) -> Iterator[str]:
    a, b, c = values
    if isinstance(a, list) and any(isinstance(item, Mapping) for each in values for item in each):
        if Along(0) in claims and (len(a) != count * len(b) or not near(a[row], b[0]) or not near(a[row], c[row])):
            yield "the maps of rows are not those of each alone"
        return
    if isinstance(a, list):
        if any(not isinstance(item, np.ndarray) for each in values for item in each):
            return
        if SHARED in claims and len(a) != len(b):
            yield f"shared, but of lengths {len(a)} and {len(b)}"
        for items in zip(a, b, c, strict=False):
            yield from _contradicted(claims, items, row, count, sizes)
        return
    if not all(isinstance(each, np.ndarray) for each in values):
        return
    if SHARED in claims and not same(a, b):
        yield "shared, and not the same in a run on one row"
    if COUNTED in claims and not same(a, c):
        yield "on no row, and not the same with other rows"
    for claim in claims:
        if isinstance(claim, Along):
            yield from _moved(claim, values, row, count, sizes)


def _moved(claim: Along, values: tuple[Any, Any, Any], row: int, count: int, sizes: Mapping[str, int]) -> Iterator[str]:
    a, b, c = values
    outer, inner = (_number(size, sizes) for size in (claim.outer, claim.inner))
    if claim.is_owned and outer == 1:
        yield from _dealt(claim, values, row, sizes)
    if outer is None or inner is None:
        return
    if a.ndim <= claim.axis or a.shape[claim.axis] != outer * inner * count:
        yield f"{claim} of shape {a.shape}"
        return
    rows_a, rows_c = (_block(each, claim.axis, outer, count, inner, row) for each in (a, c))
    if a.shape != c.shape or not same(rows_a, rows_c):
        yield f"{claim}: other rows change it"
    if claim.shift is None:
        return
    steps = [_number(growth.step, sizes) for growth in claim.shift]
    if None in steps:  # it names an element of an input
        return
    if b.ndim != a.ndim or b.shape[claim.axis] != outer * inner:
        yield f"{claim} of shape {a.shape}, and alone {b.shape}"
        return
    rows_b = _block(b, claim.axis, outer, 1, inner, 0)
    moved = rows_b + row * np.asarray(steps[0] if len(steps) == 1 else steps) if any(steps) else rows_b
    if not same(rows_a, moved):
        yield f"{claim}: not the same alone"
    for at, growth in enumerate(claim.shift):
        part = b if len(claim.shift) == 1 else b[..., at]
        least, most = (_number(end, sizes) if end is not None else None for end in growth[1:])
        if (least is not None and (part < least).any()) or (most is not None and (part > most).any()):
            yield f"{claim}: alone it has {part.min()} to {part.max()}"


def _dealt(claim: Along, values: tuple[Any, Any, Any], row: int, sizes: Mapping[str, int]) -> Iterator[str]:
    """The places of a row alone are among those of all rows, and of this row beside others, in the same order."""
    a, b, c = (np.moveaxis(each, claim.axis, 0) for each in values)
    steps = [_number(growth.step, sizes) for growth in claim.shift or ()]
    if not steps or None in steps:
        return
    moved = b + row * np.asarray(steps) if any(steps) else b
    for each in (a, c):
        left = iter(each)
        if not all(any(same(place, other) for other in left) for place in moved):
            yield f"{claim}: places of the row are missing, or in another order"


def _number(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    with suppress(KeyError, ValueError, ArithmeticError):
        return dim.evaluate(sizes) if isinstance(dim, Expr) else None
    return None


def _block(array: Any, axis: int, outer: int, count: int, inner: int, row: int) -> Any:
    """The row of an axis of outer x rows x inner."""
    shape = array.shape
    if shape[axis] != outer * count * inner:
        return np.zeros(0)
    apart = array.reshape(*shape[:axis], outer, count, inner, *shape[axis + 1 :])
    return np.take(apart, row, axis + 1)


def same(a: Any, b: Any) -> bool:
    """The same shape and elements, but for rounding."""
    if a.shape != b.shape:
        return False
    if a.dtype.kind == "V":  # a type of ml_dtypes
        a, b = a.astype(np.float32), b.astype(np.float32)
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    if a.tobytes() == b.tobytes():
        return True
    with np.errstate(all="ignore"):
        scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
        return bool(np.isclose(a, b, 2e-3, 1e-4 * (1 + scale), equal_nan=True).all())


def near(a: Mapping[Any, float], b: Mapping[Any, float]) -> bool:
    """The same keys and values, but for rounding."""
    return a.keys() == b.keys() and same(np.array([*a.values()]), np.array([b[key] for key in a]))


Maker = Callable[[int, np.random.Generator], Feeds]


def hunted(
    model: ModelProto,
    axes: Mapping[str, int],
    make: Maker,
    sizes: Mapping[str, int],
    tally: Tally,
    rows: str = "rows",
    counts: Sequence[int] = (2, 2, 3, 3, 4, 4),
) -> list[str]:
    """The false claims about a model, on data of so many rows each."""
    found = Rows(model, axes, rows)
    rng = np.random.default_rng(0)
    several = [(make(count, rng), make(count, rng)) for count in (counts if found.names else counts[:1])]
    outputs = [found.claims.get(info.name, frozenset()) for info in model.graph.output]
    tally.proved += sum(any(isinstance(c, Along) and c.is_free for c in claims) for claims in outputs)
    return list(found.wrong(several, sizes, tally))
