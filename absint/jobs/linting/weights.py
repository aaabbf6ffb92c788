"""Findings about files of weights beside a model: missing ones, ones that are too short, and pointers of Git LFS."""

import os
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.jobs.linting.finding import OF_DIAGNOSTICS, SILENT, Finding, milder, rule_of
from absint.model.initialisers import dtype_of
from absint.model.opening import LFS, fault_beside
from absint.model.protos import ModelMessage, TensorMessage, holders
from absint.model.wire.tensors import EXTERNAL
from absint.model.writing import tensors
from absint.questions.claims.judging import reported
from absint.solution.analysed import Analysed
from absint.solution.loading import beside_declarations, default_diagnostics

CODE: Final = "ABS006"


def missing_weights(analysed: Analysed) -> Iterator[Finding]:
    """One finding for each file that lacks, or is too short for, tensors of the model.

    Locations outside of the model's folder are left to runtimes, which refuse them. No weights are read.
    """
    folder = analysed.folder
    if folder is None or not _has_external(analysed.loaded.model):
        return
    found: dict[str, list[TensorMessage]] = {}
    for tensor in tensors(analysed.loaded.outline()):  # what reads files for an analysis steps over places of weights
        if tensor.data_location == EXTERNAL:
            location = next((entry.value for entry in tensor.external_data if entry.key == "location"), None)
            if isinstance(location, str) and _is_inside(location):
                found.setdefault(location, []).append(tensor)
    for location, group in found.items():
        size = _size(folder, location)
        is_lfs = size is not None and fault_beside(folder, location) == LFS
        wanting = group if size is None or is_lfs else [tensor for tensor in group if _end(tensor) > size]
        if wanting:
            text = "does not exist" if size is None else LFS if is_lfs else f"is too short: it has {size:,} bytes"
            first, *rest = (f"tensor {tensor.name!r}" for tensor in wanting)
            where = f"weights in {location!r}"
            message = f"the file {text}, and is to hold {first}"
            yield Finding.of(CODE, where, message, len(wanting), rest)


def _has_external(model: ModelMessage) -> bool:
    """Some initialiser of a graph is in another file: then tensors of attributes may be, too."""
    initialisers = (tensor for graph in holders(model) for tensor in getattr(graph, "initializer", ()))
    return any(tensor.data_location == EXTERNAL for tensor in initialisers)


def _is_inside(location: str) -> bool:
    names = location.replace(os.sep, "/").split("/")
    return bool(location) and ".." not in names and not location.startswith("/") and not os.path.splitdrive(location)[0]


def _size(folder: Path, location: str) -> int | None:
    try:
        return os.stat(folder / location).st_size
    except (OSError, ValueError):
        return None


def _end(tensor: TensorMessage) -> int:
    """The byte after the last one of the tensor in its file; 0 if the model does not say it in numbers."""
    entries: dict[str, object] = {entry.key: entry.value for entry in tensor.external_data}
    texts = entries.get("offset", "0"), entries.get("length")
    offset, length = (int(t) if isinstance(t, str) and t.isdecimal() and len(t) <= 18 else None for t in texts)
    if offset is None:
        return 0
    if length is None:
        length = prod(tensor.dims) * dtype_of(tensor.data_type).bits // 8
    return offset + length


# Findings from diagnostics: nodes that cannot run, broken graphs, and what the analysis could not do.

OTHER = "ABS505"


def diagnosed(analysed: Analysed) -> Iterator[Finding]:
    """All diagnostics except those about declarations; nodes with one message, as in the layers of a model, are one
    finding. What analyses of users report is among them.
    """
    return _grouped((*beside_declarations(analysed), *default_diagnostics(analysed), *reported(analysed)))


def _grouped(diagnostics: Iterable[Diagnostic]) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for item in diagnostics:
        if item.by or item.code not in SILENT:
            operator = item.where.split(" ", 1)[0]
            groups.setdefault((_code(item), operator, item.message), []).append(item)
    for (code, _, message), items in groups.items():
        first, *rest = items
        severity = first.severity if first.by or code == OTHER else milder(rule_of(code).severity, first.severity)
        others = tuple(item.where for item in rest)
        yield Finding(code, severity, first.where, message, len(items), others, first.sizes, first.data)


def _code(item: Diagnostic) -> str:
    code = item.code if item.by else OF_DIAGNOSTICS.get(item.code, OTHER)
    return "ABS106" if code == "ABS101" and item.severity is not Severity.ERROR else code
