"""Run torch on one thread, as training does: floating-point sums are then the same on every machine."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
