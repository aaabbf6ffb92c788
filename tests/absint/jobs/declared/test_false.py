"""Declarations that some legal size makes false: which, and with which sizes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from onnx import TensorProto, helper

import absint
from absint.questions.claims.judging import false_declarations
from tests.absint.jobs.auditing.models import model
from tests.absint.jobs.declared.runs import unshown

RESIZE = """(float[batch, 3, height, width] x) => (float[batch, 3, height, width] y) <float[4] s = {1, 1, 2, 2}>
    {y = Resize<mode = "nearest">(x, , s)}"""
BRANCH = """(bool c, float[N] x) => (float[n] y) {y = If(c)
    <then_branch = t () => (float[N] p) {p = Relu(x)},
     else_branch = e () => (float[N] q) {q = Concat<axis = 0>(x, x)}>}"""
BRANCH_BY_SIZE = """(float[N] x) => (y) <int64[1] four = {4}>
    {s = Shape(x) g = Less(s, four) c = Squeeze(g) y = If(c)
    <then_branch = t () => (p) {p = Relu(x)}, else_branch = e () => (float[3] q) <float[2] r>
        {r = Relu(x) q = Abs(r)}>}"""
GROWING = """(int64 m, float[N] x, float[M] q) => (y) {y = Loop(m, , x)
    <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) {d = Identity(c) w = Concat<axis = 0>(v, q)}>}"""
DOUBLED = """(int64 m, float[N] x) => (y) {y = Loop(m, , x)
    <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) {d = Identity(c) w = Concat<axis = 0>(v, v)}>}"""
TWICE = """(float[N] x) => (y) {t = Constant<value_int = 2>() y = Loop(t, , x)
    <body = b (int64 i, bool c, float[N] v) => (bool d, w) {d = Identity(c) w = Concat<axis = 0>(v, v)}>}"""
SWAPPED = """(int64 m, float[N] x, float[M] q) => (y, z) {y, z = Loop(m, , x, q)
    <body = b (int64 i, bool c, float[N] v, u) => (bool d, w, t) {d = Identity(c) w = Identity(u) t = Identity(v)}>}"""
SCAN = """(float[T, N] x) => (y) {y = Scan<num_scan_inputs = 1,
    body = b (float[N] v) => (float[N] w) <float[3] u> {u = Relu(v) w = Concat<axis = 0>(v, u)}>(x)}"""
NESTED = """(bool c, float[N] x) => (y) {y = If(c)
    <then_branch = t () => (p) {p = If(c) <then_branch = a () => (float[N] r) {r = Concat<axis = 0>(x, x)},
                                           else_branch = b () => (r2) {r2 = Relu(x)}>},
     else_branch = e () => (q) {q = Relu(x)}>}"""
TARGET = """(float[1, 1, N, M] x, int64 h) => (y, float[1, 1, 3, M] z) <int64[1] zero = {0}, int64[2] ones = {1, 1}>
    {v = Unsqueeze(h, zero) s = Concat<axis = 0>(ones, v, v) y = Resize<mode = "nearest">(x, , , s) z = Relu(x)}"""
"""With a target of 0, only an empty input is resized."""
CORNER = """(float[N, M] x) => (float[N, M] y, float[N, M] z) <int64[1] rows = {-1}>
    {c = Shape<start = 1, end = 2>(x) t = Concat<axis = 0>(rows, c) y = Reshape<allowzero = 1>(x, t) z = Relu(y)}"""
"""At a size of 0 the rows that are left over are at least 1, as they are elsewhere."""
WINDOW = '(float[1, 1, H] x) => (float[1, 1, "max(H - 4, 0)"] z) {z = MaxPool<kernel_shape = [5]>(x)}'
FOLDED = '(float[N, M] x) => (float["N*M"] z) <int64[1] s = {12}> {z = Reshape(x, s)}'
"""The declarations are true at the sizes that run."""
EVERY = "false in every run"

FALSE: list[tuple[str, list[str]]] = [
    # a size is one text, an expression, a number, a choice, a rank
    ("(float[N] x, float[M] y) => (float[N] z) {z = Concat<axis = 0>(x, y)}",
     ["output 'z': declared [N], but it is [M + N]: false at N=1, M=1"]),
    ("(float[N] x) => (z) <float[N] y> {y = Concat<axis = 0>(x, x) z = Relu(y)}",
     ["value_info 'y': declared [N], but it is [2*N]: false at N=1"]),
    ('(float[N] x) => (float["N + 1"] z) {z = Relu(x)}', [f"output 'z': declared [N + 1], but it is [N]: {EVERY}"]),
    ("(float[N, 4] x) => (float[N, 5] z) {z = Relu(x)}", [f"output 'z': declared [N, 5], but it is [N, 4]: {EVERY}"]),
    ("(float[N, 4] x) => (float[8, 4] z) {z = Relu(x)}",
     ["output 'z': declared [8, 4], but it is [N, 4]: false at N=1"]),
    ("(float[N] x) => (float[N, 1] z) {z = Relu(x)}", [f"output 'z': declared [N, 1], but it is [N]: {EVERY}"]),
    ("(float[N] x) => (float[0] z) {z = Relu(x)}", ["output 'z': declared [0], but it is [N]: false at N=1"]),
    ('(float[N] x, float[M] y) => (float["max(N, M)"] z) {z = Add(x, y)}',
     ["output 'z': declared [max(N, M)], but it is [broadcast(M, N)]: "
      "false where a size is 0, as at N=1, M=0"]),
    ('(float[1, 1, H] x) => (float[1, 1, "(H - 1) / 2"] z)'
     "{z = MaxPool<kernel_shape = [3], strides = [2], pads = [1, 1]>(x)}",
     ["output 'z': declared [1, 1, (H - 1) / 2], but it is [1, 1, (H + 1)//2]: false at H=1"]),
    # only where the requirements let it
    ("(float[N, K] x, float[D, 2] w) => (float[N, 7] y, float[N, D] z) {y = MatMul(x, w) z = Relu(x)}",
     [f"output 'y': declared [N, 7], but it is [N, 2]: {EVERY}"]),
    ('(float[1, 1, H] x) => (float[1, 1, "max(H - 4, 1)"] z) {z = MaxPool<kernel_shape = [5]>(x)}',
     ["output 'z': declared [1, 1, max(H - 4, 1)], but it is [1, 1, H - 4]: false at H=4"]),
    (WINDOW, []),
    (FOLDED, []),
    ("(float[N, M] x, float[64, 3] w) => (y, float[N, 64] z) {y = MatMul(x, w) z = Relu(x)}", []),
    # names of the author's own
    ("(float[N] x, float[M] y) => (float[K] z, float[K] w) {z = Relu(x) w = Relu(y)}",
     ["output 'w': declared [K], but it is [M], and 'K' is N at output 'z', axis 0: false at N=5, M=3"]),
    ("(float[N] x) => (float[k] z, float[k] w) {z = Relu(x) w = Concat<axis = 0>(x, x)}",
     ["output 'w': declared [k], but it is [2*N], and 'k' is N at output 'z', axis 0: false at N=1"]),
    ('(float[N] x) => (float["k + 1"] z, float["k + 1"] w) {z = Relu(x) w = Concat<axis = 0>(x, x)}',
     ["output 'w': declared [k + 1], but it is [2*N], and 'k + 1' is N at output 'z', axis 0: false at N=1"]),
    ('(float[N] x) => (float[k] z, float["k + 1"] w) {z = Relu(x) w = Concat<axis = 0>(x, x)}',
     ["output 'w': declared [k + 1], but it is [2*N], and 'k' is N at output 'z', axis 0: false at N=5"]),
    # bodies
    (BRANCH, ["If#0/else_branch output 'q': declared [N], but it is [2*N]: false at N=1"]),
    (BRANCH_BY_SIZE, ["If#3/else_branch value_info 'r': declared [2], but it is [N]: false at N=5",
                      "If#3/else_branch output 'q': declared [3], but it is [N]: false at N=5"]),
    (GROWING, ["Loop#0/body input 'v': declared [N], but it is [M*_d0 + N]: false in the second trip at N=1, M=1",
               "Loop#0/body output 'w': declared [N], but it is [M*_d0 + M + N]: false at N=1, M=1"]),
    (DOUBLED, ["Loop#0/body input 'v': declared [N], but it is [_d1]: false in the second trip at N=1",
               "Loop#0/body output 'w': declared [N], but it is [2*_d1]: false in the first trip at N=1"]),
    (TWICE, ["Loop#1/body input 'v': declared [N], but it is [_d1]: false in the second trip at N=1"]),
    (SWAPPED, ["Loop#0/body input 'v': declared [N], but it is [ite(_d0 % 2 == 1, M, N)]: "
               "false in the second trip at N=5, M=3"]),
    (SCAN, ["Scan#0/body value_info 'u': declared [3], but it is [N]: false at T=1, N=1",
            "Scan#0/body output 'w': declared [N], but it is [2*N]: false at T=1, N=1"]),
    (NESTED, ["If#0/then_branch/If#0/then_branch output 'r': declared [N], but it is [2*N]: false at N=1"]),
    # small witnesses, and others than 0
    ("(float[N, M] x) => (float[N, N] z) {z = Relu(x)}",
     ["output 'z': declared [N, N], but it is [N, M]: false at N=5, M=3"]),
    (TARGET, ["output 'z': declared [1, 1, 3, M], but it is [1, 1, N, M]: false at N=1, M=1"]),
    (CORNER, ["output 'y': declared [N, M], but it is [ite(M == 0, max(N, 1), N), M]: false where a size is 0, as at "
              "N=0, M=0; so is 1 more (absint audit lists all)"]),
    # inputs and initialisers declared once more
    ("(float[N] x) => (z) <float[3] x> {z = Relu(x)}", ["value_info 'x': declared [3], but it is [N]: false at N=1"]),
    ("(float[N] x) => (float[2] x) {z = Relu(x)}", ["output 'x': declared [2], but it is [N]: false at N=1"]),
]  # fmt: skip

TRUE = [
    # what data decide, what nobody knows, and names that say nothing
    "(float[N] x) => (int64[1, N] z) {z = NonZero(x)}",
    "(float[N] x) => (int64[1, count] z, int64[1, count] w) {z = NonZero(x) w = Identity(z)}",
    "(float[N] x) => (float[P] z) {z = Relu(x)}",
    "(float[N] x, float[M] y) => (float[total] z, float[total] w) {z = Concat<axis = 0>(x, y) w = Relu(z)}",
    "(float[batch, 3] x, float[1, 3] y) => (float[batch, 3] z) {z = Add(x, y)}",
    '(float[N] x, float[M] y) => (float["N + M"] z) {z = Concat<axis = 0>(x, y)}',
    '(float[N] x, float[M] y) => (float["M+N"] z) {z = Concat<axis = 0>(x, y)}',
    '(float[N] x) => (float["batch size"] z, float["?"] w) {z = Relu(x) w = Concat<axis = 0>(x, x)}',
    '(float[N] x) => (float["2x + "] z) {z = Relu(x)}',
    "(float[N, K] x, int64[2] s) => (float[N, K] z) {z = Reshape(x, s)}",
    # two branches are not of one run, and a body that no size enters says nothing
    """(bool c, float[N] x) => (y) {y = If(c) <then_branch = t () => (float[k] p) {p = Relu(x)},
        else_branch = e () => (float[k] q) {q = Concat<axis = 0>(x, x)}>}""",
    """(float[N] x) => (y) <bool c = {1}> {y = If(c) <then_branch = t () => (p) {p = Relu(x)},
        else_branch = e () => (float[N] q) {q = Concat<axis = 0>(x, x)}>}""",
    # one trip, and a body that only data know
    """(float[N] x) => (y) {t = Constant<value_int = 1>() y = Loop(t, , x) <body = b (int64 i, bool c, float[N] v) =>
        (bool d, w) {d = Identity(c) w = Concat<axis = 0>(v, v)}>}""",
    """(int64 m, float[N] x) => (y) {y = Loop(m, , x) <body = b (int64 i, bool c, float[N] v) => (bool d, w)
        {d = Identity(c) z = NonZero(v) o = Constant<value_ints = [0]>() f = Squeeze(z, o) w = Cast<to = 1>(f)}>}""",
    # a name of a body is not that of the outer graph
    """(int64 m, float[N] x) => (float[k] z, y) {z = Relu(x) y = Loop(m, , x)
        <body = b (int64 i, bool c, v) => (bool d, float[k] w) {d = Identity(c) w = Concat<axis = 0>(v, x)}>}""",
]


def told(text: str, **options: object) -> list[str]:
    result = absint.analyze(model(text), **options)  # type: ignore[arg-type]
    return [f"{d.where}: {d.message}" for d in result.diagnostics if d.code == "false-declaration"]


@pytest.mark.parametrize(("text", "expected"), FALSE)
def test_a_false_declaration_is_told_with_a_legal_size(text: str, expected: list[str]) -> None:
    assert told(text) == expected


def test_the_message_has_the_declaration_the_truth_and_a_size() -> None:
    (found,) = absint.analyze(model(RESIZE)).diagnostics
    assert found.sizes is not None
    shown = ", ".join(f"{name}={size}" for name, size in found.sizes.items())
    assert str(found) == (
        "warning: output 'y': declared [batch, 3, height, width], but it is [batch, 3, 2*height, 2*width]: "
        f"false at {shown} [false-declaration]"
    )


@pytest.mark.parametrize("text", [RESIZE, *(text for text, expected in FALSE if expected)])
def test_a_run_at_that_size_shows_it(text: str) -> None:
    assert unshown(absint.analyze(model(text))) == []


@pytest.mark.parametrize("text", TRUE)
def test_what_may_be_true_is_not_told(text: str) -> None:
    assert told(text) == []


def test_assumptions_make_a_declaration_true() -> None:
    text = "(float[N, 4] x) => (float[8, 4] z) {z = Relu(x)}"
    assert told(text, assume=["N == 8"]) == told(text, bind={"N": 8}) == []
    assert told(text, assume=["N % 4 == 0", "N >= 8"]) == [
        "output 'z': declared [8, 4], but it is [N, 4]: false at N=12"
    ]


def test_sizes_that_the_requirements_tie_together() -> None:
    """H is a multiple of 32, K is D, and W is bounded below."""
    text = """(float[1, 1, H, W] x, float[N, K] a, float[D, 2] b) => (float[1, 1, 32, W] y, float[5, 2] z)
        <int64[4] t = {0, 0, 32, -1}> {z = MatMul(a, b) p = MaxPool<kernel_shape = [1, 9]>(x)
        f = Shape<start = 2, end = 3>(x) q = Identity(x) y = Relu(q)}"""
    result = absint.analyze(model(text), assume=["H % 32 == 0", "N >= 3"])
    found = {item.declaration.name: item.sizes for item in false_declarations(result)}
    assert found.keys() == {"y", "z"}
    for sizes in found.values():
        assert sizes is not None
        assert result.check(sizes)
        assert sizes["K"] == sizes["D"]
        assert sizes["W"] >= 8


def test_a_function_is_read_at_each_call() -> None:
    proto = model("""(float[N] x) => (y, z) {y = my.twice(x) z = my.twice(y)}
        <opset_import: ["": 18], domain: "my"> twice (a) => (b) {c = Relu(a) b = Concat<axis = 0>(c, c)}""")
    proto.functions[0].value_info.append(helper.make_tensor_value_info("c", TensorProto.FLOAT, ["N"]))
    (item,) = false_declarations(absint.analyze(proto))
    assert (item.where, item.sizes) == ("twice#1 value_info 'c'", {"N": 1})


SEQUENCE = helper.make_tensor_sequence_value_info
OPTIONAL = helper.make_optional_type_proto


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (SEQUENCE("s", TensorProto.INT64, None), "declared a sequence of INT64, but it is FLOAT there"),
        (SEQUENCE("s", TensorProto.FLOAT, ["N", 2]), "declared [N, 2], but it is [N]: false in every run"),
        (SEQUENCE("s", TensorProto.FLOAT, [3]), "declared [3], but it is [N]"),
        (helper.make_tensor_value_info("s", TensorProto.FLOAT, ["N"]), "declared a tensor, but it is a sequence"),
        (
            helper.make_value_info("s", OPTIONAL(helper.make_tensor_type_proto(TensorProto.FLOAT, None))),
            "declared an optional, but it is a sequence",
        ),
        (helper.make_value_info("s", helper.make_map_type_proto(7, SEQUENCE("", 1, None).type)),
         "declared a map, but it is a sequence"),
        (helper.make_tensor_value_info("y", TensorProto.INT64, ["N"]), "declared INT64, but it is FLOAT"),
    ],
)  # fmt: skip
def test_kinds_and_element_types(info: object, expected: str) -> None:
    proto = model(
        "(float[N] x) => (y) {s = SequenceConstruct(x, x) i = Constant<value_int = 0>() y = SequenceAt(s, i)}"
    )
    proto.graph.value_info.append(info)
    (item,) = false_declarations(absint.analyze(proto))
    assert item.message.partition(": false at")[0] == expected


def test_a_sequence_without_elements_has_no_size_that_is_false() -> None:
    proto = model("(float[N] x) => (y) {s = SequenceEmpty<dtype = 1>() y = SequenceInsert(s, x)}")
    proto.graph.value_info.append(SEQUENCE("s", TensorProto.FLOAT, [3]))
    assert false_declarations(absint.analyze(proto)) == ()


def test_a_dim_that_is_negative_or_empty_says_nothing() -> None:
    proto = model("(float[N] x) => (y) {y = Relu(x)}")
    proto.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [-1]))
    proto.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [""]))
    assert false_declarations(absint.analyze(proto)) == ()


def test_a_value_that_is_declared_twice_is_told_twice() -> None:
    proto = model("(float[N] x) => (float[2] y) {y = Relu(x)}")
    proto.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [3]))
    proto.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"]))
    found = false_declarations(absint.analyze(proto))
    assert [item.where for item in found] == ["value_info 'y'", "output 'y'"]


def test_an_initialiser_of_another_shape() -> None:
    proto = model("(float[N, 3] x) => (y) <float[3] w = {1, 2, 3}> {y = Add(x, w)}")
    proto.graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4]))
    (item,) = false_declarations(absint.analyze(proto))
    assert (item.where, item.message) == ("value_info 'w'", f"declared [4], but it is [3]: {EVERY}")


def test_a_model_that_never_runs_has_no_legal_size() -> None:
    text = "(float[N, 3] x, float[4, 5] w) => (y, float[7, 3] z) {y = MatMul(x, w) z = Relu(x)}"
    assert told(text) == []


def test_neither_z3_nor_a_runtime_is_loaded() -> None:
    code = (
        "import sys, absint\nfrom tests.absint.jobs.auditing.models import model\n"
        "from tests.absint.jobs.declared.test_false import RESIZE\n"
        "(found,) = absint.analyze(model(RESIZE)).diagnostics\nassert found.sizes\n"
        "assert not {'z3', 'onnxruntime'} & set(sys.modules), sorted(sys.modules)\n"
        "from absint.solver.backend import shared\nassert shared().pid is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_equal_declarations_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from absint.questions.claims import reading

    asked: list[object] = []
    read = reading.eq
    monkeypatch.setattr(reading, "eq", lambda a, b: asked.append((a, b)) or read(a, b))
    nodes = " ".join(f"v{k + 1} = Relu(v{k})" for k in range(200))
    infos = ", ".join(f'float["N + M"] v{k}' for k in range(1, 200))
    text = f"(float[N] x, float[M] y) => (v200) <{infos}> {{v0 = Concat<axis = 0>(x, x, y) {nodes}}}"
    assert len(told(text)) == 199
    assert len(asked) == 1
