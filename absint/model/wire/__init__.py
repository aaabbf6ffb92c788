"""The wire format of protobuf, read where it stands: in bytes, or in a file that is mapped into memory.

fields      varints and the fields of one message: number, wire type, span; texts and numbers. It knows nothing of ONNX
sliced      a file that cannot be mapped, read in slices
splicing    a message with changed fields, as spans of the original and new bytes

A model without its weights:

    tensors, graphs                 messages as plain objects, with protobuf's names of their fields
    read_types, read_tensors,       readers of these from a file; nodes with equal tails share one
    read_attributes, read_nodes,
    read_graphs
    kinds                           the numbers of attribute types
    unread                          the fields of a message by number; those that no analysis reads may be damaged
"""
