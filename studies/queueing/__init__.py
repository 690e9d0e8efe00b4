"""Queueing delay with L4S: DualPI2, Prague and accurate ECN."""
