"""Speech, audio and video."""

from __future__ import annotations

from architectures.hugging_face import both, floats, model, ones, wave
from architectures.language import target
from architectures.record import DYNAMO, TORCHSCRIPT, Inputs

WAVE = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "conv_dim": (8, 8, 8),
    "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3), "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2, "vocab_size": 12,
}  # fmt: skip


def heard() -> Inputs:
    """Which samples are heard."""
    return {"attention_mask": (ones(2, 1600), ["batch", "samples"])}


SOUNDS = (
    model("wav2vec2", "Wav2Vec2ForCTC", wave(), **WAVE),
    model("hubert", "HubertForCTC", wave(), **WAVE),
    model("wavlm", "WavLMModel", both(wave(), heard), TORCHSCRIPT, **WAVE),
    model("sew", "SEWModel", wave(), TORCHSCRIPT, squeeze_factor=2, **WAVE),
    model("wav2vec2_conformer", "Wav2Vec2ConformerForCTC", wave(), TORCHSCRIPT, position_embeddings_type="relative",
          max_source_positions=2000, **WAVE),
    model("speecht5", "SpeechT5ForSpeechToText", both(wave(), target), TORCHSCRIPT, hidden_size=32, encoder_layers=1,
          decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
          decoder_ffn_dim=32, conv_dim=(8, 8), conv_stride=(5, 4), conv_kernel=(10, 8), num_conv_pos_embeddings=8,
          num_conv_pos_embedding_groups=2, vocab_size=40, pad_token_id=0, bos_token_id=1, eos_token_id=2,
          decoder_start_token_id=2),
    model("whisper", "WhisperForConditionalGeneration",
          both(floats("input_features", (2, 8, 40), ["batch", 8, 40]), target), DYNAMO, vocab_size=40,
          num_mel_bins=8, d_model=32, encoder_layers=1, decoder_layers=1,
          encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
          max_source_positions=20, max_target_positions=30, pad_token_id=0, bos_token_id=1, eos_token_id=2,
          decoder_start_token_id=2),
    model("encodec", "EncodecModel", floats("input_values", (2, 1, 640), ["batch", 1, "samples"]), TORCHSCRIPT,
          hidden_size=8, num_filters=2, upsampling_ratios=[4, 2, 2], num_lstm_layers=1, codebook_size=8,
          codebook_dim=8, target_bandwidths=[1.5, 3.0], sampling_rate=640),
    model("dac", "DacModel", floats("input_values", (2, 1, 640), ["batch", 1, "samples"]), TORCHSCRIPT,
          encoder_hidden_size=4, downsampling_ratios=[2, 4], decoder_hidden_size=16, upsampling_ratios=[4, 2],
          n_codebooks=2, codebook_size=8, codebook_dim=4, hidden_size=16),
    model("timesformer", "TimesformerModel", floats("pixel_values", (2, 4, 3, 32, 32), ["batch", 4, 3, 32, 32]),
          TORCHSCRIPT, image_size=32, patch_size=16, num_frames=4, hidden_size=32, num_hidden_layers=1,
          num_attention_heads=2, intermediate_size=32),
)  # fmt: skip

__all__ = ["SOUNDS"]
