"""The numbers of attribute types that an analysis reads, as AttributeProto.AttributeType has them."""

from typing import Final

FLOAT: Final = 1
INT: Final = 2
STRING: Final = 3
TENSOR: Final = 4
GRAPH: Final = 5
FLOATS: Final = 6
INTS: Final = 7
STRINGS: Final = 8
GRAPHS: Final = 10
SPARSE_TENSOR: Final = 11
TYPE_PROTO: Final = 13
LAST: Final = 14
"""The last of all types, TYPE_PROTOS; protobuf reads a higher number as no type."""
