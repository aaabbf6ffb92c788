"""Forged certificates and models: `python -m tests.jobs.forged_models [--mutants 10000] [--seed 1] [--seconds 180]`.

Changes of the model (its graph, its bytes, its external data), of the manifest, of lemmas, texts and formulas, alone
and together; all hashes are made to fit, and whoever checks has read the specifications of the original certificates. A
mutant that check.py accepts must claim what the original claims, and its model must have the claimed shapes, unless
check.py tells what is given otherwise. Exit code 1 if one does not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper

import absint
from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import manifest_of, model_of
from tests.absint.questions.certificates.test_certificates import MODELS as SMALL
from tests.jobs.forgers import FORGERS, Forgery

EVERYTHING = """(float[batch, seq, 64] x, float[64, D] w, int64 n, bool c) => (y, q, z, turned, parts, second, filled) <
    int64[1] zero = {0}, int64[1] two = {2}, int64[2] heads = {4, -1}> {
    h = MatMul(x, w)  s = Shape(x)  rows = Slice(s, zero, two)
    target = Concat<axis=0>(rows, heads)  y = Reshape(h, target)
    q = Loop(n, c, x) <body = b (int64 i, bool k, float[batch, r, 64] a) => (bool k2, float[batch, r2, 64] a2) {
        k2 = Identity(k)  e = Relu(a)  a2 = Concat<axis=1>(e, x) }>
    z = If(c) <then_branch = t () => (u) { u = my.f<axis=1>(x) }, else_branch = e () => (v) { v = Relu(w) }>
    turned = Transpose<perm=[0, 2, 1]>(x)  parts, second = Split<axis=2, num_outputs=2>(x)
    three = Constant<value_ints=[3, 5]>()  filled = ConstantOfShape(three) }
    <domain: "my", opset_import: ["": 18]> f <axis> (a) => (b) { t = Relu(a)  b = Softmax<axis: int = @axis>(t) }"""
CALLS = """<ir_version: 10, opset_import: ["": 6, "my": 1]> m (float[N, 4] a, float[M, 4] b) => (y, z) {
    y = my.f<axis=0>(a, b)  z = Relu(y) }
    <domain: "my", opset_import: ["": 6]> f <axis> (p, q) => (r) { s = Add(p, q)  r = Flatten<axis: int = @axis>(s) }"""
MODELS = {"everything": EVERYTHING, "calls": CALLS} | {
    name: SMALL[name] for name in ("shapes", "facts", "window", "sizes of branches", "counting", "nested", "halved")
}
"""Models all of whose steps are nodes of the file."""

OPERATORS = ("Relu", "NonZero", "Transpose", "Squeeze", "Shape", "Concat", "Add", "MatMul", "Reshape", "Flatten")


def accepted(certificate: Path, model: ModelProto, folder: Path) -> str | None:
    """The first problem that check.py finds, without a solver; None if there is none, "" if something is told."""
    path = folder / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    manifest = manifest_of(certificate)
    manifest["model"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        chain, problems = check.found_wrong(certificate, manifest, check.Model(path))
    except check.UnreadableError as problem:
        return str(problem)
    told = chain.comparison is not None and (chain.comparison.stated or chain.comparison.open)
    return problems[0] if problems else "" if told else None


def differ(
    before: absint.Result,
    manifest: dict[str, Any],
    mutant: Path | ModelProto,
    is_shown: Callable[[tuple[str, ...], int, int], bool] = lambda site, output, axis: True,
) -> str:
    """A size that is claimed, and shown, of a value in the main graph and is another one in the mutant, if it loads."""
    try:
        after = absint.analyze(mutant)
    except absint.AbsintError:
        return ""
    if any(found.severity.value == "error" for found in after.diagnostics):
        return ""
    renamed = {
        str(old): str(new)
        for name in before.inputs
        if name in after.shapes and not before.shapes[name].is_top and not after.shapes[name].is_top
        for old, new in zip(before.shapes[name], after.shapes[name], strict=False)
        if str(old).isidentifier() and re.fullmatch(r"[^\W\d][\w.]*|`[^`]*`", str(new))
    }
    if len(set(renamed.values())) < len(renamed):
        renamed = {}

    def written(found: absint.Result, name: str, axis: int) -> str:
        shape = found.shapes[name]
        size = str(shape[axis]) if not shape.is_top and axis < len(shape) else "?"
        return re.sub(r"\w+", lambda word: renamed.get(word[0], word[0]), size) if found is before else size

    for step in manifest["steps"]:
        for output, claim in enumerate(step.get("gives", ()) if len(step.get("at", ())) == 1 else ()):
            name, dims = claim["value"], claim["dims"] or ()
            for axis, dim in enumerate(dims):
                sizes = [written(found, name, axis) for found in (before, after) if name in found.shapes]
                if dim is not None and len(set(sizes)) > 1 and is_shown(tuple(step["at"]), output, axis):
                    return f"{name}[{axis}]: {' or '.join(sizes)}"
    return ""


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    """All nodes, those of bodies and functions among them."""
    pending = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while pending:
        node = pending.pop()
        yield node
        pending += [inner for attribute in node.attribute for inner in attribute.g.node]


def mutants(model: ModelProto, dice: random.Random, count: int) -> Iterator[ModelProto]:
    """Models with one change each."""
    for _ in range(count):
        mutant = ModelProto()
        mutant.CopyFrom(model)
        _change(mutant, dice)
        yield mutant


def _change(model: ModelProto, dice: random.Random) -> None:
    every = list(nodes(model))
    names = [name for node in every for name in (*node.input, *node.output)] + [""]
    node = dice.choice(every)
    kind = dice.randrange(12)
    if kind == 0:
        node.op_type = dice.choice(OPERATORS)
    elif kind <= 2 and node.input:
        node.input[dice.randrange(len(node.input))] = dice.choice(names)
    elif kind == 3:
        dice.choice([node.input, node.output]).append(dice.choice(names))
    elif kind == 4 and node.attribute:
        del node.attribute[dice.randrange(len(node.attribute))]
    elif kind <= 6 and node.attribute:
        _attribute(dice.choice(node.attribute), dice)
    elif kind == 7:
        name = dice.choice(["axis", "perm", "keepdims", "to"])
        node.attribute.append(helper.make_attribute(name, dice.choice([0, 1])))
    elif kind == 8 and model.graph.initializer:
        tensor = dice.choice(model.graph.initializer)
        items = [dice.choice([-1, 0, 1, 2, 4]) for _ in range(math.prod(tensor.dims))]
        tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, items))
    elif kind == 9:
        dims = dice.choice(model.graph.input).type.tensor_type.shape.dim
        if dims:
            dice.choice(dims).dim_value = dice.choice([1, 2, 3, 64])
    elif kind == 10:
        dice.choice(model.opset_import).version = dice.choice([9, 13, 17, 18, 19])
    else:
        graph = dice.choice([model.graph, *(a.g for n in every for a in n.attribute if a.type == AttributeProto.GRAPH)])
        dice.choice(graph.output).name = dice.choice(names)


def _attribute(attribute: AttributeProto, dice: random.Random) -> None:
    if attribute.ints:
        attribute.ints[dice.randrange(len(attribute.ints))] = dice.choice([-1, 0, 1, 2, 3])
    elif attribute.type == AttributeProto.INT:
        attribute.i = dice.choice([-1, 0, 1, 2, 6, 7])
    else:
        attribute.name = dice.choice(["axis", "then_branch", "else_branch", "body"])


@dataclass(frozen=True)
class Case:
    """A model and its certificate."""

    name: str
    forgery: Forgery
    original: check.Chain
    """The chain of the certificate as it was written."""
    result: absint.Result


def case(name: str, text: str, folder: Path) -> Case:
    """The model, with external data, and its certificate with queries."""
    model = model_of(text)
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w", size_threshold=0)
    result = absint.analyze(folder / "m.onnx")
    result.certify(queries(result)).write(folder / "c")
    lemmas = {path.stem: path.read_text("utf-8") for path in (folder / "c" / "lemmas").iterdir()}
    files = {"w": (folder / "w").read_bytes()} if (folder / "w").exists() else {}
    manifest = manifest_of(folder / "c")
    chain, problems = check.found_wrong(folder / "c", manifest, check.Model(folder / "m.onnx"))
    assert not problems
    assert chain.comparison is not None
    assert not chain.comparison.open
    assert not chain.comparison.stated
    return Case(name, Forgery((folder / "m.onnx").read_bytes(), manifest, lemmas, files), chain, result)


def queries(result: absint.Result) -> list[str]:
    """Relations between sizes that are proved."""
    shapes = [(name, shape) for name, shape in result.shapes.items() if not shape.is_top]
    sizes = [f"{name}[{axis}]" for name, shape in shapes for axis in range(len(shape))]
    texts = [f"{a} == {b}" for at, a in enumerate(sizes) for b in sizes[at + 1 :]] + [f"{size} >= 0" for size in sizes]
    texts += [f"rank({name}) == {len(shape)} and size({name}) % 1 == 0" for name, shape in shapes]
    found = [text for text in texts if result.prove(text).verdict.value == "proved"]
    return found[:: max(1, len(found) // 5)][:5]


def specifications(cases: Sequence[Case]) -> str:
    """The hashes of the specifications of all certificates: whoever checks has read these."""
    chains = [case.original for case in cases]
    return "\n".join(lemma.specification("either") for chain in chains for lemma in chain.lemmas.values())


def judged(case: Case, forged: Forgery, known: str, folder: Path) -> tuple[str, str]:
    """What became of a forgery, and what is false about it."""
    write(forged, folder)
    try:
        manifest = check.document((folder / "c" / "manifest.json").read_text("utf-8"))
        chain, problems = check.found_wrong(folder / "c", manifest, check.Model(folder / "m.onnx"), known)
    except (check.UnreadableError, check.WrongError, ValueError, RecursionError):
        return "refused", ""
    solver = check.chosen("z3", 20)
    changed = [name for name in chain.lemmas if forged.lemmas.get(name) != case.forgery.lemmas.get(name)]
    if problems or any(solver.problem(name, chain.lemmas[name]) for name in changed):
        return "refused", ""
    if chain.comparison is not None and chain.comparison.stated:
        return "with other givens", ""
    if chain.manifest["premises"]:
        return "with other premises", ""
    if forged.model != case.forgery.model or forged.files != case.forgery.files:
        try:
            ModelProto.FromString(forged.model)
        except DecodeError:
            return "of no model", ""

        def is_shown(*key: Any) -> bool:
            return chain.sizes.get(key, [""])[0] == "certified" and chain.sizes[key][3] == case.original.sizes[key][3]

        if found := differ(case.result, case.forgery.manifest, folder / "m.onnx", is_shown):
            return "false", found
    if found := next(more(chain, case.original, solver, folder), ""):
        return "false", found
    return "with the same claims or fewer", ""


def write(forged: Forgery, folder: Path) -> None:
    """Write a forgery, with hashes that fit and without lemmas of no step."""
    for path in (folder / "c" / "lemmas").glob("*"):
        path.unlink()
    (folder / "c" / "lemmas").mkdir(parents=True, exist_ok=True)
    manifest = forged.manifest
    (folder / "m.onnx").write_bytes(forged.model)
    for name, data in forged.files.items():
        (folder / name).write_bytes(data)
    if isinstance(manifest.get("model"), dict):
        manifest["model"]["sha256"] = hashlib.sha256(forged.model).hexdigest()
    said = manifest.get("steps")
    steps = [step for step in said if isinstance(step, dict)] if isinstance(said, list) else []
    used = {step.get("lemma") for step in steps if isinstance(step.get("lemma"), str)} & forged.lemmas.keys()
    manifest["lemmas"] = {}
    for name in sorted(used):
        content = forged.lemmas[name].encode()
        (folder / "c" / "lemmas" / f"{name}.smt2").write_bytes(content)
        manifest["lemmas"][name] = hashlib.sha256(content).hexdigest()
    (folder / "c" / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def more(chain: check.Chain, original: check.Chain, solver: check.Solver, folder: Path) -> Iterator[str]:
    """Claims that are shown and that the original neither makes nor implies."""
    facts = {
        check.printed(given["formula"])
        for step in original.steps
        for given in step["relations"]
        if given["by"] == "lemma" and given["role"] not in check.ASKED
    }
    bounds = {symbol: check.printed(bound) for symbol, bound in original.bounds.items() if bound}

    def follows(formula: str) -> bool:
        symbols = dict.fromkeys(word for word in check.atoms(check.parsed(formula)) if check.is_symbol(word))
        if not symbols.keys() <= original.bounds.keys():
            return False
        script = [
            *(f"(declare-const {symbol} Int)" for symbol in original.bounds),
            *(f"(assert {text})" for text in (*bounds.values(), *facts) if "@" not in text),
            f"(assert (not {formula}))\n(check-sat)\n",
        ]
        (folder / "claim.smt2").write_text("\n".join(script), "utf-8")
        return solver.answer(folder / "claim.smt2", 20) == "unsat"

    for key, (how, _, _, dim) in chain.sizes.items():
        was = original.sizes.get(key)
        if how != "certified" or dim is None or (was is not None and was[3] == dim):
            continue
        if was is None or was[3] is None or not follows(f"(= {check.printed(dim)} {check.printed(was[3])})"):
            yield f"{key} is {check.printed(dim)}, it was {was and was[3]}"
    for at, step in enumerate(chain.steps):
        for given in step["relations"]:
            formula = check.printed(given["formula"])
            if given["by"] == "lemma" and not chain.words[at] and "@" not in formula and not follows(formula):
                yield f"{step['node']} states {formula}"
    texts = {text for _, text, _ in original.asked}
    for at, text, symbols in chain.asked:
        if chain.words[at] or text in texts or symbols is None:
            continue
        try:
            verdict = absint.analyze(folder / "m.onnx").prove(text).verdict.value
        except absint.AbsintError as problem:
            verdict = str(problem).splitlines()[0]
        if verdict != "proved":
            yield f"query {text}: {verdict}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    options = parser.parse_args(arguments)
    dice, counts, start = random.Random(options.seed), Counter[tuple[str, str]](), time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        cases = []
        for name, text in MODELS.items():
            (Path(place) / name).mkdir()
            cases.append(case(name, text, Path(place) / name))
        known = specifications(cases)
        forgers = (graph_changed, read_otherwise, *FORGERS)
        for number in range(options.mutants):
            if time.monotonic() - start > options.seconds:
                break
            chosen, forge = cases[number % len(cases)], forgers[number // len(cases) % len(forgers)]
            others = [other.forgery for other in cases if other is not chosen]
            forged = forge(deepcopy(chosen.forgery), dice, deepcopy(others))
            if forged == chosen.forgery:
                counts[forge.__name__, "as before"] += 1
                continue
            kind, told = judged(chosen, forged, known, Path(place) / chosen.name)
            counts[forge.__name__, kind] += 1
            if kind == "false":
                print(f"{chosen.name}, mutant {number} by {forge.__name__}: {told}", flush=True)
    for (name, kind), count in sorted(counts.items()):
        print(f"{name}: {count} {kind}")
    false = sum(count for (_, kind), count in counts.items() if kind == "false")
    print(f"{counts.total()} mutants, {false} accepted falsely")
    return int(false > 0)


def graph_changed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """One place of the model's graph is another one."""
    model = ModelProto.FromString(found.model)
    _change(model, dice)
    return replace(found, model=model.SerializeToString())


def read_otherwise(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """Imports, names or references are others, which onnxruntime reads in a way of its own."""
    model = ModelProto.FromString(found.model)
    every, way = list(nodes(model)), dice.randrange(3)
    if way == 0:
        imports = dice.choice([model, *model.functions]).opset_import
        at = dice.randrange(len(imports))
        imports[at].version = dice.choice([9, 13, 17, 19, (1 << 32) + 9, (1 << 32) + 18])
        if dice.random() < 0.5:
            del imports[at]
    elif way == 1 and model.functions:
        function, domain = model.functions[0], dice.choice(["com.microsoft", "ai.onnx.ml", "my"])
        own, name = (function.domain, function.name), dice.choice(["Gelu", "Normalizer", "Relu"])
        for message in (function, *(node for node in every if (node.domain, node.op_type) == own)):
            message.domain = domain
            setattr(message, "name" if message is function else "op_type", name)
        model.opset_import.append(helper.make_opsetid(domain, 1))
    else:
        attributes = [attribute for node in every for attribute in node.attribute]
        if attributes:
            dice.choice(attributes).ref_attr_name = dice.choice(["axis", "body", "then_branch"])
    return replace(found, model=model.SerializeToString())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
