"""Ifs: by data, by a size, by a constant; a branch that is not taken proves nothing."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case

FLAGS: Final = ({"c": True}, {"c": False})


def chosen(then: str, other: str, runs: str = "N: 1, 4", inputs: str = "float[N] x") -> Adversarial:
    """An If by data whose branches compute p and q."""
    return case(
        f"""(bool c, {inputs}) => (u) {{y = If(c) <then_branch = t () => (p) {{{then}}},
            else_branch = e () => (q) {{{other}}}> u = Identity(y)}}""",
        runs,
        *FLAGS,
    )


def by_size(test: str, then: str, other: str, runs: str) -> Adversarial:
    """An If by a relation over the size n of x, which computes c."""
    return case(
        f"""(float[N] x) => (u) {{k = Constant<value_int = 3>() n = Size(x) {test}
            y = If(c) <then_branch = t () => (p) {{{then}}}, else_branch = e () => (q) {{{other}}}>
            u = Identity(y)}}""",
        runs,
    )


BRANCHES: Final[Theme] = {
    "doubles_or_keeps": chosen("p = Concat<axis = 0>(x, x)", "q = Relu(x)"),
    "keeps_both_ways": chosen("p = Neg(x)", "q = Relu(x)"),
    "one_of_two_symbols": chosen("p = Relu(x)", "q = Relu(w)", "N M: 2 3, 0 1, 4 4", "float[N] x, float[M] w"),
    "other_rank": chosen("a = Constant<value_ints = [0]>() p = Unsqueeze(x, a)", "q = Relu(x)"),
    "needs_three_in_one_branch": chosen(
        "k = Constant<value_floats = [1.0, 2.0, 3.0]>() p = Add(x, k)", "q = Relu(x)", "N: 3, 1"
    ),
    "transposes_or_not": chosen("p = Transpose(x)", "q = Relu(x)", "N M: 2 3, 5 5", "float[N, M] x"),
    "born_in_a_branch": chosen("z = NonZero(x) p = Cast<to = 1>(z)", "q = Relu(x)", "N: 4, 1", "float[2, N] x"),
    "by_equality": by_size("c = Equal(n, k)", "p = Concat<axis = 0>(x, x)", "q = Relu(x)", "N: 0, 2, 3, 4"),
    "by_order": by_size(
        "c = Less(n, k)",
        "p = Concat<axis = 0>(x, x)",
        "b0 = Constant<value_ints = [0]>() e0 = Constant<value_ints = [3]>() q = Slice(x, b0, e0)",
        "N: 0, 2, 3, 4, 9",
    ),
    "cuts_to_three": by_size(
        "c = Greater(n, k)",
        "b0 = Constant<value_ints = [0]>() e0 = Constant<value_ints = [3]>() p = Slice(x, b0, e0)",
        "q = Identity(x)",
        "N: 0, 2, 3, 4, 9",
    ),
    "by_a_constant": case(
        """(float[N, M] x) => (y) {c = Constant<value = bool {1}>() y = If(c) <then_branch = t () => (p)
           {p = Transpose(x)}, else_branch = e () => (q) {q = Concat<axis = 0>(x, x)}>}""",
        "N M: 2 3, 0 1",
    ),
    "inside_another": case(
        """(bool c, float[N] x) => (y) {y = If(c) <then_branch = t () => (p) {k = Constant<value_int = 2>() n = Size(x)
           f = Equal(n, k) p = If(f) <then_branch = a () => (r) {r = Concat<axis = 0>(x, x)},
           else_branch = b () => (s) {s = Relu(x)}>}, else_branch = e () => (q) {q = Neg(x)}>}""",
        "N: 1, 2, 4",
        *FLAGS,
    ),
}
