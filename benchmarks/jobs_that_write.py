"""Jobs of `jobs.py` that write a model: freeze and dynamize. A run judges the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
from bench import ABSINT, Bench, Row, brackets, colons, misspelt, pairs
from peers import shortened
from subjects import Sizes, Subject, shapes
from verdicts import copy_at, still_open


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
            return f"{worth}, **dims left open: {left}**; {said}" if left else f"{worth}; {said}"

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
        (
            "polygraphy surgeon sanitize",
            row(lambda b, _, g: [[*_sanitize(b, b.model, brackets(g)), "--fold-constants"]]),
        ),
    ]


def _sanitize(bench: Bench, source: Path, given: list[str]) -> list[object]:
    return ["polygraphy", "surgeon", "sanitize", source, "--override-input-shapes", *given, "-o", bench.target]


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
            lines = said.text.splitlines()
            left = next((b for a, b in pairwise(lines) if a.startswith("legal sizes meet")), "").strip()
            answer = f"exit {said.code}, `{shortened(left)}`" if left else said
            return f"{copy_at(bench.model, bench.target, {**legal, 'batch': 3})}; {answer}"

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
