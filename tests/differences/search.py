"""A search for differences on the grids of the specifications, in processes that may hang or end.

A pattern is what the documents, onnx.reference and onnxruntime make of a node: legal or not, runs or fails, of these
sizes or others. Of each pattern of an operator the smallest node is kept, with all versions at which it is the same.
"""

from __future__ import annotations

import json
import multiprocessing
from collections import defaultdict
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple

from absint.research.specification.specs import Instance, specification, specified
from absint.testing.cases import arrays_of
from tests.differences.outcomes import NO_KERNEL, NOT_WRITTEN, documented, in_onnxruntime, in_reference, outcome
from tests.differences.rows import FOUND
from tests.specification import holders as held
from tests.specification.comparing import OLDEST, bindings, case_of
from tests.specification.operators import is_known, versions

SECONDS: Final = 20.0
"""A node that runs longer hangs."""

OUTSIDE: Final = ("no kernel", "not implemented")


class Found(NamedTuple):
    """A node of a grid at some sizes, and what each makes of it."""

    domain: str
    operator: str
    version: int
    instance: Instance
    at: Mapping[str, int]
    document: str
    reference: str
    runtime: str

    @property
    def pattern(self) -> tuple[str, ...] | None:
        """The kind of difference; None if there is none."""
        document = "excluded" if self.document.startswith("excluded") else self.document
        kinds = [document]
        failures = (*OUTSIDE, "fails", "hangs", "ends the process")
        kinds += [text if text in failures else "runs" for text in (self.reference, self.runtime)]
        sizes = {text for text in (document, self.reference, self.runtime) if text.startswith(("[", "a sequence"))}
        legal = {
            "fails" if text in ("excluded", "fails") else "runs"
            for text in (document, *kinds[1:])
            if text not in OUTSIDE
        }
        if len(sizes) < 2 and len(legal) < 2:
            return None
        kinds[0] = "excluded" if document == "excluded" else "legal"
        same = [str(text == document) for text in (self.reference, self.runtime)] if len(sizes) > 1 else []
        return (*kinds, *same)

    @property
    def size(self) -> tuple[int, int, str]:
        """Smaller nodes first."""
        return sum(self.at.values()), len(self.at), str(self.instance)


def search() -> None:
    """Look for rows, and write them."""
    by_pattern: dict[tuple[str, ...], list[Found]] = defaultdict(list)
    for domain, operator in filter(lambda found: is_known(*found), specified()):
        for version in versions(domain, operator):
            for node in nodes(domain, operator, version):
                if (pattern := node.pattern) is not None:
                    by_pattern[(domain, operator, *pattern)].append(node)
    write(by_pattern)


def write(by_pattern: Mapping[tuple[str, ...], list[Found]]) -> None:
    """Write the smallest node of each pattern."""
    entries = []
    for _, of_pattern in sorted(by_pattern.items()):
        least = min(of_pattern, key=lambda node: node.size)
        alike = [n for n in of_pattern if str(n.instance) == str(least.instance) and n.at == least.at]
        alike = [n for n in alike if n.instance.outputs == least.instance.outputs and n[5:] == least[5:]]
        entry: dict[str, Any] = {
            "domain": least.domain,
            "operator": least.operator,
            "versions": sorted({node.version for node in alike}),
            "instance": str(least.instance),
            "outputs": least.instance.outputs,
            "at": dict(least.at),
        }
        if least.runtime in ("hangs", "ends the process"):
            entry["death"] = least.runtime
        entries.append(entry)
    FOUND.write_text("[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n", "utf-8")


def nodes(domain: str, operator: str, version: int) -> Iterator[Found]:
    """The nodes of the grid of a version at some sizes, each run. All their inputs and outputs are tensors. Of the
    versions that are older than onnxruntime's kernels are those that it runs.
    """
    spec = specification(domain, operator, version)
    if spec is None:
        return
    for instance in spec.grid:
        if not instance.first <= version <= instance.last:
            continue
        meaning = spec.meaning(operator, version, instance)
        if held.holds(instance) or any(output.length is not None for output in meaning.outputs):
            continue
        left = list(bindings(instance, meaning))
        while left:
            results, death = _in_process((domain, operator, version, instance, left))
            for at, (document, reference, runtime) in zip(left, results, strict=False):
                if domain or version >= OLDEST or runtime.startswith("["):
                    yield Found(domain, operator, version, instance, at, document, reference, runtime or death)
            left = left[len(results) :]


Task = tuple[str, str, int, Instance, list[Mapping[str, int]]]


def _in_process(task: Task) -> tuple[list[tuple[str, str, str]], str]:
    """The outcomes of nodes in a process of its own, and how it ended if the last one of them ended it."""
    receiving, sending = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(task, sending))
    process.start()
    sending.close()
    results: list[tuple[str, str, str]] = []
    death = ""
    while len(results) < len(task[4]) or (results and not results[-1][2]):
        if not receiving.poll(SECONDS):
            process.kill()
            death = "hangs"
            break
        try:
            part = receiving.recv()
        except EOFError:
            death = "ends the process"
            break
        results[-1:] = [part] if results and not results[-1][2] else [*results[-1:], part]
    process.join()
    return results, death


def _run(task: Task, sending: Connection) -> None:
    domain, operator, version, instance, left = task
    spec = specification(domain, operator, version)
    assert spec is not None
    meaning = spec.meaning(operator, version, instance, documented=True)
    case = case_of(spec, operator, version, instance)
    for at in left:
        arrays = arrays_of(case, at, 0)
        reference = outcome(in_reference(case, arrays), NOT_WRITTEN, "not implemented")
        document = documented(meaning, at)
        sending.send((document, reference, ""))  # what follows may end the process
        sending.send((document, reference, outcome(in_onnxruntime(case, arrays), NO_KERNEL, "no kernel")))
