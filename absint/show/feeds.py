"""Real tensors beside the claims about them, as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import Json, format_sizes
from absint.lattices.text.forms import Key, Kind, many, maybe
from absint.lattices.text.naming import Names
from absint.lattices.text.sheets import Line, Part, Table, listed, rendered, so_many
from absint.questions.sizes.outcomes import CHECK, Check
from absint.runs.comparison import COMPARISON, Comparison
from absint.runs.statements import shapes_of

_SHOWN: Final = 20


@dataclass(frozen=True)
class Fed:
    """Findings from the arrays of a file."""

    path: str
    symbols: Sequence[str]
    """Sizes of the inputs."""
    comparison: Comparison
    check: Check | None
    """The check at the sizes that the arrays show; None if a symbol has none, or two."""
    ran: bool = False
    """The model was run with the arrays, and the comparison includes its outputs."""
    failed: str = ""
    """The reason why the run failed."""
    differing: tuple[str, ...] = ()
    """Arrays of the file that differ from the computed ones, each with the difference."""

    @property
    def ok(self) -> bool:
        """No claim is wrong, the run succeeds, and it computes the arrays of the file."""
        legal = self.check is None or self.check.ok
        return self.comparison.ok and not self.failed and not self.differing and legal


def report(fed: Fed) -> Iterator[Part]:
    """The sizes that the arrays show, their legality, and each value with its claimed and its actual shape."""
    values = [(name, f"{a} is {b}{'' if ok else '  wrong'}") for name, a, b, ok in shapes_of(fed.comparison.rows)]
    parts = [
        *_verdict(fed),
        Table("values", values),
        *_claims(fed),
        listed("the run computes something else", fed.differing),
        listed("not compared", fed.comparison.unchecked),
    ]
    return rendered(parts)


def _verdict(fed: Fed) -> Iterator[Line]:
    check, shown = fed.check, fed.comparison.binding
    if check is not None:
        failed = "" if check.failure is None else f": {check.failure}"
        yield check.line._replace(text=f"{check.line.text}{failed}")
    elif any(row.premise for row in fed.comparison.wrong):
        yield Line("the inputs are not as declared", "bold red")
    else:
        missing = ", ".join(name for name in fed.symbols if name not in shown)
        known = format_sizes({name: shown[name] for name in fed.symbols if name in shown})
        yield Line(f"not checked at {known or 'any size'}: the arrays show no size for {missing}", "yellow")
    if fed.failed:
        yield Line(f"the run fails: {fed.failed}", "bold red")
    elif fed.ran and check is not None and not check.ok:
        yield Line("but the run succeeds, so this requirement is wrong: please report it", "bold red")


def _claims(fed: Fed) -> Iterator[Part]:
    """The faults. A broken requirement is a wrong claim only if a run succeeds."""
    rows = fed.comparison.rows
    shows_a_run = fed.ran or any(row.part != "constraint" and not row.premise for row in rows)
    broken = [] if shows_a_run else [row for row in rows if row.part == "constraint" and not row.premise]
    if fed.check is None or fed.check.ok:
        yield listed("needed, but not so", broken)
    claims = [row for row in rows if row not in broken]
    wrong = [row for row in claims if not row.ok]
    yield Line("")
    if not wrong:
        found = fed.comparison.constraints - len(broken)
        more = f", and {so_many(found, 'constraint')}" if found > 0 else ""
        yield Line(f"{len(claims):,} {'claim holds' if len(claims) == 1 else 'claims hold'}{more}", "green")
        return
    be = "is" if len(wrong) == 1 else "are"
    yield Line(f"{len(wrong):,} of {so_many(len(claims), 'claim')} {be} wrong", "bold red")
    yield listed("", wrong, _SHOWN)
    if any(row.premise for row in wrong):
        yield Line("the other claims are not about such inputs, or rest on what is assumed")


def _check(fed: Fed, names: Names) -> Json:
    found, model = fed.check, fed.comparison.model
    return None if found is None else CHECK.record(found, names, CHECK.head_of(found)._replace(model=model))


_CHECK: Final = maybe(CHECK)
FED: Final = Document[Fed](
    "check-feeds",
    1,
    "claims beside the arrays of a file (absint check --feeds)",
    Key("feeds", str, "the file", lambda fed: fed.path),
    Key("ok", bool, "nothing is wrong"),
    Key("ran", bool, "a run succeeded"),
    Key("failed", str, "why a run failed, or empty"),
    Key("differing", many(str), "arrays in the file for which the run computes something else"),
    Key(
        "check",
        Kind(_CHECK.schema, _check, _CHECK.parts),
        "the form absint.check/2; null if the arrays do not show all sizes",
        lambda fed: fed,
    ),
    Key("comparison", COMPARISON, "the form absint.compare/1"),
    head=("model",),
    head_of=lambda fed: Head(fed.comparison.model),
    defines=False,
)
