"""Training with RLlib, online and from a pool."""
