"""Export a trained actor as the policy folder that every backend loads."""

from pathlib import Path

from leogym.agents.astraea.actor_critic import NEGATIVE_SLOPE, Actor
from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.training import policy_folder
from leogym.agents.training.onnx_export import perceptron
from leogym.agents.training.run_folder import RunFolder


def export(actor: Actor, settings: AstraeaSettings, run: RunFolder, steps: int) -> Path:
    """Write ``actor``, trained for ``steps``, as the run's policy; return the folder."""
    layers = [(weight.numpy(), bias.numpy()) for weight, bias in actor.folded()]
    inputs, actions = layers[0][0].shape[1], layers[-1][0].shape[0]
    description = policy_folder.describe(settings.spec, inputs, actions, settings.interval_ms)
    name = f"{settings.agent}, {steps} environment steps"
    return run.write_policy(perceptron(layers, NEGATIVE_SLOPE, name), description, steps)
