"""Checkpoints of learners as pickles, with the state of the global random generators.

A pickle may execute code: load only those that this study wrote.
"""

import random
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import torch

from leogym.common.atomic import write_atomically


def save(learner: Any, file: Path) -> None:
    """Write ``learner`` and the generators of Python, NumPy and PyTorch to ``file``."""
    generators = (random.getstate(), np.random.get_state(), torch.get_rng_state())  # noqa: NPY002
    write_atomically(file, cloudpickle.dumps((learner, generators)))


def load(file: Path) -> Any:
    """Return the learner in ``file`` and restore the generators."""
    learner, (python, numpy, pytorch) = cloudpickle.loads(file.read_bytes())
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002 (Stable-Baselines3 uses it)
    torch.set_rng_state(pytorch)
    return learner
