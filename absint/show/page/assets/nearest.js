// The nearest legal sizes. Distance is the sum of the changes, and candidates are tried in its order, so what is offered
// is legal and nearest by construction; where time is up, less is offered.

const reach = 65536; // the farthest that one size is moved alone
const patience = window.patience ?? 600; // milliseconds for all of it
const failedLately = [];

function isLegal(sizes) {
  // Requirements that failed lately come first: most neighbours fail for the same reason.
  if (boundsBroken(sizes)) return false;
  for (const { holds, needed } of failedLately) {
    if (evaluate(data.program, sizes, needed, scratch)[holds] !== true) return false;
  }
  const values = evaluate(data.program, sizes, neededToCheck, scratch);
  const failing = required.find((one) => values[one.holds] !== true);
  if (!failing) return true;
  failedLately.unshift({ holds: failing.holds, needed: neededFor(data.program, [failing.holds]) });
  failedLately.length = Math.min(failedLately.length, 6);
  return false;
}

function* alone(name, from, least, end) {
  // The nearest legal sizes if one size changes, below and above, and how far all sizes were tried.
  const found = { below: null, above: null };
  const now = from[name];
  let step = 1;
  for (; step <= reach && performance.now() < end && !(found.below && found.above); step++) {
    for (const [side, size] of [["below", now - step], ["above", now + step]]) {
      if (found[side] || size < least || size > Number.MAX_SAFE_INTEGER) continue;
      const sizes = { ...from, [name]: size };
      if (isLegal(sizes)) found[side] = { sizes, distance: step, changed: [name] };
    }
    if (step >= 8 * Math.min(found.below?.distance ?? reach, found.above?.distance ?? reach)) break;
    if (step % 64 === 0) yield;
  }
  return { found: [found.below, found.above].filter(Boolean), tried: step - 1 };
}

function* around(from, names, distance, least) {
  // All sizes at a distance, over at least two of the names.
  const sizes = { ...from };
  function* place(at, left, changed) {
    if (at === names.length) {
      if (left === 0 && changed.length > 1) yield { sizes: { ...sizes }, distance, changed: [...changed] };
      return;
    }
    const name = names[at];
    for (let step = 0; step <= left; step++) {
      for (const size of step ? [from[name] - step, from[name] + step] : [from[name]]) {
        if (step && size < least) continue;
        sizes[name] = size;
        yield* place(at + 1, left - step, step ? [...changed, name] : changed);
      }
    }
    sizes[name] = from[name];
  }
  yield* place(0, distance, []);
}

function* nearest(from) {
  // { single, together, isNearest }: legal sizes with one change and with several, and whether none are nearer.
  const end = performance.now() + patience;
  const names = data.sizes.map((size) => size.name).filter((name) => from[name] !== undefined);
  for (const least of [1, 0]) { // a size becomes 0 only if nothing else is legal
    const single = [];
    let tried = reach;
    for (const [at, name] of names.entries()) {
      const each = yield* alone(name, from, least, performance.now() + (end - performance.now()) / (2 * (names.length - at)));
      single.push(...each.found);
      tried = Math.min(tried, each.tried);
    }
    single.sort((a, b) => a.distance - b.distance);
    const most = single[0]?.distance ?? reach;
    let together = null;
    let distance = 2;
    let count = 0;
    search: for (; distance < most && names.length > 1; distance++) {
      for (const found of around(from, names, distance, least)) {
        if (++count % 16 === 0) yield;
        if (performance.now() > end) break search;
        if (isLegal(found.sizes)) {
          together = found;
          break search;
        }
      }
    }
    const isNearest = together ? together.distance - 1 <= tried : most <= tried && (distance >= most || names.length === 1);
    if (single.length || together) return { single, together, isNearest };
  }
  return null;
}

function* offers() {
  const found = yield* nearest(state.sizes);
  const button = ({ sizes, changed }) => element("button", { type: "button", onclick: () => setSizes(sizes) }, asked(sizes, changed));
  if (!found) {
    replace("offers", " No legal sizes were found near these; ", element("code", {}, "absint check"), " searches on.");
    return;
  }
  const { single, together, isNearest } = found;
  const first = together ?? (isNearest ? single[0] : null);
  const others = single.filter((one) => one !== first).slice(0, 4);
  replace("offers",
    first ? element("span", {}, data.contract.open.length ? " Nearest that meet all requirements: " : " Nearest legal, by the sum of the changes: ", button(first)) : null,
    others.length ? element("span", {}, ` ${first ? "Others" : "Legal and nearest"} with one change: `, ...others.map(button)) : null);
}
