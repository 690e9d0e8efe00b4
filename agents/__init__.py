"""Learned congestion control: one folder per scheme, the training loops and their shared code."""
