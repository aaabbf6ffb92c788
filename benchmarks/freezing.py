"""Freezing beside the tools that people use for it: what each says, and whether what it writes is right.

    python benchmarks/freezing.py --peers DIR [--seconds 120]

DIR is the `bin` of an environment with onnxruntime, onnxsim, onnxslim and polygraphy. Each tool fixes five models of
the corpus at legal sizes, at sizes at which the model cannot run, and with a misspelt name. For each the table has the
exit code and the file: `none`, or whether it loads and gives the outputs of the original on the same inputs.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import onnx

import absint
from absint.lattices.value import Tensor
from absint.runs.run import RunError, feeds_for, run

ROOT: Final = Path(__file__).parents[1]
CORPUS: Final = ROOT.parent / "shared" / "corpus"
Sizes = Mapping[str, int]

MODELS: Final[Mapping[str, tuple[Sizes, Sizes]]] = {
    "bert.dynamo": ({"batch": 2, "seq": 7}, {"seq": 1000}),
    "gpt2_past.dynamo": ({"batch": 2, "seq": 3, "total": 8, "past": 5}, {"total": 3}),
    "wav2vec2.legacy": ({"batch": 2, "samples": 3000}, {"samples": 100}),
    "unet_sd.dynamo": ({"batch": 2, "height": 16, "width": 24, "seq": 7}, {"height": 9}),
    "mamba.legacy": ({"batch": 2, "seq": 8}, {"seq": 9}),
}
"""Legal sizes, and what makes them illegal."""


class Case(NamedTuple):
    """One task for every tool."""

    kind: str
    sizes: Sizes
    misspelt: bool = False


def cases(name: str) -> Iterator[Case]:
    legal, change = MODELS[name]
    yield Case("legal", legal)
    yield Case("illegal", {**legal, **change})
    yield Case("misspelt", legal, misspelt=True)


def commands(tool: str, peers: Path, source: Path, target: Path, case: Case) -> list[list[str]]:
    """The commands of a tool, the next one on the file of the one before."""
    result = absint.analyze(source)
    shapes = {
        name: [int(n) for n in value.shape.evaluate(case.sizes)]
        for name in result.inputs
        if isinstance(value := result[name], Tensor)
    }
    if case.misspelt:
        first = next(iter(shapes))
        shapes = {f"{first}z": shapes.pop(first), **shapes}
    pairs = dict(case.sizes)
    if case.misspelt:
        first = next(iter(pairs))
        pairs = {f"{first}z": pairs.pop(first), **pairs}
    match tool:
        case "absint freeze":
            sizes = [f"{name}={size}" for name, size in pairs.items()]
            return [[sys.executable, "-m", "absint", "freeze", str(source), *sizes, "-o", str(target)]]
        case "make_dynamic_shape_fixed":
            module = [str(peers / "python"), "-m", "onnxruntime.tools.make_dynamic_shape_fixed"]
            steps = []
            for name, size in pairs.items():
                steps.append([*module, "--dim_param", name, "--dim_value", str(size), str(source), str(target)])
                source = target
            return steps
        case "onnxsim":
            given = [f"{name}:{','.join(map(str, shape))}" for name, shape in shapes.items()]
            return [[str(peers / "onnxsim"), str(source), str(target), "--overwrite-input-shape", *given]]
        case "onnxslim":
            given = [f"{name}:{','.join(map(str, shape))}" for name, shape in shapes.items()]
            return [[str(peers / "onnxslim"), str(source), str(target), "--input-shapes", *given]]
        case _:
            given = [f"{name}:{shape}".replace(" ", "") for name, shape in shapes.items()]
            sanitize = [str(peers / "polygraphy"), "surgeon", "sanitize", str(source), "--fold-constants"]
            return [[*sanitize, "--override-input-shapes", *given, "-o", str(target)]]


TOOLS: Final = ("absint freeze", "make_dynamic_shape_fixed", "onnxsim", "onnxslim", "polygraphy")


def judged(source: Path, target: Path, sizes: Sizes) -> str:
    """What the file that a tool wrote is worth."""
    if not target.exists():
        return "no file"
    try:
        model = onnx.load(target, load_external_data=False)
        onnx.checker.check_model(str(target))
        original, copy = absint.analyze(source), absint.analyze(target)
        nodes = f"{len(model.graph.node):,} nodes"
        feeds = feeds_for(original, sizes, seed=1)
        written = run(copy, feeds, isolated=True)
    except RunError as error:
        return f"**written, {'does not load' if 'Load' in str(error) else 'no run succeeds'}**"
    except Exception as error:  # whatever is wrong with the file of another tool
        return f"**written, {type(error).__name__}**"
    try:
        expected = run(original, feeds, isolated=True)
    except RunError:
        return "**written, runs where the model does not**"
    names = [info.name for info in onnx.load(source, load_external_data=False).graph.output]
    same = all(_same(expected[name], written.get(name)) for name in names)
    close = all(_close(expected[name], written.get(name)) for name in names)
    left = sum(not dim.HasField("dim_value") for info in model.graph.input for dim in info.type.tensor_type.shape.dim)
    text = f"{nodes}, {'same outputs' if same else 'outputs close' if close else '**other outputs**'}"
    return f"{text}, **{left} dims of inputs still open**" if left else text


def _same(a: Any, b: Any) -> bool:
    return b is not None and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _close(a: Any, b: Any) -> bool:
    return b is not None and np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-3, atol=1e-4))


def tried(tool: str, peers: Path, name: str, case: Case, seconds: float) -> str:
    """What a tool does, in one cell."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for file in (CORPUS / f"{name}.onnx", *CORPUS.glob("*.bin")):
            shutil.copy(file, folder)
        source, target = folder / f"{name}.onnx", folder / "out.onnx"
        code, said = 0, ""
        for command in commands(tool, peers, source, target, case):
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
            except subprocess.TimeoutExpired:
                return f"over {seconds:g} s"
            code = code or done.returncode
            said = said or next(filter(None, map(str.strip, (done.stderr or done.stdout).splitlines()[::-1])), "")
            if case.kind != "legal" and code == 0 and not done.stderr:
                said = ""
        verdict = judged(source, target, case.sizes)
        line = f"exit {code}, {verdict}"
        return line if case.kind == "legal" and code == 0 else f"{line}; {_line(said)}"


def _line(text: str) -> str:
    return f"`{text[:90].replace('|', '/')}`" if text else "not a word"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    args = parser.parse_args(arguments)
    print("| model | sizes | " + " | ".join(args.tools) + " |")
    print("|---" * (len(args.tools) + 2) + "|")
    for name in args.names:
        for case in cases(name):
            cells = [tried(tool, args.peers, name, case, args.seconds) for tool in args.tools]
            print(f"| {name} | {case.kind} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
