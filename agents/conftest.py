"""Tests of agents run torch as training does: on one thread, so that sums are the same everywhere."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
