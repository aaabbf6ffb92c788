"""Declared types held against the inferred ones.

diagnostics    all diagnostics of an analysis
findings       false declarations, each with sizes at which it is false
names          what the names in claimed dims stand for
claims         a declared dim as a relation between inferred dims; reading groups equal declarations
trips          what a loop carries in its first two iterations
trust          declared shapes as premises, on request
"""
