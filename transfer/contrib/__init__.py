"""Rules of other domains than ai.onnx. All but `ai_onnx_ml` are onnxruntime's.

    classical models       ai_onnx_ml trees support_vectors maps
    products               fused_products quantised_products packed_products experts
    convolutions           fused_convolutions
    attention              fused_attention multi_head_attention packed_attention sparse_attention decoder_attention
                           positions
    sequence models        sequence_models hyper_connections
    text and generation    generation ngram_hashes; com_microsoft has text, fused activations and normalisations
    quantisation           quantised_elementwise quantised_layers
    other tensors          tensors: ranges, windows, lookups, crops, transforms, dropout
    other layouts          channels_last (com.ms.internal.nhwc), blocked_layout (com.microsoft.nchwc)
    devices, old models    device_formats device_blocks tensorrt experimental
    other libraries        extensions

Shared by several of them:

    views        the rule of one operator applied to the inputs of another
    agreement    ranks, dims and numbers of heads that inputs must agree on
    parameters   scales, zero points and biases; rows: those of classical models, and their lists
    type_table   the types that onnxruntime's operators accept and return
"""
