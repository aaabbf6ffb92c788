"""One model in onnxruntime, without optimisations, so that every value is computed as the model states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from absint.model.opening import ModelFile

if TYPE_CHECKING:
    import onnxruntime

RAW_CODES: Final[Mapping[str, int]] = {
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
}
"""Types of ml_dtypes that onnxruntime takes as raw bytes only, with their number in ONNX."""

NOT_FETCHED: Final = ("bfloat16", "int4", "int2", "float4", "float6")
"""Parts of the names of types that onnxruntime does not return as arrays."""


class Handed(NamedTuple):
    """The bytes of a model on its way to a runtime: those of a file, if there is one, and more after them.

    The runtime may be in another process, so large files go by their paths.
    """

    file: ModelFile | None
    more: bytes
    folder: str | None = None
    """The absolute path of the folder with its external data."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.more) + (0 if self.file is None else self.file.size)

    def read(self) -> bytes:
        """All bytes. Raises ModelError if the file has changed since the model was read."""
        if self.file is None:
            return self.more
        with self.file.opened() as opened:
            return b"".join((opened.data, self.more))


Feeds = Mapping[str, object]
"""Values by the names of inputs."""

Outcome = tuple[int, Mapping[str, str], Mapping[str, object]]
"""The number of the attempt that succeeded, and the types (as onnxruntime writes them) and values by name."""


def execute(
    model: bytes, names: Sequence[str], attempts: Sequence[Feeds], folder: str | None, *, packed: bool = True
) -> Outcome:
    """The named outputs of the first attempt that succeeds; `folder` holds the external data. Without `packed`, kernels
    read constants as they are.

    Outputs of types that cannot be fetched are left out. Raises the exception of onnxruntime at the last attempt.
    """
    session = Session(model, names, folder, packed=packed)
    for number, feeds in enumerate(attempts):
        try:
            return number, session.types, session.run(feeds)
        except Exception:
            if number == len(attempts) - 1:
                raise
    raise ValueError("no feeds were given")


def answer(request: object) -> Outcome:
    """`execute` for a process of its own, which reads the model."""
    assert isinstance(request, tuple)
    model, names, attempts, packed = request
    return execute(model.read(), names, attempts, model.folder, packed=packed)


def all_outputs(request: object) -> list[Mapping[str, object] | str]:
    """The outputs for each of several feeds, or why there are none, for a process of its own."""
    assert isinstance(request, tuple)
    model, names, several = request
    session = Session(model.read(), names, model.folder)
    found: list[Mapping[str, object] | str] = []
    for feeds in several:
        try:
            found.append(session.run(feeds))
        except Exception as error:
            found.append(str(error))
    return found


class Session:
    """A loaded model. Raises what onnxruntime raises, and ValueError if no output can be fetched."""

    def __init__(self, model: bytes, names: Sequence[str], folder: str | None, *, packed: bool = True) -> None:
        import onnxruntime as ort

        options = plain_options()
        if not packed:
            options.add_session_config_entry("session.disable_prepacking", "1")
        if folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._quiet = ort.RunOptions()
        self._quiet.log_severity_level = 4
        types = {info.name: info.type for info in self._session.get_outputs()}
        fetched = [name for name in names if not any(part in types[name] for part in NOT_FETCHED)]
        if not fetched:
            raise ValueError(f"none of {', '.join(names)} is of a type that can be fetched")
        self.types: Mapping[str, str] = {name: types[name] for name in fetched}
        """Types of the outputs that are fetched."""

    def run(self, feeds: Mapping[str, object]) -> Mapping[str, object]:
        """The outputs by name."""
        values = self._session.run(list(self.types), {name: _fed(value) for name, value in feeds.items()}, self._quiet)
        return dict(zip(self.types, values, strict=True))


def plain_options() -> onnxruntime.SessionOptions:
    """No optimisations, no messages, one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


def _fed(value: object) -> object:
    import onnxruntime as ort

    code = RAW_CODES.get(value.dtype.name) if isinstance(value, np.ndarray) else None
    if code is None:
        return value
    assert isinstance(value, np.ndarray)
    raw = value.view(f"uint{8 * value.itemsize}")
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, code)
