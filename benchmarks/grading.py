"""The worth of answers: dims that are exact and dims that are wrong, against the sizes that executed runs showed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

import absint


def grade(path: Path, truth: Path | None, shapes: Mapping[str, list[Any] | None]) -> tuple[int, int, int] | None:
    """Dims that runs showed, that are exact, and that are wrong; None without runs."""
    file = None if truth is None else truth / f"{path.stem}.json.gz"
    if file is None or not file.exists():
        return None
    seen = json.loads(gzip.decompress(file.read_bytes()))
    bindings = [run["binding"] for run in seen["runs"]]
    total = exact = wrong = 0
    for node in onnx.load(path, load_external_data=False).graph.node:
        if node.op_type == "Constant":
            continue
        for name in node.output:
            ran, said = seen["shapes"].get(name), shapes.get(name)
            if not ran:
                continue
            total += len(ran[0])
            if said is None:
                continue
            if any(len(sizes) != len(said) for sizes in ran):
                wrong += max(len(ran[0]), 1)
                continue
            for axis, text in enumerate(said):
                right = is_right(text, [sizes[axis] for sizes in ran], bindings)
                exact += right is True
                wrong += right is False
    return total, exact, wrong


def is_right(text: int | str | None, ran: list[int], bindings: list[dict[str, int]]) -> bool | None:
    """True if a dim agrees with every run; None if it says nothing over the symbols of the inputs."""
    if isinstance(text, int):
        return all(size == text for size in ran)
    if text is None:
        return None
    try:
        dim = absint.parse(text)
        return [dim.evaluate(binding) for binding in bindings] == ran
    except Exception:  # a name that the engine invented, or a text of another language
        return None
