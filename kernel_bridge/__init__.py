"""The host's real TCP stack behind link shells."""
