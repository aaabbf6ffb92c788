"""Engines of shape inference, each run in a process of its own. `compare.py` starts them and talks in JSON lines.

    python benchmarks/engines.py NAME

A request names a model, the way to it and how often to infer its shapes: `{"path": ..., "way": "memory", "runs": 5}`.
From `memory` the time is that of inference on a loaded model, from a `file` reading counts as well. External weights
are left where they are. The reply has the seconds of each run, the peak memory of the process meanwhile in MB, and what
the last run said: value name -> dims (a number, a text, or null), null where the rank is unknown.

absint remembers what its rules gave in earlier analyses. `absint` forgets it before each run, so that every run applies
every rule, as on a model that was never seen; `absint again` does not, as on one that was. `absint revised` gets
another revision of the model in each run.
"""

from __future__ import annotations

import copy
import gc
import json
import logging
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import onnx

if TYPE_CHECKING:
    import absint

Dims = list["int | str | None"]


def load(path: str) -> onnx.ModelProto:
    """The model; its external weights stay where they are."""
    return onnx.load(path, load_external_data=False)


class Engine(NamedTuple):
    """How an engine reads a file, brings a loaded model into the form it wants (not timed), and infers its shapes."""

    module: str
    """The modules that must be importable."""
    infer: Callable[[Any], Any]
    shapes: Callable[[Any], Iterator[tuple[str, Dims | None]]]
    script: tuple[str, ...] = ()
    """Arguments of a Python process that does it all for the file named after them; none: there is nothing to time."""
    read: Callable[[str], Any] = load
    prepare: Callable[[onnx.ModelProto], Any] = lambda model: model
    forget: Callable[[], None] = lambda: None
    """Drop what earlier runs left behind (not timed)."""


def of_protos(model: onnx.ModelProto) -> Iterator[tuple[str, Dims | None]]:
    """The shapes that a model holds."""
    for info in (*model.graph.value_info, *model.graph.output):
        kind = info.type.tensor_type
        if info.type.HasField("tensor_type"):
            yield info.name, [dim(d) for d in kind.shape.dim] if kind.HasField("shape") else None


def dim(proto: onnx.TensorShapeProto.Dimension) -> int | str | None:
    """A number, a text, or None."""
    kind = proto.WhichOneof("value")
    return proto.dim_value if kind == "dim_value" else proto.dim_param or None


def of_absint(result: absint.Result) -> Iterator[tuple[str, Dims | None]]:
    """The shapes of a result."""
    for name, shape in result.shapes.items():
        yield name, None if shape.rank is None else [stated(d) for d in shape]


def stated(dim: absint.Dim) -> int | str | None:
    """A dim as the other engines have it."""
    return None if dim.is_unknown else int(dim) if dim.is_concrete else str(dim)


def absint_infer(model: str | onnx.ModelProto) -> absint.Result:
    """All shapes, named and ready to read."""
    import absint

    result = absint.analyze(model)
    result.shapes  # noqa: B018
    return result


def absint_forget() -> None:
    """Have every rule applied again."""
    import absint

    absint.purge()


_REVISIONS = count()


def revised(model: onnx.ModelProto) -> onnx.ModelProto:
    """Its next revision: some node has another name."""
    number = next(_REVISIONS)
    nodes = model.graph.node
    nodes[number * 7919 % len(nodes)].name = f"revision {number}"
    return model


def onnx_infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """onnx's own inference, shape arithmetic followed."""
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def ir_prepare(model: onnx.ModelProto) -> Any:
    """The model in onnx_ir."""
    import onnx_ir

    return onnx_ir.from_proto(model)


def ir_load(path: str) -> Any:
    """The model in onnx_ir, whose tensors stay in the file."""
    import onnx_ir

    return onnx_ir.load(path)


def ir_infer(model: Any) -> Any:
    """onnx-shape-inference, in place."""
    from onnx_shape_inference import infer_symbolic_shapes

    return infer_symbolic_shapes(model, warn_on_missing=False)


def of_ir(model: Any) -> Iterator[tuple[str, Dims | None]]:
    """The shapes of an onnx_ir model."""
    for node in model.graph:
        for value in node.outputs:
            if value.name:
                dims = None if value.shape is None else [d if isinstance(d, int) else d.value for d in value.shape]
                yield value.name, dims


def runtime_infer(auto_merge: bool) -> Callable[[onnx.ModelProto], onnx.ModelProto]:
    """onnxruntime's script."""

    def infer(model: onnx.ModelProto) -> onnx.ModelProto:
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        return SymbolicShapeInference.infer_shapes(model, auto_merge=auto_merge)

    return infer


def builder_infer(model: onnx.ModelProto) -> Any:
    """yobx's ShapeBuilder."""
    builder = import_module("yobx.xshape").BasicShapeBuilder()
    builder.run_model(model)
    return builder


def of_builder(builder: Any) -> Iterator[tuple[str, Dims | None]]:
    """The shapes that a ShapeBuilder holds."""
    for name in builder._known_shapes:
        yield name, list(builder.get_shape(name))


def script(text: str) -> tuple[str, ...]:
    """A program for the file `path`."""
    return ("-c", f"import sys; path = sys.argv[1]; {text}")


ONNX = "import onnx; model = onnx.load(path, load_external_data=False); "
RUNTIME = ONNX + "from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference as S; S.infer_shapes(model"

ENGINES = {
    "absint": Engine("absint", absint_infer, of_absint, ("-m", "absint", "analyze"), str, forget=absint_forget),
    "absint again": Engine("absint", absint_infer, of_absint, read=str),
    "absint revised": Engine("absint", absint_infer, of_absint, read=str, prepare=revised),
    "absint in Python": Engine(
        "absint", absint_infer, of_absint, script("import absint; absint.analyze(path).shapes"), str
    ),
    "onnx": Engine(
        "onnx", onnx_infer, of_protos, script(ONNX + "onnx.shape_inference.infer_shapes(model, data_prop=True)")
    ),
    "onnx-shape-inference": Engine(
        "onnx_shape_inference",
        ir_infer,
        of_ir,
        script(
            "import onnx_ir; from onnx_shape_inference import infer_symbolic_shapes as infer; "
            "infer(onnx_ir.load(path), warn_on_missing=False)"
        ),
        ir_load,
        ir_prepare,
    ),
    "onnxruntime": Engine("onnxruntime", runtime_infer(False), of_protos, script(RUNTIME + ")")),
    "onnxruntime auto_merge": Engine(
        "onnxruntime", runtime_infer(True), of_protos, script(RUNTIME + ", auto_merge=True)")
    ),
    "yobx": Engine("yobx.xshape", builder_infer, of_builder),
}

ONLY_MEMORY = frozenset({"absint revised"})
"""Engines that are asked about loaded models alone."""

ONLY_FRESH = frozenset({"absint in Python"})
"""Engines that differ from another one in a fresh process alone."""


def timed(engine: Engine, path: str, way: str, runs: int) -> tuple[list[float], Any]:
    """Seconds of each run, and the last result. To free the one before is no part of a run."""
    seconds, result = [], None
    model = load(path) if way == "memory" else None
    for _ in range(runs):
        result = None
        given = engine.prepare(copy.deepcopy(model)) if model is not None else None
        engine.forget()
        gc.collect()
        start = time.perf_counter()
        result = engine.infer(engine.read(path) if given is None else given)
        seconds.append(time.perf_counter() - start)
    return seconds, result


STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Count the peak memory from here, where the system can."""
    with suppress(OSError):
        REFERENCES.write_text("5")


def peak() -> float:
    """The most memory that was resident, in MB."""
    try:
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) / 1024
    except (OSError, KeyError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(engine: Engine, requests: Iterable[str]) -> None:
    """Answer each request with a line."""
    import_module(engine.module)
    replies, sys.stdout = sys.stdout, sys.stderr  # some engines print
    for line in requests:
        request = json.loads(line)
        reply: dict[str, Any]
        reset_peak()
        try:
            seconds, result = timed(engine, request["path"], request["way"], request["runs"])
            reply = {"seconds": seconds, "peak": peak(), "shapes": dict(engine.shapes(result))}
            if hasattr(result, "rounds"):
                reply["rules"] = sum(item.analysis.applications for item in result.rounds.rounds)
        except Exception as error:
            reply = {"failure": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]}
        print(json.dumps(reply, default=str), file=replies, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable()
    serve(ENGINES[sys.argv[1]], sys.stdin)
