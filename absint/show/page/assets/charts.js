// Charts with axes, in the pixels of the window, so that their text has one size everywhere.

const margins = { left: 74, right: 16, top: 10, bottom: 34 };

function niceTicks(most, count, isWhole = true) {
  // Multiples of 1, 2 or 5 times a power of ten, from 0 to at most `most`.
  const rough = Math.max(most, 1e-9) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 5, 10].find((factor) => factor * power >= rough) * power, isWhole ? 1 : 0);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => at * step);
}

function byteTicks(most, count) {
  const unit = 2 ** (10 * Math.max(0, Math.min(4, Math.floor(Math.log2(Math.max(most, 1)) / 10))));
  return niceTicks(most / unit, count, unit === 1).map((tick) => tick * unit);
}

function chartIn(id, { height, x, y, label }) {
  // A chart with axes; x and y have { most, ticks, text, title } and map numbers to places in it.
  const width = Math.max(Math.min(document.getElementById(id).clientWidth, 1400), 260);
  const inner = { width: width - margins.left - margins.right, height: height - margins.top - margins.bottom };
  const placeX = (value) => margins.left + (Number(value) / x.most) * inner.width;
  const placeY = (value) => margins.top + inner.height - (Number(value) / y.most) * inner.height;
  const bottom = margins.top + inner.height;
  const drawing = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img", "aria-label": label });
  for (const tick of y.ticks) {
    drawing.append(
      element("line", { class: "grid", x1: margins.left, x2: width - margins.right, y1: placeY(tick), y2: placeY(tick) }),
      element("text", { class: "tick", x: margins.left - 6, y: placeY(tick) + 4, "text-anchor": "end" }, y.text(tick)));
  }
  for (const tick of x.ticks) {
    drawing.append(
      element("line", { class: "axis", x1: placeX(tick), x2: placeX(tick), y1: bottom, y2: bottom + 4 }),
      element("text", { class: "tick", x: placeX(tick), y: bottom + 16, "text-anchor": "middle" }, x.text(tick)));
  }
  drawing.append(
    element("line", { class: "axis", x1: margins.left, x2: width - margins.right, y1: bottom, y2: bottom }),
    element("text", { class: "tick", x: margins.left + inner.width / 2, y: height - 4, "text-anchor": "middle" }, x.title));
  return { drawing, placeX, placeY, bottom, width, inner };
}

function ticksFor(width, most) {
  return niceTicks(most, Math.max(2, Math.floor(width / 90)));
}

// Totals

function flopsOf(values) {
  // { sum, open }: the arithmetic of all nodes, and the number of nodes for which it is not known.
  let sum = 0;
  let open = 0;
  for (const node of data.nodes) {
    if (node.flops === undefined) continue;
    const [once, runs] = [node.flops === null ? undefined : values[node.flops], node.runs === null ? undefined : values[node.runs]];
    if (isNumber(once) && isNumber(runs)) sum += Number(once) * Number(runs);
    else open++;
  }
  const whole = data.flops === null ? undefined : values[data.flops]; // of an If that data decide, one branch
  return { sum: isNumber(whole) ? Number(whole) : sum, open };
}

function heaviest(values, most) {
  const found = data.nodes.map((node) => ({ number: node.number, flops: Number(values[node.flops]) * Number(values[node.runs]) })).filter((one) => one.flops > 0);
  return found.sort((a, b) => b.flops - a.flops).slice(0, most);
}

function showTotals() {
  const { sum, open } = flopsOf(state.values);
  const peak = peakOf(state.values);
  const top = heaviest(state.values, 5);
  replace("totals",
    element("dl", {},
      element("dt", {}, "arithmetic"), element("dd", { id: "flops", class: "now" }, `${open ? "at least " : ""}${amount(sum, "FLOP")}`, open ? element("small", {}, ` (${open} ${open === 1 ? "node depends" : "nodes depend"} on a run)`) : ""),
      element("dt", {}, "peak of activations"), element("dd", { id: "peak", class: "now" }, isNumber(peak) ? amount(peak, "B") : "only a run tells")),
    top.length ? element("table", {}, element("caption", {}, "most arithmetic"), element("tbody", {}, ...top.map(({ number, flops }) => element("tr", {},
      element("td", {}, nodeButton(number, 44)), element("td", { class: "number" }, amount(flops, "FLOP")), element("td", { class: "number" }, `${((100 * flops) / sum).toFixed(1)}%`))))) : null);
}

// Curves over a size

function* curves(name, most) {
  const { lo } = data.sizes.find((one) => one.name === name);
  const wanted = neededFor(data.program, [data.flops, ...data.nodes.flatMap((node) => [node.flops ?? null, node.runs ?? null]), ...data.memory.values.map((row) => row[3]), data.memory.peak]);
  const points = [];
  for (let i = 0; i <= 40; i++) {
    const at = Math.max(Math.round((most * i) / 40), lo);
    if (points.length && points.at(-1).at === at) continue;
    const sizes = { ...state.sizes, [name]: at };
    const values = evaluate(data.program, sizes, wanted);
    points.push({ at, flops: flopsOf(values).sum, peak: peakOf(values), isFalse: failureAt(sizes) !== null });
    yield;
  }
  replace("curves", curve("arithmetic", points, (point) => point.flops, "FLOP", name, most), curve("peak of activations", points, (point) => point.peak, "B", name, most));
}

function curve(title, points, pick, unit, name, most) {
  const known = points.filter((point) => isNumber(pick(point)));
  if (!known.length) return element("p", {}, `${title}: not known over ${sizeName(name)}`);
  const top = Math.max(...known.map((point) => Number(pick(point))), 1);
  const [first, last] = [known[0], known.at(-1)];
  const words = `${title}: ${amount(pick(first), unit)} at ${sizeName(name)}=${first.at}, ${amount(pick(last), unit)} at ${sizeName(name)}=${last.at}`;
  const { drawing, placeX, placeY, bottom, inner } = chartIn("curves-width", { height: 200, label: words,
    x: { most, ticks: ticksFor(document.getElementById("curves-width").clientWidth, most), text: (tick) => tick.toLocaleString("en"), title: sizeName(name) },
    y: { most: top, ticks: unit === "B" ? byteTicks(top, 4) : niceTicks(top, 4), text: (tick) => amount(tick, unit) } });
  const now = state.sizes[name];
  if (now <= most) drawing.append(element("line", { class: "mark", x1: placeX(now), x2: placeX(now), y1: bottom - inner.height, y2: bottom }));
  const runs = [];
  for (const point of known) {
    if (!runs.length || runs.at(-1).isFalse !== point.isFalse) runs.push({ isFalse: point.isFalse, points: runs.length && !point.isFalse ? [] : runs.length ? [runs.at(-1).points.at(-1)] : [] });
    runs.at(-1).points.push(point);
  }
  for (const run of runs) {
    const places = run.points.map((point) => `${placeX(point.at)},${placeY(pick(point))}`).join(" ");
    drawing.append(run.points.length > 1 ? element("polyline", { class: run.isFalse ? "curve illegal" : "curve", points: places }) : element("circle", { class: "dot", r: 2, cx: placeX(run.points[0].at), cy: placeY(pick(run.points[0])) }));
  }
  const isMixed = known.some((point) => point.isFalse);
  return element("figure", {}, drawing, element("figcaption", {}, words, isMixed ? "; dotted where sizes are illegal" : ""));
}

function farthest(name) {
  // To draw curves up to: a power of two that has the size of now in the middle.
  const most = Math.max(2 ** Math.ceil(Math.log2(Math.max(2 * state.sizes[name], 1))), 16);
  return Math.min(most, data.sizes.find((one) => one.name === name).hi);
}

function showCurves() {
  const name = document.getElementById("over")?.value;
  if (name === undefined) return;
  const upTo = document.getElementById("upto");
  if (!upTo.dataset.chosen) upTo.value = farthest(name);
  const most = Math.max(Math.round(Number(document.getElementById("upto").value)) || 1, 1);
  job("curves", curves(name, most));
}
