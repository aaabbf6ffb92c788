"""The table over models of real exporters."""

from __future__ import annotations

from typing import Final

from tests.absint.questions.queries.rows import Row

ROWS: Final[tuple[Row, ...]] = (
    Row("bert.dynamo", "shape(layer_norm_24) == [batch, seq, 64]", "proved"),
    Row("bert.dynamo", "layer_norm_24[1] == input_ids[1]", "proved"),
    Row("bert.dynamo", "seq <= 64", "proved", note="the table of positions"),
    Row("bert.dynamo", "seq <= 64", "refuted", given="inputs"),
    Row("bert.dynamo", "seq <= 63", "refuted", confirm=True),
    Row("bert.dynamo", "batch == seq", "refuted", confirm=True),
    Row("bert.legacy", "batch >= 1 and seq >= 1", "proved", note="a -1 in a Reshape"),
    Row("bert_fused.ort", "seq <= 64", "proved"),
    Row("distilbert.dynamo", "seq >= 1 -> layer_norm_12[2] == 64", "proved"),
    Row("clip.legacy", "`1668`[0] == images and `1668`[1] == texts", "proved"),
    Row("clip.legacy", "seq <= 32", "proved"),
    Row("clip.legacy", "images == texts", "refuted", confirm=True),
    Row("gpt2_past.dynamo", "cat_24[2] == past + seq", "proved"),
    Row("gpt2_past.dynamo", "linear[1] == input_ids[1]", "proved"),
    Row("gpt2_past.dynamo", "cat_24[2] == total", "refuted", confirm=True, note="a longer mask runs"),
    Row("gpt2_past.legacy", "seq >= 1 and total >= 1", "proved"),
    Row("llama_past.dynamo", "shape(cat_35) == shape(cat_36)", "proved"),
    Row("llama_past.dynamo", "cat_39[2] - past == seq", "proved"),
    Row("llama_past.dynamo", "past >= 1", "refuted", confirm=True, note="the first step has no past"),
    Row("llama_past_eager48.dynamo", "cat_99[2] == cat_100[2]", "proved"),
    Row("mamba.legacy", "seq == 8", "proved", note="the exporter fixed it"),
    Row("mamba.legacy", "seq == 9", "contradiction", assume=["seq >= 9"]),
    Row("t5_decoder.dynamo", "linear_60[1] == decoder_input_ids[1]", "proved"),
    Row("t5_decoder.dynamo", "enc == dec", "refuted", confirm=True),
    Row("bart.legacy", "`1737`[1] == dec", "proved"),
    Row("wav2vec2.legacy", "samples >= 400", "proved"),
    Row("wav2vec2.legacy", "samples >= 401", "refuted", confirm=True),
    Row("wav2vec2.legacy", "`626`[1] == (samples + 240) // 320 - 1", "proved"),
    Row("wav2vec2.legacy", "320 * `626`[1] <= samples", "proved"),
    Row("convnext.dynamo", "height >= 32", "proved"),
    Row("convnext.dynamo", "width >= 33", "refuted", confirm=True),
    Row("unet_sd.dynamo", "height % 4 == 0 and width % 4 == 0", "proved", note="two levels with skip connections"),
    Row("unet_sd.dynamo", "conv2d_48[2] == height", "proved"),
    Row("unet_sd.dynamo", "height % 8 == 0", "refuted", confirm=True),
    Row("unet_classic.legacy", "`309`[2] == height and `309`[3] == width", "proved", note="cropped to the skips"),
    Row("vae_decoder.legacy", "`532`[2] == 4 * height", "proved"),
    Row("timm_mobilevit.dynamo", "batch >= 1 -> ((height + 7) // 8) % 8 == 0", "proved"),
    Row("timm_mobilevit.dynamo", "height % 64 == 0", "refuted", confirm=True, note="57 is rounded up to 64"),
    Row("fpn.dynamo", "upsample_bilinear2d_5[2] == height", "proved"),
    Row("fpn.dynamo", "cat[1] == cat_1[1]", "proved"),
    Row("yolo_nms.legacy", "onnx::Greater_527[0] == onnx::Mul_492[0]", "proved"),
    Row(
        "yolo_nms.legacy", "onnx::Gather_508[0] == `534`[0]", "not entailed", note="boxes before and after a threshold"
    ),
    Row("lstm_seq2seq_loop.legacy", "logits.7[1] == tgt_len + 1", "proved", note="a Loop"),
    Row("gnn.dynamo", "relu_5[0] == nodes", "proved"),
    Row("gnn.dynamo", "nodes == edges", "refuted", confirm=True),
    Row("light_squeezenet.caffe2", "H >= 23 and softmaxout_1[2] == 1", "proved"),
    Row("light_squeezenet.caffe2", "H >= 24", "refuted", confirm=True),
    Row("conv_pyramid.synthetic", "H >= 403 and y[2] % 16 == 0", "proved"),
    Row("reshape_chain.synthetic", "width % 4 == 0 and seq * (width // 4) % 8 == 0", "proved"),
    Row("reshape_chain.synthetic", "width % 8 == 0", "refuted", confirm=True),
    Row("window_attn.legacy", "height >= 1", "proved"),
    Row("sk_column_transformer.skl2onnx", "label[0] == probabilities[0]", "proved"),
)
