"""Rules of other domains than ai.onnx. All but `ai_onnx_ml` are onnxruntime's.

    classical models       ai_onnx_ml, ml_models: trees, support vector machines, maps
    products               products: fused (with convolutions), packed, mixtures of experts
    attention              fused_attention multi_head_attention packed_attention
    sequence models        sequence_models
    text and generation    generation; com_microsoft has text, fused activations and normalisations
    quantisation           quantised_layers (products and element-wise operators among them)
    other tensors          tensors: ranges, windows, lookups, crops, transforms, dropout; hyper-connections
    other layouts          image_layouts (com.ms.internal.nhwc, com.microsoft.nchwc)
    devices                devices
    others                 extensions (other libraries, old operators, plugins of TensorRT)

Shared by several of them:

    type_table   the types that onnxruntime's operators accept and return
"""
