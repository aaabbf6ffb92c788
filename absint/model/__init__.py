"""ONNX files as plain data. Nothing here knows about programs, or the shapes that nodes compute.

load            a model from a path, bytes or a proto; opening guards against hostile files
wire            the wire format of protobuf: messages where they stand, without their weights
onnx_ir_models  models of onnx_ir as messages, without the data of large tensors
opening         the file of a model, opened again and copied in parts
writing         replaces a file as a whole, and never the model or its weights
early_copies    a copy that is under way before it is known what changes
protos          names, domains, graphs, captured values and attributes of messages; nodes in topological order
declared_types  declared types as abstract values; inputs and tensors that no runtime accepts; names of long dims in the
                metadata of an annotated model
initialisers    tensors as abstract values, and the lengths of their data; element types of array libraries
weights         the ranges of initialisers
schemas         output types and function bodies of operators; signatures: the types that they take and give
registry        the schemas of the installed onnx as data, read from a table of its version
inference       what onnx's inference refuses (inference_process), asked without the data of large tensors
differences     between a model and its annotated copy; onnx_package: onnx without what it imports
"""
