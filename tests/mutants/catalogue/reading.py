"""Faults in reading files."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

QUIRKS: Final = "pytest tests/absint/model/wire/test_quirks.py"
RELU: Final = "b'\\x3a\\x0c\\x0a\\x0a\\x0a\\x02\\xc3\\xa9\\x22\\x04Relu'"
TWO: Final = "b'\\x3a\\x0e\\x0a\\x05\\x22\\x01A\\x2a\\x00\\x0a\\x05\\x22\\x01B\\x2a\\x00'"
PARSED: Final = "module('absint.model.wire.read_graphs').read_model"

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "reader-names-are-short-and-ascii",
        "names of any length are read as if they were short and ASCII",
        "absint.model.wire.read_graphs",
        "if tail is None or not (content.isascii() or texts[:at].isascii()):",
        "if tail is None:",
        f"[n.input for _ in range(2) for n in {PARSED}({RELU}).graph.node]",
        f"{QUIRKS}::test_names",
    ),
    mutant(
        "reader-first-kind-of-type",
        "of two kinds of a type the first is kept along with the last",
        "absint.model.wire.read_attributes",
        "if field.number != last:\n                last, inner = field.number, []",
        "if field.number != last:\n                last = field.number",
        f"{PARSED}(b'\\x3a\\x0c\\x5a\\x0a\\x12\\x08\\x0a\\x02\\x08\\x01\\x22\\x00\\x0a\\x00').graph.input[0].type.tensor_type.elem_type",
        f"{QUIRKS}::test_types",
    ),
    mutant(
        "reader-attributes-of-one-operator",
        "nodes with equal attributes share an operator",
        "absint.model.wire.read_attributes",
        'content = b"".join([data[field.tag : field.end] for field in found])',
        'content = b"".join([data[field.tag : field.end] for field in found if field.number == 5])',
        f"[n.op_type for n in {PARSED}({TWO}).graph.node]",
        f"{QUIRKS}::test_attributes",
    ),
    mutant(
        "reader-believes-sizes",
        "the data of a tensor are cut where its sizes say that they end",
        "absint.model.wire.read_tensors",
        "data[raw.start : min(raw.end, raw.start + LARGE + 1)]",
        "data[raw.start : raw.start + prod(dims)]",
        f"{PARSED}(b'\\x3a\\x0a\\x2a\\x08\\x10\\x02\\x4a\\x02ab\\x42\\x00').graph.initializer[0].raw_data",
        f"{QUIRKS}::test_tensors",
    ),
)
