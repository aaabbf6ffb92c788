"""Nodes that onnxruntime runs as the function that defines their operator, of every type and of degenerate sizes.

    python -m tests.soundness.function_nodes [--operator NAME]

prints what a run contradicts, and exits with 1 if there is anything. Functions broadcast and reshape what a kernel
would refuse, so each axis of each input has a symbol of its own here, with sizes from 0 on.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, defs

from tests.soundness.node_drafts import Input, NodeDraft
from tests.soundness.node_runs import examine

Constant = list[int]
Dims = str
"""The symbols of the axes of an input."""


class Form(NamedTuple):
    """A node of an operator: its inputs by the symbols of their axes, or constants."""

    operator: str
    version: int
    inputs: tuple[Dims | Constant | None, ...]
    attributes: dict[str, Any] = {}  # noqa: RUF012
    outputs: int = 1


_LINEAR: Final = {"q_num_heads": 1, "kv_num_heads": 1}

FORMS: Final = (
    Form("LinearAttention", 27, ("ABC", "DEF", "GHI"), {**_LINEAR, "update_rule": "linear"}, 2),
    Form("LinearAttention", 27, ("ABC", "DEF", "GHI", "JKLM"), {**_LINEAR, "update_rule": "linear"}, 2),
    Form("LinearAttention", 27, ("ABC", "DEF", "GHI", None, "JKL", "MNO"), _LINEAR, 2),
    Form("LinearAttention", 27, ("ABC", "ABD", "ABE"), {**_LINEAR, "q_num_heads": 2, "update_rule": "linear"}, 2),
    Form("DepthToSpace", 28, ("ABCD",), {"blocksize": 2}),
    Form("DepthToSpace", 28, ("ABCD",), {"blocksize": 2, "mode": "CRD"}),
    Form("SpaceToDepth", 28, ("ABCD",), {"blocksize": 2}),
    Form("ReduceLogSum", 18, ("AB",)),
    Form("ReduceLogSum", 28, ("AB",), {"keepdims": 0}),
    Form("ReduceLogSumExp", 28, ("AB", [0])),
    Form("RMSNormalization", 23, ("ABC", "D"), {"axis": 1}),
    Form("GroupNormalization", 21, ("ABC", "D", "E"), {"num_groups": 1}),
    Form("LayerNormalization", 17, ("ABC", "D", "E"), {"axis": -1}),
    Form("MeanVarianceNormalization", 13, ("ABCD",), {"axes": [0, 2]}),
    Form("CenterCropPad", 18, ("AB", [2, 3])),
    Form("NegativeLogLikelihoodLoss", 22, ("ABC", "DE", "F"), {"reduction": "none"}),
    Form("SoftmaxCrossEntropyLoss", 13, ("AB", "C"), {}, 2),
    Form("CausalConvWithState", 27, ("ABC", "DEF", "G", "HIJ"), {}, 2),
    Form("SwiGLU", 28, ("AB", "CD")),
    Form("Range", 27, ("", "", "")),
    Form("CastLike", 25, ("AB", "C")),
    Form("PRelu", 16, ("AB", "C")),
    Form("Clip", 13, ("AB", "", "")),
    *(Form(name, 28, ("AB",)) for name in ("Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "Mish", "Relu", "Selu")),
    *(Form(name, 28, ("AB",)) for name in ("Softmax", "LogSoftmax", "Softplus", "Softsign", "Swish")),
)  # fmt: skip
"""Operators with a function, of versions that a kernel lacks or of types that it does."""


def drafts(form: Form) -> Iterator[NodeDraft]:
    """The nodes of a form: one type variable at a time has each of its types, and all of them together."""
    schema = defs.get_schema(form.operator, form.version, "")
    allowed = {c.type_param_str: [t for t in map(_number, c.allowed_type_strs) if t] for c in schema.type_constraints}
    variables = [schema.inputs[min(at, len(schema.inputs) - 1)].type_str for at in range(len(form.inputs))]
    used = [name for name in dict.fromkeys(variables) if name in allowed]
    plain = {name: (_PLAIN & {*allowed[name]} or {*allowed[name]}).pop() for name in used}
    found = [plain]
    for name in used:
        for dtype in allowed[name]:
            found.append({**plain, name: dtype})
            found.append({other: dtype if dtype in allowed[other] else plain[other] for other in used})
    for dtypes in {tuple(types.items()): types for types in found}.values():
        for size in (1, 2):
            yield _draft(form, [dtypes.get(name, TensorProto.INT64) for name in variables], size)


_PLAIN: Final = {TensorProto.FLOAT}


def _number(text: str) -> int:
    """The tensor type of this text; 0 for another type."""
    name = text.removeprefix("tensor(").removesuffix(")").upper()
    return 0 if not text.startswith("tensor(") or name == "STRING" else int(TensorProto.DataType.Value(name))


def _draft(form: Form, dtypes: list[int], size: int) -> NodeDraft:
    inputs: list[Input | None] = []
    for given, dtype in zip(form.inputs, dtypes, strict=True):
        if isinstance(given, list):
            inputs.append(Input(dtype, (len(given),), np.zeros(1), "constant", tuple(given)))
        else:
            inputs.append(None if given is None else Input(dtype, tuple(given), np.ones(1)))
    symbols = {symbol for given in form.inputs if isinstance(given, str) for symbol in given}
    original = dict.fromkeys(sorted(symbols), size)
    return NodeDraft(
        form.operator, "", form.version, tuple(inputs), form.attributes, form.outputs, original, size, "a function"
    )


def faults(draft: NodeDraft) -> tuple[bool, list[str]]:
    """Whether it ran, and what a run of the node contradicts."""
    verdict = examine(draft)
    if not verdict.ran:  # some functions depend on the shapes that are declared
        verdict = examine(draft, declared=True)
    types = ", ".join(onnx.helper.tensor_dtype_to_string(i.dtype)[12:] for i in draft.inputs if i)
    return bool(verdict.ran), [
        f"{draft} ({types}) {dict(draft.attributes)}: {text}"
        for text in (*verdict.wrong, *verdict.broken, *verdict.ill_typed)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operator", default="", help="this operator only")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = False
    for form in FORMS:
        if args.operator in ("", form.operator):
            totals: Counter[str] = Counter()
            for draft in drafts(form):
                ran, found = faults(draft)
                totals.update(nodes=1, ran=ran, faults=bool(found))
                print(*found[:2], sep="\n", end="\n" if found else "", flush=True)
            print(form.operator, form.version, form.attributes, dict(totals), flush=True)
            failed |= totals["faults"] > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
