"""Running a model with onnxruntime, to compare answers of the analysis with a real run."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Final, Literal, cast

import numpy as np
import numpy.typing as npt

from absint.errors import AbsintError, ModelError, UsageError
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import YES
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from absint.model.initialisers import numpy_dtype
from absint.model.opening import MAX_FILE, opened_file, reason_of
from absint.model.wire.fields import delimited
from absint.model.wire.scalars import content_of
from absint.packages import is_installed
from absint.runs.allowance import explained
from absint.runs.loading import PREFIX
from absint.runs.pool import ask_once, one_line
from absint.runs.process import ProcessError
from absint.runs.session import Feeds, Handed, Outcome, execute
from absint.runs.statements import check_names
from absint.shapes.inputs import InputElement
from absint.shapes.sizes import check_number, facts_of
from absint.solution.analysed import Analysed

# Numbers for the elements of small inputs in a run: those that a binding gives, and the rest as the caller assumes.


def chosen(
    result: Analysed, binding: Mapping[str, int], feeds: Mapping[str, npt.NDArray[np.generic]]
) -> Mapping[str, npt.NDArray[np.generic]]:
    """The feeds with the elements that the binding names, and with others where assumptions exclude what they are.

    Raises UsageError for a number that an element cannot have, and for assumptions that these numbers do not meet.
    """
    elements = result.declared_inputs.elements
    if not elements:
        return feeds
    facts = _facts(result)
    found = dict(feeds)
    numbers = dict(binding)
    for name, element in elements.items():
        array = found[element.input]
        if name in binding:
            number = check_number(name, binding[name], elements)
        else:
            number = _allowed(element, int(array.flat[element.place]), facts)
        if number != array.flat[element.place]:
            array = found[element.input] = array.copy()
            array.flat[element.place] = number
        numbers[name] = number
    for relation in result.assumptions:
        if relation.free_symbols <= numbers.keys() and relation.at(numbers) is not YES:
            raise UsageError(f"no inputs are made that meet the assumption {relation}; give feeds")
    return found


def _facts(result: Analysed) -> Facts | None:
    """The caller's assumptions about elements."""
    names = result.declared_inputs.elements.keys()
    if all(relation.free_symbols.isdisjoint(names) for relation in result.assumptions):
        return None
    return facts_of(result.assumptions, ())


def _allowed(element: InputElement, number: int, facts: Facts | None) -> int:
    """The number, or the nearest within the bounds that are assumed."""
    value = element.expr if facts is None else facts.simplify(element.expr)
    return value.bounds.nearest(number) if isinstance(value, Expr) else number


Array = npt.NDArray[np.generic]
Kind = Literal["random", "zeros", "ones", "signed"]

KINDS: Final[tuple[Kind, ...]] = ("random", "zeros", "ones")
"""The data that are tried, in this order, until a run succeeds."""

SECONDS: Final = 60.0
"""The limit of a run in a process of its own, in seconds."""

MAX_ELEMENTS: Final = 1 << 28
"""Most elements of one array that is made for a run."""


class MissingRuntimeError(UsageError):
    """onnxruntime is not installed, or cannot be imported. The message says what to do."""


class RunError(AbsintError):
    """onnxruntime does not load the model, or a run fails. The message is its own, in one line."""


def load_feeds(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The arrays of an .npz file by name, as `numpy.savez` writes them; nothing in it is executed.

    Raises UsageError for any other file.
    """
    hint = "write one with numpy.savez(path, **arrays)"
    try:
        with opened_file(path):
            pass
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} {reason_of(error)}") from None
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise UsageError(f"{path}: a single array, not an .npz file of named arrays: {hint}")
        with loaded as file:
            found = {name: file[name] for name in file.files}
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, MemoryError, RuntimeError, SyntaxError):
        raise UsageError(f"{path}: not an .npz file of plain arrays, or truncated: {hint}") from None
    for name, array in found.items():
        if not isinstance(array, np.ndarray):
            raise UsageError(f"{path}: {name!r} is no array: {hint}")
    return found


def feeds_for(
    analysed: Analysed, binding: Mapping[str, int], *, seed: int | None = None, values: Kind = "random"
) -> dict[str, Array]:
    """Arrays for the inputs of a model at these sizes, and with these elements of small inputs.

    Other integers are 0 to 3 if they are random, -4 to 3 if signed, as far as the type has them; floats are normal.

    Raises UsageError for a missing or negative size, and for an input that is no tensor of declared rank.
    """
    rng = np.random.default_rng(seed)
    feeds = {name: _array(name, _declared(analysed, name), binding, rng, values) for name in analysed.inputs}
    return dict(chosen(analysed, binding, feeds))


def _declared(analysed: Analysed, name: str) -> Tensor:
    value = analysed.values[name]
    if not isinstance(value, Tensor) or value.shape.rank is None:
        what = "its rank is not declared" if isinstance(value, Tensor) else f"it is no tensor but {value}"
        raise UsageError(f"no array can be made for input {name!r}: {what}; give feeds")
    return value


def _array(name: str, value: Tensor, binding: Mapping[str, int], rng: np.random.Generator, kind: Kind) -> Array:
    shape = _sizes(name, value.shape, binding)
    try:
        dtype = numpy_dtype(value.dtype)
    except TypeError:
        raise UsageError(f"no array can be made for input {name!r} of type {value.dtype}; give feeds") from None
    if kind == "zeros" or kind == "ones":
        numbers = np.full(shape, kind == "ones")
    elif kind not in ("random", "signed"):
        raise UsageError(f"values={kind!r}: it is 'random', 'zeros', 'ones' or 'signed'")
    elif value.dtype.is_integer or value.dtype in (DType.BOOL, DType.STRING):
        least = max(-4 if kind == "signed" else 0, INTEGER_RANGES.get(value.dtype, (0, 0))[0])
        numbers = rng.integers(least, 2 if value.dtype is DType.BOOL else 4, shape)
    else:
        numbers = rng.standard_normal(shape)
    if value.dtype is DType.STRING:
        return np.asarray(numbers.astype(np.int64).astype(str), dtype)
    return numbers.astype(dtype)


def _sizes(name: str, shape: Shape, binding: Mapping[str, int]) -> tuple[int, ...]:
    try:
        sizes = tuple(shape.evaluate(binding))
    except KeyError as error:
        raise UsageError(f"input {name!r} has shape {shape}: {error.args[0]}") from None
    except (ValueError, ArithmeticError) as error:
        raise UsageError(f"input {name!r} has shape {shape}: {error}") from None
    if any(size < 0 for size in sizes) or prod(sizes) > MAX_ELEMENTS:
        raise UsageError(
            f"input {name!r} would have shape {list(sizes)}: no such array is made (at most {MAX_ELEMENTS:,} elements)"
        )
    return sizes


def run(
    analysed: Analysed,
    feeds: Mapping[str, object],
    values: Sequence[str] = (),
    *,
    isolated: bool = False,
    seconds: float = SECONDS,
    packed: bool = True,
) -> dict[str, Array | list[object]]:
    """Execute the model and return its outputs, and the named inner values of the main graph.

    onnxruntime runs on the CPU in one thread, without optimisations. With `isolated` it does so in a process of its
    own, which may crash without harm, is ended after `seconds` and holds at most 4 GB, or the value of the environment
    variable ABSINT_RUN_MEMORY (`8GB`). An inner value that cannot be returned as an array (bfloat16, 4-bit integers) is
    left out. Kernels may pack weights that are constants, which rounds otherwise; without `packed` they do not.

    Raises RunError if the run fails, UsageError for an unknown name, MissingRuntimeError without onnxruntime.
    """
    check_names("the model has no input", feeds, [info.name for info in analysed.loaded.model.graph.input])
    missing = [name for name in analysed.inputs if name not in feeds]
    if missing:
        raise UsageError(f"the run needs a value for input {', '.join(map(repr, missing))}")
    return _run(analysed, [feeds], values, isolated, seconds, packed=packed)


def sizes_at(
    analysed: Analysed,
    binding: Mapping[str, int],
    values: Sequence[str],
    seed: int = 0,
    *,
    isolated: bool = True,
    seconds: float = SECONDS,
) -> Mapping[str, tuple[int, ...]]:
    """The shapes of the named tensors in a run at these sizes: on random data, else on zeros, else on ones.

    Raises RunError with the last failure if no run succeeds, UsageError as `feeds_for` does.
    """
    attempts = [feeds_for(analysed, binding, seed=seed, values=kind) for kind in KINDS]
    found = _run(analysed, attempts, values, isolated, seconds)
    shapes = {}
    for name in values:
        value = found.get(name)
        if not isinstance(value, np.ndarray):
            raise RunError(f"onnxruntime gives no array for {name!r}, so its shape is not known")
        shapes[name] = value.shape
    return shapes


_RELATIVE, _ABSOLUTE = 1e-3, 1e-5
"""Floats this close count as equal: they may come from another machine."""


def differences(given: Mapping[str, object], computed: Mapping[str, object]) -> Iterator[str]:
    """The arrays that differ from those that a run computed, in words."""
    for name, array in given.items():
        actual = computed.get(name)
        if not isinstance(actual, np.ndarray) or not isinstance(array, np.ndarray):
            continue
        if array.shape != actual.shape:
            yield f"{name}: {list(array.shape)} in the file, {list(actual.shape)} in the run"
        elif array.dtype != actual.dtype:
            yield f"{name}: {array.dtype} in the file, {actual.dtype} in the run"
        elif (count := _unlike(array, actual)) > 0:
            yield f"{name}: {count:,} of {array.size:,} elements differ"


def _unlike(a: Array, b: Array) -> int:
    if a.dtype.kind not in "fc":
        return int(np.count_nonzero(a != b))
    with np.errstate(all="ignore"):
        return int(np.count_nonzero(~np.isclose(a, b, _RELATIVE, _ABSOLUTE, equal_nan=True)))


def _run(
    analysed: Analysed,
    attempts: Sequence[Feeds],
    values: Sequence[str],
    isolated: bool,
    seconds: float,
    *,
    packed: bool = True,
) -> dict[str, Array | list[object]]:
    if not is_installed("onnxruntime"):
        raise MissingRuntimeError("a run of the model needs onnxruntime: pip install 'absint[run]'")
    check_names("the main graph has no value", values, list(analysed.values))
    added = [name for name in dict.fromkeys(values) if name not in analysed.outputs and name not in attempts[0]]
    execute = partial(_in_child, seconds=seconds) if isolated else _in_process
    model, names = with_outputs(analysed, added), [*analysed.outputs, *added]
    number, types, found = execute(model, names, attempts, packed=packed)
    taken = {**attempts[number], **{name: typed(types[name], value) for name, value in found.items()}}
    wanted = dict.fromkeys((*analysed.outputs, *values))
    return {name: cast("Array | list[object]", taken[name]) for name in wanted if name in taken}


_GRAPH, _OUTPUT, _NAME = 7, 12, 1
"""The numbers of fields: the graph of a model, the outputs of a graph, the name of an output."""


def with_outputs(analysed: Analysed, names: Sequence[str]) -> Handed:
    """The model with further outputs. Protobuf reads two concatenated messages as one, their lists joined.

    Raises RunError for a model that protobuf does not read.
    """
    outputs = b"".join(delimited(_OUTPUT, delimited(_NAME, content_of(name))) for name in names)
    more = delimited(_GRAPH, outputs) if names else b""
    loaded, folder = analysed.loaded, beside(analysed)
    try:
        if loaded.mapped is None:
            with loaded.opened() as opened:
                return Handed(None, b"".join((opened.data, more)), folder)
        if loaded.size > MAX_FILE:
            raise ModelError(f"{analysed.origin} holds {loaded.size:,} bytes, and protobuf reads {MAX_FILE:,}")
    except ModelError as error:
        raise _not_handed(str(error)) from None
    return Handed(loaded.mapped, more, folder)


def beside(analysed: Analysed) -> str | None:
    """The absolute path of the folder with the external data of a model."""
    return None if analysed.folder is None else str(analysed.folder.resolve())


def _in_process(model: Handed, names: Sequence[str], attempts: Sequence[Feeds], *, packed: bool) -> Outcome:
    try:
        return execute(model.read(), names, attempts, model.folder, packed=packed)
    except ImportError as error:
        raise _broken(str(error)) from None
    except ModelError as error:
        raise _not_handed(str(error)) from None
    except Exception as error:
        raise RunError(in_one_line(str(error))) from None


def _in_child(
    model: Handed, names: Sequence[str], attempts: Sequence[Feeds], *, packed: bool, seconds: float
) -> Outcome:
    request = (model, list(names), [dict(feeds) for feeds in attempts], packed)
    try:
        return cast("Outcome", ask_once("absint.runs.session:answer", request, seconds, subject="onnxruntime"))
    except ProcessError as error:
        failure = error.failure
        if failure is None:
            raise RunError(str(error)) from None
        if failure.is_a("ImportError"):
            raise _broken(failure.text) from None
        if failure.is_a("ModelError"):
            raise _not_handed(failure.text) from None
        raise RunError(explained(in_one_line(failure.text or failure.kinds[0]))) from None


def _not_handed(reason: str) -> RunError:
    return RunError(f"the model cannot be handed to onnxruntime: {reason}")


def _broken(reason: str) -> MissingRuntimeError:
    return MissingRuntimeError(f"a run of the model needs onnxruntime, which cannot be imported: {one_line(reason)}")


def typed(kind: str, value: object) -> Array | list[object]:
    """The value under its own type: onnxruntime gives an 8-bit float as bytes."""
    match = re.fullmatch(r"tensor\((float8\w+)\)", kind)
    if match and isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return cast(Array, value.view(numpy_dtype(DType[match[1].upper()])))
    return cast("Array | list[object]", value)


_NODE: Final = re.compile(r"Non-zero status code returned while running (\w+) node\. Name:'(.*?)' Status Message: ")
_SOURCE: Final = re.compile(r"\S+\.(?:h|cc|cpp|hpp|cu):\d+ ")


def in_one_line(message: str) -> str:
    """The message of onnxruntime, shortened, without references to its source code."""
    text = PREFIX.sub("", " ".join(message.split()))
    node = _NODE.search(text)
    if node is not None:
        reason = _SOURCE.sub("", text[node.end() :])
        reason = reason.partition(" was false. ")[2] or reason
        text = f"{node[1]} {node[2]}".rstrip() + f": {reason}"
    return f"onnxruntime: {one_line(text) or 'it gives no reason'}"
