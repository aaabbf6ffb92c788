"""Rows about an element of a small integer tensor that is computed from sizes."""

from __future__ import annotations

from tests.unification.row import Row


def elements(steps: str, inputs: str) -> str:
    """A model that computes r from n, the shape of a vector of N elements."""
    constants = ", ".join(f"int64[1] k{k} = {{{k}}}" for k in range(10) if f"k{k}" in steps)
    return f"({inputs}) => (r) {f'<{constants}> ' if constants else ''}{{n = Shape(x) {steps}}}"


def on_n(rule: str, source: str, steps: str, result: str, claim: str, **more: str) -> Row:
    """About r, which is computed from N alone."""
    model = elements(steps, "float[N] x")
    return Row(rule, source, claim, "N", model=model, out={"r": (result, "r{0}")}, **more)


def on_pair(rule: str, source: str, steps: str, result: str, claim: str, **more: str) -> Row:
    """About r, which is computed from N and M."""
    model = elements(f"m = Shape(y) {steps}", "float[N] x, float[M] y")
    return Row(rule, source, claim, "N M", model=model, out={"r": (result, "r{0}")}, **more)
