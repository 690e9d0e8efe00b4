"""Exports a trained policy to the policy folder that every backend loads."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from leogym.agents.clone.network import CLIP, FLOOR, Encoder, Policy
from leogym.agents.clone.pool import ACTION_MAX, SPEC_VERSION
from leogym.agents.clone.settings import CloneSettings
from leogym.agents.training.onnx_export import OPSET


class _Graph:
    """Nodes and weights; each value is named after its node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[TensorProto] = []

    def weight(self, name: str, array: NDArray[np.generic]) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def tensor(self, name: str, tensor: Tensor) -> str:
        return self.weight(name, tensor.detach().numpy().astype(np.float32))

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def dense(self, layer: Any, x: str, output: str) -> str:
        weight, bias = layer.weight, layer.bias
        inputs = [x, self.tensor(f"{output}_weight", weight), self.tensor(f"{output}_bias", bias)]
        return self.node("Gemm", inputs, output, transB=1)

    def norm(self, layer: Any, x: str, output: str) -> str:
        weight, bias = layer.weight, layer.bias
        inputs = [x, self.tensor(f"{output}_scale", weight), self.tensor(f"{output}_shift", bias)]
        return self.node("LayerNormalization", inputs, output, epsilon=layer.eps)

    def encoder(self, encoder: Encoder, x: str, output: str) -> str:
        dense = self.dense(encoder.dense, x, f"{output}_dense")
        return self.node("Tanh", [self.norm(encoder.norm, dense, f"{output}_norm")], output)


def gates(tensor: Any) -> NDArray[np.float32]:
    """Reorder a GRU's weights from PyTorch's gates (r z n) to ONNX's (z r n)."""
    reset, update, candidate = tensor.detach().numpy().astype(np.float32).reshape(3, -1, *tensor.shape[1:])
    return np.concatenate([update, reset, candidate])


def to_onnx(policy: Policy, description: str, *, reset_first: bool = False) -> bytes:
    """Return ``policy`` as a serialised ONNX model.

    It maps ``observation`` (batch, dim) and ``state`` (batch, gru), initially zeros, to ``next_state`` and
    ``action`` (batch, 1), half the mixture's mean, in [-1, 1]. With ``reset_first`` the GRU applies its reset
    gate before the recurrent weights; PyTorch's applies it after them.
    """
    graph = _Graph()
    torso, size = policy.torso, policy.torso.gru.hidden_size
    observation_dim = policy.normaliser.mean.shape[0]
    low, high = (
        graph.weight(name, np.array(value, np.float32)) for name, value in (("low", -1.0), ("high", 1.0))
    )
    x = "observation"
    if policy.normaliser.active:
        if policy.normaliser.logarithms:
            shift = graph.tensor("shift", policy.normaliser.shift)
            floor = graph.weight("floor", np.array(FLOOR, np.float32))
            x = graph.node("Clip", [graph.node("Add", [x, shift], "shifted"), floor], "positive")
            x = graph.node("Log", [x], "logarithm")
        mean = graph.tensor("mean", policy.normaliser.mean)
        deviation = graph.tensor("deviation", policy.normaliser.deviation)
        x = graph.node("Sub", [x, mean], "centred")
        x = graph.node("Div", [x, deviation], "normal")
        bounds = [
            graph.weight("normal_low", np.array(-CLIP, np.float32)),
            graph.weight("normal_high", np.array(CLIP, np.float32)),
        ]
        x = graph.node("Clip", [x, *bounds], "bounded")
    x = graph.encoder(torso.before, x, "encoded")
    first = graph.weight("first_axis", np.array([0], np.int64))
    sequence = graph.node("Unsqueeze", [x, first], "sequence")
    state = graph.node("Unsqueeze", ["state", first], "state_before")
    recurrent = [
        graph.weight("gru_input", gates(torso.gru.weight_ih_l0)[None]),
        graph.weight("gru_memory", gates(torso.gru.weight_hh_l0)[None]),
        graph.weight(
            "gru_bias", np.concatenate([gates(torso.gru.bias_ih_l0), gates(torso.gru.bias_hh_l0)])[None]
        ),
    ]
    graph.nodes.append(
        helper.make_node(
            "GRU",
            [sequence, *recurrent, "", state],
            ["", "state_after"],
            "gru",
            hidden_size=size,
            linear_before_reset=0 if reset_first else 1,
        )
    )
    memory = graph.node("Squeeze", ["state_after", first], "next_state")
    x = graph.dense(torso.dense, graph.encoder(torso.after, memory, "recalled"), "residual_0")
    for number, block in enumerate(torso.blocks, start=1):
        inner = graph.node("Relu", [graph.dense(block.first, x, f"first_{number}")], f"inner_{number}")
        added = graph.node(
            "Add", [x, graph.dense(block.second, inner, f"second_{number}")], f"added_{number}"
        )
        x = graph.norm(block.norm, added, f"residual_{number}")
    components = policy.head.out_features // 3
    parts = {"logits": slice(0, components), "means": slice(components, 2 * components)}
    logits, means = (
        graph.node(
            "Gemm",
            [
                x,
                graph.tensor(f"{name}_weight", policy.head.weight[part]),
                graph.tensor(f"{name}_bias", policy.head.bias[part]),
            ],
            name,
            transB=1,
        )
        for name, part in parts.items()
    )
    shares = graph.node("Softmax", [logits], "shares", axis=-1)
    weighted = graph.node("Mul", [shares, means], "weighted")
    # Divide by the largest action, to scale actions to [-1, 1].
    total = np.full((components, 1), 1 / ACTION_MAX, np.float32)
    mean = graph.node("MatMul", [weighted, graph.weight("total", total)], "mean_action")
    graph.node("Clip", [mean, low, high], "action")

    def value(name: str, dim: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", dim])

    graph_proto = helper.make_graph(
        graph.nodes,
        "policy",
        [value("observation", observation_dim), value("state", size)],
        [value("action", 1), value("next_state", size)],
        graph.weights,
    )
    model = helper.make_model(
        graph_proto, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="leogym"
    )
    model.ir_version = helper.find_min_ir_version_for(list(model.opset_import))
    model.doc_string = description
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def description(policy: Policy, settings: CloneSettings) -> dict[str, object]:
    """Return the contents of policy.json except its provenance."""
    return {
        "agent": settings.spec,
        "spec_version": SPEC_VERSION,
        "observation_dim": int(policy.normaliser.mean.shape[0]),
        "action_dim": 1,
        "interval_ms": settings.interval_ms,
    }
