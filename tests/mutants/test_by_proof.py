"""Generated faults in rules: what they change, and that the obligations alone refute them."""

from __future__ import annotations

import pytest

from tests.mutants.by_proof import Seen, rules, share, shown, summary
from tests.mutants.copies import run
from tests.mutants.effects import Effect, Said, Told, effects
from tests.mutants.generated import drawn, faults, modules
from tests.mutants.mutant import Mutant, source_of


def fault(module: str, breaks: str) -> Mutant:
    return next(mutant for mutant in faults(module) if mutant.breaks.startswith(breaks))


def test_each_fault_is_one_other_source() -> None:
    assert len(modules()) >= 25
    found = list(faults("absint.transfer.window"))
    sources = [mutant.changes[0].after for mutant in found]
    assert len(set(sources)) == len(sources) > 50
    assert source_of("absint.transfer.window") not in sources
    for mutant in found:
        compile(mutant.changes[0].after, mutant.name, "exec")
    words = " ".join(mutant.breaks for mutant in found)
    for text in ("floordiv becomes ceildiv", "minimum becomes maximum", "op.require(", "1 becomes 2", "+ becomes -"):
        assert text in words, text


def test_a_seed_draws_the_same_faults() -> None:
    assert drawn(5, 1, ["absint.transfer.window"]) == drawn(5, 1, ["absint.transfer.window"])
    assert drawn(5, 1, ["absint.transfer.window"]) != drawn(5, 2, ["absint.transfer.window"])


@pytest.fixture(scope="module")
def results() -> dict[str, Seen]:
    chosen = [
        fault("absint.transfer.window", "floordiv becomes ceildiv in: return ge(slack, 0), as_size("),
        fault("absint.transfer.linalg", "op.require_equal(inner_a, inner_b"),
        fault("absint.transfer.selection", "1 becomes 2 in: elif not 0 <= value"),
        *[found for found in rules() if found.name == "transpose-by-the-inverse"],
    ]
    assert len(chosen) == 4
    found = {one.breaks: one for one in run(chosen, 1)}
    return {mutant.breaks: found[mutant.breaks] for mutant in chosen}


def test_the_proof_refutes_a_shape_and_a_dropped_requirement(results: dict[str, Seen]) -> None:
    window, product, unspecified, transpose = results.values()
    assert window.kind == "shape"
    assert "exact: output 0, axis" in window.by
    assert product.kind == "requirement"
    assert "sufficient: the requirements imply: columns of A must be rows of B" in product.by
    assert transpose.kind == "shape"
    assert "Transpose-" in transpose.by
    assert unspecified.effects == frozenset()
    assert shown(unspecified) == ""
    assert shown(window).startswith("refuted  shape       transfer.window:")


def test_shares_are_counted(results: dict[str, Seen]) -> None:
    missed = next(iter(results.values()))._replace(by="")
    assert share([*results.values(), missed], "shape") == pytest.approx(2 / 3)
    assert share([], "content") == 1
    assert shown(missed).startswith("MISSED")
    assert list(summary([*results.values(), missed]))[:2] == [
        "5 faults, 0 broken",
        "shape: 3 faults, 2 refuted, 0 open, 1 missed",
    ]


def test_effects_compare_numbers_where_a_node_is_legal() -> None:
    def told(*said: Said, complete: bool = True) -> list[Told]:
        return [Told(("", "Relu", 14), complete, said)]

    def kinds(before: Said, after: Said, *, complete: bool = True) -> set[str]:
        found = effects(told(before, complete=complete), told(after, complete=complete))
        assert all(effect[1:] == ("", "Relu", 14) for effect in found)
        assert all(isinstance(effect, Effect) for effect in found)
        return {effect.kind for effect in found}

    legal, wide = Said(True, ((3,),), ((7,),)), Said(True, ((4,),), ((7,),))
    refused = Said(False, ((9,),), (None,))
    assert kinds(legal, legal) == set()
    assert kinds(legal, wide) == {"shape"}
    assert kinds(legal, Said(True, ((3, 1),), ((7,),))) == {"shape"}
    assert kinds(legal, Said(True, ((None,),), ((8,),))) == {"precision", "content"}
    assert kinds(legal, Said(True, (None,), ((7,),))) == {"precision"}
    assert kinds(legal, refused) == kinds(refused, legal) == {"requirement"}
    assert kinds(refused, legal, complete=False) == set()
    assert kinds(refused, Said(False, ((5,),), (None,))) == set()
