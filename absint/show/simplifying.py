"""Simplified models as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Final

from absint.jobs.simplifying.simplify import Runs, Simplified
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, by_name, many
from absint.lattices.text.sheets import Line, Part, Table, listed, plural
from absint.result import Result


def report(result: Result, found: Simplified, *, details: bool = False) -> Iterator[Part]:
    """The file written, the nodes gone, and what was not proved; with `details` the operators and the shape nodes."""
    yield Line(f"{found.path}: {result.origin}, simplified", "bold")
    yield Line(f"  nodes         {found.nodes_before:,} -> {found.nodes:,}, constants not counted")
    yield Line(f"  shape nodes   {found.shape_nodes_before:,} -> {len(found.shape_nodes):,}")
    yield Line(f"  bytes         {found.bytes_before:,} -> {found.bytes:,}")
    if found.nodes < found.nodes_before:
        wide = "the same output shapes for all legal sizes" if found.dropped else ""
        same = wide or "the same legal sizes and the same output shapes for all sizes"
        yield Line(f"  {same} (proved)", "green")
    if result.assumptions:
        yield Line(f"  assuming {' and '.join(map(str, result.assumptions))}")
    yield listed("nodes that stay as they are, since the copy is not proved equal otherwise", found.undone)
    yield listed("nodes dropped that only fail", found.dropped)
    if details:
        names = dict.fromkeys((*found.operators_before, *found.operators))
        rows = [(name, f"{found.operators_before.get(name, 0)} -> {found.operators.get(name, 0)}") for name in names]
        yield Table("nodes before and after", rows, len(rows), "")
        yield listed("shape nodes left", found.shape_nodes, 50)
    if found.unchecked:
        yield Line(f"note: it is not known whether the copy loads: {found.unchecked}")
    if found.weights_elsewhere:
        yield listed("weights that runtimes look for beside the copy", found.weights_elsewhere)


def of_runs(runs: Runs, weights_elsewhere: Sequence[str] = ()) -> Iterator[Part]:
    """What runs of both showed."""
    if runs.differences:
        yield listed("runs of the two differ", runs.differences)
    elif weights_elsewhere:
        yield Line("  nothing was compared: the weights are not beside the copy, add --copy-weights", "yellow")
    elif not runs.both:
        why = ", or all outputs are of random numbers" if runs.random else ""
        yield Line(f"  nothing was compared: at none of the sizes tried do both run{why}", "yellow")
    else:
        which = "every output that is not of random numbers" if runs.random else "every output"
        yield Line(f"  {runs.both} {plural('run', runs.both)} of both: {which} is bit-equal", "green")
    if runs.random:
        yield listed("of random numbers, not compared", runs.random)


SIMPLIFIED: Final = Document[Simplified](
    "simplify",
    1,
    "a smaller model whose sizes stay symbolic (absint simplify)",
    Key("output", str, "its file", lambda found: found.path),
    Key("nodes_before", int, "nodes of the model, without constants"),
    Key("nodes", int, "nodes of the copy, without constants"),
    Key("operators_before", by_name(int), "how many nodes of each operator the model has"),
    Key("operators", by_name(int), "how many the copy has"),
    Key("shape_nodes_before", int, "nodes of the model that compute with sizes alone"),
    Key("shape_nodes", many(str), "those of the copy, each with its numbers and its reader"),
    Key("undone", many(str), "nodes that stay as they are, since the copy is not proved equal otherwise"),
    Key("dropped", many(str), "nodes that only fail, left out with --assume-legal"),
    Key("bytes_before", int, "of the model"),
    Key("bytes", int, "of the copy"),
    Key("weights_elsewhere", many(str), "files to copy or link beside the copy"),
    Key("unchecked", str, "why it is not known whether the copy loads; empty if it does wherever the model does"),
    defines=False,
)
