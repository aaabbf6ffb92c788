"""The messages that a model consists of, of protobuf or of `absint.model.wire`.

Those of `wire` lack what no analysis reads, and have protobuf's names for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import onnx

    from absint.model.wire import graphs, tensors

DimMessage: TypeAlias = "onnx.TensorShapeProto.Dimension | graphs.Dim"
TensorTypeMessage: TypeAlias = "onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor | graphs.TensorType"
TypeMessage: TypeAlias = "onnx.TypeProto | graphs.Type"
ValueInfoMessage: TypeAlias = "onnx.ValueInfoProto | graphs.ValueInfo"
TensorMessage: TypeAlias = "onnx.TensorProto | tensors.Tensor"
AttributeMessage: TypeAlias = "onnx.AttributeProto | graphs.Attribute"
NodeMessage: TypeAlias = "onnx.NodeProto | graphs.Node"
GraphMessage: TypeAlias = "onnx.GraphProto | graphs.Graph"
FunctionMessage: TypeAlias = "onnx.FunctionProto | graphs.Function"
ModelMessage: TypeAlias = "onnx.ModelProto | graphs.Model"
