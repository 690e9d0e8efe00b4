"""Base class and types of all configuration models."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from leogym.common.errors import shortened
from leogym.common.nearest import nearest


@dataclass(frozen=True)
class Range:
    """The range of a number in an annotation. The message of a violation names the whole range.

    ``Annotated[float, Range(gt=0)]`` is finite, too. None means no bound.
    """

    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    lt: float | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of the number's type with this range around it."""
        schema = handler(source)
        noun = "a whole number" if schema["type"] == "int" else "a number"

        def within(value: Any, inner: core_schema.ValidatorFunctionWrapHandler) -> Any:
            try:
                number = inner(value)
            except ValidationError:
                number = None
            if number is None or not self.holds(number):
                context = {
                    "rule": f"must be {noun} {self}",
                    "value": _as_written(value, noun == "a whole number"),
                }
                raise PydanticCustomError("out_of_range", "{rule}, not {value}", context)
            return number

        return core_schema.no_info_wrap_validator_function(within, schema)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema of the number's type with this range."""
        keys = {
            "exclusiveMinimum": self.gt,
            "minimum": self.ge,
            "maximum": self.le,
            "exclusiveMaximum": self.lt,
        }
        return handler(schema) | {key: bound for key, bound in keys.items() if bound is not None}

    def holds(self, number: float) -> bool:
        """Return whether a number is finite and in the range."""
        return (
            (isinstance(number, int) or math.isfinite(number))
            and (self.gt is None or number > self.gt)
            and (self.ge is None or number >= self.ge)
            and (self.le is None or number <= self.le)
            and (self.lt is None or number < self.lt)
        )

    def __str__(self) -> str:
        if self.ge is not None and self.le is not None:
            return f"from {shown(self.ge)} to {shown(self.le)}"
        words = (("above", self.gt), ("at least", self.ge), ("at most", self.le), ("below", self.lt))
        return " and ".join(f"{word} {shown(bound)}" for word, bound in words if bound is not None)


def _as_written(value: Any, is_integer: bool) -> str:
    if not isinstance(value, float):
        return shortened(value)
    return f"{value} (write {int(value)})" if is_integer and value.is_integer() else f"{value:g}"


def shown(bound: float) -> str:
    """Return a bound as text: large powers of two as ``2^32``, small ones as ``1e-6``."""
    if bound == int(bound):
        integer = int(bound)
        power_of_two = integer > 2**30 and integer & (integer - 1) == 0
        return f"2^{integer.bit_length() - 1}" if power_of_two else f"{integer:,}"
    return f"{bound:g}".replace("e-0", "e-")


Positive = Annotated[float, Range(gt=0)]
NonNegative = Annotated[float, Range(ge=0)]
Probability = Annotated[float, Range(ge=0, le=1)]


class Strict(BaseModel):
    """A configuration model that rejects unknown keys and loose types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        """Reject unknown keys; the message names the nearest valid keys, or all of them if none is near.

        Validators of subclasses that replace keys run before this one.
        """
        if not isinstance(data, dict | cls):
            raise PydanticCustomError(
                "no_mapping", "must be a mapping of {fields}", {"fields": ", ".join(cls.model_fields)}
            )
        keys = [key for key in data if isinstance(key, str)] if isinstance(data, dict) else []
        if unknown := [key for key in keys if key not in cls.model_fields]:
            raise ValidationError.from_exception_data(cls.__name__, [cls._unknown(key) for key in unknown])
        return data

    @classmethod
    def _unknown(cls, key: str) -> InitErrorDetails:
        near = nearest(key, cls.model_fields)
        suggestion = f"nearest: {', '.join(near)}" if near else f"there are: {', '.join(cls.model_fields)}"
        error = PydanticCustomError("unknown_key", "unknown key ({told})", {"told": suggestion})
        return InitErrorDetails(type=error, loc=(key,), input=key)
