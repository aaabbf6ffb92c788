"""Changes to a random node: sizes, axes, types, attributes, inputs left out, elements, how inputs are given."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto

from tests.soundness.node_drafts import Input, NodeDraft, Size, as_array, numpy_type
from tests.soundness.node_schemas import schemas
from tests.soundness.node_sources import (
    MOST_ELEMENTS,
    attribute_value,
    attributes_seen,
    choose_types,
    controlling,
    formal_input,
    known,
    later,
    outputs_of,
    pool_of,
    schema_of,
)

Change = Callable[[random.Random, NodeDraft], NodeDraft]


def changed(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """The node after none to three random changes, with symbols for some of its sizes."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        draft = rng.choices([c for c, _ in CHANGES], [weight for _, weight in CHANGES])[0](rng, draft)
    return symbolic(rng, regiven(rng, draft))


def with_input(draft: NodeDraft, at: int, item: Input | None) -> NodeDraft:
    inputs = (*draft.inputs[:at], item, *draft.inputs[at + 1 :])
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return replace(draft, inputs=inputs)


def pick(rng: random.Random, draft: NodeDraft) -> tuple[int, Input] | None:
    """One of the inputs that are there."""
    there = [(at, item) for at, item in enumerate(draft.inputs) if item is not None]
    return rng.choice(there) if there else None


def reshaped(item: Input, dims: tuple[int, ...]) -> Input:
    """The input with other dims, known elements repeated or cut."""
    if item.items is not None:
        return replace(item, items=tuple(dims for _ in item.items))
    elements = item.elements
    if elements or item.given != "fed":
        count = prod(dims)
        if count > MOST_ELEMENTS:
            return item
        elements = (elements * count)[:count] if elements else (1,) * count
    return replace(item, dims=dims, elements=elements)


def resize(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Another size of one axis, or of all axes of this size."""
    found = pick(rng, draft)
    if found is None or not found[1].dims:
        return draft
    at, item = found
    axis = rng.randrange(len(item.dims))
    old = item.dims[axis]
    assert isinstance(old, int)
    new = rng.choice([0, 1, max(old - 1, 0), old + 1, 2 * old, 3])
    if rng.random() < 0.5:
        dims = tuple(new if a == axis else int(d) for a, d in enumerate(item.dims))
        return with_input(draft, at, reshaped(item, dims))
    for place, one in enumerate(draft.inputs):
        if one is not None and one.items is None and old in one.dims:
            dims = tuple(new if d == old else int(d) for d in one.dims)
            draft = with_input(draft, place, reshaped(one, dims))
    return draft


def rerank(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """One axis more or less."""
    found = pick(rng, draft)
    if found is None:
        return draft
    at, item = found
    dims = [int(d) for d in item.dims]
    kind = rng.random()
    if kind < 0.35 and dims:
        del dims[rng.randrange(len(dims))]
    elif kind < 0.5:
        dims = [1] * len(dims) if rng.random() < 0.5 else [prod(dims)]
    elif kind < 0.65:
        dims = rng.choice([[], [1], [1, 1], [0]])
    else:
        dims.insert(rng.randint(0, len(dims)), rng.choice([1, 1, 1, 2, 0]))
    return with_input(draft, at, reshaped(item, tuple(dims)))


def rerank_all(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """One axis more or less of every input of the first one's rank."""
    ranks = [len(item.dims) for item in draft.inputs if item is not None]
    if not ranks:
        return draft
    less, size = rng.random() < 0.5, rng.choice([1, 2, 3])
    place = rng.randint(0, ranks[0])
    for at, item in enumerate(draft.inputs):
        if item is not None and len(item.dims) == ranks[0]:
            dims = [int(d) for d in item.dims]
            if less:
                del dims[place : place + 1]
            else:
                dims.insert(place, size)
            draft = with_input(draft, at, reshaped(item, tuple(dims)))
    return draft


def retype(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Another element type, mostly one that the schema allows, of all inputs of one type."""
    schema = schema_of(draft)
    if schema is None:
        types = sorted({item.dtype for item in draft.inputs if item is not None})
        if not types:
            return draft
        old, new = rng.choice(types), rng.choice([1, 1, 10, 11, 6, 7, 2, 3])
        for at, item in enumerate(draft.inputs):
            if item is not None and item.dtype == old:
                draft = with_input(draft, at, cast(rng, item, new))
        return draft
    types_of = choose_types(rng, schema)
    for at, item in enumerate(draft.inputs):
        if item is not None and schema.inputs:
            formal = schema.inputs[min(at, len(schema.inputs) - 1)]
            made = formal_input(rng, schema, formal, types_of, ())
            if made is not None:
                draft = with_input(draft, at, cast(rng, item, made.dtype))
    return draft


def cast(rng: random.Random, item: Input, dtype: int) -> Input:
    """The input with elements of another type."""
    if dtype == item.dtype:
        return item
    try:
        pool = item.pool.astype(numpy_type(dtype) if dtype != TensorProto.BFLOAT16 else np.float32)
    except (ValueError, TypeError):
        pool = pool_of(rng, dtype)
    elements = item.elements
    if elements:
        try:
            elements = tuple(as_array(elements, numpy_type(dtype)).tolist())
        except (ValueError, TypeError):
            elements = tuple(rng.choice(pool.tolist()) for _ in elements)
    return replace(item, dtype=dtype, pool=pool, elements=elements, make=None)


def reattribute(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """One attribute more, less or otherwise."""
    attributes = dict(draft.attributes)
    schema = schema_of(draft)
    rank = next((len(item.dims) for item in draft.inputs if item is not None), 0)
    names = sorted(
        {*attributes, *(schema.attributes if schema else dict(attributes_seen((draft.domain, draft.operator))))}
    )
    if not names:
        return draft
    name = rng.choice(names)
    if name in attributes and rng.random() < 0.25:
        del attributes[name]
        return replace(draft, attributes=attributes)
    if name in attributes and rng.random() < 0.6:
        attributes[name] = nearby(rng, attributes[name], rank)
    elif schema is not None and name in schema.attributes:
        value = attribute_value(rng, schema, name, schema.attributes[name], rank)
        if value is not None:
            attributes[name] = value
    else:
        seen = [v for n, v in attributes_seen((draft.domain, draft.operator)) if n == name and v is not None]
        if seen:
            attributes[name] = rng.choice(seen)
    return replace(draft, attributes=attributes)


def nearby(rng: random.Random, value: Any, rank: int) -> Any:
    """A value of the same kind, near this one."""
    if isinstance(value, (bool, onnx.AttributeProto)):
        return value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, 0, 1, 2, -1, -rank, rank, rank - 1])
    if isinstance(value, float):
        return rng.choice([0.0, 1.0, -value, value * 2, 0.5])
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], int):
        found = list(value)
        at = rng.randrange(len(found))
        kind = rng.random()
        if kind < 0.6:
            found[at] = nearby(rng, found[at], rank)
        elif kind < 0.7:
            del found[at]
        elif kind < 0.8:
            found.append(rng.choice(found))
        else:
            rng.shuffle(found)
        return found
    return value


def drop(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """One input left out, mostly an optional one; or one more, where the schema knows it."""
    schema = schema_of(draft)
    if schema is not None and rng.random() < 0.5:
        free = [at for at in range(len(schema.inputs)) if at >= len(draft.inputs) or draft.inputs[at] is None]
        if free:
            at = rng.choice(free)
            base = next((item.dims for item in draft.inputs if item is not None), ())
            made = formal_input(rng, schema, schema.inputs[at], choose_types(rng, schema), tuple(map(int, base)))
            if made is not None:
                inputs = (*draft.inputs, *[None] * (at - len(draft.inputs) + 1))
                same = next((item.dtype for item in draft.inputs if item is not None), made.dtype)
                if made.given == "fed" and rng.random() < 0.7:
                    made = cast(rng, made, same)
                return with_input(replace(draft, inputs=inputs), at, made)
    if not draft.inputs:
        return draft
    at = rng.randrange(len(draft.inputs)) if rng.random() < 0.4 else len(draft.inputs) - 1
    return with_input(draft, at, None)


def repeat(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """One more of the last input, for operators of many."""
    last = draft.inputs[-1] if draft.inputs else None
    return draft if last is None else replace(draft, inputs=(*draft.inputs, last))


def reelement(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Other elements of an input whose elements are known."""
    there = [(at, i) for at, i in enumerate(draft.inputs) if i is not None and i.elements and i.items is None]
    if not there:
        return draft
    at, item = rng.choice(there)
    if rng.random() < 0.3:
        base = next((one.dims for one in draft.inputs if one is not None), ())
        return with_input(draft, at, replace(controlling(rng, item.dtype, tuple(map(int, base))), given=item.given))
    elements = list(item.elements)
    place = rng.randrange(len(elements))
    old = elements[place]
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        elements[place] = rng.choice([old + 1, old - 1, 0, 1, -old, 2, *elements])
        if numpy_type(item.dtype).kind == "u":
            elements[place] = abs(elements[place])  # type: ignore[arg-type]
    return with_input(draft, at, replace(item, elements=tuple(elements)))


def reversion(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Another version of the operator."""
    found = schemas().get((draft.domain, draft.operator))
    if not found:
        return draft
    schema = rng.choice(found)
    return replace(draft, version=later(rng, (draft.domain, draft.operator), schema))


def reoutput(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Another number of outputs."""
    schema = schema_of(draft)
    return draft if schema is None else replace(draft, outputs=outputs_of(rng, schema))


def pin(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Known elements for a small input that had random ones."""
    found = pick(rng, draft)
    if found is None or found[1].given != "fed" or found[1].items is not None or prod(map(int, found[1].dims)) > 12:
        return draft
    at, item = found
    if item.dtype == TensorProto.STRING or not item.pool.size:
        return draft
    data = as_array(tuple(rng.choice(item.pool.tolist()) for _ in range(prod(map(int, item.dims)))), item.pool.dtype)
    made = known(item.dtype, data.reshape([int(d) for d in item.dims]), rng.choice(["constant", "copied"]), item.make)
    return with_input(draft, at, replace(made, pool=item.pool, optional=item.optional))


CHANGES: Final[tuple[tuple[Change, int], ...]] = (
    (resize, 6),
    (rerank, 4),
    (rerank_all, 2),
    (retype, 2),
    (reattribute, 7),
    (drop, 3),
    (repeat, 1),
    (reelement, 4),
    (reversion, 2),
    (reoutput, 1),
    (pin, 3),
)


def regiven(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Known elements given otherwise: as an initialiser, behind an Identity, at run time, or computed from sizes."""
    for at, item in enumerate(draft.inputs):
        if item is None or item.given == "fed" or item.items is not None or rng.random() < 0.5:
            continue
        given = rng.choice(["constant", "copied", "hidden", "computed"])
        if given != "computed":
            draft = with_input(draft, at, replace(item, given=given))  # type: ignore[arg-type]
        elif item.dtype in (TensorProto.INT64, TensorProto.INT32) and 0 < len(item.elements) <= 8:
            pairs, original = [], dict(draft.original)
            for k, value in enumerate(item.elements):
                assert isinstance(value, (int, float))
                size = int(value) if 0 <= value <= 5 else rng.choice([1, 2])
                name = f"v{at}_{k}"
                original[name] = size
                pairs.append((name, int(value) - size))
            draft = with_input(draft, at, replace(item, given="computed", elements=tuple(pairs)))
            draft = replace(draft, original=original)
    return draft


def symbolic(rng: random.Random, draft: NodeDraft) -> NodeDraft:
    """Symbols for sizes of inputs: one for each size, one for each axis, or for some of them only."""
    original = dict(draft.original)
    kind = rng.choice(["shared", "shared", "distinct", "mixed", "mixed", "none"])
    share = rng.choice([0.3, 0.7, 1.0])
    unranked = rng.random() < 0.08

    def named(size: Size) -> Size:
        assert isinstance(size, int)
        if kind == "none" or rng.random() > share:
            return size
        shared = kind == "shared" or (kind == "mixed" and rng.random() < 0.6)
        name = f"s{size}" if shared else f"n{len(original)}"
        chance = rng.random()
        if not shared and size and chance < 0.08:
            original[name] = size - 1
            return f"{name} + 1"
        if not shared and size and not size % 2 and chance < 0.16:
            original[name] = size // 2
            return f"2*{name}"
        original[name] = size
        return name

    inputs: list[Input | None] = []
    for item in draft.inputs:
        if item is None:
            inputs.append(None)
            continue
        if item.items is not None:
            item = replace(item, items=tuple(tuple(map(named, dims)) for dims in item.items))
        elif item.given == "fed":
            item = replace(item, dims=tuple(map(named, item.dims)), ranked=not (unranked and rng.random() < 0.7))
        inputs.append(item)
    return replace(draft, inputs=tuple(inputs), original=original)
