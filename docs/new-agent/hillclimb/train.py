"""Hill climbing's training loop; its imports show which parts of the project it uses."""

import json
from pathlib import Path

import numpy as np

from leogym.agents.hillclimb.settings import HillclimbSettings
from leogym.agents.training import policy_folder
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.onnx_export import perceptron
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.common.errors import InputError

Weights = dict[str, np.ndarray]


def act(weights: Weights, observations: np.ndarray) -> np.ndarray:
    """Return actions (n, action_dim) in [-1, 1]."""
    hidden = np.tanh(observations @ weights["w1"].T + weights["b1"])
    return np.tanh(hidden @ weights["w2"].T + weights["b2"]).astype(np.float32)


def episode(weights: Weights, settings: HillclimbSettings, number: int) -> tuple[float, int]:
    """Return the mean reward and the steps of one episode on each of the batch's simulations."""
    simulations = Episodes(settings, first_episode=number * settings.num_envs)
    simulations.start()
    batch, total, count, steps = simulations.batch, 0.0, 0, 0
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        actions = np.zeros(simulations.action_shape, np.float32)
        actions[active] = act(weights, batch.observations[active])
        simulations.step(actions)
        total += float(batch.rewards_view[active].sum())
        count += int(active.sum())
        steps += settings.num_envs
    return total / count, steps


def train(settings: HillclimbSettings, run: RunFolder) -> None:
    """Train until ``settings`` say stop; continue from the latest checkpoint if ``run`` has one."""
    dims = Episodes(settings).batch
    shapes = {
        "w1": (settings.hidden, dims.observation_dim),
        "b1": (settings.hidden,),
        "w2": (dims.action_dim, settings.hidden),
        "b2": (dims.action_dim,),
    }
    weights: Weights = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    state = {"steps": 0, "wall_s": 0.0, "tries": 0, "reward": -np.inf}
    if (latest := run.latest_checkpoint()) is not None:
        weights, state = load(latest)

    def write(folder: Path) -> None:
        state["wall_s"] = reporter.wall_s
        save(folder, weights, state)
        export(weights, settings, run, state["steps"])

    with Reporter(settings, run, steps=state["steps"], wall_s=state["wall_s"]) as reporter:
        while reporter.done(state["steps"]) < 1:
            # All that is random comes from the seed and a counter: a resumed run goes on exactly.
            rng = np.random.default_rng([settings.seed, state["tries"]])
            tried = {
                name: (value + rng.normal(0, settings.deviation, value.shape)).astype(np.float32)
                for name, value in weights.items()
            }
            reward, steps = episode(tried, settings, number=0)
            state["steps"] += steps
            state["tries"] += 1
            if reward > state["reward"]:
                weights, state["reward"] = tried, reward
            row = {"steps": state["steps"], "wall_s": round(reporter.wall_s, 3), "reward": state["reward"]}
            reporter.row(row)
            reporter.leave_if_asked(state["steps"], write)
        reporter.checkpoint(state["steps"], write)
        run.write_summary({"agent": settings.agent, **state})


def save(folder: Path, weights: Weights, state: dict) -> None:
    """Write a checkpoint."""
    np.savez(folder / "weights.npz", **weights)  # type: ignore[arg-type]
    (folder / "state.json").write_text(json.dumps(state))


def load(folder: Path) -> tuple[Weights, dict]:
    """Return what `save` wrote."""
    try:
        with np.load(folder / "weights.npz", allow_pickle=False) as stored:
            return dict(stored), json.loads((folder / "state.json").read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: cannot be read: {error}") from None


def export(weights: Weights, settings: HillclimbSettings, run: RunFolder, steps: int) -> None:
    """Write the policy that simulator, kernel and evaluation run."""
    layers = [(weights["w1"], weights["b1"]), (weights["w2"], weights["b2"])]
    inputs, actions = weights["w1"].shape[1], len(weights["b2"])
    description = policy_folder.describe(settings.spec, inputs, actions, settings.interval_ms)
    run.write_policy(perceptron(layers, None, f"{settings.agent}, {steps} steps"), description, steps)
