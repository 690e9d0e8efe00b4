"""Algorithms of Stable-Baselines3 and RLlib to compare with, one folder each."""
