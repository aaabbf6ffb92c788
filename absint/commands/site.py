"""`absint site`."""

from __future__ import annotations

import click

from absint.commands.command import FINE, Command
from absint.commands.messages import say
from absint.model.writing import write_files
from absint.show.site.files import NPM, PYODIDE, check_folder, site as files_of_site


@click.command(cls=Command, epilog=f"Pyodide {PYODIDE}: npm install --prefix {NPM} pyodide@{PYODIDE}")
@click.option("-o", "--output", metavar="DIR", required=True, help="The folder to write; one that is there is renewed.")
@click.option("--pyodide", metavar="FOLDER", help="The folder with Pyodide, if it is elsewhere.")
def site(output: str, pyodide: str | None) -> int:
    """Write a page that analyses models in the browser.

    DIR has index.html, Pyodide and absint: about 15 MB of static files, which any server of files can offer. To try it:
    python -m http.server --directory DIR. A model that is dropped on the page stays in the browser, and the page loads
    nothing from another server. It shows the shapes, the legal sizes, a check and the cost at sizes, and the report.
    docs/light.md says which answers are open without onnx and Z3.
    """
    check_folder(output)
    size = write_files(output, files_of_site(pyodide))
    say(f"{output}: {size / 1e6:.1f} MB; python -m http.server --directory {output}")
    return FINE
