"""Learning flows that start and stop as RLlib's ``MultiAgentEnv``, and the ids ``leo/…`` for RLlib.

RLlib 2.60's own ``ParallelPettingZooEnv`` assumes that the first `reset` has all agents, in an order that
varies between processes, and sets ``__all__`` only if all agents end in the same way. ``import leogym.envs``
does not import this module, because importing RLlib takes seconds.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import gymnasium

from leogym.common import extras
from leogym.configs import sampling
from leogym.configs.sampling import with_learning_flows
from leogym.envs.flow import FlowEnv
from leogym.envs.parallel import parallel_env
from leogym.envs.seeding import rank_of, seed_of_rank
from leogym.registration import IDS

with extras.needed_by("leogym.envs.rllib"):
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.utils.typing import MultiAgentDict
    from ray.tune.registry import register_env

Step = tuple[MultiAgentDict, MultiAgentDict, MultiAgentDict, MultiAgentDict, MultiAgentDict]


class MultiFlowEnv(MultiAgentEnv):
    """`envs.parallel.FlowsParallelEnv` for RLlib's new API stack.

    ``__all__`` is set at the episode's end: truncated at the scenario's end, terminated when every learning
    flow stopped earlier.

    RLlib treats an episode as terminated as soon as all agents with an observation so far are done. So there
    are two differences from PettingZoo:

    - When the last running flow stops and another flow joins in the same step, the stopped flow's report
      comes one step later. RLlib then has the new flow. The report's data are unchanged.
    - At the scenario's end only ``__all__`` is truncated. If the agents were flagged too, RLlib would count
      them as terminated and learn a value of 0 after the end.

    Args:
        config: arguments of `envs.parallel_env` by name, as in
            ``PPOConfig().environment(MultiFlowEnv, env_config={"scenario": "leo"})``.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._flows = parallel_env(**dict(config or {}))
        self._rank = rank_of(config)
        self.possible_agents = [*self._flows.possible_agents]
        self.agents = []
        self.observation_spaces = {**self._flows.observation_spaces}
        self.action_spaces = {**self._flows.action_spaces}
        self._late: Step | None = None
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[MultiAgentDict, MultiAgentDict]:
        """Start the next episode; the same ``seed`` gives the same episode."""
        observations, infos = self._flows.reset(seed=seed_of_rank(seed, self._rank), options=options)
        self.agents = [*self._flows.agents]
        self._late = None
        return {**observations}, {**infos}

    def step(self, action_dict: MultiAgentDict) -> Step:
        """Apply one action for each agent that has an observation and run one monitor interval."""
        # These dictionaries are new in every step, so they may be changed.
        observations, rewards, terminateds, truncateds, infos = self._flows.step(action_dict)  # type: ignore[arg-type]
        step: Any = (observations, rewards, terminateds, truncateds, infos)
        before, running = self.agents, self._flows.agents
        if running == before and self._late is None:
            terminateds["__all__"] = truncateds["__all__"] = False
            return step
        self.agents = list[Any](running)
        late, self._late = self._late, None
        if self.agents and not set(before) & set(self.agents):
            postponed = [{name: part.pop(name) for name in before} for part in step]
            self._late = (postponed[0], postponed[1], postponed[2], postponed[3], postponed[4])
        over = not self.agents
        truncated = over and any(truncateds.values())
        if late is not None:
            for part, late_part in zip(step, late, strict=True):
                part.update(late_part)
        terminateds["__all__"] = over and not truncated
        if truncated:
            truncateds.update(dict.fromkeys(truncateds, False))
        truncateds["__all__"] = truncated
        return step


class SingleFlowEnv(FlowEnv):
    """`envs.flow.FlowEnv` for RLlib's single-agent algorithms, such as DreamerV3.

    ``config`` has the arguments of `FlowEnv` by name; a sampler's ranges get one learning flow, even if they
    set another number.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        arguments = dict(config or {})
        scenario = arguments.get("scenario")
        if isinstance(scenario, Mapping) and "sampler" in scenario:
            arguments["scenario"] = with_learning_flows(sampling.parse(scenario, "scenario"), 1)
        super().__init__(**arguments)
        self.rank = rank_of(config)


def make(environment_id: str, config: Mapping[str, Any]) -> Any:
    """Make an environment of Gymnasium's registry with the arguments in ``config``.

    If ``config`` has ``num_envs``, RLlib needs the native vector environment.
    """
    if "num_envs" in config:
        return gymnasium.make_vec(environment_id, **config)
    env = gymnasium.make(environment_id, **config)
    # The caller may be another process than the runner's.
    cast(FlowEnv, env.unwrapped).rank = rank_of(config)
    return env


# RLlib's registry reaches the processes of a cluster, where nothing else imports this package.
for _id in IDS:
    register_env(_id, partial(make, _id))
