"""Baselines: algorithms of Stable-Baselines3 and RLlib, one folder each."""
