"""Astraea (Liao et al., EuroSys 2024): multi-agent TD3 whose reward sees all flows of the bottleneck.

All flows share one actor, which sees the flow's own observation; in training, twin critics also see the
bottleneck's global state. `leosim` computes observation, action, global state and reward.

Known faults of published implementations, and their fixes here:

- *The exploration schedule ends too soon.* With n flows, a shared counter of decisions ends the schedule n
  times as fast. Here the schedule counts monitor intervals (`exploration`).
- *tanh saturates.* With an actor learning rate of 1e-3, every action is ±1, without a gradient, before the
  critics have learned. The rate is 5e-5 as released; ``action_saturated`` in progress.csv has the share.
- *The actor follows untrained critics.* Where an action scales the window, initial actions far from 0 flood
  or starve the path and fill the replay buffer with that: a small ``output_scale`` begins near 0, and
  ``actor_starts`` waits for the critics (`orca-minutes.yaml`).
- *Wrong delay baseline.* A latency term relative to the one-way delay is positive without any queue, which
  makes starving optimal. `leosim` uses the round-trip propagation delay.
- *Slow paths flood the replay buffer.* With episodes in wall time, those on slow links end sooner and fill
  the buffer. Here all simulations step together and contribute equally.
"""

from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="astraea",
    summary="Astraea (EuroSys 2024): parameter-shared TD3 with centralised twin critics",
    settings=AstraeaSettings,
    trainers={"native": "leogym.agents.astraea.train:train"},
    departures="Trained here, not Astraea's own weights: the actor first imitates a sawtooth rule of ours "
    "that empties the queue, and then learns by multi-agent TD3 near that rule; observations are "
    "whitened; each flow has its own reward; critics use layer normalisation; returns span 10 "
    "intervals; the policy was chosen on links where all bars hold.",
)
