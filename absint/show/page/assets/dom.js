// Elements of the page. Texts of the model only ever become text nodes; nothing in them is read as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const drawn = new Set(["svg", "g", "path", "rect", "text", "line", "polygon", "polyline", "circle", "title", "marker", "defs", "pattern"]);

function element(tag, attributes = {}, ...children) {
  const made = drawn.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function replace(id, ...children) {
  document.getElementById(id)?.replaceChildren(...children.filter(Boolean));
}

function short(text, most = 40) {
  // The ends of a text; names differ at their ends.
  if (text.length <= most) return text;
  const head = Math.floor((most - 1) / 3);
  return `${text.slice(0, head)}\u2026${text.slice(text.length - (most - 1 - head))}`;
}

function named(text, most) {
  // A name of the model, which must not turn the text around it.
  return element("bdi", { title: text.length > most ? short(text, 400) : null }, short(text, most));
}

function amount(found, unit = "") {
  if (found === undefined || found === null) return "unknown";
  const value = Number(found);
  const scales = unit === "B" ? [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] : [[1e12, `T${unit}`], [1e9, `G${unit}`], [1e6, `M${unit}`], [1e3, `k${unit}`]];
  for (const [size, name] of scales) {
    if (value >= size && (unit || size > 1e3)) return `${rounded(value / size)} ${name}`;
  }
  return `${value.toLocaleString("en")}${unit ? ` ${unit}` : ""}`;
}

function rounded(value) {
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
}

function isNumber(value) {
  return typeof value === "number" || typeof value === "bigint";
}

const running = new Map();

function job(name, steps) {
  // Work in slices, so that the page stays alive; it ends when one of the same name begins.
  const mine = Symbol(name);
  running.set(name, mine);
  const slice = () => {
    const end = performance.now() + 12;
    while (running.get(name) === mine && performance.now() < end) {
      if (steps.next().done) return;
    }
    if (running.get(name) === mine) setTimeout(slice);
  };
  setTimeout(slice);
}
