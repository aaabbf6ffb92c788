"""A random node analysed once with symbols, then run at several sizes: what the runs say against the analysis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import onnx
from onnx import numpy_helper

import absint
from absint.lattices.logic.relation import NO
from absint.questions.sizes.outcomes import Outcome
from tests.soundness import limits
from tests.soundness.claims import Claims
from tests.soundness.models import Binding, all_nodes
from tests.soundness.node_drafts import NodeDraft, TooLargeError
from tests.soundness.node_inference import against_inference
from tests.soundness.runs import ENGINE, typed

NOT_THERE: Final = re.compile(
    "NOT_IMPLEMENTED|Could not find an implementation|is not a registered|No Op registered|under development"
    "|ONNX Runtime only \\*guarantees\\*|Unsupported type proto|Unable to handle object of type"
    "|not supported in this build|onnxruntime did not end|No corresponding Numpy type|InsertedPrecisionFreeCast"
    r"|Type \(optional\(tensor\(float16\)\)\) of output arg"  # said of Optional-28, which has no kernel at all
    r"|bound to different types \(.*\) in node \(\)|of operator \(.*\) in node \(\) is invalid"
)
"""Failures that speak of the runtime, not of the node."""


ILL_TYPED: Final = re.compile(
    r"Type Error|Type parameter|Type '.*' of input|expected to have type|element type"
    "|bit-width|type inference failed|valid type"
)
"""Failures that speak of element types."""


@dataclass
class Verdict:
    """The results of one node."""

    draft: NodeDraft
    wrong: list[str] = field(default_factory=list)
    """Claims, requirements and errors that a run contradicts."""
    broken: list[str] = field(default_factory=list)
    """Sizes that `check` says run, for all data, where the run fails."""
    ill_typed: list[str] = field(default_factory=list)
    """The same, where the run fails for an element type."""
    premises: list[str] = field(default_factory=list)
    """Numeric premises that exclude small sizes."""
    ran: int = 0
    failed: int = 0
    inferred: int = 0
    """Bindings at which onnxruntime's inference was held against the claims, for want of a kernel."""
    missing: bool = False
    """onnxruntime has no kernel for the node."""
    failures: list[str] = field(default_factory=list)


def bindings(draft: NodeDraft) -> Iterator[dict[str, int]]:
    """The sizes that the node began with, then 1, equal, coprime and 0, and one of each changed."""
    original = {name: draft.original.get(name, 2) for name in draft.symbols}
    seen = set()
    rng = np.random.default_rng(draft.seed)
    found = [original]
    if original:
        names = list(original)
        primes = rng.permutation([2, 3, 5, 7]).tolist()
        found += [{**original, n: v} for n in names for v in (0, 1, original[n] + 1)]
        tail = found[1:]
        rng.shuffle(tail)  # type: ignore[arg-type]
        found = [
            original,
            *tail[:4],
            dict.fromkeys(names, 1),
            {n: primes[i % 4] for i, n in enumerate(names)},
            dict.fromkeys(names, int(rng.choice([2, 3, 4]))),
            dict.fromkeys(names, 0),
            {n: int(rng.integers(0, 6)) for n in names},
        ]
    for binding in found:
        key = tuple(binding.values())
        if key not in seen:
            seen.add(key)
            yield binding


def examine(draft: NodeDraft, *, every: bool = True, declared: bool = False) -> Verdict:
    """Analyse the node, run it at each binding. With `every` off, stop at the first fault.

    The model that is run has `declared` shapes or none.
    """
    verdict = Verdict(draft)
    model = draft.model()
    result = absint.analyze(model, semantics=draft.semantics)
    for node, error in result.analysis.crashes.items():
        verdict.wrong.append(f"the rule of {result.nodes[node]} failed: {error}")
    claims = Claims.of(result)
    runnable = draft.model(
        declared=declared or draft.looped
    )  # what type inference finds in a loop depends on what is declared
    serialised = runnable.SerializeToString()
    loaded, reply = ENGINE.load(serialised)
    if not loaded and NOT_THERE.search(str(reply)):
        verdict.missing = True
        verdict.failures.append(str(reply))
        is_of_onnx = onnx.defs.has(draft.operator, draft.domain)  # whose inference need not see what is illegal
        for problems in () if is_of_onnx else against_inference(draft, claims, bindings(draft)):
            verdict.inferred += 1
            verdict.wrong += problems
        return verdict
    if loaded and not draft.looped:
        verdict.broken += _unloadable(result, model, draft)
    names = [info.name for info in runnable.graph.output]
    for number, binding in enumerate(bindings(draft)):
        for seed in (0, 1) if number == 0 else (0,):
            rng = np.random.default_rng([draft.seed, number, seed])
            try:
                feeds = draft.feeds(binding, rng)
            except TooLargeError:
                continue
            ok, values = ENGINE.run(serialised, feeds) if loaded else (False, reply)
            if not ok:
                verdict.failed += 1
                text = str(values)
                verdict.failures.append(text)
                if NOT_THERE.search(text):
                    continue
                if _says_runs(result, binding):
                    kind = verdict.ill_typed if ILL_TYPED.search(text) else verdict.broken
                    kind.append(f"at {binding}: check says that it runs, but: {shortened(text)}")
                continue
            verdict.ran += 1
            outputs = dict(zip(names, map(typed, reply, values), strict=True))
            if limits.deviates(inside(runnable), {**constants(runnable), **feeds, **outputs}):
                continue
            for problem in claims.wrong(binding, {**feeds, **outputs}):
                verdict.wrong.append(f"at {binding}: {problem}")
            for where, statement in claims.statements:
                if statement.role == "assumed" and statement.relation.at(binding) is NO:
                    verdict.premises.append(f"at {binding}: {where} assumes {statement.relation} ({statement.reason})")
        if not every and (verdict.wrong or verdict.broken or verdict.ill_typed or verdict.premises):
            break
    return verdict


def _unloadable(result: absint.Result, model: onnx.ModelProto, draft: NodeDraft) -> Iterator[str]:
    """The failure to load the model whose inputs have the shapes that the analysis saw, where `check` says it runs."""
    loaded, reply = ENGINE.load(model.SerializeToString())
    if not loaded and not NOT_THERE.search(str(reply)):
        for binding in bindings(draft):
            if _says_runs(result, binding):
                yield f"at {binding}: check says that it runs, but as declared: {shortened(str(reply))}"
                return


def inside(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The nodes, those of bodies included."""
    return list(all_nodes(model.graph.node))


def shortened(failure: str) -> str:
    """The part of a failure that speaks of the node."""
    text = re.sub(r"^.*?(Status Message:|Error:|Non-zero status code[^']*'[^']*')", "", failure.replace("\n", " "))
    return text.strip()[:300]


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The initialisers by name."""
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def _says_runs(result: absint.Result, binding: Binding) -> bool:
    return result.check({name: binding[name] for name in result.symbols}).outcome is Outcome.RUNS
