"""``python -m agents.engines.bench``: compare the engines on the same specification."""
