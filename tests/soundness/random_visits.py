"""Random models of nested branches, loops, scans and functions: every claim about every visit of every body.

    python -m tests.soundness.random_visits --seconds 60 --seed 0

prints wrong claims with the seed of their model, and exits with 1 if there is one; `--count 1` tries a single model.
`--semantics onnxruntime` asks for answers about onnxruntime alone.

    visits           an interpreter of control flow that records what each visit computes, and the check of claims
    nested_drafts    statements without bodies
    nested_models    statements with bodies, functions, and whole models
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import onnx

from absint import Result, analyze
from absint.questions.sizes.outcomes import Outcome
from absint.transfer.semantics import EITHER, SEMANTICS, Semantics
from tests.soundness.nested_models import Maker
from tests.soundness.runs import ENGINE
from tests.soundness.visits import DeadError, Env, Interpreter, Visit, wrong

_OUT_OF_MEMORY = "SafeIntOnOverflow", "Failed to allocate memory", "bad allocation"
"""In messages of runs that fail for memory, or for more elements than 64 bits count: answers leave these apart."""


def problems(seed: int, totals: Counter[str], semantics: Semantics = EITHER) -> Iterator[str]:
    """The claims about the model of this seed that a run contradicts."""
    made = Maker(seed).model()
    if made is None:
        return
    model, sizes, envs = made
    result = analyze(model, semantics=semantics)
    try:
        result.verify()
    except AssertionError as error:
        yield f"no fixpoint: {error}"
        return
    if result.analysis.crashes:
        yield f"rules fail: {result.analysis.crashes}"
        return
    totals["models"] += 1
    if not ENGINE.load(model.SerializeToString())[0]:
        totals["unloadable"] += 1
        return
    for binding, env in zip(sizes, envs, strict=True):
        for problem in _at(model, result, binding, env, totals):
            yield f"at {binding}: {problem}"


def _at(
    model: onnx.ModelProto, result: Result, binding: dict[str, int], env: Env, totals: Counter[str]
) -> Iterator[str]:
    ok, reply = ENGINE.run(model.SerializeToString(), {name: np.asarray(value) for name, value in env.items()})
    check = result.check({name: size for name, size in binding.items() if name in result.symbols})
    if not ok and any(text in str(reply) for text in _OUT_OF_MEMORY):
        totals["out of memory"] += 1
        return
    if not ok:
        totals["failed"] += 1
        if check.outcome is Outcome.RUNS:
            yield f"check says that it runs: {reply}"
        return
    totals["runs"] += 1
    if not check.ok:
        yield f"it runs, and check says: {check}"
    ran = dict(zip([o.name for o in model.graph.output], reply, strict=True))
    visit = visited(model, env)
    if visit is None:
        totals["not interpreted"] += 1
        visit = Visit("", dict(env))
    for name, value in ran.items():
        other = visit.values.get(name)
        if isinstance(other, np.ndarray) and (other.shape, other.dtype) != (value.shape, value.dtype):
            yield f"{name}: the interpreter gives {other.dtype}{other.shape}, ran {value.dtype}{value.shape}"
    visit.values.update(ran)
    totals["visits"] += visit.count
    yield from (text for text in wrong(result, visit, dict(binding)) if " assumed: " not in text)


def visited(model: onnx.ModelProto, env: Env) -> Visit | None:
    """What each visit computes; None where this interpreter cannot follow the run."""
    visit = Visit("", dict(env))
    opset = next(entry.version for entry in model.opset_import if not entry.domain)
    try:
        Interpreter(opset, model.functions).graph(model.graph.node, dict(env), visit)
    except DeadError:
        return None
    return visit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 60)
    parser.add_argument("--semantics", choices=SEMANTICS, default=EITHER)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    totals: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = list(problems(seed, totals, args.semantics))
        totals["wrong"] += bool(found)
        for problem in found[:3]:
            print(f"seed {seed}: {problem}", flush=True)
    print(dict(totals))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
