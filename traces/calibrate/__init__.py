"""Fit the model ``starlink`` to a user's own measurements, and say how far model and data are apart."""
