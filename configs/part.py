"""Base class of a scenario's parts with rules between fields, which the core checks."""

from typing import Self

import leosim
from pydantic import ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from leogym.common.strict import Strict


class Part(Strict):
    """A part of a scenario with rules between its fields (``core/sim/src/scenario/rules.rs``)."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        broken = leosim.broken_rule(type(self).__name__, self.model_dump_json())
        if broken is not None:
            field, rule = broken
            error = PydanticCustomError("rule", "{rule}", {"rule": rule})
            details = InitErrorDetails(type=error, loc=tuple(field.split(".")) if field else (), input=self)
            raise ValidationError.from_exception_data(type(self).__name__, [details])
        return self
