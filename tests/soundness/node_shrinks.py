"""Smaller nodes that show the same fault, and a node as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

from onnx import helper

from tests.soundness.node_changes import reshaped, with_input
from tests.soundness.node_drafts import Input, NodeDraft


def shrunk(draft: NodeDraft, is_wrong: Callable[[NodeDraft], bool], rounds: int = 30) -> NodeDraft:
    """Take away inputs, attributes, symbols and axes greedily while the fault stays."""
    for _ in range(rounds):
        smaller = next((c for c in candidates(draft) if holds(c, is_wrong)), None)
        if smaller is None:
            break
        draft = smaller
    return draft


def holds(draft: NodeDraft, is_wrong: Callable[[NodeDraft], bool]) -> bool:
    try:
        return is_wrong(draft)
    except Exception:
        return False


def candidates(draft: NodeDraft) -> Iterator[NodeDraft]:
    """Nodes with less in them, boldest first."""
    for at, item in reversed(list(enumerate(draft.inputs))):
        if item is not None:
            yield with_input(draft, at, None)
    for name in draft.attributes:
        yield replace(draft, attributes={n: v for n, v in draft.attributes.items() if n != name})
    if draft.outputs > 1:
        yield replace(draft, outputs=draft.outputs - 1)
    for at, item in enumerate(draft.inputs):
        if item is not None:
            for smaller in simpler(draft, item):
                yield with_input(draft, at, smaller)


def simpler(draft: NodeDraft, item: Input) -> Iterator[Input]:
    if item.make is not None:
        yield replace(item, make=None)
    if item.given in ("copied", "hidden"):
        yield replace(item, given="constant")
    if item.items:
        yield replace(item, items=item.items[1:])
    for axis, dim in enumerate(item.dims):
        rest = (*item.dims[:axis], *item.dims[axis + 1 :])
        if not item.elements and all(isinstance(d, int) for d in rest):
            yield reshaped(item, rest)  # type: ignore[arg-type]
        if isinstance(dim, str) and dim in draft.original:
            yield replace(item, dims=(*item.dims[:axis], draft.original[dim], *item.dims[axis + 1 :]))
        if isinstance(dim, int) and dim > 2 and not item.elements:
            yield replace(item, dims=(*item.dims[:axis], 2, *item.dims[axis + 1 :]))
        if isinstance(dim, int) and len(item.elements) > 1 and dim > 1:
            dims = (*item.dims[:axis], dim - 1, *item.dims[axis + 1 :])
            count = prod(int(d) for d in dims)
            yield replace(item, dims=dims, elements=item.elements[:count])


def printed(draft: NodeDraft) -> str:
    """The node as text."""
    lines = [f"{draft}{' in a loop' if draft.looped else ''} seed {draft.seed} from {draft.source[:100]}"]
    for at, item in enumerate(draft.inputs):
        if item is None:
            lines.append(f"  x{at} left out")
            continue
        kind = helper.tensor_dtype_to_string(item.dtype).removeprefix("TensorProto.").lower()
        dims = list(item.dims) if item.items is None else f"sequence {[list(d) for d in item.items]}"
        known = f" = {list(item.elements)}" if item.given != "fed" else ""
        extras = "".join([" unranked"] * (not item.ranked) + [" optional"] * item.optional)
        lines.append(f"  x{at} {kind}{dims} {item.given}{known}{extras}")
    lines.append(f"  {dict(draft.attributes)} outputs {draft.outputs} original {dict(draft.original)}")
    return "\n".join(lines)
