"""Positions of ground sites and satellites, and visibility between them."""
