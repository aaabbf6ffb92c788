// The graph of one group, laid out by dagre.

const mostCrossing = 40;
const ruler = document.createElement("canvas").getContext("2d");

function widthOf(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

const fonts = { head: "600 12.5px system-ui, sans-serif", small: "11px system-ui, sans-serif", edge: "11px ui-monospace, monospace" };

function showGraph(group) {
  state.group = group;
  const shown = shownIn(group);
  const merged = mergedBorder(edgesOf(group));
  const { kept: outside, lines, crossing } = withinBoxes(merged.edges, merged.border);
  const { kept, also } = unbundled(outside, new Map(shown.map(([member], at) => [key(member), at])));
  const boxes = new Map(shown.map(([member, around]) => [key(member), { member, around, ...boxOf(member) }]));
  const hidden = crossing.slice(mostCrossing).reduce((sum, one) => sum + one.values.length, 0);
  for (const { name, values } of crossing.slice(0, mostCrossing)) {
    const more = values.length > 1 ? `and ${values.length - 1} more` : "";
    boxes.set(name, { values, kind: name[0] === "i" ? "input" : "output", lines: [valueLabel(values[0]), more], label: `${name[0] === "i" ? "comes in" : "goes out"}: ${short(data.values[values[0]].name, 200)} ${more}` });
  }
  for (const [name, found] of lines) boxes.get(name).lines.push(...found.sort());
  for (const [name, values] of also) {
    const names = [...new Set(values)].map((value) => valueLabel(value, 22));
    boxes.get(name)?.lines.push(`\u2190 ${names.slice(0, 2).join(", ")}${names.length > 2 ? ` +${names.length - 2}` : ""}`);
  }
  const frames = openedIn(group);
  const layout = laidOut(frames, boxes, kept.filter((edge) => boxes.has(edge.from) && boxes.has(edge.to)));
  const { width, height } = layout.graph();
  const drawing = element("svg", { id: "drawing", role: "group", "aria-label": `graph of ${short(group.label, 200)}`, viewBox: `0 0 ${Math.max(width, 1)} ${Math.max(height, 1)}` },
    element("defs", {}, element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, element("path", { d: "M0 0L8 4L0 8z" }))));
  drawing.append(...frames.map((one) => frameDrawn(one, layout.node(key(one)))));
  drawing.append(...layout.edges().map((ends) => edgeDrawn(layout.edge(ends))));
  for (const [name, box] of boxes) drawing.append(boxDrawn(name, box, layout.node(name)));
  replace("graph", drawing);
  showCrumbs(group, hidden);
  view.reset(layout);
  relabel();
}

function laidOut(frames, boxes, edges) {
  const layout = new dagre.graphlib.Graph({ compound: frames.length > 0 }).setGraph({ rankdir: state.direction, nodesep: 22, edgesep: 14, ranksep: 30, marginx: 14, marginy: 14 });
  for (const [name, { lines }] of boxes) {
    const width = Math.max(...lines.map((line, at) => widthOf(line, at ? fonts.small : fonts.head))) + 24;
    layout.setNode(name, { width: Math.max(width, 80), height: 14 + 15 * lines.filter(Boolean).length });
  }
  const framed = new Set(frames);
  for (const frame of frames) layout.setNode(key(frame), {});
  for (const frame of frames) {
    for (const member of frame.members) if (framed.has(member) || boxes.has(key(member))) layout.setParent(key(member), key(frame));
  }
  for (const edge of edges) {
    const widest = Math.max(...["formulas", "numbers"].map((shows) => widthOf(edgeLabel(edge, shows), fonts.edge)));
    layout.setEdge(edge.from, edge.to, { edge, width: widest + 8, height: 18, labelpos: "c" });
  }
  dagre.layout(layout);
  return layout;
}

function edgeDrawn({ edge, points, x, y }) {
  const isUnknown = edge.values.some((value) => isOpen(data.values[value]));
  let path = `M${points[0].x} ${points[0].y}`;
  points.slice(1, -1).forEach((point, at) => {
    const next = points[at + 2];
    const isLast = at + 3 === points.length;
    path += `Q${point.x} ${point.y} ${isLast ? next.x : (point.x + next.x) / 2} ${isLast ? next.y : (point.y + next.y) / 2}`;
  });
  if (points.length === 2) path += `L${points[1].x} ${points[1].y}`;
  const act = () => select({ value: edge.values[0], among: edge.values });
  const label = element("g", { class: "label", role: "button", "aria-label": `edge ${short(data.values[edge.values[0]].name, 200)}`, tabindex: -1, onclick: act, onkeydown: onEnter(act) },
    element("rect", { y: y - 9, height: 18, rx: 4 }), element("text", { x, y: y + 4 }));
  label.edge = edge;
  label.middle = x;
  return element("g", { class: isUnknown ? "edge open" : "edge" }, element("path", { d: path, "marker-end": "url(#arrow)" }), label);
}

function frameDrawn(group, { x, y, width, height }) {
  const act = (event) => {
    event.stopPropagation();
    openInPlace(group, false);
  };
  const label = `${group.label} (close)`;
  const frame = element("g", { class: "box frame", "data-key": key(group), tabindex: -1, role: "button", "aria-label": `close ${short(group.label, 200)}`, onclick: act, onkeydown: onEnter(() => openInPlace(group, false)) },
    element("title", {}, label),
    element("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 6 }),
    element("text", { class: "small", x: x - width / 2 + 10, y: y - height / 2 + 13 }, short(label, 60)));
  frame.place = { x: x - width / 2 + 40, y: y - height / 2 + 13, width: 80, height: 26 };
  return frame;
}

function openInPlace(group, isOpen = true) {
  if (isOpen) state.opened.add(group);
  else for (const one of [group, ...openedIn(group)]) state.opened.delete(one);
  showGraph(state.group);
  document.querySelector(`#drawing [data-key="${key(group)}"]`)?.focus({ preventScroll: true });
  announce(`${short(group.label, 100)} is ${isOpen ? "open" : "closed"}`);
}

function boxDrawn(name, box, { x, y, width, height }) {
  const act = (event) => (box.kind === "group" ? (box.member.inside || event?.shiftKey ? openInPlace : openGroup)(box.member) : select(box.kind === "node" ? { node: box.member } : { value: box.values[0], among: box.values }));
  const lines = box.lines.filter(Boolean);
  const top = y - (lines.length - 1) * 7.5 + 4;
  const drawnBox = element("g", { class: `box ${box.kind}`, "data-key": name, tabindex: -1, role: "button", "aria-label": box.label, onclick: act, onkeydown: onEnter(act) },
    element("title", {}, box.label),
    box.kind === "group" ? element("rect", { class: "behind", x: x - width / 2 + 4, y: y - height / 2 + 4, width, height, rx: 4 }) : null,
    element("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: box.kind === "node" ? 4 : box.kind === "group" ? 4 : height / 2 }),
    ...lines.map((line, at) => element("text", { x, y: top + at * 15, class: at ? "small" : "head" }, line)));
  drawnBox.place = { x, y, width, height };
  return drawnBox;
}

function openGroup(group) {
  showGraph(group);
  document.querySelector("#drawing .box")?.focus({ preventScroll: true });
  announce(`${short(group.label, 100)}: ${group.nodes.length} nodes`);
}

function showCrumbs(group, hidden) {
  if (!group.around.length && !hidden) replace("crumbs");
  else replace("crumbs", ...[...group.around, group].flatMap((one, depth, all) => [
    depth ? " / " : null,
    depth + 1 < all.length ? element("button", { type: "button", onclick: () => openGroup(one) }, named(one.label, 40)) : element("span", { "aria-current": "location" }, named(one.label, 60)),
  ]), hidden ? ` (${hidden} more values cross the border)` : "");
}

function edgeLabel(edge, shows = state.shows) {
  const more = edge.values.length > 1 ? ` +${edge.values.length - 1}` : "";
  return short(shapeText(data.values[edge.values[0]], shows === "formulas" ? formula : dimText), 64) + more;
}

function relabel() {
  for (const label of document.querySelectorAll("#drawing .label")) {
    const [rect, text] = label.children;
    text.textContent = edgeLabel(label.edge);
    const width = widthOf(text.textContent, fonts.edge) + 8;
    rect.setAttribute("x", label.middle - width / 2);
    rect.setAttribute("width", width);
  }
  mark();
}

const rowKinds = ["apart", "by position", "meet"];

function rowsOf(keyOf) {
  // What each box holds of the rows of a batch; a group what says most against them.
  const found = new Map();
  for (const [number, kind] of Object.entries(data.rows?.nodes ?? {})) {
    const box = keyOf(Number(number));
    if (box !== null && rowKinds.indexOf(kind) > rowKinds.indexOf(found.get(box))) found.set(box, kind);
  }
  return found;
}

function mark() {
  // The node that fails, what is chosen, and where the sizes of a chosen value come from.
  const { group, selected, failure } = state;
  if (!group) return;
  const keyOf = (number) => {
    const member = memberAt(number, group);
    return member === undefined ? null : key(member);
  };
  const bad = failure && failure.node >= 0 ? keyOf(failure.node) : null;
  const chosen = selected?.node !== undefined ? keyOf(selected.node) : selected ? keyOf(data.values[selected.value].by) : null;
  const chain = new Set(selected?.value === undefined ? [] : chainOf(selected.value).map(keyOf));
  const rows = state.rows ? rowsOf(keyOf) : new Map();
  for (const box of document.querySelectorAll("#drawing .box")) {
    for (const kind of rowKinds) box.classList.toggle(`rows-${kind.replace(" ", "-")}`, rows.get(box.dataset.key) === kind);
    box.classList.toggle("failing", box.dataset.key === bad);
    box.classList.toggle("selected", box.dataset.key === chosen);
    box.classList.toggle("chain", chain.has(box.dataset.key));
  }
}
