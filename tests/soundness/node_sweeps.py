"""One thing of a node changed at a time: each rank, declared or not, each size and attribute, each input left out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import onnx

from tests.soundness.node_changes import reshaped, schema_of, with_input
from tests.soundness.node_drafts import NodeDraft
from tests.soundness.node_schemas import Operator, schemas
from tests.soundness.node_sources import begin, later

RANKS: Final = range(6)
VALUES: Final = (-3, -2, -1, 0, 1, 2, 3)


def sweep(operator: Operator, bases: int, seed: int) -> Iterator[NodeDraft]:
    """The variations of some nodes of an operator; those of one number are the same every time."""
    for number in range(bases):
        rng = random.Random(f"{operator} {seed} {number}")
        draft = begin(rng, seed, operator)
        if draft is None:
            continue
        yield draft
        yield from _ranks(draft)
        yield from undeclared(draft)
        yield from _sizes(draft)
        yield from _attributes(draft)
        yield from _inputs(draft)
        for schema in schemas().get(operator, ()):
            yield replace(draft, version=later(rng, operator, schema))


def _ranks(draft: NodeDraft) -> Iterator[NodeDraft]:
    for at, item in enumerate(draft.inputs):
        if item is None or item.items is not None:
            continue
        dims = [int(d) for d in item.dims]
        for rank in RANKS:
            if rank < len(dims):
                yield with_input(draft, at, reshaped(item, tuple(dims[len(dims) - rank :])))
                yield with_input(draft, at, reshaped(item, tuple(dims[:rank])))
            elif rank > len(dims):
                more = (1,) * (rank - len(dims))
                yield with_input(draft, at, reshaped(item, (*more, *dims)))
                yield with_input(draft, at, reshaped(item, (*dims, *more)))


def undeclared(draft: NodeDraft) -> Iterator[NodeDraft]:
    """An input of unknown rank: the one that the others suggest, and every other, of full and of empty axes."""
    for at, item in enumerate(draft.inputs):
        if item is None or item.items is not None or item.is_known:
            continue
        dims = tuple(int(d) for d in item.dims)
        shapes = {dims}
        for rank in RANKS:
            kept, missing = dims[:rank], max(rank - len(dims), 0)
            shapes |= {(*kept, *(size,) * missing) for size in (0, 1)} | {(0,) * rank, (1,) * rank, (2,) * rank}
            shapes |= {dims[len(dims) - rank :]} if rank < len(dims) else set()
        for shape in sorted(shapes):
            yield with_input(draft, at, replace(reshaped(item, shape), ranked=False))


def _sizes(draft: NodeDraft) -> Iterator[NodeDraft]:
    for at, item in enumerate(draft.inputs):
        if item is None or item.items is not None:
            continue
        dims = [int(d) for d in item.dims]
        for axis in range(len(dims)):
            for size in (0, 1, dims[axis] + 1):
                yield with_input(draft, at, reshaped(item, (*dims[:axis], size, *dims[axis + 1 :])))
    for size in {int(d) for item in draft.inputs if item is not None for d in item.dims}:
        for other in (0, 1, size + 1):
            found = draft
            for at, item in enumerate(draft.inputs):
                if item is not None and item.items is None:
                    found = with_input(
                        found, at, reshaped(item, tuple(other if d == size else int(d) for d in item.dims))
                    )
            yield found


def _attributes(draft: NodeDraft) -> Iterator[NodeDraft]:
    for name, value in draft.attributes.items():
        yield replace(draft, attributes={n: v for n, v in draft.attributes.items() if n != name})
        if isinstance(value, int):
            for other in VALUES:
                yield replace(draft, attributes={**draft.attributes, name: other})
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], int):
            yield replace(draft, attributes={**draft.attributes, name: value[1:]})
            yield replace(draft, attributes={**draft.attributes, name: [*value, 1]})
            for at in range(len(value)):
                for other in VALUES:
                    changed = [*value[:at], other, *value[at + 1 :]]
                    yield replace(draft, attributes={**draft.attributes, name: changed})
    schema = schema_of(draft)
    for name, known in schema.attributes.items() if schema is not None else ():
        if known.type == onnx.defs.OpSchema.AttrType.INT and name not in draft.attributes:
            for other in VALUES:
                yield replace(draft, attributes={**draft.attributes, name: other})


def _inputs(draft: NodeDraft) -> Iterator[NodeDraft]:
    for at, item in enumerate(draft.inputs):
        if item is not None:
            yield with_input(draft, at, None)
            yield replace(draft, inputs=(*draft.inputs[: at + 1], item, *draft.inputs[at + 1 :]))
            elements = item.elements
            for place in range(min(len(elements), 4)):
                old = elements[place]
                if isinstance(old, (int, float)) and not isinstance(old, bool):
                    for other in VALUES:
                        changed = (*elements[:place], other, *elements[place + 1 :])
                        yield with_input(draft, at, replace(item, elements=changed))
