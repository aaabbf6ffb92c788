"""The table of a study: what is added up, and what it looks like."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from absint.errors import UsageError
from absint.lattices.text.sheets import rendered
from absint.research.study import Record, Row, Study
from absint.research.study.study import (
    FORMS,
    Cause,
    causes,
    causes_csv,
    claims,
    dims,
    pairs_csv,
    rows,
    to_csv,
    to_json,
    write_plots,
)
from absint.show.study import notes, show

BASE = Record(
    "a.onnx", "onnx", "tool", "0" * 64, "absint 1", True, "judged", seconds=1.5, tool_seconds=0.5, dims=10, resolved=8,
    claimed=9, proved=4, refuted=2, confirmed=1, not_entailed=2, unproved=1, solver_calls=3, causes=1,
    refutations=[
        {"relation": f"{value}[0] == N", "places": [f"{value}[0]"], "counterexample": {"N": 1},
         "confirmed": value == "y", "operator": "Slice", "cause": "Slice cut"}
        for value in ("y", "z")
    ],
)  # fmt: skip
RECORDS = (
    replace(BASE, source="policy sound", kind="policy", claimed=4, refuted=0, confirmed=0, not_entailed=0, unproved=0,
            refutations=[], causes=0),
    BASE,
    replace(BASE, model="b.onnx", claimed=1, proved=1, refuted=0, confirmed=0, not_entailed=0, unproved=0, dims=2,
            resolved=1, seconds=0.25, tool_seconds=0.25, refutations=[], causes=0),
    Record("c\x1b[31m.onnx", "onnx", "tool", "", "absint 1", True, "timed out", "no result within 9 s", seconds=9.0),
    Record("d.onnx", "onnx", "tool", "", "absint 1", True, "tool failed", "crashed"),
)  # fmt: skip
SOUND = Row("policy sound", "policy", 1, 10, 8, 4, 4, 0, 0, 0, 0, 0, 3, 0.5, 1.0)
ONNX = Row("onnx", "tool", 4, 12, 9, 10, 5, 2, 1, 1, 3, 2, 6, 0.75, 10.0)


def test_rows_add_up() -> None:
    assert rows(RECORDS) == [SOUND, ONNX]
    for row in rows(RECORDS):
        assert row.proved + row.refuted + row.open == row.claimed
    assert rows([]) == []


def test_csv() -> None:
    table = list(csv.DictReader(io.StringIO(to_csv(rows(RECORDS)))))
    assert [line["source"] for line in table] == ["policy sound", "onnx"]
    assert {name: table[1][name] for name in ("claimed", "refuted", "open", "judging")} == {
        "claimed": "10", "refuted": "2", "open": "3", "judging": "10.0",
    }  # fmt: skip
    pairs = list(csv.DictReader(io.StringIO(pairs_csv(RECORDS))))
    assert [(line["model"], line["outcome"], line["failure"]) for line in pairs[3:]] == [
        ("c\x1b[31m.onnx", "timed out", "no result within 9 s"),
        ("d.onnx", "tool failed", "crashed"),
    ]
    assert "refutations" not in pairs[0]


def test_causes() -> None:
    far = replace(BASE, model="b.onnx", causes=2, refutations=[
        {**BASE.refutations[0], "operator": "Reshape", "cause": f"Reshape {name}"} for name in ("first", "second")
    ])  # fmt: skip
    assert causes([*RECORDS, far]) == [Cause("onnx", "Reshape", 2, 2, 1), Cause("onnx", "Slice", 1, 2, 1)]
    assert causes_csv(RECORDS) == "source,operator,nodes,refuted,models\nonnx,Slice,1,2,1\n"
    many = replace(
        far, refutations=[{**BASE.refutations[0], "operator": f"Op{i}", "cause": f"Op{i} n"} for i in range(8)]
    )
    (line,) = (line.text for line in notes(Study((many,))) if "from" in line.text)
    assert line == "onnx: 8 false claims from 8 nodes: Op0 1, Op1 1, Op2 1, Op3 1, Op4 1, Op5 1 and 2 more"


def test_json() -> None:
    found = json.loads(to_json(rows(RECORDS), RECORDS))
    assert found["schema"] == "absint.study/1"
    assert found["table"][1] == vars(ONNX)
    assert found["causes"] == [{"source": "onnx", "operator": "Slice", "nodes": 1, "refuted": 2, "models": 1}]
    assert found["pairs"][1]["refutations"][0]["counterexample"] == {"N": 1}


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(rows(RECORDS))
    printed = capsys.readouterr().out.splitlines()
    assert printed == [line.rstrip() for line in printed], "no padding in a pipe"
    header, _, *lines = filter(None, printed)
    columns = (
        "source models dims resolved claimed proved refuted confirmed causes open failed solver calls seconds judging"
    )
    assert header.split() == columns.split()
    assert lines[1].split() == ["onnx", "4", "12", "9", "10", "5", "2", "1", "1", "3", "2", "6", "0.8", "10.0"]
    assert [line.text for line in rendered(notes(Study(RECORDS, reused=2, damaged=1)))] == [
        "2 of 5 results are of an earlier run",
        "1 damaged line of the file of results was ignored",
        "onnx is wrong on a.onnx: y[0] == N is false at N=1",
        "onnx is wrong 1 more time",
        "onnx: 2 false claims from 1 node: Slice 1",
        "onnx has no complete answer for d.onnx: crashed",
        "no result for onnx on c\\x1b[31m.onnx: no result within 9 s",
    ]


def test_parts_of_plots_add_up() -> None:
    table = rows(RECORDS)
    assert [sum(part.counts[i] for part in claims(table)) for i in range(2)] == [4, 10]
    assert [sum(part.counts[i] for part in dims(table)) for i in range(2)] == [10, 12]
    assert [(part.label, part.counts) for part in claims(table)] == [
        ("proved", (4, 5)),
        ("open", (0, 3)),
        ("refuted by proof", (0, 1)),
        ("refuted, shown by a run", (0, 1)),
    ]


MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("form", FORMS)
def test_plots(form: str, tmp_path: Path) -> None:
    found = write_plots(rows([*RECORDS, replace(BASE, source="odd $x^")]), tmp_path, form)
    assert [path.name for path in found] == [f"claims.{form}", f"dims.{form}"]
    for path in found:
        assert path.read_bytes().startswith(MAGIC[form])


def test_plots_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"matplotlib is not installed: pip install 'absint\[plots\]'"):
        write_plots(rows(RECORDS), tmp_path)
