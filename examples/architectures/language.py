"""Encoders and decoders of text, with and without caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers

from architectures.hugging_face import SMALL, both, ids, model, ones, text
from architectures.record import BOTH, TORCHSCRIPT, Architecture, Exporter, Inputs

DECODER = {**SMALL, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PAIR = {
    "vocab_size": 40, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip


def cached(model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, **past: torch.Tensor) -> object:
    """Logits and the grown cache."""
    cache = transformers.DynamicCache()
    for layer in range(len(past) // 2):
        cache.update(past[f"past_key_{layer}"], past[f"past_value_{layer}"], layer)
    found = model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
    return found.logits, [[layer.keys, layer.values] for layer in found.past_key_values.layers]


def with_cache(heads: int = 2, size: int = 16, layers: int = 2) -> Callable[[], Inputs]:
    """Tokens, a mask over all, and keys and values of earlier tokens."""
    dims = ["batch", heads, "past", size]
    parts = [f"past_{part}_{layer}" for layer in range(layers) for part in ("key", "value")]
    return lambda: {
        "input_ids": (ids(2, 5), ["batch", "seq"]),
        "attention_mask": (ones(2, 8), ["batch", "past + seq"]),
        **{name: (torch.randn(2, heads, 3, size), dims) for name in parts},
    }


def causal(
    name: str, kind: str, exporters: tuple[Exporter, ...] = BOTH, heads: int = 2, **settings: Any
) -> Architecture:
    return model(name, kind, with_cache(heads), exporters, call=cached, **settings)


def pair(name: str, kind: str, exporters: tuple[Exporter, ...] = BOTH, **settings: Any) -> Architecture:
    return model(name, kind, both(text(2, 6), target), exporters, **settings)


def target() -> Inputs:
    """Tokens of the decoder."""
    return {"decoder_input_ids": (ids(2, 4), ["batch", "target"])}


LANGUAGE = (
    model("bert", "BertModel", text(), **SMALL),
    model("roberta", "RobertaForQuestionAnswering", text(), **SMALL),
    model("distilbert", "DistilBertModel", text(), vocab_size=40, dim=32, n_layers=2, n_heads=2, hidden_dim=32),
    model("albert", "AlbertModel", text(), embedding_size=16, **SMALL),
    model("electra", "ElectraForTokenClassification", text(), embedding_size=16, **SMALL),
    model("deberta_v2", "DebertaV2Model", text(), TORCHSCRIPT, relative_attention=True, position_buckets=8,
          pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", conv_kernel_size=3, **SMALL),
    model("mpnet", "MPNetModel", text(), TORCHSCRIPT, **SMALL),
    model("longformer", "LongformerModel", text(2, 16), TORCHSCRIPT, attention_window=[4, 4], **SMALL),
    model("funnel", "FunnelModel", text(2, 16), TORCHSCRIPT, vocab_size=40, block_sizes=[1, 1], d_model=32, n_head=2,
          d_head=8, d_inner=32, num_decoder_layers=1),
    model("xlnet", "XLNetModel", text(), TORCHSCRIPT, vocab_size=40, d_model=32, n_layer=2, n_head=2, d_inner=32),
    model("t5_encoder", "T5EncoderModel", text(), vocab_size=40, d_model=32, d_kv=8, d_ff=32, num_layers=2,
          num_heads=4),
    model("modernbert", "ModernBertModel", text(), TORCHSCRIPT, pad_token_id=0, bos_token_id=1, eos_token_id=2,
          cls_token_id=1, sep_token_id=2, local_attention=4, **SMALL),
    model("mamba", "MambaModel", text(2, 7, mask=False), TORCHSCRIPT, vocab_size=40, hidden_size=32,
          num_hidden_layers=1, state_size=4),
    causal("gpt2", "GPT2LMHeadModel", vocab_size=40, n_embd=32, n_layer=2, n_head=2, n_positions=64),
    causal("gpt_neox", "GPTNeoXForCausalLM", **SMALL),
    causal("opt", "OPTForCausalLM", vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
           ffn_dim=32, max_position_embeddings=64, word_embed_proj_dim=32),
    causal("bloom", "BloomForCausalLM", vocab_size=40, hidden_size=32, n_layer=2, n_head=2),
    causal("llama", "LlamaForCausalLM", **DECODER),
    causal("mistral", "MistralForCausalLM", sliding_window=64, **DECODER),
    causal("qwen3", "Qwen3ForCausalLM", head_dim=16, **DECODER),
    causal("gemma2", "Gemma2ForCausalLM", head_dim=16, sliding_window=4, **DECODER),
    causal("phi3", "Phi3ForCausalLM", **DECODER),
    pair("bart", "BartForConditionalGeneration", **PAIR),
    pair("pegasus", "PegasusForConditionalGeneration", **PAIR),
    pair("t5", "T5ForConditionalGeneration", vocab_size=40, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4,
         decoder_start_token_id=0),
)  # fmt: skip

__all__ = ["LANGUAGE"]
