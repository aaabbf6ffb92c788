"""Names, imports and versions for which loaders refuse a model, whatever its nodes compute.

The checker of `onnx` reads every function, onnxruntime only those that are called, but the imports of all.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from absint.lattices.value import TOP
from absint.model.protos import domain_of, graphs_below, name_of
from absint.model.wire.graphs import AttributeMessage, FunctionMessage, GraphMessage, ModelMessage, NodeMessage
from absint.program.graph import Program
from absint.program.lowered import Frame, Report, place_of
from absint.program.nodes import Nodes, Path
from absint.program.sources import Sources
from absint.program.steps import Operand, first_output

T = TypeVar("T", bound=Hashable)

NEWEST_IR: Final = 14
"""The newest version of the format that onnx's checker and onnxruntime know."""

OF_ONNXRUNTIME: Final = frozenset({"", "ai.onnx.ml", "com.microsoft"})
"""Domains that onnxruntime imports by itself."""


Label = tuple["Path", str]
"""The path of a body, and the name of a node in it."""


def check_model(
    report: Report, model: ModelMessage, called: Iterable[str], nodes: Nodes, labels: Sequence[Label]
) -> None:
    """Report the faults of a model and of its functions. `called` are those that are lowered, `labels` are of calls."""
    version, imports = model.ir_version, {domain_of(entry.domain) for entry in model.opset_import}
    if version > NEWEST_IR:
        report.fault("ir-version", "the model", f"IR version {version} is newer than {NEWEST_IR}, the newest one known")
    elif version < 3 and imports:
        text = f"IR version {version} has no imports of opsets, and the model has"
        report.fault("ir-version", "the model", text, runtime=False)
    if "" not in imports and version >= 3 and any(k is not None and not k.domain for k in nodes.operations):
        report.fault("missing-import", "the model", "it does not import ai.onnx", runtime=False)
    for function in model.functions:
        _check_function(report, function, is_called=function.name in called)
    _check_labels(report, nodes, labels)


def _check_function(report: Report, function: FunctionMessage, *, is_called: bool) -> None:
    where, imports = f"function {function.name!r}", {domain_of(entry.domain) for entry in function.opset_import}
    inner = (node for body in graphs_below(function.node) for node in body.node)
    used = {domain_of(node.domain) for node in (*function.node, *inner)}
    for domain in sorted(used - imports):
        report.fault("missing-import", where, f"it does not import {domain or 'ai.onnx'}, and has a node of it")
    for name in repeated(function.output):
        report.fault("duplicate-output", where, f"output {name!r} is listed twice")
    for name in repeated(function.input):
        report.fault("duplicate-input", where, f"input {name!r} is listed twice", runtime=False)
    if is_called:
        return
    defined = {"", *function.input}
    for number, node in enumerate(function.node):
        place = f"{where}: {node.op_type} {name_of(node, number)}"
        for name in repeated(a.name for a in node.attribute):
            report.fault("duplicate-attribute", place, f"it has attribute {name!r} twice", runtime=False)
        for name in node.input:
            if name not in defined:
                text = f"input {name!r} is not computed by any node before it"
                report.fault("undefined-input", place, text, runtime=False)
        for name in filter(None, node.output):
            if name in defined:
                text = f"output {name!r} has been computed before"
                report.fault("duplicate-output", place, text, runtime=False)
            defined.add(name)


def _check_labels(report: Report, nodes: Nodes, calls: Sequence[Label]) -> None:
    """onnxruntime takes no two nodes of one name in a graph, except for constants."""
    names = nodes.names
    if not calls and len(set(names)) == len(names):
        return
    labels = [(id(path), name) for path, name in calls]
    for number, name in enumerate(names):
        operation = nodes.operations[number]
        is_constant = number in nodes.values or (operation is not None and operation.op_type == "Constant")
        if not is_constant and nodes.outputs[number]:
            labels.append((id(nodes.places[number][0]), name))
    for _, name in repeated(labels):
        if name and "#" not in name:
            text = "two nodes of a graph have this name"
            report.fault("duplicate-name", f"node {name!r}", text, documents=False)


def check_node(
    report: Report,
    node: NodeMessage,
    attributes: Sequence[AttributeMessage],
    frame: Frame,
    place: Callable[[], str],
    *,
    calls: bool,
) -> bool:
    """Report attributes that a node has twice, and a missing import. False if there is a fault.

    onnxruntime does not look at the attributes of nodes of a function, except for those in bodies.
    """
    is_plain = True
    if len(attributes) > 1:
        checked = not frame.stack or frame.scope.parent is not None
        for name in repeated(a.name for a in attributes):
            report.fault("duplicate-attribute", place(), f"it has attribute {name!r} twice", runtime=checked)
            is_plain = False
    domain = domain_of(node.domain)
    if domain and domain not in frame.imports and not frame.stack:
        known = True if calls else False if domain in OF_ONNXRUNTIME else None
        report.fault("missing-import", place(), f"the model does not import {domain}", runtime=known)
        is_plain = False
    return is_plain


def check_name(report: Report, program: Program, name: str, node: NodeMessage, number: int, frame: Frame) -> None:
    """Report an output whose name is taken already, in the body or around it.

    onnxruntime takes the nodes in an order of its own: what it has not yet computed, a body may name. Of Constants of
    one name in the main graph it takes the last for all readers: so does the analysis.
    """
    found = frame.scope.find(name)
    if found is not None:
        operations = program.nodes.operations
        both = [(k.domain, k.op_type) for k in (operations[found[0]], operations[-1]) if k is not None]
        is_replaced = frame.scope.parent is None and not frame.stack and both == [("", "Constant")] * 2
        if is_replaced:
            operations[found[0]] = operations[-1]
        sure = False if is_replaced else name in frame.scope.names or program.precedes(found, frame.gate) or None
        text = f"output {name!r} has been computed before"
        report.fault("duplicate-output", place_of(node, number, frame), text, runtime=sure)


def of_caller(
    report: Report, name: str, where: str, frame: Frame, frames: Sequence[Frame], sources: Sources
) -> Operand | None:
    """A value that the body of a function reads from the graph around its call, into which onnxruntime puts the body.

    It infers the types of the function first, where some operators refuse an input without a type.
    """
    around = next((item for item in reversed(frames) if not item.stack), None) if frame.stack else None
    if around is None:
        return None
    found, later = around.scope.find(name), list(around.nodes)
    around.nodes = iter(later)
    if found is None and any(name in node.output for node in later):
        found = first_output(sources.add(name, TOP, frame.scope.names))
    if found is not None:
        report.fault("undefined-input", where, f"input {name!r} is a value of the caller", runtime=None)
    return found


def check_inputs(report: Report, graph: GraphMessage, path: str, given: Container[str], ir_version: int) -> None:
    """Report names that a body uses twice among its inputs, of which its node gives some, and its initialisers."""
    inputs = [info.name for info in graph.input]
    for name in repeated(inputs):
        report.fault("duplicate-input", path, f"input {name!r} is listed twice")
    tensors = [tensor.name for tensor in graph.initializer]
    for name in repeated(tensors):
        report.fault("duplicate-initialiser", path, f"initialiser {name!r} is listed twice")
    for name in sorted({*inputs} & {*tensors}):
        text = f"initialiser {name!r} is an input too"
        if name in given:
            report.fault("duplicate-initialiser", path, text, documents=False)
        elif ir_version >= 4:
            report.fault("duplicate-initialiser", path, text, runtime=False)


def repeated(names: Iterable[T]) -> Iterator[T]:
    """What occurs a second time."""
    seen: set[T] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
