// The window onto the graph: zoom, drag and pinch; with the keyboard the arrows go from box to box.

const view = {
  box: [0, 0, 1, 1],
  full: [0, 0, 1, 1],
  frame: document.getElementById("graph"),
  reset(layout) {
    // All of it if it can be read then, else where most boxes begin.
    const { width, height } = layout.graph();
    const { clientWidth, clientHeight } = this.frame;
    this.full = [0, 0, Math.max(width, 1), Math.max(height, 1)];
    const whole = Math.max(1, width / Math.max(clientWidth, 1), height / Math.max(clientHeight, 1));
    const scale = whole <= (state.group.around.length ? 1.9 : 2.5) ? whole : 1.25;
    const [w, h] = [clientWidth * scale, clientHeight * scale];
    const boxes = layout.nodes().map((name) => layout.node(name)).map(({ x, y, width: wide, height: high }) => [x - wide / 2, y - high / 2, x + wide / 2, y + high / 2]);
    const isDown = state.direction === "TB";
    const across = isDown ? 0 : 1;
    const first = boxes.filter((box) => (isDown ? box[1] < 0.6 * h : box[0] < 0.6 * w));
    const seen = isDown ? w : h;
    const inside = (from) => first.filter((box) => box[across] >= from && box[across + 2] <= from + seen);
    const from = first.map((box) => box[across] - 12).reduce((best, one) => (inside(one).length > inside(best).length ? one : best), 0);
    const begin = Math.min(...(inside(from).length ? inside(from) : [[0, 0]]).map((box) => box[1 - across])) - 12;
    const placed = (all, part, at, share = 2) => (all <= part ? (all - part) / share : Math.min(Math.max(at, 0), all - part));
    this.box = [placed(width, w, isDown ? from : begin), placed(height, h, isDown ? begin : from, isDown ? 5 : 2), w, h];
    this.apply();
  },
  fit() {
    this.box = [...this.full];
    this.apply();
  },
  zoom(factor, x = 0.5, y = 0.5) {
    const [left, top, width, height] = this.box;
    const most = Math.max(4 * this.full[2], 4 * this.full[3], 2000);
    const f = Math.min(Math.max(factor, 80 / width), most / width);
    this.box = [left + width * (1 - f) * x, top + height * (1 - f) * y, width * f, height * f];
    this.apply();
  },
  move(dx, dy) {
    this.box[0] += dx;
    this.box[1] += dy;
    this.apply();
  },
  scale() {
    return Math.max(this.box[2] / Math.max(this.frame.clientWidth, 1), this.box[3] / Math.max(this.frame.clientHeight, 1));
  },
  show({ x, y, width, height }) {
    // Moved so that a box lies inside.
    const [left, top, w, h] = this.box;
    const dx = Math.min(0, x - width / 2 - left - 10) + Math.max(0, x + width / 2 - left - w + 10);
    const dy = Math.min(0, y - height / 2 - top - 10) + Math.max(0, y + height / 2 - top - h + 10);
    if (dx || dy) this.move(dx, dy);
  },
  apply() {
    document.getElementById("drawing")?.setAttribute("viewBox", this.box.join(" "));
  },
};

function onEnter(act) {
  return (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      act(event);
    }
  };
}

function boxTowards(key, from) {
  // The nearest box in the direction of an arrow.
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  const away = (box) => {
    const [x, y] = [box.place.x - from.place.x, box.place.y - from.place.y];
    const [along, aside] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
    return along > 5 ? along + 2 * aside : Infinity;
  };
  const found = [...document.querySelectorAll("#drawing .box")].reduce((best, box) => (best === null || away(box) < away(best) ? box : best), null);
  return found && away(found) < Infinity ? found : null;
}

function onKey(event) {
  const { frame } = view;
  if (event.key.startsWith("Arrow")) {
    const step = view.box[2] / 8;
    const box = document.activeElement?.closest?.("#drawing .box");
    if (event.shiftKey) view.move(...{ ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key]);
    else (box ? boxTowards(event.key, box) : chosenBox())?.focus({ preventScroll: true });
  } else if (event.key === "+") view.zoom(1 / 1.25);
  else if (event.key === "-") view.zoom(1.25);
  else if (event.key === "0") view.fit();
  else if (event.key === "Escape" && state.group.around.length) {
    openGroup(state.group.around.at(-1));
    frame.focus({ preventScroll: true });
  } else return;
  event.preventDefault();
}

function chosenBox() {
  return document.querySelector("#drawing .selected") ?? document.querySelector("#drawing .box");
}

function listenToGraph() {
  const { frame } = view;
  const fingers = new Map();
  let dragged = 0;
  const place = (event) => {
    const bounds = frame.getBoundingClientRect();
    return [(event.clientX - bounds.left) / bounds.width, (event.clientY - bounds.top) / bounds.height];
  };
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && !frame.contains(document.activeElement)) return;
    event.preventDefault();
    view.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, ...place(event));
  }, { passive: false });
  frame.addEventListener("pointerdown", (event) => {
    if (!fingers.size) dragged = 0;
    fingers.set(event.pointerId, event);
  });
  frame.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before || !event.buttons) return;
    const scale = view.scale();
    const other = [...fingers.values()].find((one) => one.pointerId !== event.pointerId);
    const [dx, dy] = [before.clientX - event.clientX, before.clientY - event.clientY];
    dragged += Math.abs(dx) + Math.abs(dy);
    if (other) {
      const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      view.zoom(apart(before) / Math.max(apart(event), 1), ...place(other));
    } else view.move(dx * scale, dy * scale);
    fingers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) frame.addEventListener(end, (event) => fingers.delete(event.pointerId));
  frame.addEventListener("click", (event) => {
    if (dragged > 8) event.stopPropagation(); // the end of a drag chooses nothing
    dragged = 0;
  }, { capture: true });
  frame.addEventListener("keydown", onKey);
  frame.addEventListener("focusin", (event) => {
    if (event.target.place) view.show(event.target.place);
  });
  document.getElementById("zoom-in").addEventListener("click", () => view.zoom(1 / 1.25));
  document.getElementById("zoom-out").addEventListener("click", () => view.zoom(1.25));
  document.getElementById("fit").addEventListener("click", () => view.fit());
}
