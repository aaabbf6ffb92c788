"""Faults in what is said of elements."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

CONSTANTS = "pytest tests/soundness/test_constant_nodes.py::test_what_onnxruntime_computes_otherwise"

TERMS: Final = "pytest tests/lattices/test_floats.py"
TEXT: Final = "module('absint.lattices.text').parse"

MUTANTS: Final[tuple[Mutant, ...]] = (
    # Floats that round
    mutant(
        "rounded-twice",
        "a quotient of integers is rounded to float64 and then to float32",
        "absint.lattices.terms.ieee",
        "if Fraction(near) != exact and unpack",
        "if False and unpack",
        "module('absint.lattices.terms.ieee').of_ratio('float32', 2**60 + 2**36 + 1)",
        TERMS,
    ),
    mutant(
        "operands-of-a-quotient-in-order",
        "a / b is b / a where that reads better",
        "absint.lattices.terms.floats",
        'if op != "/" and (a.is_constant, a.key)',
        "if (a.is_constant, a.key)",
        f"{TEXT}('int(800/float32(N))').evaluate({{'N': 3}})",
        TERMS,
    ),
    mutant(
        "floor-is-truncation",
        "a cast of the floor of a float is a cast of the float, whatever its sign",
        "absint.lattices.terms.normal",
        'if (a.op == "floor" and a.span.lo >= 0)',
        'if (a.op == "floor")',
        f"{TEXT}('int(floor(float32(N)*0.3 - 9.5))').evaluate({{'N': 3}})",
        TERMS,
    ),
    mutant(
        "raw-cast-in-bounds",
        "what a platform makes of NaN lies where the float does",
        "absint.lattices.terms.normal",
        'bounds = limits if op != "int" else _inside(a, limits)',
        "bounds = _inside(a, limits)",
        f"{TEXT}('int64(float32(N)*(1/float32(M)))').bounds",
        TERMS,
    ),
    mutant(
        "zero-of-any-sign-divides",
        "1 / (N - M) is infinite and positive where the divisor is 0 or -0",
        "absint.lattices.terms.floats",
        'if term.op == "/" and floats[1] == 0 and not signs_zero(term.floats[1]):',
        "if False:",
        "str(relation('int(min(1/float32(N - M), 7)) == 7').at({'N': 3, 'M': 3}))",
        TERMS,
    ),
    mutant(
        "nan-is-a-size",
        "that a float is a number of INT64 is taken for granted without a word",
        "absint.transfer.elements.premises",
        'if not op.assume(inside, "a float is a number of INT64"):',
        "if inside is None:",
        "said(graph('(float[N] x, float[M] z) => (float[K] y) { s = Shape(x) t = Shape(z) f = Cast<to = 1>(s) "
        "g = Cast<to = 1>(t) q = Div(f, g) h = Mul(q, g) i = Cast<to = 7>(h) y = Expand(x, i) }'))",
        "pytest tests/transfer/test_float_terms.py",
    ),
    mutant(
        "resize-in-exact-numbers",
        "the product of size and scale is rounded down before float32 rounds it",
        "absint.transfer.resize",
        "product = ar.mul(op, DType.FLOAT, of_integer(DType.FLOAT, size), scale)",
        "product = ar.floor(op, DType.FLOAT, ar.mul(op, DType.FLOAT, of_integer(DType.FLOAT, size), scale)) "
        "if size.is_concrete else ar.sqrt(op, DType.FLOAT, of_integer(DType.FLOAT, size))",
        "graph('(float[1, 1, H, 8] x) => (float[1, 1, A, B] y) { s = Constant<value_floats = [1.0, 1.0, 0.7, 1.0]>() "
        "y = Resize(x, , s) }')['y']",
        "pytest tests/transfer/test_float_terms.py",
    ),
    mutant(
        "elements-handed-on-unasked",
        "a rule that returns an input hands on its elements, whatever it declares",
        "absint.transfer.application",
        "return outputs if rule.elements else (without_elements(result),)",
        "return outputs",
        "str(module('absint.transfer.application').apply(r := module('absint.transfer.rule').rule('Z', inputs='X')"
        "(lambda op: op.value('X')), module('absint.transfer.op').Op(r, [ints([1]).value()])).outputs)",
        "pytest tests/absint/testing/custom/test_kit_elements.py",
    ),
    mutant(
        "padded-fill",
        "elements that are all the same stay so, whatever is put around them",
        "absint.transfer.padding",
        "return Contents.fill(join_elements(x.contents.elements[0], _filling(op, x)))",
        "return x.contents",
        "str(graph('(float[N] x, int64[2] p) => (int64[M] y) { s = Shape(x) "
        "o = ConstantOfShape<value = int64[1] {1}>(s) y = Pad(o, p) }')['y'])",
        "pytest tests/transfer/test_elements.py::test_fills_are_those_of_the_run",
    ),
    mutant(
        "joined-fill-of-nothing",
        "what inputs without elements are joined to has the elements of them all",
        "absint.transfer.concat",
        "return first if agree else None",
        "return first",
        "str(graph('(int64[2] s, int64[2] t) => (float[N, M] y) { a = ConstantOfShape(s) b = ConstantOfShape(t) "
        "y = Concat<axis = 1>(a, b) }')['y'])",
        "pytest tests/transfer/test_elements.py::test_fills_of_empty_inputs_that_differ",
    ),
    mutant(
        "top-k-in-one-order",
        "the order of TopK without sorted is that of the reference",
        "absint.shapes.application",
        'if operation.op_type == "TopK" and operation.attributes.get("sorted", 1) == 0:',
        "if False:",
        "str(graph('(float[N] x) => (int64[2] y) { c = Constant<value_ints = [1, 2, 3]>() "
        "k = Constant<value_ints = [2]>() y, i = TopK<sorted = 0>(c, k) }')['y'])",
        CONSTANTS,
    ),
    mutant(
        "order-of-64-bits",
        "Max and its like order int64 as they should",
        "absint.transfer.elements.premises",
        "if dtype is DType.INT64 else []",
        "if dtype is DType.CONFLICT else []",
        "node('Max', ints([2**40]), ints([3]))",
        "pytest tests/transfer/test_premises.py",
    ),
    mutant(
        "mask-of-other-bits",
        "a mask of all but the lowest bits keeps the lowest",
        "absint.transfer.elements.conversion",
        "return rest - mod_dim(rest, dropped) if",
        "return mod_dim(rest, dropped) if",
        "node('BitwiseAnd', ints(['N']), ints([-8]))",
        "pytest tests/transfer/test_broadcasting.py",
    ),
    mutant(
        "parts-of-a-split-from-the-start",
        "each part of a split begins where the first one does",
        "absint.transfer.sequences",
        "part_of(x, axis, const(size), const(start))",
        "part_of(x, axis, const(size), const(0))",
        "node('SplitToSequence', ints(['N', 'M', 'K']), ints([2, 1]))",
        "pytest tests/transfer/test_sequences.py",
    ),
    mutant(
        "reductions-of-64-bits",
        "reductions of int64 give the sums and products of mathematics",
        "absint.transfer.elements.premises",
        'return within(op, value, -limit, limit, f"{DType.DOUBLE} holds it exactly", products=True)',
        "return True",
        "node('ReduceProd', ints([2**53 + 1, 2]), keepdims=0)",
        CONSTANTS,
    ),
)
