"""ONNX files as plain data. Nothing here knows of programs or shapes of values that nodes compute.

load            a model from a path, bytes or a proto; opening guards against hostile files
wire            the wire format of protobuf: messages where they stand, without their weights
onnx_ir_models  models of onnx_ir as messages, without the data of large tensors
files           the file of a model, opened again and copied; writing replaces a file as a whole; early_copies: a copy
                that is under way before it is known what changes
held_files      external data that a model refers to
outlines        messages without the data of large tensors; differences between a model and its annotated copy
walk            over the graphs of a model, whatever holds them
protos          names, domains, captured values and attributes of messages
declared_types  declared types as abstract values; dtypes: element types of array libraries
definitions     names of long dims in the metadata of an annotated model
initialisers    tensors as abstract values; weights: their ranges; sources: inputs and tensors that no runtime accepts
schemas         output types and function bodies of operators; signatures: the types that they take and give
registry        schemas of the installed onnx, read from a table of its version; schema: one of them as data
inference       types that keep an annotated model from loading; inference_process: onnx's inference, which tells;
                onnx_package: onnx without what it imports
largest         the largest tensor that there can be; lengths: of the data that tensors have and should have
"""
