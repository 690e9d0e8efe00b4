"""Capacity, loss and weather: what happens on a path besides its geometry. One model per file."""
