"""Inferred types written into a copy of a model, which loads wherever the model does.

annotate       writes types into a copy (type_writer), in a style; merge keeps what the author declared
gate           leaves out what a runtime would hold against the copy, by onnx's inference and by a load (loading)
idle           loops that may make no trip, and the values that their outputs take sizes from
interface      declared inputs and outputs that annotating completes
dialects       the forms in which other tools read dims; respelling writes an annotated model in one of them
ir_values      types on the values of an onnx_ir model
saving         writes such a copy to a file, weights as bytes from file to file
"""
