"""Sage's hyperparameters and the ranges of its pool; the defaults are the published ones."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from agents.training.settings import Count, Fraction, TrainSettings
from configs.strict import Positive, Strict


def _sequence(value: Any) -> Any:
    """Take YAML's list for a tuple."""
    return tuple(value) if isinstance(value, list) else value


Numbers = Annotated[tuple[Positive, ...], BeforeValidator(_sequence), Field(min_length=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(_sequence), Field(min_length=1)]

SCHEMES = (
    "veno",
    "cdg",
    "highspeed",
    "hybla",
    "illinois",
    "westwood",
    "yeah",
    "htcp",
    "bic",
    "cubic",
    "bbr3",
    "vegas",
    "reno",
)
"""The pool's thirteen kernel schemes; BBR3 stands for the paper's BBR2."""


class PoolRanges(Strict):
    """What the pool's scenarios are made of: every combination, or some of them.

    Published (the released traces and evaluation scripts): rates, delays and buffers, steps every 7 s. Not
    published, and our choice: the length of a run and how many runs share their link.
    """

    schemes: Names = SCHEMES
    rate_mbps: Numbers = (12.0, 24.0, 48.0, 96.0, 192.0)
    one_way_ms: Numbers = (5.0, 10.0, 20.0, 40.0, 80.0)
    queue_bdp: Numbers = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    steps: Numbers = (1.0, 2.0, 4.0, 0.5, 0.25)
    """The rate is multiplied by such a factor every other ``step_s``; 1 leaves it. Never above 192 Mbit/s."""
    step_s: Positive = 7.0
    duration_s: Positive = 28.0
    hold: bool = False
    """Whether the schemes are in an agent's place: their windows move only where an agent's would, at the end
    of an interval that brought a delivery, and are paced as an agent's. Ours, not as published."""
    scenarios: Count | None = None
    """How many of the combinations, drawn without replacement; all by default."""
    shared: Fraction = 0.25
    """Share of the scenarios in which the scheme competes with a CUBIC flow on a steady link."""


class SageSettings(TrainSettings):
    """Settings of recurrent critic regularised regression; defaults are Sage's released configuration.

    ``steps`` and everything that counts in steps are updates of the networks: there is no environment.
    ``scenarios`` is not used, the pool has ranges of its own.
    """

    spec: str = "sage"
    reward: str = "sage"
    interval_ms: Positive = 10.0

    pool: PoolRanges = PoolRanges()
    pool_folder: str | None = None
    """Where the pool is or will be; by default runs/pools/ and a digest of its ranges, the seed and the
    build."""

    lab_runs: Annotated[int, Field(ge=0)] = 0
    """So many of the pool's runs, drawn with the seed, are repeated on the lab's Linux and learned from, too.
    It takes QEMU, and seconds of a core for each of a run. Ours: all of the published pool is a kernel's."""
    imitated: Names | None = None
    """Schemes of the pool that are learned from, all by default as published. Ours; a scheme whose window is
    not what limits it (BBR) shows nothing of how to steer by one."""
    reward_share: Fraction = 0.0
    """Only those of their runs are learned from whose mean reward is at least this share of the best of them
    in the same situation. Ours, 0 (all) as published."""
    carry: bool = False
    """Whether a sequence begins with the recurrent states that the one before it in the same run ended with
    (stored states, Kapturowski et al., ICLR 2019), so that memories are as old as in use. Ours; else each
    sequence begins with zeros, as published."""

    stay: Count | None = None
    """Sequences after which it goes on in another run, half of the time from its beginning: of a long run,
    most is the same. Ours; by default it stays to the end."""

    gru: Count = 1024
    """Numbers that the recurrent layers remember."""
    width: Count = 256
    """Width of every other layer."""
    blocks: Count = 2
    """Residual blocks of two layers each."""
    mixture: Count = 5
    """Gaussians in the policy's distribution of actions."""
    scale_min: Positive = 1e-3
    """Smallest deviation of a Gaussian; ours: actions are whole thousandths."""
    atoms: Annotated[int, Field(ge=2)] = 101
    """Values that the critic's distribution of returns is over, evenly spaced from …"""
    value_min: float = 0.0
    value_max: float = 500.0
    normalise: bool = False
    """Whether the networks take each signal less its mean over its deviation in the pool; ours, not as
    published."""
    logarithms: bool = False
    """Whether the networks take each signal's logarithm instead, before that: a flow of ten packets is then
    as easy to see as one of a thousand. Ours, not as published."""
    critic_layer_norm: bool = False
    """Whether every hidden layer of the critic is normalised. Ours; as published, all but the dense layer and
    those within the residual blocks are."""
    action_scale: Positive | None = None
    """Where the critic sees actions half as on a linear and half as on a logarithmic scale: most windows
    change by thousandths of an octave, some by a whole one. Ours, it sees them as they are as published."""

    policy_learning_rate: Positive = 5e-6
    critic_learning_rate: Positive = 5e-5
    decay_steps: Count | None = None
    """Updates over which both learning rates fall, as a straight line, to 2 % of themselves. Ours, they stay
    as published."""
    policy_average: Fraction = 0.0
    """Share that the exported policy, an average of the policy's weights, keeps at each update: evens out
    what the last updates happened to do (Polyak and Juditsky, 1992). Ours, 0 (the last) as published."""
    gamma: Fraction = 0.95
    batch_size: Count = 256
    """Sequences in an update."""
    sequence: Annotated[int, Field(ge=2)] = 50
    """Intervals in a sequence; the recurrent states begin as zeros."""
    action_samples: Count = 4
    """Actions whose mean value is the baseline of an advantage."""
    beta: Positive | None = 1.0
    """An action is imitated with the weight exp(advantage / beta) …; none of ours: every action is imitated
    alike, and no critic is learned."""
    standardise: bool = False
    """Whether ``beta`` counts in deviations of the batch's advantages and not in returns. Ours: actions of
    thousandths of an octave are worth little beside a return of 500."""
    weight_max: Positive = 20.0
    """… which is bounded by this."""
    target_steps: Count = 100
    """Updates from one copy of the networks into their targets to the next."""
    gradient_max: Positive = 40.0
    """Largest norm of all gradients of a network together."""

    resident: Count = 512
    """Runs of the pool that are in memory at a time; a larger pool passes through, one run an update."""
    evaluate_steps: Count = 1000
    """Updates from one evaluation to the next."""
    evaluate_scenarios: Count = 10
    """Scenarios that choose the best policy; as many others judge it at the end."""

    progress_steps: Count = 100
    checkpoint_steps: Count = 1000
