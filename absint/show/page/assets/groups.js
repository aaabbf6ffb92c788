// Groups of nodes, and the boxes and edges that the graph of one group has.

const groups = [];
const home = new Map(); // the number of a node -> the groups around it, outermost first
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

function readGroups(group, around) {
  group.around = around;
  group.id = groups.push(group) - 1;
  const inside = [...around, group];
  for (const member of group.members) {
    if (typeof member === "number") home.set(member, inside);
    else readGroups(member, inside);
  }
  group.nodes = group.members.flatMap((member) => (typeof member === "number" ? [member] : member.nodes));
}

function memberAt(number, group) {
  // The box of a group's graph that a node lies in; undefined outside of it.
  const inside = home.get(number);
  let depth = group.around.length;
  if (!inside || inside[depth] !== group) return undefined;
  do depth++; while (depth < inside.length && state.opened.has(inside[depth]));
  return depth < inside.length ? inside[depth] : number;
}

function openedIn(group) {
  // The groups below that are opened in place, the outer ones first.
  return group.members.flatMap((member) => (state.opened.has(member) ? [member, ...openedIn(member)] : []));
}

function shownIn(group) {
  // The boxes of a group's graph: [member, the opened group around it].
  return [group, ...openedIn(group)].flatMap((around) => around.members.filter((member) => !state.opened.has(member)).map((member) => [member, around]));
}

const key = (member) => (typeof member === "number" ? `n${member}` : `g${member.id}`);

function edgesOf(group) {
  // Edges between the members of a group, and to values that cross its border.
  const edges = new Map();
  const add = (from, to, value) => {
    const name = `${from}>${to}`;
    if (!edges.has(name)) edges.set(name, { from, to, values: new Set() });
    edges.get(name).values.add(value);
  };
  for (const number of group.nodes) {
    const node = nodesByNumber.get(number);
    const target = memberAt(number, group);
    for (const value of node.in) {
      const { by } = data.values[value];
      const source = memberAt(by, group);
      if (source !== undefined) {
        if (source !== target && !(constants.has(by) && typeof source !== "number")) add(key(source), key(target), value);
      } else if ((nodesByNumber.has(by) && !constants.has(by)) || graphInputs.has(value)) add(`i${value}`, key(target), value);
    }
    for (const value of node.out) {
      if (graphOutputs.has(value) || (readers.get(value) ?? []).some((reader) => memberAt(reader, group) === undefined)) add(key(target), `o${value}`, value);
    }
  }
  return [...edges.values()].map((edge) => ({ ...edge, values: [...edge.values] }));
}

function mergedBorder(edges) {
  // Values that cross the border between it and the same members are one box: the caches of a layer, say.
  const around = new Map();
  for (const { from, to } of edges) {
    for (const [end, other] of [[from, to], [to, from]]) {
      if (end[0] === "i" || end[0] === "o") around.set(end, [...(around.get(end) ?? []), other]);
    }
  }
  const boxes = new Map();
  const boxOfEnd = new Map();
  for (const [end, others] of around) {
    const alike = `${end[0]}|${others.join()}`;
    if (!boxes.has(alike)) boxes.set(alike, { name: end, values: [], uses: others.length });
    boxes.get(alike).values.push(Number(end.slice(1)));
    boxOfEnd.set(end, boxes.get(alike).name);
  }
  const merged = new Map();
  for (const edge of edges) {
    const [from, to] = [boxOfEnd.get(edge.from) ?? edge.from, boxOfEnd.get(edge.to) ?? edge.to];
    const name = `${from}>${to}`;
    if (!merged.has(name)) merged.set(name, { from, to, values: [] });
    merged.get(name).values.push(...edge.values.filter((value) => !merged.get(name).values.includes(value)));
  }
  return { edges: [...merged.values()], border: [...boxes.values()].sort((a, b) => b.uses - a.uses) };
}

const mostAtTheBorder = 12; // beyond it, values that cross it stand in the box of their only member

function withinBoxes(edges, border) {
  // Of a border with many values, as the caches of each layer, those of one member alone: { kept, lines, crossing }.
  const lines = new Map();
  if (border.length <= mostAtTheBorder) return { kept: edges, lines, crossing: border };
  const isOne = new Map(border.map((box) => [box.name, box.uses === 1]));
  const kept = edges.filter(({ from, to }) => {
    const [end, member] = isOne.has(from) ? [from, to] : isOne.has(to) ? [to, from] : [null, null];
    if (end === null || !isOne.get(end)) return true;
    const { values } = border.find((box) => box.name === end);
    const more = values.length > 1 ? ` +${values.length - 1}` : "";
    lines.set(member, [...(lines.get(member) ?? []), `${end[0] === "i" ? "in" : "out"} ${valueLabel(values[0], 24)}${more}`]);
    return false;
  });
  return { kept, lines, crossing: border.filter((box) => !isOne.get(box.name)) };
}

const mostReaders = 2; // a value with more of them has an edge to the first, and its name in the others

const mostNear = 3; // in a large graph an edge of scalars and vectors alone goes no farther

function unbundled(edges, order) {
  // Edges of values that many read, as a mask, would run along the whole graph, and so would those of sizes, which say
  // little: their names stand in the boxes instead.
  const isFar = ({ from, to, values }) => order.size > 10 && order.get(to) - order.get(from) > mostNear && values.every((at) => data.values[at].dims?.length <= 1);
  const seen = new Map();
  for (const edge of edges) for (const value of edge.values) if (edge.to[0] !== "o") seen.set(value, (seen.get(value) ?? 0) + 1);
  const drawnOnce = new Set();
  const also = new Map();
  const kept = [];
  for (const edge of edges) {
    const own = isFar(edge) ? [] : edge.values.filter((value) => (seen.get(value) ?? 0) <= mostReaders || !drawnOnce.has(value));
    for (const value of edge.values) {
      if (!own.includes(value)) also.set(edge.to, [...(also.get(edge.to) ?? []), value]);
      drawnOnce.add(value);
    }
    if (own.length) kept.push({ ...edge, values: largestFirst(own) });
  }
  return { kept, also };
}

function largestFirst(values) {
  // The value that says most of an edge is first: the one of highest rank.
  const rank = (at) => data.values[at].dims?.length ?? 9;
  return [...values].sort((a, b) => rank(b) - rank(a));
}

function lastPart(name) {
  return name.split("/").filter(Boolean).pop() ?? name;
}

function valueLabel(value, most = 28) {
  return short(lastPart(data.values[value].name), most);
}

function boxOf(member) {
  if (typeof member === "number") {
    const node = nodesByNumber.get(member);
    return { lines: [short(node.operator, 30), short(lastPart(node.name) ?? "", 28)], kind: "node", label: `${node.operator} ${short(node.name, 200)}` };
  }
  const alike = member.alike > 1 ? `, one of ${member.alike} alike` : "";
  const count = `${member.nodes.length.toLocaleString("en")} nodes${alike}`;
  return { lines: [short(member.label, 32), count], kind: "group", label: `group ${short(member.label, 200)}, ${count}` };
}
