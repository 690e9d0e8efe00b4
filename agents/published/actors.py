"""Import Astraea's and Orca's actors from their TensorFlow 1 checkpoints.

Each hidden layer is dense, with a batch norm without scale (ε = 1e-3) and a leaky ReLU of slope 0.2; the last
layer is dense with tanh. The import folds batch norm's running statistics into the dense layers.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.agents.published.tensor_bundle import TensorBundle
from leogym.agents.training import policy_folder
from leogym.agents.training.run_folder import RunFolder
from leogym.common import extras, output_folder

NEGATIVE_SLOPE = 0.2
BATCH_NORM_EPSILON = 1e-3

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weight (out, in) and bias (out,)


@dataclass(frozen=True)
class Published:
    """The layout of a scheme's published actor."""

    observation_dim: int
    hidden_layers: int
    interval_ms: float


SCHEMES = {
    "astraea": Published(observation_dim=50, hidden_layers=3, interval_ms=30.0),
    "orca": Published(observation_dim=70, hidden_layers=2, interval_ms=20.0),
}


def layers(bundle: TensorBundle, published: Published) -> list[Layer]:
    """Return the actor's layers with batch norms folded in."""
    layers_read = []
    width: int = published.observation_dim
    for number in range(published.hidden_layers):
        dense = f"actor/fc{number + 1}"
        norm = "actor/batch_normalization" + (f"_{number}" if number else "")
        kernel = bundle.read(f"{dense}/kernel", width, None).astype(np.float64)
        width = kernel.shape[1]
        bias, beta, mean, variance = (
            bundle.read(name, width).astype(np.float64)
            for name in (f"{dense}/bias", f"{norm}/beta", f"{norm}/moving_mean", f"{norm}/moving_variance")
        )
        scale = 1 / np.sqrt(np.maximum(variance, 0) + BATCH_NORM_EPSILON)
        layers_read.append((kernel.T * scale[:, None], (bias - mean) * scale + beta))
    layers_read.append((bundle.read("actor/dense/kernel", width, 1).T, bundle.read("actor/dense/bias", 1)))
    return [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in layers_read]


def import_policy(scheme: str, prefix: Path, out: Path) -> Path:
    """Write the actor of the checkpoint ``prefix`` to ``out``/policy; return that folder."""
    published = SCHEMES[scheme]
    with extras.needed_by(f"agents import {scheme}"):
        from leogym.agents.training.onnx_export import perceptron  # here, so that --help needs no ONNX

    bundle = TensorBundle(prefix)
    network = perceptron(layers(bundle, published), NEGATIVE_SLOPE, f"{scheme}, as published")
    description = policy_folder.describe(scheme, published.observation_dim, 1, published.interval_ms)
    return write(bundle, network, description, out)


def write(bundle: TensorBundle, network: bytes, description: dict[str, object], out: Path) -> Path:
    """Write ``network``, which comes from ``bundle``, to ``out``/policy; return that folder."""
    provenance = {
        "imported_from": bundle.index.name,
        "index_sha256": hashlib.sha256(bundle.index.read_bytes()).hexdigest(),
    }
    output_folder.require(out, "an imported policy")
    output_folder.make(out)
    return RunFolder(out, provenance).write_policy(network, description, None)
