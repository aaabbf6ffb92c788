"""Rules of other domains than ai.onnx, by what the operators are for.

`ai_onnx_ml` has classical models. All others are onnxruntime's: `com_microsoft` (fused activations and normalisations,
text), `fused_products`, the attentions (`fused_attention`, `multi_head_attention`, `packed_attention`,
`sparse_attention`, `decoder_attention`, `positions`), `sequence_models`, `generation`, `ngram_hashes`,
`hyper_connections`, `tensors`, quantisation (`quantised_elementwise`, `quantised_products`, `quantised_layers`,
`packed_products`, `experts`, `parameters`), other layouts (`channels_last`, `blocked_layout`), and what belongs to one
device or to old models (`device_formats`, `tensorrt`, `experimental`). `views` runs a rule of ONNX on other inputs, and
`agreement` has what many rules require of sizes.
"""
