"""Astraea's hyperparameters; the defaults are the published ones."""

from __future__ import annotations

from pydantic import Field

from agents.training.settings import Count, Fraction, TrainSettings
from configs.strict import NonNegative, Positive


class AstraeaSettings(TrainSettings):
    """Settings of multi-agent TD3 as in Astraea (Liao et al., EuroSys 2024).

    Defaults are the values of the released ``astraea.json`` and of the technical report's table of
    hyperparameters; where a default is ours, its line says so.
    """

    start_from: str | None = None
    """Folder of a run whose networks training begins with, as to fine-tune on real TCP; ours."""
    hidden: list[Count] = Field(default=[256, 128, 64], min_length=1)
    """Widths of the hidden layers; the critics see the action from the second one on."""
    centralised: bool = True
    """Whether the critics see the bottleneck's global state besides the flow's own observation."""

    actor_learning_rate: Positive = 5e-5
    """Far above it the tanh of the output saturates before the critics know anything; 1e-3 surely does."""
    critic_learning_rate: Positive = 1e-3
    critic_layer_norm: bool = False
    """Whether the critics' hidden layers are normalised. What one action of 2.5 % is worth is far less than
    critics are wrong by, and without it actors follow their errors (Ball et al., ICML 2023, find the same of
    replayed data); ours, off as published."""
    critic_decay: Fraction = 0.96
    """Factor on the critics' learning rate, exponentially, every ``critic_decay_updates``."""
    critic_decay_updates: Count = 100_000
    gamma: Fraction = 0.98
    return_steps: Count = 1
    """Intervals whose rewards the critics are told before they estimate the rest, see `returns`; ours, 1 as
    published."""
    tau: Fraction = 0.005
    """Share of the online weights in the target weights' moving average."""
    batch_size: Count = 192
    policy_delay: Count = 20
    """Critic updates per update of the actor and the targets."""
    target_noise: NonNegative = 0.05
    """Standard deviation of the target policy's smoothing noise, in actions."""
    target_noise_clip: NonNegative = 0.1
    memory: Count = 400_000
    """Capacity of the replay buffer in transitions of single flows."""
    batch_norm_momentum: Fraction = 0.01
    """Share of a batch in the actor's running statistics (Keras counts the rest, 0.99)."""
    output_scale: Positive = 1.0
    """Factor on the initial weights of the actor's last layer: far below 1, every first action is about 0
    (Lillicrap et al., ICLR 2016, begin with weights up to 3e-3). Ours, 1 as published."""
    action_penalty: NonNegative = 0.0
    """Weight of the actor's squared pre-tanh output in its loss; ours, 0 as published."""

    lessons: int = Field(default=0, ge=0)
    """Lessons before training, in which the actor learns to do what the rule `sawtooth` would do, see
    `imitation`; ours, 0 as published."""
    lesson_envs: Count | None = None
    """Simulations stepped together in lessons, by default ``num_envs``: an actor needs many links to learn
    a rule for all of them."""
    lesson_intervals: Count = 4_000
    """Intervals of every simulation in a lesson."""
    lesson_updates: Count = 4_000
    """Updates of the actor in a lesson."""
    lesson_batch: Count = 512
    lesson_learning_rate: Positive = 1e-3
    """Falls to 0 over all lessons."""
    teacher_weight: NonNegative = 0.0
    """Weight, in the actor's loss, of the squared distance from what the rule would do (Schmitt et al.,
    "Kickstarting deep reinforcement learning", 2018); ours, 0 as published."""
    keep_norm: bool = False
    """Whether the actor's batch norm keeps the statistics of its lessons (or of ``start_from``) instead of
    following its memory's, which move what a rule's thresholds are compared with; ours, off as published."""
    policy_average: Fraction = 0.0
    """Share that the exported policy, an average of the actor's weights, keeps at each update of the actor:
    evens out what its last updates happened to do (Polyak and Juditsky, 1992). Ours, 0 (the actor itself) as
    published."""

    learning_starts: Count = 1_000
    """Transitions in memory before the first update."""
    actor_starts: int = Field(default=0, ge=0)
    """Critic updates before the actor's first, lest it saturate on critics that know nothing; ours, 0 as
    published."""
    train_every: Count = 167
    """Monitor intervals between trainings; published: 5 s, which 167 intervals of 30 ms are."""
    updates_per_training: Count = 20
    """They run beside acting, which follows them from the next training on, see `rounds`."""

    exploration_start: Fraction = 1.0
    """Probability that a decision is replaced by a uniformly random action, at first …"""
    exploration_end: Fraction = 0.05
    """… and at last."""
    exploration_intervals: Count = 1_500_000
    """Intervals over which it falls linearly, counted once for all flows: see `exploration`."""
    exploration_hold: Count = 1
    """Intervals that one decision to explore holds for; ours, 1 as published."""
    exploration_noise: NonNegative = 0.0
    """Standard deviation of the noise on every action besides, in actions; 0 as published."""
