"""The runs that an analysis is about, where the documents of ONNX and onnxruntime differ.

docs/runtime-differences.md lists where they do. A rule says in `by` who asks for a requirement, if not both do. What
onnxruntime computes otherwise stands in an overlay above the rule; within arithmetic a rule asks for `op.semantics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Semantics: TypeAlias = Literal["either", "onnx", "onnxruntime"]
"""`onnx`: a node computes, and fails, as the documents of its operator say. `onnxruntime`: as the release does that the
tests run. `either`: a node fails where both do; where they differ in sizes, as docs/runtime-differences.md lists it."""

EITHER: Final = "either"
ONNX: Final = "onnx"
RUNTIME: Final = "onnxruntime"

DOCUMENTED: Final = frozenset({"", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"})
"""Domains whose operators ONNX documents. Those of others are what onnxruntime makes of them."""

SEMANTICS: Final[tuple[Semantics, ...]] = (EITHER, ONNX, RUNTIME)

Asker: TypeAlias = Literal["either", "onnx", "onnxruntime", "undocumented"]
"""Who asks for a requirement: `either`, both do; `onnx`, the documents, and onnxruntime may run a node without it;
`onnxruntime`, which fails, while the documents allow the node; `undocumented`, onnxruntime, and the documents leave it
open. A node that breaks it fails in runs of the semantics that ask for it; it may fail in those that leave it open."""

ASKED: Final[Mapping[Asker, Semantics]] = {EITHER: EITHER, ONNX: ONNX, RUNTIME: RUNTIME, "undocumented": RUNTIME}
"""The semantics whose runs need it."""
