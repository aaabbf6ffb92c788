"""Writing a model or a text to a file: all of it or nothing, and never over the model or its weights."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from filecmp import cmp
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias

from absint.errors import UsageError
from absint.lattices.text.escapes import bounded
from absint.model.early_copies import EarlyCopy
from absint.model.opening import Opened
from absint.model.protos import holders
from absint.model.wire.splicing import Piece

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnx.onnx_pb import AttributeProto, SparseTensorProto, TensorProto


Write: TypeAlias = Callable[[IO[bytes], bool], object]
"""Writes a content into a file, and gets to know if the file is a new one."""

Finish: TypeAlias = "Callable[[Sequence[Piece], ModelProto, Path | None, bool], Sequence[str]]"
"""Ends a copy: the rest of `write_copy`'s arguments, and its answer."""


def check_target(source: str, target: str, force: bool | None = None) -> None:
    """Raises UsageError if the target cannot be written, or is the source and `force` does not allow that. If `force`
    is None, no option allows it.
    """
    path = Path(target)
    if not target:
        raise UsageError("-o is empty: give the path of a file")
    if "\0" in target:
        raise UsageError(f"-o {target}: no file has a name with a NUL")
    if path.is_dir():
        raise UsageError(f"{target} is a directory: give the path of a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{target} cannot be written: {path.parent} is not a directory")
    if not force and path.exists() and os.path.exists(source) and os.path.samefile(source, path):
        way_out = "" if force is None else ", or --force to replace it"
        raise UsageError(f"{target} is the model itself: give another file to -o{way_out}")


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
    _check_weights(locations(model), Path(source).parent, target)
    write_file(text, target)


def write_file(text: str, target: str | os.PathLike[str]) -> None:
    """Write the text to a temporary file beside the target, then rename it."""
    write_bytes(text.encode("utf-8", "backslashreplace"), target)


def write_bytes(content: bytes, target: str | os.PathLike[str]) -> None:
    """As `write_file`, what is no text."""
    _write(lambda file, _: file.write(content), target)


def check_folder(folder: str | os.PathLike[str], is_ours: Callable[[Path], bool], what: str) -> None:
    """Raises UsageError for a file, and for a folder with something in it that is not `what`."""
    root, name = Path(folder), bounded(os.fspath(folder))
    if not os.fspath(folder):
        raise UsageError("-o is empty: name a folder")
    if root.exists() and not root.is_dir():
        raise UsageError(f"{name} is a file: name a folder")
    if root.is_dir() and any(root.iterdir()) and not is_ours(root):
        raise UsageError(f"{name} is not empty and holds no {what}: name another folder")


def write_files(folder: str | os.PathLike[str], contents: Mapping[str, str | bytes]) -> int:
    """Write files to a folder, each by its path in it, and the last one last; the number of bytes.

    All are written to a new folder first, so that a folder with older files keeps these if there is no room for all.
    Raises UsageError if one cannot be written.
    """
    root = Path(os.path.realpath(folder))
    is_new = not root.exists()
    stage = root.with_name(f".{root.name[:200]}.{os.getpid()}.tmp") if is_new else root / f".{os.getpid()}.tmp"
    content = {
        name: one.encode("utf-8", "backslashreplace") if isinstance(one, str) else one for name, one in contents.items()
    }
    with _refusing(folder):
        stage.mkdir(parents=True)
    try:
        for name, data in content.items():
            with _refusing(Path(folder) / name):
                (stage / name).parent.mkdir(exist_ok=True)
                (stage / name).write_bytes(data)
        with _refusing(folder):
            if is_new:
                stage.rename(root)
            for name in () if is_new else content:
                (root / name).parent.mkdir(exist_ok=True)
                os.replace(stage / name, root / name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return sum(map(len, content.values()))


def write_copy(
    original: Opened, target: str, pieces: Sequence[Piece], model: ModelProto, folder: Path | None, copy_weights: bool
) -> Sequence[str]:
    """Write pieces of a model and new ones as `write_text` writes a text; to standard output if the target is `-`.

    `model` is that of the pieces, which may lack the data of its tensors, and `folder` that of its external data. These
    files are copied beside the target if that is wanted; the answer lists those that it has not beside it. Raises
    UsageError for a target that holds its weights, and for weights that would replace another file.
    """
    if target == "-":
        original.copy(pieces, sys.stdout.buffer, is_new=False)
        return ()
    elsewhere = _weights_elsewhere(model, folder, target, copy_weights)
    is_file = _write(lambda file, is_new: original.copy(pieces, file, is_new=is_new), target)
    return elsewhere if is_file else ()


@contextmanager
def copy_begun(original: Opened, target: str) -> Iterator[Finish]:
    """As `write_copy`, with the copy of a large file begun at once: its bytes are copied on a thread while the block
    finds out which of them change. If it ends without the call that finishes the copy, nothing is written.
    """
    if target == "-" or _is_stream(target) or original.number is None:
        yield partial(write_copy, original, target)
        return
    path = Path(os.path.realpath(target))
    with ExitStack() as stack:
        with _refusing(target):
            file = stack.enter_context(_temporary(path))
        early = stack.enter_context(EarlyCopy(original, file))

        def finish(
            pieces: Sequence[Piece], model: ModelProto, folder: Path | None, copy_weights: bool
        ) -> Sequence[str]:
            elsewhere = _weights_elsewhere(model, folder, target, copy_weights)
            with _refusing(target):
                early.finish(pieces)
                _put(file, path)
            return elsewhere

        yield finish


def _weights_elsewhere(model: ModelProto, folder: Path | None, target: str, copy_weights: bool) -> Sequence[str]:
    """The files of weights that the target has not beside it, after they have been copied there if that is wanted."""
    weights = locations(model)
    _check_weights(weights, folder, target)
    beside = Path(os.path.realpath(target)).parent
    if folder is None or beside == folder.resolve():
        return ()
    if copy_weights:
        _copy_weights(weights, folder, beside)
        return ()
    return weights


def _copy_weights(names: Sequence[str], folder: Path, target: Path) -> None:
    """Copy files of weights into another folder. Raises UsageError before the first one if a file is in the way."""
    wanted = {name: target / name for name in names if not _is_same(folder / name, str(target / name))}
    for name, path in wanted.items():
        if path.exists() and not cmp(folder / name, path, shallow=False):
            raise UsageError(f"{path} is in the way of the model's weights: give -o a path in another folder")
    for name, path in wanted.items():
        if not path.exists():
            with _refusing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                _copy_file(folder / name, path)


def _copy_file(source: Path, target: Path) -> None:
    with open(source, "rb") as content, _temporary(target) as file:
        shutil.copyfileobj(content, file, _CHUNK)
        _put(file, target)


_CHUNK: Final = 1 << 24


@contextmanager
def backed_up(path: str, *, force: bool = False) -> Iterator[None]:
    """Keep the file of that path as `path.bak` too, unless what is done meanwhile fails.

    Raises UsageError if there is such a file and `force` does not allow to replace it.
    """
    backup = Path(f"{path}.bak")
    with _refusing(backup):
        if force:
            backup.unlink(missing_ok=True)
        elif os.path.lexists(backup):
            raise UsageError(f"{backup} is there already: move it away, or --force to replace it")
        try:
            os.link(os.path.realpath(path), backup)
        except OSError:  # a file system without links
            _copy_file(Path(path), backup)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            backup.unlink()
        raise


def check_weights(model: ModelProto, folder: Path | None, target: str) -> None:
    """Raises UsageError for a target that holds weights of the model, whose external data are in a folder."""
    _check_weights(locations(model), folder, target)


def _check_weights(weights: Sequence[str], folder: Path | None, target: str) -> None:
    for name in weights:
        if folder is not None and _is_same(folder / name, target):
            raise UsageError(f"{target} holds weights of the model: give another file to -o")
        if _is_same(Path(os.path.realpath(target)).parent / name, target):
            raise UsageError(f"{target} has the name that the model gives its weights: give another file to -o")


def _is_same(path: Path, target: str) -> bool:
    """They are one file, by whatever names."""
    try:
        return os.path.realpath(path) == os.path.realpath(target) or os.path.samefile(path, target)
    except (OSError, ValueError):  # one of them does not exist, or is no path
        return False


def _is_stream(target: str | os.PathLike[str]) -> bool:
    """The target is a device or a pipe."""
    return os.path.exists(target) and not os.path.isfile(target)


@contextmanager
def _refusing(target: str | os.PathLike[str]) -> Iterator[None]:
    """Raise UsageError where the system does not let the target be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None


def _write(write: Write, target: str | os.PathLike[str]) -> bool:
    """Replace a file as a whole, or write to a device or a pipe, for which the answer is False.

    Raises UsageError if that fails.
    """
    with _refusing(target):
        if _is_stream(target):
            with open(target, "wb") as file:
                write(file, False)
            return False
        path = Path(os.path.realpath(target))
        with _temporary(path) as file:
            write(file, True)
            _put(file, path)
    return True


@contextmanager
def _temporary(path: Path) -> Iterator[IO[bytes]]:
    """A new file beside another one, which is removed unless it is put in its place."""
    temporary = path.with_name(f".absint-{os.urandom(8).hex()}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115 (a file that is already there is not ours to remove)
    try:
        with file:
            yield file
    finally:
        with suppress(OSError):
            temporary.unlink()


def _put(file: IO[bytes], path: Path) -> None:
    """Put a complete temporary file in the place of another one, with its mode."""
    file.close()
    if path.exists():
        os.chmod(file.name, path.stat().st_mode & 0o7777)
    os.replace(file.name, path)


# The files that a model refers to: the locations of external data of all its tensors.


def locations(model: ModelProto) -> list[str]:
    """Every location of external data, each once, sorted."""
    entries = (entry for tensor in tensors(model) for entry in tensor.external_data)
    # protobuf gives what is not valid UTF-8 as bytes
    return sorted({os.fsdecode(entry.value) for entry in entries if entry.key == "location"})


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of a model: of its graphs, bodies and functions, in attributes, sparse ones, those of training."""
    for holder in holders(model):
        yield from getattr(holder, "initializer", ())  # a function has none, and defaults of its own
        for sparse in getattr(holder, "sparse_initializer", ()):
            yield from _parts(sparse)
        attributes = [attribute for node in holder.node for attribute in node.attribute]
        for attribute in [*attributes, *getattr(holder, "attribute_proto", ())]:
            yield from _of(attribute)


def _of(attribute: AttributeProto) -> Iterator[TensorProto]:
    yield from attribute.tensors
    if attribute.HasField("t"):
        yield attribute.t
    for sparse in attribute.sparse_tensors:
        yield from _parts(sparse)
    if attribute.HasField("sparse_tensor"):
        yield from _parts(attribute.sparse_tensor)


def _parts(sparse: SparseTensorProto) -> Iterator[TensorProto]:
    yield sparse.values
    yield sparse.indices
