"""The policies of lattices/unify.py in the situations that they decide, judged from the concrete semantics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from absint.lattices.logic.relation import TRUE
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.text import parse
from absint.lattices.unify import POLICIES, UnificationPolicy
from tests.unification.formula import Formula
from tests.unification.judging import Judged, Sizes, judge
from tests.unification.row import Row
from tests.unification.unifying import needed

Decision = Callable[[UnificationPolicy, Dim, Dim], Dim]


def fresh() -> Dim:
    """A size of which nothing is known."""
    return UNKNOWN_SIZE


DECISIONS: Final[Mapping[str, Decision]] = {
    "unify": lambda policy, target, source: policy.unify(target, source, fresh),
    "broadcast": lambda policy, a, b: policy.broadcast(a, b, fresh),
    "adopt": lambda policy, inferred, declared: policy.adopt(inferred, declared),
}


@dataclass(frozen=True)
class Situation:
    """Two dims between which a policy decides; `row` has the model, its claim is made from what the policy shows."""

    title: str
    decision: str
    pairs: Mapping[str, tuple[str, str]]
    """Measurement -> the two dims, in the order of the decision's parameters."""
    row: Row


def situation(title: str, decision: str, first: str, second: str, row: Row) -> Situation:
    """One whose row measures one size."""
    return Situation(title, decision, {next(iter(row.out)): (first, second)}, row)


def broadcasting(first: str, second: str) -> Situation:
    sizes = " ".join(sorted({name for text in (first, second) for name in Formula(text).names}))
    row = Row(
        "",
        "tools",
        "",
        sizes,
        model=f'(float["{first}"] x, float["{second}"] y) => (z) {{z = Add(x, y)}}',
        out={"z0": (f"broadcast({first}, {second})", "z[0]")},
        runs=f"broadcasts({first}, {second})",
    )
    return situation(f"{first} broadcast with {second}", "broadcast", first, second, row)


def unifying(target: str, source: str, sizes: str) -> Situation:
    row = needed("", target, source, "", sizes)
    return situation(f"target {target}, source {source}", "unify", target, source, row)


def adopting(inferred: str, declared: str, sizes: str) -> Situation:
    more = ", float[M] y" if "M" in sizes else ""
    row = Row(
        "",
        "tools",
        "",
        sizes,
        model=f'(float["{inferred}"] x{more}) => (float["{declared}"] z) {{z = Relu(x)}}',
        out={"z0": (inferred, "z[0]")},
    )
    return situation(f"inferred {inferred}, declared {declared}", "adopt", inferred, declared, row)


SITUATIONS: Final[Sequence[Situation]] = (
    unifying("N", "3", "N"),
    unifying("N + 2", "M + 2", "N M"),
    broadcasting("M", "N"),
    broadcasting("M", "M + 1"),
    broadcasting("N", "3"),
    broadcasting("N", "1"),
    broadcasting("N", "0"),
    adopting("3", "K", ""),
    adopting("N", "3", "N"),
    adopting("N", "M", "N M"),
    Situation(
        "inferred N and M, declared K twice",
        "adopt",
        {"z0": ("N", "K"), "w0": ("M", "K")},
        Row(
            "",
            "tools",
            "",
            "N M",
            model="(float[N] x, float[M] y) => (float[K] z, float[K] w) {z = Relu(x) w = Relu(y)}",
            out={"z0": ("N", "z[0]"), "w0": ("M", "w[0]")},
        ),
    ),
    Situation(
        "inferred 2*N and N, declared N and N",
        "adopt",
        {"z0": ("2*N", "N"), "w0": ("N", "N")},
        Row(
            "",
            "tools",
            "",
            "N",
            model="(float[N] x) => (float[N] z, float[N] w) {z = Concat<axis = 0>(x, x) w = Relu(x)}",
            out={"z0": ("2 * N", "z[0]"), "w0": ("N", "w[0]")},
        ),
    ),
)


@dataclass(frozen=True)
class Decided:
    """The dim that a policy shows in a situation, and its verdict."""

    shown: Sequence[str]
    """Dims as texts; `?` is a fresh one."""
    judged: Judged | None
    """None where nothing is claimed."""
    row: Row
    """With the claim that was judged."""

    @property
    def is_false(self) -> bool:
        return self.judged is not None and self.judged.counterexample is not None


def decide(policy: UnificationPolicy, of: Situation) -> Decided:
    """Ask the policy, and judge what it shows."""
    shown = {name: DECISIONS[of.decision](policy, parse(a), parse(b)) for name, (a, b) in of.pairs.items()}
    claims = list(_claims(shown, of.row))
    if of.decision == "broadcast":
        a, b = next(iter(of.pairs.values()))
        taken = policy.claim(parse(a), parse(b))
        claims += [str(taken)] if taken is not TRUE else []
    row = replace(of.row, claim=" and ".join(claims))
    return Decided([_text(dim) for dim in shown.values()], judge(row) if claims else None, row)


def _text(dim: Dim) -> str:
    return str(dim) if isinstance(dim, Expr) else "?"


def _claims(shown: Mapping[str, Dim], row: Row) -> Iterator[str]:
    """A dim over the sizes is what is measured; places with one text of other names are equal."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, dim in shown.items():
        if isinstance(dim, Expr) and dim.free_symbols <= set(row.names):
            yield f"{name} == {dim}"
        elif isinstance(dim, Expr):
            places[str(dim)].append(name)
    for first, *others in places.values():
        yield from (f"{first} == {other}" for other in others)


def worth(decided: Decided) -> str:
    """The cell of the table."""
    dims = ", ".join(f"`{dim}`" for dim in dict.fromkeys(decided.shown))
    judged = decided.judged
    if judged is None:
        return f"{dims}: says nothing"
    if judged.counterexample is None:
        return f"{dims}: {'true' if judged.verdict == 'proved' else judged.verdict}"
    claim = "" if len(decided.row.claim.split(" and ")) == len(decided.shown) else f" with `{decided.row.claim}`"
    return f"{dims}{claim}: **false** at {sizes_text(judged.counterexample)}"


def sizes_text(sizes: Sizes) -> str:
    """`M=0, N=1`, or `any run`."""
    return ", ".join(f"{name}={number}" for name, number in sizes.items()) or "any run"


__all__ = ["POLICIES", "SITUATIONS", "Decided", "decide", "sizes_text", "worth"]
