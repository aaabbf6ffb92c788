"""Rows whose places data decide: what NonZero finds for each expert is worked on and added back; rows are sorted, and
put back.
"""

from __future__ import annotations

import pytest

import absint
from absint.analyses.independence import CLAIMS, Independence
from absint.engine import fixpoint
from absint.lattices.terms.expr import Symbol
from tests.absint.analyses.test_row_traps import contradicted, model, verdicts
from tests.soundness.row_runs import Tally

ROUTED = """
    net (float[n, t, 4] x, float[4, 3] w) => (float[n, t, 4] y) {
        flat = Constant<value_ints = [-1, 4]>() two = Constant<value_ints = [2]>() depth = Constant<value_int = 3>()
        i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() ax = Constant<value_ints = [1]>()
        onoff = Constant<value_ints = [0, 1]>() h = Reshape(x, flat) logits = MatMul(h, w)
        probs = Softmax<axis = -1>(logits) best, chosen = TopK<axis = -1>(probs, two)
        hot = OneHot<axis = -1>(chosen, depth, onoff) mask = Transpose<perm = [2, 1, 0]>(hot)
        of = Gather<axis = 0>(mask, i1) nz = NonZero(of) hs = Shape(h) zero = ConstantOfShape(hs) """
BACK = """ sizes = Shape(x) y = Reshape(out, sizes) }"""
BY_ROW = """ slot = Gather<axis = 0>(nz, i0) token = Gather<axis = 0>(nz, i1) cur = Gather<axis = 0>(h, token)
    at = Unsqueeze(token, ax) """
ADDED = """ out = ScatterND<reduction = "add">(zero, at, act)"""

APART = {
    "as dynamo writes it": BY_ROW + """ slots = Unsqueeze(slot, ax) pair = Concat<axis = 1>(at, slots)
        weight = GatherND(best, pair) column = Unsqueeze(weight, ax) act = Mul(cur, column)""" + ADDED,
    "as TorchScript writes it": """
        places = Transpose<perm = [1, 0]>(nz) slots, at = Split<axis = 1, num_outputs = 2>(places)
        slot = Squeeze(slots, ax) token = Squeeze(at, ax) ax0 = Constant<value_ints = [0]>() wide = Unsqueeze(h, ax0)
        one = Gather<axis = 1>(wide, token) cur = Reshape(one, flat) two0 = Squeeze(two) first = Mul(token, two0)
        place = Add(first, slot) long = Constant<value_ints = [-1]>() weights = Reshape(best, long)
        weight = Gather<axis = 0>(weights, place) column = Unsqueeze(weight, ax) act = Mul(cur, column)
        like = Shape(act) wider = Expand(at, like)
        out = ScatterElements<axis = 0, reduction = "add">(zero, wider, act)""",
    "wider by a shape that is cut at 1": BY_ROW + """
        z = Constant<value_ints = [0]>() first = Slice(zero, z, ax, z) like = Shape(first) act = Expand(cur, like)"""
        + ADDED,
    "a slice of the places": """
        places = Transpose<perm = [1, 0]>(nz) at = Slice(places, ax, two, ax) cur = GatherND(h, at) act = Tanh(cur)
        """ + ADDED,
}  # fmt: skip
MEET = {
    "added to the slot": BY_ROW + "act = Tanh(cur) slots = Unsqueeze(slot, ax)" + ADDED.replace("at,", "slots,"),
    "added one place before": BY_ROW + "act = Tanh(cur) before = Sub(at, i1)" + ADDED.replace("at,", "before,"),
    "a sum of all that came before": BY_ROW + "act = CumSum(cur, i0)" + ADDED,
    "a share of all": BY_ROW + "act = Softmax<axis = 0>(cur)" + ADDED,
    "the first one for all": BY_ROW + """ z = Constant<value_ints = [0]>() first = Slice(cur, z, ax, z)
        act = Add(cur, first)""" + ADDED,
    "how many there are": BY_ROW + """ number = Shape<end = 1>(token) share = Cast<to = 1>(number)
        act = Div(cur, share)""" + ADDED,
    "the places of another expert": BY_ROW + """ other = Gather<axis = 0>(mask, i0) nz2 = NonZero(other)
        token2 = Gather<axis = 0>(nz2, i1) cur2 = Gather<axis = 0>(h, token2) act = Add(cur, cur2)""" + ADDED,
    "as many rows as it finds": BY_ROW + """ ns = Shape<start = 0, end = 1>(x) rest = Constant<value_ints = [-1]>()
        target = Concat<axis = 0>(ns, rest) out = Reshape(cur, target)""",
    "the last trip over what it finds": BY_ROW + """ first = Gather<axis = 0>(h, i0)
        act = Scan<num_scan_inputs = 1, body = body (float[4] sum, float[4] one) => (float[4] more, float[4] so_far) {
            more = Add(sum, one) so_far = Identity(more) }>(first, cur)""".replace("act =", "end, act =") + ADDED,
}  # fmt: skip


SORTED = """
    net (float[n, 3, 2] x, int64[n] lens) => (float[n, a, b] y) {
        n1 = Shape(lens) longest, order = TopK<axis = 0>(lens, n1) xs = Gather<axis = 0>(x, order) act = Tanh(xs)
        i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() ax = Constant<value_ints = [1]>() """
BY_SORT = " same, back = TopK<axis = 0, largest = 0>(order, n1)"
TAKEN = " y = Gather<axis = 0>(act, back) }"
APART.update(
    {
        "sorted and sorted back": SORTED + BY_SORT + TAKEN,
        "sorted, and back by a scatter": SORTED
        + """ n0 = Squeeze(n1) every = Range(i0, n0, i1)
        none = ConstantOfShape<value = int64[1] {0}>(n1) back = ScatterElements<axis = 0>(none, order, every)"""
        + TAKEN,
        "sorted and put back": SORTED + " at = Unsqueeze(order, ax) y = ScatterND(x, at, act) }",
    }
)
MEET.update({
    "sorted": SORTED + " y = Identity(act) }",
    "sorted back from the other end": SORTED + BY_SORT.replace("largest = 0", "largest = 1") + TAKEN,
    "not sorted back": SORTED + BY_SORT.replace("largest = 0", "largest = 0, sorted = 0") + TAKEN,
    "sorted back to another order": SORTED + """ other, order2 = TopK<axis = 0, largest = 0>(lens, n1)
        same, back = TopK<axis = 0, largest = 0>(order2, n1)""" + TAKEN,
    "the next place": SORTED + BY_SORT + " before = Sub(back, i1) y = Gather<axis = 0>(act, before) }",
    "places taken of what is not sorted": SORTED + BY_SORT + " y = Gather<axis = 0>(x, back) }",
    "the place itself": SORTED + BY_SORT + " place = Cast<to = 1>(back) y = Reshape(place, target) }".replace(
        "y =", "target = Constant<value_ints = [-1, 1, 1]>() y ="),
    "the place written in its place": SORTED + BY_SORT + """
        at = Unsqueeze(back, ax) numbers = ScatterND(order, at, back)
        own = Gather<axis = 0>(numbers, back) place = Cast<to = 1>(own) target = Constant<value_ints = [-1, 1, 1]>()
        y = Reshape(place, target) }""",
})  # fmt: skip


def whole(text: str) -> str:
    return text if text.startswith(SORTED) else ROUTED + text + BACK


@pytest.mark.parametrize("text", APART.values(), ids=APART.keys())
def test_rows_stay_apart(text: str) -> None:
    tally = Tally()
    assert verdicts(whole(text)) == {"independent"}
    assert not contradicted(whole(text), tally)
    assert tally.compared


@pytest.mark.parametrize("text", MEET.values(), ids=MEET.keys())
def test_rows_meet(text: str) -> None:
    assert verdicts(whole(text)) == {"unknown"}
    assert not contradicted(whole(text), Tally())


def test_what_is_found_is_no_output_of_rows() -> None:
    """A caller could not tell which places are whose."""
    result = absint.analyze(model("net (float[n, 4] x) => (int64[2, m] y) { y = NonZero(x) }"))
    (output,) = result.rows(run=False).outputs
    assert output.verdict == "unknown"
    assert str(output.meeting) == "NonZero #0: it lists what it finds in all rows one after the other"
    analysis = Independence(result, Symbol("n"))
    claims = analysis.by_name(fixpoint(result.graph, analysis))
    assert CLAIMS.text(claims["y"]) == "axis 1 of rows x as many as data say, by position"
