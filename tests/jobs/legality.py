"""Every asker about the same sizes, held against each other and against runs: `python -m tests.jobs.legality`.

Models: onnx's node tests with a symbol for every dim, the small adversarial ones, and those of the corpora. At each of
a dozen sizes a check, the contract, a box of one size, the nearest sizes, a profile and freeze must say the same, and
three runs must not contradict them: no run succeeds at sizes that are illegal, none fails where the model runs, and
where all fail, the answer names a node. Samples, and sizes that costs are shown at, must be legal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import absint
from absint import Result
from absint.errors import UsageError
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.questions.sizes.outcomes import Check, Outcome
from absint.runs.run import feeds_for
from absint.solver.contracts.contract import Contract
from absint.transfer.semantics import EITHER, SEMANTICS
from tests.adversarial import MODELS
from tests.real_models import REAL
from tests.soundness import limits as known
from tests.soundness.models import Variant, bindings, node_tests
from tests.soundness.runs import ENGINE, OnnxRuntime, Runner

SIZES = 12
DATA = 3
SECONDS = 2.0
"""Of one answer."""

_FEW = 5
"""Symbols from which on only some sizes are asked of the slow ones."""

LARGE = 1 << 22
"""Most elements of the inputs of a run."""

Sizes = Mapping[str, int]
Runs = Callable[[Sizes], Iterator[tuple[bool, str]]]


class Case(NamedTuple):
    """A model, sizes of its symbols, and its runs at sizes: a flag for success, and the reason of a failure."""

    name: str
    model: Any
    sizes: list[dict[str, int]]
    runs: Runs
    is_small: bool = True


def node_cases() -> Iterator[Case]:
    """The node tests of onnx."""
    for name, test in sorted(node_tests().items()):
        if known.is_untrusted(name):
            continue
        variant = Variant(test, "constant", "distinct", seed=1)
        start = crc32(name.encode())
        yield Case(name, variant.model, list(islice(bindings(variant, SIZES, start), SIZES)), _of_variant(variant))


def _of_variant(variant: Variant) -> Runs:
    runner: list[Runner] = []

    def runs(sizes: Sizes) -> Iterator[tuple[bool, str]]:
        if not runner:
            runner.append(Runner(variant.test, constant=True))
        if runner[0].missing:
            return
        rng = np.random.default_rng(0)
        for number in range(DATA):
            if any(symbol not in sizes for symbol in variant.original):
                return
            outcome = runner[0].run(variant.feeds(sizes, rng, original=number == 0))
            if outcome.runtime == "onnxruntime":
                yield outcome.values is not None, outcome.failure

    return runs


def other_cases() -> Iterator[Case]:
    """Adversarial models, and those of the corpora."""
    for name, item in MODELS.items():
        model = item.model
        result = absint.analyze(model)
        given = [dict(sizes) for sizes in item.bindings]
        yield Case(name, model, _drawn(result, given), _of_model(result, model.SerializeToString(), ENGINE))
    for name, real in REAL.items():
        result = absint.analyze(real.path)
        given = [dict(sizes) for sizes in real.entry["bindings"][:3]]
        yield Case(name, real.path, _drawn(result, given), _of_file(result), False)


def _drawn(result: Result, given: list[dict[str, int]]) -> list[dict[str, int]]:
    """Sizes of all symbols: those that are given, then equal, prime and random ones."""
    draw = Random(0)
    names = result.symbols
    primes = (2, 3, 5, 7, 11, 13)
    wanted = [sizes for sizes in given if sizes.keys() >= set(names)]
    wanted += [dict.fromkeys(names, size) for size in (1, 8, 0, 64)]
    wanted += [{name: primes[at % 6] for at, name in enumerate(names)}]
    wanted += [{name: draw.choice((0, 1, 2, 3, 4, 8, 16, 33)) for name in names} for _ in range(SIZES)]
    found = [{name: sizes[name] for name in names} for sizes in wanted]
    return list({tuple(sizes.values()): sizes for sizes in found}.values())[:SIZES]


def _of_model(result: Result, content: bytes, engine: OnnxRuntime) -> Runs:
    def runs(sizes: Sizes) -> Iterator[tuple[bool, str]]:
        for kind in ("random", "zeros", "ones")[:DATA]:
            try:
                feeds = feeds_for(result, sizes, seed=0, values=kind)  # type: ignore[arg-type]
            except UsageError:
                return
            if sum(array.size for array in feeds.values()) > LARGE:
                return
            ok, reply = engine.run(content, feeds)
            yield ok, "" if ok else str(reply)

    return runs


def _of_file(result: Result) -> Runs:
    from absint.errors import AbsintError
    from absint.runs.run import run

    def runs(sizes: Sizes) -> Iterator[tuple[bool, str]]:
        for kind in ("random", "zeros")[:DATA]:
            try:
                feeds = feeds_for(result, sizes, seed=0, values=kind)  # type: ignore[arg-type]
            except UsageError:
                return
            if sum(array.size for array in feeds.values()) > LARGE:
                return
            try:
                run(result, feeds, isolated=True, seconds=20)
                yield True, ""
            except AbsintError as error:
                yield False, str(error)

    return runs


_NOT_JUDGED = (
    "NOT_IMPLEMENTED", "Could not find an implementation", "did not end within", "memory", "bad alloc", "SafeInt",
    "There is no time", "not loaded", "ended the process", "time limit",
)  # fmt: skip
"""In the reasons of failures that say nothing of sizes."""


class Asker:
    """All answers about one model."""

    def __init__(self, case: Case, total: Counter[str], semantics: str = EITHER, *, runs_alone: bool = False) -> None:
        self.case, self.total = case, total
        self.runs_alone = runs_alone
        self.result = absint.analyze(case.model, semantics=semantics)
        self.contract: Contract = self.result.contract(seconds=SECONDS)
        self.told: Counter[str] = Counter()
        """Of sizes at which all runs fail and that are called legal: the first record that says so."""

    def wrong(self) -> Iterator[str]:
        """Every contradiction."""
        if self.case.sizes and self.case.sizes[0].keys() >= set(self.result.symbols):
            for sizes in self.case.sizes:
                own = {name: sizes[name] for name in self.result.symbols}
                for text in self._at(own, sizes):
                    yield f"{_text(own)}: {text}"
        if not self.runs_alone:
            yield from self._offered()

    def _offered(self) -> Iterator[str]:
        if not self.result.symbols:
            return
        for sizes in self.result.samples(4, seconds=SECONDS):
            self.total["samples"] += 1
            check = self.result.check(sizes)
            if not check.ok or not self.contract.allows(sizes):
                yield f"the sample {_text(sizes)} is {check}, contract {self.contract.allows(sizes)}"
        start = {n: s for n, s in self.result.cost().default_sizes.items() if n in self.result.parameters}
        if start.keys() >= set(self.result.symbols):
            self.total["sizes to begin with"] += 1
            found = self.result.check(start)
            if found.outcome is Outcome.ILLEGAL and any(self.result.check(at).ok for at in self.case.sizes):
                yield f"cost begins at {_text(start)}, which is {found}"

    def _at(self, sizes: Sizes, whole: Sizes) -> Iterator[str]:
        check = self.result.check(sizes)
        self.total[f"check: {check.outcome.value}"] += 1
        if check.outcome is Outcome.UNDECIDED:
            return
        illegal = check.outcome is Outcome.ILLEGAL
        yield from self._by_contract(sizes, check)
        if not self.runs_alone:
            yield from self._by_boxes(sizes, check)
        if not self.runs_alone and self.case.is_small and (len(sizes) <= _FEW or crc32(str(sizes).encode()) % 4 == 0):
            yield from self._by_others(sizes, illegal)
        yield from self._by_runs(sizes, whole, check)

    def _by_contract(self, sizes: Sizes, check: Check) -> Iterator[str]:
        self.total["answers"] += 1
        allowed = self.contract.allows(sizes)
        if check.failure is None:
            if not allowed:
                yield f"check: {check}; the contract does not allow it: {self.contract}"
            return
        named = {item.origin.node for item in (*self.contract.possible_failures, *self.contract.beyond)}
        if allowed and not self.contract.reason and check.failure.origin.node not in named:
            yield f"check: {check}; the contract allows it, and does not name the node: {self.contract}"

    def _by_boxes(self, sizes: Sizes, check: Check) -> Iterator[str]:
        self.total["answers"] += 1
        box = self.result.check_range(dict(sizes), seconds=SECONDS)
        if box.outcome is Outcome.UNDECIDED:
            return
        if (box.outcome is Outcome.ILLEGAL) is not (check.outcome is Outcome.ILLEGAL):
            yield f"check: {check}; the box of these sizes: {box}"
        if box.outcome is Outcome.RUNS and check.outcome is not Outcome.RUNS and not check.premises:
            yield f"check: {check}; the box of these sizes: {box}"
        wide = {name: (size, size + 3) for name, size in sizes.items()}
        around = self.result.check_range(wide, seconds=SECONDS)
        self.total["answers"] += 1
        if around.outcome is Outcome.RUNS and check.outcome is not Outcome.RUNS and not check.premises:
            yield f"check: {check}; the box {around}"
        if around.ok and check.failure is not None:
            named = {item.origin.node for item in (*around.possible_failures, *around.open)}
            if check.failure.origin.node not in named:
                yield f"check: {check}; the box {around}"

    def _by_others(self, sizes: Sizes, illegal: bool) -> Iterator[str]:
        self.total["answers"] += 2
        near = self.result.nearest(sizes, seconds=SECONDS)
        if near.legal is illegal:
            yield f"illegal: {illegal}; nearest says {near}"
        if near.sizes is not None and not self.result.check(near.sizes).ok:
            yield f"nearest offers {_text(near.sizes)}: {self.result.check(near.sizes)}"
        if sizes and not self._has_no_shape():
            try:
                found = self.result.profile(dict(sizes), seconds=SECONDS)
            except UsageError:  # elements of inputs have no numbers
                return
            if found.checked.outcome is not Outcome.UNDECIDED and bool(found) is illegal and not found.without_shape:
                yield f"illegal: {illegal}; profile says {found}"
        try:
            self.result.freeze(sizes, load=False)
            if illegal:
                yield "it is illegal, and freeze takes it"
        except IllegalSizesError as error:
            if not illegal:
                yield f"it is legal, and freeze says {error}"
        except UsageError:
            self.total["not frozen"] += 1

    def _has_no_shape(self) -> bool:
        shapes = [self.result.shapes.get(name) for name in self.result.inputs]
        return any(shape is None or shape.rank is None for shape in shapes)

    def _by_runs(self, sizes: Sizes, whole: Sizes, check: Check) -> Iterator[str]:
        found = [(ok, why) for ok, why in self.case.runs(whole) if ok or not any(t in why for t in _NOT_JUDGED)]
        self.total["runs"] += len(found)
        why = next((why for ok, why in found if not ok), "")
        if any(ok for ok, _ in found):
            if check.failure is not None:
                yield f"it runs, and check says {check}"
            if not self.contract.allows(sizes):
                yield f"it runs, and the contract does not allow it: {self.contract}"
        if why and check.outcome is Outcome.RUNS and not check.premises:
            yield f"check says that it runs, and it fails: {' '.join(why.split())[:200]}"
        if found and not any(ok for ok, _ in found) and check.ok:
            if not (check.possible_failures or check.premises):
                yield f"all runs fail, and check names nothing: {' '.join(why.split())[:200]}"
            else:
                first = next(iter(check.possible_failures), None)
                record = f"{first.origin.operator}: {first.reason}" if first is not None else "a premise"
                self.told[f"{record} <- {' '.join(why.split())[-120:]}"] += 1


def _text(sizes: Sizes) -> str:
    return " ".join(f"{name}={size}" for name, size in sizes.items())


def main() -> int:
    parsed = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parsed.add_argument("--only", default="", help="part of a model's name")
    parsed.add_argument("--every", type=int, default=1, help="one of so many models")
    parsed.add_argument("--from", dest="first", type=int, default=0)
    parsed.add_argument("--seconds", type=float, default=1e9)
    parsed.add_argument("--semantics", choices=SEMANTICS, default=EITHER)
    parsed.add_argument("--runs-alone", action="store_true", help="ask checks and contracts alone, beside the runs")
    args = parsed.parse_args()
    total: Counter[str] = Counter()
    told: Counter[str] = Counter()
    failures, end = 0, time.monotonic() + args.seconds
    everything = (case for cases in (node_cases(), other_cases()) for case in cases)
    for number, case in enumerate(everything):
        if time.monotonic() > end:
            print(f"stopped before model {number}")
            break
        if args.only not in case.name or number < args.first or (number - args.first) % args.every:
            continue
        total["models"] += 1
        asker = Asker(case, total, args.semantics, runs_alone=args.runs_alone)
        for text in asker.wrong():
            failures += 1
            print(f"{case.name} {text}", flush=True)
        told.update({f"{case.name}: {text}": count for text, count in asker.told.items()})
    print(f"{told.total()} sizes that all runs refuse are legal with a record:")
    for text, count in told.most_common():
        print(f"  {count} {text}")
    print(f"{failures} contradictions; {dict(total)}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
