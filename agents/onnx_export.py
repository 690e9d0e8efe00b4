"""Writes multilayer perceptrons as ONNX: one file, and only operators that every runtime has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def perceptron(
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
    negative_slope: float | None,
    description: str,
) -> bytes:
    """Return an ONNX model of dense layers with leaky ReLU or tanh between them and tanh at the end.

    Args:
        layers: (weight (out, in), bias (out,)) of each layer.
        negative_slope: of the leaky ReLU; None for tanh.
        description: goes into the model's documentation string.

    Returns:
        A serialised model: ``observation`` (batch, in) to ``action`` (batch, out) in [-1, 1], float32.
    """
    nodes, initializers = [], []
    value = "observation"
    for number, (weight, bias) in enumerate(layers, start=1):
        for name, array in ((f"weight_{number}", weight), (f"bias_{number}", bias)):
            initializers.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        dense = f"dense_{number}"
        nodes.append(
            helper.make_node("Gemm", [value, f"weight_{number}", f"bias_{number}"], [dense], dense, transB=1)
        )
        last = number == len(layers)
        value = "action" if last else f"hidden_{number}"
        nodes.append(
            helper.make_node("Tanh", [dense], [value], value)
            if last or negative_slope is None
            else helper.make_node("LeakyRelu", [dense], [value], value, alpha=negative_slope)
        )
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", layers[0][0].shape[1]])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", layers[-1][0].shape[0]])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="leogym")
    # The oldest version of the file format that has this operator set, for runtimes that lag behind.
    model.ir_version = helper.find_min_ir_version_for(list(model.opset_import))
    model.doc_string = description
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()
