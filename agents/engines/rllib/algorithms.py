"""Translates a run's settings to RLlib's new API stack, with one builder per algorithm."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.replay_buffers.multi_agent_episode_buffer import MultiAgentEpisodeReplayBuffer

from leogym.agents.baselines.appo import AppoSettings
from leogym.agents.baselines.dreamerv3 import DreamerV3Settings
from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.engines.rllib.learner_checkpoint import learner_of, lock_updates
from leogym.agents.engines.rllib.modules import AsynchronousFlowModule, flow_module, own_module
from leogym.agents.engines.rllib.rewards import FlowRewards
from leogym.agents.engines.settings import ReplaySettings, Sb3Settings
from leogym.agents.training.settings import TrainSettings
from leogym.envs.rllib import MultiFlowEnv, SingleFlowEnv
from leogym.envs.seeding import mixed


class FlowReplayBuffer(MultiAgentEpisodeReplayBuffer):
    """RLlib 2.60's buffer, fixed for an agent that joins at the last step of a sampled fragment.

    The next fragment then has a reward of 0 for the agent without the action, and RLlib's buffer fails to
    find the action when it joins both fragments. This buffer drops that reward.
    """

    def add(self, episodes: Any) -> None:
        """Add fragments of episodes, joined with the stored ones."""
        for episode in episodes if isinstance(episodes, list) else [episodes]:
            if isinstance(episode, MultiAgentEpisode):
                leave_out_rewards_of_nothing(episode)
        super().add(episodes)


def leave_out_rewards_of_nothing(episode: MultiAgentEpisode) -> None:
    """Remove pending rewards of 0 that belong to no action."""
    rewards, actions = episode._hanging_rewards_end, episode._hanging_actions_end
    for agent in [agent for agent in rewards if agent not in actions and not rewards[agent]]:
        del rewards[agent]


class NamesInOrder(set[Any]):
    """A set of agents' names that lists them by length and letters."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=lambda name: (len(str(name)), str(name))))


def list_agents_by_name() -> None:
    """Make episodes list their agents by name, in this process.

    RLlib 2.60 lists sets of names, which have another order in each process: the flows of one policy would
    draw each other's exploration, and a resumed run would differ.
    """

    def agents(episode: MultiAgentEpisode) -> NamesInOrder:
        return NamesInOrder(episode.agent_episodes)

    def stepped(episode: MultiAgentEpisode) -> NamesInOrder:
        return NamesInOrder(episode.get_observations(-1))

    MultiAgentEpisode.agent_ids = property(agents)  # type: ignore[method-assign]
    MultiAgentEpisode.get_agents_that_stepped = stepped  # type: ignore[method-assign]


if TYPE_CHECKING:
    from ray.rllib.algorithms.dreamerv3 import DreamerV3Config

PpoOrAppo = TypeVar("PpoOrAppo", PPOConfig, APPOConfig)
Own = TypeVar("Own", bound=TrainSettings)
OwnFlows = TypeVar("OwnFlows", bound=Sb3Settings)
OwnPpo = TypeVar("OwnPpo", bound=PpoSettings)

ITERATION_STEPS = 1_000
"""Most environment steps of an iteration of SAC, a second or two."""

SHARED = "shared"


def to_shared(agent_id: Any, episode: Any, **kwargs: Any) -> str:
    """Map every flow to the shared module."""
    return SHARED


def to_own(agent_id: Any, episode: Any, **kwargs: Any) -> str:
    """Map flow ``agent_id`` to its own module."""
    return str(agent_id)


def environment(settings: TrainSettings) -> dict[str, Any]:
    """Return the environment's keyword arguments."""
    return {
        "scenario": settings.scenarios.model_dump(),
        "agent": settings.spec,
        "backend": settings.backend,
        "reward": settings.reward,
        "interval_ms": settings.interval_ms,
    }


class Builder(ABC, Generic[Own]):
    """Makes an RLlib algorithm from a run's settings; with ``runners`` of 0 this process samples."""

    def __init__(self, settings: Own) -> None:
        self.settings = settings
        self.runners = settings.workers if settings.workers > 1 else 0

    @property
    @abstractmethod
    def modules(self) -> list[str]:
        """Names of the trained modules."""

    @property
    def learners(self) -> int:
        """Number of data-parallel learner processes; with 0 this process learns."""
        return 0

    @property
    def repeats(self) -> bool:
        """Whether a run that begins new episodes at its checkpoints is determined by its seed.

        Replay buffers are not in checkpoints, processes may die, and real TCP differs each time.
        """
        return False

    @abstractmethod
    def hyperparameters(self) -> AlgorithmConfig:
        """Return the algorithm's configuration with only its hyperparameters set."""

    @abstractmethod
    def config(self) -> AlgorithmConfig:
        """Return `hyperparameters` with environment and modules."""

    def finish(self, algorithm: Algorithm) -> None:
        """Change settings of the built ``algorithm`` that its configuration cannot express."""


class FlowsBuilder(Builder[OwnFlows]):
    """Makes an algorithm that controls all flows of a simulation."""

    @property
    def modules(self) -> list[str]:
        """One shared module, or one for each flow."""
        if self.settings.policies == "shared":
            return [SHARED]
        return [f"flow_{slot}" for slot in range(self.settings.scenarios.max_learning_flows)]

    def module(self) -> RLModuleSpec:
        """Return a module's networks."""
        return flow_module(self.settings)

    def config(self) -> AlgorithmConfig:
        """Return `hyperparameters` with the environment and `modules`."""
        config, names = self.hyperparameters(), self.modules
        config.environment(MultiFlowEnv, env_config=environment(self.settings))
        config.multi_agent(policies=names, policy_mapping_fn=to_shared if names == [SHARED] else to_own)
        config.rl_module(
            rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(names, self.module())),
        )
        return config


class PolicyGradientBuilder(FlowsBuilder[OwnPpo]):
    """The common part of PPO and APPO."""

    def policy_gradient(self, config: PpoOrAppo) -> PpoOrAppo:
        """Set the common hyperparameters on ``config`` and return it."""
        settings = self.settings
        return config.training(
            lr=settings.learning_rate,
            gamma=settings.gamma,
            lambda_=settings.gae_lambda,
            clip_param=settings.clip_range,
            entropy_coeff=settings.entropy_coefficient,
            grad_clip=settings.max_gradient_norm,
            grad_clip_by="global_norm",
            num_epochs=settings.epochs,
            vf_loss_coeff=0.5,
        )


class PpoBuilder(PolicyGradientBuilder[PpoSettings]):
    """Makes PPO."""

    @property
    def repeats(self) -> bool:
        """Whether one process samples in the simulator and learns."""
        return self.runners == 0 and self.settings.backend == "simulator"

    @property
    def learners(self) -> int:
        """As many as sample, for a policy that all flows share.

        With ``policies: separate`` this process learns: a flow may be missing from one learner's part of the
        batch, and the others would wait for its module's gradients.
        """
        settings = self.settings
        # RLlib derives each learner's number of minibatches from the whole batch, but if that gives 0, from
        # the learner's own part: learners would finish at different times and wait for one another. Absent
        # flows contribute no rows.
        enough = (
            settings.epochs * settings.rollout_steps * settings.num_envs >= 4 * settings.samples_per_minibatch
        )
        return settings.workers if settings.workers > 1 and settings.policies == "shared" and enough else 0

    def hyperparameters(self) -> AlgorithmConfig:
        """Return PPO's configuration with its hyperparameters."""
        settings = self.settings
        return self.policy_gradient(PPOConfig()).training(
            train_batch_size_per_learner=(
                settings.rollout_steps * settings.num_envs * max(1, self.runners) // max(1, self.learners)
            ),
            minibatch_size=settings.samples_per_minibatch,
            use_kl_loss=False,  # clip only, as in the sb3 engine
            vf_clip_param=math.inf,
        )


class AppoBuilder(PolicyGradientBuilder[AppoSettings]):
    """Makes APPO."""

    def module(self) -> RLModuleSpec:
        """Return the networks with the target actor that APPO clips against."""
        return flow_module(self.settings, AsynchronousFlowModule)

    def hyperparameters(self) -> AlgorithmConfig:
        """Return APPO's configuration with its hyperparameters."""
        settings = self.settings
        config = self.policy_gradient(APPOConfig()).training(
            train_batch_size_per_learner=settings.rollout_steps * settings.num_envs,
            # Learn from fragments as they arrive.
            num_aggregator_actors_per_learner=0,
        )
        config.env_runners(rollout_fragment_length=settings.rollout_steps)
        return config.reporting(min_time_s_per_iteration=0)


class SacBuilder(FlowsBuilder[ReplaySettings]):
    """Makes SAC."""

    def module(self) -> RLModuleSpec:
        """Return RLlib's own networks."""
        return own_module(self.settings)

    def hyperparameters(self) -> AlgorithmConfig:
        """Return SAC's configuration with its hyperparameters."""
        settings = self.settings
        config = SACConfig().training(
            gamma=settings.gamma,
            actor_lr=settings.learning_rate,
            critic_lr=settings.learning_rate,
            alpha_lr=settings.learning_rate,
            lr=None,
            tau=settings.tau,
            target_network_update_freq=1,
            train_batch_size_per_learner=settings.batch_size,
            target_entropy="auto",
            n_step=1,
            num_steps_sampled_before_learning_starts=settings.learning_starts,
            # As many updates per interval of all simulations as in the sb3 engine.
            training_intensity=(
                settings.batch_size
                * settings.updates_per_training
                / (settings.train_every * settings.num_envs * max(1, self.runners))
            ),
            replay_buffer_config={
                "type": "MultiAgentEpisodeReplayBuffer",
                "capacity": settings.memory,
            },
        )
        config.env_runners(rollout_fragment_length=settings.train_every)
        # A run can end, write and stop only between iterations.
        limits = (ITERATION_STEPS, settings.progress_steps, settings.checkpoint_steps)
        return config.reporting(
            min_sample_timesteps_per_iteration=min(*limits, settings.steps or ITERATION_STEPS)
        )

    def finish(self, algorithm: Algorithm) -> None:
        """Set a replay buffer that supports joining and leaving flows; RLlib's configuration accepts none."""
        algorithm.local_replay_buffer = FlowReplayBuffer(  # type: ignore[assignment]
            capacity=self.settings.memory
        )


class DreamerV3Builder(Builder[DreamerV3Settings]):
    """Makes DreamerV3, which controls one flow per simulation."""

    @property
    def modules(self) -> list[str]:
        """RLlib's single module."""
        return ["default_policy"]

    def hyperparameters(self) -> AlgorithmConfig:
        """Return DreamerV3's configuration with its hyperparameters."""
        settings = self.settings
        return dreamerv3_config().training(
            model_size=settings.model_size,
            training_ratio=settings.training_ratio,
            gamma=settings.gamma,
            batch_size_B=settings.batch_size,
            batch_length_T=settings.sequence,
            horizon_H=settings.horizon,
            world_model_lr=settings.world_model_learning_rate,
            actor_lr=settings.learning_rate,
            critic_lr=settings.learning_rate,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": settings.memory},
        )

    def config(self) -> AlgorithmConfig:
        """Return `hyperparameters` with the environment."""
        return self.hyperparameters().environment(SingleFlowEnv, env_config=environment(self.settings))


def dreamerv3_config() -> DreamerV3Config:
    """Import RLlib's DreamerV3 on demand, without its warnings, and return its configuration.

    The import creates RLlib's debugging environments, whose observations are outside their spaces.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="gymnasium")
        from ray.rllib.algorithms.dreamerv3 import DreamerV3Config
    return DreamerV3Config()


BUILDERS: dict[type[TrainSettings], type[Builder[Any]]] = {
    PpoSettings: PpoBuilder,
    AppoSettings: AppoBuilder,
    ReplaySettings: SacBuilder,
    DreamerV3Settings: DreamerV3Builder,
}
"""The builder of each settings class and its subclasses; Aurora's, for example, extend PPO's."""


def builder(settings: TrainSettings) -> Builder[Any]:
    """Return the builder for ``settings``."""
    kind = next(kind for kind in type(settings).__mro__ if kind in BUILDERS)
    return BUILDERS[kind](settings)


def build(settings: TrainSettings, steps: int) -> Algorithm:
    """Build the untrained algorithm; the run's seed and ``steps`` seed its episodes."""
    list_agents_by_name()
    with warnings.catch_warnings():  # RLlib registers its environment each time
        warnings.filterwarnings("ignore", message=".*Overriding environment", module="gymnasium")
        algorithm = make_config(settings, steps).build_algo()
    assert isinstance(algorithm, Algorithm)
    if (learner := learner_of(algorithm)) is not None:
        lock_updates(learner)
    builder(settings).finish(algorithm)
    return algorithm


def make_config(settings: TrainSettings, steps: int) -> AlgorithmConfig:
    """Return RLlib's configuration; the run's seed and ``steps`` seed the episodes."""
    algorithm_builder = builder(settings)
    return (
        algorithm_builder.config()
        .framework("torch")
        .callbacks(FlowRewards)
        .env_runners(num_env_runners=algorithm_builder.runners, num_envs_per_env_runner=settings.num_envs)
        # Runners are idle while learners learn, so learners need no CPUs of their own.
        .learners(num_learners=algorithm_builder.learners, num_cpus_per_learner=0)
        .fault_tolerance(restart_failed_env_runners=True)
        .debugging(
            # A resumed run must not repeat the run's first episodes.
            seed=mixed([settings.seed, steps], bits=31),
            log_level="ERROR",
        )
    )
