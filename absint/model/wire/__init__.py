"""The wire format of protobuf, read where it stands: in bytes, or in a file that is mapped into memory.

fields      varints and the fields of one message: number, wire type, span; a file that cannot be mapped, in slices
scalars     texts and numbers in fields. Neither knows anything of ONNX
splicing    a message with changed fields, as spans of the original and new bytes

A model without its weights:

    tensors, graphs                 messages as plain objects, with protobuf's names of their fields
    read_tensors, read_attributes,  readers of these from a file, types with the attributes, nodes with the graphs;
    read_graphs                     nodes with equal tails share one
    kinds                           the numbers of attribute types
    unread                          the fields of a message by number; those that no analysis reads may be damaged
"""
