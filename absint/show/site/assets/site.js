// The page: it shows what the worker says, as text and in a frame of its own, and never as HTML of this document.
const $ = (name) => document.getElementById(name);
let worker = null;
let isBusy = false; // with a model; another one then gets a new worker
let asked = 0;
let wanted = null; // the last question, while the worker answers another one
let isAsked = false;
let frame = null;

function begin() {
  // A worker made from a blob has the policy of this page, so that it reaches this server alone.
  const source = `import ${JSON.stringify(new URL("worker.js", document.baseURI).href)};`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  worker?.terminate();
  const own = worker = new Worker(url, { type: "module" });
  own.onmessage = ({ data }) => own === worker && told[data.kind](data);
  own.onerror = (event) => own === worker && failed(event.message || "the worker did not start");
}

function say(text, isError = false) {
  $("state").textContent = text;
  $("state").classList.toggle("error", isError);
}

function failed(text) {
  worker?.terminate();
  worker = null;
  isBusy = false;
  say(`${text}. Choose the file again.`, true);
}

const told = {
  progress: ({ text }) => say(`${text} …`),
  failed: ({ text }) => failed(text),
  opened({ error, report, contract, symbols, elements, external }) {
    isBusy = !error;
    if (error) return say(error, true);
    $("report").textContent = report;
    $("contract").textContent = contract;
    $("sizes").replaceChildren(...symbols.map(field), ...elements.map(elementField));
    const count = external === 1 ? "1 tensor" : `${external.toLocaleString("en")} tensors`;
    $("weights").textContent = external ? `The weights of ${count} lie in other files, which are not needed.` : "";
    $("answers").hidden = false;
    say("writing the report …");
    ask();
  },
  report({ error, page }) {
    isBusy = false;
    say(error ?? "", Boolean(error));
    if (error) return;
    frame = document.createElement("iframe");
    frame.title = "report";
    frame.sandbox = "allow-scripts";
    frame.srcdoc = page;
    $("explore").append(frame);
  },
  checked({ id, error, outcome, check, cost }) {
    isAsked = false;
    send();
    if (id !== asked) return; // other sizes by now
    $("check").textContent = error ?? check;
    $("check").className = error ? "illegal" : outcome;
    $("cost").textContent = cost ?? "";
  },
};

function field({ name, size }) {
  const label = document.createElement("label");
  const text = document.createElement("span");
  text.textContent = name;
  const number = Object.assign(document.createElement("input"), { type: "number", min: 0, step: 1, required: true });
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: Math.max(64, 4 * size) });
  slider.ariaLabel = name;
  number.name = name;
  number.value = slider.value = size;
  number.oninput = () => { slider.value = number.value; ask(); };
  slider.oninput = () => { number.value = slider.value; ask(); };
  label.append(text, number, slider);
  return label;
}

function elementField(name) {
  // An element of a small input; empty, it may be anything.
  const label = document.createElement("label");
  const text = document.createElement("span");
  text.textContent = name;
  const number = Object.assign(document.createElement("input"), { type: "number", step: 1, name, placeholder: "any", oninput: ask });
  label.append(text, number);
  return label;
}

let timer = 0;
function ask() {
  const id = ++asked;
  const numbers = [...$("sizes").querySelectorAll("input[type=number]")];
  clearTimeout(timer);
  wanted = null;
  const given = numbers.filter((number) => number.required || number.value !== "" || !number.checkValidity());
  if (given.some((number) => !number.checkValidity() || !Number.isSafeInteger(number.valueAsNumber))) {
    $("check").textContent = "each size is a whole number from 0";
    $("check").className = "illegal";
    $("cost").textContent = "";
    return;
  }
  const sizes = new Map(given.map((number) => [number.name, number.valueAsNumber]));
  wanted = { sizes, id };
  timer = setTimeout(send, 120);
}

function send() {
  if (!worker || !wanted || isAsked) return;
  isAsked = true;
  worker.postMessage(wanted);
  wanted = null;
}

function open(file) {
  if (!file) return;
  clearTimeout(timer);
  asked++;
  wanted = null;
  isAsked = false;
  $("answers").hidden = true;
  for (const name of ["report", "contract", "check", "cost", "sizes", "weights"]) $(name).replaceChildren();
  frame?.remove();
  if (isBusy || !worker) begin();
  isBusy = true;
  say("loading …");
  worker.postMessage({ file });
}

$("file").onchange = () => { open($("file").files[0]); $("file").value = ""; };
$("sizes").onsubmit = (event) => event.preventDefault();
addEventListener("dragover", (event) => { event.preventDefault(); $("drop").classList.add("over"); });
addEventListener("dragleave", () => $("drop").classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  open(event.dataTransfer.files[0]);
});
