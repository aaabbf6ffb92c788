"""`absint report` and `absint site`."""

import click

from absint.commands.analysis import analysed, assume_option, settings_options
from absint.commands.command import FINE, Command, say
from absint.commands.models import Ask, models_argument
from absint.model.writing import check_target, write_file, write_files
from absint.shapes.sizes import exact_sizes
from absint.show.page.page import page
from absint.show.site.files import NPM, PYODIDE, check_folder, site as files_of_site
from absint.show.summary import nodes_in_words


@click.command(cls=Command)
@click.option("-o", "--output", required=True, metavar="OUT", help="The HTML file to write.")
@click.option("--audit", "declared", is_flag=True, help="Judge the author's declarations, and show the verdicts.")
@click.option("--tool", "tools", metavar="TOOL", multiple=True, help="Judge an installed tool, as absint audit does.")
@assume_option
@settings_options
@models_argument(several=False)
def report(ask: Ask, output: str, declared: bool, tools: tuple[str, ...]) -> int:
    """Write an HTML page to look at MODEL.

    The page has the graph with shapes, legal sizes, cost, memory and diagnostics. OUT is one HTML file that needs no
    server and no network. It begins with the sizes that are given. Sliders set the sizes of the inputs, and every
    shape, cost and peak follows; illegal sizes show the node that fails. Without scripts it is a plain document.
    """
    check_target(ask.model, output)
    is_judged = declared or bool(tools)
    if is_judged:
        from absint.commands.audit import check_sources, verdicts  # onnx

        check_sources(tools)
    result = analysed(ask.model, ask.settings)

    start = exact_sizes(ask.sizes, result.declared_inputs)
    write_file(page(result, verdicts(result, declared, tools) if is_judged else (), start), output)
    say(f"{output}: {nodes_in_words(result)}")
    return FINE


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
