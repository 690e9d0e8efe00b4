"""Networks of RLlib's new API stack."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.core.rl_module.rl_module import RLModule
from torch import Tensor

from leogym.agents.export.models import clipped, discrete_actions, on_cpu, single_action_space, unsquashed
from leogym.agents.export.network import Network
from leogym.common.errors import InputError

MODULES_IN_CHECKPOINT = Path("learner_group/learner/rl_module")

CONNECTORS = {
    *("AddObservationsFromEpisodesToBatch", "AddTimeDimToBatchAndZeroPad", "AddStatesFromEpisodesToBatch"),
    *("AgentToModuleMapping", "BatchIndividualItems", "NumpyToTensor"),
    *("GetActions", "TensorToNumpy", "UnBatchToIndividualItems", "ModuleToAgentUnmapping"),
    *("RemoveSingleTsTimeRankFromBatch", "NormalizeAndClipActions", "ListifyDataForVectorEnv"),
}
"""RLlib's own connectors, which every algorithm has. What `NormalizeAndClipActions` does is exported."""
FILTERED = "MeanStdFilter: its statistics cannot be exported: normalise in the environment"


def network(model: Any, env: Any) -> Network:
    """Return the network of an algorithm, of a module, or of a checkpoint of either.

    RLlib's states are (batch, layers, n), those of policies (layers, batch, n). ``env`` may be None.
    """
    module = _module(model)
    if not hasattr(module, "forward_inference") or not isinstance(module, torch.nn.Module):
        raise InputError(f"model: {type(module).__name__}: is not a module of RLlib with torch")
    module = on_cpu(module)
    space = module.action_space
    after = _to_environment(model, space, env) if isinstance(space, spaces.Box) else discrete_actions(space)
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


def _to_environment(model: Any, space: spaces.Box, env: Any) -> list[torch.nn.Module]:
    """Return what RLlib does to an action of ``space`` before the environment gets it."""
    target = space if env is None else single_action_space(env)
    if not isinstance(target, spaces.Box):
        raise InputError(f"env: action space {target}: is not the model's, {space}")
    if isinstance(model, Algorithm):
        config = model.config
        if config is not None and config.normalize_actions and target.is_bounded():
            return [unsquashed(target), clipped(target)]
        return [clipped(target)] if config is not None and config.clip_actions else []
    if not ((target.low == -1).all() and (target.high == 1).all()):
        rule = "whether RLlib scales its actions to these bounds is known from the Algorithm only: pass that"
        raise InputError(f"model: {type(model).__name__}: action space {target}: {rule}")
    return [clipped(target)]


def _module(model: Any) -> Any:
    if isinstance(model, str | Path):
        return _in_checkpoint(Path(model))
    if isinstance(model, Algorithm):
        for name in _asked(model, _connectors):
            _require_known(name, "")
        module = model.get_module()
        return _one_of(_asked(model, _names), model.get_module) if module is None else module
    if isinstance(model, MultiRLModule):
        return _one_of(sorted(model.keys()), lambda name: model[name])
    return model


def _asked(algorithm: Algorithm, function: Callable[[Any], list[str]]) -> list[str]:
    """Return what ``function`` gives for an env runner of the algorithm."""
    if algorithm.env_runner is not None:
        return function(algorithm.env_runner)
    runners = algorithm.env_runner_group
    assert runners is not None
    return runners.foreach_env_runner(function, remote_worker_ids=[1], local_env_runner=False)[0]


def _connectors(runner: Any) -> list[str]:
    pipelines = (runner._env_to_module, runner._module_to_env)
    return [type(connector).__name__ for pipeline in pipelines for connector in pipeline or []]


def _names(runner: Any) -> list[str]:
    return sorted(map(str, runner.module.keys()))


def _one_of(names: list[str], get: Callable[[str], Any], how: str = 'algorithm.get_module("{}")') -> Any:
    """Return the only module, or raise the `InputError` that says how to choose one."""
    if len(names) == 1:
        return get(names[0])
    call = f"save_policy({how.format(names[0])}, folder, env)"
    raise InputError(f"model: has the modules {', '.join(names)}: pass one of them, as in {call}")


def _in_checkpoint(folder: Path) -> Any:
    if not folder.is_dir():
        raise InputError(f"model: {folder}: is not the folder of a checkpoint")
    for path in sorted(folder.glob("env_runner/*_connector/*")):
        if path.is_dir():
            _require_known(path.name, f"{folder}: ")
    modules = folder / MODULES_IN_CHECKPOINT
    if not modules.is_dir():
        modules = folder
    names = sorted(path.name for path in modules.iterdir() if _holds_module(path))
    if not names:
        return RLModule.from_checkpoint(str(folder.resolve()))

    def load(name: str) -> Any:
        return RLModule.from_checkpoint(str((modules / name).resolve()))

    return _one_of(names, load, how=f'"{modules}/{{}}"')


def _holds_module(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("module_state*"))


def _require_known(connector: str, where: str) -> None:
    """Raise an `InputError` for a connector that may change observations or actions."""
    if connector == "MeanStdFilter":
        raise InputError(f"model: {where}{FILTERED}")
    if connector not in CONNECTORS:
        rule = "a connector that cannot be exported: do what it does in the environment or in the module"
        raise InputError(f"model: {where}{connector}: {rule}, or pass the module if it changes nothing")


def _action(module: Any, inputs: Tensor) -> Tensor:
    """Return the deterministic action, or the scores of discrete ones, from a distribution's inputs."""
    if isinstance(module.action_space, spaces.Discrete):
        return inputs
    distribution = module.get_inference_action_dist_cls().from_logits(inputs)
    return distribution.to_deterministic().sample()
