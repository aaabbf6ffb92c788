"""Nodes and declarations that break the types of their operators: told, and no answer takes them for legal.

`mutations` gives legal models another type in one place; `runtime` asks onnxruntime whether it loads them.
"""
