"""``python -m agents.engines.bench``: whether the engines train the same specification alike."""
