"""The wire format of protobuf, read where it stands: in bytes, or in a file that is mapped into memory.

fields      varints and the fields of one message: number, wire type, span. Nothing here knows of ONNX
splicing    a message with changed fields, as spans of the original and new bytes
"""
