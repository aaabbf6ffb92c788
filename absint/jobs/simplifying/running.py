"""Runs of a model and of its copy on the same inputs, compared bit by bit."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from absint.api import analyze
from absint.lattices.limits import LONG
from absint.lattices.text.escapes import format_sizes
from absint.questions.proofs.proof import drawn
from absint.result import Result
from absint.runs.run import RunError, feeds_for, run

_SAMPLES: Final = 3


class Runs(NamedTuple):
    """The outcome of running a model and its copy."""

    differences: Sequence[str]
    both: int
    """How many there were of both in which some output was compared."""
    random: Sequence[str]
    """The outputs that were not compared, since they are of random numbers."""


def runs_of_both(result: Result, path: str) -> Runs:
    """Run a model and the copy at this path at three legal sizes, without optimisations. Outputs that differ are
    compared once more where no weights are packed.

    Raises MissingRuntimeError without onnxruntime, UsageError for inputs that nobody can make up.
    """
    copy, random = analyze(path), drawn(result)
    tried = [
        (format_sizes(sizes, "the only sizes"), *compared(result, copy, sizes, random)) for sizes in _samples(result)
    ]
    both = sum(ran for *_, ran in tried) if random < set(result.outputs) else 0
    return Runs([f"at {at} {text}" for at, text, _ in tried if text], both, sorted(random))


def _samples(result: Result) -> Iterable[Mapping[str, int]]:
    return result.samples(_SAMPLES).sizes if result.parameters else ({},)


def compared(
    result: Result,
    copy: Result,
    sizes: Mapping[str, int],
    random: Container[str] = (),
    *,
    isolated: bool = True,
    seconds: float = LONG,
) -> tuple[str, bool]:
    """How a model and its copy differ at these sizes, random outputs apart, and whether both run.

    Only an isolated run has a limit of time: a copy that is slower than that differs.
    """
    feeds = feeds_for(result, sizes, seed=1)
    before, after = (_outputs(each, feeds, isolated, seconds) for each in (result, copy))
    if isinstance(before, str) or isinstance(after, str):
        if isinstance(before, str) and isinstance(after, str):
            return "", False
        fails = "the model" if isinstance(before, str) else "the copy"
        return f"{fails} alone fails: {before if isinstance(before, str) else after}", False
    differing = next(_differing(before, after, random), None)
    if differing is not None:  # a weight may be a constant in the copy alone, which kernels pack, and round otherwise
        before, after = (_outputs(each, feeds, isolated, seconds, packed=False) for each in (result, copy))
        if not isinstance(before, str) and not isinstance(after, str):
            differing = next(_differing(before, after, random), None)
    return "" if differing is None else f"output {differing!r} differs", True


def _outputs(
    result: Result, feeds: Mapping[str, object], isolated: bool, seconds: float, *, packed: bool = True
) -> Mapping[str, object] | str:
    try:
        return run(result, feeds, isolated=isolated, seconds=seconds, packed=packed)
    except RunError as error:
        return " ".join(str(error).split())[:200]


def _differing(before: Mapping[str, object], after: Mapping[str, object], random: Container[str]) -> Iterator[str]:
    for name, value in before.items():
        if name not in after or not (name in random or _same(value, after[name])):
            yield name


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return repr(a) == repr(b)
