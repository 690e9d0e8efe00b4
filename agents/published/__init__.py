"""Checkpoints that the authors of schemes have published, as policies of this project."""
