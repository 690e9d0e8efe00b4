"""A pool small enough to collect in tests."""

import pytest

from leogym.agents.clone import pool
from leogym.agents.clone.settings import CloneSettings, PoolRanges

TINY = {
    "agent": "clone",
    "steps": 6,
    "pool": PoolRanges(
        schemes=("cubic", "vegas"),
        rate_mbps=(6.0, 12.0),
        one_way_ms=(5.0, 10.0),
        steps=(1.0, 2.0),
        step_s=1.0,
        scenarios=3,
        duration_s=3.0,
        shared=0.5,
    ),
    "gru": 12,
    "width": 8,
    "batch_size": 4,
    "sequence": 10,
    "resident": 4,
    "normalise": True,
    "learning_rate": 1e-2,
    "evaluate_steps": 3,
    "evaluate_scenarios": 2,
    "progress_steps": 2,
    "checkpoint_steps": 3,
    "track": "none",
}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Return settings with a collected pool of six runs, at most four of them in memory."""
    folder = tmp_path_factory.mktemp("clone") / "pool"
    settings = CloneSettings(**TINY, pool_folder=str(folder))
    pool.collect(settings, folder, lambda line: None)
    return settings
