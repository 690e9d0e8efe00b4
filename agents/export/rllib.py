"""Networks of RLlib's new API stack."""

from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.connectors.env_to_module import MeanStdFilter
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from torch import Tensor

from leogym.agents.export.models import clipped, discrete_actions, on_cpu
from leogym.agents.export.network import Network
from leogym.configs.errors import InputError

MODULE_IN_CHECKPOINT = Path("learner_group/learner/rl_module", DEFAULT_MODULE_ID)

FILTERED = "MeanStdFilter: its statistics cannot be exported: normalise in the environment"


def network(model: Any) -> Network:
    """Return the network of an algorithm, of a module, or of a checkpoint of either.

    RLlib's states are (batch, layers, n), those of policies (layers, batch, n).
    """
    module = _module(model)
    if not hasattr(module, "forward_inference") or not isinstance(module, torch.nn.Module):
        raise InputError(f"model: {type(module).__name__}: is not a module of RLlib with torch")
    module = on_cpu(module)
    space = module.action_space
    boxed = isinstance(space, spaces.Box)
    after: list[torch.nn.Module] = [clipped(space)] if boxed else discrete_actions(space)
    start = {name: tuple(value.shape) for name, value in (module.get_initial_state() or {}).items()}
    states = {name: (layers, 1, width) for name, (layers, width) in start.items()}
    names = list(states)

    def forward(x: Tensor, *memory: Tensor) -> tuple[Tensor, ...]:
        batch: dict[str, Any] = {Columns.OBS: x}
        if names:
            turned = [state.transpose(0, 1) for state in memory]
            batch = {Columns.OBS: x[:, None], Columns.STATE_IN: dict(zip(names, turned, strict=True))}
        out = module.forward_inference(batch)
        inputs = out[Columns.ACTION_DIST_INPUTS]
        inputs = inputs[:, -1] if names else inputs
        return (_action(module, inputs), *(out[Columns.STATE_OUT][name].transpose(0, 1) for name in names))

    return Network(module, forward, after, states)


def _module(model: Any) -> Any:
    if isinstance(model, str | Path):
        folder = Path(model)
        inner = folder / MODULE_IN_CHECKPOINT
        if not folder.is_dir():
            raise InputError(f"model: {folder}: is not the folder of a checkpoint")
        _without_filter(folder)
        return RLModule.from_checkpoint(str((inner if inner.is_dir() else folder).resolve()))
    if isinstance(model, Algorithm):
        runner = model.env_runner
        connectors = [] if runner is None else getattr(runner, "_env_to_module", None) or []
        if any(isinstance(connector, MeanStdFilter) for connector in connectors):
            raise InputError(f"model: {FILTERED}")
        return model.get_module(DEFAULT_MODULE_ID)
    return model


def _without_filter(folder: Path) -> None:
    if any(folder.glob("env_runner/env_to_module_connector/*MeanStdFilter*")):
        raise InputError(f"model: {folder}: {FILTERED}")


def _action(module: Any, inputs: Tensor) -> Tensor:
    """Return the deterministic action, or the scores of discrete ones, from a distribution's inputs."""
    if isinstance(module.action_space, spaces.Discrete):
        return inputs
    distribution = module.get_inference_action_dist_cls().from_logits(inputs)
    return distribution.to_deterministic().sample()
