"""In a process of its own: run a model on several feeds, and return the shapes of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from absint.runs.session import Handed, Session

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnx.reference import ReferenceEvaluator

Feeds = Mapping[str, Any]
MAX_WEIGHTS: Final = 1 << 25
"""Elements of external data that are read for the reference implementation."""

MARK: Final = "absint:"
"""Before the path in the name of a graph."""

Names = Sequence[str] | None
Shapes = dict[str, list[tuple[int, ...]]]
"""Value -> its shape each time it is computed; a value of the main graph is computed once."""


class Request(NamedTuple):
    """A model and feeds. For the reference implementation, graphs of bodies are named by their paths."""

    model: Handed
    names: Sequence[str]
    """The outputs to ask for."""
    functions: Mapping[tuple[str, str], str]
    """Functions that are called once, with the path of the call."""
    feeds: Sequence[Feeds]
    folder: str | None
    reference: bool
    """Run onnx's reference implementation, which shows the values of bodies too."""


def run(request: object) -> list[Shapes | str]:
    """For each feed the computed shapes, or one line on why there is no run."""
    assert isinstance(request, tuple)
    asked = Request(*request)
    execute = _by_reference(asked) if asked.reference else _by_onnxruntime(asked)
    return list(execute)


def _by_onnxruntime(asked: Request) -> Iterator[Shapes | str]:
    session = Session(asked.model.read(), asked.names, asked.folder)
    for feeds in asked.feeds:
        try:
            values = session.run(feeds)
        except Exception as error:
            yield str(error)
        else:
            yield {n: [tuple(v.shape)] for n, v in {**values, **feeds}.items() if isinstance(v, np.ndarray)}


def _by_reference(asked: Request) -> Iterator[Shapes | str]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    shapes: Shapes = {}

    class Observing(ReferenceEvaluator):  # type: ignore[misc,unused-ignore]
        """Notes the shapes of all values, those of bodies and functions too."""

        def run(self, output_names: Names, *args: object, **options: object) -> list[object]:
            found = cast("dict[str, object]", super().run(None, *args, **{**options, "intermediate": True}))  # type: ignore[arg-type]
            path = _path(self, asked.functions)
            for name, value in found.items() if path is not None else ():
                if isinstance(value, np.ndarray):
                    shapes.setdefault(f"{path}/{name}" if path else name, []).append(tuple(value.shape))
            return [found[name] for name in output_names or self.output_names]

    model = onnx.load_model_from_string(asked.model.read())
    _read_weights(model, asked.folder)
    evaluator = Observing(model)
    for feeds in asked.feeds:
        shapes.clear()
        try:
            evaluator.run(None, dict(feeds))
        except Exception as error:
            yield f"{type(error).__name__}: {error}"
        else:
            yield dict(shapes)


def _read_weights(model: ModelProto, folder: str | None) -> None:
    """Put external data into the model. Raises ValueError if they are not at hand or too many."""
    from onnx.external_data_helper import load_external_data_for_model, uses_external_data

    found = [tensor for tensor in model.graph.initializer if uses_external_data(tensor)]
    if found and folder is None:
        raise ValueError("the external data of the model are not at hand")
    if sum(prod(tensor.dims) for tensor in found) > MAX_WEIGHTS:
        raise ValueError(f"it has more than {MAX_WEIGHTS:,} weights")
    if found:
        load_external_data_for_model(model, str(folder))


def _path(evaluator: ReferenceEvaluator, functions: Mapping[tuple[str, str], str]) -> str | None:
    """The path of what an evaluator runs; None where it has none of its own, as a function that is called twice."""
    proto: Any = evaluator.proto_
    if hasattr(proto, "graph"):
        return ""
    if hasattr(proto, "opset_import"):
        return functions.get((proto.domain, proto.name))
    name = str(proto.name)
    return name.removeprefix(MARK) if name.startswith(MARK) else None
