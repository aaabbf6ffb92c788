"""A model in a folder of its own, the tools, and the spelling that each has for sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import onnx
from peers import Said, told
from subjects import Sizes, Subject, shapes

ABSINT: Final = (sys.executable, "-m", "absint")


class Bench(NamedTuple):
    """A subject in a folder of its own, and the tools."""

    subject: Subject
    model: Path
    peers: Path
    seconds: float

    @property
    def folder(self) -> Path:
        return self.model.parent

    @property
    def target(self) -> Path:
        return self.folder / "out.onnx"

    def ask(self, *commands: Sequence[object], given: str = "") -> Said:
        """Run commands; the first word of each is a tool of the peers, or a path."""
        full = [[str(self._found(str(c[0]))), *map(str, c[1:])] for c in commands]
        self.target.unlink(missing_ok=True)
        return told(full, self.folder, self.seconds, given)

    def _found(self, tool: str) -> str | Path:
        return self.peers / tool if (self.peers / tool).exists() else tool

    def python(self, code: str, *arguments: object) -> Said:
        """Run a line of Python among the peers."""
        return self.ask(["python", "-c", code, *arguments])


Row = tuple[str, Callable[[Bench], str]]


def pairs(sizes: Sizes) -> list[str]:
    return [f"{name}={size}" for name, size in sizes.items()]


def misspelt(names: Mapping[str, Any]) -> dict[str, Any]:
    """The first name with a letter too many."""
    first, *others = names
    return {f"{first}z": names[first], **{name: names[name] for name in others}}


def colons(given: Mapping[str, Sequence[int]]) -> list[str]:
    """`x:1,8`, as onnxsim and onnxslim have it."""
    return [f"{name}:{','.join(map(str, shape))}" for name, shape in given.items()]


def brackets(given: Mapping[str, Sequence[object]]) -> list[str]:
    """`x:[1,8]`, as polygraphy has it."""
    return [f"{name}:{list(shape)}".replace(" ", "") for name, shape in given.items()]


def crosses(model: Path, sizes: Sizes) -> list[str]:
    """`x:f32:1x8`, as onnx-tool has it."""
    floats = {i.name: i.type.tensor_type.elem_type == 1 for i in onnx.load(model).graph.input}
    return [
        f"{name}:{'f32' if floats[name] else 'int32'}:{'x'.join(map(str, shape))}"
        for name, shape in shapes(model, sizes).items()
    ]
