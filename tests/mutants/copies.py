"""Each fault in a process of its own: a copy of one that has the rules imported; where that is too late, a new one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Final

from tests.mutants.by_proof import Plain, Seen, plain, seen, seen_swapped
from tests.mutants.effects import callers
from tests.mutants.mutant import Mutant
from tests.mutants.swapping import Codes, swaps, watched

PACKAGE: Final = "absint.transfer"


def run(chosen: Sequence[Mutant], jobs: int) -> Iterator[Seen]:
    """What the proof says of each fault, in the order in which they are done."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_copies, args=(there, list(chosen), jobs))
    process.start()
    there.close()
    try:
        without: bytes = here.recv()
        late: list[Mutant] = []
        for _ in chosen:
            found = here.recv()
            if isinstance(found, Mutant):
                late.append(found)
            else:
                yield found
    finally:
        process.join()
    yield from _anew(late, without, jobs)


def _anew(chosen: Sequence[Mutant], without: bytes, jobs: int) -> Iterator[Seen]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["networkx", "numpy", "onnx", "z3", "onnxruntime", "onnx.reference", "pytest"])
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(_Task(without), chosen, chunksize=1)


class _Task:
    def __init__(self, without: bytes) -> None:
        self.without = without

    def __call__(self, mutant: Mutant) -> Seen:
        return seen(mutant, pickle.loads(self.without))


def _copies(connection: Connection, chosen: Sequence[Mutant], jobs: int) -> None:
    """Send the claims without a fault, then for each fault what is seen of it, or itself if it needs a new process."""
    with watched(PACKAGE) as early:
        from absint.transfer.families import shipped

        shipped()
    without = plain()
    connection.send(pickle.dumps(without))
    cases = callers(PACKAGE)
    context, running = get_context("fork"), []
    for mutant in chosen:
        codes = swaps(mutant, early)
        if codes is None:
            connection.send(mutant)
            continue
        numbers = sorted({number for code in codes for number in cases.get(code, ())})
        if not numbers:
            connection.send(Seen(mutant.name, mutant.breaks, frozenset(), "", ""))
            continue
        if len(running) == jobs:
            _collect(connection, running)
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_one, args=(there, mutant, without, codes, numbers))
        process.start()
        there.close()
        running.append(here)
    while running:
        _collect(connection, running)


def _collect(connection: Connection, running: list[Connection]) -> None:
    for here in wait(running):
        assert isinstance(here, Connection)
        connection.send(here.recv())
        here.close()
        running.remove(here)


def _one(connection: Connection, mutant: Mutant, without: Plain, codes: Codes, cases: Sequence[int]) -> None:
    connection.send(seen_swapped(mutant, without, codes, cases))
    connection.close()
