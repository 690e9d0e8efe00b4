"""Astraea (Liao et al., EuroSys 2024): multi-agent TD3 whose reward sees all flows of the bottleneck.

All flows share one actor, which sees the flow's own observation; in training, twin critics also see the
bottleneck's global state. `leosim` computes observation, action, global state and reward.

Known faults of published implementations, and their fixes here:

- *Too few updates.* 20 critic updates in 5 s and one of the actor teach nothing in millions of intervals, as
  an action of 2.5 % matters far less than the critics' errors. `astraea.yaml` has an update per interval,
  random actions that last, n-step returns and critics with layer norm.
- *Too little exploration at the end.* Once nine actions of ten are the actor's own, critics cannot tell an
  action from the state in which it is taken, and the policy drifts. `astraea.yaml` keeps 40 % random actions.
- *A joint reward hides a flow's own actions.* On a full link, the flows' sum does not change when one of them
  yields: shares stay unequal, and beside Cubic the flow starves. `astraea.yaml` has a reward per flow.
- *The exploration schedule ends too soon.* With n flows, a shared counter of decisions ends the schedule n
  times as fast. Here the schedule counts monitor intervals (`exploration`).
- *tanh saturates.* With an actor learning rate of 1e-3, every action is ±1, without a gradient, before the
  critics have learned. ``action_saturated`` in progress.csv has the share.
- *The actor follows untrained critics.* Where an action scales the window, initial actions far from 0 flood
  or starve the path and fill the replay buffer with that: a small ``output_scale`` begins near 0, and
  ``actor_starts`` waits for the critics.
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
    departures="Trained here, not Astraea's own weights: on LEO paths and beside Cubic and BBRv3 as well as "
    "on the published links, every 20 ms; each flow has its own reward, its distance from an equal share; "
    "the critics are updated every interval and the actor every second one; returns span 10 intervals, and "
    "random actions 8; critics use layer normalisation; the policy is an average of the actor's weights.",
)
