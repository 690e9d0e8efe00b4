import itertools

import numpy as np
import onnx
import onnxruntime

from leogym.agents.training.onnx_export import OPSET, perceptron


def layers(*widths):
    rng = np.random.default_rng(1)
    return [
        (rng.normal(size=(b, a)).astype(np.float32), rng.normal(size=b).astype(np.float32))
        for a, b in itertools.pairwise(widths)
    ]


def test_the_network_is_plain_operators_in_one_file():
    model = onnx.load_from_string(perceptron(layers(4, 3, 2), 0.2, "test"))
    assert {node.op_type for node in model.graph.node} == {"Gemm", "LeakyRelu", "Tanh"}
    assert model.opset_import[0].version == OPSET
    assert not any(tensor.external_data for tensor in model.graph.initializer)


def test_the_network_computes_what_its_layers_say_for_any_batch():
    network = layers(4, 8, 2)
    session = onnxruntime.InferenceSession(perceptron(network, 0.2, "test"))
    for batch in (1, 7):
        x = np.random.default_rng(batch).normal(size=(batch, 4)).astype(np.float32)
        hidden = x @ network[0][0].T + network[0][1]
        hidden = np.where(hidden > 0, hidden, np.float32(0.2) * hidden)
        expected = np.tanh(hidden @ network[1][0].T + network[1][1])
        (action,) = session.run(["action"], {"observation": x})
        np.testing.assert_allclose(np.asarray(action), expected, atol=1e-5)
