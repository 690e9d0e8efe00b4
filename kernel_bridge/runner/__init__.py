"""Runs of scenarios on the host's real TCP stack behind link shells, with the simulator's run log."""
