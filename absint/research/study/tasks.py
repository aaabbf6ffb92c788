"""The pairs of a study, a model and a source, and the work of one.

A pair is sent to its process as a JSON object.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np

from absint.errors import ModelError, UsageError
from absint.jobs.auditing import Audit, Claims, Judged, Judgement, by_policy, declared, judge, peer, roots
from absint.jobs.auditing.runs import Feeds
from absint.jobs.auditing.sources import TOOLS, is_installed
from absint.lattices.logic.relation import ge
from absint.lattices.terms.expr import symbol
from absint.lattices.unify import POLICIES
from absint.program.nodes import Node
from absint.runs.pool import Job, Json, build
from absint.runs.run import feeds_for

if TYPE_CHECKING:
    from absint.result import Result


# Known runs of the models of a folder: `sizes.json` in it gives their sizes and data.
#
# {"decoder": {"sizes": [{"batch": 1, "seq": 4}], "data": [{"use_cache": true}, {"use_cache": false}]}}
#
# is about `decoder.onnx`: every size with every choice of data; inputs that a choice leaves out get random data.
# Judging tries these runs before any other.

FILE: Final = "sizes.json"

_HINT: Final = (
    'expected {"MODEL": {"sizes": [{"SYMBOL": SIZE}], "data": [{"INPUT": VALUES}]}}, where data may be missing'
)


def known_runs(folder: Path) -> Mapping[str, dict[str, Json]]:
    """Model without suffix -> its sizes and data. Raises UsageError for a file that says something else."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {str(error)[:100]}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {_HINT}")
    return {name: _checked(path, name, entry) for name, entry in found.items()}


def _checked(path: Path, name: str, entry: object) -> dict[str, Json]:
    if isinstance(entry, dict):
        sizes, data = entry.get("sizes", 0), entry.get("data", [{}])
        is_read = _is_list_of_objects(data) and _is_list_of_objects(sizes)
        if is_read and all(type(size) is int and size >= 0 for binding in sizes for size in binding.values()):
            return {"sizes": sizes, "data": data or [{}]}
    raise UsageError(f"{path}: {name[:60]!r}: {_HINT}")


def _is_list_of_objects(items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)


def feeds_of(result: Result, runs: Mapping[str, Any]) -> Iterator[Feeds]:
    """The inputs of the known runs of a model; one that cannot be made is left out."""
    for sizes in runs.get("sizes", ()):
        for data in runs.get("data", ()):
            try:
                feeds = feeds_for(result, {name: sizes.get(name, 1) for name in result.symbols}, seed=0)
                given = {name: np.asarray(value, feeds[name].dtype) for name, value in data.items() if name in feeds}
            except (ValueError, TypeError, OverflowError):  # UsageError too: an input that has no such array
                continue
            yield {**feeds, **given}


# The sources of claims that a study judges: the models' authors, unification policies, installed tools.

Kind = Literal["declared", "policy", "tool"]

_SHOWN: Final = 60


@dataclass(frozen=True)
class Source:
    """A maker of claims."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        if self.kind != "policy":
            return self.name
        return f"policy {self.name}" if POLICIES[self.name].sound else f"unsound policy {self.name}"


DECLARED: Final = Source("declared", "declared")


def available() -> list[Source]:
    """All sources: the authors, each policy, each installed tool."""
    return [DECLARED, *(Source("policy", name) for name in POLICIES), *(Source("tool", t) for t in installed())]


def installed() -> list[str]:
    """The tools that can be imported here."""
    return [tool for tool in TOOLS if is_installed(tool)]


def read_sources(names: Sequence[str]) -> list[Source]:
    """The sources of these names, each once; without names, all that are available. Raises UsageError for an unknown
    name, and for a tool that is not installed.
    """
    if not names:
        return available()
    return list(dict.fromkeys(_read(name) for name in names))


def _read(name: str) -> Source:
    if name == "declared":
        return DECLARED
    if name in POLICIES:
        return Source("policy", name)
    if name in TOOLS:
        if name not in installed():
            raise UsageError(f"--source {name}: not installed: pip install {TOOLS[name].package}")
        return Source("tool", name)
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    known = ", ".join(("declared", *POLICIES, *TOOLS))
    raise UsageError(f"--source {shown}: no such source; there are: {known}")


def versions(source: Source) -> str:
    """Versions that a result for this source depends on; with other versions it is computed again."""
    found = [build(), _version("onnx"), _version("onnxruntime")]
    if source.kind == "tool":
        found.append(_version(TOOLS[source.name].package))
    return ", ".join(dict.fromkeys(filter(None, found)))


@cache
def _version(distribution: str) -> str:
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return ""


PERFORM: Final = "absint.research.study.tasks:perform"
"""The function that does a pair."""

_TOOL: Final = 0.4
_PROVING: Final = 0.25
"""Parts of a pair's time that the tool and the solver may take; the rest is for the analysis and for runs."""


class Pair(NamedTuple):
    """A pair by names."""

    model: str
    source: str


@dataclass(frozen=True)
class Task:
    """A model and a source. A result for it is valid as long as no field has changed."""

    model: str
    """The path below the folder of the study, with slashes."""
    path: str
    sha256: str
    """SHA-256 of the file at the path."""
    source: Source
    versions: str
    seconds: float
    """Time limit of the pair."""
    confirm: bool
    """Run counterexamples."""
    runs: Mapping[str, Json] = field(default_factory=dict)
    """Known runs of the model."""
    at_least: int = 0
    """Every size of the inputs is assumed to be at least this."""

    @property
    def key(self) -> Pair:
        return Pair(self.model, str(self.source))

    def to_job(self) -> Job:
        """As a JSON object."""
        return {**vars(self), "source": {"kind": self.source.kind, "name": self.source.name}}

    @staticmethod
    def from_job(job: Job) -> Task:
        """The pair that `to_job` wrote."""
        fields = cast("dict[str, Any]", job)
        return Task(**{**fields, "source": Source(**fields["source"])})


def pairs(
    folder: str | os.PathLike[str],
    sources: Sequence[Source],
    *,
    seconds: float,
    confirm: bool = True,
    at_least: int = 0,
) -> list[list[Task]]:
    """The pairs of each model below a folder, models in the order of their paths.

    Raises UsageError for a path that is no folder or has no model, and for known runs that do not parse.
    """
    assumed = f", sizes of at least {at_least}" if at_least else ""
    known = {source: versions(source) + assumed for source in sources}
    found = []
    runs: dict[Path, Mapping[str, dict[str, Json]]] = {}
    for name, path, digest in models(Path(folder)):
        if path.parent not in runs:
            runs[path.parent] = known_runs(path.parent)
        own = runs[path.parent].get(path.stem, {})
        # A result depends on the known runs.
        shown = f", runs {hashlib.sha256(json.dumps(own).encode()).hexdigest()[:8]}" if own else ""
        found.append(
            [
                Task(name, str(path), digest, source, known[source] + shown, seconds, confirm, own, at_least)
                for source in sources
            ]
        )
    return found


def models(folder: Path) -> list[tuple[str, Path, str]]:
    """The models below a folder: name, absolute path, SHA-256. Raises UsageError if there is none."""
    if folder.is_file():
        raise UsageError(f"{folder} is a file: give the folder that the models are in")
    if not folder.is_dir():
        raise UsageError(f"{folder} does not exist")
    found = [
        (path.relative_to(folder).as_posix(), path.resolve(), digest_of(path))
        for path in sorted(folder.rglob("*.onnx"))
        if path.is_file()
    ]
    if not found:
        raise UsageError(f"{folder} has no model: no file below it ends with .onnx")
    return found


def digest_of(path: Path) -> str:
    """SHA-256 of a file; empty for one that cannot be read, as its pairs will say."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


# What a process of the study does


def perform(job: Job) -> Json:
    """Judge the claims of the source about the model: counts, and the refuted claims."""
    task = Task.from_job(job)
    found = audit(task)
    return answer(found, roots(analysed(task), found.judged))


def audit(task: Task) -> Audit:
    """Judge the claims of the source about the model. Raises ModelError if it cannot be read or has changed."""
    result = analysed(task)
    claims = claims_of(task, result)
    runs = list(feeds_of(result, task.runs)) if task.confirm else []
    return judge(result, claims, confirm=task.confirm, runs=runs, budget=task.seconds * _PROVING)


_latest: dict[tuple[str, str, int], Result] = {}
"""The analysis of the last model: its pairs come one after the other."""


def analysed(task: Task) -> Result:
    """The sound analysis of the model."""
    from absint.api import analyze

    key = task.path, task.sha256, task.at_least
    if key not in _latest:
        _latest.clear()
        path = Path(task.path)
        if path.is_file() and digest_of(path) != task.sha256:
            raise ModelError(f"{task.path} has changed since the study began")
        found = analyze(task.path)
        if task.at_least:
            found = analyze(task.path, assume=[ge(symbol(name), task.at_least) for name in found.symbols])
        _latest[key] = found
    return _latest[key]


def claims_of(task: Task, result: Result) -> Claims:
    """The claims of the source about the model."""
    match task.source.kind:
        case "declared":
            return declared(result.loaded.outline())
        case "policy":
            return by_policy(task.source.name, result)
        case "tool":
            return peer(task.source.name, result.model, Path(task.path), task.seconds * _TOOL, keep=True)


def answer(found: Audit, causes: Mapping[str, Node]) -> dict[str, Json]:
    """An audit as a JSON object, with the nodes that refuted claims come from."""
    refuted = [claim for claim in found.judged if claim.judgement is Judgement.REFUTED]
    return {
        "failure": " ".join(found.failure.split())[:300],
        "tool_seconds": found.seconds,
        "dims": found.dims,
        "resolved": found.resolved,
        "claimed": len(found.judged),
        "proved": found.counts.get(Judgement.PROVED, 0),
        "refuted": len(refuted),
        "confirmed": sum(claim.confirmed for claim in refuted),
        "causes": len({id(causes[claim.places[0].value]) for claim in refuted}),
        "not_entailed": found.counts.get(Judgement.NOT_ENTAILED, 0),
        "unproved": found.counts.get(Judgement.UNPROVED, 0),
        "solver_calls": found.solver_calls,
        "refutations": [_refutation(claim, causes[claim.places[0].value]) for claim in refuted],
        "needs": found.needs,
    }


def _refutation(claim: Judged, cause: Node) -> Json:
    return {
        "relation": claim.relation,
        "places": list(map(str, claim.places)),
        "counterexample": dict(claim.counterexample or {}),
        "confirmed": claim.confirmed,
        "operator": cause.operator,
        "cause": str(cause),
    }
