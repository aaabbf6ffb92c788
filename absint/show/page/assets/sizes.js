// Sizes of the inputs: sliders, the shapes at these sizes, and the first requirement that fails.

const nodesByNumber = new Map(data.nodes.map((node) => [node.number, node]));
const state = { sizes: {}, values: [], failure: null, undecided: false, group: null, selected: null, before: [], shows: "formulas", direction: "TB", opened: new Set(), rows: false };

function valueAt(instruction) {
  return instruction === null || instruction === undefined ? undefined : state.values[instruction];
}

function dimText(at) {
  const [text, instruction] = data.dims[at];
  if (state.shows === "formulas") return text;
  const value = valueAt(instruction);
  return isNumber(value) ? String(value) : text;
}

function dimNumber(at) {
  const [text, instruction] = data.dims[at];
  const value = valueAt(instruction);
  return isNumber(value) ? String(value) : value === null ? "none" : `${text}?`;
}

function formula(at) {
  return data.dims[at][0];
}

function knownDims(value) {
  // The dims; of shapes of which sizes choose those of the one that is chosen.
  const chosen = value.cases?.find(([condition]) => valueAt(condition) === true);
  return chosen ? chosen[1] : value.dims;
}

function shapeText(value, one = dimText) {
  const dims = knownDims(value) ?? value.open;
  return dims ? `[${dims.map((at) => (typeof at === "string" ? at : one(at))).join(", ")}]` : "unknown rank";
}

function isOpen(value) {
  // A size of it is none of the sizes of the inputs.
  const dims = knownDims(value);
  return dims === null || dims.some((at) => valueAt(data.dims[at][1]) === undefined);
}

const required = data.requirements.filter((requirement) => requirement.holds !== null);
const neededToCheck = neededFor(data.program, required.map((requirement) => requirement.holds));
const scratch = new Array(data.program.table.length);

function boundsBroken(sizes) {
  for (const { name, lo, hi } of data.sizes) {
    const value = sizes[name];
    if (value !== undefined && (value < lo || value > hi)) {
      return { text: `${lo} <= ${sizeName(name)} <= ${hi}`, reason: "the bounds of the size", node: -1, where: "" };
    }
  }
  return null;
}

function failureAt(sizes) {
  // The first requirement that fails at some sizes; null if none does.
  const broken = boundsBroken(sizes);
  if (broken) return broken;
  const values = evaluate(data.program, sizes, neededToCheck, scratch);
  return required.find((one) => values[one.holds] !== true && values[one.holds] !== undefined) ?? null;
}

const sizeTexts = new Map(data.sizes.map((size) => [size.name, size.text]));

function sizeName(name, most = 40) {
  return short(sizeTexts.get(name), most);
}

function setSizes(sizes) {
  state.sizes = sizes;
  state.values = evaluate(data.program, sizes);
  state.failure = failureAt(sizes);
  state.open = data.contract.open.filter((condition) => condition === null || state.values[condition] !== false).length;
  state.undecided = state.open > 0 || required.some((one) => state.values[one.holds] === undefined);
  for (const size of data.sizes) {
    for (const kind of ["slider", "number"]) {
      const input = document.getElementById(`${kind}-${size.index}`);
      const value = sizes[size.name];
      if (input && value !== undefined && Number(input.value) !== value) {
        if (kind === "slider" && value > Number(input.max)) input.max = value * 2;
        if (kind === "slider" && value < Number(input.min)) input.min = value;
        input.value = value;
      }
    }
  }
  showVerdict();
  showSizes();
  scheduleRest();
}

function asked(sizes = state.sizes, names = Object.keys(sizes)) {
  return names.map((name) => `${sizeName(name, 30)}=${sizes[name]}`).join(" ");
}

function refusing() {
  // The nodes that no requirement speaks for.
  const count = state.open;
  return count ? `, as ${count} ${count === 1 ? "node" : "nodes"} may refuse sizes that meet all requirements` : "";
}

function showVerdict() {
  const { failure } = state;
  const verdict = document.getElementById("verdict");
  document.documentElement.classList.toggle("is-illegal", failure !== null);
  verdict.className = failure ? "illegal" : state.undecided ? "undecided" : "legal";
  if (!failure) {
    const doubts = data.contract.doubts.length;
    verdict.replaceChildren(...(state.undecided
      ? [element("strong", {}, "not decided"), ` in the page${refusing()}: use absint check`]
      : [element("strong", {}, "\u2713 legal"), " at these sizes", doubts ? `; ${doubts} ${doubts === 1 ? "node" : "nodes"} may fail on data` : ""]));
    return;
  }
  const { text, reason, where, node } = failure;
  verdict.replaceChildren(
    element("strong", {}, "\u2717 illegal"), " at these sizes: ", element("code", {}, text), " is required by ",
    element("span", { class: "reason" }, `${where ? `${short(where, 80)}: ` : ""}${reason}. `),
    node >= 0 && nodesByNumber.has(node) ? element("button", { type: "button", onclick: () => reveal(node) }, "show the node") : "",
    element("span", { id: "offers" }));
  job("nearest", offers());
}

function showSizes() {
  for (const cell of document.querySelectorAll("[data-shape]")) {
    cell.textContent = shapeText(data.values[Number(cell.dataset.shape)], dimNumber);
  }
  for (const mark of document.querySelectorAll("[data-holds]")) {
    const holds = valueAt(Number(mark.dataset.holds));
    mark.textContent = holds === undefined ? "?" : holds === true ? "\u2713 holds" : "\u2717 false";
    mark.className = holds === true || holds === undefined ? "holds" : "holds broken";
  }
  replace("print-sizes", asked());
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
    showMemory();
    showRegion();
    showCurves();
  });
}

const triedElements = [1, 2, 4, 8, 16, 64, 256, 1024, 4096];

function rangeOf(size) {
  // What a slider offers: of an element of an input, whose type bounds nothing, what is legal beside the other sizes.
  const start = size.start ?? 1;
  if (size.lo >= 0) return [size.lo, Math.min(size.hi, Math.max(4 * (size.start ?? 64), 256))];
  const others = atTheStart();
  const legal = (value) => isLegal({ ...others, [size.name]: value });
  const least = [-16, -4, -1, 0].find(legal) ?? start;
  const most = triedElements.findLast((value) => value > start && legal(value)) ?? 16;
  return [Math.max(Math.min(least, start), size.lo), Math.min(Math.max(most, start), Math.max(4 * start, 64), size.hi)];
}

function buildSliders() {
  const rows = data.sizes.map((size, index) => {
    size.index = index;
    const [least, most] = rangeOf(size);
    const change = (event) => {
      const value = Math.round(Number(event.target.value));
      if (event.target.value === "" || !Number.isFinite(value)) return;
      setSizes({ ...state.sizes, [size.name]: Math.min(Math.max(value, Math.min(size.lo, 0)), Number.MAX_SAFE_INTEGER) });
    };
    return element("div", { class: "size" },
      element("label", { for: `slider-${index}` }, named(size.text, 32)),
      element("input", { id: `slider-${index}`, type: "range", min: least, max: most, value: size.start ?? 1, oninput: change }),
      element("input", { id: `number-${index}`, type: "number", min: size.lo < 0 ? null : 0, step: 1, value: size.start ?? 1, "aria-label": `${short(size.text, 200)}, as a number`, oninput: change }));
  });
  const reset = () => setSizes(atTheStart());
  replace("sizes", ...(rows.length ? [...rows, element("button", { type: "button", id: "reset", onclick: reset }, "reset")] : [element("p", {}, "Every size is a constant.")]));
}

function atTheStart() {
  return Object.fromEntries(data.sizes.map((size) => [size.name, size.start ?? 1]));
}
