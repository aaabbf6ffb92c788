"""A model whose sizes became symbols, as text and as JSON."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from absint.jobs.dynamizing.dynamize import Baked, Cause, Dynamized
from absint.jobs.dynamizing.judging import Compared
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import SIZES, Key, Kind, Object, by_name, keys_of, many, maybe
from absint.lattices.text.sheets import Line, Part, listed, plural, so_many
from absint.show.rows import OUTPUT, said
from absint.show.text import weights_note
from absint.solution.naming import by_nodes
from absint.solver.contracts.contract import Clause, Contract

_SHOWN: Final = 30
_NODES: Final = 2


def report(found: Dynamized) -> Iterator[Part]:
    """The constants, what becomes of them, and the sizes that are legal then."""
    was = ", ".join(f"{name} was {size}" for name, size in found.sizes.items())
    yield Line(f"{found.path}: {was}" if found.path and found.path != "-" else was, "bold")
    mended = [item for item in found.baked if not item.problem]
    title = "rewritten" if found.fixed else "constants that hold an old size"
    yield from _section(title, mended)
    yield from _section("not rewritten", found.unmended)
    if found.causes:
        yield Line(f"not led back to a constant: {len(found.causes):,}")
        for cause in found.causes[:_SHOWN]:
            yield Line(f"  {cause!s}")
    if found.taken:
        yield Line(f"no inputs any more, since they say shapes: {', '.join(found.taken)}")
    yield from _contract(found)
    if found.refusal:
        yield Line(f"nothing is rewritten: {found.refusal}", "bold red")
    elif found.differing:
        names = ", ".join(found.differing[:3])
        yield Line(f"not proved to be as before at the old sizes: {names}", "bold red")
    elif found.fixed:
        yield Line("at the old sizes every value has the shape that it had", "green")
    yield from _proved(found)
    yield from _rows(found)
    yield listed("types left out", [str(item) for item in found.left_out])
    if found.unchecked:
        yield Line(f"note: it is not known whether the copy loads: {found.unchecked}")
    yield from weights_note(found.weights_elsewhere, found.path)


def _rows(found: Dynamized) -> Iterator[Part]:
    if found.fixed and not found.rows:
        yield Line("stacked rows were not compared with single ones: no symbol is called a batch, or --no-run", "dim")
    for name, each in found.rows.items() if not found.refusal else ():
        if each.reason:
            text = f"stacked rows of {name} were not compared with single ones: {each.reason}"
            yield Line(text)
        else:
            yield Line(f"2 and 3 stacked rows of {name} give what single ones give", "green")
            if each.without_rows:
                yield Line(f"  not compared, as no axis grows with the rows: {', '.join(each.without_rows)}")


def _proved(found: Dynamized) -> Iterator[Part]:
    """What is known of rows without runs, and of which sizes nothing is."""
    for name, outputs in found.proved.items():
        kept = [output for output in outputs if output.verdict in ("independent", "shared")]
        style = "green" if len(kept) == len(outputs) else ""
        count = f"{len(kept)} of {len(outputs)} {plural('output', len(outputs))}"
        yield Line(f"rows of {name} are proved to stay apart in {count}", style)
        for output in outputs:
            if output.verdict == "shared":
                yield Line(f"  {output.name} depends on no row")
            elif output.verdict != "independent":
                yield Line(f"  {said(output)}")
            elif not output.is_plain or found.sizes[name] == 1:
                yield Line(f"  {output.name} has them on {output.where}")
        if found.sizes[name] == 1:
            yield Line(f"  {name} was 1, so no run of the original shows whether rows mix", "dim")
    if found.habitual:
        named = ((output, found.sizes[name]) for name, of in found.proved.items() for output in of)
        plain = ((f"{output.name}[{output.axis}]", size) for output, size in named if output.is_plain)
        says = next((f"; {place}={size} says that it stays {size}" for place, size in plain), "")
        yield Line(f"  they would in blocks of another axis too; here they have one of their own{says}")
    others = [name for name in found.sizes if name not in found.proved]
    if found.fixed and others:
        yield Line(
            f"other sizes of {', '.join(others)} run, and whether they give what they should is not verified", "dim"
        )


def _section(title: str, items: Sequence[Baked]) -> Iterator[Part]:
    if not items:
        return
    yield Line(f"{title}: {len(items):,}")
    rows: dict[str, dict[str, None]] = {}
    for item in items:
        old = f": {item.old}, should be {item.new}" if item.old else f": {item.new}"
        end = f"; {item.problem}" if item.problem else f"; now {item.written}" if item.written else ""
        rows.setdefault(f"{item.place}{old}{end}", {})[item.node] = None
    for text, nodes in islice(rows.items(), _SHOWN):
        more = f" and {len(nodes) - _NODES:,} more" if len(nodes) > _NODES else ""
        listed = f"{', '.join(islice(nodes, _NODES))}{more}"
        yield Line(f"  {text}  ({listed})")
    if len(rows) > _SHOWN:
        yield Line(f"  and {len(rows) - _SHOWN:,} more kinds (--format json lists them)")


def _contract(found: Dynamized) -> Iterator[Part]:
    contract = found.contract
    if contract.possible is False:
        yield Line("no size of the inputs is legal", "bold red")
    elif not contract.clauses:
        yield Line(f"every size is legal{contract.proviso}", "bold green")
    else:
        yield Line(f"legal sizes meet {so_many(len(contract.clauses), 'clause')}", "bold")
        for clause in contract.clauses[:_SHOWN]:
            nodes = by_nodes(clause.because, clause.relation)
            yield Line(f"  {f'{clause.relation}  ({nodes})'}")
    if contract.reason:
        yield Line(f"the clauses may be longer than they need be: {contract.reason}", "yellow")
    ready = len(found.baked) - len(found.unmended)
    if not found.fixed and not found.refusal and ready:
        yield Line(f"--fix rewrites {so_many(ready, 'constant')}", "dim")


_SAID: Final = Kind[str]({"type": ["string", "null"]}, lambda text, names: text or None)
"""Null for an empty text."""
_CONSTANT: Final = Object[Baked](
    Key("node", str, "the node that uses it"),
    Key("operator", str),
    Key("constant", str, "the value that the node reads"),
    Key("operand", str, "the input of the node, by its formal name"),
    Key("place", str, "as `target[0]`, or `shape(table)[1]` for an axis of the constant"),
    Key("old", str),
    Key("new", str, "what it should be; several with `or` if nothing decides"),
    Key("written", _SAID, "how it was rewritten, or null"),
    Key("problem", _SAID, "why it was not rewritten, or null"),
    Key("is_open", bool, "it may mean several sizes, and nothing decides which"),
)
_CLAUSE: Final = Object[Clause](
    Key("relation", str),
    Key(
        "nodes", many(str), "those that impose it", lambda clause: dict.fromkeys(str(c.origin) for c in clause.because)
    ),
)
_CONTRACT: Final = Object[Contract](
    Key("possible", maybe(bool), "some size meets all clauses; null if undecided"),
    Key("reason", str, "the limit that was reached, or empty"),
    Key("clauses", many(_CLAUSE)),
    name="legal",
)
_ROWS: Final = Object[Compared](
    Key("reason", str, "why nothing was compared; empty if something was"),
    Key("differing", many(str), "outputs that hold other rows than single runs"),
    Key("without_rows", many(str), "outputs that were not compared"),
)
_CAUSE: Final = keys_of(Cause, node="the node that imposes it", at="the node where the search ended")

DYNAMIZED: Final = Document[Dynamized](
    "dynamize",
    1,
    "sizes made symbolic (absint dynamize)",
    Key("sizes", SIZES, "the old size of each new symbol"),
    Key("axes", by_name(by_name(str)), "by input: the axes that became symbols, with these"),
    Key("fixed", bool, "constants were rewritten"),
    Key("written", _SAID, "the file that was written, or null", lambda found: found.path),
    Key("constants", many(_CONSTANT), "constants that hold an old size", lambda found: found.baked),
    Key("causes", many(Object(*_CAUSE)), "requirements that no constant explains"),
    Key("legal", _CONTRACT, "the contract of the model, or of the copy", lambda found: found.contract),
    Key("legal_before", _CONTRACT, "the contract with the old constants", lambda found: found.before),
    Key("differing", many(str), "values not proved to have the same shape at the old sizes as before"),
    Key("refusal", _SAID, "why constants were to be rewritten and were not, or null"),
    Key("rows", by_name(_ROWS), "for each batch: runs on stacked rows beside runs on single ones"),
    Key("proved", by_name(many(OUTPUT)), "for each symbol that counts rows: what is proved of each output of the copy"),
    Key("habitual", bool, "other readings keep rows apart too, in blocks of an axis, where these give them one"),
    Key("taken", many(str), "initialisers that were inputs too, whose values are shapes: constants of the copy"),
    Key("left_out", many(str), "types not written: the file would not load, or would compute something else"),
    Key("unchecked", str, "why nobody knows whether the file loads where the model does; empty if it does"),
    defines=False,
)
