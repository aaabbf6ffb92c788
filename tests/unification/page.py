"""docs/unification.md, from the rows, the policies and the points."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import onnxruntime
import z3

import absint
from absint.jobs.copies.dialects import MergePolicy
from tests.adversarial.case import case
from tests.unification.answers import answers
from tests.unification.formula import MEANING
from tests.unification.judging import Judged, judge
from tests.unification.points import NON_GOALS, POINTS, Point
from tests.unification.policies import POLICIES, SITUATIONS, decide, sizes_text, worth
from tests.unification.readings import READINGS, differ
from tests.unification.row import SOURCES, Row, Section
from tests.unification.runs import Session
from tests.unification.tables import ROWS, SECTIONS

PAGE: Final = Path(__file__).parents[2] / "docs" / "unification.md"
BEGIN: Final = "<!-- study: begin -->"
END: Final = "<!-- study: end -->"
STUDY: Final = """\
What authors, policies and installed tools claim of the models of `tests/adversarial` and of exported models, each
claim judged as [audit.md](audit.md) says; the columns are those of [study.md](study.md). *Refuted* claims have a run
that shows them to be false; their dims do not count as *resolved*. A tool that *failed* at a model gave up there."""
NO_STUDY: Final = "No study has been written here yet."

INTRODUCTION: Final = """\
What proposals and tools say of symbolic dims, as formulas that Z3 proves or refutes.

Written by `python -m tests.pages.unification`; `--study RESULTS.json` (of `absint study`) fills the table at the end.

Each row is a claim about every run of a small model. What the model computes (`z0` is the first dim of `z`, `r` an
element) and where it runs is stated as integer formulas that use nothing of `absint`, and a test holds them against
onnxruntime at small sizes, 0 and 1 among them. A claim is *proved* if it holds for all sizes at which there is a run,
else *refuted* with the smallest sizes (least sum) and what a run at these sizes computed. *No run* means that no sizes
let the model run. The formula under *instead* is proved, and so is what `absint` answers for the model, wherever it
answers in terms of the sizes. Sizes are natural numbers; `m` and `k` are data, any integers.

`//` and `%` round down. The functions are"""


def page(study: str) -> str:
    """The whole page, with the text of the study's part."""
    lines = ["# Unification, judged", "", INTRODUCTION, "", "| function | meaning |", "|---|---|"]
    lines += [f"| `{head}` | `{body}` |" for head, body in MEANING.items()]
    judged = {id(row): judge(row) for row in ROWS}
    found = [j.verdict for j in judged.values()]
    counts = ", ".join(f"{found.count(v)} {v}" for v in ("proved", "refuted", "no run"))
    versions = f"Z3 {z3.get_version_string()}, onnxruntime {onnxruntime.__version__}"
    lines += ["", f"{len(ROWS)} rows: {counts}; with {versions}.", "", "## Sources", "", *_sources()]
    first = 1
    for section in SECTIONS:
        lines += ["", *_section(section, first, judged)]
        first += len(section.rows)
    lines += [
        "",
        *_readings(),
        "",
        *_policies(),
        "",
        *_merges(),
        "",
        *_points(),
        "",
        "## The study",
        "",
        STUDY,
        "",
        BEGIN,
        study,
        END,
    ]
    return "\n".join(lines) + "\n"


def _sources() -> Iterator[str]:
    yield "| | proposal |"
    yield "|---|---|"
    for key, (title, address) in SOURCES.items():
        yield f"| {key} | {f'[{title}]({address})' if address else title} |"


def _section(section: Section, first: int, judged: Mapping[int, Judged]) -> Iterator[str]:
    yield from (f"## {section.title}", "", section.text, "")
    yield "| | says | from | claim | verdict | smallest counterexample | the run | instead | `absint` | |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for number, row in enumerate(section.rows, first):
        instead = f"`{row.instead}`" if row.instead else ""
        ours = "; ".join(f"`{name} == {text}`" for name, text in answers(row).items())
        cells = [
            str(number),
            row.rule,
            row.source,
            _claim(row),
            *_verdict(row, judged[id(row)]),
            instead,
            ours,
            row.note,
        ]
        yield f"| {' | '.join(cells)} |"
    yield from ("", "The models:", "", "```text")
    yield from (f"{number:<4}{row.shown}" for number, row in enumerate(section.rows, first))
    yield "```"


def _claim(row: Row) -> str:
    return f"`{row.claim}`" + (f" if `{row.given}`" if row.given != "True" else "")


def _verdict(row: Row, judged: Judged) -> tuple[str, str, str]:
    """Verdict, counterexample, what the run computed. Raises AssertionError if the run agrees with a refuted claim."""
    if judged.counterexample is None:
        return judged.verdict, "", ""
    measured = Session(row).run(judged.counterexample)
    assert measured is not None, row
    assert not row.claimed.value({**judged.counterexample, **measured}), row
    return "**refuted**", sizes_text(judged.counterexample), sizes_text(measured)


def _readings() -> Iterator[str]:
    yield from ("## The grammar: texts with two readings", "")
    yield "`absint.parse` takes the first reading; a test evaluates both. The grammar is in [grammar.md](grammar.md)."
    yield from (
        "",
        "| text | `absint.parse` prints | means | other reading | whose | differ at |",
        "|---|---|---|---|---|---|",
    )
    for item in READINGS:
        judged = differ(item)
        at = "never" if judged.counterexample is None else sizes_text(judged.counterexample)
        yield f"| `{item.text}` | `{absint.parse(item.text)}` | `{item.ours}` | `{item.others}` | {item.who} | {at} |"


def _policies() -> Iterator[str]:
    yield from ("## The policies", "")
    yield "What each policy of `lattices/unify.py` shows (`?` is a fresh symbol), and whether that holds in every run."
    yield "Each false cell was shown by a run at the sizes that it names."
    yield "Of two sizes that must be equal either is true, since a run that succeeds has them equal."
    table = {name: [decide(policy, of) for of in SITUATIONS] for name, policy in POLICIES.items()}
    yield from ("", "| policy | false | silent | what it does |", "|---|--:|--:|---|")
    for name, decisions in table.items():
        false, silent = sum(d.is_false for d in decisions), sum(d.judged is None for d in decisions)
        yield f"| `{name}` | {false} | {silent} | {POLICIES[name].summary} |"
    yield from ("", f"| situation | {' | '.join(table)} |", "|---" * (len(table) + 1) + "|")
    for at, of in enumerate(SITUATIONS):
        decided = [decisions[at] for decisions in table.values()]
        for one in decided:
            if one.judged is not None:
                _verdict(one.row, one.judged)
        yield f"| {of.title} | {' | '.join(map(worth, decided))} |"


def _merges() -> Iterator[str]:
    yield from ("## Annotations that exist", "")
    yield "`annotate(merge=...)`, where `[N, ?]` was declared of an output whose shape is `[4, M]`."
    yield from ("", "| merge | the annotation becomes |", "|---|---|")
    result = absint.analyze(case("(float[4, M] x, float[N] y) => (float[N, ?] z, w) {z = Relu(x) w = Relu(y)}").model)
    for merge in get_args(MergePolicy):
        try:
            declared = result.annotate(merge, outputs=True).graph.output[0].type.tensor_type.shape.dim
            dims = ", ".join(str(dim.dim_value or dim.dim_param or "?") for dim in declared)
            yield f"| {merge} | `[{dims}]` |"
        except absint.UsageError as error:
            yield f"| {merge} | an error: {error} |"


def _points() -> Iterator[str]:
    yield from ("## Open points", "", "| point | from | answered |", "|---|---|---|")
    yield from map(_point, POINTS)
    yield from ("", "## Non-goals of the proposals", "", "| non-goal | of | here |", "|---|---|---|")
    yield from map(_point, NON_GOALS)


def _point(point: Point) -> str:
    where = ", ".join(_link(path) for path in point.where)
    return f"| {point.point} | {point.source} | {point.answer}{f': {where}' if where else ''} |"


def _link(path: str) -> str:
    return f"[{path.removeprefix('docs/')}]({path.removeprefix('docs/')})" if path.startswith("docs/") else f"`{path}`"


def study_part(text: str) -> str:
    """The text between the marks of a page."""
    found = re.search(f"{BEGIN}\n(.*)\n{END}", text, re.DOTALL)
    return found[1] if found else NO_STUDY


_HIDDEN: Final = ("kind", "seconds", "judging")


def study_table(results: Mapping[str, Any], command: str) -> str:
    """The table of a study's JSON. Raises ValueError if it has none."""
    table: Sequence[Mapping[str, Any]] = results.get("table") or ()
    if not table:
        raise ValueError("no table in it: give what `absint study --format json` writes")
    columns = [name for name in table[0] if name not in _HIDDEN]
    lines = [f"| {' | '.join(name.replace('_', ' ') for name in columns)} |", _rule(columns)]
    lines += [f"| {' | '.join(_cell(row[name]) for name in columns)} |" for row in table]
    return "\n".join([f"`{command}`", "", *lines])


def _rule(columns: Iterable[str]) -> str:
    return "|" + "|".join("---" if name == "source" else "--:" for name in columns) + "|"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def read_study(path: Path, command: str) -> str:
    """The table of a file."""
    return study_table(json.loads(path.read_text("utf-8")), command)
