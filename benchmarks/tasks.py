"""The jobs of `jobs.py`: for each what is asked of which tool, and how its answer is judged by a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import onnx
from grading import is_right
from peers import Said, told
from subjects import Sizes, Subject, shapes, traced, undeclared
from verdicts import copy_at, runs_at, still_open

import absint
from absint.runs.run import RunError, sizes_at

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


# freeze


def freezing(sizes_of: Callable[[Subject], Sizes], wrong_name: bool = False) -> list[Row]:
    def row(commands: Callable[[Bench, Sizes, dict[str, list[int]]], list[list[object]]]) -> Callable[[Bench], str]:
        def cell(bench: Bench) -> str:
            sizes = sizes_of(bench.subject)
            given, named = shapes(bench.model, sizes), dict(sizes)
            if wrong_name:
                given, named = misspelt(given), misspelt(named)
            said = bench.ask(*commands(bench, named, given))
            if said.code is None:
                return str(said)
            worth = copy_at(bench.model, bench.target, sizes)
            left = still_open(bench.target) if bench.target.exists() and worth[0] != "*" else 0
            return f"{worth}, **{left} dims left open**; {said}" if left else f"{worth}; {said}"

        return cell

    def fixed(bench: Bench, named: Sizes, _given: object) -> list[list[object]]:
        module = ["python", "-m", "onnxruntime.tools.make_dynamic_shape_fixed"]
        files = [bench.model, *[bench.target] * len(named)]
        items = enumerate(named.items())
        return [
            [*module, "--dim_param", name, "--dim_value", size, files[k], files[k + 1]] for k, (name, size) in items
        ]

    return [
        ("absint freeze", row(lambda b, n, _: [[*ABSINT, "freeze", b.model, *pairs(n), "-o", b.target]])),
        ("onnxruntime make_dynamic_shape_fixed", row(fixed)),
        ("onnxsim", row(lambda b, _, g: [["onnxsim", b.model, b.target, "--overwrite-input-shape", *colons(g)]])),
        ("onnxslim", row(lambda b, _, g: [["onnxslim", b.model, b.target, "--input-shapes", *colons(g)]])),
        ("polygraphy surgeon sanitize", row(lambda b, _, g: [[*_sanitize(b, b.model, brackets(g)), "--fold-constants"]])),
    ]


def _sanitize(bench: Bench, source: Path, given: list[str]) -> list[object]:
    return ["polygraphy", "surgeon", "sanitize", source, "--override-input-shapes", *given, "-o", bench.target]


# dynamize


def dynamizing() -> list[Row]:
    def row(command: Callable[[Bench, Path, dict[str, list[Any]]], Sequence[object]]) -> Callable[[Bench], str]:
        def cell(bench: Bench) -> str:
            static = bench.folder / "static.onnx"
            legal = bench.subject.legal
            bench.ask(["onnxslim", bench.model, static, "--input-shapes", *colons(shapes(bench.model, legal))])
            if copy_at(bench.model, static, legal)[0] == "*":
                return "nothing to start from"
            declared = onnx.load(bench.model).graph.input
            given: dict[str, list[Any]] = {
                info.name: [
                    "batch" if dim.dim_param == "batch" else dim.dim_value or legal[dim.dim_param.replace(" ", "")]
                    for dim in info.type.tensor_type.shape.dim
                ]
                for info in declared
            }
            said = bench.ask(command(bench, static, given))
            if said.code is None:
                return str(said)
            return f"{copy_at(bench.model, bench.target, {**legal, 'batch': 3})}; {said}"

        return cell

    def axes(given: Mapping[str, Sequence[object]]) -> list[str]:
        return [f"{name}[{k}]=batch" for name, dims in given.items() for k, dim in enumerate(dims) if dim == "batch"]

    code = (
        "import json, sys, onnx; from onnx.tools.update_model_dims import update_inputs_outputs_dims as update; "
        "model = onnx.load(sys.argv[1]); dims = lambda v: [d.dim_value for d in v.type.tensor_type.shape.dim]; "
        "outputs = {v.name: ['batch', *dims(v)[1:]] for v in model.graph.output}; "
        "onnx.save(update(model, json.loads(sys.argv[2]), outputs), sys.argv[3])"
    )

    def minus(given: Mapping[str, Sequence[object]]) -> dict[str, list[Any]]:
        return {name: [-1 if dim == "batch" else dim for dim in dims] for name, dims in given.items()}

    return [
        ("absint dynamize --fix", row(lambda b, s, g: [*ABSINT, "dynamize", s, *axes(g), "--fix", "-o", b.target])),
        ("onnx.tools.update_model_dims", row(lambda b, s, g: ["python", "-c", code, s, json.dumps(g), b.target])),
        ("onnxslim, -1", row(lambda b, s, g: ["onnxslim", s, b.target, "--input-shapes", *colons(minus(g))])),
        ("polygraphy surgeon sanitize", row(lambda b, s, g: _sanitize(b, s, brackets(g)))),
    ]


# profile


def profiling() -> list[Row]:
    def absint_cell(bench: Bench) -> str:
        box = [f"{name}={low}..{best}..{high}" for name, (low, best, high) in bench.subject.box.items()]
        said = bench.ask([*ABSINT, "profile", bench.model, *box])
        line = next((text.strip() for text in said.text.splitlines() if "nearest legal box" in text), "")
        return f"exit {said.code}, `{line}`"

    def polygraphy(bench: Bench) -> str:
        corners = [
            brackets(shapes(bench.model, {name: three[k] for name, three in bench.subject.box.items()}))
            for k in range(3)
        ]
        options = [part for k, flag in enumerate(("min", "opt", "max")) for part in (f"--trt-{flag}-shapes", *corners[k])]
        said = bench.ask(["polygraphy", "template", "trt-config", *options, "-o", bench.folder / "profile.py"])
        wrote = "**profile written**" if (bench.folder / "profile.py").exists() else "no profile"
        return f"{wrote}; {said}"

    def oracle(bench: Bench) -> str:
        return "a run succeeds" if runs_at(bench.model, bench.subject.illegal) else "no run succeeds"

    return [
        ("absint profile", absint_cell),
        ("polygraphy template trt-config", polygraphy),
        ("a run at sizes in these ranges (those of *illegal*)", oracle),
    ]


# check


def checking() -> list[Row]:
    def absint_cell(bench: Bench) -> str:
        said = bench.ask([*ABSINT, "check", bench.model, *pairs(bench.subject.illegal)])
        near = absint.analyze(bench.model).nearest(bench.subject.illegal)
        runs = near.sizes is not None and runs_at(bench.model, near.sizes)
        line = next((text for text in said.text.splitlines() if text.startswith("nearest")), "")
        return f"exit {said.code}, `{line}`; {'it runs there' if runs else '**no run there**'}"

    def runtime(bench: Bench) -> str:
        given = brackets(shapes(bench.model, bench.subject.illegal))
        return str(bench.ask(["polygraphy", "run", bench.model, "--onnxrt", "--input-shapes", *given]))

    def onnx_tool(bench: Bench) -> str:
        given = crosses(bench.model, bench.subject.illegal)
        return str(bench.ask(["python", "-m", "onnx_tool", "-m", "profile", "-i", bench.model, "-d", *given]))

    return [
        ("absint check", absint_cell),
        ("polygraphy run --onnxrt", runtime),
        ("onnx-tool profile", onnx_tool),
    ]


# diff


def comparing() -> list[Row]:
    def absint_cell(bench: Bench) -> str:
        said = bench.ask([*ABSINT, "diff", bench.model, traced(bench.model)])
        found = next((text.strip() for text in said.text.splitlines() if text.strip().startswith("at ")), "")
        return f"exit {said.code}, `{found}`"

    def polygraphy(batch: int) -> Callable[[Bench], str]:
        def cell(bench: Bench) -> str:
            given = brackets(shapes(bench.model, {**bench.subject.legal, "batch": batch}))
            saved = bench.folder / "outputs.json"
            options = ["--onnxrt", "--input-shapes", *given]
            said = bench.ask(
                ["polygraphy", "run", bench.model, *options, "--save-outputs", saved],
                ["polygraphy", "run", traced(bench.model), *options, "--load-outputs", saved],
            )
            passed = "All outputs matched" in said.text
            return f"{'**all outputs matched**' if passed else 'outputs differ'}, exit {said.code}"

        return cell

    def onnxslim(bench: Bench) -> str:
        said = bench.ask(["onnxslim", "--inspect", bench.model, traced(bench.model)])
        rows = [text for text in said.text.splitlines() if text.startswith("|")]
        named = [text for text in rows if "OUT:" in text]
        cells = [[part.strip() for part in text.strip("|").split("|")] for text in named]
        equal = bool(cells) and all(c[1] == c[2] for c in cells if len(c) > 2)
        return f"**outputs shown as equal**, exit {said.code}" if equal else f"exit {said.code}"

    return [
        ("absint diff", absint_cell),
        ("polygraphy run, batch 1", polygraphy(1)),
        ("polygraphy run, batch 2", polygraphy(2)),
        ("onnxslim --inspect", onnxslim),
    ]


# lint


def linting() -> list[Row]:
    def absint_cell(bench: Bench) -> str:
        said = bench.ask([*ABSINT, "lint", traced(bench.model)])
        found = next((text.strip() for text in said.text.splitlines() if "ABS20" in text), "")
        return f"exit {said.code}, `{' '.join(found.split())}`"

    check = "import sys, onnx; onnx.checker.check_model(sys.argv[1], full_check=True)"

    def legal(bench: Bench) -> list[str]:
        return brackets(shapes(bench.model, bench.subject.legal))

    def lint(bench: Bench) -> str:
        return str(bench.ask(["polygraphy", "check", "lint", traced(bench.model), "--input-shapes", *legal(bench)]))

    def onnx_tool(bench: Bench) -> str:
        given = crosses(bench.model, bench.subject.legal)
        return str(bench.ask(["python", "-m", "onnx_tool", "-m", "profile", "-i", traced(bench.model), "-d", *given]))

    return [
        ("absint lint", absint_cell),
        ("onnx.checker, full_check", lambda b: str(b.python(check, traced(b.model)))),
        ("onnxslim --model-check", lambda b: str(b.ask(["onnxslim", traced(b.model), b.target, "--model-check"]))),
        ("polygraphy check lint", lint),
        ("onnx-tool profile", onnx_tool),
    ]


# infer


def inferring() -> list[Row]:
    def row(engine: str) -> Callable[[Bench], str]:
        def cell(bench: Bench) -> str:
            python = sys.executable if engine == "absint" else "python"
            asked = undeclared(bench.model)
            request = json.dumps({"path": str(asked), "way": "file", "runs": 1})
            script = Path(__file__).with_name("engines.py")
            said = bench.ask([python, script, engine], given=request + "\n")
            reply = next((json.loads(text) for text in said.text.splitlines() if text.startswith("{")), None)
            if reply is None or "failure" in reply:
                return f"fails: `{reply['failure']}`" if reply else str(said)
            return graded(bench, reply["shapes"])

        return cell

    named = {
        "absint": "absint",
        "onnx": "onnx infer_shapes, data_prop",
        "onnxruntime": "onnxruntime symbolic_shape_infer",
        "onnxruntime auto_merge": "the same, auto_merge",
        "onnx-shape-inference": "onnx-shape-inference",
    }
    return [(name, row(engine)) for engine, name in named.items()]


def graded(bench: Bench, said: Mapping[str, list[Any] | None]) -> str:
    """Dims that are right in three runs, of all that these runs show, and those that are wrong."""
    result = absint.analyze(bench.model)
    names = [name for node in onnx.load(bench.model).graph.node if node.op_type != "Constant" for name in node.output]
    names = [name for name in names if name and name in result.shapes]
    wide = {name: size + (size > 8) * 32 for name, size in bench.subject.legal.items()}
    bindings = [dict(bench.subject.legal), {**bench.subject.legal, "batch": 3}, {**wide, "batch": 5}]
    runs = [sizes_at(result, sizes, names) for sizes in bindings]
    total = right = wrong = 0
    for name in names:
        ran = [run[name] for run in runs]
        dims = said.get(name)
        total += len(ran[0])
        if dims is None:
            continue
        if len(dims) != len(ran[0]):
            wrong += max(len(ran[0]), 1)
            continue
        for axis, text in enumerate(dims):
            judged = is_right(text, [sizes[axis] for sizes in ran], bindings)
            right += judged is True
            wrong += judged is False
    return f"{right:,} of {total:,}" + (f", **{wrong} wrong**" if wrong else "")


JOBS: Final[Mapping[str, tuple[str, list[Row]]]] = {
    "legal": ("Freeze, legal sizes", freezing(lambda s: s.legal)),
    "illegal": ("Freeze, illegal sizes", freezing(lambda s: s.illegal)),
    "misspelt": ("Freeze, misspelt", freezing(lambda s: s.legal, wrong_name=True)),
    "check": ("Illegal sizes, and which are legal", checking()),
    "dynamize": ("Dynamize", dynamizing()),
    "profile": ("Profile", profiling()),
    "diff": ("Diff", comparing()),
    "lint": ("Lint", linting()),
    "infer": ("Infer", inferring()),
}

__all__ = ["JOBS", "Bench", "RunError"]
