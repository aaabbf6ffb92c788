"""In a process of its own: run a model on several feeds, and return the shapes of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    reference: bool
    """Run onnx's reference implementation, which shows the values of bodies too."""


def run(request: object) -> list[Shapes | str]:
    """For each feed the computed shapes, or one line on why there is no run."""
    assert isinstance(request, tuple)
    asked = Request(*request)
    execute = _by_reference(asked) if asked.reference else _by_onnxruntime(asked)
    return list(execute)


def _by_onnxruntime(asked: Request) -> Iterator[Shapes | str]:
    session = Session(asked.model.read(), asked.names, asked.model.folder)
    for feeds in asked.feeds:
        try:
            values = session.run(feeds)
        except Exception as error:
            yield str(error)
        else:
            yield {n: [tuple(v.shape)] for n, v in {**values, **feeds}.items() if isinstance(v, np.ndarray)}


def _by_reference(asked: Request) -> Iterator[Shapes | str]:
    import onnx

    shapes: Shapes = {}

    def note(path: str, found: Mapping[str, object]) -> None:
        for name, value in found.items():
            if isinstance(value, np.ndarray):
                shapes.setdefault(f"{path}/{name}" if path else name, []).append(tuple(value.shape))

    model = onnx.load_model_from_string(asked.model.read())
    _read_weights(model, asked.model.folder)
    evaluator = observer(note, asked.functions)(model)
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


def observer(
    note: Callable[[str, Mapping[str, object]], object], functions: Mapping[tuple[str, str], str] | None = None
) -> type[ReferenceEvaluator]:
    """A class of evaluators that hands over the values of all that it runs, after the path: of the main graph, and of
    bodies and functions that have one. Without `functions`, functions have it in their names, as graphs do.
    """
    from onnx.reference import ReferenceEvaluator

    class Observing(ReferenceEvaluator):  # type: ignore[misc,unused-ignore]
        """Bodies are evaluated by the class of the evaluator around them."""

        def run(self, output_names: Names, *args: object, **options: object) -> list[object]:
            found = cast("dict[str, object]", super().run(None, *args, **{**options, "intermediate": True}))  # type: ignore[arg-type]
            path = _path(self.proto_, functions)
            if path is not None:
                note(path, found)
            return [found[name] for name in output_names or self.output_names]

    return Observing


def _path(proto: Any, functions: Mapping[tuple[str, str], str] | None) -> str | None:  # noqa: ANN401 (any message)
    """The path of what an evaluator runs; None where it has none of its own, as a function that is called twice."""
    if hasattr(proto, "graph"):
        return ""
    if functions is not None and hasattr(proto, "opset_import"):
        return functions.get((proto.domain, proto.name))
    name = str(proto.name)
    return name.removeprefix(MARK) if name.startswith(MARK) else None
