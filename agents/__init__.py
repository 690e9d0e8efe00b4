"""Learned congestion control: one folder per scheme, the training loops, and what they share."""
