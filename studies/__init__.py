"""Experiments with LeoGym: studies import ``leogym``, and nothing in ``leogym`` imports a study."""
