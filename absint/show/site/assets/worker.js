// Answers questions about one model after another: {file} first, then {sizes, id}. All that it says is {kind, ...}.
import { loadPyodide } from "./pyodide.mjs";

const here = new URL(".", import.meta.url).href;
const FOLDER = "/model"; // of the file, which is read where a reader asks for its bytes
let answers = null;

const python = (async () => {
  postMessage({ kind: "progress", text: "loading Python" });
  const loaded = await loadPyodide({ indexURL: here });
  postMessage({ kind: "progress", text: "loading absint" });
  const archive = await fetch(`${here}absint.zip`);
  if (!archive.ok) throw new Error(`absint.zip: ${archive.status}`);
  loaded.unpackArchive(await archive.arrayBuffer(), "zip", { extractDir: "/absint" });
  // Without the empty entry: the working folder has the file, which may be called onnx.py.
  loaded.runPython(`import sys; sys.path[:] = ["/absint", *filter(None, sys.path)]; import absint.show.site.answers`);
  loaded.FS.mkdir(FOLDER);
  return loaded;
})();

async function open(file) {
  const loaded = await python;
  if (answers) {
    loaded.FS.chdir("/");
    loaded.FS.unmount(FOLDER);
    answers.destroy();
  }
  loaded.FS.mount(loaded.FS.filesystems.WORKERFS, { files: [file] }, FOLDER);
  loaded.FS.chdir(FOLDER);
  answers = loaded.pyimport("absint.show.site.answers").Answers();
  postMessage({ kind: "progress", text: "analysing" });
  const found = JSON.parse(answers.opened(file.name));
  postMessage({ kind: "opened", ...found });
  if (!found.error) postMessage({ kind: "report", ...JSON.parse(answers.report()) });
}

async function at(sizes, id) {
  const given = (await python).toPy(sizes);
  postMessage({ kind: "checked", id, ...JSON.parse(answers.at(given)) });
  given.destroy();
}

onmessage = async ({ data: { file, sizes, id } }) => {
  try {
    await (file ? open(file) : at(sizes, id));
  } catch (error) {
    postMessage({ kind: "failed", text: String(error.message ?? error).trim().split("\n").at(-1) });
  }
};
