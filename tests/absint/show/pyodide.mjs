// Runs a Python program in Pyodide: node pyodide.mjs FOLDER-OF-PYODIDE ZIP-OF-MODULES FOLDER-OF-MODELS < PROGRAM
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, modules, models] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${folder}/`, stderr: () => {} });
python.unpackArchive(new Uint8Array(readFileSync(modules)), "zip");
python.FS.mkdirTree("models");
python.FS.mount(python.FS.filesystems.NODEFS, { root: models }, "models");
try {
  console.log(python.runPython(readFileSync(0, "utf-8")));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
