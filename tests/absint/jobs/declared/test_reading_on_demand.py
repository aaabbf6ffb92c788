"""Types that the author declares cost nothing until a question needs them, and each is read once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import onnx
import pytest
from onnx import TensorProto, TypeProto, helper

import absint
from absint.errors import ModelError
from absint.lattices.terms.intern import Kept
from absint.lattices.text import dim_params
from absint.model import declared_types

TEXT = "floor(seq/2 - 1/2) + 1"
"""The size of every second place, as torch writes it."""


@pytest.fixture(autouse=True)
def _purged() -> Iterator[None]:
    absint.purge()
    yield
    absint.purge()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[TypeProto]:
    """The declared types that are read, not looked up."""
    found: list[TypeProto] = []
    reads = declared_types._read

    def counted(proto: TypeProto, total: bool) -> object:
        found.append(proto)
        return reads(proto, total)

    monkeypatch.setattr(declared_types, "_read", counted)
    return found


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed."""
    found: list[str] = []
    reads = dim_params._read_dim_param

    def counted(text: str, names: frozenset[str], total: bool) -> object:
        found.append(text)
        return reads(text, names, total)

    monkeypatch.setattr(dim_params, "_read_dim_param", counted)
    return found


def strided(count: int, text: str = TEXT) -> onnx.ModelProto:
    """Every second place of a vector, through `count` nodes, each declared with the same text."""
    names = [f"v{at}" for at in range(count)]
    nodes = [helper.make_node("Slice", ["x", "zero", "end", "zero", "two"], ["v0"])]
    nodes += [helper.make_node("Relu", [before], [name]) for before, name in itertools.pairwise(names)]
    constants = [
        helper.make_tensor(name, TensorProto.INT64, [1], [number])
        for name, number in (("zero", 0), ("end", 1 << 40), ("two", 2))
    ]
    value_info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [text]) for name in names]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["seq"] if name == "x" else None) for name in "xy"]
    nodes.append(helper.make_node("Relu", [names[-1]], ["y"]))
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants, value_info=value_info)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_analysis_reads_the_types_of_inputs_alone(read: list[TypeProto], parsed: list[str]) -> None:
    result = absint.analyze(strided(20))
    assert [proto.tensor_type.shape.dim[0].dim_param for proto in read] == ["seq"]
    assert parsed == []
    assert str(result.shapes["y"]) == "[(seq + 1)//2]"


def test_a_text_is_parsed_once_for_all_values_and_analyses(parsed: list[str]) -> None:
    for _ in range(3):
        assert absint.analyze(strided(20)).diagnostics == ()
    assert parsed == [TEXT]
    absint.purge()
    assert absint.analyze(strided(20)).diagnostics == ()
    assert parsed == [TEXT, TEXT]


def test_a_claim_that_is_false_is_found_when_it_is_asked_for(parsed: list[str]) -> None:
    result = absint.analyze(strided(2, "floor(seq/2)"))
    assert parsed == []
    assert [d.code for d in result.diagnostics] == ["false-declaration"] * 2
    assert parsed == ["floor(seq/2)"]


def test_a_claim_that_is_no_text_is_refused_when_it_is_read() -> None:
    content = strided(2, "seqs").SerializeToString().replace(b"seqs", b"\xffeqs")
    result = absint.analyze(content)
    assert str(result.shapes["y"]) == "[(seq + 1)//2]"
    for ask in (lambda: result.diagnostics, result.annotate):
        with pytest.raises(ModelError, match=r"a dim has a name that is not valid UTF-8: b'\\xffeqs'"):
            ask()
    with pytest.raises(ModelError, match="not valid UTF-8"):
        absint.analyze(content, strict=True)


def test_equal_types_are_read_once_and_texts_of_inputs_apart(read: list[TypeProto]) -> None:
    proto = helper.make_tensor_type_proto(TensorProto.FLOAT, ["broadcast(a, b)"])
    claimed, again = (declared_types.read_type(proto) for _ in range(2))
    total = declared_types.read_type(proto, total=True)
    assert claimed is again
    assert len(read) == 2
    assert str(claimed.shape) != str(total.shape)  # type: ignore[union-attr]


def test_kept_results_are_bounded_by_their_length() -> None:
    kept: Kept[str, int] = Kept(10)
    assert [kept.add(text, len(text), len(text)) for text in ("aaaa", "bbbb")] == [4, 4]
    assert (kept.get("aaaa"), kept.get("bbbb"), len(kept)) == (4, 4, 2)
    kept.add("ccc", 3, 3)
    assert (kept.get("aaaa"), kept.get("ccc"), len(kept)) == (None, 3, 1)
    absint.purge()
    assert len(kept) == 0
