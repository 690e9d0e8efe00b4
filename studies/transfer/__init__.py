"""Trained policies in the simulator and on real TCP."""
