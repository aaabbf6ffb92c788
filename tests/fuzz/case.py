"""A case: the bytes of a model, and a command. It follows from the seed and its number alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

from onnx import ModelProto

from tests.fuzz import models, texts
from tests.fuzz.wire import mutated_bytes, mutated_fields

MODEL: Final = "model.onnx"
OUTPUT: Final = "out.onnx"

Change = Callable[[Random, ModelProto, ModelProto], None]

KINDS: Final = (
    "bytes", "wire", "graph", "graph", "graph", "attributes", "attributes", "constants", "constants", "versions",
    "dims", "files", "queries", "arguments", "several", "several",
)  # fmt: skip
_CHANGES: Final[dict[str, Change]] = {
    "graph": models.mutated_graph,
    "attributes": models.mutated_attributes,
    "constants": models.mutated_constants,
    "versions": models.mutated_versions,
    "dims": models.mutated_dims,
    "files": models.mutated_files,
}


class Case(NamedTuple):
    """A run: `arguments` of the command line, for a file `model.onnx` in the folder where they run."""

    number: int
    kind: str
    model: bytes
    arguments: tuple[str, ...]

    def command(self) -> str:
        """The arguments as a line of JSON."""
        return json.dumps(self.arguments)


def made(seed: int, number: int, bases: Sequence[bytes]) -> Case:
    """The case of a number."""
    rng = Random(f"{seed}:{number}")
    kind = rng.choice(KINDS)
    base = rng.choice(bases)
    if kind == "bytes":
        model = mutated_bytes(rng, base)
    elif kind == "wire":
        model = mutated_fields(rng, base, rng.choice(bases))
    else:
        proto, other = ModelProto.FromString(base), ModelProto.FromString(rng.choice(bases))
        changes = [kind] if kind in _CHANGES else []
        if kind == "several":
            changes = [rng.choice(list(_CHANGES)) for _ in range(rng.choice((2, 3, 5)))]
        for change in changes:
            try:
                _CHANGES[change](rng, proto, other)
            except (ValueError, TypeError):  # a value that protobuf does not take: the change is none
                continue
        model = proto.SerializeToString()
    return Case(number, kind, model, tuple(_arguments(rng, kind, base)))


def _arguments(rng: Random, kind: str, base: bytes) -> list[str]:
    graph = ModelProto.FromString(base).graph
    names = [name for node in graph.node[:20] for name in node.output if name] + [i.name for i in graph.input]
    symbols = list(dict.fromkeys(d.dim_param for i in graph.input for d in i.type.tensor_type.shape.dim if d.dim_param))
    if kind == "arguments":
        return _any_arguments(rng, names, symbols)
    if kind == "queries":
        return _query(rng, names, symbols)
    return _usual(rng, names, symbols)


def _usual(rng: Random, names: list[str], symbols: list[str]) -> list[str]:
    """Mostly an analysis; every other command now and then."""
    match rng.randrange(40):
        case 0:
            return ["contract", MODEL, "--format", "json"]
        case 1:
            return ["equal", MODEL]
        case 2 | 3:
            return ["cost", MODEL, "--format", "json"]
        case 4 | 5:
            return ["check", MODEL, *(f"{name}={rng.choice((0, 1, 2, 5))}" for name in symbols)]
        case 6:
            return ["check", MODEL]
        case 7 | 8 | 9:
            return ["annotate", MODEL, "-o", OUTPUT, *rng.choice(((), ("--outputs",), ("--merge", "override")))]
        case 10 | 11 | 12:
            form = rng.choice(("json", "smtlib", "python", "metadata", "torch", "text"))
            return ["contract", MODEL, "--role", "all", "--format", form]
        case 13 | 14:
            return ["explain", MODEL, rng.choice([*names, "X"])]
        case 15:
            return ["prove", MODEL, texts.relation(rng, names)]
        case 16 | 17:
            policies = ("keep-target", "fresh", "prefer-concrete", "prefer-first", "max", "shortest-name", "rename")
            return ["analyze", MODEL, "--format", "json", "--policy", rng.choice(policies)]
        case 18:
            return ["analyze", MODEL, "--format", "json", "--max-nodes", str(rng.randrange(9))]
        case 19:
            return ["analyze", MODEL, "--values"]
        case _:
            return ["analyze", MODEL, "--format", "json"]


def _query(rng: Random, names: list[str], symbols: list[str]) -> list[str]:
    match rng.randrange(6):
        case 0:
            assumed = [part for _ in range(rng.randrange(1, 4)) for part in ("--assume", texts.relation(rng, symbols))]
            return ["analyze", MODEL, "--format", "json", *assumed]
        case 1:
            return ["check", MODEL, "--assume", texts.relation(rng, symbols), *texts.sizes(rng, symbols)]
        case 2:
            return ["contract", MODEL, "--role", "all", "--assume", texts.relation(rng, symbols), "--format", "json"]
        case _:
            relations = [texts.relation(rng, names) for _ in range(rng.choice((1, 1, 2)))]
            return ["prove", MODEL, "--seconds", "2", "--", *relations]


def _any_arguments(rng: Random, names: list[str], symbols: list[str]) -> list[str]:
    commands = ("analyze", "annotate", "prove", "equal", "contract", "check", "cost", "explain", "nonsense")
    options = (
        "--format", "json", "text", "sarif", "smtlib", "--values", "--set", "--assume", "--require", "shapes",
        "--refine", "none", "smt", "--trace", "--timings", "--rules", "--strict", "--max-nodes",
        "--max-seconds", "1", "seq=1..8", "X=1x2",
        "-1", "0", "nan", "inf", "--", "-o", OUTPUT, ".", "missing", "/dev/null", MODEL, "--force", "--merge",
        "strict", "--outputs", "--role", "required", "--shapes", "all", "--all", "--defaults", "--feeds", "--given",
        "declared", "--names-as-declared", "--seconds", "1e-9", "--policy", "max", "--no-plugins", "--at", "--help",
        "-h", "--version", "",
    )  # fmt: skip
    found = [rng.choice(commands), MODEL if rng.random() < 0.9 else texts.words(rng, 2)]
    for _ in range(rng.randrange(6)):
        match rng.randrange(5):
            case 0:
                found.append(texts.words(rng, 3))
            case 1:
                found += texts.sizes(rng, symbols[:3])
            case 2:
                found.append(rng.choice([*names, "X"]))
            case _:
                found.append(rng.choice(options))
    return found
