"""The actor that both engines train, and its export.

A tanh keeps the mean action within its bounds: the exported policy needs no clip that training never saw.
"""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor, nn

from leogym.agents.training import policy_folder
from leogym.agents.training.onnx_export import Cell, perceptron, recurrent
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings

NEGATIVE_SLOPE = 0.2
"""Slope of the leaky ReLU between layers, as in Astraea's actor."""


class HiddenActivation(nn.LeakyReLU):
    """The leaky ReLU between layers, as a class because libraries require one."""

    def __init__(self) -> None:
        super().__init__(NEGATIVE_SLOPE)


ACTIVATIONS: dict[str, type[nn.Module]] = {"leaky_relu": HiddenActivation, "tanh": nn.Tanh}
"""Hidden activations by their name in settings."""


def layers(inputs: int, hidden: Sequence[int], outputs: int, activation: str = "leaky_relu") -> nn.Sequential:
    """Return dense layers with ``activation`` between them and none after the last."""
    modules: list[nn.Module] = []
    for width in hidden:
        modules += [nn.Linear(inputs, width), ACTIVATIONS[activation]()]
        inputs = width
    return nn.Sequential(*modules, nn.Linear(inputs, outputs))


def export(
    dense: Sequence[nn.Linear],
    settings: TrainSettings,
    run: RunFolder,
    steps: int,
    activation: str = "leaky_relu",
    lstm: nn.LSTM | None = None,
    policy: str | None = None,
) -> Path:
    """Write the actor of the layers ``dense`` as the run's policy; return the policy's folder.

    The observation first passes through the one-layer ``lstm``, if given. ``policy`` names one of several.
    """
    arrays = [(layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()) for layer in dense]
    inputs = dense[0].in_features if lstm is None else lstm.input_size
    description = policy_folder.describe(settings.spec, inputs, dense[-1].out_features, settings.interval_ms)
    name = f"{settings.agent} ({settings.engine}), {steps} environment steps"
    slope = None if activation == "tanh" else NEGATIVE_SLOPE
    onnx = perceptron(arrays, slope, name) if lstm is None else recurrent(cell(lstm), arrays, slope, name)
    return run.write_policy(onnx, description, steps, policy)


def cell(lstm: nn.LSTM) -> Cell:
    """Return the input and recurrent weights and biases of a one-layer ``lstm``."""
    assert lstm.num_layers == 1
    return tuple(
        getattr(lstm, name).detach().cpu().numpy()
        for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    )


def dense_layer(weight: Tensor, bias: Tensor) -> nn.Linear:
    """Return the dense layer of ``weight`` (out, in) and ``bias``."""
    # "meta": drawing initial weights would change the random numbers of the training that follows.
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight, layer.bias = nn.Parameter(weight.detach()), nn.Parameter(bias.detach())
    return layer


def dense_layers(*parts: nn.Module) -> list[nn.Linear]:
    """Return the dense layers of ``parts``, in order."""
    return [module for part in parts for module in part.modules() if isinstance(module, nn.Linear)]
