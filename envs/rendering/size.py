"""The size of a frame."""

WIDTH, HEIGHT = 800, 480
"""Pixels: multiples of 16, as video codecs want."""
DPI = 100
