"""Training with RLlib, online and offline."""
