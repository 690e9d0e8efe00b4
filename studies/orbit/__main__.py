"""Make policies of Orbit that do not decide: ``python -m studies.orbit frozen|constants``.

``frozen`` gives a policy's network the same inputs at all times: their means over training's episodes.
``constants`` searches the best constant action on training's episodes, in as many steps.
"""

import argparse
import json
from pathlib import Path

import leosim
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from leogym.agents.orbit.settings import OrbitSettings
from leogym.agents.training import policy_folder, registry
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.evolution import Evolution
from leogym.agents.training.onnx_export import perceptron
from leogym.common.command_line import OneLineParser
from leogym.common.errors import reports_input_errors

POPULATION, DEVIATION, LARGEST = 12, 0.3, 0.98


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = OneLineParser(prog="python -m studies.orbit", description=__doc__)
    parser.add_argument("kind", choices=("frozen", "constants"))
    parser.add_argument(
        "--policy", type=Path, default=registry.shipped()["orbit"] / "policy", help="default: the shipped one"
    )
    parser.add_argument(
        "--steps", type=int, default=6_000_000, help="steps of the search (default: 6,000,000)"
    )
    parser.add_argument("--seed", type=int, default=101, help="draws the episodes (default: 101)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the policy")
    return parser


def mean_observation(policy: leosim.Policy, settings: OrbitSettings) -> NDArray[np.float64]:
    """Return the means of the observations of flows that ``policy`` steers, over a round of episodes."""
    episodes = Episodes(settings)
    episodes.start()
    batch = episodes.batch
    shape = (episodes.size * episodes.slots, batch.observation_dim)
    memories = np.zeros((shape[0], policy.memory_dim), np.float32)
    total, count = np.zeros(batch.observation_dim), 0
    was_active = np.zeros(shape[0], bool)
    while not batch.finished.all():
        active = (batch.active & ~batch.finished[:, None]).reshape(-1)
        memories[active & ~was_active] = 0
        was_active = active
        observations = batch.observations.reshape(shape).copy()
        total += observations[active].sum(axis=0)
        count += int(active.sum())
        episodes.step(policy.act(observations, memories).reshape(episodes.action_shape))
    return total / count


def frozen(network: bytes, means: NDArray[np.float64]) -> bytes:
    """Return the network with ``means`` in place of its inputs."""
    model = onnx.load_from_string(network)
    arrays = {tensor.name: tensor for tensor in model.graph.initializer}
    weights, biases = (numpy_helper.to_array(arrays[name]).copy() for name in ("w", "b"))
    gates = weights.shape[1]
    biases[:, :gates] += (weights[0] @ means).astype(np.float32)
    for name, array in (("w", np.zeros_like(weights)), ("b", biases)):
        arrays[name].CopyFrom(numpy_helper.from_array(array, name))
    return model.SerializeToString()


def value(action: NDArray[np.float64], settings: OrbitSettings, first: int) -> tuple[float, int]:
    """Return the mean reward of a constant ``action`` on the episodes from ``first`` on, and the steps."""
    episodes = Episodes(settings, first_episode=first)
    episodes.start()
    batch = episodes.batch
    actions = np.ascontiguousarray(np.broadcast_to(action, episodes.action_shape), np.float32)
    rewards, count, steps = 0.0, 0, 0
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        episodes.step(actions)
        rewards += float(batch.rewards_view[active].sum())
        count += int(active.sum())
        steps += episodes.size
    return rewards / count, steps


def best_constants(settings: OrbitSettings, steps: int) -> NDArray[np.float64]:
    """Return the mean of an evolution strategy after ``steps``; it starts at the controller's own numbers."""
    start = np.zeros(Episodes(settings).batch.action_dim)
    evolution, spent = Evolution.around(start, DEVIATION), 0
    while spent < steps:
        rng = np.random.default_rng([settings.seed, 2, evolution.generation])
        candidates = evolution.candidates(rng, POPULATION)
        values = np.empty(len(candidates))
        for index, candidate in enumerate(candidates):
            bounded = np.clip(candidate, -LARGEST, LARGEST)
            values[index], taken = value(bounded, settings, evolution.generation * settings.num_envs)
            # Beyond the bounds, candidates act alike; the distance keeps the strategy within them.
            values[index] -= float(((candidate - bounded) ** 2).sum())
            spent += taken
        evolution.learn(candidates, values)
        print(f"{spent:,} steps: mean reward {values.mean():.4f}, best {values.max():.4f}", flush=True)
    return np.clip(evolution.mean, -LARGEST, LARGEST)


@reports_input_errors
def main() -> int:
    """Write the policy."""
    flags = arguments().parse_args()
    description = json.loads((flags.policy / "policy.json").read_text())
    if flags.kind == "frozen":
        settings = OrbitSettings(agent="orbit", seed=flags.seed)
        means = mean_observation(leosim.Policy.load(str(flags.policy)), settings)
        network = frozen((flags.policy / "policy.onnx").read_bytes(), means)
    else:
        settings = OrbitSettings(agent="orbit", seed=flags.seed, num_envs=12)
        constants = best_constants(settings, flags.steps)
        print("constants:", " ".join(f"{constant:.3f}" for constant in constants))
        bias = np.arctanh(constants).astype(np.float32)
        weights = np.zeros((len(bias), description["observation_dim"]), np.float32)
        network = perceptron([(weights, bias)], None, "constants")
    provenance = {"command": f"python -m studies.orbit {flags.kind}", "seed": flags.seed}
    policy_folder.write(flags.out, network, {**description, "provenance": provenance})
    print(f"policy: {flags.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
