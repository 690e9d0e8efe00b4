"""Errors of the handover times that handover-aware schemes predict.

SaTCP (Cao and Zhang, INFOCOM 2023, section V-B) predicts from public orbits that are three hours old. About
90 % of its predicted times are within 0.6 s of the true ones.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError

DEFAULT = "normal:0.36477"  # 90 % of a normal distribution of this σ is within 0.6 s: 0.6 / 1.64485

_MAX_ERROR_S = 3600.0
_MAX_BYTES = 16 << 20

Draw = Callable[[np.random.Generator], float]


class ReportError:
    """Errors of predicted times. The same event always gets the same error."""

    def __init__(self, text: str, seed: int) -> None:
        """Parse the distribution.

        Args:
            text: ``normal:SIGMA``, ``uniform:T`` (within ±T) or ``empirical:FILE``, all in seconds. The file
                has one signed error per line, drawn with equal probability; lines that start with # are
                skipped.
            seed: of all draws.

        Raises:
            InputError: the text or the file is not valid.
        """
        self._seed = seed
        self._draw = _distribution(text)

    def predicted_s(self, time_s: float, instant_ns: int) -> float:
        """Return the predicted time of an event, rounded to a millisecond.

        ``time_s`` counts from the trace's first row. ``instant_ns`` counts from the epoch and seeds the draw,
        so traces with different starts get the same errors.
        """
        random = np.random.default_rng([self._seed, instant_ns])
        return round(time_s + self._draw(random), 3)


def _distribution(text: str) -> Draw:
    kind, _, value = text.partition(":")
    if kind == "empirical" and value:
        errors = _errors(Path(value))
        return lambda random: float(random.choice(errors))
    try:
        scale = float(value)
    except ValueError:
        scale = math.nan
    if kind not in ("normal", "uniform") or not 0 <= scale <= _MAX_ERROR_S:
        raise InputError(
            f"report_error: must be normal:SIGMA, uniform:T or empirical:FILE, in s up to {_MAX_ERROR_S:g}, "
            f"not {text!r}"
        )
    if kind == "normal":
        return lambda random: float(random.normal(0.0, scale))
    return lambda random: float(random.uniform(-scale, scale))


def _errors(path: Path) -> NDArray[np.float64]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path}: report_error: must have at most {_MAX_BYTES} bytes")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: report_error: not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: report_error: cannot be read: {error.strerror}") from None
    errors: list[float] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            error_s = float(line)
        except ValueError:
            error_s = math.nan
        if not abs(error_s) <= _MAX_ERROR_S:
            raise InputError(f"{path}:{number}: report_error: must be seconds, at most {_MAX_ERROR_S:g}")
        errors.append(error_s)
    if not errors:
        raise InputError(f"{path}: report_error: must have at least one error")
    return np.array(errors)
