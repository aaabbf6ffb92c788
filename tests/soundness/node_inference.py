"""A node without a kernel: the types and sizes that onnxruntime infers when it loads it, held against the claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from onnx import ValueInfoProto

import absint
from tests.soundness.claims import Claims, against_sizes
from tests.soundness.models import Binding
from tests.soundness.node_drafts import Input, NodeDraft, TooLargeError, size_at, wrapped
from tests.soundness.runs import ENGINE
from tests.transfer.inference import Inferred, read_inference

MOST: Final = 3
"""Bindings of a node that are tried: each takes a load for every size."""

BLIND_TO_PADS: Final = ("ConvTransposeWithDynamicPads",)
"""Their inference takes no notice of auto_pad, which their kernel for floats follows."""


def against_inference(draft: NodeDraft, claims: Claims, bindings: Iterable[Binding]) -> Iterator[list[str]]:
    """What each binding of legal sizes at which onnxruntime infers something contradicts."""
    if draft.attributes.get("auto_pad") and draft.operator in BLIND_TO_PADS:
        return
    for binding in islice((b for b in bindings if not claims.broken(b)), MOST):
        try:
            model = at_sizes(draft, binding).model()
        except TooLargeError:
            continue
        here = Claims.of(absint.analyze(model))
        if here.broken({}):
            continue
        names = [info.name for info in model.graph.output]

        def refusal(outputs: list[ValueInfoProto], model=model) -> str:  # type: ignore[no-untyped-def]
            del model.graph.output[:]
            model.graph.output.extend(outputs)
            return ENGINE.refusal(model.SerializeToString())

        found = {name: read_inference(names, at, refusal) for at, name in enumerate(names)}
        known = {name: one for name, one in found.items() if isinstance(one, Inferred)}
        if known:
            problems = [
                f"{problem} (inferred)"
                for name, one in known.items()
                for problem in against_sizes(name, claims.values[name], one.dtype, one.dims, dict(binding))
            ]
            # Inference does not see all that is illegal, so a node that may be illegal shows nothing.
            yield [] if here.may_fail else problems


def at_sizes(draft: NodeDraft, binding: Binding) -> NodeDraft:
    """The node with numbers for the sizes of its inputs. Raises TooLargeError."""
    return replace(draft, inputs=tuple([item and _at_sizes(item, binding) for item in draft.inputs]), original={})


def _at_sizes(item: Input, binding: Binding) -> Input:
    if item.given == "computed":
        numbers = tuple([wrapped(binding[e[0]] + e[1]) if isinstance(e, tuple) else e for e in item.elements])
        item = replace(item, given="constant", elements=numbers)
    dims = tuple([size_at(dim, binding) for dim in item.dims])
    items = None if item.items is None else tuple([tuple([size_at(d, binding) for d in one]) for one in item.items])
    return replace(item, dims=dims, items=items, ranked=True)
