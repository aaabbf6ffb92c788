// The start.

function options(id, chosen) {
  const field = document.getElementById(id);
  field?.replaceChildren(...data.sizes.map((size) => element("option", { value: size.name, selected: size.name === chosen }, sizeName(size.name))));
}

function makeLinks() {
  // Names in the plain document lead into the graph.
  for (const place of document.querySelectorAll("[data-node]")) {
    const number = Number(place.dataset.node);
    if (home.has(number)) place.replaceChildren(link(place.textContent, () => reveal(number), 90));
  }
  for (const place of document.querySelectorAll("[data-value]")) {
    const at = Number(place.dataset.value);
    place.replaceChildren(link(place.textContent, () => revealValue(at), 90));
  }
}

function namesToCompare() {
  // The sizes in the order in which the contract speaks of them, those of a clause over several first.
  const symbolsOf = ({ holds }) => neededFor(data.program, [holds]).map((at) => data.program.table[at])
    .filter(([op]) => op === "s").map(([, at]) => data.program.symbols[at]);
  const spoken = data.contract.clauses.filter((clause) => clause.holds !== null).map(symbolsOf);
  spoken.sort((a, b) => (b.length > 1) - (a.length > 1));
  return [...new Set([...spoken.flat(), ...data.sizes.map((size) => size.name)])];
}

function listenToTheme() {
  const asSystem = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.getElementById("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? asSystem;
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  });
}

function listenToSections() {
  // A frame without an address of its own would go to that of the page around it.
  if (parent === window) return;
  for (const one of document.querySelectorAll("header nav a")) one.addEventListener("click", (event) => {
    event.preventDefault();
    document.querySelector(one.getAttribute("href")).scrollIntoView();
  });
}

function start() {
  document.documentElement.classList.add("with-script");
  listenToTheme();
  listenToSections();
  document.getElementById("shows").addEventListener("change", (event) => {
    state.shows = event.target.value;
    relabel();
  });
  document.getElementById("rows-shown")?.addEventListener("change", (event) => {
    state.rows = event.target.checked;
    mark();
  });
  document.getElementById("direction").addEventListener("change", (event) => {
    state.direction = event.target.value;
    showGraph(state.group);
  });
  readGroups(data.groups, []);
  for (const group of groups) if (group.label === "constants" && group.around.length === 1) for (const number of group.nodes) constants.add(number);
  buildSliders();
  listenToGraph();
  listenToSearch();
  makeLinks();
  const names = namesToCompare();
  options("across", names[0]);
  options("up", names[1]);
  options("over", (data.sizes.findLast((size) => size.lo >= 0 && size.hi > 1) ?? data.sizes.at(-1))?.name);
  for (const id of ["across", "up"]) document.getElementById(id)?.addEventListener("change", showRegion);
  const over = document.getElementById("over");
  const upTo = document.getElementById("upto");
  over?.addEventListener("change", () => {
    delete upTo.dataset.chosen;
    showCurves();
  });
  upTo?.addEventListener("change", () => {
    upTo.dataset.chosen = "yes";
    showCurves();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) scheduleRest();
    width = innerWidth;
  });
  const sizes = atTheStart();
  state.values = evaluate(data.program, sizes);
  state.sizes = sizes;
  showGraph(data.groups);
  setSizes(sizes);
}

start();
