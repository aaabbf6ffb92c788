"""Scan outputs after no trip: every operator whose rank onnxruntime is said to infer, run in a loop."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np
import pytest
from onnx import helper, parser

import absint
from absint.lattices.value import Tensor
from absint.shapes.loops import zero_trip_ranks as ranks
from tests.runs import Runs
from tests.soundness.claims import against
from tests.soundness.node_changes import symbolic
from tests.soundness.node_drafts import NodeDraft, TooLargeError
from tests.soundness.node_sources import begin
from tests.soundness.runs import ENGINE, typed

LISTED: Final = sorted(ranks.BY_RANKS | ranks.BY_CONSTANTS | ranks.BY_SIZES | {*ranks.SINCE})
BATCH: Final = 20
TRIES: Final = 12

SCALARS: Final = {"Constant", "Size"}
"""Listed operators of which no node here gives more than a scalar, or which need no input."""


def tried(operator: str, tries: int = TRIES, *, sized: bool = False) -> tuple[int, list[str]]:
    """The number of ranks of body values seen in a loop without iterations, and the false claims.

    With `sized` their sizes are looked at as well, and only what is more than a 0 counts.
    """
    shown, wrong = 0, []
    for seed in range(tries):
        rng = random.Random(seed)
        draft = begin(rng, seed, ("", operator))
        if draft is None:
            continue
        draft = replace(symbolic(rng, draft) if seed % 3 else draft, looped=True, version=max(draft.version, 13))
        for value, actual in without_a_trip(draft):
            claim = value if sized else ranked(value)
            wrong += against(f"{draft.source[:80]} seed {seed}", claim, actual, {})
            sizes = value.shape.dims if isinstance(value, Tensor) and not value.shape.is_top else ()
            shown += any(d.is_concrete and d != 0 for d in sizes) if sized else len(sizes) > 1
    return shown, wrong


def without_a_trip(draft: NodeDraft) -> list[tuple[Any, Any]]:
    """The claim about each collected output, and its value in a run without iterations."""
    model = draft.model()
    serialised = model.SerializeToString()
    binding = {name: draft.original.get(name, 2) for name in draft.symbols}
    try:
        feeds = {**draft.feeds(binding, np.random.default_rng(draft.seed)), "trips": np.array(0)}
    except TooLargeError:
        return []
    loaded, types = ENGINE.load(serialised)
    ok, values = ENGINE.run(serialised, feeds) if loaded else (False, ())
    if not ok:
        return []
    result = absint.analyze(model)
    claims = [result[info.name] for info in model.graph.output]
    return [(claim, typed(kind, value)) for claim, kind, value in zip(claims, types, values, strict=True)]


def ranked(value: Any) -> Any:
    rank = value.shape.rank if isinstance(value, Tensor) else None
    return value if rank is None else Tensor(value.dtype, absint.Shape([None] * rank))


@pytest.mark.parametrize("first", range(0, len(LISTED), BATCH))
def test_listed_operators_are_inferred(first: int) -> None:
    """No rank is wrong, and for every operator a run shows one that is more than a guess."""
    found = {operator: tried(operator) for operator in LISTED[first : first + BATCH]}
    assert not [text for _, wrong in found.values() for text in wrong]
    assert {operator for operator, (shown, _) in found.items() if not shown} <= SCALARS


# Control flow

HEAD = """<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
net (float[N, 3] x, int64 trips, bool flag) => (float[r, q] y) <int64[1] two = {2}> {
    go = Constant <value = bool {1}> ()
    y = Loop (trips, go) <body = body (int64 i, bool c) => (bool d, float[] z) { d = Identity(c) """
FUNCTION = """<domain: "f", opset_import: ["" : 17]> f (a) => (b) { b = Relu(a) }"""
SAME = (
    "z = If (flag) <then_branch = t () => (float[] u) { u = Relu(x) }, "
    "else_branch = e () => (float[] v) { v = Neg(x) }>"
)
OTHER = SAME.replace("Neg(x)", "Unsqueeze(x, two)")
DEAD = (
    "no = Constant <value = bool {0}> () z = If (no) <then_branch = t () => (float[] u) "
    "{ k = Constant <value = int64[1] {0}> () u = Unsqueeze(x, k) }, else_branch = e () => (float[] v) { v = Neg(x) }>"
)
INNER = (
    "one = Constant <value = int64 {1}> () w = Loop (one, c) <body = inner (int64 j, bool p) => (bool q, float[] s) "
    "{ q = Identity(p) s = Relu(x) }> z = Relu(w)"
)
SCANNED = "w = Scan <num_scan_inputs = 1, body = inner (float[] s) => (float[] t) { t = Relu(s) }> (x) z = Relu(w)"
LISTS = "s = SequenceConstruct(x, x) k = Constant <value = int64 {0}> () z = SequenceAt(s, k)"
OPTIONAL = "o = Optional(x) z = OptionalGetElement(o)"
CONTRIB = "z = com.microsoft.QuickGelu(x)"
BODIES: Mapping[str, tuple[str, int | None]] = {
    "branches of one rank": (SAME, 3),
    "branches of two ranks": (OTHER, None),
    "a branch that is never taken": (DEAD, None),
    "a branch of a branch": (SAME.replace("v = Neg(x)", "w = Relu(x) v = Neg(w)"), 3),
    "a loop": (INNER, 4),
    "a scan": (SCANNED, None),
    "a sequence": (LISTS, None),
    "an optional": (OPTIONAL, None),
    "a function": ("z = f.f(x)", 3),
    "an operator of another domain": (CONTRIB, None),
    "a constant made by a node": ("k = Identity(two) z = Unsqueeze(x, k)", None),
    "a constant of the main graph": ("z = Unsqueeze(x, two)", 4),
    "a constant that is a node": ("k = Constant <value_ints = [0, 1]> () z = Unsqueeze(x, k)", 5),
    "a squeezed axis": ("k = Constant <value_ints = [0]> () w = Unsqueeze(x, k) z = Squeeze(w, k)", 3),
    "all squeezed axes": ("z = Squeeze(x)", None),
    "axes that are not listed": ("k = Shape <start = 2> (x) z = Squeeze(x, k)", None),
    "a length that is no constant": (
        "w = Unsqueeze(x, two) k = Shape<start = 1>(x) n = Squeeze(k) z = DFT(w, n)",
        None,
    ),
    "a flag that is neither 0 nor 1": ("z = ReduceSum<keepdims = 0, noop_with_empty_axes = 2>(x)", None),
    "a function of another version": ("w = GreaterOrEqual(x, x) z = Cast <to = 1> (w)", 3),
}


@pytest.mark.parametrize(("text", "rank"), BODIES.values(), ids=BODIES)
def test_control_flow(text: str, rank: int | None) -> None:
    model = parser.parse_model(HEAD + text + " }> }\n" + FUNCTION)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for flag, trips in product((False, True), (0, 2)):
        runs = Runs(model, data={"flag": flag, "trips": trips})
        found = runs.result["y"]
        assert isinstance(found, Tensor)
        assert found.shape.rank == rank
        for size in (2, 1 if trips else 0):  # onnxruntime scans no empty tensor
            assert not runs.wrong({"N": size})
