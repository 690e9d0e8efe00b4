"""Base class and types of all configuration models."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Strict(BaseModel):
    """A configuration model that rejects unknown keys and loose types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
