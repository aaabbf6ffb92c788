"""A profile: the least, best and greatest shape of every input; as an object, as text and JSON, and as what tools read.

trtexec          TensorRT's command line: `--minShapes=name:1x3,other:2`. It splits at commas, takes what stands after
                 the last colon for sizes, a name in single quotes as it is, and `*` in a name for any text.
polygraphy       `--trt-min-shapes name:[1,3] other:[2]`: what stands after the last colon are the sizes.
onnxruntime-trt  Options of its TensorRT provider, split at commas and at the first colon of each part.
torch-tensorrt   Python: a list of `torch_tensorrt.Input`.
openvino         An option of its converter ovc: `--input "name[1..32,3]"`, split at commas outside of brackets.

Numbers are shapes, and values for an input whose elements decide sizes; OpenVINO needs no values.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from absint.errors import UsageError
from absint.lattices.dtype import DType
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import excerpt, plain
from absint.lattices.text.forms import Key, Object, keys_of, kind_of, many, maybe, one_of
from absint.lattices.text.sheets import UNBROKEN, Line, Sheet, listed
from absint.model.initialisers import NUMPY_NAMES
from absint.questions.sizes.outcomes import Outcome, RangeCheck


@dataclass(frozen=True)
class InputProfile:
    """The least, best and greatest shape of an input; of a shape tensor, whose elements decide sizes, the values."""

    name: str
    dtype: str
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]
    is_values: bool = False
    """The numbers are elements of the input, not its shape."""

    @property
    def is_dynamic(self) -> bool:
        """An engine needs a range for it."""
        return self.is_values or self.min != self.max

    @property
    def corners(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Least, best, greatest."""
        return self.min, self.opt, self.max


# The texts that tools read.

_CORNERS: Final = ("min", "opt", "max")


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


_OF_TORCH: Final = "FLOAT FLOAT16 BFLOAT16 DOUBLE INT8 UINT8 INT32 INT64 BOOL"
_TORCH: Final = {name: NUMPY_NAMES[DType[name]] for name in _OF_TORCH.split()}


def _openvino(inputs: Sequence[InputProfile]) -> str:
    wanted = _named([i for i in inputs if not i.is_values], "ovc", "[](){},:=<>\"'")
    ranges = [[str(a) if a == b else f"{a}..{b}" for a, b in zip(i.min, i.max, strict=True)] for i in wanted]
    parts = [f"{i.name}[{','.join(sizes)}]" for i, sizes in zip(wanted, ranges, strict=True)]
    return f"{shlex.join(['--input', ','.join(parts)])}\n" if parts else "\n"


def _named(inputs: Sequence[InputProfile], tool: str, special: str) -> list[InputProfile]:
    """The inputs that need ranges. Raises UsageError for a name that the tool would read as something else."""
    wanted = [each for each in inputs if each.is_dynamic]
    for each in wanted:
        found = next((c for c in each.name if c in special or not c.isprintable()), None)
        if found is not None or not each.name.strip():
            special = f"name {each.name!r} of an input: it has a special {found!r}"
            raise UsageError(f"{tool} cannot read the {'empty name of an input' if found is None else special}")
    return wanted


TOOLS: Final[Mapping[str, Callable[[Sequence[InputProfile]], str]]] = {
    "trtexec": _trtexec,
    "polygraphy": _polygraphy,
    "onnxruntime-trt": _onnxruntime,
    "torch-tensorrt": _torch,
    "openvino": _openvino,
}
"""Names of tools, with what writes a profile for them."""


class Sizes3(NamedTuple):
    """The sizes of one symbol: the least, the one that an engine is optimised for, and the greatest."""

    min: int
    opt: int
    max: int

    def __str__(self) -> str:
        return str(self.min) if self.min == self.max else f"{self.min}..{self.opt}..{self.max}"


Box3 = Mapping[str, Sizes3]
"""Sizes of all symbols."""


@dataclass(frozen=True)
class Profile:
    """Ranges of all inputs, or the reason why there are none. False if it is refused.

    An engine takes every size between the least and the greatest, so all of them have to be legal. With `corners` the
    least, best and greatest are, and not all between.
    """

    symbols: Box3
    """The sizes of the symbols, as they were asked for; with `corners`, as they were moved to legal ones."""
    inputs: tuple[InputProfile, ...]
    """All inputs, in the order of the model; none if the profile is refused."""
    checked: RangeCheck
    """The answer about all sizes between the least and the greatest."""
    refused: str = ""
    """The reason why it is refused, in one line."""
    steps: Mapping[str, tuple[int, int]] | None = None
    """Modulus and remainder of symbols whose legal sizes are not all sizes of a range."""
    nearest: Box3 | None = None
    """If refused: sizes around the best ones of which all are proved legal, as many as were found."""
    corners: Box3 | None = None
    """If refused: the nearest sizes at which the least, best and greatest are legal."""
    warnings: tuple[str, ...] = ()
    """Sizes that an engine will accept although they are not legal, and sizes that were moved."""
    without_shape: tuple[str, ...] = ()
    """If refused: inputs of unknown rank, which an engine needs."""
    assuming: tuple[str, ...] = ()
    """The caller's assumption: only sizes that meet it are shown to be legal."""

    def __bool__(self) -> bool:
        return not self.refused

    def __str__(self) -> str:
        return str(self.sheet)

    def __repr__(self) -> str:
        return f"<Profile: {excerpt(self.refused or '; '.join(map(_input, self.inputs)))}>"

    def _repr_html_(self) -> str:
        return self.sheet.html()

    @property
    def sheet(self) -> Sheet:
        """The ranges of all inputs, or the refusal with what may be had instead."""
        if self.refused:
            rows = list(self.warnings)
            if self.nearest is not None:
                rows.append(f"nearest legal box: {spelled(self.nearest)}")
            if self.corners is not None and self.corners != self.nearest:
                rows.append(f"legal corners, with some illegal sizes between (--corners): {spelled(self.corners)}")
            return Sheet(Line(f"refused: {self.refused}", "bold red"), [listed("", rows, UNBROKEN)])
        assuming = f", assuming {' and '.join(self.assuming)}" if self.assuming else ""
        verdict = Line(f"profile for {spelled(self.symbols) or 'static inputs'}{assuming}", "bold")
        warnings = [Line(f"warning: {warning}") for warning in self.warnings]
        return Sheet(verdict, [listed("", map(_input, self.inputs), UNBROKEN), *warnings])

    def to_json(self, *, model: str = "") -> str:
        """As a JSON object, schema `absint.profile/2`, about the model of that name."""
        return PROFILE.text(self, head=Head(model, self.assuming))

    def text(self, tool: str) -> str:
        """The arguments or the code that a tool reads, ending in a line break: see `absint.jobs.profiles.profile`.

        Raises UsageError if the profile is refused, for an unknown tool, and for a name that the tool cannot read.
        """
        if self.refused:
            raise UsageError(f"the profile is refused: {self.refused}")
        if tool not in TOOLS:
            raise UsageError(f"unknown format {tool!r}; there are: {', '.join(TOOLS)}")
        return TOOLS[tool](self.inputs)


def spelled(box: Box3) -> str:
    """As on a command line: `batch=1..4..32, seq=128`."""
    return ", ".join(f"{plain(name)}={sizes}" for name, sizes in box.items())


def _input(found: InputProfile) -> str:
    corners = dict.fromkeys(f"[{', '.join(map(str, corner))}]" for corner in found.corners)
    return f"{'elements of ' if found.is_values else ''}{plain(found.name)}: {found.dtype} {' .. '.join(corners)}"


_BOX: Final = kind_of(Box3)
_INPUT: Final = keys_of(InputProfile, is_values="the numbers are elements, not a shape")
_STEP: Final = Object[tuple[str, tuple[int, int]]](
    Key("symbol", str, of=lambda step: step[0]),
    Key("modulus", int, of=lambda step: step[1][0]),
    Key("remainder", int, of=lambda step: step[1][1]),
)
PROFILE: Final = Document[Profile](
    "profile",
    2,
    "proved ranges of sizes for engine builders (absint profile)",
    Key("refused", str, "why there is no profile, or empty"),
    Key("symbols", _BOX, "of every symbol the least size, the best, and the greatest"),
    Key("inputs", many(Object(*_INPUT, Key("is_dynamic", bool, "an engine needs a range for it")))),
    Key("outcome", one_of(Outcome), "of the check of all sizes between", lambda found: found.checked.outcome),
    Key("steps", many(_STEP), "symbols whose legal sizes have a remainder", lambda found: (found.steps or {}).items()),
    Key("nearest", maybe(_BOX), "if refused: a box of legal sizes; null if none was found"),
    Key("corners", maybe(_BOX), "if refused: legal corners; null if none were found"),
    Key("warnings", many(str), "sizes that an engine takes although they are not legal, and sizes that were moved"),
    head=("model", "assume"),
    defines=False,
)
