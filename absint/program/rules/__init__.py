"""The choice of a transfer rule for an operator.

lookup        the table, then installed packages, then a last resort
plugins       rules that installed packages ship, by entry points, and those in Python files that a caller names
schema_rules  the inference function of an onnx schema as a rule
"""
