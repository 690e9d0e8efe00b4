"""Import Sage's published policy (SIGCOMM 2023) from its TensorFlow 2 checkpoint.

Acme and Sonnet built the network: dense, layer norm and tanh; a gated recurrent unit; dense, layer norm and
tanh; a dense layer; residual blocks of two dense layers with ReLU between them, each followed by layer norm;
and logits, means and scales of a mixture of Gaussians, whose mean evaluation uses. Checkpoint keys are paths
in the object tree, and tensor shapes give the sizes.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from leogym.agents.clone.network import Block, Policy
from leogym.agents.clone.policy_export import description, to_onnx
from leogym.agents.clone.settings import CloneSettings
from leogym.agents.published.actors import write
from leogym.agents.published.tensor_bundle import TensorBundle

OBSERVATION_DIM = 69
BLOCKS_MAX = 16


class _Reader:
    def __init__(self, bundle: TensorBundle) -> None:
        self.bundle = bundle
        self._names = set(bundle.names())

    def has(self, path: str) -> bool:
        return _key(path) in self._names

    def read(self, path: str, *shape: int | None) -> NDArray[np.float32]:
        return self.bundle.read(_key(path), *shape)

    def dense(self, path: str, layer: nn.Linear) -> None:
        _set(layer.weight, self.read(f"{path}/w", layer.in_features, layer.out_features).T)
        _set(layer.bias, self.read(f"{path}/b", layer.out_features))

    def norm(self, path: str, layer: nn.LayerNorm) -> None:
        (width,) = layer.normalized_shape
        _set(layer.weight, self.read(f"{path}/scale", width))
        _set(layer.bias, self.read(f"{path}/offset", width))


def _key(path: str) -> str:
    return f"policy/_layers/{path}/.ATTRIBUTES/VARIABLE_VALUE"


def _set(parameter: torch.Tensor, values: NDArray[np.float32]) -> None:
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(values)))


def network(bundle: TensorBundle) -> tuple[Policy, CloneSettings]:
    """Return our network with the policy's weights, and its settings.

    Export it with ``reset_first`` (`to_onnx`). Sonnet's unit is ``a = tanh(W_ia x + W_ha (r h) + b_a)`` and
    ``h' = (1 - z) h + z a``. PyTorch applies the reset gate r after the weights and swaps z and 1 - z, so
    this function negates gate z.
    """
    reader = _Reader(bundle)
    encoder = "{}/_proprio_encoder/_network/_layers/{}"
    first = reader.read(f"{encoder.format(0, 0)}/w", OBSERVATION_DIM, None)
    recurrent = reader.read("1/_w_h", None, None)
    loc = reader.read("4/_loc_layer/w", first.shape[1], None)
    blocks = 0
    while blocks < BLOCKS_MAX and reader.has(f"3/_module/_layers/{blocks + 1}/_layer_norm/scale"):
        blocks += 1
    settings = CloneSettings(
        agent="clone",
        steps=1,
        width=first.shape[1],
        gru=recurrent.shape[0],
        blocks=max(1, blocks),
        mixture=loc.shape[1],
    )
    policy = Policy(OBSERVATION_DIM, settings)
    torso = policy.torso
    for number, part in ((0, torso.before), (2, torso.after)):
        reader.dense(encoder.format(number, 0), part.dense)
        reader.norm(encoder.format(number, 1), part.norm)

    width, gru = settings.width, settings.gru
    unit = {
        "weight_ih_l0": _gates(reader.read("1/_w_i", width, 3 * gru).T),
        "weight_hh_l0": _gates(reader.read("1/_w_h", gru, 3 * gru).T),
        "bias_ih_l0": _gates(reader.read("1/b", 3 * gru)),
        "bias_hh_l0": np.zeros(3 * gru, np.float32),
    }
    torso.gru.load_state_dict({name: torch.from_numpy(values) for name, values in unit.items()})

    reader.dense("3/_module/_layers/0/_layers/0", torso.dense)
    for number, block in enumerate(torso.blocks, start=1):
        assert isinstance(block, Block)
        at = f"3/_module/_layers/{number}"
        reader.dense(f"{at}/_layer/_layers/0", block.first)
        reader.dense(f"{at}/_layer/_layers/1", block.second)
        reader.norm(f"{at}/_layer_norm", block.norm)

    parts = [
        reader.read(f"4/_{name}_layer/w", width, settings.mixture).T for name in ("logit", "loc", "scale")
    ]
    biases = [reader.read(f"4/_{name}_layer/b", settings.mixture) for name in ("logit", "loc", "scale")]
    _set(policy.head.weight, np.concatenate(parts))
    _set(policy.head.bias, np.concatenate(biases))
    return policy, settings


def _gates(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Reorder Sonnet's gates z, r, a to PyTorch's r, z, n, with z negated."""
    update, reset, candidate = np.split(rows, 3)
    return np.concatenate([reset, -update, candidate])


def import_policy(prefix: Path, out: Path) -> Path:
    """Write the policy of the checkpoint ``prefix`` to ``out``/policy; return that folder."""
    bundle = TensorBundle(prefix)
    policy, settings = network(bundle)
    onnx = to_onnx(policy, "sage, as published", reset_first=True)
    return write(bundle, onnx, description(policy, settings), out)
