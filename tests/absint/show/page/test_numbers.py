"""Numbers that a page computes are those of Python: sizes, costs, legal sizes and the nearest ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from random import Random

import pytest
from onnx import ModelProto
from playwright.sync_api import Browser, Page, expect

import absint
from absint import Outcome
from tests.absint.show.page.browser import opened, set_size, started
from tests.absint.show.page.models import DECODER, DETECTOR, needs_a_multiple, needs_two_changes, squeezed_if_one
from tests.adversarial import MODELS
from tests.conftest import CHROMIUM
from tests.models import parsed
from tests.real_models import PATHS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


def agrees(page: Page, result: absint.Result, random: Random, count: int, most: int = 400) -> None:
    """Every size that the page computes is that of `Shape.evaluate`."""
    names = list(result.parameters)
    least_and_most = {name: next(iter(dim.symbols)).bounds for name, dim in result.parameters.items()}
    bindings = [
        {
            name: min(
                max(random.choice([0, 1, 2, random.randrange(3, most)]), lo or 0), hi if hi is not None else 1 << 31
            )
            for name, (lo, hi) in least_and_most.items()
        }
        for _ in range(count)
    ]
    values = page.evaluate(
        """bindings => bindings.map(sizes => {
            const found = evaluate(data.program, sizes);
            return data.values.map(value => value.dims === null ? null : value.dims.map(at => {
                const number = data.dims[at][1] === null ? undefined : found[data.dims[at][1]];
                return number === undefined ? "unknown" : number === null ? null : String(number);
            }));
        })""",
        bindings,
    )
    shown = page.evaluate("data.values.map(value => value.name)")
    checked = 0
    for sizes, row in zip(bindings, values, strict=True):
        known: dict[absint.Dim, str | None] = {}
        for name, found in zip(shown, row, strict=True):
            shape = result.shapes.get(name)
            if shape is None or shape.rank is None:
                continue
            for dim, size in zip(shape.dims, found, strict=True):
                if dim.is_unknown or not dim.free_symbols <= set(names):
                    assert size == "unknown"
                    continue
                if dim not in known:
                    known[dim] = evaluated(dim, sizes)
                assert size == known[dim], (name, str(dim), sizes)
                checked += not dim.is_concrete
    assert checked or not names


def evaluated(dim: absint.Dim, sizes: Mapping[str, int]) -> str | None:
    """The size as the page writes it; None where there is none."""
    try:
        return str(dim.evaluate(sizes))
    except (ArithmeticError, ValueError):
        return None


@pytest.mark.parametrize("path", PATHS[:3], ids=lambda path: path.stem)
def test_sizes_are_those_of_evaluate(browser: Browser, tmp_path: Path, path: Path) -> None:
    """Huge ones too."""
    result = absint.analyze(path)
    with opened(browser, tmp_path, path) as page:
        agrees(page, result, Random(1), 50)
        agrees(page, result, Random(3), 20, most=(1 << 31) - 1)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", list(MODELS)[::20])
def test_sizes_of_odd_models_are_those_of_evaluate(browser: Browser, tmp_path: Path, name: str) -> None:
    with opened(browser, tmp_path, MODELS[name].model) as page:
        agrees(page, absint.analyze(MODELS[name].model), Random(2), 20)


def test_sizes_choose_a_shape(browser: Browser, tmp_path: Path) -> None:
    shown = "data.values.filter(value => value.cases).map(value => shapeText(value, dimNumber))"
    with opened(browser, tmp_path, squeezed_if_one()) as page:
        assert "[N] if C == 1, else [N, C]" in page.content()
        set_size(page, 0, 5)
        for size, shape in ((1, "[5]"), (7, "[5, 7]")):
            set_size(page, 1, size)
            assert page.evaluate(shown) == [shape]


def test_integers_beyond_doubles(browser: Browser, tmp_path: Path) -> None:
    """Each operation of the page, at numbers that a double does not hold."""
    random = Random(4)
    ends = [0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1]
    numbers = [*ends, *(-end for end in ends), *(random.randrange(-(2**63), 2**63) for _ in range(20))]
    pairs = list(product(numbers, repeat=2))
    with opened(browser, tmp_path, DECODER) as page:
        found = page.evaluate(
            """pairs => pairs.map(([a, b]) => {
                const [x, y] = [literal(a), literal(b)];
                const divided = y === 0 ? [null, null] : [floorDivided(x, y), truncDivided(x, y)];
                return [sumOf(x, y), productOf(x, y), ...divided].map(value => value === null ? null : String(value));
            })""",
            [[str(a), str(b)] for a, b in pairs],
        )
    for (a, b), (plus, times, floor, trunc) in zip(pairs, found, strict=True):
        assert (int(plus), int(times)) == (a + b, a * b)
        if b:
            assert (int(floor), int(trunc)) == (a // b, abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def test_memory_and_cost_are_those_of_the_command(browser: Browser, tmp_path: Path) -> None:
    result = absint.analyze(DECODER)
    sizes = {"batch": 2, "seq": 7, "past": 9}
    with opened(browser, tmp_path, DECODER) as page:
        found = page.evaluate(
            "sizes => { const at = evaluate(data.program, sizes); return [flopsOf(at), peakOf(at)]; }", sizes
        )
    assert found[0] == {"sum": result.cost().evaluate(sizes).flops, "open": 0}
    assert found[1] == result.memory().evaluate(sizes)


def test_of_an_if_that_data_decide_the_larger_branch_counts(browser: Browser, tmp_path: Path) -> None:
    model = parsed(
        """(float[N, 2] x, float f) => (float[a, b] y) {
            odd = Cast <to: int = 9> (f)
            y = If (odd) <then_branch = t () => (float[c, d] p) { p = Relu (x) },
                          else_branch = e () => (float[c, d] q) { h = Relu (x) q = Neg (h) }> }"""
    )
    flops = "(() => { const at = evaluate(data.program, {N: 3}); return [flopsOf(at).sum, heaviest(at, 5).length]; })()"
    with opened(browser, tmp_path, model) as page:
        assert page.evaluate(flops) == [absint.analyze(model).cost().evaluate({"N": 3}).flops, 3]


def test_arithmetic_that_a_run_decides_is_a_lower_bound(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, DETECTOR) as page:
        expect(page.locator("#flops")).to_have_text(re.compile(r"at least .* \(\d+ nodes? depends? on a run\)"))


def test_the_contract_as_a_picture_counts_what_is_legal(browser: Browser, tmp_path: Path) -> None:
    model = needs_a_multiple()
    result = absint.analyze(model)
    with opened(browser, tmp_path, model) as page:
        set_size(page, 0, 10)
        set_size(page, 1, 7)
        legal = sum(
            result.check({"N": n, "M": m}).outcome is not Outcome.ILLEGAL for n, m in product(range(17), repeat=2)
        )
        text = page.locator("#region-text")
        expect(text).to_have_text(f"{legal} of 289 sizes are legal: N from 0 to 16, M from 0 to 16")
        assert 0 < legal < 289
        assert page.locator("#region svg").get_attribute("aria-label") == text.inner_text()
        assert page.locator("#region .tick").all_text_contents()[-2:] == ["N", "M"]
        page.locator("#region svg").click(position={"x": 60, "y": 250})
        expect(page.locator("#number-0")).to_have_value("0")


def nearest(page: Page, sizes: dict[str, int]) -> dict[str, object] | None:
    """The answer of the page's search."""
    found: dict[str, object] | None = page.evaluate(
        """sizes => { const steps = nearest(sizes); let step = steps.next(); while (!step.done) step = steps.next();
                      return step.value; }""",
        sizes,
    )
    return found


@pytest.mark.parametrize("model", [needs_a_multiple(), needs_two_changes(), DECODER, DETECTOR], ids=range(4))
def test_what_is_offered_is_legal_and_the_nearest(browser: Browser, tmp_path: Path, model: ModelProto | Path) -> None:
    result = absint.analyze(model)
    random = Random(5)
    compared = 0
    with opened(browser, tmp_path, model) as page:
        for _ in range(40):
            sizes = {name: random.choice([0, 0, 0, 1, 3, 5, 7, 9, 30]) for name in result.parameters}
            expected = result.nearest(sizes)
            if expected.legal:
                continue
            found = nearest(page, sizes)
            if found is None:
                continue
            offers = [*found["single"], *([found["together"]] if found["together"] else [])]  # type: ignore[misc]
            for offer in offers:
                assert result.check(offer["sizes"]).outcome is not Outcome.ILLEGAL
                assert offer["distance"] == sum(abs(offer["sizes"][name] - size) for name, size in sizes.items())
            if found["isNearest"] and expected.proved:
                assert min(offer["distance"] for offer in offers) == expected.distance, sizes
                compared += 1
    assert compared >= 3


def test_two_sizes_may_have_to_change(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, needs_two_changes()) as page:
        set_size(page, 0, 9)
        set_size(page, 1, 6)
        offers = page.locator("#offers")
        expect(offers).to_contain_text("Nearest legal, by the sum of the changes: N=10 M=5")
        expect(offers).to_contain_text("Others with one change: N=12")
        offers.get_by_role("button", name="N=10 M=5").click()
        expect(page.locator("#verdict")).to_have_class("legal")


def test_where_nothing_near_is_legal_nothing_is_offered(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, needs_a_multiple()) as page:
        page.evaluate("data.sizes.forEach(size => { size.lo = 9; size.hi = 5 })")
        set_size(page, 0, 7)
        expect(page.locator("#offers")).to_contain_text("No legal sizes were found near these")
        assert page.locator("#offers button").count() == 0
