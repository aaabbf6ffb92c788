// What is live over the run: a stacked chart, and the values at one moment of it.

function live(values) {
  // The bytes of each value that takes memory, with its life.
  return data.memory.values.map(([name, first, last, at]) => ({ name, first, last, bytes: at === null ? undefined : values[at] })).filter((one) => isNumber(one.bytes)).map((one) => ({ ...one, bytes: Number(one.bytes) }));
}

const moments = [...new Set(data.memory.values.flatMap(([, first, last]) => [first, last]))].sort((a, b) => a - b);
const momentOf = new Map(moments.map((node, at) => [node, at]));

function liveTotals(values) {
  const changes = new Float64Array(moments.length + 1);
  for (const { first, last, bytes } of values) {
    changes[momentOf.get(first)] += bytes;
    changes[momentOf.get(last) + 1] -= bytes;
  }
  let now = 0;
  return Array.from(moments, (_, at) => (now += changes[at]));
}

function peakOf(values) {
  if (!data.memory.exact) return data.memory.peak === null ? undefined : values[data.memory.peak];
  return liveTotals(live(values)).reduce((most, bytes) => Math.max(most, bytes), 0);
}

const shownAtOnce = 7;

function showMemory() {
  if (!document.getElementById("memory")) return;
  const values = live(state.values);
  if (!data.memory.exact || !values.length) {
    const peak = peakOf(state.values);
    replace("memory", element("p", {}, isNumber(peak) ? `The peak is ${amount(peak, "B")}. ` : "", data.memory.exact ? "No value takes memory." : "What is live depends on branches or trips of loops, so there is no one course over the run; absint cost lists what makes the peak."));
    return;
  }
  const totals = liveTotals(values);
  const top = totals.reduce((most, bytes) => Math.max(most, bytes), 1);
  const peak = totals.indexOf(totals.reduce((most, bytes) => Math.max(most, bytes), 0));
  const field = document.getElementById("moment");
  const chosen = field && field.dataset.moved ? Number(field.value) : peak;
  if (!field) replace("memory", element("div", { id: "course" }), momentField(peak), element("div", { id: "there" }));
  document.getElementById("moment").value = chosen;
  showMoment(values, totals, top, peak, chosen);
}

function momentField(peak) {
  const again = (event) => {
    event.target.dataset.moved = "yes";
    showMemory();
  };
  const toPeak = () => {
    delete document.getElementById("moment").dataset.moved;
    showMemory();
  };
  return element("p", { class: "moment" }, element("label", { for: "moment" }, "moment of the run"),
    element("input", { id: "moment", type: "range", min: 0, max: moments.length - 1, value: peak, oninput: again }),
    element("button", { type: "button", onclick: toPeak }, "peak"));
}

function showMoment(values, totals, top, peak, chosen) {
  const there = values.filter((one) => momentOf.get(one.first) <= chosen && chosen <= momentOf.get(one.last) && one.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const big = there.slice(0, shownAtOnce);
  const last = Math.max(moments.length - 1, 1);
  const { drawing, placeX, placeY, bottom, inner, width } = chartIn("course", { height: 230, label: `bytes live over the run, at most ${amount(top, "B")}`,
    x: { most: last, ticks: ticksFor(document.getElementById("course").clientWidth, last), text: (tick) => tick.toLocaleString("en"), title: "moments of the run" },
    y: { most: top, ticks: byteTicks(top, 5), text: (tick) => amount(tick, "B") } });
  const columns = Math.max(Math.floor(inner.width), 1);
  const outline = [];
  for (let column = 0; column <= columns; column++) {
    const [from, to] = [Math.floor((column / columns) * last), Math.floor(((column + 1) / columns) * last)];
    let most = 0;
    for (let at = from; at <= Math.min(Math.max(from, to - 1), moments.length - 1); at++) most = Math.max(most, totals[at]);
    outline.push(`${margins.left + column},${placeY(most)}`);
  }
  drawing.append(element("polygon", { class: "rest", points: `${margins.left},${bottom} ${outline.join(" ")} ${width - margins.right},${bottom}` }));
  drawing.append(...stacked(big, placeX, placeY));
  drawing.append(element("line", { class: "mark", x1: placeX(chosen), x2: placeX(chosen), y1: bottom - inner.height, y2: bottom }));
  drawing.addEventListener("click", (event) => {
    const field = document.getElementById("moment");
    field.dataset.moved = "yes";
    field.value = Math.round(((event.offsetX - margins.left) / inner.width) * last);
    showMemory();
  });
  replace("course", drawing);
  const node = nodesByNumber.get(moments[chosen]);
  replace("there",
    element("p", {}, chosen === peak ? element("strong", {}, "peak: ") : "live: ", amount(totals[chosen], "B"), ", at ", node ? nodeButton(node.number, 70) : "the start or the end"),
    element("table", { class: "legend" }, element("tbody", {}, ...big.map((one, at) => element("tr", {},
      element("td", {}, element("span", { class: `swatch stack-${at}` }), valueNamed(one.name)),
      element("td", { class: "number" }, amount(one.bytes, "B")),
      element("td", { class: "number" }, `${((100 * one.bytes) / Math.max(totals[chosen], 1)).toFixed(1)}%`))))),
    there.length > big.length ? element("p", {}, `and ${there.length - big.length} more`) : null,
    data.memory.uncounted.length ? element("p", {}, `${data.memory.uncounted.length} values are not counted: their size is not known`) : null);
}

function stacked(big, placeX, placeY) {
  // One area for each value, over those before it where they live at once.
  const drawnAreas = [];
  big.forEach((one, index) => {
    const [from, to] = [momentOf.get(one.first), momentOf.get(one.last)];
    const below = big.slice(0, index).map((other) => ({ from: momentOf.get(other.first), to: momentOf.get(other.last), bytes: other.bytes }));
    const cuts = [...new Set([from, to + 1, ...below.flatMap((other) => [other.from, other.to + 1])])].filter((at) => at >= from && at <= to + 1).sort((a, b) => a - b);
    for (let at = 0; at + 1 < cuts.length; at++) {
      const base = below.reduce((sum, other) => sum + (other.from <= cuts[at] && cuts[at] <= other.to ? other.bytes : 0), 0);
      const [x, end] = [placeX(cuts[at]), placeX(Math.min(cuts[at + 1], moments.length - 1))];
      drawnAreas.push(element("rect", { class: `stack-${index}`, x, width: Math.max(end - x, 1), y: placeY(base + one.bytes), height: Math.max(placeY(base) - placeY(base + one.bytes), 0) },
        element("title", {}, `${short(one.name, 200)}: ${amount(one.bytes, "B")}`)));
    }
  });
  return drawnAreas;
}

const valueByName = new Map();
data.values.forEach((value, at) => {
  if (!valueByName.has(value.name)) valueByName.set(value.name, at);
});

function valueNamed(name) {
  const at = valueByName.get(name);
  return at === undefined ? named(name, 60) : valueButton(at, 60);
}
