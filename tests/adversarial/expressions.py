"""Dims of inputs that are written as expressions, in several dialects."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case


def declared(dim: str, runs: str, inputs: str = "float[N] n") -> Adversarial:
    """An input whose size is an expression over the others'."""
    return case(f'({inputs}, float["{dim}"] x) => (z) {{z = Concat<axis = 0>(x, x)}}', runs)


TWO: Final = "float[N] n, float[M] m"

EXPRESSIONS: Final[Theme] = {
    "sum": declared("N + 2", "N: 0, 5"),
    "even_part": declared("2*floor(N/2)", "N: 0, 1, 5"),
    "halves_up": declared("ceil(N/2)", "N: 0, 1, 5"),
    "python_quotient": declared("(N + 1)//2", "N: 0, 1, 5"),
    "python_remainder": declared("N % 3", "N: 0, 2, 5"),
    "exporter_power_of_names": declared("Max(N, M)", "N M: 0 3, 5 1", TWO),
    "smaller": declared("Min(N, 4)", "N: 0, 3, 9"),
    "product": declared("N*M", "N M: 0 3, 5 2", TWO),
    "shape_builder_maximum": declared("N^M", "N M: 0 3, 5 1", TWO),
    "cancels": declared("N + M - N", "N M: 0 3, 5 1", TWO),
    "difference": declared("N - M", "N M: 3 0, 5 5", TWO),
    "same_text_on_two_inputs": case('(float["N + 2"] x, float["N + 2"] y) => (z) {z = Add(x, y)}', "N: 0, 3"),
    "two_texts_for_one_size": case('(float["N + N"] x, float["2*N"] y) => (z) {z = Add(x, y)}', "N: 0, 3"),
    "two_sums_that_must_agree": case(
        '(float["N + 2", 2] x, float["M + 2", 3] y) => (z, u) {z = Concat<axis = 1>(x, y) u = Relu(x)}', "N M: 0 0, 3 3"
    ),
    "cancelled_on_one_side": case('(float["N + 2 - 2"] x, float[N] y) => (z) {z = Add(x, y)}', "N: 0, 3"),
}
