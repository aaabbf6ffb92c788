"""Claims of a model's author, and of an analysis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from absint.jobs.auditing.audit import Claims
from absint.jobs.auditing.bodies import bodies
from absint.jobs.copies.type_writer import Writer
from absint.lattices.value import Tensor
from absint.questions.claims.claims import Stated
from absint.questions.claims.reading import names_in, stated_dim
from absint.shapes.assumptions import Assumption

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto

    from absint.model.load import Loaded, ModelLike
    from absint.result import Result


def declared(model: ModelProto) -> Claims:
    """The author's types of inner values, outputs, bodies and the values of functions (these once for each call)."""
    return Claims("declared", shapes_in(model))


def shapes_in(model: ModelProto, *, inputs: bool = False) -> dict[str, tuple[Stated, ...] | None]:
    """The declared shapes of tensors; those of graph inputs only on request."""
    found: dict[str, tuple[Stated, ...] | None] = {}
    for body in bodies(model):
        infos = [*(model.graph.input if inputs and not body.path else ()), *body.declared]
        for info in infos:
            stated = stated_shape(info.type)
            if stated is not None or info.type.WhichOneof("value") == "tensor_type":
                key = body.key(info.name)
                found[key] = stated if found.get(key) is None else found[key]
    return found


def stated_shape(proto: TypeProto) -> tuple[Stated, ...] | None:
    """The dims of a tensor type; None where the rank is unknown, and for what is no tensor."""
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.HasField("shape"):
        return None
    return tuple(stated_dim(dim) for dim in proto.tensor_type.shape.dim)


def texts_in(model: ModelProto) -> set[str]:
    """Every text that stands for a dim in the model."""
    shapes = shapes_in(model, inputs=True).values()
    return {stated for shape in shapes for stated in shape or () if isinstance(stated, str)}


def by_policy(policy: str, model: ModelLike | Loaded, assume: Sequence[Assumption] = ()) -> Claims:
    """The shapes that the analysis infers under a unification policy. Raises UsageError for an unknown policy."""
    from absint.api import analyze

    start = perf_counter()
    result = analyze(model, assume=assume, policy=policy)
    claims = by_result(result.policy.label or f"policy {policy}", result)
    return Claims(claims.source, claims.shapes, seconds=perf_counter() - start, anonymous=claims.anonymous)


def by_result(source: str, result: Result) -> Claims:
    """The shapes that an analysis infers for the main graph. Fresh symbols are its anonymous names."""
    writer = Writer(result, set())
    shapes: dict[str, tuple[Stated, ...] | None] = {}
    for name, (node, at) in _computed(result):
        state = result.states[node]
        value = state[at] if at < len(state) else None
        if isinstance(value, Tensor) and not value.shape.is_bottom:
            known = value.shape.rank is not None
            shapes[name] = tuple(writer.text(dim) for dim in value.shape.dims) if known else None
    return Claims(source, shapes, anonymous=_invented(result, shapes.values()))


def _computed(result: Result) -> Iterator[tuple[str, tuple[int, int]]]:
    """The values that nodes of the main graph compute."""
    for name, operand in result.operands.items():
        if operand[0] >= 0 and result.nodes[operand[0]].value is None:
            yield name, operand


def _invented(result: Result, shapes: Iterable[tuple[Stated, ...] | None]) -> frozenset[str]:
    """The names in the shapes that are no symbols of the inputs."""
    texts = {stated for shape in shapes for stated in shape or () if isinstance(stated, str)}
    return frozenset(name for text in texts for name in names_in(text, result.symbols)) - set(result.symbols)


__all__ = ["by_policy", "by_result", "declared", "shapes_in", "stated_dim", "stated_shape", "texts_in"]
