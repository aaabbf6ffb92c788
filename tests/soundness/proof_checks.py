"""Everything that an analysis says of sizes, held against runs: proofs, refutations, checks, contracts, classes."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import onnx
from onnx import helper

import absint
from absint.lattices.logic.relation import NO, YES, Relation
from absint.questions.proofs.proof import Proof, Verdict
from absint.questions.sizes.outcomes import Outcome
from absint.solver.contracts.contract import Contract
from tests.soundness.graph_drafts import Draft
from tests.soundness.proof_graphs import BINDINGS, bindings
from tests.soundness.proof_queries import Asker, Query, dim, equal
from tests.soundness.proof_runs import KINDS, Executed, Kind, Run

QUERIES = 14
BOXES = 4
NUMBERS = (-3, -2, -1, 0, 1, 2, 3, 4, 6)
"""For elements of inputs."""


class Judge:
    """Holds what is said of one model against its runs."""

    def __init__(self, draft: Draft, *, seconds: float = 10.0) -> None:
        self.rng = random.Random(f"judge {draft.seed}")
        self.runs = Executed(draft)
        self.seconds = seconds
        self.counts: Counter[str] = Counter()
        self.refine: bool | Literal["smt"] = self.rng.choice([True, True, True, "smt", False])
        self.declared: list[Query] = []
        self.model = self._declared() if self.rng.random() < 0.4 else self.runs.model
        if self.rng.random() < 0.4:
            self.model = self._fewer_outputs()
        self.result = absint.analyze(self.model, refine=self.refine)
        self.names = list(self.result.symbols)
        chosen = self.result.declared_inputs.elements
        self.elements = {name: chosen[name].symbol.bounds for name in self.runs.elements}
        self.assumed = self._assumed()
        known = {*self.names, *self.elements}
        self.constraints = [c for c in self.result.constraints if c.formula.free_symbols <= known]
        assumed = (c.formula for c in self.constraints if c.role == "assumed")
        self.premises = list(dict.fromkeys((*assumed, *self.result.assumptions)))
        more = bindings(self.rng, self.names)[-BINDINGS // 2 :]
        for sizes in ({n: b[n] for n in self.names} for b in (*draft.bindings, *more)):
            self.at(sizes)

    def _declared(self) -> onnx.ModelProto:
        """The model with declarations of some values, which are true in some runs."""
        model = onnx.ModelProto()
        model.CopyFrom(self.runs.model)
        analysed = absint.analyze(model)
        shapes = analysed.shapes
        for name in self.rng.sample(list(shapes), min(2, len(shapes))):
            shape = shapes[name]
            fed = any(i.name == name for i in model.graph.input)
            if shape.rank is None or name in self.runs.draft.constants or fed:
                continue
            stated = [self.rng.choice([None, None, 1, 2, 3, 4, "N", "M"]) for _ in shape]
            value = analysed.values[name]
            assert isinstance(value, absint.Tensor)
            model.graph.value_info.append(helper.make_tensor_value_info(name, int(value.dtype), stated))
            self.declared += [equal(dim(name, axis), size) for axis, size in enumerate(stated) if size is not None]
        return model

    def _fewer_outputs(self) -> onnx.ModelProto:
        """The model with some of its outputs alone: a run executes the nodes that none of them needs all the same."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        kept = [o for o in model.graph.output if self.rng.random() < 0.3]
        kept = kept or self.rng.sample(list(model.graph.output), min(len(model.graph.output), 1))
        del model.graph.output[:]
        model.graph.output.extend(kept)
        return model

    def _assumed(self) -> str:
        """At times the analysis is given an assumption; runs that do not meet it then say nothing."""
        if not self.names or self.rng.random() < 0.8:
            return ""
        text = Asker(self.rng, [*self.names, *self.elements], {}).assumption().text
        try:
            self.result = absint.analyze(self.model, refine=self.refine, assume=[text])
        except absint.UsageError:
            return ""
        return text

    def wrong(self) -> Iterator[str]:
        """Every statement that some run contradicts."""
        self.counts.update(runs=len(self.made), succeeded=len(self.succeeded))
        for part in (self._whole, self._queries, self._ranges, self._checks, self._contract, self._classes):
            try:
                yield from part()
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                yield f"crash: {type(error).__name__}: {error}, in {Path(frame.filename).name}:{frame.lineno}"

    @property
    def made(self) -> list[Run]:
        """The runs so far that meet the numeric premises."""
        return [run for run in self.runs.made if self._meets_premises(run)]

    @property
    def succeeded(self) -> list[Run]:
        return [run for run in self.made if run.ok]

    def at(self, sizes: Mapping[str, int], kinds: Sequence[Kind] = KINDS) -> list[Run]:
        """The runs at these sizes, and elements if there are any, that say something."""
        binding = {name: sizes.get(name, 1) for name in self.names}
        binding |= {name: sizes[name] for name in self.elements if name in sizes}
        return [run for run in self.runs.runs(binding, kinds) if self._meets_premises(run)]

    def _meets_premises(self, run: Run) -> bool:
        return all(true_at(premise, run.sizes) for premise in self.premises)

    def _elements(self, share: float) -> dict[str, int]:
        """Numbers for some elements."""
        chosen = [name for name in self.elements if self.rng.random() < share]
        return {name: self.rng.choice([n for n in NUMBERS if n in self.elements[name]]) for name in chosen}

    # Whole result

    def _whole(self) -> Iterator[str]:
        for constraint in self.constraints:
            run = next((run for run in self.succeeded if constraint.formula.at(run.sizes) is NO), None)
            if run is not None:
                yield f"{constraint.role}: {constraint}, but it runs {at(run)}"
        run = next(iter(self.succeeded), None)
        if run is None:
            return
        conflict = self.result.rounds.conflict
        if conflict:
            yield f"requirements are said to contradict each other, but it runs {at(run)}: {list(map(str, conflict))}"
        if not self.result.can_run:
            yield f"is said never to run, but does {at(run)}: {self.result.diagnostics[0]}"

    # Proofs

    def _queries(self) -> Iterator[str]:
        if not self.names:
            return
        asker = Asker(self.rng, [*self.names, *self.elements], self._ranks())
        for _ in range(QUERIES):
            query = asker.query()
            given = self.rng.choice(["run", "run", "run", "inputs", *(["declared"] * 2 if self.declared else [])])
            assumed = [
                asker.query() if self.rng.random() < 0.4 else asker.assumption()
                for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2]))
            ]
            try:
                proof = self.result.prove(
                    query.text, given=given, assume=[a.text for a in assumed], seconds=self.seconds
                )
            except absint.UsageError as error:
                self.counts["refused: " + str(error).partition("\n")[0].partition("'")[0]] += 1
                continue
            self.counts[f"{given}: {proof.verdict.value}"] += 1
            about = f"{query.text!r} given {given!r}, {[a.text for a in assumed]}: {proof}"
            for problem in self._judged(query, assumed + (self.declared if given == "declared" else []), proof):
                yield f"{problem}; {about}"

    def _ranks(self) -> Mapping[str, int]:
        """Ranks of the values whose rank is the same in every run, or of all values if nothing runs."""
        found: dict[str, set[int]] = {}
        for run in self.succeeded:
            for name, shape in (run.shapes or {}).items():
                found.setdefault(name, set()).add(len(shape))
        if not found:
            for name, shape in self.result.shapes.items():
                if shape.rank is not None:
                    found[name] = {len(shape.dims)}
        return {name: ranks.pop() for name, ranks in found.items() if len(ranks) == 1 and name in self.result.shapes}

    def _judged(self, query: Query, assumed: Sequence[Query], proof: Proof) -> Iterator[str]:
        def fits(run: Run) -> bool:
            return all(a.holds(run.sizes, run.shapes or {}) is True for a in assumed)

        if proof.verdict is Verdict.PROVED:
            self._near(proof)
            for run in self.succeeded:
                if fits(run) and query.holds(run.sizes, run.shapes or {}) is False:
                    yield f"proved, but false {at(run)}"
                    return
        elif proof.verdict is Verdict.CONTRADICTION:
            run = next(filter(fits, self.succeeded), None)
            if run is not None:
                yield f"contradiction, but it runs {at(run)}"
        elif proof.verdict is Verdict.REFUTED:
            yield from self._refuted(query, assumed, proof)
        elif proof.verdict is Verdict.NOT_ENTAILED:
            yield from self._candidate(proof)

    def _candidate(self, proof: Proof) -> Iterator[str]:
        if proof.counterexample is None:
            yield "not entailed without a candidate"
            return
        self.at(proof.counterexample)
        values = {**proof.counterexample, **proof.invented}
        if proof.relation.at(values) is not NO:
            yield "not entailed, but the candidate does not make it false"
        given = [c for c in self.result.constraints.of_needed if proof.given != "inputs" or c.origin.node < 0]
        broken = next((c for c in given if c.formula.at(values) is NO), None)
        if broken is not None:
            yield f"not entailed, but the candidate breaks {broken}"

    def _near(self, proof: Proof) -> None:
        """More runs at sizes that the query mentions."""
        if self.succeeded and self.rng.random() < 0.5:
            base = self.rng.choice(self.succeeded).sizes
            name = self.rng.choice(self.names)
            self.at({**base, name: self.rng.randrange(0, 18), **self._elements(0.3)}, ("random",))

    def _refuted(self, query: Query, assumed: Sequence[Query], proof: Proof) -> Iterator[str]:
        if proof.counterexample is None:
            yield "refuted without a counterexample"
            return
        sizes = proof.counterexample
        if not set(self.names) <= sizes.keys() <= {*self.names, *self.elements}:
            yield "the counterexample does not give every symbol a size"
        if not proof.relation.free_symbols <= sizes.keys():
            yield "the counterexample has no number for an element that the query depends on"
        runs = self.at(sizes)
        good = [run for run in runs if run.ok]
        if not all(a.holds(run.sizes, run.shapes or {}) is True for a in assumed for run in good):
            yield f"refuted, but no run there meets what is assumed {at(good[0])}"
        self.counts["counterexamples run" if good else "counterexamples that do not run"] += bool(runs)
        by_rules = proof.given != "inputs" and proof.evidence != "run"  # other data than ours may have run
        for run in self.at(sizes, ("zeros",)) if by_rules else []:
            if not run.ok:
                yield f"refuted at sizes that do not run {at(run)}: {run.failure}"
        held = next((run for run in good if query.holds(run.sizes, run.shapes or {}) is True), None)
        if held is not None:
            yield f"refuted, but not false {at(held)}"

    # Sizes

    def _checks(self) -> Iterator[str]:
        made = [run.sizes for run in self.made]
        without = [{name: sizes[name] for name in self.names} for sizes in made] if self.elements else []
        done: list[Mapping[str, int]] = []
        for sizes in (*made, *without):
            if sizes in done:
                continue
            done.append(sizes)
            found = self.result.check(sizes)
            runs = self.at(sizes)
            good = next((r for r in runs if r.ok), None)
            bad = next((r for r in runs if not r.ok), None)
            self.counts[f"check: {found.outcome.value}"] += 1
            if found.outcome is Outcome.ILLEGAL and good is not None:
                yield f"check says {found}, but it runs {at(good)}"
            if found.outcome is Outcome.RUNS and bad is not None:
                yield f"check says {found}, but it fails {at(bad)}: {bad.failure}"
            if found.outcome is not Outcome.ILLEGAL and not found.premises:
                for other in (r for r in runs if r.ok):
                    yield from self._shapes(found.shapes, other)

    def _shapes(self, claimed: Mapping[str, tuple[int | None, ...] | None], run: Run) -> Iterator[str]:
        for name, actual in (run.shapes or {}).items():
            shape = claimed.get(name)
            if shape is not None and (
                len(shape) != len(actual) or any(a not in (None, b) for a, b in zip(shape, actual, strict=True))
            ):
                yield f"check says that {name} is {shape}, it is {actual} {at(run)}"

    def _ranges(self) -> Iterator[str]:
        for _ in range(BOXES):
            box = {}
            for name in self.names:
                lo = self.rng.choice([0, 1, 1, 2, 4])
                kind = self.rng.random()
                box[name] = (lo, lo) if kind < 0.4 else (lo, lo + self.rng.choice([1, 2, 6, 14]))
            for name, lo in self._elements(0.4).items():
                box[name] = (lo, max(n for n in (lo, lo + self.rng.choice([0, 0, 1, 3])) if n in self.elements[name]))
            found = self.result.check_range(box)
            self.counts[f"check_range: {found.outcome.value}"] += 1
            if found.sizes is not None:
                if not within(found.sizes, box):
                    yield f"check_range says {found}: the sizes are not in the box"
                good = next((run for run in self.at(found.sizes) if run.ok), None)
                if good is not None:
                    yield f"check_range says {found}, but it runs {at(good)}"
            for _ in range(4):
                self.at({name: self.rng.randint(lo, hi) for name, (lo, hi) in box.items()}, ("random", "zeros"))
            runs = [run for run in self.made if within(run.sizes, box)]
            for run in runs:
                if found.outcome is Outcome.RUNS and not run.ok:
                    yield f"check_range says {found}, but it fails {at(run)}: {run.failure}"
                    break
                failure = self.result.check(run.sizes).failure
                named = {item.origin.node for item in (*found.possible_failures, *found.open)}
                if found.ok and failure and failure.origin.node not in named:
                    yield f"check_range says {found}, but check says {failure} {at(run)}"
                    break

    def _contract(self) -> Iterator[str]:
        contract = self.result.contract()
        self.counts.update(contracts=1, clauses=len(contract.clauses))
        if contract.possible is False and self.succeeded:
            yield f"the contract is said to be impossible, but it runs {at(self.succeeded[0])}: {contract}"
        complete = not contract.possible_failures and not contract.beyond and self.result.is_complete
        for run in self.made:
            broken = [c for c in contract.clauses if not true_at(c.relation, run.sizes)]
            if run.ok and broken:
                yield f"the contract demands {broken[0]}, but it runs {at(run)}"
                break
            if not run.ok and not broken and complete:
                yield f"the contract says everything and allows it, but it fails {at(run)}: {run.failure}; {contract}"
                break
        yield from self._agreement(contract)
        for name in (*self.names, *self.elements):
            facts = self.result.symbol(name)
            for run in self.succeeded:
                size = run.sizes[name]
                fits = facts.lo <= size <= facts.hi and size % facts.modulus == facts.remainder
                if not fits or (facts.values is not None and size not in facts.values):
                    yield f"symbol says {facts}, but it runs {at(run)}"
                    break

    def _agreement(self, contract: Contract) -> Iterator[str]:
        """A check, of one size of each symbol or of the box with it alone, is never weaker than the contract."""
        drawn = [{name: self.rng.randrange(0, 9) for name in self.names} | self._elements(0.5) for _ in range(12)]
        for sizes in [*(dict(run.sizes) for run in self.made), *drawn]:
            if contract.allows(sizes):
                continue
            check = self.result.check(sizes)
            box = self.result.check_range({name: (size, size) for name, size in sizes.items()})
            self.counts["sizes that the contract rules out"] += 1
            if check.failure is None:
                yield f"the contract rules out {sizes}, but check says {check}: {contract}"
                return
            if box.failure is None:
                yield f"the contract rules out {sizes}, but check_range says {box}: {contract}"
                return

    def _classes(self) -> Iterator[str]:
        for group in self.result.equal_dims().classes:
            for run in self.succeeded:
                shapes = run.shapes or {}
                known = [p for p in group.members if p.value in shapes and p.axis < len(shapes[p.value])]
                sizes = {shapes[p.value][p.axis]: p for p in known}
                if len(sizes) > 1:
                    yield f"said to be equal: {list(map(str, sizes.values()))}, but they are {list(sizes)} {at(run)}"
                    break
        for alike in self.result.equal_shapes().classes:
            for run in self.succeeded:
                found = {(run.shapes or {})[name]: name for name in alike.members if name in (run.shapes or {})}
                if len(found) > 1:
                    yield f"said to be of equal shape: {found} {at(run)}"
                    break


def true_at(relation: Relation, sizes: Mapping[str, int]) -> bool:
    """The relation holds; it does not where it divides by zero."""
    return relation.at(sizes) is YES


def within(sizes: Mapping[str, int], box: Mapping[str, tuple[int, int]]) -> bool:
    return all(lo <= sizes[name] <= hi for name, (lo, hi) in box.items())


def at(run: Run) -> str:
    return "at " + ", ".join(f"{name}={size}" for name, size in run.sizes.items()) + f" on {run.kind} data"
