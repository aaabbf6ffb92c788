"""Models changed in one place beside a certificate: `python -m tests.jobs.forged_models [--mutants 10000] [--seed 1]`.

The hash is made to fit. A mutant that check.py accepts must have the shapes of the original, unless check.py tells
what is given otherwise. Exit code 1 if one has not.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import AttributeProto, ModelProto, NodeProto, helper

import absint
from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import manifest_of, model_of
from tests.absint.questions.certificates.test_certificates import MODELS as SMALL

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
MODELS = {"everything": EVERYTHING} | {
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


def differ(certificate: Path, mutant: ModelProto) -> str:
    """A size that is claimed of a value in the main graph and is another one in the mutant, if that can be loaded."""
    try:
        before, after = absint.analyze(certificate.parent / "m.onnx"), absint.analyze(mutant)
    except absint.AbsintError:
        return ""
    if any(found.severity == "error" for found in after.diagnostics):
        return ""
    for step in manifest_of(certificate)["steps"]:
        for claim in step.get("gives", ()) if len(step.get("at", ())) == 1 else ():
            name, dims = claim["value"], claim["dims"] or ()
            for axis, dim in enumerate(dims):
                shapes = [found.shapes[name] for found in (before, after) if name in found.shapes]
                sizes = ["?" if shape.is_top else str(shape[axis]) for shape in shapes]
                if dim is not None and len(set(sizes)) > 1:
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


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    dice, counts = random.Random(options.seed), Counter[str]()
    for name, text in MODELS.items():
        with tempfile.TemporaryDirectory() as place:
            folder, model = Path(place), model_of(text)
            onnx.save(model, folder / "m.onnx")
            absint.analyze(folder / "m.onnx").certify().write(folder / "c")
            for mutant in mutants(model, dice, options.mutants // len(MODELS)):
                problem = accepted(folder / "c", mutant, folder)
                if problem:
                    counts["refused"] += 1
                elif problem == "":
                    counts["with other givens"] += 1
                elif found := differ(folder / "c", mutant):
                    counts["false"] += 1
                    print(f"{name}: {found}\n{onnx.printer.to_text(mutant)}")
                else:
                    counts["with the same shapes"] += 1
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return int(counts["false"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
