"""Run scenarios on the host's real TCP stack behind link shells."""
