"""Hyperparameter sweeps: ``leogym train --sweep configs/sweeps/NAME.yaml``, run by Ray Tune."""
