"""Models from torch's exporters, in ONNX Runtime and in the native runner."""

import io
import json
import logging

import leosim
import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from torch import nn

DIM = 50
ROWS = 6
ACTIVATIONS = [
    nn.ReLU(), nn.ELU(), nn.LeakyReLU(0.3), nn.Sigmoid(), nn.Tanh(), nn.Softplus(), nn.Softplus(beta=2.0),
    nn.GELU(), nn.GELU(approximate="tanh"), nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardtanh(), nn.ReLU6(),
    nn.SELU(), nn.CELU(0.7), nn.PReLU(), nn.Softsign(), nn.Tanhshrink(), nn.LogSigmoid(), nn.Hardsigmoid(),
    nn.Softmax(-1), nn.LogSoftmax(-1), nn.LayerNorm(8), nn.BatchNorm1d(8), nn.Dropout(0.5),
]  # fmt: skip


def load(tmp_path, model: bytes):
    (tmp_path / "policy.onnx").write_bytes(model)
    described = {"agent": "astraea", "observation_dim": DIM, "action_dim": 1, "interval_ms": 30}
    (tmp_path / "policy.json").write_text(json.dumps(described))
    return leosim.Policy.load(str(tmp_path))


def exported(module, *states, dynamo=False, free=False, **options) -> bytes:
    """Export a module with one observation and ``states`` as its inputs."""
    names = ["observation", "first", "second"][: 1 + len(states)]
    outputs = ["action", "next_first", "next_second"][: 1 + len(states)]
    example = (torch.randn(2 if free and dynamo else 1, DIM), *states)
    options |= {"input_names": names, "output_names": outputs}
    module.eval()
    if dynamo:
        if free:
            options["dynamic_shapes"] = ({0: torch.export.Dim.DYNAMIC},)
        program = torch.onnx.export(module, example, dynamo=True, verbose=False, **options)
        return program.model_proto.SerializeToString()
    if free:
        options["dynamic_axes"] = {"observation": {0: "batch"}, "action": {0: "batch"}}
    file = io.BytesIO()
    torch.onnx.export(module, example, file, dynamo=False, **options)
    return file.getvalue()


def agrees(tmp_path, model: bytes, seed=0, tolerance=1e-5, steps=3, scale=1.0):
    """Compare both runners over rows and steps; ONNX Runtime gets one row at a time."""
    policy = load(tmp_path, model)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    first, *states = session.get_inputs()
    names = [session.get_outputs()[0].name, *(f"next_{state.name}" for state in states)]
    shapes = {s.name: [d if isinstance(d, int) else 1 for d in s.shape] for s in states}
    memory = [{name: np.zeros(shape, np.float32) for name, shape in shapes.items()} for _ in range(ROWS)]
    memories = np.zeros((ROWS, policy.memory_dim), np.float32)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        seen = (rng.normal(size=(ROWS, DIM)) * scale).astype(np.float32)
        actions = policy.act(seen, memories)
        for row in range(ROWS):
            action, *following = session.run(names, {first.name: seen[row : row + 1], **memory[row]})
            memory[row] = dict(zip(shapes, following, strict=True))
            np.testing.assert_allclose(actions[row], np.ravel(action)[:1], atol=tolerance, rtol=tolerance)
    return policy


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    yield
    logging.disable(logging.NOTSET)


pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_every_layer_of_torch_acts_as_in_onnx_runtime(activation, tmp_path):
    network = nn.Sequential(nn.Linear(DIM, 8), activation, nn.Linear(8, 1))
    agrees(tmp_path, exported(network, free=True))


def test_what_the_second_exporter_writes_for_all_layers_acts_as_in_onnx_runtime(tmp_path):
    layers = [layer for activation in ACTIVATIONS for layer in (nn.Linear(8, 8), activation)]
    network = nn.Sequential(nn.Linear(DIM, 8), *layers, nn.Linear(8, 1))
    for free in (False, True):
        agrees(tmp_path, exported(network, dynamo=True, free=free))


class Recurrent(nn.Module):
    """A cell whose states the policy keeps."""

    def __init__(self, cell, layers):
        super().__init__()
        self.cell, self.out = cell(DIM, 6, layers), nn.Linear(6, 1)

    def forward(self, x, *states):
        state = states if isinstance(self.cell, nn.LSTM) else states[0]
        y, following = self.cell(x.unsqueeze(0), state)
        following = following if isinstance(following, tuple) else (following,)
        return torch.tanh(self.out(y.squeeze(0))), *following


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", [nn.GRU, nn.LSTM])
def test_cells_of_torch_remember_as_in_onnx_runtime(cell, layers, dynamo, tmp_path):
    states = [torch.zeros(layers, 1, 6)] * (2 if cell is nn.LSTM else 1)
    policy = agrees(tmp_path, exported(Recurrent(cell, layers), *states, dynamo=dynamo))
    assert policy.memory_dim == 6 * layers * len(states)


class OverHistory(nn.Module):
    """A cell over the intervals that an observation holds."""

    def __init__(self, cell):
        super().__init__()
        self.cell, self.out = cell(10, 6, 2, batch_first=True), nn.Linear(6, 1)

    def forward(self, x):
        return self.out(self.cell(x.reshape(-1, 5, 10))[0][:, -1])


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("cell", [nn.GRU, nn.LSTM])
def test_cells_over_the_history_of_an_observation_act_as_in_onnx_runtime(cell, dynamo, tmp_path):
    for free in (False, True):
        agrees(tmp_path, exported(OverHistory(cell), dynamo=dynamo, free=free))


class Mixed(nn.Module):
    """Statistics in double precision, split outputs, discrete actions."""

    def __init__(self):
        super().__init__()
        self.net, self.scores = nn.Linear(DIM, 8), nn.Linear(4, 5)
        self.register_buffer("mean", torch.randn(DIM, dtype=torch.float64))
        self.register_buffer("levels", torch.linspace(-1, 1, 5)[:, None])

    def forward(self, x):
        x = ((x.double() - self.mean) / torch.sqrt(self.mean**2 + 1e-2)).clamp(-10, 10).float()
        mean, log_std = self.net(x).chunk(2, -1)
        x = torch.cat([torch.tanh(mean) * torch.exp(log_std.clamp(-5, 2)), mean.abs(), x[:, ::7]], -1)
        x = torch.where(x > 0.5, x, x * x) - x.mean(-1, keepdim=True) / (1 + x.norm(dim=-1, keepdim=True))
        return self.levels[self.scores(x[:, :4]).argmax(-1)] * 0.5 + torch.softmax(x, -1)[:, :1]


@pytest.mark.parametrize("dynamo", [False, True])
def test_what_stands_around_a_network_acts_as_in_onnx_runtime(dynamo, tmp_path):
    for free in (False, True):
        agrees(tmp_path, exported(Mixed(), dynamo=dynamo, free=free))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    widths=st.lists(st.integers(1, 40), min_size=0, max_size=4),
    kinds=st.lists(st.integers(0, len(ACTIVATIONS) - 1), min_size=4, max_size=4),
    opset=st.sampled_from([11, 13, 14, 17, 20]),
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([0.01, 1.0, 20.0]),
)
def test_random_perceptrons_of_any_operator_set_act_as_in_onnx_runtime(
    widths, kinds, opset, seed, scale, tmp_path
):
    torch.manual_seed(seed)
    layers, inputs = [], DIM
    for width, kind in zip(widths, kinds, strict=False):
        activation = ACTIVATIONS[kind]
        if isinstance(activation, nn.LayerNorm | nn.BatchNorm1d):
            activation = type(activation)(width)
        if opset < 14 and isinstance(activation, nn.Hardswish):
            activation = nn.ReLU()
        if isinstance(activation, nn.LogSigmoid) and scale > 1:
            activation = nn.Softplus()  # log(sigmoid(x)) in single precision has few digits for a large x
        layers += [nn.Linear(inputs, width), activation]
        inputs = width
    network = nn.Sequential(*layers, nn.Linear(inputs, 1), nn.Tanh())
    agrees(tmp_path, exported(network, free=True, opset_version=opset), seed, tolerance=2e-5, scale=scale)


def test_a_network_with_one_input_may_call_it_and_its_action_anything(tmp_path):
    network = nn.Sequential(nn.Linear(DIM, 4), nn.Tanh(), nn.Linear(4, 1))
    file = io.BytesIO()
    torch.onnx.export(network, (torch.zeros(1, DIM),), file, dynamo=False, input_names=["input"])
    agrees(tmp_path, file.getvalue())


def test_only_what_the_action_needs_is_read(tmp_path):
    nodes = [
        helper.make_node("Gemm", ["observation", "w"], ["action"]),
        helper.make_node("Sinh", ["action"], ["value"]),
    ]
    assert agrees(tmp_path, graph(nodes, ["action", "value"])).memory_dim == 0
    with pytest.raises(
        leosim.InputError, match=r"node 1 \(Sinh\): not a supported operator \(there are: Abs, "
    ):
        load(tmp_path, graph([nodes[0], helper.make_node("Sinh", ["action"], ["x"])], ["x"]))


def graph(nodes, outputs) -> bytes:
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 1 if name != "observation" else DIM])
        for name in ["observation", *outputs]
    ]
    weight = numpy_helper.from_array(np.full((DIM, 1), 0.01, np.float32), "w")
    model = helper.make_graph(nodes, "policy", values[:1], values[1:], [weight])
    return helper.make_model(
        model, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()
