"""Smaller models that show the same fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx
from onnx import helper, printer

from tests.soundness.graph_drafts import Draft, Input, needed


def shrunk(draft: Draft, rounds: int = 12) -> Draft:
    """Take away nodes and dims greedily while some claim stays wrong."""
    best = draft
    for _ in range(rounds):
        smaller = next((c for c in candidates(best) if is_wrong(c)), None)
        if smaller is None:
            break
        best = smaller
    return best


def is_wrong(draft: Draft) -> bool:
    try:
        draft.rerun()
        return bool(draft.wrong()[1])
    except Exception:
        return False


def candidates(draft: Draft) -> Iterator[Draft]:
    """Drafts with less in them, boldest first."""
    count = len(draft.nodes)
    for keep in range(count):
        yield from ancestors(draft, keep)
    for drop in reversed(range(count)):
        dead = set(draft.nodes[drop].output)
        kept = []
        for node in draft.nodes:
            if node.output[0] in dead or dead & set(needed(node)):
                dead |= set(node.output)
            else:
                kept.append(node)
        yield copy(draft, kept)
    for at in reversed(range(count)):
        for source in draft.nodes[at].input:
            yield bypassed(draft, at, source)
    if len(draft.bindings) > 1:
        yield from (copy(draft, draft.nodes, bindings=[binding]) for binding in draft.bindings)
    used = {name for node in draft.nodes for name in needed(node)}
    if any(item.name not in used for item in draft.inputs):
        yield copy(draft, draft.nodes, inputs=[item for item in draft.inputs if item.name in used])
    for number, item in enumerate(draft.inputs):
        for axis, dim in enumerate(item.dims):
            if not isinstance(dim, int):
                for size in (1, 2):
                    inputs = list(draft.inputs)
                    inputs[number] = replace(item, dims=(*item.dims[:axis], size, *item.dims[axis + 1 :]))
                    yield copy(draft, draft.nodes, inputs=inputs)


def ancestors(draft: Draft, at: int) -> Iterator[Draft]:
    """Only what one node rests on."""
    wanted = set(draft.nodes[at].output)
    kept = []
    for node in reversed(draft.nodes[: at + 1]):
        if wanted & set(node.output):
            wanted |= set(needed(node))
            kept.append(node)
    if len(kept) < len(draft.nodes):
        yield copy(draft, kept[::-1])


def bypassed(draft: Draft, at: int, source: str) -> Draft:
    """A node left out, its users reading one of its inputs instead."""
    gone = set(draft.nodes[at].output)
    kept = []
    for node in (*draft.nodes[:at], *draft.nodes[at + 1 :]):
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        for index, name in enumerate(changed.input):
            if name in gone:
                changed.input[index] = source
        kept.append(changed)
    return copy(draft, kept)


def copy(
    draft: Draft,
    nodes: list[onnx.NodeProto],
    *,
    inputs: list[Input] | None = None,
    bindings: list[dict[str, int]] | None = None,
) -> Draft:
    return Draft(
        draft.seed,
        draft.opset,
        list(draft.inputs if inputs is None else inputs),
        list(draft.bindings if bindings is None else bindings),
        dict(draft.constants),
        set(draft.constant_nodes),
        list(nodes),
        fresh=draft.fresh,
    )


def printed(draft: Draft) -> str:
    """The model as text, its constants and bindings below."""
    model = draft.model()
    used = {name for node in draft.nodes for name in needed(node)}
    constants = "\n".join(f"  {n} = {a.dtype} {a.tolist()}" for n, a in draft.constants.items() if n in used)
    inputs = ", ".join(f"{i.name}: {helper.tensor_dtype_to_string(i.dtype)} {list(i.dims)}" for i in draft.inputs)
    nodes = "\n".join("  " + printer.to_text(node).strip() for node in model.graph.node)
    return f"opset {draft.opset}\ninputs {inputs}\n{nodes}\nconstants\n{constants}\nbindings {draft.bindings}"
