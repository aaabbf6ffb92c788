"""Faults in annotated files, and in models that are taken without their weights."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

SPLICING: Final = "pytest tests/absint/model/wire/test_splicing.py"
SPLICED: Final = "module('absint.model.wire.splicing')"
PROTO: Final = "module('onnx').ModelProto"

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "copy-counts-numbers-as-messages",
        "numbers in a field of messages are counted among them",
        "absint.model.wire.splicing",
        "seen[field.number] += field.wire == DELIMITED",
        "seen[field.number] += 1",
        f"(lambda c: (c.replaced.update({{(3, 0): b'A'}}), {SPLICED}.spliced(b'\\x18\\x05\\x1a\\x01a', 0, 5, c)))"
        f"({SPLICED}.Changes())",
        f"{SPLICING}::test_a_field_of_another_wire_type_does_not_count",
    ),
    mutant(
        "copy-adds-to-the-first-part",
        "new fields go into the first part of a message that stands in two fields",
        "absint.model.wire.splicing",
        "is_last = len(made) == len(parts) - 1",
        "is_last = not made",
        f"(lambda c, d: (d.added[1].append(b'b'), c.inside.update({{7: d}}), "
        f"{SPLICED}.spliced(b'\\x3a\\x03\\x0a\\x01a' * 2, 0, 10, c)))({SPLICED}.Changes(), {SPLICED}.Changes())",
        f"{SPLICING}::test_a_message_in_two_fields_is_one",
    ),
    mutant(
        "copy-takes-entries-in-turn",
        "entries of the metadata are compared place by place, though some were removed",
        "absint.model.differences",
        "if kept == len(news) or key(news[kept]) != key(old):",
        "if kept == len(news):",
        "module('absint.model.differences').differences"
        f"(*({PROTO}(metadata_props=[dict(key=k, value=k) for k in keys]) for keys in ('ab', 'b'))).removed",
        f"{SPLICING}::test_entries_that_are_removed_are_left_out",
    ),
    mutant(
        "large-tensors-of-onnx-ir-are-touched",
        "the data of every tensor of an onnx_ir model are asked for",
        "absint.model.onnx_ir_models",
        "return tensor if wanted else _StandIn(tensor, tobytes=bytes)",
        "return tensor",
        "type(module('absint.model.onnx_ir_models')._tensor(module('onnx_ir').Tensor(module('numpy').zeros(9999)))).__name__",
        "pytest tests/absint/model/test_onnx_ir.py::test_large_tensors_are_never_touched",
    ),
)
