"""Contracts of real models: every size that ran is legal, and the clauses are those a user would expect."""

from __future__ import annotations

import pytest

import absint
from tests.real_models import REAL

EXPECTED = {
    "bert.dynamo": ["seq >= 1", "seq <= 64"],
    "conv_pyramid.synthetic": ["H >= 403", "W >= 439"],
    "gnn.dynamo": ["nodes >= 1 or edges == 0"],
    "gpt2_fused.ort": ["batch >= 1", "seq >= 1", "seq <= 64"],
    "gpt2_past.dynamo": ["past + seq >= 1", "past + seq <= total or batch == 0"],
    "light_squeezenet.caffe2": ["H >= 23", "W >= 23"],
    "llama_past.legacy": ["batch >= 1", "seq >= 1", "past + seq <= total"],
    "llama_past_eager48.dynamo": ["past + seq <= total or batch == 0"],
    "mamba.legacy": ["seq == 8"],
    "reshape_chain.synthetic": ["batch >= 1", "seq >= 1", "width % 4 == 0", "width >= 1", "seq*(width//4) % 8 == 0"],
    "resnet50.dynamo": ["height >= 1", "width >= 1"],
    "timm_mobilevit.dynamo": [
        "height >= 1",
        "width >= 1",
        "((height + 7)//8) % 8 == 0 or batch == 0",
        "((width + 7)//8) % 8 == 0 or batch == 0",
    ],
    "unet_sd.dynamo": ["batch >= 1", "height % 4 == 0", "height >= 4", "width % 4 == 0", "width >= 4", "seq >= 1"],
    "vit.dynamo": [],
    "wav2vec2.legacy": ["batch >= 1", "samples >= 400"],
    "window_attn.legacy": ["height >= 1", "width >= 1"],
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", REAL)
def test_what_ran_is_legal(name: str) -> None:
    result = absint.analyze(REAL[name].path)
    contract = result.contract()
    assert contract.possible
    for run in REAL[name].truth["runs"]:
        sizes = {symbol: run["binding"][symbol] for symbol in result.symbols if symbol in run["binding"]}
        assert contract.allows(sizes), [str(c) for c in contract.clauses if not c.relation.evaluate(sizes)]
        assert result.check(sizes).ok, str(result.check(sizes))
    if name in EXPECTED:
        assert [str(clause.relation) for clause in contract.clauses] == EXPECTED[name]
