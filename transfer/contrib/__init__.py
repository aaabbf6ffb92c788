"""Operators of other domains than ONNX's own."""
