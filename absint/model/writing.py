"""Writing a model or a text to a file: all of it or nothing, and never over the model or its weights."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from absint.errors import UsageError

if TYPE_CHECKING:
    from onnx import ModelProto

_LIMIT = (1 << 31) - 1


def check_target(source: str, target: str, force: bool | None = None) -> None:
    """Raises UsageError if the target cannot be written, or is the source and `force` does not allow that. If `force`
    is None, no option allows it.
    """
    path = Path(target)
    if "\0" in target:
        raise UsageError(f"-o {target}: no file has a name with a NUL")
    if path.is_dir():
        raise UsageError(f"{target} is a directory: give the path of a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{target} cannot be written: {path.parent} is not a directory")
    if not force and path.exists() and os.path.exists(source) and os.path.samefile(source, path):
        way_out = (
            "give another file to -o, or --force to replace it" if force is not None else "give another file to -o"
        )
        raise UsageError(f"{target} is the model itself: {way_out}")


def check_binary_target(source: str, target: str, force: bool) -> None:
    """As `check_target`, for a target that may be `-`, which must not be a terminal."""
    if target != "-":
        check_target(source, target, force)
    elif sys.stdout.isatty():
        raise UsageError("-o -: a model is binary, so standard output must not be a terminal")


def write_text(text: str, model: ModelProto, source: str, target: str) -> None:
    """Write the text to a temporary file beside the target, then rename it.

    Raises UsageError for a target that holds weights of the model.
    """
    _check_weights(_locations(model), Path(source).parent, target)
    _write(text.encode("utf-8", "backslashreplace"), target)


def write_file(text: str, target: str | os.PathLike[str]) -> None:
    """Write the text to a temporary file beside the target, then rename it."""
    _write(text.encode("utf-8", "backslashreplace"), target)


def write_model(model: ModelProto, source: str, target: str) -> None:
    """Write the model as `write_text` writes a text; to standard output if the target is `-`.

    Raises UsageError for a model that is too large for one file, and for a target that holds its weights.
    """
    weights = _locations(model)
    folder = Path(source).parent
    if target != "-":
        _check_weights(weights, folder, target)
    try:
        content = model.SerializeToString()
    except Exception as error:
        raise UsageError(f"the annotated model cannot be written ({type(error).__name__}: {error})") from None
    if len(content) > _LIMIT:
        raise UsageError("the annotated model is over 2 GB: keep its weights in an external file")
    if target == "-":
        sys.stdout.buffer.write(content)
        return
    path = Path(os.path.realpath(target))
    if _write(content, target) and weights and path.parent != folder.resolve():
        print(
            f"absint: note: the weights stay in {weights[0]}"
            + (f" and {len(weights) - 1} more files" if len(weights) > 1 else "")
            + f", which runtimes look for beside the model: copy or link them into {path.parent}",
            file=sys.stderr,
        )


def _locations(model: ModelProto) -> list[str]:
    from absint.model.held_files import locations

    return locations(model)


def _check_weights(weights: Sequence[str], folder: Path, target: str) -> None:
    for name in weights:
        if _is_same(folder / name, target):
            raise UsageError(f"{target} holds weights of the model: give another file to -o")
        if _is_same(Path(os.path.realpath(target)).parent / name, target):
            raise UsageError(f"{target} has the name that the model gives its weights: give another file to -o")


def _is_same(path: Path, target: str) -> bool:
    """They are one file, by whatever names."""
    try:
        return os.path.realpath(path) == os.path.realpath(target) or os.path.samefile(path, target)
    except (OSError, ValueError):  # one of them does not exist, or is no path
        return False


def _write(content: bytes, target: str | os.PathLike[str]) -> bool:
    """Replace a file as a whole, or write to a device or a pipe, for which the answer is False.

    Raises UsageError if that fails.
    """
    path = Path(target)
    is_stream = path.exists() and not path.is_file()
    try:
        if is_stream:
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    return not is_stream


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115 (a file that is already there is not ours to remove)
    try:
        with file:
            file.write(content)
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
