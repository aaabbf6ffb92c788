"""Local functions: names that clash with the caller's, attributes, and calls of calls."""

from typing import Final

from tests.adversarial.case import Theme, case

HEAD: Final = '<domain: "my", opset_import: ["": 18, "my": 1]>'

FUNCTIONS: Final[Theme] = {
    "doubles": case(
        f"(float[N] x) => (z) {{z = my.Twice(x)}} {HEAD} Twice (a) => (b) {{b = Concat<axis = 0>(a, a)}}", "N: 0, 3"
    ),
    "called_with_two_shapes": case(
        f"""(float[N] x, float[M, K] y) => (z, w) {{z = my.Twice(x) w = my.Twice(y)}}
            {HEAD} Twice (a) => (b) {{b = Concat<axis = 0>(a, a)}}""",
        "N M K: 0 1 2, 3 2 5",
    ),
    "same_names_inside": case(
        f"""(float[N] x, float[M] y) => (z) {{a = Concat<axis = 0>(x, y) z = my.Swap(y, x) w = Add(a, z)}}
            {HEAD} Swap (x, y) => (z) {{a = Concat<axis = 0>(x, y) z = Relu(a)}}""",
        "N M: 0 3, 2 5",
    ),
    "attribute_as_axis": case(
        f"""(float[N, M] x) => (y, z) {{y = my.Join<at = 0>(x) z = my.Join<at = 1>(x)}}
            {HEAD} Join <at> (a) => (b) {{b = Concat<axis : int = @at>(a, a)}}""",
        "N M: 0 3, 2 5",
    ),
    "calls_of_calls": case(
        f"""(float[N] x) => (z) {{z = my.Four(x)}} {HEAD} Four (a) => (c) {{b = my.Twice(a) c = my.Twice(b)}}
            {HEAD} Twice (a) => (b) {{b = Concat<axis = 0>(a, a)}}""",
        "N: 0, 3",
    ),
    "reshapes_by_a_parameter": case(
        f"""(float[N, M] x) => (z) <int64[2] t = {{-1, 2}}> {{z = my.As(x, t)}}
            {HEAD} As (a, t) => (b) {{b = Reshape(a, t)}}""",
        "N M: 1 2, 3 4",
    ),
    "two_results": case(
        f"""(float[N] x) => (z) {{a, b = my.Halves(x) z = Concat<axis = 0>(b, a)}}
            {HEAD} Halves (x) => (a, b) {{a, b = Split<num_outputs = 2>(x)}}""",
        "N: 2, 3, 8",
    ),
    "in_a_branch": case(
        f"""(bool c, float[N] x) => (z) {{z = If(c) <then_branch = t () => (p) {{p = my.Twice(x)}},
            else_branch = e () => (q) {{q = Relu(x)}}>}} {HEAD} Twice (a) => (b) {{b = Concat<axis = 0>(a, a)}}""",
        "N: 0, 3",
        {"c": True},
        {"c": False},
    ),
    "another_opset_than_the_model": case(
        """(float[N, 3, 5, 1] x) => (y) {y = my.Half(x)} <domain: "my", opset_import: ["": 20]>
           Half (a) => (b) {b = DFT<onesided = 1>(a)}""",
        "N: 1, 2",
        opset=17,
    ),
}
