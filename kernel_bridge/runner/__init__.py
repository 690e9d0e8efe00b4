"""Scenarios on the host's real TCP stack, behind real link shells, with the simulator's run logs."""
