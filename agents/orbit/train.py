"""Orbit's training: an evolution strategy on the suites' own metric over whole episodes."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.agents.orbit.settings import OrbitSettings
from leogym.agents.training import policy_folder, state_file
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.evolution import Evolution
from leogym.agents.training.onnx_export import perceptron
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.configs.scenario import LEARNER

LARGEST = 0.98
"""Scales stay within, so that tanh can express them."""

WORST = 1e-3
"""Least power or ratio of a flow that counts: a flow may deliver nothing."""

FAIRNESS_WEIGHT = 0.5


def value(flows: list[dict[str, Any]]) -> float:
    """Return an episode's value: the logarithm of its power, and of Jain's index among its learners.

    The power of several flows is the sum of their shares over their mean inflation.
    """
    learners = [
        flow for flow in flows if flow["scheme"] == LEARNER and math.isfinite(flow["delay_inflation"])
    ]
    if not learners:
        return math.log(WORST)
    shares = np.array([flow["normalized_goodput"] for flow in learners])
    inflation = float(np.mean([flow["delay_inflation"] for flow in learners]))
    power = min(1.0, float(shares.sum())) / inflation
    jain = float(shares.sum() ** 2 / (len(shares) * (shares**2).sum())) if shares.any() else WORST
    return math.log(max(power, WORST)) + FAIRNESS_WEIGHT * math.log(max(jain, WORST))


def evaluate(scales: NDArray[np.float64], settings: OrbitSettings, first: int) -> tuple[float, int]:
    """Return the mean value of ``scales`` on the episodes from ``first`` on, and the steps taken."""
    simulations = Episodes(settings, first_episode=first)
    simulations.start()
    batch, steps = simulations.batch, 0
    actions = np.ascontiguousarray(np.broadcast_to(bounded(scales), simulations.action_shape), np.float32)
    while not batch.finished.all():
        simulations.step(actions)
        steps += settings.num_envs
    logs = (batch.run_log(index) for index in range(settings.num_envs))
    return float(np.mean([value(log.flows) for log in logs if log is not None])), steps


def bounded(scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``scales`` as an action."""
    return np.clip(scales, -LARGEST, LARGEST)


def train(settings: OrbitSettings, run: RunFolder) -> None:
    """Train until ``settings`` say stop; continue from the latest checkpoint if ``run`` has one."""
    dims = Episodes(settings).batch
    evolution = Evolution.around(np.zeros(dims.action_dim), settings.deviation)
    state: dict[str, Any] = {"steps": 0, "wall_s": 0.0, "value": math.nan, "saved": 0}
    if (latest := run.latest_checkpoint()) is not None:
        evolution, state = load(latest, wall_s=float, value=float)

    def write(folder: Path) -> None:
        state["wall_s"] = reporter.wall_s
        save(folder, evolution, state)
        export(evolution.mean, dims.observation_dim, settings, run, state["steps"])

    with Reporter(
        settings, run, steps=state["steps"], wall_s=state["wall_s"], columns=("value",)
    ) as reporter:
        while reporter.done(state["steps"]) < 1:
            # All that is random comes from the seed and a counter: a resumed run goes on exactly.
            rng = np.random.default_rng([settings.seed, 2, evolution.generation])
            first = evolution.generation * settings.num_envs
            candidates = evolution.candidates(rng, settings.population)
            values = np.empty(len(candidates))
            for index, candidate in enumerate(candidates):
                values[index], steps = evaluate(candidate, settings, first)
                # Beyond the bounds, candidates act alike; the distance keeps the strategy within them.
                values[index] -= float(((candidate - bounded(candidate)) ** 2).sum())
                state["steps"] += steps
            evolution.learn(candidates, values)
            state["value"] = float(values.mean())
            row = {
                "steps": state["steps"],
                "wall_s": round(reporter.wall_s, 3),
                "value": state["value"],
                "best": float(values.max()),
                "deviation": evolution.deviation,
            }
            row |= {f"scale_{index}": float(scale) for index, scale in enumerate(evolution.mean)}
            reporter.row(row)
            due = state["steps"] - state["saved"] >= settings.checkpoint_steps
            if due or reporter.done(state["steps"]) >= 1:
                state["saved"] = state["steps"]
                reporter.checkpoint(state["steps"], write)
            reporter.leave_if_asked(state["steps"], write)
        if state["steps"] and not run.is_scheduled(state["steps"]):
            reporter.checkpoint(state["steps"], write)
        run.write_summary(
            {"agent": settings.agent, **{key: state[key] for key in ("steps", "wall_s", "value")}}
        )


def save(folder: Path, evolution: Evolution, state: dict[str, Any]) -> None:
    """Write a checkpoint."""
    stored = {
        name: item.tolist() if isinstance(item, np.ndarray) else item
        for name, item in asdict(evolution).items()
    }
    (folder / "state.json").write_text(json.dumps({"evolution": stored, **state}))


def load(folder: Path, **keys: type) -> tuple[Evolution, dict[str, Any]]:
    """Return what `save` wrote; raise `InputError` if it is damaged or lacks one of ``keys``, by type."""
    path = folder / "state.json"
    state = state_file.read(path, {"evolution": dict, "steps": int, **keys})
    evolution = state_file.fields(path, "evolution", Evolution, state.pop("evolution"))
    state.setdefault("saved", state["steps"])  # a checkpoint of an earlier version was a scheduled one
    return evolution, state


def export(
    scales: NDArray[np.float64], observation_dim: int, settings: OrbitSettings, run: RunFolder, steps: int
) -> None:
    """Write the policy that simulator, kernel and evaluation run: one layer, whose bias has the scales."""
    weights = np.zeros((len(scales), observation_dim), np.float32)
    bias = np.arctanh(bounded(scales)).astype(np.float32)
    description = policy_folder.describe(settings.spec, observation_dim, len(scales), settings.interval_ms)
    network = perceptron([(weights, bias)], None, f"{settings.agent}, {steps} steps")
    run.write_policy(network, description, steps)
