"""Operators of users: rules that are badly written, rules of packages, onnx schemas, and the conformance kit.

graphs   models around one custom operator
"""
