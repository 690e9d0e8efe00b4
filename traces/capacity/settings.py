"""Settings of the capacity, loss and rain models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import model_validator

from leogym.common.strict import Probability, Range, Strict


class ConditionsSpec(Strict):
    """Capacity, loss and rain of a path."""

    seed: Annotated[int, Range(ge=0, lt=2**63)] = 0
    capacity: Literal["constant", "starlink", "uniform-steps"] = "constant"
    """Capacity model, documented in its file in `traces.capacity`."""
    terminal_at: Literal["from", "to"] = "to"
    """The end with the ``starlink`` model's user terminal: ``to`` makes from → to a download."""
    loss: Probability = 0.0
    loss_burst: str | None = None
    """Bursts of loss as ``MEAN,BURST_MS[,LOSS]``, see `LossBurst`."""
    rain: str | None = None
    """``MM_PER_H``, ``P%`` or ``any``: see `traces.capacity.rain`."""
    rain_at: Literal["from", "to"] = "to"

    @model_validator(mode="after")
    def _texts(self) -> ConditionsSpec:
        if self.loss_burst is not None:
            parse_loss_burst(self.loss_burst)
        if self.rain is not None:
            parse_rain(self.rain)
        return self

    @property
    def plain(self) -> bool:
        """Whether capacity is constant and nothing is lost."""
        return self.capacity == "constant" and not self.loss and self.loss_burst is None and self.rain is None


@dataclass(frozen=True)
class LossBurst:
    """Gilbert-Elliott loss in continuous time: burst lengths and pauses are exponential."""

    mean: float  # long-term mean loss
    burst_ms: float  # mean burst length
    burst_loss: float

    @property
    def pause_ms(self) -> float:
        """Mean time between bursts."""
        return self.burst_ms * (self.burst_loss / self.mean - 1)


def parse_loss_burst(text: str) -> LossBurst:
    """Parse ``MEAN,BURST_MS[,LOSS]``, with LOSS 1 by default; raise ValueError if the text is not valid."""
    rule = "loss_burst: must be MEAN,BURST_MS[,LOSS] with 0 < MEAN < LOSS <= 1 and 0.1 <= BURST_MS <= 60000"
    try:
        mean, burst_ms, *further = map(float, text.split(","))
        (burst_loss,) = further or (1.0,)
    except ValueError:
        raise ValueError(f"{rule}, not {text!r}") from None
    if not (0 < mean < burst_loss <= 1 and 0.1 <= burst_ms <= 60_000):
        raise ValueError(f"{rule}, not {text!r}")
    return LossBurst(mean, burst_ms, burst_loss)


def parse_rain(text: str) -> tuple[Literal["mm_per_h", "percent", "any"], float]:
    """Parse a ``--rain`` into kind and value; raise ValueError if the text is not valid."""
    if text == "any":
        return "any", 0.0
    kind, limit = ("percent", 10.0) if text.endswith("%") else ("mm_per_h", 250.0)
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= limit:
        raise ValueError(
            "rain: must be a rate of 0.001 to 250 mm/h, a share of the year of 0.001% to 10%, or any, "
            f"not {text!r}"
        )
    return ("percent", value) if kind == "percent" else ("mm_per_h", value)
