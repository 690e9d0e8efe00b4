"""Training of a clone: collect the pool if it is missing, learn from it, evaluate, checkpoint and export."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from leogym.agents.clone import evaluation, pool, scenarios
from leogym.agents.clone.cloning import Learner
from leogym.agents.clone.policy_export import description, to_onnx
from leogym.agents.clone.sequences import Sequences
from leogym.agents.clone.settings import CloneSettings
from leogym.agents.training import policy_folder, torch_file
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common.errors import InputError


class Judge:
    """Measures a policy on held-out scenarios against the pool's best scheme in each."""

    def __init__(self, settings: CloneSettings, *, judge: bool) -> None:
        self._situations = scenarios.held_out(settings.pool, settings.evaluate_scenarios, judge=judge)
        self._threads = settings.workers
        self.best = evaluation.best_of_pool(self._situations, settings.pool, settings.workers)

    def ratios(self, onnx: bytes, described: dict[str, object]) -> dict[str, float]:
        """Return the policy's power over the best scheme's, by scenario name."""
        with tempfile.TemporaryDirectory(prefix="leogym-clone-") as name:
            folder = Path(name)
            (folder / "policy.onnx").write_bytes(onnx)
            says = {"format": "leogym-policy", "version": 1, **described, "provenance": {}}
            (folder / "policy.json").write_text(json.dumps(says))
            policy = evaluation.load(folder)
        measured = evaluation.powers(self._situations, evaluation.SPEC, policy, self._threads)
        shares = evaluation.ratios(measured, self.best)
        return {situation.name: share for situation, share in zip(self._situations, shares, strict=True)}


class Training:
    """The complete state of a training run; `save` and `load` checkpoint all of it."""

    def __init__(self, settings: CloneSettings, folder: Path) -> None:
        self.settings = settings
        self.sequences = Sequences(
            folder,
            settings.sequence,
            settings.resident,
            settings.seed,
            schemes=settings.imitated,
            reward_share=settings.reward_share,
            lab_runs=settings.lab_runs,
            streams=settings.carry,
            stay=settings.stay,
        )
        pool.require_same(self.sequences.index, settings, folder)
        self.learner = Learner(settings, observation_dim=self.sequences.observation_dim)
        self.best_ratio = -1.0
        self.best_steps = 0
        self.last_ratio = float("nan")
        self._sums: dict[str, float] = {}
        self._count = 0

    @property
    def steps(self) -> int:
        """Updates so far."""
        return self.learner.updates

    def start(self) -> None:
        """Initialise a new run."""
        if self.settings.normalise:
            self.learner.normalise(*map(torch.from_numpy, self.sequences.moments(self._scaled)))

    def _scaled(self, signals: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.learner.policy.normaliser.scaled(torch.from_numpy(signals)).numpy()

    def update(self) -> None:
        """Make one update."""
        numbers = self.learner.update(self.sequences.draw(self.settings.batch_size))
        for name, number in numbers.items():
            self._sums[name] = self._sums.get(name, 0.0) + number
        self._count += 1

    def flush(self) -> dict[str, float]:
        """Return and reset the metrics' means since the last call."""
        means = {name: total / self._count for name, total in self._sums.items()} if self._count else {}
        self._sums, self._count = {}, 0
        return means

    def save(self, folder: Path, wall_s: float) -> None:
        """Write everything to ``folder``."""
        torch_file.save(
            {
                "wall_s": wall_s,
                "learner": self.learner.state(),
                "sequences": self.sequences.state(),
                "best": (self.best_ratio, self.best_steps, self.last_ratio),
                "meters": (dict(self._sums), self._count),
            },
            folder / "training.pt",
        )

    def load(self, folder: Path) -> float:
        """Read what `save` wrote, or raise `InputError`; return the wall time spent until then in s."""
        path = folder / "training.pt"
        try:
            # weights_only: load only tensors, numbers and strings; execute nothing.
            state: dict[str, Any] = torch.load(path, weights_only=True)
            self.learner.restore(state["learner"])
            self.sequences.restore(state["sequences"])
            self.best_ratio, self.best_steps, self.last_ratio = state["best"]
            sums, self._count = state["meters"]
            self._sums = dict(sums)
        except InputError:
            raise
        except Exception as error:  # torch.load raises exceptions of any type
            raise InputError(f"{path}: cannot be read: {error}") from None
        return state["wall_s"]


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one.

    ``policy/`` holds the best policy so far on the choosing scenarios.
    """
    assert isinstance(settings, CloneSettings)
    # One thread makes sums reproducible on every machine; small presets gain nothing from a second.
    torch.set_num_threads(1)
    folder = Path(settings.pool_folder) if settings.pool_folder else pool.default_folder(settings)
    pool.collect(settings, folder, lambda line: print(line, flush=True))
    training = Training(settings, folder)
    chooser = Judge(settings, judge=False)
    latest = run.latest_checkpoint()
    wall_s = 0.0
    if latest is None:
        training.start()
    else:
        wall_s = training.load(latest)

    described = description(training.learner.average, settings)

    def exported() -> bytes:
        return to_onnx(training.learner.average, f"{settings.agent}, {training.steps} updates")

    evaluated_steps: int | None = None

    def evaluate() -> None:
        nonlocal evaluated_steps
        evaluated_steps = training.steps
        onnx = exported()
        training.last_ratio = float(np.mean(list(chooser.ratios(onnx, described).values())))
        if training.last_ratio > training.best_ratio:
            training.best_ratio, training.best_steps = training.last_ratio, training.steps
            run.write_policy(onnx, described, training.steps)

    def save(folder: Path) -> None:
        training.save(folder, reporter.wall_s)
        policy_folder.copy(run.policy, folder / "policy")

    def checkpoint() -> None:
        reporter.checkpoint(training.steps, save)

    columns = ("log_likelihood", "distance", "power_ratio")
    reporter = Reporter(settings, run, steps=training.steps, wall_s=wall_s, columns=columns)
    with reporter:
        if latest is None:
            evaluate()
            checkpoint()
        is_over = reporter.done(training.steps) >= 1
        while not is_over:
            training.update()
            is_over = reporter.done(training.steps) >= 1
            # The last weights are evaluated before their checkpoint, which has a copy of the best policy.
            if training.steps % settings.evaluate_steps == 0 or is_over:
                evaluate()
            if training.steps % settings.progress_steps == 0:
                ratio = {"power_ratio": training.last_ratio, "best_power_ratio": training.best_ratio}
                wall = round(reporter.wall_s, 3)
                reporter.row({"steps": training.steps, "wall_s": wall, **training.flush(), **ratio})
            if training.steps % settings.checkpoint_steps == 0:
                checkpoint()
            reporter.leave_if_asked(training.steps, save)
        if not run.is_scheduled(training.steps):
            if evaluated_steps != training.steps:
                evaluate()
            checkpoint()
        judge = Judge(settings, judge=True)
        shares = judge.ratios((run.policy / "policy.onnx").read_bytes(), described)
        run.write_summary(
            {
                "agent": settings.agent,
                "steps": training.steps,
                "wall_s": round(reporter.wall_s, 1),
                "pool": str(folder),
                "runs": len(training.sequences),
                "best_steps": training.best_steps,
                "power_ratio_chosen_by": training.best_ratio,
                "power_ratio": float(np.mean(list(shares.values()))),
                "power_ratios": shares,
                "best_schemes": [scheme for scheme, _ in judge.best],
            }
        )
