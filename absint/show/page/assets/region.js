// The contract as a picture: which sizes of two symbols are legal while the others stay.

const side = 300;
const sheet = { left: 52, right: 12, top: 8, bottom: 40 };

function showRegion() {
  const [across, up] = ["across", "up"].map((id) => document.getElementById(id)?.value);
  if (!across || !up) return;
  if (across === up) {
    replace("region", element("p", {}, "Choose two different sizes."));
    replace("region-text");
    return;
  }
  job("region", regionOf(across, up));
}

function spread(name) {
  // Cells and sizes per cell, so that the current size lies inside.
  const most = Math.max(16, Math.ceil(1.25 * state.sizes[name]));
  const step = Math.max(1, Math.ceil(most / 96));
  return { name, step, cells: Math.ceil(most / step) + 1 };
}

function* regionOf(across, up) {
  // Cells of several sizes are tried at both ends and in the middle.
  const [x, y] = [spread(across), spread(up)];
  const rows = [];
  const count = { all: 0, legal: 0, some: 0 };
  for (let j = 0; j < y.cells; j++) {
    const row = [];
    for (let i = 0; i < x.cells; i++) {
      const found = tried(x.step, y.step).map(([dx, dy]) => isLegal({ ...state.sizes, [across]: i * x.step + dx, [up]: j * y.step + dy }));
      row.push(found.every(Boolean) ? "legal" : found.some(Boolean) ? "some" : "illegal");
      count.all++;
      count.legal += row.at(-1) === "legal";
      count.some += row.at(-1) === "some";
      if (i % 8 === 0) yield;
    }
    rows.push(row);
  }
  drawRegion(x, y, rows, count);
}

function tried(stepX, stepY) {
  if (stepX === 1 && stepY === 1) return [[0, 0]];
  const inside = (step) => [0, Math.floor(step / 2), step - 1, Math.min(1, step - 1)];
  return inside(stepX).map((dx, at) => [dx, inside(stepY)[at]]);
}

function drawRegion(x, y, rows, count) {
  const [w, h] = [(side - sheet.left - sheet.right) / x.cells, (side - sheet.top - sheet.bottom) / y.cells];
  const placeX = (size) => sheet.left + (size / x.step) * w;
  const placeY = (size) => side - sheet.bottom - (size / y.step) * h;
  const words = regionWords(x, y, count);
  const hatch = (id, kind) => element("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    element("rect", { width: 6, height: 6, class: `cell ${kind}` }), element("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 6 }));
  const drawing = element("svg", { viewBox: `0 0 ${side} ${side}`, width: side, height: side, class: "region", role: "img", "aria-label": words },
    element("defs", {}, hatch("hatched", "illegal"), hatch("mixed", "some")));
  rows.forEach((row, j) => {
    for (let i = 0; i < row.length;) {
      let end = i + 1;
      while (end < row.length && row[end] === row[i]) end++;
      const fill = { illegal: "url(#hatched)", some: "url(#mixed)" }[row[i]];
      drawing.append(element("rect", { class: row[i] === "legal" ? "cell legal" : "cell", ...(fill ? { fill } : {}), x: sheet.left + i * w, y: side - sheet.bottom - (j + 1) * h, width: (end - i) * w + 0.3, height: h + 0.3 }));
      i = end;
    }
  });
  for (const tick of niceTicks(x.cells * x.step - 1, 4)) drawing.append(element("text", { class: "tick", x: placeX(tick + 0.5 * x.step), y: side - sheet.bottom + 14, "text-anchor": "middle" }, String(tick)));
  for (const tick of niceTicks(y.cells * y.step - 1, 5)) drawing.append(element("text", { class: "tick", x: sheet.left - 5, y: placeY(tick + 0.5 * y.step) + 4, "text-anchor": "end" }, String(tick)));
  drawing.append(
    element("text", { class: "tick title", x: (sheet.left + side) / 2, y: side - 8, "text-anchor": "middle" }, sizeName(x.name, 30)),
    element("text", { class: "tick title", x: 12, y: (side - sheet.bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(side - sheet.bottom) / 2})` }, sizeName(y.name, 30)),
    element("circle", { class: "here", cx: placeX(state.sizes[x.name] + 0.5 * x.step), cy: placeY(state.sizes[y.name] + 0.5 * y.step), r: 4.5 }));
  drawing.addEventListener("click", (event) => {
    const bounds = drawing.getBoundingClientRect();
    const scale = side / bounds.width;
    const [i, j] = [((event.clientX - bounds.left) * scale - sheet.left) / w, (side - sheet.bottom - (event.clientY - bounds.top) * scale) / h];
    if (i >= 0 && j >= 0 && i < x.cells && j < y.cells) setSizes({ ...state.sizes, [x.name]: Math.floor(i) * x.step, [y.name]: Math.floor(j) * y.step });
  });
  const sample = (kind, text) => element("li", {}, element("span", { class: `swatch ${kind}` }), text);
  replace("region", drawing, element("ul", { class: "key" }, sample("is-legal", data.contract.open.length ? "no requirement broken" : "legal"), sample("is-illegal", "illegal"),
    count.some ? sample("is-some", "some legal, some not") : null, sample("is-here", "these sizes (a click sets them)")));
  replace("region-text", words);
}

function regionWords(x, y, count) {
  const isExact = x.step === 1 && y.step === 1;
  const range = ({ name, step, cells }) => `${sizeName(name)} from 0 to ${cells * step - 1}`;
  const others = data.sizes.filter(({ name }) => name !== x.name && name !== y.name).map(({ name }) => name);
  const rest = others.length ? `, with ${asked(state.sizes, others)}` : "";
  if (isExact) return `${count.legal} of ${count.all} sizes are legal: ${range(x)}, ${range(y)}${rest}`;
  return `${count.legal} of ${count.all} cells are legal${count.some ? `, ${count.some} in part` : ""}: ${range(x)}, ${range(y)}, in cells of ${x.step} by ${y.step} sizes, of which up to four are tried${rest}`;
}
