"""Jobs of `jobs.py` that say something of a model: check, profile, diff, lint. A run judges what can be run."""

from __future__ import annotations

from collections.abc import Callable

from bench import ABSINT, Bench, Row, brackets, crosses, pairs
from peers import shortened
from subjects import shapes, traced
from verdicts import runs_at

import absint


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
        options = [
            part for k, flag in enumerate(("min", "opt", "max")) for part in (f"--trt-{flag}-shapes", *corners[k])
        ]
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

    return [("absint check", absint_cell), ("polygraphy run --onnxrt", runtime), ("onnx-tool profile", onnx_tool)]


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


def linting() -> list[Row]:
    def absint_cell(bench: Bench) -> str:
        said = bench.ask([*ABSINT, "lint", traced(bench.model)])
        found = [" ".join(text.split()) for text in said.text.splitlines() if " ABS" in text]
        planted = next((text for text in found if "output" in text), "") or next(iter(found), "")
        return f"exit {said.code}, `{shortened(planted)}`"

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
        ("polygraphy check lint", lint),
        ("onnx-tool profile", onnx_tool),
    ]
