// Search over nodes and values; exact and short names come first.

function listenToSearch() {
  const field = document.getElementById("search");
  const entry = (text, name, act) => ({ text, low: text.toLowerCase(), name: name.toLowerCase(), act });
  const all = [
    ...data.nodes.map((node) => entry(`${node.operator} ${node.name}`, node.name, () => reveal(node.number))),
    ...data.values.map((value, at) => entry(value.name, value.name, () => revealValue(at))),
  ];
  const rank = (one, wanted) => (one.name === wanted ? 0 : lastPart(one.name) === wanted ? 1 : one.low.startsWith(wanted) ? 2 : 3);
  const show = () => {
    const wanted = field.value.trim().toLowerCase();
    const hits = wanted ? all.filter((one) => one.low.includes(wanted)) : [];
    const first = hits.length > 5000 ? hits : hits.sort((a, b) => rank(a, wanted) - rank(b, wanted));
    const button = (one) => element("button", { type: "button", onclick: () => {
      replace("hits");
      one.act();
    } }, named(one.text, 80));
    replace("hits", ...first.slice(0, 20).map((one) => element("li", {}, button(one))),
      hits.length > 20 ? element("li", {}, `and ${(hits.length - 20).toLocaleString("en")} more`) : wanted && !hits.length ? element("li", {}, "nothing has this name") : null);
  };
  field.addEventListener("input", show);
  document.getElementById("find").addEventListener("keydown", (event) => {
    const hits = [field, ...document.querySelectorAll("#hits button")];
    const at = hits.indexOf(document.activeElement);
    if (event.key === "Enter" && document.activeElement === field) hits[1]?.click();
    else if (event.key === "Escape") {
      replace("hits");
      field.focus();
    } else if (event.key === "ArrowDown") (hits[at + 1] ?? field).focus();
    else if (event.key === "ArrowUp") (hits[at - 1] ?? hits.at(-1)).focus();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!document.getElementById("find").contains(event.target)) replace("hits");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
  });
}
