"""Learners whose checkpoints are pickles, with the state of the global random generators.

A pickle may execute code: load only those that this study wrote.
"""

import random
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import torch

from leogym.common.atomic import write_atomically


class Pickled:
    """A learner that is written whole, with its environments."""

    def save(self, file: Path) -> None:
        """Write the learner and the generators of Python, NumPy and PyTorch to ``file``."""
        generators = (random.getstate(), np.random.get_state(), torch.get_rng_state())  # noqa: NPY002
        write_atomically(file, cloudpickle.dumps((self, generators)))

    @staticmethod
    def load(file: Path, *_: Any) -> Any:
        """Return the learner in ``file`` and restore the generators."""
        learner, (python, numpy, pytorch) = cloudpickle.loads(file.read_bytes())
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002 (Stable-Baselines3 uses it)
        torch.set_rng_state(pytorch)
        return learner


class WholeInPickles:
    """A wrapper of a ``VecEnv`` whose pickle includes its environment."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that can be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "class_attributes"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the attributes of a pickled environment."""
        self.__dict__.update(state)  # pyright: ignore
        self.class_attributes = {}
