"""Profiles as the texts that tools read.

trtexec          TensorRT's command line: `--minShapes=name:1x3,other:2`. It splits at commas, takes what stands after
                 the last colon for sizes, a name in single quotes as it is, and `*` in a name for any text.
polygraphy       `--trt-min-shapes name:[1,3] other:[2]`: what stands after the last colon are the sizes.
onnxruntime-trt  Options of its TensorRT provider, split at commas and at the first colon of each part.
torch-tensorrt   Python: a list of `torch_tensorrt.Input`.
openvino         An option of its converter ovc: `--input "name[1..32,3]"`, split at commas outside of brackets.

Numbers are shapes, and values for an input whose elements decide sizes; OpenVINO needs no values.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError

if TYPE_CHECKING:
    from absint.jobs.profiles.inputs import InputProfile

_CORNERS: Final = ("min", "opt", "max")


def text_for(inputs: Sequence[InputProfile], tool: str) -> str:
    """The text for a tool, ending in a line break.

    Raises UsageError for an unknown tool, and for a name that the tool cannot read.
    """
    if tool not in TOOLS:
        raise UsageError(f"unknown format {tool!r}; there are: {', '.join(TOOLS)}")
    return TOOLS[tool](inputs)


def _trtexec(inputs: Sequence[InputProfile]) -> str:
    """`--minShapes=... --optShapes=... --maxShapes=...` on one line, quoted for a shell."""
    wanted = _named(inputs, "trtexec", ",'*\"")
    flags = [
        f"--{corner}Shapes=" + ",".join(f"{_quoted(i.name)}:{_by_x(i, at)}" for i in wanted)
        for at, corner in enumerate(_CORNERS)
    ]
    return f"{shlex.join(flags)}\n" if wanted else "\n"


def _quoted(name: str) -> str:
    """A name with a colon stands in single quotes."""
    return f"'{name}'" if ":" in name else name


def _by_x(found: InputProfile, corner: int) -> str:
    return "x".join(map(str, found.corners[corner])) or "scalar"


def _polygraphy(inputs: Sequence[InputProfile]) -> str:
    wanted = _named(inputs, "polygraphy", "")
    words = []
    for at, corner in enumerate(_CORNERS):
        words += [f"--trt-{corner}-shapes", *(f"{i.name}:[{','.join(map(str, i.corners[at]))}]" for i in wanted)]
    return f"{shlex.join(words)}\n" if wanted else "\n"


def _onnxruntime(inputs: Sequence[InputProfile]) -> str:
    """A JSON object, which Python reads as a dict."""
    wanted = _named(inputs, "onnxruntime's TensorRT provider", ",:")
    options = {
        f"trt_profile_{corner}_shapes": ",".join(f"{i.name}:{_by_x(i, at)}" for i in wanted)
        for at, corner in enumerate(_CORNERS)
    }
    return json.dumps(options, indent=4) + "\n"


def _torch(inputs: Sequence[InputProfile]) -> str:
    """Python code; inputs that are static are in the list too, which is in the order of the arguments."""
    lines = ["import torch", "import torch_tensorrt", "", "inputs = ["]
    for each in inputs:
        dtype = _TORCH.get(each.dtype)
        if dtype is None:
            raise UsageError(f"torch_tensorrt has no inputs of type {each.dtype}: {each.name!r} is one")
        shapes = [f"{corner}_shape={each.corners[at]!r}" for at, corner in enumerate(_CORNERS)]
        words = shapes if each.is_dynamic else [f"shape={each.min!r}"]
        words += [f"dtype=torch.{dtype}", f"name={each.name!r}"]
        words += ["is_shape_tensor=True"] if each.is_values else []
        lines.append(f"    torch_tensorrt.Input({', '.join(words)}),")
    return "\n".join([*lines, "]", ""])


_TORCH: Final = {
    "FLOAT": "float32",
    "FLOAT16": "float16",
    "BFLOAT16": "bfloat16",
    "DOUBLE": "float64",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}


def _openvino(inputs: Sequence[InputProfile]) -> str:
    wanted = _named([i for i in inputs if not i.is_values], "ovc", "[](){},:=<>\"'")
    parts = [f"{i.name}[{','.join(map(_range, i.min, i.max))}]" for i in wanted]
    return f"{shlex.join(['--input', ','.join(parts)])}\n" if parts else "\n"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}..{high}"


def _named(inputs: Sequence[InputProfile], tool: str, special: str) -> list[InputProfile]:
    """The inputs that need ranges. Raises UsageError for a name that the tool would read as something else."""
    wanted = [each for each in inputs if each.is_dynamic]
    for each in wanted:
        found = next((c for c in each.name if c in special or not c.isprintable()), None)
        if found is not None or not each.name.strip():
            raise UsageError(
                f"{tool} cannot read the name {each.name!r} of an input: it has a special {found!r}"
                if found is not None
                else f"{tool} cannot read the empty name of an input"
            )
    return wanted


TOOLS: Final[Mapping[str, Callable[[Sequence[InputProfile]], str]]] = {
    "trtexec": _trtexec,
    "polygraphy": _polygraphy,
    "onnxruntime-trt": _onnxruntime,
    "torch-tensorrt": _torch,
    "openvino": _openvino,
}
"""Names of tools, with what writes a profile for them."""
