"""Specifications held against runs at small sizes, and rules proved against specifications.

comparing    a specification against onnxruntime, else onnx.reference, at one instance
coverage     which attributes instances set: `python -m tests.specification.coverage`
"""
