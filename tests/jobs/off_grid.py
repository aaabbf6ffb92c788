"""Specifications held against runs at random nodes, off their grid: `python -m tests.jobs.off_grid --count 5000`.

Nodes are those of tests.soundness.random_nodes. Each is read by its specification with the sizes and elements of a run,
and run by onnxruntime without and with optimisations. What runs must be legal and have the specified sizes; what is
legal, and no limit of onnxruntime excludes, must run. Disagreements of `KNOWN` are counted apart. Prints the others;
exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import onnx

import absint
from absint.lattices.dtype import DType
from absint.model.schemas import since
from absint.program.nodes import Operation
from absint.research.obligations.nodes import MOST_ELEMENTS, NotComparedError, attributes_of
from absint.research.specification.formulas import FALSE, TRUE, both
from absint.research.specification.node import IllegalError, Input, Node, Output
from absint.research.specification.specs import specification
from absint.research.specification.terms import Term, term
from tests.soundness import limits
from tests.soundness.node_drafts import NodeDraft, TooLargeError
from tests.soundness.node_runs import ILL_TYPED, NOT_THERE, bindings, constants, inside
from tests.soundness.node_schemas import Operator, operators
from tests.soundness.random_nodes import draft, named
from tests.soundness.runs import OnnxRuntime
from tests.specification.comparing import MISSING


class Known(NamedTuple):
    """A disagreement that is none: what a specification does not look at."""

    operators: str
    """An expression for their names."""
    failure: str
    """An expression for what onnxruntime says."""
    reason: str


KNOWN: Final = (
    Known(
        ".*",
        "index is out of range|Invalid sequence length|divide by zero|Out of range value in index|out of data bounds"
        "|must be in the range|exceeds max_sequence_length|size input must be greater|invalid index found"
        r"|stod$|Unknown Category and zeros = 0|is out of range \[|Index value out of bounds",
        "values of the inputs",
    ),
    Known("CausalConvWithState", "the state must fit", "a longer state, which the function of the operator takes"),
    Known("RoiAlign", "Integer overflow", "regions that are too large"),
    Known(
        "Dropout|Reshape",
        "(Ratio|training_mode) of Dropout must be a scalar|Product cannot be 0 in combination with -1",
        "a constant ratio or target; it runs one that is fed",
    ),
    Known(
        "TreeEnsemble.*|SVM.*|Linear.*|TfIdfVectorizer|LabelEncoder|Scaler",
        "Exception during initialization|Only one of the attributes|must have type",
        "tables in attributes that do not fit together",
    ),
    Known("LSTM|GRU|RNN", r"clip_ > 0\.f", "a clip that is not positive"),
    Known("BatchNormalization", "not in allowed output sizes", "outputs that only training gives"),
    Known(".*", "Unrecognized attribute", "attributes that the version does not have"),
    Known("Upsample|Scatter", "is deprecated in", "operators that the version does not have any more"),
    Known(
        ".*",
        "No attribute with (this )?name|Attribute '.*' is required|must be provided|non-empty pool_|GetAttr",
        "attributes that the schema lets be left out, and onnxruntime needs",
    ),
)
"""At most 40; `python -m tests.pages.rules` lists them in docs/rules.md."""

MOST: Final = 600
"""Characters of a disagreement that are shown."""

ENDED: Final = "onnxruntime ended the process"
"""A crash: other jobs look for these."""

ENGINES: Final = (OnnxRuntime(), OnnxRuntime(optimised=True))


def disagreements(found: NodeDraft, tally: Counter[str]) -> Iterator[str]:
    """The places where a run and the specification of a node disagree; `tally` counts what was compared."""
    if found.looped or any(item is not None and (item.items is not None or item.optional) for item in found.inputs):
        tally["containers and loops"] += 1
        return
    operation = _operation(found)
    if operation is not None and not _is_well_formed(operation, found):
        tally["not of the form of its schema"] += 1
        return
    version = since(found.domain, found.operator, found.version) or found.version
    spec = specification(found.domain, found.operator, version)
    if operation is None or spec is None:
        tally["no specification"] += 1
        return
    model = found.model(declared=False)
    serialised = model.SerializeToString()
    compared = False
    for number, binding in enumerate(bindings(found)):
        try:
            feeds = found.feeds(binding, np.random.default_rng([found.seed, number, 0]))
        except TooLargeError:
            continue
        arrays = {**constants(model), **feeds}
        names = next(node.input for node in model.graph.node if node.op_type == found.operator)
        if any(name and name not in arrays for name in names):
            continue
        try:
            inputs = [_input(arrays[name]) if name else None for name in names]
            node = Node(found.operator, version, inputs, dict(attributes_of(operation.attributes)), found.outputs)
            meaning: Output | Sequence[Output] | IllegalError = spec.outputs(node)
        except IllegalError as error:
            meaning = error
        except (LookupError, AssertionError, TypeError, ValueError, ZeroDivisionError, NotComparedError):
            continue
        for engine in ENGINES:
            ok, values = engine.run(serialised, feeds)
            said = "" if ok else str(values)
            if NOT_THERE.search(said) or ILL_TYPED.search(said) or any(text in said for text in (ENDED, *MISSING)):
                continue
            if ok and limits.deviates(inside(model), arrays):
                continue
            compared = True
            if text := _difference(node, meaning, values if ok else None, said):
                way = "optimised" if engine.optimised else "plain"
                shapes = [list(np.shape(arrays[name])) if name else None for name in names]
                yield f"{found} {shapes} {dict(node.attributes)} ({way}, seed {found.seed}): {text}"
                return
    tally["compared" if compared else "not covered, or no kernel"] += 1


def _operation(found: NodeDraft) -> Operation | None:
    nodes = absint.analyze(found.model()).nodes
    return next((n.operation for n in nodes if n.operation is not None and n.name == "node"), None)


def _is_well_formed(operation: Operation, found: NodeDraft) -> bool:
    """Its schema finds no fault in the node, whose inputs may be left out where the schema lets them."""
    form = operation.form
    if form is None:
        return True
    refused = form.refused_arity(found.inputs, operation.outputs) or form.excess(found.inputs)
    return not operation.malformed and refused is None


def _input(array: np.ndarray) -> Input:
    dims = tuple(map(term, array.shape))
    dtype = DType(onnx.helper.np_dtype_to_tensor_dtype(array.dtype)).name.lower() if array.dtype != object else "string"
    items = array.ravel().tolist() if array.size <= MOST_ELEMENTS else None
    if items is None or array.dtype.kind not in "iubf":
        return Input(dims, dtype=dtype)
    if array.dtype.kind == "b":
        return Input(dims, truths=tuple(TRUE if item else FALSE for item in items), dtype=dtype)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            return Input(dims, dtype=dtype)
        numbers = [Fraction(item) for item in items]
        return Input(dims, tuple(Term("fraction", (n.numerator, n.denominator)) for n in numbers), dtype=dtype)
    return Input(dims, tuple(map(term, items)), dtype=dtype)


def _difference(
    node: Node, meaning: Output | Sequence[Output] | IllegalError, values: Sequence[Any] | None, failure: str
) -> str:
    """What is wrong of one run; empty if nothing is."""
    try:
        limits = [limit for limit in node.limited if not limit.formula.holds({})]
    except ZeroDivisionError:
        return "a limit divides by zero"
    if limits:
        is_wrong = values is not None and all(limit.is_certain for limit in limits)
        return f"runs, and breaks a limit: {limits[0].reason}" if is_wrong else ""
    if isinstance(meaning, IllegalError):
        return "" if values is None else f"runs and is illegal: {meaning}"
    try:
        broken = [clause.reason for clause in node.legal if not clause.formula.holds({})]
    except ZeroDivisionError:
        return "the specification divides by zero"
    if values is None:
        return "" if broken else f"is legal and fails: {failure.strip()}"
    if broken:
        return f"runs and is illegal: {broken[0]}"
    outputs = [meaning] if isinstance(meaning, Output) else meaning
    for place, (output, array) in enumerate(zip(outputs, values, strict=False)):
        if output.length is None and isinstance(array, np.ndarray):
            pairs = zip(output.dims, map(term, array.shape), strict=False)
            fits = len(output.dims) == array.ndim and all(
                both(defined.condition(size), size >= defined.least).holds({}) for defined, size in pairs
            )
            if not fits:
                return f"output {place} has shape {list(array.shape)}, which is not specified"
    return ""


def known_of(operator: str, text: str) -> Known | None:
    """What is known of a disagreement."""
    fitting = (known for known in KNOWN if re.fullmatch(known.operators, operator) and re.search(known.failure, text))
    return next(fitting, None)


def signature(text: str) -> str:
    """What two reports of one disagreement share."""
    head, _, tail = text.partition("): ")
    return f"{head.split()[0]}: " + re.sub(r"-?\d+(\.\d+)?", "#", tail)[:90]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operator", action="append", default=[])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    only: Sequence[Operator] = named(arguments.operator) or [o for o in operators() if o[0] in ("", "ai.onnx.ml")]
    tally, seen, known = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            found = draft(seed, only)
        except LookupError:
            continue
        for text in disagreements(found, tally):
            if (reason := known_of(found.operator, text)) is not None:
                known[reason.reason] += 1
                continue
            seen[signature(text)] += 1
            if seen[signature(text)] == 1:
                print(text if len(text) < MOST else f"{text[: MOST // 2]} ... {text[-MOST // 2 :]}", flush=True)
    print(dict(tally), f"known {known.total()}, disagreements {seen.total()}")
    print(*(f"{times:4} {text}" for text, times in seen.most_common()), sep="\n")
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main())
