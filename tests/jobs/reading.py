"""The reader of files against protobuf: `python -m tests.jobs.reading [--files 100000] [--seed 0] [--first 0]`.

Each file is a real or a random model in an unusual encoding, and half of them are damaged: lengths that lead elsewhere,
truncated, bits flipped. It is read from bytes, and again, when parts of it are known, from a mapped file and in slices:
what is refused, and every field that absint reads, must be as protobuf has it. A copy with changed declarations, made
of spans of the file, must be what protobuf makes of the same changes. Prints each difference; exit code 1 if there is
one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from mmap import mmap
from random import Random
from tempfile import TemporaryFile
from typing import Final, NamedTuple

import onnx

from absint import purge
from absint.model import inference
from absint.model.differences import differences as changes_of
from absint.model.wire.fields import Sliced, delimited
from absint.model.wire.graphs import Model
from absint.model.wire.splicing import Span, spliced
from tests.absint.model.wire.comparing import differences, parsed, read
from tests.absint.model.wire.encodings import scrambled
from tests.absint.model.wire.random_messages import in_graphs, in_types, random_model
from tests.fuzz.wire import mutated_bytes, mutated_fields

_PURGE: Final = 500
"""Files after which all that the reader knows is forgotten."""


class Tally(NamedTuple):
    """What the files were."""

    counts: Counter[str]
    differences: list[str]


def files(seed: int, number: int, bases: Sequence[bytes]) -> Iterator[bytes]:
    """The files of a case, in the order in which they are read: an encoding of a model, and damaged ones of it."""
    random = Random(f"{seed}/{number}")
    kind = random.random()
    if kind < 0.04:
        yield from _deep(random)
        return
    base = random.choice(bases) if kind < 0.5 else random_model(random).SerializeToString()
    damage = random.choice([0.0, 0.0, 0.0, 0.01])
    if kind < 0.9:
        content = scrambled(onnx.ModelProto.FromString(base), random, damage)
    else:
        content = mutated_fields(random, base, random.choice(bases))
    yield content
    yield mutated_bytes(random, content)
    if random.random() < 0.2:
        yield content[: random.randrange(len(content) + 1)]


def _deep(random: Random) -> Iterator[bytes]:
    """Messages about as deep inside each other as protobuf reads them; the inner ones are known from outside."""
    graph = random_model(random).graph
    content = scrambled(graph, random)
    info = b"\x0a\x01x" + delimited(2, in_types(random.choice([0, 3, 20, 46, 47, 48, 49]), b"\x0a\x02\x08\x01"))
    content += delimited(random.choice([11, 12, 13]), info) if random.random() < 0.7 else b""
    yield in_graphs(0, content)
    yield in_graphs(random.choice([1, 10, 20, 25, 28, 29, 30, 31, 32, 33]), content)


def check(content: bytes, random: Random) -> Iterator[str]:
    """What the reader does otherwise than protobuf."""
    proto = parsed(content)
    for data in (content, _mapped(content), None):
        found = read(data) if data is not None else _read_sliced(content)
        if (found is None) != (proto is None):
            yield "refused, and protobuf reads it" if found is None else "read, and protobuf refuses it"
            return
        if found is not None:
            yield from differences(found, proto)
    if proto is not None and proto.HasField("graph") and random.random() < 0.5:
        yield from _copies(content, proto, random)


def _mapped(content: bytes) -> bytes | mmap:
    """The same bytes as a mapped file."""
    if not content:
        return content
    data = mmap(-1, len(content))
    data.write(content)
    return data


def _read_sliced(content: bytes) -> Model | None:
    """What is read from the same bytes as a file that cannot be mapped."""
    with TemporaryFile() as file:
        file.write(content)
        file.flush()
        return read(Sliced(file.fileno(), len(content)))


def _copies(content: bytes, proto: onnx.ModelProto, random: Random) -> Iterator[str]:
    """Copies are what protobuf makes of the same changes."""
    outline = inference.Outline(content)
    pieces = outline.pieces(outline.model)
    if onnx.ModelProto.FromString(_joined(content, pieces)) != proto:
        yield "an outline leads back to another model"
    before, after, whole = inference.outline(content), inference.outline(content), proto
    seed = random.random()
    _edit(after, Random(seed))
    _edit(whole, Random(seed))
    made = _joined(content, spliced(content, 0, len(content), changes_of(before, after)))
    if onnx.ModelProto.FromString(made) != whole:
        yield "a copy with other declarations is another model"


def _joined(content: bytes, pieces: Sequence[Span | bytes]) -> bytes:
    return b"".join(content[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in pieces)


def _edit(model: onnx.ModelProto, random: Random) -> None:
    """Change declarations and metadata."""
    pending = [(model.graph, 0)]
    while pending:
        graph, level = pending.pop()
        for infos in (graph.input, graph.output, graph.value_info):
            for info in infos:
                if random.random() < 0.3:
                    info.type.tensor_type.elem_type = 7
        if random.random() < 0.5 and level < 30:  # what is added is to be read again
            graph.value_info.add(name="new").type.tensor_type.elem_type = 1
        pending += [(a.g, level + 1) for node in graph.node for a in node.attribute if a.HasField("g")]
    if random.random() < 0.5:
        model.metadata_props.add(key="new", value="new")


def hunt(seed: int, first: int, count: int, bases: Sequence[bytes]) -> Tally:
    """Compare so many files."""
    tally = Tally(Counter(), [])
    large, inference.LARGE = inference.LARGE, 8  # type: ignore[misc]
    try:
        number = first
        while tally.counts["files"] < count:
            if number % _PURGE == 0:
                purge()
            for content in files(seed, number, bases):
                tally.counts["files"] += 1
                tally.counts["refused by protobuf"] += parsed(content) is None
                tally.counts["bytes"] += len(content)
                try:
                    found = list(check(content, Random(number)))
                except Exception as error:  # the reader may raise nothing else
                    found = [f"{type(error).__name__}: {error}"]
                tally.differences.extend(f"case {number}: {text}" for text in found[:3])
            number += 1
    finally:
        inference.LARGE = large  # type: ignore[misc]
    return tally


def main() -> int:
    """Hunt, and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.reading", description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    from tests.fuzz.bases import made

    tally = hunt(options.seed, options.first, options.files, made())
    for text in tally.differences[:40]:
        print(text)
    print(f"seed {options.seed}: {', '.join(f'{count:,} {what}' for what, count in tally.counts.items())}")
    print(f"{len(tally.differences):,} differences")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
