// What is chosen: a node with what it requires, or a value with where its sizes come from.

function select(what) {
  if (state.selected) state.before.push({ selected: state.selected, group: state.group });
  state.before.splice(0, state.before.length - 100);
  choose(what);
}

function choose(what) {
  state.selected = what;
  mark();
  showDetails();
  document.getElementById("details").scrollTop = 0;
  announce(what.node !== undefined ? boxOf(what.node).label : `value ${short(data.values[what.value].name, 200)} ${shapeText(data.values[what.value], formula)}`);
}

function goBack() {
  const { selected, group } = state.before.pop();
  showGraph(group);
  choose(selected);
}

function announce(text) {
  replace("said", text);
}

function reveal(number) {
  const inside = home.get(number);
  if (!inside) return;
  select({ node: number });
  if (state.group !== inside.at(-1)) showGraph(inside.at(-1));
  document.querySelector(`#drawing [data-key="n${number}"]`)?.focus({ preventScroll: true });
  document.getElementById("explore").scrollIntoView({ block: "nearest" });
}

function revealValue(at) {
  const { by } = data.values[at];
  select({ value: at });
  if (home.has(by) && memberAt(by, state.group) === undefined) showGraph(home.get(by).at(-1));
  const box = chosenBox();
  if (box?.classList.contains("selected")) view.show(box.place);
  document.getElementById("explore").scrollIntoView({ block: "nearest" });
}

function link(text, act, most = 48) {
  return element("button", { type: "button", class: "value", onclick: act }, named(text, most));
}

function valueButton(at, most) {
  return link(data.values[at].name, () => revealValue(at), most);
}

function nodeButton(number, most) {
  const node = nodesByNumber.get(number);
  return node ? link(`${node.operator} ${node.name}`, () => reveal(number), most) : element("span", {}, "an input or a constant of the model");
}

function valueTable(title, values) {
  if (!values.length) return null;
  return element("table", {},
    element("caption", {}, title),
    element("tbody", {}, ...values.map((at) => element("tr", {},
      element("td", {}, valueButton(at, 36)),
      element("td", { class: "shape" }, `${data.values[at].type} ${shapeText(data.values[at], formula)}`, elementsOf(at)),
      element("td", { class: "shape now" }, shapeText(data.values[at], dimNumber))))));
}

function elementsOf(at) {
  const { elements } = data.values[at];
  return elements ? element("div", { class: "elements" }, `= ${short(elements.join(", "), 160)}`) : null;
}

function showDetails() {
  const { selected } = state;
  if (selected === null) return;
  const back = state.before.length ? element("button", { type: "button", id: "back", onclick: goBack }, "\u2190 back") : null;
  replace("details", back, ...(selected.node !== undefined ? nodeDetails(selected.node) : valueDetails(selected.value, selected.among ?? [])));
}

function nodeDetails(number) {
  const node = nodesByNumber.get(number);
  const needs = data.requirements.filter((one) => one.node === number);
  const costs = [["FLOPs", node.flops, ""], ["bytes moved", node.bytes, "B"]].filter(([, at]) => isNumber(valueAt(at)));
  const runs = valueAt(node.runs);
  return [
    element("h3", {}, `${short(node.operator, 60)} `, element("small", {}, named(node.name, 160))),
    node.path ? element("p", {}, "in ", named(node.path, 160)) : null,
    node.attributes ? element("table", { class: "attributes" }, element("caption", {}, "attributes"), element("tbody", {}, ...Object.entries(node.attributes).map(([name, text]) => element("tr", {}, element("th", { scope: "row" }, named(name, 60)), element("td", { class: "shape" }, text))))) : null,
    element("h4", {}, "requires"),
    needs.length ? element("ul", {}, ...needs.map(needItem)) : element("p", {}, "nothing of sizes"),
    valueTable("inputs", node.in),
    valueTable("outputs", node.out),
    costs.length || node.parameters ? element("dl", {},
      ...costs.flatMap(([title, at, unit]) => [element("dt", {}, title), element("dd", {}, amount(valueAt(at), unit))]),
      ...(isNumber(runs) && runs !== 1 ? [element("dt", {}, "runs"), element("dd", {}, amount(runs))] : []),
      ...(node.parameters ? [element("dt", {}, "parameters"), element("dd", {}, amount(node.parameters))] : [])) : null,
  ];
}

function needItem(one) {
  const holds = one.holds === null ? undefined : valueAt(one.holds);
  const isFalse = holds !== undefined && holds !== true;
  return element("li", { class: isFalse ? "broken" : null }, isFalse ? "\u2717 " : holds ? "\u2713 " : "", element("code", {}, one.text), ` ${one.reason}`);
}

function valueDetails(at, among) {
  const value = data.values[at];
  const read = readers.get(at) ?? [];
  const others = among.filter((other) => other !== at);
  return [
    element("h3", {}, "value ", element("small", {}, named(value.name, 160))),
    element("p", { class: "shape" }, `${value.type} ${shapeText(value, formula)}`),
    data.sizes.length ? element("p", { class: "shape" }, "at these sizes: ", element("span", { class: "now" }, shapeText(value, dimNumber))) : null,
    value.elements ? element("p", { class: "shape" }, `elements: ${value.elements.join(", ")}`) : null,
    element("p", {}, "computed by ", nodeButton(value.by)),
    read.length ? element("p", {}, "read by ", ...read.slice(0, 12).flatMap((number) => [nodeButton(number, 36), " "]), read.length > 12 ? `and ${read.length - 12} more` : "") : null,
    others.length ? element("p", {}, "the same way go ", ...others.slice(0, 12).flatMap((other) => [valueButton(other, 36), " "]), others.length > 12 ? `and ${others.length - 12} more` : "") : null,
    ...derivations(at),
  ];
}

// Derivations

function derivationsOf(at) {
  // { title, remark, parts } for an output, else for each of its sizes.
  const own = data.explained_outputs[at];
  if (own) return [{ title: "where its sizes come from", parts: own }];
  return (data.values[at].dims ?? []).flatMap((dim, axis) => {
    const found = data.explained[dim];
    if (!found) return [];
    const isItself = found.value === at && found.axis === axis;
    const remark = isItself ? null : element("p", {}, "the same size as ", valueButton(found.value), ` at axis ${found.axis}:`);
    return [{ title: `where ${short(formula(dim), 60)} comes from`, remark, parts: found.text }];
  });
}

function derivations(at) {
  const found = derivationsOf(at);
  if (!found.length && data.not_explained && (data.values[at].dims ?? []).some((dim) => !/^[0-9]+$/.test(formula(dim)))) {
    return [element("p", {}, "Where its sizes come from is left out of this page: ", element("code", {}, "absint explain"), " has it.")];
  }
  const seen = new Set();
  return found.filter(({ title }) => !seen.has(title) && seen.add(title)).map(({ title, remark, parts }, order) => element("details", { open: order === 0 },
    element("summary", {}, title), remark ?? null, chainDrawn(parts)));
}

function chainDrawn(parts) {
  // The text of a derivation with its values, nodes and references as links.
  const drawn = element("pre", { class: "chain-text" });
  for (const part of parts) {
    if (typeof part !== "string") {
      const [text, target] = part;
      drawn.append(link(text, () => (target < 0 ? reveal(-1 - target) : revealValue(target)), 400));
      continue;
    }
    for (const piece of part.split(/(^\[\d+\]|(?<= )\[\d+(?:, above)?\])/m)) {
      const entry = /^\[(\d+)(, above)?\]$/.exec(piece);
      if (!entry) drawn.append(piece);
      else if (drawn.textContent === "" || drawn.textContent.endsWith("\n")) drawn.append(element("span", { class: "entry", "data-entry": entry[1], tabindex: -1 }, piece));
      else drawn.append(element("button", { type: "button", class: "value", "aria-label": `step ${entry[1]}`, onclick: () => drawn.querySelector(`[data-entry="${entry[1]}"]`)?.focus() }, piece));
    }
  }
  return drawn;
}

function chainOf(at) {
  // The numbers of the nodes that a value's sizes come through.
  return derivationsOf(at).flatMap(({ parts }) => parts.filter((part) => typeof part !== "string" && part[1] < 0).map((part) => -1 - part[1]));
}
