"""Z3 and cvc5 on a script, each with an enforced time limit."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

from absint.errors import UsageError
from absint.packages import is_installed, missing
from absint.research.obligations.solving import in_cvc5
from absint.runs.pool import Job, Json, run
from absint.solver.backend import shared

Verdict = Literal["sat", "unsat", "unknown"]

PERFORM: Final = "absint.research.study.solvers:perform"
SOLVERS: Final = ("z3", "cvc5")
GRACE: Final = 10.0
"""Seconds past its limit until the process of a solver is killed."""


@dataclass(frozen=True)
class Checked:
    """The solvers' verdicts on one script."""

    file: str
    status: str
    """The status that the script states."""
    verdicts: Mapping[str, Verdict]
    reasons: Mapping[str, str]
    """The reason of each solver without a verdict."""

    @property
    def decided(self) -> bool:
        """Every solver has a verdict."""
        return "unknown" not in self.verdicts.values()

    @property
    def agrees(self) -> bool:
        """No solver contradicts the status."""
        return set(self.verdicts.values()) <= {self.status, "unknown"}


def check(folder: Path, statuses: Mapping[str, str], *, seconds: float, jobs: int) -> Iterator[Checked]:
    """Ask both solvers about each file of a folder, within that many seconds each; files come as they are answered.

    Raises UsageError if a solver is not installed or a file is missing.
    """
    for solver in SOLVERS:
        if not is_installed(solver):
            raise UsageError(f"--check: {missing(solver)}")
    for file in statuses:
        if not (folder / file).is_file():
            raise UsageError(f"{folder / file} is in the index but not there: export again")
    folder = folder.absolute()
    groups: list[Sequence[Job]] = [
        [{"path": str(folder / file), "file": file, "solver": solver, "limit": seconds, "seconds": seconds + GRACE}]
        for file in statuses
        for solver in SOLVERS
    ]
    answers: dict[str, dict[str, tuple[Verdict, str]]] = {}
    with closing(run(groups, PERFORM, jobs=jobs)) as results:
        for finished in results:
            file = str(finished.job["file"])
            found = answers.setdefault(file, {})
            done = finished.done
            answer = done.answer if done.outcome == "done" else ("unknown", done.failure)
            found[str(finished.job["solver"])] = cast("tuple[Verdict, str]", answer)
            if len(found) == len(SOLVERS):
                verdicts = {name: found[name][0] for name in SOLVERS}
                reasons = {name: found[name][1] for name in SOLVERS if found[name][1]}
                yield Checked(file, statuses[file], verdicts, reasons)


def perform(job: Job) -> Json:
    """The verdict of a solver on a script, or the reason for none."""
    script = Path(str(job["path"])).read_text("ascii")
    limit = cast(float, job["limit"])
    return list(by_z3(script, limit) if job["solver"] == "z3" else by_cvc5(script, limit))


def by_z3(script: str, seconds: float) -> tuple[Verdict, str]:
    """Z3's verdict, or the reason for none."""
    answer = shared().check(script, rlimit=0, seconds=seconds, core=False)
    return answer.verdict, answer.reason


def by_cvc5(script: str, seconds: float) -> tuple[Verdict, str]:
    """cvc5's verdict, or the reason for none."""
    text, _ = in_cvc5(script, seconds)
    if text in ("sat", "unsat"):
        return cast("Verdict", text), ""
    return "unknown", " ".join(text.split())[:200]
