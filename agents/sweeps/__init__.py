"""Hyperparameter sweeps: ``train.py --sweep configs/sweeps/NAME.yaml``, run by Ray Tune."""
