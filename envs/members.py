"""The simulations of a `LeoVecEnv` one by one, as Stable-Baselines3 addresses environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import leosim
import numpy as np
from gymnasium.spaces import Box

from leogym.configs.scenario import Scenario

if TYPE_CHECKING:
    from leogym.envs.sb3 import LeoVecEnv


class Member:
    """One simulation of a `LeoVecEnv`; attributes that a caller sets stay with it."""

    def __init__(self, of: LeoVecEnv, index: int) -> None:
        self._of, self._index = of, index

    @property
    def observation_space(self) -> Box:
        """Space of its observations."""
        return self._of.observation_space  # type: ignore[return-value]

    @property
    def action_space(self) -> Box:
        """Space of its actions."""
        return self._of.action_space  # type: ignore[return-value]

    @property
    def render_mode(self) -> str | None:
        """The render mode."""
        return self._of.render_mode

    @property
    def np_random(self) -> np.random.Generator | None:
        """The generator of its episodes; None before the first reset."""
        return self._of.generator(self._index)

    @property
    def scenario(self) -> Scenario | None:
        """The scenario of its episode; None before the first reset."""
        return self._of.scenario(self._index)

    @property
    def unwrapped(self) -> Member:
        """Itself: nothing wraps it."""
        return self

    def run_log(self) -> leosim.RunLog:
        """Return the run log of its episode so far."""
        return self._of.run_log(self._index)

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether it has the attribute ``name``."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return the attribute ``name``."""
        return getattr(self, name)
