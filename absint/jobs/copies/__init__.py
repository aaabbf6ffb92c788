"""Inferred types written into a copy of a model, which loads wherever the model does.

annotate       writes types into a copy, in a style, or onto the values of an onnx_ir model; completes the declared
               inputs and outputs
type_writer    values as types of a file, merged with those that the author declared
gate           leaves out what a runtime would hold against the copy, by onnx's inference and by a load (loading)
dialects       the forms in which other tools read dims; respelling writes an annotated model in one of them
saving         writes such a copy to a file, weights as bytes from file to file
"""
