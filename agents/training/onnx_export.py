"""Export perceptrons and LSTMs to one ONNX file each, with operators that every runtime has."""

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17

Layers = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]
"""(weight (out, in), bias (out,)) of each dense layer."""
Cell = tuple[NDArray[np.float32], ...]
"""An LSTM as in PyTorch: weights (4 hidden, in) of input and hidden state, then their biases."""
GATES = (0, 3, 1, 2)
"""PyTorch's index of each ONNX gate: input, output, forget, cell (PyTorch: input, forget, cell, output)."""


def perceptron(layers: Layers, negative_slope: float | None, description: str) -> bytes:
    """Return an ONNX model of dense layers with leaky ReLU between them and tanh at the end.

    It maps ``observation`` (batch, in) to ``action`` (batch, out) in [-1, 1], float32. Without a
    ``negative_slope``, tanh replaces leaky ReLU. ``description`` is the model's documentation string.
    """
    nodes, initializers = _dense(layers, negative_slope, "observation")
    inputs, outputs = {"observation": layers[0][0].shape[1]}, {"action": layers[-1][0].shape[0]}
    return model(nodes, initializers, inputs, outputs, description)


def recurrent(cell: Cell, layers: Layers, negative_slope: float | None, description: str) -> bytes:
    """Return an ONNX model of an LSTM followed by the ``layers`` of `perceptron`.

    It also maps ``hidden`` and ``cell`` (batch, hidden), initially zeros, to ``next_hidden`` and
    ``next_cell``.
    """
    by_input, by_hidden, *biases = (_by_gate(array) for array in cell)
    width = by_hidden.shape[1]
    initializers = [
        numpy_helper.from_array(np.ascontiguousarray(array[None], np.float32), name)
        for name, array in (("w", by_input), ("r", by_hidden), ("b", np.concatenate(biases)))
    ]
    initializers.append(numpy_helper.from_array(np.array([0]), "first"))
    ahead = {"observation": "sequence", "hidden": "hidden_before", "cell": "cell_before"}
    nodes = [
        helper.make_node("Unsqueeze", [name, "first"], [as_one], as_one) for name, as_one in ahead.items()
    ]
    nodes.append(
        helper.make_node(
            "LSTM",
            ["sequence", "w", "r", "b", "", "hidden_before", "cell_before"],
            ["", "hidden_after", "cell_after"],
            "lstm",
            hidden_size=width,
        )
    )
    for name in ("hidden", "cell"):
        after = f"next_{name}"
        nodes.append(helper.make_node("Squeeze", [f"{name}_after", "first"], [after], after))
    dense, weights = _dense(layers, negative_slope, "next_hidden")
    memory = {"hidden": width, "cell": width}
    inputs = {"observation": by_input.shape[1], **memory}
    outputs = {"action": layers[-1][0].shape[0], **{f"next_{name}": size for name, size in memory.items()}}
    return model([*nodes, *dense], [*initializers, *weights], inputs, outputs, description)


def _by_gate(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reorder the gates of an LSTM's weights or biases for ONNX."""
    return np.concatenate([np.split(array, 4)[gate] for gate in GATES])


def _dense(
    layers: Layers, negative_slope: float | None, value: str
) -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    """Return the nodes and weights of ``layers``, from the tensor ``value`` to ``action``."""
    nodes, initializers = [], []
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
    return nodes, initializers


def model(
    nodes: list[onnx.NodeProto],
    initializers: list[TensorProto],
    inputs: dict[str, int],
    outputs: dict[str, int],
    description: str,
) -> bytes:
    """Return a serialised model of ``nodes``; each input and output is (batch, size)."""
    takes, gives = (
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
            for name, size in values.items()
        ]
        for values in (inputs, outputs)
    )
    graph = helper.make_graph(nodes, "policy", takes, gives, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="leogym")
    # The oldest file format that has this operator set, for old runtimes.
    model.ir_version = helper.find_min_ir_version_for(list(model.opset_import))
    model.doc_string = description
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()
