"use strict";
// The page of absint/page: sliders, graph, details, contract, memory and cost. Texts of the model only ever become text
// nodes; nothing in them is read as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const nodesByNumber = new Map(data.nodes.map((node) => [node.number, node]));
const state = { sizes: {}, values: [], failure: null, group: null, selected: null, shows: "formulas" };

function element(tag, attributes = {}, ...children) {
  const isSvg = ["svg", "g", "path", "rect", "text", "line", "polygon", "polyline", "circle", "title", "marker", "defs"].includes(tag);
  const made = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function replace(id, ...children) {
  document.getElementById(id).replaceChildren(...children.filter(Boolean));
}

function short(text, most = 40) {
  return text.length > most ? `${text.slice(0, most / 2)}\u2026${text.slice(-(most / 2 - 1))}` : text;
}

function amount(value, unit = "") {
  if (value === undefined || value === null) return "unknown";
  if (unit === "B") {
    for (const [size, name] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
      if (value >= size) return `${(value / size).toPrecision(4)} ${name}`;
    }
    return `${value} B`;
  }
  for (const [size, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"]]) {
    if (value >= size) return `${(value / size).toPrecision(4)} ${name}${unit}`;
  }
  return `${value.toLocaleString("en")}${unit ? ` ${unit}` : ""}`;
}

// Sizes

function dimText(at) {
  const [text, instruction] = data.dims[at];
  if (state.shows === "formulas") return text;
  const value = instruction === null ? undefined : state.values[instruction];
  return value === undefined || value === null ? text : String(value);
}

function dimNumber(at) {
  const [text, instruction] = data.dims[at];
  const value = instruction === null ? undefined : state.values[instruction];
  return value === undefined || value === null ? (value === null ? "none" : `${text}?`) : String(value);
}

function shapeText(value, one = dimText) {
  return value.dims === null ? "unknown rank" : `[${value.dims.map(one).join(", ")}]`;
}

function isOpen(value) {
  // A size of it is none of the sizes of the inputs.
  return value.dims === null || value.dims.some((at) => data.dims[at][1] === null || state.values[data.dims[at][1]] === undefined);
}

const required = data.requirements.filter((requirement) => requirement.holds !== null);
const neededToCheck = neededFor(data.program, required.map((requirement) => requirement.holds));

function failureAt(sizes) {
  for (const size of data.sizes) {
    const value = sizes[size.name];
    if (value !== undefined && (value < size.lo || value > size.hi)) return { text: `${size.lo} <= ${size.name} <= ${size.hi}`, reason: "the bounds of the size", node: -1, where: "" };
  }
  const values = evaluate(data.program, sizes, neededToCheck);
  return required.find((one) => values[one.holds] !== true && values[one.holds] !== undefined) ?? null;
}

const moment = 250; // milliseconds for a search of sizes

function nearbyLegal() {
  // Legal sizes near the current ones. Each requirement that fails is met by changing one size as little as possible,
  // at most four times; then sizes go back towards the current ones as far as that stays legal.
  const end = performance.now() + moment;
  const names = data.sizes.map((size) => size.name).filter((name) => state.sizes[name] !== undefined);
  const distance = (sizes) => names.reduce((sum, name) => sum + Math.abs(sizes[name] - state.sizes[name]), 0);
  const found = new Map();
  const repair = (sizes, left) => {
    const failing = failureAt(sizes);
    if (!failing) {
      const near = pulledBack(sizes, names);
      found.set(JSON.stringify(near), near);
      return;
    }
    if (!left) return;
    const needed = failing.holds === undefined ? null : neededFor(data.program, [failing.holds]);
    for (const name of names) {
      for (const sign of [-1, 1]) {
        for (let step = 1; sizes[name] + sign * step >= 0 && step < 1e5 && performance.now() < end; step++) {
          const next = { ...sizes, [name]: sizes[name] + sign * step };
          const isMet = needed ? evaluate(data.program, next, needed)[failing.holds] === true : failureAt(next)?.text !== failing.text;
          if (isMet) {
            repair(next, left - 1);
            break;
          }
          if (step > 64 && sign < 0 && sizes[name] > 1e4) break;
          if (step > 4096) break;
        }
      }
    }
  };
  repair(state.sizes, 4);
  return [...found.values()].sort((a, b) => distance(a) - distance(b)).slice(0, 3)
    .map((sizes) => ({ sizes, changed: names.filter((name) => sizes[name] !== state.sizes[name]) }));
}

function pulledBack(sizes, names) {
  let near = sizes;
  for (const name of names) {
    const wanted = state.sizes[name];
    for (let step = 0; step < 64 && near[name] !== wanted; step++) {
      const closer = { ...near, [name]: near[name] + Math.sign(wanted - near[name]) };
      if (failureAt({ ...near, [name]: wanted }) === null) near = { ...near, [name]: wanted };
      else if (failureAt(closer) === null) near = closer;
      else break;
    }
  }
  return near;
}

function setSizes(sizes) {
  state.sizes = sizes;
  state.values = evaluate(data.program, sizes);
  state.failure = failureAt(sizes);
  for (const size of data.sizes) {
    for (const kind of ["slider", "number"]) {
      const input = document.getElementById(`${kind}-${size.index}`);
      const value = sizes[size.name];
      if (input && value !== undefined && Number(input.value) !== value) {
        if (kind === "slider" && value > Number(input.max)) input.max = value * 2;
        input.value = value;
      }
    }
  }
  showVerdict();
  showSizes();
  scheduleRest();
}

function showVerdict() {
  const verdict = document.getElementById("verdict");
  verdict.className = state.failure ? "illegal" : "legal";
  if (!state.failure) {
    verdict.replaceChildren(element("strong", {}, "legal"), " at these sizes", data.contract.doubts.length ? "; some nodes may fail on data" : "");
    return;
  }
  const { text, reason, where, node } = state.failure;
  const offers = nearbyLegal().map((one) =>
    element("button", { type: "button", onclick: () => setSizes(one.sizes) }, one.changed.map((name) => `${name}=${one.sizes[name]}`).join(" ")));
  verdict.replaceChildren(
    element("strong", {}, "illegal"), " at these sizes: ", element("code", {}, text), " is required by ",
    element("span", { class: "reason" }, `${where ? `${where}: ` : ""}${reason}. `),
    node >= 0 && nodesByNumber.has(node) ? element("button", { type: "button", onclick: () => reveal(node) }, "show the node") : "",
    offers.length ? " Legal nearby: " : "", ...offers);
}

function showSizes() {
  for (const cell of document.querySelectorAll("[data-shape]")) {
    const value = data.values[Number(cell.dataset.shape)];
    cell.textContent = shapeText(value, dimNumber);
  }
}

let isScheduled = false;
function scheduleRest() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    relabel();
    showDetails();
    showTotals();
    showRegion();
    showMemory();
  });
}

function buildSliders() {
  const rows = data.sizes.map((size, index) => {
    size.index = index;
    const most = Math.min(size.hi, Math.max(4 * (size.start ?? 64), 256));
    const change = (event) => {
      const value = Math.round(Number(event.target.value));
      if (event.target.value !== "" && Number.isFinite(value)) setSizes({ ...state.sizes, [size.name]: Math.max(value, 0) });
    };
    return element("div", { class: "size" },
      element("label", { for: `slider-${index}`, title: size.name }, short(size.name)),
      element("input", { id: `slider-${index}`, type: "range", min: size.lo, max: most, value: size.start ?? 1, oninput: change }),
      element("input", { id: `number-${index}`, type: "number", min: 0, step: 1, value: size.start ?? 1, "aria-label": `${size.name}, as a number`, oninput: change }));
  });
  replace("sizes", ...(rows.length ? rows : [element("p", {}, "Every size is a constant.")]));
}

// The graph

const groups = [];
const home = new Map(); // the number of a node -> the groups around it, outermost first

function readGroups(group, around) {
  group.around = around;
  group.id = groups.push(group) - 1;
  const inside = [...around, group];
  group.nodes = [];
  const stack = [[group, 0]];
  for (const member of group.members) {
    if (typeof member === "number") home.set(member, inside);
    else readGroups(member, inside);
  }
  group.nodes = group.members.flatMap((member) => (typeof member === "number" ? [member] : member.nodes));
  return stack;
}

function memberAt(number, group) {
  // The member of a group that a node lies in; undefined outside of it.
  const inside = home.get(number);
  if (!inside) return undefined;
  const depth = group.around.length;
  if (inside[depth] !== group) return undefined;
  return inside.length > depth + 1 ? inside[depth + 1] : number;
}

const constants = new Set();
const graphInputs = new Set(data.inputs);
const graphOutputs = new Set(data.outputs);
const readers = new Map();
for (const node of data.nodes) {
  for (const value of new Set(node.in)) {
    if (!readers.has(value)) readers.set(value, []);
    readers.get(value).push(node.number);
  }
}

const key = (member) => (typeof member === "number" ? `n${member}` : `g${member.id}`);

function edgesOf(group) {
  const edges = new Map();
  const outer = new Map();
  const add = (from, to, value) => {
    const name = `${from}>${to}`;
    if (!edges.has(name)) edges.set(name, { from, to, values: [] });
    const edge = edges.get(name);
    if (!edge.values.includes(value)) edge.values.push(value);
  };
  for (const number of group.nodes) {
    const node = nodesByNumber.get(number);
    const target = memberAt(number, group);
    for (const value of node.in) {
      const by = data.values[value].by;
      const source = memberAt(by, group);
      if (source !== undefined) {
        if (source !== target) add(key(source), key(target), value);
      } else if ((nodesByNumber.has(by) && !constants.has(by)) || graphInputs.has(value)) {
        outer.set(`i${value}`, (outer.get(`i${value}`) ?? 0) + 1);
        add(`i${value}`, key(target), value);
      }
    }
    for (const value of node.out) {
      const leaves = graphOutputs.has(value) || (readers.get(value) ?? []).some((reader) => memberAt(reader, group) === undefined);
      if (leaves) {
        outer.set(`o${value}`, (outer.get(`o${value}`) ?? 0) + 1);
        add(key(target), `o${value}`, value);
      }
    }
  }
  const byUse = [...outer].sort((a, b) => b[1] - a[1]).map(([name]) => [name, Number(name.slice(1))]);
  return { edges: [...edges.values()], outer: byUse };
}

function operatorsIn(group) {
  const counts = new Map();
  for (const number of group.nodes) {
    const { operator } = nodesByNumber.get(number);
    counts.set(operator, (counts.get(operator) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function lastPart(name) {
  return name.split("/").filter(Boolean).pop() ?? name;
}

function boxOf(member) {
  if (typeof member === "number") {
    const node = nodesByNumber.get(member);
    return { lines: [node.operator, short(lastPart(node.name) ?? "", 26)], kind: "node", label: `${node.operator} ${node.name}` };
  }
  const alike = member.alike > 1 ? `, one of ${member.alike} alike` : "";
  return { lines: [short(member.label, 30), `${member.nodes.length} nodes${alike}`], kind: "group", label: `group ${member.label}, ${member.nodes.length} nodes${alike}` };
}

const outerMost = 14;

function showGraph(group) {
  state.group = group;
  const { edges, outer } = edgesOf(group);
  const layout = new dagre.graphlib.Graph().setGraph({ rankdir: "TB", nodesep: 18, ranksep: 34, marginx: 12, marginy: 12 });
  layout.setDefaultEdgeLabel(() => ({}));
  const boxes = new Map(group.members.map((member) => [key(member), { member, ...boxOf(member) }]));
  let hidden = 0;
  for (const [name, value] of outer) {
    if (boxes.size - group.members.length >= outerMost) hidden++;
    else boxes.set(name, { value, kind: name[0] === "i" ? "input" : "output", lines: [short(lastPart(data.values[value].name), 30), ""], label: `value ${data.values[value].name}` });
  }
  for (const [name, box] of boxes) {
    const width = Math.max(...box.lines.map((line) => line.length)) * 7.4 + 22;
    layout.setNode(name, { width: Math.max(width, 76), height: box.lines[1] ? 42 : 28 });
  }
  const shown = edges.filter((edge) => boxes.has(edge.from) && boxes.has(edge.to));
  const labelled = new Map();
  for (const edge of shown) {
    labelled.set(edge.values[0], (labelled.get(edge.values[0]) ?? 0) + 1);
    edge.isRepeated = labelled.get(edge.values[0]) > 2;
    const text = edge.isRepeated ? "" : edgeLabel(edge);
    layout.setEdge(edge.from, edge.to, { width: Math.min(text.length, 44) * 6.2, height: 14, labelpos: "c" });
  }
  dagre.layout(layout);
  const { width, height } = layout.graph();
  const drawing = element("svg", { id: "drawing", role: "group", "aria-label": `graph of ${group.label}`, viewBox: `0 0 ${Math.max(width, 1)} ${Math.max(height, 1)}` },
    element("defs", {}, element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, element("path", { d: "M0 0L8 4L0 8z" }))));
  for (const edge of shown) {
    const { points, x, y } = layout.edge(edge.from, edge.to);
    const isUnknown = edge.values.some((value) => isOpen(data.values[value]));
    const line = element("g", { class: `edge${isUnknown ? " open" : ""}${edge.isRepeated ? " repeated" : ""}` },
      element("path", { d: `M${points.map((point) => `${point.x} ${point.y}`).join("L")}`, "marker-end": "url(#arrow)" }));
    if (edge.isRepeated) {
      drawing.append(line);
      continue;
    }
    const label = element("text", { x, y: y + 4, class: "shape", tabindex: 0, role: "button", onclick: () => select({ value: edge.values[0] }), onkeydown: onEnter(() => select({ value: edge.values[0] })) }, edgeLabel(edge));
    label.edge = edge;
    line.append(label);
    drawing.append(line);
  }
  for (const [name, box] of boxes) {
    const { x, y, width: w, height: h } = layout.node(name);
    const act = () => (box.kind === "group" ? showGraph(box.member) : select(box.kind === "node" ? { node: box.member } : { value: box.value }));
    const shape = element("g", { class: `box ${box.kind}`, "data-key": name, tabindex: 0, role: "button", "aria-label": box.label, onclick: act, onkeydown: onEnter(act) },
      element("title", {}, box.label),
      element("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: box.kind === "group" ? 3 : 9 }),
      element("text", { x, y: box.lines[1] ? y - 3 : y + 4 }, box.lines[0]),
      box.lines[1] ? element("text", { x, y: y + 13, class: "small" }, box.lines[1]) : null);
    drawing.append(shape);
  }
  replace("graph", drawing);
  replace("crumbs", ...[...group.around, group].flatMap((one, depth, all) => [
    depth ? " / " : null,
    depth + 1 < all.length ? element("button", { type: "button", onclick: () => showGraph(one) }, one.label) : element("span", { "aria-current": "location" }, one.label),
  ]), hidden ? ` (${hidden} more values cross the border)` : "");
  view.reset(width, height);
  mark();
}

function onEnter(act) {
  return (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      act();
    }
  };
}

function edgeLabel(edge) {
  const more = edge.values.length > 1 ? ` +${edge.values.length - 1}` : "";
  return short(shapeText(data.values[edge.values[0]]), 42) + more;
}

function relabel() {
  for (const label of document.querySelectorAll("#drawing .edge text")) label.textContent = edgeLabel(label.edge);
  mark();
}

function mark() {
  const { group, selected, failure } = state;
  if (!group) return;
  const keyOf = (number) => {
    const member = memberAt(number, group);
    return member === undefined ? null : key(member);
  };
  const bad = failure && failure.node >= 0 ? keyOf(failure.node) : null;
  const chosen = selected?.node !== undefined ? keyOf(selected.node) : selected?.value !== undefined ? keyOf(data.values[selected.value].by) : null;
  for (const box of document.querySelectorAll("#drawing .box")) {
    box.classList.toggle("failing", box.dataset.key === bad);
    box.classList.toggle("selected", box.dataset.key === chosen);
  }
}

const view = {
  box: [0, 0, 1, 1],
  full: [0, 0, 1, 1],
  reset(width, height) {
    this.full = [0, 0, Math.max(width, 1), Math.max(height, 1)];
    const frame = document.getElementById("graph");
    const scale = Math.max(1, Math.min(width / Math.max(frame.clientWidth, 1), 1.6));
    this.box = [Math.max((width - frame.clientWidth * scale) / 2, Math.min(0, (width - frame.clientWidth * scale) / 2)), 0, frame.clientWidth * scale, frame.clientHeight * scale];
    this.apply();
  },
  fit() {
    this.box = [...this.full];
    this.apply();
  },
  zoom(factor, x = 0.5, y = 0.5) {
    const [left, top, width, height] = this.box;
    const [w, h] = [width * factor, height * factor];
    this.box = [left + (width - w) * x, top + (height - h) * y, w, h];
    this.apply();
  },
  move(dx, dy) {
    this.box[0] += dx;
    this.box[1] += dy;
    this.apply();
  },
  apply() {
    document.getElementById("drawing")?.setAttribute("viewBox", this.box.join(" "));
  },
};

function listenToGraph() {
  const frame = document.getElementById("graph");
  let from = null;
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && document.activeElement !== frame) return;
    event.preventDefault();
    const bounds = frame.getBoundingClientRect();
    view.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, (event.clientX - bounds.left) / bounds.width, (event.clientY - bounds.top) / bounds.height);
  }, { passive: false });
  frame.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
  });
  frame.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const scale = view.box[2] / frame.clientWidth;
    view.move((from[0] - event.clientX) * scale, (from[1] - event.clientY) * scale);
    from = [event.clientX, event.clientY];
  });
  frame.addEventListener("keydown", (event) => {
    const step = view.box[2] / 10;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (event.key in moves) view.move(...moves[event.key]);
    else if (event.key === "+") view.zoom(1 / 1.25);
    else if (event.key === "-") view.zoom(1.25);
    else if (event.key === "0") view.fit();
    else if (event.key === "Escape" && state.group.around.length) showGraph(state.group.around.at(-1));
    else return;
    event.preventDefault();
  });
  document.getElementById("zoom-in").addEventListener("click", () => view.zoom(1 / 1.25));
  document.getElementById("zoom-out").addEventListener("click", () => view.zoom(1.25));
  document.getElementById("fit").addEventListener("click", () => view.fit());
}

function reveal(number) {
  const inside = home.get(number);
  if (!inside) return;
  showGraph(inside.at(-1));
  select({ node: number });
  document.querySelector(`#drawing [data-key="n${number}"]`)?.focus({ preventScroll: true });
}

// Details

function select(what) {
  state.selected = what;
  mark();
  showDetails();
}

function valueButton(at) {
  const value = data.values[at];
  return element("button", { type: "button", class: "value", title: value.name, onclick: () => select({ value: at }) }, short(value.name, 48));
}

function nodeButton(number) {
  const node = nodesByNumber.get(number);
  return node ? element("button", { type: "button", class: "value", title: node.name, onclick: () => reveal(number) }, `${node.operator} ${short(node.name, 40)}`) : element("span", {}, "an input or a constant of the model");
}

function valueTable(title, values) {
  if (!values.length) return null;
  return element("table", {},
    element("caption", {}, title),
    element("tbody", {}, ...values.map((at) => element("tr", {},
      element("td", {}, valueButton(at)),
      element("td", { class: "shape" }, `${data.values[at].type} ${shapeText(data.values[at], (dim) => data.dims[dim][0])}`),
      element("td", { class: "shape" }, shapeText(data.values[at], dimNumber))))));
}

function showDetails() {
  const { selected } = state;
  if (selected === null) return;
  replace("details", ...(selected.node !== undefined ? nodeDetails(selected.node) : valueDetails(selected.value)));
}

function nodeDetails(number) {
  const node = nodesByNumber.get(number);
  const needs = data.requirements.filter((one) => one.node === number);
  const costs = [["FLOPs", node.flops, ""], ["bytes moved", node.bytes, "B"]].filter(([, at]) => at !== undefined && at !== null);
  return [
    element("h3", {}, `${node.operator} `, element("small", {}, node.name)),
    node.path ? element("p", {}, `in ${node.path}`) : null,
    valueTable("inputs", node.in),
    valueTable("outputs", node.out),
    element("h4", {}, "requires"),
    needs.length ? element("ul", {}, ...needs.map((one) => element("li", { class: one.holds !== null && state.values[one.holds] === false ? "broken" : "" }, element("code", {}, one.text), ` ${one.reason}`))) : element("p", {}, "nothing of sizes"),
    ...costs.map(([title, at, unit]) => element("p", {}, `${title} at these sizes: ${amount(state.values[at], unit)}`)),
    node.parameters ? element("p", {}, `parameters: ${node.parameters.toLocaleString("en")}`) : null,
  ];
}

function valueDetails(at) {
  const value = data.values[at];
  const read = readers.get(at) ?? [];
  const origins = (value.dims ?? []).map((dim, axis) => ({ dim, axis })).filter(({ dim }) => data.explained[dim]);
  return [
    element("h3", {}, element("small", {}, value.name)),
    element("p", { class: "shape" }, `${value.type} ${shapeText(value, (dim) => data.dims[dim][0])}`),
    element("p", { class: "shape" }, `at these sizes: ${shapeText(value, dimNumber)}`),
    value.elements ? element("p", { class: "shape" }, `elements: ${value.elements.join(", ")}`) : null,
    element("p", {}, "computed by ", nodeButton(value.by)),
    read.length ? element("p", {}, "read by ", ...read.slice(0, 12).flatMap((number) => [nodeButton(number), " "]), read.length > 12 ? `and ${read.length - 12} more` : "") : null,
    ...(data.explained_outputs[value.name] && value.by >= 0 && graphOutputs.has(at)
      ? [derivation("where its sizes come from", null, data.explained_outputs[value.name], true)]
      : origins.map(({ dim, axis }) => {
        const { value: first, axis: place, text } = data.explained[dim];
        const same = first === value.name && place === axis ? null : `the same size as ${first}[${place}]:`;
        return derivation(`where ${short(data.dims[dim][0], 60)} comes from`, same, text, origins.length === 1);
      })),
  ];
}

function derivation(title, remark, text, isOpen) {
  return element("details", { open: isOpen }, element("summary", {}, title), remark ? element("p", {}, remark) : null, element("pre", {}, text));
}

// Search

function listenToSearch() {
  const field = document.getElementById("search");
  const nodes = data.nodes.map((node) => ({ text: `${node.operator} ${node.name}`, low: `${node.operator} ${node.name}`.toLowerCase(), act: () => reveal(node.number) }));
  const values = data.values.map((value, at) => ({ text: value.name, low: value.name.toLowerCase(), act: () => {
    if (home.has(value.by)) showGraph(home.get(value.by).at(-1));
    select({ value: at });
  } }));
  const all = [...nodes, ...values];
  const show = () => {
    const wanted = field.value.trim().toLowerCase();
    const hits = wanted ? all.filter((one) => one.low.includes(wanted)) : [];
    replace("hits", ...hits.slice(0, 20).map((one) => element("li", {}, element("button", { type: "button", onclick: () => {
      one.act();
      replace("hits");
    } }, short(one.text, 80)))), hits.length > 20 ? element("li", {}, `and ${hits.length - 20} more`) : wanted && !hits.length ? element("li", {}, "nothing has this name") : null);
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") document.querySelector("#hits button")?.click();
    if (event.key === "Escape") replace("hits");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
  });
}

// Cost and memory

function live(values) {
  // The bytes of each value that takes memory, with its life.
  return data.memory.values.map(([name, first, last, at]) => ({ name, first, last, bytes: at === null ? undefined : values[at] })).filter((one) => typeof one.bytes === "number");
}

function peakOf(values) {
  if (!data.memory.exact) return data.memory.peak === null ? undefined : values[data.memory.peak];
  const changes = new Map();
  for (const { first, last, bytes } of live(values)) {
    changes.set(first, (changes.get(first) ?? 0) + bytes);
    changes.set(last + 0.5, (changes.get(last + 0.5) ?? 0) - bytes);
  }
  let now = 0;
  let most = 0;
  for (const at of [...changes.keys()].sort((a, b) => a - b)) {
    now += changes.get(at);
    most = Math.max(most, now);
  }
  return most;
}

function flopsOf(values) {
  let sum = 0;
  for (const node of data.nodes) {
    if (node.flops === undefined || node.flops === null) continue;
    const [once, runs] = [values[node.flops], node.runs === null ? undefined : values[node.runs]];
    if (typeof once !== "number" || typeof runs !== "number") return undefined;
    sum += once * runs;
  }
  return sum;
}

function showTotals() {
  replace("totals",
    element("dt", {}, "arithmetic"), element("dd", { id: "flops" }, amount(flopsOf(state.values), "FLOP")),
    element("dt", {}, "peak of activations"), element("dd", { id: "peak" }, amount(peakOf(state.values), "B")));
}

const colours = 7;

function showMemory() {
  const values = live(state.values);
  if (!data.memory.exact || !values.length) {
    replace("memory", element("p", {}, "What is live depends on branches or trips of loops: absint cost has the peak."));
    return;
  }
  const steps = [...new Set(values.flatMap((one) => [one.first, one.last]))].sort((a, b) => a - b);
  const place = new Map(steps.map((step, at) => [step, at]));
  const totals = new Array(steps.length).fill(0);
  for (const one of values) for (let at = place.get(one.first); at <= place.get(one.last); at++) totals[at] += one.bytes;
  const top = Math.max(...totals, 1);
  const peak = totals.indexOf(Math.max(...totals));
  const makers = values.filter((one) => place.get(one.first) <= peak && peak <= place.get(one.last)).sort((a, b) => b.bytes - a.bytes);
  const big = makers.slice(0, colours);
  const [width, height] = [640, 180];
  const x = (at) => (steps.length > 1 ? (at / (steps.length - 1)) * width : 0);
  const drawing = element("svg", { viewBox: `0 0 ${width} ${height + 4}`, class: "chart", role: "img", "aria-label": `memory over the run, at most ${amount(top, "B")}` });
  const area = (from, to) => `${steps.map((_, at) => `${x(at)},${height - (to[at] / top) * height}`).join(" ")} ${steps.map((_, at) => steps.length - 1 - at).map((at) => `${x(at)},${height - (from[at] / top) * height}`).join(" ")}`;
  const base = new Array(steps.length).fill(0);
  drawing.append(element("polygon", { class: "rest", points: area(base, totals) }));
  big.forEach((one, index) => {
    const next = base.map((bytes, at) => bytes + (place.get(one.first) <= at && at <= place.get(one.last) ? one.bytes : 0));
    drawing.append(element("polygon", { class: `stack stack-${index}`, points: area(base, next) }, element("title", {}, `${one.name}: ${amount(one.bytes, "B")}`)));
    next.forEach((bytes, at) => {
      base[at] = bytes;
    });
  });
  drawing.append(element("line", { class: "mark", x1: x(peak), x2: x(peak), y1: 0, y2: height }));
  const node = nodesByNumber.get(steps[peak]);
  replace("memory", drawing, element("p", {}, `peak: ${amount(top, "B")}, at `, node ? nodeButton(node.number) : "the start or the end"),
    element("ul", { class: "legend" }, ...big.map((one, index) => element("li", { class: `stack-${index}` }, `${short(one.name, 48)}: ${amount(one.bytes, "B")}`)),
      makers.length > colours ? element("li", {}, `and ${makers.length - colours} more`) : null));
}

function showCurves() {
  const name = document.getElementById("over").value;
  const size = data.sizes.find((one) => one.name === name);
  if (!size) return;
  const most = Math.max(Number(document.getElementById("upto").value) || 1, 1);
  const points = [];
  for (let i = 0; i <= 40; i++) {
    const at = Math.max(Math.round((most * i) / 40), size.lo);
    const values = evaluate(data.program, { ...state.sizes, [name]: at });
    points.push({ at, flops: flopsOf(values), peak: peakOf(values) });
  }
  const chart = (title, pick, unit) => {
    const known = points.filter((point) => typeof pick(point) === "number");
    if (!known.length) return element("p", {}, `${title}: not known over ${name}`);
    const top = Math.max(...known.map(pick), 1);
    const [width, height] = [300, 130];
    return element("figure", {},
      element("svg", { viewBox: `0 -6 ${width} ${height + 12}`, class: "chart", role: "img", "aria-label": `${title} over ${name}` },
        element("polyline", { class: "curve", points: known.map((point) => `${(point.at / most) * width},${height - (pick(point) / top) * height}`).join(" ") }),
        element("line", { class: "mark", x1: Math.min((state.sizes[name] / most) * width, width), x2: Math.min((state.sizes[name] / most) * width, width), y1: 0, y2: height })),
      element("figcaption", {}, `${title}: ${amount(pick(known[0]), unit)} at ${name}=${known[0].at}, ${amount(pick(known.at(-1)), unit)} at ${name}=${known.at(-1).at}`));
  };
  replace("curves", chart("arithmetic", (point) => point.flops, "FLOP"), chart("peak of activations", (point) => point.peak, "B"));
}

// The contract as a picture

function showRegion() {
  const [across, up] = ["across", "up"].map((id) => document.getElementById(id)?.value);
  const canvas = document.getElementById("region");
  if (!canvas || !across || !up || across === up) return;
  const cells = 48;
  const reach = (name) => Math.max(Math.ceil((1.5 * (state.sizes[name] ?? 1)) / cells) * cells, cells);
  const [stepX, stepY] = [reach(across) / cells, reach(up) / cells];
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const end = performance.now() + 400;
  let legal = 0;
  let done = 0;
  for (let i = 0; i < cells && performance.now() < end; i++) {
    for (let j = 0; j < cells; j++) {
      const sizes = { ...state.sizes, [across]: Math.round(i * stepX), [up]: Math.round(j * stepY) };
      const isLegal = failureAt(sizes) === null;
      legal += isLegal;
      done++;
      context.fillStyle = colour(isLegal ? "--legal" : "--illegal");
      context.fillRect(i * 6, (cells - 1 - j) * 6, 6, 6);
    }
  }
  context.fillStyle = colour("--text");
  context.fillRect((state.sizes[across] / stepX) * 6, (cells - 1 - state.sizes[up] / stepY) * 6, 6, 6);
  const skipped = stepX > 1 || stepY > 1 ? `, in steps of ${stepX} and ${stepY}` : "";
  const text = `${legal} of ${done} sizes are legal: ${across} from 0 to ${reach(across) - 1}, ${up} from 0 to ${reach(up) - 1}${skipped}; others as above`;
  canvas.setAttribute("aria-label", text);
  replace("region-text", text);
}

// The start

function options(id, chosen) {
  const field = document.getElementById(id);
  if (!field) return;
  field.replaceChildren(...data.sizes.map((size) => element("option", { value: size.name, selected: size.name === chosen }, short(size.name))));
}

function start() {
  document.documentElement.classList.add("with-script");
  const stored = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.getElementById("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? stored;
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    showRegion();
  });
  document.getElementById("shows").addEventListener("change", (event) => {
    state.shows = event.target.value;
    relabel();
  });
  readGroups(data.groups, []);
  for (const group of groups) if (group.label === "constants" && group.around.length === 1) for (const number of group.nodes) constants.add(number);
  buildSliders();
  listenToGraph();
  listenToSearch();
  const names = data.sizes.map((size) => size.name);
  options("across", names[0]);
  options("up", names[1]);
  options("over", names.at(-1));
  for (const id of ["across", "up"]) document.getElementById(id)?.addEventListener("change", showRegion);
  for (const id of ["over", "upto"]) document.getElementById(id)?.addEventListener("change", showCurves);
  document.getElementById("draw")?.addEventListener("click", showCurves);
  const sizes = Object.fromEntries(data.sizes.filter((size) => size.start !== null).map((size) => [size.name, size.start]));
  state.values = evaluate(data.program, sizes);
  state.sizes = sizes;
  showGraph(beginning(data.groups));
  setSizes(sizes);
}

function beginning(group) {
  // The outermost group that shows more than one large part.
  const inner = group.members.find((member) => typeof member !== "number" && member.nodes.length > 0.85 * group.nodes.length);
  return inner ? beginning(inner) : group;
}

start();
