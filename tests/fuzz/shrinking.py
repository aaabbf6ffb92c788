"""A case made smaller while it fails in the same way, in a process of its own for each try."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from google.protobuf.message import DecodeError
from onnx import ModelProto

from tests.fuzz.case import MODEL, Case

SECONDS: Final = 60.0
"""The most seconds for shrinking one case."""

_LISTS: Final = ("node", "initializer", "value_info", "output", "input", "sparse_initializer")


def shrunk(case: Case, failure: str, folder: Path) -> Case:
    """The smallest case that the time allows."""
    deadline = time.monotonic() + SECONDS
    progress = True
    while progress and time.monotonic() < deadline:
        progress = False
        for smaller in _smaller(case):
            if time.monotonic() > deadline:
                break
            if fails(smaller, failure, folder):
                case, progress = smaller, True
                break
    return case


def fails(case: Case, failure: str, folder: Path) -> bool:
    """It fails in this way, in a fresh process."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        (Path(name) / MODEL).write_bytes(case.model)
        (Path(name) / "arguments.json").write_text(json.dumps(case.arguments))
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.executing", name],
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return failure.startswith("took over")
        return failure in done.stdout


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with something left out, large parts first."""
    try:
        whole = ModelProto.FromString(case.model)
    except DecodeError:
        size = len(case.model)
        for step in (size // 2, size // 4, size // 8, size // 16):
            for at in range(0, size, max(step, 1)):
                yield case._replace(model=case.model[:at] + case.model[at + max(step, 1) :])
        return
    if whole.functions:
        yield case._replace(model=_without(whole, lambda m: m.ClearField("functions")))
    for name in _LISTS:
        count = len(getattr(whole.graph, name))
        step = count
        while step:
            for at in range(0, count, step):
                yield case._replace(
                    model=_without(whole, lambda m, n=name, a=at, s=step: _cut(getattr(m.graph, n), a, s))
                )
            step //= 2
    for at, node in enumerate(whole.graph.node):
        for index in range(len(node.attribute)):
            yield case._replace(model=_without(whole, lambda m, a=at, i=index: _cut(m.graph.node[a].attribute, i, 1)))
    for at in range(2, len(case.arguments)):
        yield case._replace(arguments=case.arguments[:at] + case.arguments[at + 1 :])


def _cut(items: Any, at: int, count: int) -> None:
    del items[at : at + count]


def _without(model: ModelProto, change: Any) -> bytes:
    copy = ModelProto()
    copy.CopyFrom(model)
    change(copy)
    content: bytes = copy.SerializeToString()
    return content
