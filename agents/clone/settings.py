"""The clone's hyperparameters, and the ranges of its pool, by default those of Sage's release."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from leogym.agents.training.settings import Count, Fraction, RewardText, Size, TrainSettings, Width
from leogym.common.strict import Positive, Range, Strict


def _sequence(value: Any) -> Any:
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
    """Parameter ranges of the pool's scenarios, which are all combinations or a sample of them.

    Rates, delays, buffers and steps every 7 s are those of the released traces and evaluation scripts. The
    length of a run and the share of runs with competition are unpublished; their defaults are ours.
    """

    schemes: Names = SCHEMES
    rate_mbps: Numbers = (12.0, 24.0, 48.0, 96.0, 192.0)
    one_way_ms: Numbers = (5.0, 10.0, 20.0, 40.0, 80.0)
    queue_bdp: Numbers = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    steps: Numbers = (1.0, 2.0, 4.0, 0.5, 0.25)
    """Factors on the rate in every other ``step_s``; 1 keeps it constant. Never above 192 Mbit/s."""
    step_s: Positive = 7.0
    duration_s: Positive = 28.0
    hold: bool = False
    """Whether schemes act like an agent: their windows change only at the end of an interval that brought a
    delivery, and they are paced as an agent is. Ours, not published."""
    scenarios: Count | None = None
    """Number of combinations, drawn without replacement; all by default."""
    shared: Fraction = 0.25
    """Share of scenarios in which the scheme competes with a CUBIC flow on a steady link."""


class CloneSettings(TrainSettings):
    """Settings of recurrent behavioural cloning; network, pool and batches default to Sage's release.

    There is no environment: all step counts are network updates, and ``pool`` replaces ``scenarios``.
    """

    spec: str = "sage"
    reward: RewardText = "sage"
    interval_ms: Positive = 10.0

    pool: PoolRanges = PoolRanges()
    pool_folder: str | None = None
    """The pool's folder; by default runs/pools/ and a digest of its ranges, the seed and the build."""

    lab_runs: Annotated[int, Range(ge=0, le=100_000)] = 0
    """Number of the pool's runs, drawn with the seed, to repeat on the lab's Linux and learn from as well.
    Each second of a run takes CPU seconds, in QEMU. Ours: the whole published pool comes from a kernel."""
    imitated: Names | None = None
    """Schemes of the pool to learn from; all by default. A scheme that its window does not limit (BBR) does
    not show how to control by window."""
    reward_share: Fraction = 0.0
    """Learn only from runs whose mean reward is within 1 - this share of their situation's best; 0: all."""
    carry: bool = False
    """Whether a sequence starts with the final recurrent state of the run's previous sequence (stored
    states, Kapturowski et al., ICLR 2019), as in deployment; otherwise with zeros, as in Sage's release."""

    stay: Count | None = None
    """With ``carry``, sequences after which to move to another run, half of the time to its beginning: most
    of a long run is repetitive. By default a run is read to its end."""

    gru: Width = 1024
    width: Width = 256
    """Of every other layer."""
    blocks: Width = 2
    """Residual blocks of two layers."""
    mixture: Width = 5
    """Gaussians in the policy's distribution of actions."""
    scale_min: Positive = 1e-3
    """Smallest deviation of a Gaussian: actions are whole thousandths."""
    normalise: bool = False
    """Whether to standardise each signal by its mean and deviation in the pool."""
    logarithms: bool = False
    """Whether to take each signal's logarithm before that: flows of ten packets are then as visible as flows
    of a thousand."""

    learning_rate: Positive = 1e-3
    decay_steps: Count | None = None
    """Updates over which the learning rate falls linearly to 2 %; None: it is constant."""
    policy_average: Fraction = 0.0
    """Decay per update of the exported moving average of the policy's weights, which evens out the noise of
    the last updates (Polyak and Juditsky, 1992); 0: export the last weights."""
    batch_size: Size = 256
    """In sequences."""
    sequence: Annotated[int, Range(ge=2, le=1_000_000)] = 50
    """In intervals."""
    gradient_max: Positive = 40.0

    resident: Size = 512
    """Runs in memory at a time; if the pool has more, each update replaces one."""
    evaluate_steps: Count = 1000
    evaluate_scenarios: Count = 10
    """Scenarios that choose the best policy; as many others evaluate it at the end."""

    progress_steps: Count = 100
    checkpoint_steps: Count = 1000
