"""Policy folders from networks that any library trained: `save_policy`."""

import io
import json
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import leosim
import numpy as np

from leogym.agents.training import policy_folder
from leogym.common import digests, extras
from leogym.common.atomic import write_together
from leogym.common.errors import InputError

with extras.needed_by("leogym.agents.export"):
    import torch

    from leogym.agents.export import comparison
    from leogym.agents.export.layers import Copies
    from leogym.agents.export.models import actor_of, environment_of
    from leogym.agents.export.network import Actor

TOLERANCE = 1e-5
"""Largest difference between the model's actions and those of the written folder."""
_OPSET = 17
_STEPS = 3
"""Steps in a row that are compared, because a recurrent policy's later ones depend on its memory."""


def save_policy(
    model: Any,
    folder: str | Path,
    env: Any = None,
    *,
    agent: str | None = None,
    interval_ms: float | None = None,
    states: Mapping[str, tuple[int, ...]] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write a trained network as a policy folder; return the folder.

    It holds ``policy.onnx``, ``policy.json`` and ``SHA256SUMS``, the digests of both, which loaders check.

    ``evaluate.py --schemes NAME=FOLDER``, `leosim.Policy.load`, ``policies=`` of the environments and
    leo-bridge take it. The policy acts deterministically: as ``model.predict(…, deterministic=True)`` of
    Stable-Baselines3, by the mean of a CleanRL or RLlib network, by the best of discrete actions. Every layer
    between network and environment becomes part of it: normalised observations (``VecNormalize``,
    ``NormalizeObservation``), the scaling, squashing and clipping of actions, the levels of discrete ones.

    Args:
        model: an algorithm of Stable-Baselines3 or sb3-contrib; an RLlib ``Algorithm``, ``RLModule`` or the
            path of a checkpoint of either; an agent or actor of a CleanRL script; or any ``torch.nn.Module``
            from ``observation`` (batch, observation_dim) to the action (batch, action_dim), or to the scores
            of discrete actions. Of a tuple, the first is taken.
        folder: the folder to write; existing files are replaced.
        env: the environment of the training, with its wrappers or as a vector, or its id. Optional for
            Stable-Baselines3, whose models know it.
        agent: agent specification, such as ``"astraea"``, instead of that of ``env``.
        interval_ms: the monitor interval in ms, instead of that of ``env``.
        states: for a recurrent ``torch.nn.Module``: name and shape, (batch, n) or (layers, batch, n) with a
            batch of 1, of each state. It takes them after the observation and returns the next ones after the
            action.
        provenance: an object for human readers: command, seed, commit and so on.

    Raises:
        InputError: the model or a wrapper is unknown, nothing says the specification, or the network does not
            fit it. Nothing is written then.
    """
    env, copies = environment_of(model, env), Copies()
    actor = actor_of(model, env, copies, dict(states or {}))
    arguments = {"agent": agent, "interval_ms": interval_ms}
    for name, value in arguments.items():
        if value is None:
            arguments[name] = actor.arguments.get(name)
        if arguments[name] is None:
            raise InputError(f"{name}: missing: pass it, or the environment of the training as env")
    probe = leosim.Batch(1, agent=arguments["agent"])
    description = {
        "format": "leogym-policy",
        "version": 1,
        **policy_folder.describe(
            arguments["agent"], probe.observation_dim, probe.action_dim, float(arguments["interval_ms"])
        ),
        **({"provenance": dict(provenance)} if provenance else {}),
    }
    try:
        network = _onnx(actor, probe.observation_dim)
    except InputError:
        raise
    except Exception as error:  # torch and the libraries raise exceptions of any type
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        takes = f"cannot be run on a batch of observations of {probe.observation_dim} numbers alone"
        raise InputError(
            f"model: {type(model).__name__}: {takes} ({type(error).__name__}: {reason})"
        ) from None
    return _checked(Path(folder), network, description, actor, env, copies)


def _checked(
    folder: Path, network: bytes, description: Mapping[str, Any], actor: Actor, env: Any, copies: Copies
) -> Path:
    """Write the folder if its policy acts as ``actor`` does, and as the model does in its environment."""
    with tempfile.TemporaryDirectory() as name:
        draft = Path(name)
        files = {"policy.onnx": network, "policy.json": (json.dumps(description, indent=2) + "\n").encode()}
        for file, content in files.items():
            (draft / file).write_bytes(content)
        try:
            policy = leosim.Policy.load(name)
        except leosim.InputError as error:
            raise InputError(str(error).removeprefix(f"{draft}/")) from None
    difference = _difference(policy, actor, description["observation_dim"])
    if not difference <= TOLERANCE:
        raise InputError(
            f"policy.onnx: actions differ by {difference:g} from the model's: the network must give the same "
            "action for the same observation, from weights alone"
        )
    if env is not None:
        comparison.require_same(policy, actor, env, copies)
    folder.mkdir(parents=True, exist_ok=True)
    write_together(folder, digests.add_record(files))
    return folder


def _onnx(actor: Actor, observation_dim: int) -> bytes:
    """Return ``actor`` as an ONNX model: ``observation`` and states in, ``action`` and next states out."""
    names = ["observation", *actor.states]
    arguments = (torch.zeros(1, observation_dim), *(torch.zeros(shape) for shape in actor.states.values()))
    outputs = ["action", *(f"next_{name}" for name in actor.states)]
    ranks = {"action": 2, "observation": 2}
    ranks |= {name: len(shape) for name, shape in actor.states.items()}
    free = {name: {ranks[name.removeprefix("next_")] - 2: "batch"} for name in [*names, *outputs]}
    file: Any = io.BytesIO()
    with warnings.catch_warnings():
        # Tracing takes modules that torch.export refuses, such as cells with a free batch.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            actor,
            arguments,
            file,
            dynamo=False,
            opset_version=_OPSET,
            input_names=names,
            output_names=outputs,
            dynamic_axes=free,
        )
    return file.getvalue()


def _difference(policy: leosim.Policy, actor: Actor, observation_dim: int, rows: int = 64) -> float:
    """Return the largest difference of the actions of both over ``rows`` random observations."""
    random = np.random.default_rng(0)
    memories = np.zeros((rows, policy.memory_dim), np.float32)
    states = [[torch.zeros(shape) for shape in actor.states.values()] for _ in range(rows)]
    largest = 0.0
    for _ in range(_STEPS):
        observations = random.uniform(0.0, 2.0, (rows, observation_dim)).astype(np.float32)
        actions = policy.act(observations, memories)
        for row in range(rows):
            with torch.no_grad():
                action, *states[row] = actor(torch.as_tensor(observations[row : row + 1]), *states[row])
            largest = max(largest, float(np.abs(action.numpy()[0] - actions[row]).max(initial=0.0)))
            if np.isnan(action.numpy()).any() or np.isnan(actions[row]).any():
                return float("nan")
    return largest


__all__ = ["save_policy"]
