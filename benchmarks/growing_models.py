"""Models of any size, by family: what benchmarks/growth.py measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

node = helper.make_node


# Building


def floats(name: str, *dims: int | str) -> ValueInfoProto:
    """A float input."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def untyped(name: str, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    """An output whose shape is not declared."""
    return helper.make_tensor_value_info(name, kind, None)


def const(name: str, value: object, kind: type = np.int64) -> NodeProto:
    """A Constant."""
    return node("Constant", [], [name], value=numpy_helper.from_array(np.array(value, dtype=kind)))


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    """A model; outputs have no types."""
    graph = helper.make_graph(list(nodes), "graph", list(inputs), [ValueInfoProto(name=name) for name in outputs])
    imports = [helper.make_opsetid("", 18), *(helper.make_opsetid(d, 1) for d in {f.domain for f in functions})]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def function(name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[NodeProto]) -> FunctionProto:
    """A function of domain `my`."""
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    return helper.make_function("my", name, list(inputs), list(outputs), list(nodes), imports)


def branch(nodes: Sequence[NodeProto], output: str) -> GraphProto:
    """A branch of an If."""
    return helper.make_graph(list(nodes), "branch", [], [untyped(output)])


def loop_body(nodes: Sequence[NodeProto], start: str, end: str, keep: str) -> GraphProto:
    """The body of a Loop that carries one value."""
    inputs = [untyped(f"{keep}_i", TensorProto.INT64), untyped(f"{keep}_c", TensorProto.BOOL), untyped(start)]
    same = node("Identity", [f"{keep}_c"], [f"{keep}_d"])
    return helper.make_graph([same, *nodes], "body", inputs, [untyped(f"{keep}_d", TensorProto.BOOL), untyped(end)])


# Models


def concat(count: int) -> ModelProto:
    """Concat of inputs, each with two symbols of its own."""
    names = [f"x{k}" for k in range(count)]
    inputs = [floats(name, f"N{k}", f"M{k}") for k, name in enumerate(names)]
    return model([node("Concat", names, ["y"], axis=0)], inputs, ["y"])


def dots(count: int) -> ModelProto:
    """The dot product of one vector with each of many: all sizes must be equal."""
    nodes = [node("MatMul", ["x0", f"x{k}"], [f"y{k}"]) for k in range(1, count)]
    return model(nodes, [floats(f"x{k}", f"N{k}") for k in range(count)], [f"y{k}" for k in range(1, count)])


def products(count: int) -> ModelProto:
    """A product of matrices, each with two symbols of its own."""
    nodes = [node("MatMul", [f"t{k - 1}" if k > 1 else "x0", f"x{k}"], [f"t{k}"]) for k in range(1, count)]
    return model(nodes, [floats(f"x{k}", f"N{k}", f"M{k}") for k in range(count)], [f"t{count - 1}"])


def split(count: int) -> ModelProto:
    """Split of a symbol into parts, each of which is used."""
    parts = [f"p{k}" for k in range(count)]
    uses = [node("Relu", [part], [f"y{k}"]) for k, part in enumerate(parts)]
    cut = node("Split", ["x"], parts, axis=0, num_outputs=count)
    return model([cut, *uses], [floats("x", "N", 3)], [f"y{k}" for k in range(count)])


def uneven_split(count: int) -> ModelProto:
    """Split into parts whose sizes are a sum and a symbol each."""
    nodes = [node("Shape", [f"x{k}"], [f"s{k}"]) for k in range(count)]
    parts = [f"p{k}" for k in range(count)]
    nodes += [node("Concat", [f"s{k}" for k in range(count)], ["sizes"], axis=0)]
    nodes += [node("Concat", [f"x{k}" for k in range(count)], ["all"], axis=0)]
    nodes += [node("Split", ["all", "sizes"], parts, axis=0)]
    return model(nodes, [floats(f"x{k}", f"N{k}") for k in range(count)], parts)


def reshape(count: int) -> ModelProto:
    """A tensor of many axes, flattened and restored by its Shape."""
    x = floats("x", *(f"N{k}" for k in range(count)))
    nodes = [
        const("flat", [-1]),
        node("Reshape", ["x", "flat"], ["one"]),
        node("Shape", ["x"], ["shape"]),
        node("Reshape", ["one", "shape"], ["y"]),
    ]
    return model(nodes, [x], ["y"])


def inputs(count: int) -> ModelProto:
    """Inputs with a symbol each."""
    nodes = [node("Relu", [f"x{k}"], [f"y{k}"]) for k in range(count)]
    return model(nodes, [floats(f"x{k}", f"N{k}") for k in range(count)], [f"y{k}" for k in range(count)])


def shape_of_each(count: int) -> list[NodeProto]:
    """The size of each of so many vectors, as `n0`, `n1`, ..."""
    return [node("Shape", [f"x{k}"], [f"n{k}"]) for k in range(count)]


def chain(operator: str, total: str) -> Callable[[int], ModelProto]:
    """The sizes of vectors, combined one after the other, as the size of a tensor."""

    def made(count: int) -> ModelProto:
        nodes = [*shape_of_each(count), node("Identity", ["n0"], [f"{total}0"])]
        nodes += [node(operator, [f"{total}{k - 1}", f"n{k}"], [f"{total}{k}"]) for k in range(1, count)]
        nodes += [node("ConstantOfShape", [f"{total}{count - 1}"], ["y"])]
        return model(nodes, [floats(f"x{k}", f"N{k}") for k in range(count)], ["y"])

    return made


def of_sizes(operator: str) -> Callable[[int], ModelProto]:
    """One node of all sizes of vectors, as the size of a tensor."""

    def made(count: int) -> ModelProto:
        nodes = [*shape_of_each(count), node(operator, [f"n{k}" for k in range(count)], ["n"])]
        return model(
            [*nodes, node("ConstantOfShape", ["n"], ["y"])], [floats(f"x{k}", f"N{k}") for k in range(count)], ["y"]
        )

    return made


def broadcast(count: int) -> ModelProto:
    """Add of vectors of different symbols, one after the other."""
    nodes = [node("Add", [f"t{k - 1}" if k > 1 else "x0", f"x{k}"], [f"t{k}"]) for k in range(1, count)]
    return model(nodes, [floats(f"x{k}", f"N{k}") for k in range(count)], [f"t{count - 1}"])


def broadcast_at_once(operator: str) -> Callable[[int], ModelProto]:
    """One node that broadcasts vectors of different symbols."""

    def made(count: int) -> ModelProto:
        names = [f"x{k}" for k in range(count)]
        return model([node(operator, names, ["y"])], [floats(f"x{k}", f"N{k}") for k in range(count)], ["y"])

    return made


def tiles(count: int) -> ModelProto:
    """Concats that double the sum of all sizes before: one symbol, and long chains."""
    nodes = [node("Concat", [f"v{k}", "x"], [f"v{k + 1}"], axis=0) for k in range(count)]
    return model([node("Identity", ["x"], ["v0"]), *nodes], [floats("x", "N", 2)], [f"v{count}"])


def unrolled_choices(count: int) -> ModelProto:
    """Ifs one after the other, each of which adds a row or not: 2**count paths."""
    nodes: list[NodeProto] = [node("Identity", ["x"], ["v0"])]
    for k in range(count):
        longer = branch([node("Concat", [f"v{k}", f"v{k}"], [f"t{k}"], axis=0)], f"t{k}")
        same = branch([node("Identity", [f"v{k}"], [f"e{k}"])], f"e{k}")
        nodes.append(node("If", [f"c{k}"], [f"v{k + 1}"], then_branch=longer, else_branch=same))
    flags = [helper.make_tensor_value_info(f"c{k}", TensorProto.BOOL, []) for k in range(count)]
    return model(nodes, [floats("x", "N", 2), *flags], [f"v{count}"])


def nested_ifs(depth: int) -> ModelProto:
    """Ifs one in the other, with a flag each."""
    inner = branch([node("Relu", ["x"], ["y0"])], "y0")
    for k in range(1, depth + 1):
        other = branch([node("Concat", ["x", "x"], [f"o{k}"], axis=0)], f"o{k}")
        inner = branch([node("If", [f"c{k}"], [f"y{k}"], then_branch=inner, else_branch=other)], f"y{k}")
    flags = [helper.make_tensor_value_info(f"c{k}", TensorProto.BOOL, []) for k in range(1, depth + 1)]
    return model(list(inner.node), [floats("x", "N", 2), *flags], [f"y{depth}"])


def many_ifs(count: int) -> ModelProto:
    """Ifs side by side, with one flag."""
    nodes = []
    for k in range(count):
        one = branch([node("Relu", ["x"], [f"a{k}"])], f"a{k}")
        two = branch([node("Concat", ["x", "x"], [f"b{k}"], axis=0)], f"b{k}")
        nodes.append(node("If", ["c"], [f"y{k}"], then_branch=one, else_branch=two))
    flag = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    return model(nodes, [floats("x", "N", 2), flag], [f"y{k}" for k in range(count)])


def nested_loops(grows: bool) -> Callable[[int], ModelProto]:
    """Loops one in the other; the innermost body keeps the shape or adds to it."""

    def made(depth: int) -> ModelProto:
        step = node("Concat", ["v0", "x"], ["w0"], axis=0) if grows else node("Relu", ["v0"], ["w0"])
        body = loop_body([step], "v0", "w0", "k0")
        for k in range(1, depth):
            body = loop_body([node("Loop", ["m", "", f"v{k}"], [f"w{k}"], body=body)], f"v{k}", f"w{k}", f"k{k}")
        nodes = [node("Loop", ["m", "", "x"], ["y"], body=body)]
        return model(nodes, [floats("x", "N", 2), helper.make_tensor_value_info("m", TensorProto.INT64, [])], ["y"])

    return made


def many_loops(count: int) -> ModelProto:
    """Loops one after the other, each of which adds rows."""
    nodes = [node("Identity", ["x"], ["y0"])]
    for k in range(count):
        body = loop_body([node("Concat", [f"v{k}", "x"], [f"w{k}"], axis=0)], f"v{k}", f"w{k}", f"k{k}")
        nodes.append(node("Loop", ["m", "", f"y{k}"], [f"y{k + 1}"], body=body))
    trips = helper.make_tensor_value_info("m", TensorProto.INT64, [])
    return model(nodes, [floats("x", "N", 2), trips], [f"y{count}"])


def scans_in_loops(depth: int) -> ModelProto:
    """Scans and Loops in turn, one in the other."""
    body = loop_body([node("Relu", ["v0"], ["w0"])], "v0", "w0", "k0")
    for k in range(1, depth):
        if k % 2:
            each = helper.make_graph(
                [node("Loop", ["m", "", f"s{k}"], [f"t{k}"], body=body), node("Identity", [f"e{k}"], [f"f{k}"])],
                "scan",
                [untyped(f"s{k}"), untyped(f"e{k}")],
                [untyped(f"t{k}"), untyped(f"f{k}")],
            )
            outer = [node("Scan", [f"v{k}", "x"], [f"w{k}", f"u{k}"], body=each, num_scan_inputs=1)]
        else:
            outer = [node("Loop", ["m", "", f"v{k}"], [f"w{k}"], body=body)]
        body = loop_body(outer, f"v{k}", f"w{k}", f"k{k}")
    nodes = [node("Loop", ["m", "", "x"], ["y"], body=body)]
    return model(nodes, [floats("x", "N", 2), helper.make_tensor_value_info("m", TensorProto.INT64, [])], ["y"])


def doubling_calls(levels: int) -> ModelProto:
    """Functions that call the one before twice: 2**levels calls of the first."""
    first = [node("Concat", ["a", "a"], ["t"], axis=0), node("Relu", ["t"], ["u"]), node("MatMul", ["a", "w"], ["b"])]
    functions = [function("F0", ["a", "w"], ["b"], first)]
    for k in range(1, levels + 1):
        one = node(f"F{k - 1}", ["a", "w"], ["t"], domain="my")
        two = node(f"F{k - 1}", ["t", "w"], ["b"], domain="my")
        functions.append(function(f"F{k}", ["a", "w"], ["b"], [one, two]))
    nodes = [node(f"F{levels}", ["x", "w"], ["y"], domain="my")]
    return model(nodes, [floats("x", "N", "K"), floats("w", "K", "K")], ["y"], functions)


def growing_calls(levels: int) -> ModelProto:
    """Functions that call the one before twice, and each call of the first doubles the rows."""
    functions = [function("F0", ["a"], ["b"], [node("Concat", ["a", "a"], ["b"], axis=0)])]
    for k in range(1, levels + 1):
        calls = [node(f"F{k - 1}", ["a"], ["t"], domain="my"), node(f"F{k - 1}", ["a"], ["u"], domain="my")]
        functions.append(function(f"F{k}", ["a"], ["b"], [*calls, node("Concat", ["t", "u"], ["b"], axis=0)]))
    return model([node(f"F{levels}", ["x"], ["y"], domain="my")], [floats("x", "N", 2)], ["y"], functions)


def data_calls(levels: int) -> ModelProto:
    """Functions that call the one before twice, and each call of the first has a size of its own."""
    functions = [function("F0", ["a"], ["b"], [node("NonZero", ["a"], ["n"]), node("Cast", ["n"], ["b"], to=1)])]
    for k in range(1, levels + 1):
        calls = [node(f"F{k - 1}", ["a"], ["t"], domain="my"), node(f"F{k - 1}", ["a"], ["u"], domain="my")]
        functions.append(function(f"F{k}", ["a"], ["b"], [*calls, node("Concat", ["t", "u"], ["b"], axis=1)]))
    return model([node(f"F{levels}", ["x"], ["y"], domain="my")], [floats("x", "N", 2)], ["y"], functions)
