"""Declared types held against the inferred ones, and inferred types written into a copy of the model.

diagnostics    all diagnostics of an analysis
findings       false declarations, each with sizes at which it is false
claims         a declared dim as a relation between inferred dims; reading groups equal declarations
trips          what a loop carries in its first two iterations
legal          legal sizes at which relations are false, found without a solver
trust          declared shapes as premises, on request
annotate       writes inferred types into a copy of the model (type_writer), in a style; merge keeps what the author
               declared
interface      declared inputs and outputs that annotating completes
dialects       the forms in which other tools read dims; respelling writes an annotated model in one of them
ir_values      types on the values of an onnx_ir model
saving         writes such a copy to a file, weights as bytes from file to file
"""
