"""Astraea's hyperparameters; the defaults are the published ones."""

from typing import Annotated

from pydantic import Field

from leogym.agents.training.settings import Count, Fraction, Size, TrainSettings, Width
from leogym.common.strict import NonNegative, Positive, Range


class AstraeaSettings(TrainSettings):
    """Settings of multi-agent TD3 as in Astraea (Liao et al., EuroSys 2024).

    Defaults are those of the released ``astraea.json`` and of the technical report's table of
    hyperparameters. Our additional settings are marked as ours.
    """

    start_from: str | None = None
    """Run folder whose networks training begins with, for example to fine-tune on real TCP; ours."""
    hidden: list[Width] = Field(default=[256, 128, 64], min_length=1)
    """Widths of the hidden layers; the critics see the action from the second one on."""
    centralised: bool = True
    """Whether the critics see the bottleneck's global state besides the flow's observation."""

    actor_learning_rate: Positive = 5e-5
    """Much larger rates, such as 1e-3, saturate the output's tanh before the critics have learned."""
    critic_learning_rate: Positive = 1e-3
    critic_layer_norm: bool = False
    """Whether to normalise the critics' hidden layers. The value of one action of 2.5 % is far below the
    critics' error, and without normalisation actors follow these errors (Ball et al., ICML 2023, find the
    same for replayed data); ours, off as published."""
    critic_decay: Fraction = 0.96
    """Exponential decay of the critics' learning rate: this factor per ``critic_decay_updates``."""
    critic_decay_updates: Count = 100_000
    gamma: Fraction = 0.98
    return_steps: Count = 1
    """n of the n-step returns, see `returns`; ours, 1 as published."""
    tau: Fraction = 0.005
    """Share of the online weights in the target weights' moving average."""
    batch_size: Size = 192
    policy_delay: Count = 20
    """Critic updates per update of the actor and the targets."""
    target_noise: NonNegative = 0.05
    """Standard deviation of the target policy's smoothing noise, in units of the action."""
    target_noise_clip: NonNegative = 0.1
    memory: Size = 400_000
    """Capacity of the replay buffer in transitions of single flows."""
    batch_norm_momentum: Fraction = 0.01
    """Share of a batch in the actor's running statistics (Keras counts the rest, 0.99)."""
    output_scale: Positive = 1.0
    """Factor on the initial weights of the actor's last layer; far below 1, initial actions are about 0
    (Lillicrap et al., ICLR 2016, begin with weights up to 3e-3). Ours, 1 as published."""
    action_penalty: NonNegative = 0.0
    """Weight of the actor's squared pre-tanh output in its loss; ours, 0 as published."""

    policy_average: Fraction = 0.0
    """Share of its weights that the exported policy, an average over the actor's updates, keeps at each
    update (Polyak and Juditsky, 1992). Ours, 0 (the actor itself) as published."""

    learning_starts: Count = 1_000
    """Transitions in the replay buffer before the first update."""
    actor_starts: Annotated[int, Range(ge=0, le=10**12)] = 0
    """Critic updates before the actor's first, so it does not saturate on untrained critics; ours, 0 as
    published."""
    train_every: Count = 167
    """Monitor intervals between trainings; published: 5 s, which is 167 intervals of 30 ms."""
    updates_per_training: Count = 20
    """They run beside acting, which uses them from the next training on, see `rounds`."""

    exploration_start: Fraction = 1.0
    """Initial probability that a uniformly random action replaces a decision."""
    exploration_end: Fraction = 0.05
    """Final probability."""
    exploration_intervals: Count = 1_500_000
    """Intervals over which the probability falls linearly, counted once for all flows, see `exploration`."""
    exploration_hold: Count = 1
    """Intervals for which a random action repeats; ours, 1 as published."""
    exploration_noise: NonNegative = 0.0
    """Standard deviation of additional noise on every action, in units of the action; 0 as published."""
