"""Astraea (Liao et al., EuroSys 2024): multi-agent TD3 whose reward sees all flows of the bottleneck.

Every flow runs the same actor on its own observation; in training, twin critics also see the global state of
the bottleneck. `leosim` computes observation, action, global state and reward; this package learns from them.

Known faults of published implementations, and what is done about them:

- *The exploration budget burns too fast.* A counter of decisions that all flows share reaches the end of the
  schedule n times as fast with n flows. Here the schedule counts monitor intervals (`exploration`).
- *tanh saturates.* With an actor's learning rate of 1e-3 every action is ±1 before the critics are any good,
  and its gradient is gone. The rate is 5e-5 as released; progress.csv has the share as
  ``action_saturated``.
- *The actor follows critics that know nothing.* Where an action is a factor on the window, a first guess that
  is not 0 floods or starves the path, and the memory holds nothing else: ``output_scale`` begins at 0, and
  ``actor_starts`` waits for the critics (`orca-minutes.yaml`).
- *The delay baseline.* A latency term relative to the one-way delay is positive without any queue, so that
  starving is optimal. `leosim` takes the round-trip propagation delay.
- *Replay flooded by slow paths.* Where episodes run in wall time, those on slow links are over sooner and
  fill the memory. Here all simulations step together, so that each contributes alike.
"""

from agents.astraea.settings import AstraeaSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="astraea",
    summary="Astraea (EuroSys 2024): parameter-shared TD3 with centralised twin critics",
    settings=AstraeaSettings,
    trainers={"native": "agents.astraea.train:train"},
    departures="Trained here, not Astraea's own weights: the actor first learns from a rule of ours, a "
    "sawtooth that empties the queue, and then by multi-agent TD3 without leaving it far; its observations "
    "are whitened; each flow has a reward of its own; critics are normalised layer by layer, returns are of "
    "10 intervals; links on which all bars hold chose the policy.",
)
