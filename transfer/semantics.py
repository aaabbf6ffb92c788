"""The runs that an analysis is about, where the documents of ONNX and onnxruntime differ.

docs/runtime-differences.md lists where they do. A rule states such a difference by `runtime_may_fail`,
`runtime_requires` or `documents_require` of its Op; where sizes differ it asks for `op.semantics`.
"""

from __future__ import annotations

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
